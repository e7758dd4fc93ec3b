/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit_names.h"

#include "base/cursor.h"
#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbol/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CHUNK = 1 << 18,
	MAX_RANGE = 1 << 30,
	MAX_AT_ONCE = 3, /* names told for one address */
	HEAD = 40,       /* of the file; a later version may have more */
	RECORD_HEAD = 16,
	LOAD_HEAD = RECORD_HEAD + 40,
	MOVE_HEAD = RECORD_HEAD + 48,
};
#define MAX_BYTES (UINT64_C(4) << 30)
#define MAGIC 0x4a695444u       /* "JiTD" */
#define OTHER_CLOCK UINT64_C(1) /* flag: times are the processor's own counter */
#define NOT_KNOWN UINT64_MAX

enum record_kind { CODE_LOAD, CODE_MOVE, CODE_DEBUG, CODE_CLOSE, CODE_UNWINDING, N_KINDS };

struct code { /* a function, and where it lay */
	uint64_t start, size;
	uint64_t index; /* the dump's number for it */
	uint64_t name;  /* position of its name in the file; NOT_KNOWN: the load record with this index has it */
};
struct past { /* the functions at one address since the time asked for */
	struct code codes[MAX_AT_ONCE];
	uint8_t n;
	bool has_more;
};
struct wanted { /* a moved function whose name is wanted */
	uint64_t index;
	struct code *code;
};

struct reader {
	int fd;
	uint8_t bytes[CHUNK];
	size_t n;    /* bytes in the buffer, which begin at `at` in the file */
	uint64_t at; /* in the file */
	uint64_t since_ns;
	const uint64_t *addresses;
	size_t n_addresses;
	struct past *pasts;
	struct wanted *wanted;
	size_t n_wanted, n_steps;
	struct sp_jit_counts counts;
};

struct record {
	uint64_t at, time_ns, vaddr, old, size, index, name;
	uint32_t kind, bytes;
};

/* The bytes from `at` on, at most n; the cursor is shorter where the file ends. */
static int bytes_at(struct reader *r, uint64_t at, size_t n, struct sp_cursor *ret_cursor)
{
	if (at < r->at || at + n > r->at + r->n) {
		ssize_t got = sp_read_most_at(r->fd, r->bytes, CHUNK, at);
		if (got < 0)
			return sp_fail((int)got, "read the jit dump");
		r->at = at;
		r->n = (size_t)got;
	}
	*ret_cursor = sp_cursor_on(r->bytes + (at - r->at), SP_MIN(n, r->n - (size_t)(at - r->at)));
	return 0;
}

/* --- records --- */

static bool is_range(uint64_t start, uint64_t size)
{
	return size && size <= MAX_RANGE && start + size >= start;
}

static bool parse_load(struct sp_cursor *c, struct record *ret_record)
{
	sp_cursor_skip(c, 4 + 4 + 8); /* process, thread, where it was made */
	ret_record->vaddr = sp_cursor_u64(c);
	ret_record->size = sp_cursor_u64(c);
	ret_record->index = sp_cursor_u64(c);
	ret_record->name = ret_record->at + LOAD_HEAD;
	return !c->bad && ret_record->bytes > LOAD_HEAD && is_range(ret_record->vaddr, ret_record->size);
}

static bool parse_move(struct sp_cursor *c, struct record *ret_record)
{
	sp_cursor_skip(c, 4 + 4 + 8);
	ret_record->old = sp_cursor_u64(c);
	ret_record->vaddr = sp_cursor_u64(c);
	ret_record->size = sp_cursor_u64(c);
	ret_record->index = sp_cursor_u64(c);
	ret_record->name = NOT_KNOWN;
	return !c->bad && ret_record->bytes >= MOVE_HEAD && is_range(ret_record->vaddr, ret_record->size) &&
	       is_range(ret_record->old, ret_record->size);
}

/* 1: a record; 0: the end, or an impossible length (bytes is then not 0). Records of unknown kinds are skipped. */
static int next_record(struct reader *r, uint64_t at, struct record *ret_record, bool *ret_good)
{
	struct sp_cursor c;
	int e = bytes_at(r, at, MOVE_HEAD, &c);
	if (e < 0)
		return e;
	*ret_record = (struct record){.at = at};
	size_t there = sp_cursor_left(&c);
	ret_record->kind = sp_cursor_u32(&c);
	ret_record->bytes = sp_cursor_u32(&c);
	ret_record->time_ns = sp_cursor_u64(&c);
	if (c.bad || ret_record->bytes < RECORD_HEAD) {
		ret_record->bytes = there > 0;
		return 0;
	}
	*ret_good = ret_record->kind == CODE_LOAD   ? parse_load(&c, ret_record)
		    : ret_record->kind == CODE_MOVE ? parse_move(&c, ret_record)
						    : true;
	return 1;
}

/* The end of the file, or a record that was still being written, is no loss. */
static int jit_dump_each_record(struct reader *r, uint64_t at, void (*take)(struct reader *, const struct record *))
{
	struct record record = {0};
	bool good = true;
	int e;
	r->counts = (struct sp_jit_counts){0};
	r->n_steps = 0;
	while (at < MAX_BYTES && r->n_steps < SP_JIT_STEPS_MAX && (e = next_record(r, at, &record, &good)) != 0) {
		if (e < 0)
			return e;
		r->n_steps++;
		r->counts.n++;
		r->counts.n_bad += !good;
		if (good && record.kind <= CODE_MOVE)
			take(r, &record);
		at += record.bytes;
	}
	r->counts.is_cut = at >= MAX_BYTES || r->n_steps >= SP_JIT_STEPS_MAX;
	if (!r->counts.is_cut && record.bytes) {
		r->counts.n++;
		r->counts.n_bad++;
	}
	return 0;
}

/* --- what lay where, and when --- */

static void jit_dump_add_code(struct past *p, const struct code *code, bool before)
{
	if (before)
		*p = (struct past){0};
	if (p->n == MAX_AT_ONCE) {
		p->has_more = true;
		p->codes[MAX_AT_ONCE - 1] = *code;
		return;
	}
	p->codes[p->n++] = *code;
}

/* A function from before the time asked for is dropped as soon as another one takes its place. */
static void take_record(struct reader *r, const struct record *record)
{
	const struct code code = {record->vaddr, record->size, record->index, record->name};
	bool before = record->time_ns <= r->since_ns;
	size_t i = sp_n_below(r->addresses, r->n_addresses, record->old);
	for (;
	     record->kind == CODE_MOVE && before && i < r->n_addresses && r->addresses[i] - record->old < record->size;
	     i++, r->n_steps++)
		r->pasts[i] = (struct past){0};
	i = sp_n_below(r->addresses, r->n_addresses, record->vaddr);
	for (; i < r->n_addresses && r->addresses[i] - record->vaddr < record->size; i++, r->n_steps++)
		jit_dump_add_code(&r->pasts[i], &code, before);
}

SP_ORDER_BY(by_index, struct wanted, index);

static void take_load(struct reader *r, const struct record *record)
{
	size_t i = SP_N_BELOW(r->wanted, r->n_wanted, index, record->index);
	for (; record->kind == CODE_LOAD && i < r->n_wanted && r->wanted[i].index == record->index; i++)
		r->wanted[i].code->name = record->name;
}

/* The name of moved code is in the record of its load: a second pass finds it, only if it is asked for. */
static int find_moved(struct reader *r, uint64_t first)
{
	size_t i, k;
	for (i = 0; i < r->n_addresses; i++)
		for (k = 0; k < r->pasts[i].n; k++)
			r->n_wanted += r->pasts[i].codes[k].name == NOT_KNOWN;
	if (!r->n_wanted)
		return 0;
	struct wanted *wanted SP_FREE = calloc(r->n_wanted, sizeof(*wanted));
	if (!wanted)
		return -ENOMEM;
	r->wanted = wanted;
	r->n_wanted = 0;
	for (i = 0; i < r->n_addresses; i++)
		for (k = 0; k < r->pasts[i].n; k++)
			if (r->pasts[i].codes[k].name == NOT_KNOWN)
				wanted[r->n_wanted++] =
				    (struct wanted){r->pasts[i].codes[k].index, &r->pasts[i].codes[k]};
	qsort(wanted, r->n_wanted, sizeof(*wanted), by_index);
	return jit_dump_each_record(r, first, take_load);
}

/* --- names --- */

/* NULL: no name, or the file was rewritten meanwhile. */
static int jit_dump_name_of(const struct reader *r, const struct code *code, char **ret_name)
{
	char text[SP_LINKAGE_MAX + 1];
	ssize_t n = code->name == NOT_KNOWN ? 0 : sp_read_most_at(r->fd, text, SP_LINKAGE_MAX, code->name);
	*ret_name = NULL;
	if (n <= 0)
		return (int)n;
	text[n] = 0;
	if (!*text)
		return 0;
	*ret_name = sp_demangle(text);
	return *ret_name ? 0 : -ENOMEM;
}

/* Adds " or NAME", unless it is called that already. */
static int add_name(char **all, const char *name)
{
	char *both = NULL;
	if (strcmp(*all, name) == 0 || strlen(*all) + strlen(name) + sizeof(" or or others") > SP_NAME_MAX)
		return 0;
	if (asprintf(&both, "%s or %s", *all, name) < 0)
		return -ENOMEM;
	free(*all);
	*all = both;
	return 0;
}

static int name_all(const struct reader *r, const struct past *p, char **ret_all)
{
	char *all SP_FREE = NULL;
	int e = 0;
	for (size_t i = 0; i < p->n && e == 0; i++) {
		char *one SP_FREE = NULL;
		e = jit_dump_name_of(r, &p->codes[i], &one);
		if (e == 0 && one && all)
			e = add_name(&all, one);
		else if (!all)
			all = sp_take_ptr(one);
	}
	if (e == 0 && all && p->has_more)
		e = add_name(&all, "others");
	*ret_all = e == 0 ? sp_take_ptr(all) : NULL;
	return e;
}

/* If several functions lay at this address, the result holds for this address alone. */
static int jit_dump_name_address(const struct reader *r, size_t i, struct sp_name *name)
{
	const struct past *p = &r->pasts[i];
	*name = (struct sp_name){.start = r->addresses[i]};
	if (!p->n)
		return 0;
	int e = name_all(r, p, &name->name);
	if (e < 0 || !name->name)
		return e;
	const struct code *last = &p->codes[p->n - 1];
	*name = (struct sp_name){.name = name->name, .start = last->start, .size = last->size, .vaddr = last->start};
	return 0;
}

static int open_dump(struct reader *r, uint64_t *ret_first)
{
	struct sp_cursor c;
	int e = bytes_at(r, 0, HEAD, &c);
	if (e < 0)
		return e;
	uint32_t magic = sp_cursor_u32(&c), version = sp_cursor_u32(&c), size = sp_cursor_u32(&c);
	sp_cursor_skip(&c, 4 + 4 + 4 + 8); /* machine, nothing, process, time */
	uint64_t flags = sp_cursor_u64(&c);
	if (c.bad || magic != MAGIC || !version || size < HEAD)
		return sp_fail_said(-EBADMSG, "not a jit dump");
	if (flags & OTHER_CLOCK)
		r->since_ns = UINT64_MAX;
	*ret_first = size;
	return 0;
}

static int jit_dump_name_addresses(struct reader *r, struct sp_name *names)
{
	uint64_t first = 0;
	int e = open_dump(r, &first);
	e = e < 0 ? e : jit_dump_each_record(r, first, take_record);
	e = e < 0 ? e : find_moved(r, first);
	for (size_t i = 0; i < r->n_addresses && e == 0; i++)
		e = jit_dump_name_address(r, i, &names[i]);
	return e;
}

int sp_jit_dump_find(int fd, uint64_t since_ns, const uint64_t *addresses, size_t n, struct sp_name *names,
		     struct sp_jit_counts *ret_counts)
{
	struct reader *r SP_FREE = calloc(1, sizeof(*r));
	struct past *pasts SP_FREE = calloc(n + 1, sizeof(*pasts));
	if (!r || !pasts)
		return -ENOMEM;
	memset(names, 0, n * sizeof(*names));
	r->fd = fd;
	r->since_ns = since_ns;
	r->addresses = addresses;
	r->n_addresses = n;
	r->pasts = pasts;
	int e = jit_dump_name_addresses(r, names);
	*ret_counts = r->counts;
	if (e < 0)
		sp_names_done(names, n);
	return e;
}
