/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/perf/perf_record.h"
#include "base/cursor.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>

enum { TAIL_BYTES = 16, MAX_NAME = 4096 + 64 };

static void regs_put(const uint64_t *r, struct sp_perf_sample *s)
{
	sp_perf_regs_put(r, &s->regs);
	s->has_regs = true;
	s->is_32_bit |= sp_perf_is_32_bit(r);
	s->is_call = s->in_kernel && sp_perf_is_call(r);
}

static void parse_regs(struct sp_cursor *c, struct sp_perf_sample *s)
{
	uint64_t abi = sp_cursor_u64(c), r[SP_PERF_N_REGS];
	size_t i;

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (i = 0; i < SP_PERF_N_REGS; i++)
		r[i] = sp_cursor_u64(c);
	s->is_32_bit = abi == PERF_SAMPLE_REGS_ABI_32;
	regs_put(r, s);
}

static void parse_stack(struct sp_cursor *c, struct sp_perf_sample *s)
{
	uint64_t size = sp_cursor_u64(c), used;

	if (!size || c->bad)
		return;
	s->stack = c->data + c->at;
	sp_cursor_skip(c, size);
	used = sp_cursor_u64(c);
	if (used > size)
		c->bad = true;
	s->stack_bytes = c->bad ? 0 : used;
}

static void parse_chain(struct sp_cursor *c, struct sp_perf_sample *s)
{
	uint64_t n = sp_cursor_u64(c);

	if (n > sp_cursor_left(c) / 8)
		c->bad = true;
	if (c->bad)
		return;
	s->chain = c->data + c->at;
	s->n_chain = n;
	sp_cursor_skip(c, 8 * n);
}

static void parse_sample(struct sp_cursor *c, const struct sp_perf_format *f, struct sp_perf_record *r)
{
	struct sp_perf_sample *s = &r->sample;

	s->ip = sp_cursor_u64(c);
	r->pid = sp_cursor_u32(c);
	r->tid = sp_cursor_u32(c);
	r->time_ns = sp_cursor_u64(c);
	s->period = sp_cursor_u64(c);
	s->in_kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (f->has_kernel)
		parse_chain(c, s);
	if (f->has_user) {
		parse_regs(c, s);
		parse_stack(c, s);
	}
}

/* A text that ends before the record does. The kernel pads with NULs. */
static const char *parse_text(struct sp_cursor *c)
{
	size_t left = sp_cursor_left(c);
	const char *text = (const char *)c->data + c->at;

	if (c->bad || left <= TAIL_BYTES || !memchr(text, 0, left - TAIL_BYTES) || strlen(text) > MAX_NAME) {
		c->bad = true;
		return "";
	}
	return text;
}

static void parse_map(struct sp_cursor *c, struct sp_perf_record *r)
{
	uint32_t major, minor, protection;

	r->pid = sp_cursor_u32(c);
	r->tid = sp_cursor_u32(c);
	r->map.addr = sp_cursor_u64(c);
	r->map.len = sp_cursor_u64(c);
	r->map.pgoff = sp_cursor_u64(c);
	major = sp_cursor_u32(c);
	minor = sp_cursor_u32(c);
	r->map.dev = major << 20 | minor;
	r->map.ino = sp_cursor_u64(c);
	r->map.generation = sp_cursor_u64(c);
	protection = sp_cursor_u32(c);
	sp_cursor_skip(c, 4);
	r->map.is_exec = protection & 4; /* PROT_EXEC */
	r->map.path = parse_text(c);
	if (r->map.len > UINT64_MAX - r->map.addr)
		c->bad = true;
}

static void parse_comm(struct sp_cursor *c, struct sp_perf_record *r)
{
	const char *text;

	r->pid = sp_cursor_u32(c);
	r->tid = sp_cursor_u32(c);
	text = parse_text(c);
	memset(r->comm, 0, sizeof(r->comm));
	memcpy(r->comm, text, SP_MIN(strlen(text), sizeof(r->comm) - 1));
}

static void parse_task(struct sp_cursor *c, struct sp_perf_record *r)
{
	r->pid = sp_cursor_u32(c);
	r->task.ppid = sp_cursor_u32(c);
	r->tid = sp_cursor_u32(c);
	r->task.ptid = sp_cursor_u32(c);
}

/* What every record but a sample ends with: pid, tid, time (attr.sample_id_all). */
static void parse_tail(struct sp_cursor *c, struct sp_perf_record *r)
{
	uint32_t pid, tid;

	if (c->size < TAIL_BYTES + sizeof(struct perf_event_header) || c->at > c->size - TAIL_BYTES) {
		c->bad = true;
		return;
	}
	sp_cursor_seek(c, c->size - TAIL_BYTES);
	pid = sp_cursor_u32(c);
	tid = sp_cursor_u32(c);
	r->time_ns = sp_cursor_u64(c);
	if (!r->pid && !r->tid) {
		r->pid = pid;
		r->tid = tid;
	}
}

static void parse_body(struct sp_cursor *c, struct sp_perf_record *r)
{
	switch (r->type) {
	case PERF_RECORD_MMAP2:
		parse_map(c, r);
		break;
	case PERF_RECORD_COMM:
		parse_comm(c, r);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		parse_task(c, r);
		break;
	case PERF_RECORD_LOST:
		sp_cursor_skip(c, 8); /* of which event */
		r->n_lost = sp_cursor_u64(c);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		r->n_lost = sp_cursor_u64(c);
		break;
	default:
		break;
	}
	parse_tail(c, r);
}

int sp_perf_record_parse(const void *bytes, size_t size, const struct sp_perf_format *f,
			 struct sp_perf_record *ret_record)
{
	struct sp_cursor c = sp_cursor_on(bytes, size);
	struct sp_perf_record r = {.type = sp_cursor_u32(&c)};

	r.misc = sp_cursor_u16(&c);
	if (sp_cursor_u16(&c) != size)
		return -EBADMSG;
	if (r.type == PERF_RECORD_SAMPLE)
		parse_sample(&c, f, &r);
	else
		parse_body(&c, &r);
	if (c.bad)
		return -EBADMSG;
	*ret_record = r;
	return 0;
}
