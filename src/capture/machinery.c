/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machinery.c: the kernel functions that lead from a tracepoint to our program, with which its kernel stacks begin:
 * bpf_trace_run4, __bpf_trace_sched_switch, __traceiter_sched_switch, of classic ones perf_trace_sched_switch, unless
 * the compiler has inlined them. They are removed, since they say nothing about the event.
 *
 * The kernel is asked for the name of an address that lies in none of the functions that it was asked for before. That
 * are few: a stack is looked at down to the first function that is of the event; only a waker's (wakers.h) further, to
 * see whether it is an interrupt's.
 */
#include "base/mem.h"
#include "base/search.h"
#include "capture/priv.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
	uint64_t start, end;
	bool is_machinery, is_interrupt;
};
struct sp_machinery {
	struct range *ranges; /* sorted; they do not overlap */
	size_t n, capacity;
};

int sp_machinery_open(struct sp_capture *c)
{
	c->machinery = calloc(1, sizeof(*c->machinery));
	return c->machinery ? 0 : -ENOMEM;
}

void sp_machinery_done(struct sp_capture *c)
{
	if (!c->machinery)
		return;
	free(c->machinery->ranges);
	free(sp_take_ptr(c->machinery));
}

static bool begins_with_one(const char *name, const char *const *starts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static bool is_machinery(const char *name)
{
	static const char *const starts[] = {"bpf_trace_run", "__bpf_trace_", "__traceiter_", "perf_trace_",
					     "trace_call_bpf"};

	return begins_with_one(name, starts, SP_COUNT(starts));
}

/* Where an interrupt enters the kernel, not a system call nor a fault: what happens there is not the thread's doing. */
static bool is_interrupt(const char *name)
{
	static const char *const starts[] = {"asm_sysvec_", "asm_common_interrupt", "asm_spurious_interrupt",
					     "asm_exc_nmi"};

	return begins_with_one(name, starts, SP_COUNT(starts));
}

/* The function at an address; of one without a name only this address. */
static struct range range_of(uint64_t address, const char *text)
{
	struct range range = {.start = address,
			      .end = address + 1,
			      .is_machinery = is_machinery(text),
			      .is_interrupt = is_interrupt(text)};
	unsigned long long offset, size;
	const char *plus = strrchr(text, '+');

	if (plus && sscanf(plus, "+%llx/%llx", &offset, &size) == 2 && offset < size && offset <= address) {
		range.start = address - offset;
		range.end = range.start + size;
	}
	return range;
}

/* The range that holds an address, about which the kernel is asked. NULL: *ret_failure says why. */
static const struct range *range_ask(struct sp_capture *c, uint64_t address, int *ret_failure)
{
	struct sp_machinery *m = c->machinery;
	struct range range;
	const char *text;
	size_t at;

	*ret_failure = sp_capture_kernel_name(c, address, &text);
	if (*ret_failure >= 0)
		*ret_failure = sp_grow(&m->ranges, &m->capacity, m->n + 1, sizeof(*m->ranges));
	if (*ret_failure < 0)
		return NULL;
	range = range_of(address, text);
	at = SP_N_UP_TO(m->ranges, m->n, start, range.start);
	memmove(m->ranges + at + 1, m->ranges + at, (m->n++ - at) * sizeof(*m->ranges));
	m->ranges[at] = range;
	return &m->ranges[at];
}

static const struct range *range_find(struct sp_capture *c, uint64_t address, int *ret_failure)
{
	const struct sp_machinery *m = c->machinery;
	size_t n = SP_N_UP_TO(m->ranges, m->n, start, address);

	return n && address < m->ranges[n - 1].end ? &m->ranges[n - 1] : range_ask(c, address, ret_failure);
}

int sp_machinery_skip(struct sp_capture *c, const sp_u64 *words, uint32_t n, uint32_t *ret_n)
{
	const struct range *range;
	uint32_t i = 0;
	int r = 0;

	for (; c->machinery && i < n && words[i] >> SP_FRAME_KIND_SHIFT == SP_FRAME_KERNEL; i++) {
		range = range_find(c, (words[i] & SP_FRAME_KERNEL_MASK) | ~SP_FRAME_KERNEL_MASK, &r);
		if (!range)
			return r;
		if (!range->is_machinery)
			break;
	}
	*ret_n = i;
	return 0;
}

int sp_machinery_is_interrupt(struct sp_capture *c, uint64_t address, bool *ret_is)
{
	int r = 0;
	const struct range *range = c->machinery ? range_find(c, address, &r) : NULL;

	*ret_is = range && range->is_interrupt;
	return r;
}
