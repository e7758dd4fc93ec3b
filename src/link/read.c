/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a file of calls that programs may be writing to. What is named by something else is there before it, so rows
 * are read first, then functions, then libraries, each by a directory that is read anew. Blocks must not lie over one
 * another: so no more is read than the file has, and each counter belongs to one row.
 */
#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/search.h"
#include "link/blocks.h"
#include "link/buckets.h"
#include "link/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID_FREE = 0 }; /* else number + 1 */

struct record_row {
	struct sp_calls_row row;
	uint64_t n_calls;
};
struct reader {
	int fd;
	struct sp_calls_header header;
	struct sp_calls_block blocks[SP_CALLS_MAX_BLOCKS];
	uint16_t order[SP_CALLS_MAX_BLOCKS]; /* blocks that are READY, by offset */
	size_t n_ready;
	struct sp_calls_builder builder;
	struct record_row *rows;
	size_t n_rows, row_room;
	struct sp_calls_function *functions;
	uint32_t *function_ids;
	size_t n_functions, function_room, function_id_room;
	struct sp_calls_process *processes;
	uint32_t *process_ids;
	size_t n_processes, process_room, process_id_room;
	uint32_t *objects, *callees, *whos; /* ids to numbers + 1 in the builder */
	size_t object_room, callee_room, who_room;
	uint32_t uid; /* whose file it is */
	char *names;  /* one block of them */
	uint64_t names_at;
};

static int damaged(const char *what)
{
	return sp_fail_said(-EBADMSG, "damaged: %s", what);
}

static int calls_reader_read_at(const struct reader *r, void *to, size_t len, uint64_t offset)
{
	int e = sp_read_at(r->fd, to, len, offset);

	return e == -ENODATA ? damaged("it ends too early") : e;
}

static int check_header(const struct sp_calls_header *h, uint64_t size)
{
	if (!sp_calls_is(h->magic, sizeof(h->magic)))
		return sp_fail_said(-EBADMSG, "not a file of calls");
	if (h->version != SP_CALLS_VERSION)
		return sp_fail_said(-EPROTONOSUPPORT, "version %u, and this soprof reads %u", h->version,
				    (unsigned)SP_CALLS_VERSION);
	if (h->header_bytes != sizeof(*h) || h->size_bytes != size || size < SP_CALLS_LEAST || h->n_slots < 2 ||
	    h->n_slots > SP_CALLS_MAX_SLOTS || (h->depth != SP_CALLS_BY_OBJECT && h->depth != SP_CALLS_BY_SITE) ||
	    h->apart > SP_CALLS_BY_THREAD)
		return damaged("its header and its size do not agree");
	if (!memchr(h->targets, '\0', sizeof(h->targets)) || h->targets[0] == '\0' ||
	    !memchr(h->functions, '\0', sizeof(h->functions)))
		return damaged("its list of libraries or functions has no end");
	return 0;
}

/*
 * Of n records, all but those at the end whose bytes are 0, and perhaps as many of these: most blocks are used at their
 * beginning only, and memcmp() is quicker than a look at each.
 */
static uint32_t n_in_use(const void *records, size_t bytes, uint32_t n)
{
	while (n > 0) {
		const char *half = (const char *)records + n / 2 * bytes;
		if (*half != 0 || memcmp(half, half + 1, (n - n / 2) * bytes - 1) != 0)
			return n;
		n /= 2;
	}
	return 0;
}

/* --- the directory --- */
static uint64_t bytes_of(const struct reader *r, const struct sp_calls_block *b)
{
	return sp_calls_block_bytes(b->kind, b->level, r->header.n_slots);
}

static int by_offset(const void *a, const void *b, void *reader)
{
	const struct reader *r = reader;
	uint64_t x = r->blocks[*(const uint16_t *)a].offset, y = r->blocks[*(const uint16_t *)b].offset;

	return x < y ? -1 : x > y;
}

static int check_block(const struct reader *r, const struct sp_calls_block *b)
{
	if (b->kind == 0 || b->kind >= SP_CALLS_KINDS || b->level >= SP_CALLS_LEVELS ||
	    (b->level > 0 && b->kind != SP_CALLS_INDEX) || b->offset % SP_CALLS_PAGE != 0 ||
	    b->offset < SP_CALLS_LEAST || b->offset > r->header.size_bytes ||
	    bytes_of(r, b) > r->header.size_bytes - b->offset)
		return damaged("a block lies outside of it");
	return 0;
}

static int read_directory(struct reader *r)
{
	int e = calls_reader_read_at(r, r->blocks, sizeof(r->blocks), sizeof(r->header));

	uint32_t n = e == 0 ? n_in_use(r->blocks, sizeof(r->blocks[0]), SP_CALLS_MAX_BLOCKS) : 0;
	r->n_ready = 0;
	for (uint32_t i = 0; i < n && e == 0; i++) {
		const struct sp_calls_block *b = &r->blocks[i];
		if (b->state > SP_CALLS_READY)
			return damaged("a block is in no known state");
		if (b->state != SP_CALLS_READY)
			continue;
		e = check_block(r, b);
		r->order[r->n_ready++] = (uint16_t)i;
	}
	if (e < 0)
		return e;
	qsort_r(r->order, r->n_ready, sizeof(r->order[0]), by_offset, r);
	for (size_t i = 1; i < r->n_ready; i++) {
		const struct sp_calls_block *b = &r->blocks[r->order[i - 1]];
		if (bytes_of(r, b) > r->blocks[r->order[i]].offset - b->offset)
			return damaged("two blocks lie over one another");
	}
	return 0;
}

/* Calls read for each block of a kind. */
static int each_block(struct reader *r, unsigned kind, int (*read)(struct reader *r, uint32_t number))
{
	int e = read_directory(r);

	for (size_t i = 0; i < r->n_ready && e == 0; i++)
		if (r->blocks[r->order[i]].kind == kind)
			e = read(r, r->order[i]);
	return e;
}

/* A record that is not READY: untouched, or torn; else damaged. */
static int look_at_state(struct reader *r, uint32_t state, bool is_empty)
{
	if (state != SP_CALLS_FREE && state != SP_CALLS_READY)
		return damaged("a record is in no known state");
	r->builder.made.n_torn += state == SP_CALLS_FREE && !is_empty;
	return 0;
}

/* --- rows --- */
static int add_counts(struct reader *r, uint64_t offset, uint64_t *sums, uint32_t n)
{
	uint64_t page[SP_CALLS_ROWS];
	int e = 0;

	for (uint32_t slot = 0; slot < r->header.n_slots && e == 0; slot++) {
		e = calls_reader_read_at(r, page, n * sizeof(*page), offset + (uint64_t)slot * SP_CALLS_PAGE);
		for (uint32_t i = 0; i < n && e == 0; i++)
			sums[i] = page[i] > INT64_MAX - sums[i] ? INT64_MAX : sums[i] + page[i];
	}
	return e;
}

static int read_rows(struct reader *r, uint32_t number)
{
	struct sp_calls_row rows[SP_CALLS_ROWS];
	uint64_t sums[SP_CALLS_ROWS] = {0}, offset = r->blocks[number].offset;
	uint32_t n = 0; /* up to the last that is in use */
	int e = calls_reader_read_at(r, rows, sizeof(rows), offset);
	uint32_t n_rows = e == 0 ? n_in_use(rows, sizeof(rows[0]), SP_CALLS_ROWS) : 0;

	for (uint32_t i = 0; i < n_rows && e == 0; i++) {
		e = look_at_state(r, rows[i].state, rows[i].function == 0);
		n = rows[i].state == SP_CALLS_READY ? i + 1 : n;
	}
	if (e == 0 && n > 0)
		e = add_counts(r, offset + sizeof(rows), sums, n);
	if (e == 0)
		e = sp_grow(&r->rows, &r->row_room, r->n_rows + n, sizeof(*r->rows));
	for (uint32_t i = 0; i < n && e == 0; i++)
		if (rows[i].state == SP_CALLS_READY && sums[i] > 0)
			r->rows[r->n_rows++] = (struct record_row){rows[i], sums[i]};
	return e;
}

/* --- functions --- */
static int read_functions(struct reader *r, uint32_t number)
{
	struct sp_calls_function functions[SP_CALLS_FUNCTIONS];
	int e = calls_reader_read_at(r, functions, sizeof(functions), r->blocks[number].offset);
	uint32_t n = e == 0 ? n_in_use(functions, sizeof(functions[0]), SP_CALLS_FUNCTIONS) : 0;

	if (e == 0)
		e = sp_grow(&r->functions, &r->function_room, r->n_functions + n, sizeof(*r->functions));
	if (e == 0)
		e = sp_grow(&r->function_ids, &r->function_id_room, r->n_functions + n, sizeof(*r->function_ids));
	for (uint32_t i = 0; i < n && e == 0; i++) {
		e = look_at_state(r, functions[i].state, functions[i].object == 0);
		if (functions[i].state != SP_CALLS_READY || e < 0)
			continue;
		r->function_ids[r->n_functions] = number * SP_CALLS_IDS + i;
		r->functions[r->n_functions++] = functions[i];
	}
	return e;
}

/* --- processes --- */
static int read_processes(struct reader *r, uint32_t number)
{
	struct sp_calls_process processes[SP_CALLS_IDS];
	int e = calls_reader_read_at(r, processes, sizeof(processes), r->blocks[number].offset);
	uint32_t n = e == 0 ? n_in_use(processes, sizeof(processes[0]), SP_CALLS_IDS) : 0;

	if (e == 0)
		e = sp_grow(&r->processes, &r->process_room, r->n_processes + n, sizeof(*r->processes));
	if (e == 0)
		e = sp_grow(&r->process_ids, &r->process_id_room, r->n_processes + n, sizeof(*r->process_ids));
	for (uint32_t i = 0; i < n && e == 0; i++) {
		const struct sp_calls_process *p = &processes[i];
		e = look_at_state(r, p->state, p->name[0] == '\0');
		if (e < 0 || p->state != SP_CALLS_READY)
			continue;
		if (!memchr(p->name, '\0', sizeof(p->name)))
			return damaged("a process's name has no end");
		r->process_ids[r->n_processes] = number * SP_CALLS_IDS + i;
		r->processes[r->n_processes++] = *p;
	}
	return e;
}

/* --- libraries --- */
static int check_object(const struct sp_calls_object *o)
{
	if (o->build_id_len > sizeof(o->build_id) || !memchr(o->soname, '\0', sizeof(o->soname)) ||
	    !memchr(o->path, '\0', sizeof(o->path)))
		return damaged("a library's record");
	return 0;
}

/* id stands for this number from now on. */
static int set_number(uint32_t **numbers, size_t *room, uint32_t id, uint32_t number)
{
	int e = sp_grow(numbers, room, (size_t)id + 1, sizeof(**numbers));

	if (e == 0)
		(*numbers)[id] = number + 1;
	return e;
}

static int64_t add_object(struct reader *r, const struct sp_calls_object *o)
{
	struct sp_calls_library library = {
	    .path = o->path,
	    .soname = o->soname,
	    .build_id_len = o->build_id_len,
	    .is_target = (o->flags & SP_CALLS_OBJECT_TARGET) != 0,
	    .is_program = (o->flags & SP_CALLS_OBJECT_PROGRAM) != 0,
	    .path_cut = (o->flags & SP_CALLS_OBJECT_PATH_CUT) != 0,
	    .size_bytes = o->size_bytes,
	    .mtime_ns = o->mtime_ns,
	    .n_by_address = o->n_by_address,
	    .n_mixed = o->n_mixed,
	    .n_words = o->n_words,
	};

	memcpy(library.build_id, o->build_id, o->build_id_len);
	return sp_calls_add_library(&r->builder, &library);
}

static int read_objects(struct reader *r, uint32_t number)
{
	struct sp_calls_object objects[SP_CALLS_OBJECTS];
	int e = calls_reader_read_at(r, objects, sizeof(objects), r->blocks[number].offset);
	uint32_t n = e == 0 ? n_in_use(objects, sizeof(objects[0]), SP_CALLS_OBJECTS) : 0;

	for (uint32_t i = 0; i < n && e == 0; i++) {
		const struct sp_calls_object *o = &objects[i];
		e = look_at_state(r, o->state, o->build_id_len == 0 && o->path[0] == '\0');
		if (e == 0 && o->state == SP_CALLS_READY)
			e = check_object(o);
		if (e < 0 || o->state != SP_CALLS_READY)
			continue;
		int64_t at = add_object(r, o);
		if (at < 0)
			return (int)at;
		e = set_number(&r->objects, &r->object_room, number * SP_CALLS_IDS + i, (uint32_t)at);
	}
	return e;
}

/* --- all together --- */
/* The block of names that has this offset. */
static const struct sp_calls_block *names_block(const struct reader *r, uint64_t offset)
{
	size_t n = SP_N_WHILE(r->n_ready, i, r->blocks[r->order[i]].offset <= offset);

	if (n == 0)
		return NULL;
	const struct sp_calls_block *b = &r->blocks[r->order[n - 1]];
	return b->kind == SP_CALLS_NAME && offset - b->offset < SP_CALLS_BYTES ? b : NULL;
}

static int read_name(struct reader *r, const struct sp_calls_function *f, const char **ret_name)
{
	const struct sp_calls_block *b = names_block(r, f->name);

	if (!b || f->name_len > SP_CALLS_MAX_NAME || f->name_len > b->offset + SP_CALLS_BYTES - f->name)
		return damaged("a name lies outside of the names");
	if (r->names_at != b->offset) {
		int e = calls_reader_read_at(r, r->names, SP_CALLS_BYTES, b->offset);
		r->names_at = e == 0 ? b->offset : 0;
		if (e < 0)
			return e;
	}
	const char *name = r->names + (f->name - b->offset);
	if (f->name_len == 0 || memchr(name, '\0', f->name_len))
		return damaged("a name has no end");
	return sp_calls_add_string(&r->builder, name, f->name_len, ret_name);
}

static int calls_reader_find_number(const uint32_t *numbers, size_t room, uint32_t id, uint32_t *ret_number)
{
	if (id >= room || numbers[id] == ID_FREE)
		return damaged("a record names one that is not there");
	*ret_number = numbers[id] - 1;
	return 0;
}

/* 0: none. */
static int find_caller(const struct reader *r, uint32_t id, uint32_t *ret_number)
{
	*ret_number = SP_CALLS_NONE;
	return id == 0 ? 0 : calls_reader_find_number(r->objects, r->object_room, id, ret_number);
}

static int add_functions(struct reader *r)
{
	for (size_t i = 0; i < r->n_functions; i++) {
		const struct sp_calls_function *f = &r->functions[i];
		struct sp_calls_callee callee = {.offset = f->offset,
						 .address_taken = (f->flags & SP_CALLS_FUNCTION_ADDRESS_TAKEN) != 0,
						 .is_ifunc = (f->flags & SP_CALLS_FUNCTION_IFUNC) != 0,
						 .name_cut = (f->flags & SP_CALLS_FUNCTION_NAME_CUT) != 0,
						 .untimed = (f->flags & SP_CALLS_FUNCTION_UNTIMED) != 0};
		int e = calls_reader_find_number(r->objects, r->object_room, f->object, &callee.library);
		if (e == 0)
			e = read_name(r, f, &callee.name);
		int64_t at = e < 0 ? e : sp_calls_add_callee(&r->builder, &callee);
		e = at < 0 ? (int)at : set_number(&r->callees, &r->callee_room, r->function_ids[i], (uint32_t)at);
		if (e < 0)
			return e;
	}
	return 0;
}

static int add_processes(struct reader *r)
{
	for (size_t i = 0; i < r->n_processes; i++) {
		const struct sp_calls_process *p = &r->processes[i];
		struct sp_calls_who who = {.file_ns = r->header.created_ns,
					   .number = r->process_ids[i],
					   .pid = p->pid,
					   .tid = p->tid,
					   .uid = r->uid,
					   .name = p->name};
		int e = find_caller(r, p->program, &who.program);
		int64_t at = e < 0 ? e : sp_calls_add_who(&r->builder, &who);
		e = at < 0 ? (int)at : set_number(&r->whos, &r->who_room, r->process_ids[i], (uint32_t)at);
		if (e < 0)
			return e;
	}
	return 0;
}

static uint64_t ns_of(const struct reader *r, uint64_t ticks)
{
	unsigned __int128 ns = (unsigned __int128)ticks * 1000000000 / r->header.ticks_hz;

	return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

static int add_time(struct reader *r, const struct record_row *row)
{
	uint64_t part = row->row.part, bucket = part - SP_CALLS_PART_BUCKET;
	struct sp_calls_time time = {.n = row->n_calls};

	if (row->row.caller != 0 || row->row.site_object != 0 || row->row.site_offset != 0 || r->header.ticks_hz == 0)
		return damaged("a row of times");
	int e = calls_reader_find_number(r->callees, r->callee_room, row->row.function, &time.callee);
	if (e < 0)
		return e;
	if (part == SP_CALLS_PART_TICKS) {
		time.n = ns_of(r, row->n_calls);
	} else if (bucket < SP_CALLS_BUCKETS) {
		time.low_ns = ns_of(r, sp_calls_bucket_low((unsigned)bucket));
		time.high_ns =
		    bucket + 1 == SP_CALLS_BUCKETS ? INT64_MAX : ns_of(r, sp_calls_bucket_low((unsigned)bucket + 1));
		time.high_ns = SP_MAX(time.high_ns, time.low_ns + 1);
	} else {
		return damaged("a row of times");
	}
	int64_t at = time.n > 0 ? sp_calls_add_time(&r->builder, &time) : 0;
	return at < 0 ? (int)at : 0;
}

static int calls_reader_add_rows(struct reader *r)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct sp_calls_row *row = &r->rows[i].row;
		if (row->part != SP_CALLS_PART_CALLS) {
			int failed = add_time(r, &r->rows[i]);
			if (failed < 0)
				return failed;
			continue;
		}
		struct sp_calls_arc arc = {.site_offset = row->site_offset, .n_calls = r->rows[i].n_calls};
		int e = calls_reader_find_number(r->callees, r->callee_room, row->function, &arc.callee);
		if (e == 0)
			e = find_caller(r, row->caller, &arc.caller);
		if (e == 0)
			e = find_caller(r, row->site_object, &arc.site_library);
		arc.who = SP_CALLS_NONE;
		if (e == 0 && row->process != 0)
			e = calls_reader_find_number(r->whos, r->who_room, row->process, &arc.who);
		if (e == 0 && row->site_object == 0 && row->site_offset != 0)
			e = damaged("a call site lies in no library");
		int64_t at = e < 0 ? e : sp_calls_add_arc(&r->builder, &arc);
		if (at < 0)
			return (int)at;
	}
	return 0;
}

static int calls_reader_read_all(struct reader *r)
{
	int e = each_block(r, SP_CALLS_ROW, read_rows);

	if (e == 0)
		e = each_block(r, SP_CALLS_FUNCTION, read_functions);
	if (e == 0)
		e = each_block(r, SP_CALLS_PROCESS, read_processes);
	if (e == 0)
		e = each_block(r, SP_CALLS_OBJECT, read_objects);
	if (e == 0)
		e = add_functions(r);
	if (e == 0)
		e = add_processes(r);
	if (e == 0)
		e = calls_reader_add_rows(r);
	if (e < 0)
		return e;
	struct sp_calls_snapshot *s = &r->builder.made;
	s->targets = strdup(r->header.targets);
	s->created_ns = r->header.created_ns;
	s->depth = r->header.depth;
	memcpy(s->counters, r->header.counters, sizeof(s->counters));
	return s->targets ? 0 : -ENOMEM;
}

static int read_with(struct reader *r, struct sp_calls_snapshot *ret_snapshot)
{
	struct stat st;
	int e = sp_calls_begin(&r->builder);

	if (e < 0)
		return e;
	if (fstat(r->fd, &st) < 0)
		e = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(r->header))
		e = sp_fail_said(-EBADMSG, "not a file of calls");
	r->uid = e == 0 ? st.st_uid : 0;
	if (e == 0)
		e = calls_reader_read_at(r, &r->header, sizeof(r->header), 0);
	if (e == 0)
		e = check_header(&r->header, (uint64_t)st.st_size);
	if (e == 0)
		e = calls_reader_read_all(r);
	sp_calls_end(&r->builder, e == 0 ? ret_snapshot : NULL);
	return e;
}

int sp_calls_read_fd(int fd, const char *name, struct sp_calls_snapshot *ret_snapshot)
{
	SP_FREE struct reader *r = calloc(1, sizeof(*r));
	SP_FREE char *names = malloc(SP_CALLS_BYTES);

	if (!r || !names)
		return -ENOMEM;
	r->fd = fd;
	r->names = names;
	int e = read_with(r, ret_snapshot);
	free(r->rows);
	free(r->objects);
	free(r->callees);
	free(r->functions);
	free(r->function_ids);
	free(r->processes);
	free(r->process_ids);
	free(r->whos);
	return e < 0 ? sp_fail(e, "%s", name) : 0;
}

int sp_calls_read(const char *path, struct sp_calls_snapshot *ret_snapshot)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return sp_fail(-errno, "open %s", path);
	return sp_calls_read_fd(fd, path, ret_snapshot);
}
