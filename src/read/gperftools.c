/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gperftools.c: what libprofiler writes (CPUPROFILE=FILE): words of 64 bits, then the text of /proc/PID/maps.
 *
 * Five words of head (0, 3, 0, period in us, 0); records of a count, a depth and as many addresses, the leaf first; the
 * record 0, 1, 0 ends them (gperftools.github.io, "CPU profile file format"). Callers are return addresses, so 1 is
 * subtracted; some versions write the leaf twice. There are no names: the caller can name the frames from the files.
 */
#include "base/cursor.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "profile/profile.h"
#include "read/input.h"
#include "read/priv.h"
#include "read/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, HEAD_WORDS = 5, RECORD_WORDS = 2, MAX_DEPTH = 65536 };

struct mapping {
	uint64_t start, limit, offset;
	uint32_t file;
};
struct gperftools {
	struct sp_input *in;
	const struct sp_read_options *o;
	struct sp_read_result *result;
	struct sp_profile *p;
	uint64_t period_us;
	struct sp_read_table *stacks; /* stacks of addresses (callers' less 1); `extra`: its count */
	uint64_t *addresses;          /* of one stack */
	uint32_t *frames;
	size_t addresses_capacity, frames_capacity;
	struct mapping *mappings;
	size_t n_mappings, mappings_capacity;
};

static bool gperftools_parse_header(const uint8_t *head, size_t n, uint64_t *ret_period_us)
{
	struct sp_cursor c = sp_cursor_on(head, n);
	uint64_t words[HEAD_WORDS];

	for (size_t i = 0; i < HEAD_WORDS; i++)
		words[i] = sp_cursor_u64(&c);
	*ret_period_us = words[3];
	return !c.bad && !words[0] && words[1] == 3 && !words[2] && words[3] && words[3] < 1000000000 && !words[4];
}

/* --- records --- */
/* 1, 0: the input ended (which keep_going allows), or negative. */
static int ended(struct gperftools *g, int r)
{
	if (r && (r != -EBADMSG || !g->o->keep_going))
		return r;
	sp_error_clear();
	return sp_input_is_cut(g->in) ? 0 : sp_input_bad(g->in, g->o, g->result, "ends inside of the records");
}

static size_t correct(uint64_t *addresses, size_t n)
{
	size_t kept = SP_MIN(n, (size_t)1);

	for (size_t i = 1; i < n; i++)
		if (i > 1 || addresses[1] != addresses[0])
			addresses[kept++] = addresses[i] - 1;
	return kept;
}

static int add_record(struct gperftools *g, uint64_t count, size_t depth, const uint8_t *bytes)
{
	int r = sp_grow(&g->addresses, &g->addresses_capacity, depth, sizeof(*g->addresses));
	struct sp_cursor c = sp_cursor_on(bytes, depth * WORD);
	uint64_t *known, hash;
	size_t n;

	if (r < 0)
		return r;
	for (size_t i = 0; i < depth; i++)
		g->addresses[i] = sp_cursor_u64(&c);
	n = correct(g->addresses, depth) * WORD;
	hash = sp_read_table_hash(g->stacks, g->addresses, n);
	known = sp_read_table_find(g->stacks, hash, g->addresses, n);
	if (!known)
		return -ENOMEM;
	*known = *known > INT64_MAX - count ? INT64_MAX : *known + count;
	g->result->n_samples = g->result->n_samples > INT64_MAX - count ? INT64_MAX : g->result->n_samples + count;
	return 0;
}

/* 1; 0: that was the last record; or negative. */
static int read_record(struct gperftools *g)
{
	const uint8_t *bytes;
	uint64_t at = sp_input_offset(g->in), count, depth;
	struct sp_cursor c;
	int r = sp_input_bytes(g->in, RECORD_WORDS * WORD, &bytes);

	if (r <= 0)
		return ended(g, r);
	c = sp_cursor_on(bytes, RECORD_WORDS * WORD);
	count = sp_cursor_u64(&c);
	depth = sp_cursor_u64(&c);
	if (!depth || depth > MAX_DEPTH || count > INT64_MAX / 2)
		return sp_input_bad_at(g->in, g->o, g->result, at,
				       "a record of %" PRIu64 " samples, %" PRIu64 " deep; expected 1 to %d", count,
				       depth, MAX_DEPTH);
	r = sp_input_bytes(g->in, depth * WORD, &bytes);
	if (r <= 0)
		return ended(g, r);
	c = sp_cursor_on(bytes, depth * WORD);
	if (!count && depth == 1 && !sp_cursor_u64(&c))
		return 0;
	r = add_record(g, count, depth, bytes);
	return r < 0 ? r : 1;
}

/* --- mappings --- */
/* `START-LIMIT PERMISSIONS OFFSET DEVICE INODE PATH`; false: another line, such as `build=`. */
static bool parse_mapping(const char *line, struct mapping *m, const char **ret_path)
{
	char permissions[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &m->start, &m->limit, permissions,
		   &m->offset, &path) < 4 ||
	    !path)
		return false;
	*ret_path = line + path;
	return strchr(permissions, 'x') && m->start < m->limit;
}

static int add_mapping(void *gperftools, char *line, size_t len)
{
	struct gperftools *g = gperftools;
	struct mapping m = {0};
	const char *path;
	int64_t file;
	int r;

	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		line[--len] = 0;
	if (!parse_mapping(line, &m, &path))
		return 0;
	file = sp_read_file(g->p, path, NULL, 0);
	r = file < 0 ? (int)file
		     : sp_grow(&g->mappings, &g->mappings_capacity, g->n_mappings + 1, sizeof(*g->mappings));
	if (r < 0)
		return r;
	m.file = (uint32_t)file;
	g->mappings[g->n_mappings++] = m;
	return 0;
}

SP_ORDER_BY(compare_mappings, struct mapping, start);

static int read_mappings(struct gperftools *g)
{
	int r = sp_input_lines(g->in, g->o, g->result, add_mapping, g);

	if (g->n_mappings)
		qsort(g->mappings, g->n_mappings, sizeof(*g->mappings), compare_mappings);
	return r;
}

static struct mapping mapping_at(const struct gperftools *g, uint64_t address)
{
	size_t low = SP_N_UP_TO(g->mappings, g->n_mappings, start, address);
	if (!low || address >= g->mappings[low - 1].limit)
		return (struct mapping){0};
	return g->mappings[low - 1];
}

/* --- the end --- */
static int64_t gperftools_add_stack(struct gperftools *g, const uint8_t *bytes, size_t n)
{
	struct sp_cursor c = sp_cursor_on(bytes, n);
	struct sp_stack stack = {.n_frames = (uint32_t)(n / WORD)};
	int r = sp_grow(&g->frames, &g->frames_capacity, n / WORD, sizeof(*g->frames));

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < stack.n_frames; i++) {
		uint64_t address = sp_cursor_u64(&c);
		struct mapping m = mapping_at(g, address);
		struct sp_frame f = {.offset = address - m.start + m.offset, .file = m.file};
		int64_t frame = sp_read_frame(g->p, &f, true);

		if (frame < 0)
			return frame;
		g->frames[i] = (uint32_t)frame;
	}
	stack.frames = g->frames;
	return sp_profile_add_stack(g->p, &stack);
}

static int gperftools_add_row(struct gperftools *g, const uint64_t *known)
{
	int64_t values[SP_MAX_VALUES] = {(int64_t)*known}, stack;
	size_t n;
	const uint8_t *bytes = sp_read_table_bytes(g->stacks, known, &n);

	if (__builtin_mul_overflow(values[0], (int64_t)g->period_us * 1000, &values[1]))
		values[1] = INT64_MAX;
	stack = gperftools_add_stack(g, bytes, n);
	return stack < 0 ? (int)stack : sp_profile_add(g->p, 0, (uint32_t)stack, 0, values);
}

static int resolve(struct gperftools *g)
{
	struct sp_profile_info *info = sp_profile_info(g->p);
	int64_t cpu = sp_profile_add_string(g->p, "cpu"), ns = sp_profile_add_string(g->p, "nanoseconds");
	int r = cpu < 0 || ns < 0 ? -ENOMEM : sp_profile_add_value_type(g->p, "samples", "count");

	if (r >= 0)
		r = sp_profile_add_value_type(g->p, "cpu", "nanoseconds");
	for (size_t i = 0; i < sp_read_table_count(g->stacks) && r >= 0; i++)
		r = gperftools_add_row(g, sp_read_table_at(g->stacks, i));
	info->period = g->period_us * 1000;
	info->period_type = (struct sp_value_type){(uint32_t)cpu, (uint32_t)ns};
	return r;
}

static int gperftools_read_header(struct gperftools *g)
{
	const uint8_t *head;
	size_t n;
	int r = sp_input_peek(g->in, (size_t)HEAD_WORDS * WORD, &head, &n);

	if (r < 0)
		return r;
	if (!gperftools_parse_header(head, n, &g->period_us))
		return sp_fail_said(-EBADMSG, "%s: byte 0: not the head of gperftools' CPU profile of 64 bits",
				    sp_input_name(g->in));
	return sp_input_bytes(g->in, (size_t)HEAD_WORDS * WORD, &head);
}

static int gperftools_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
			   struct sp_read_result *result)
{
	struct gperftools g = {.in = in, .o = o, .result = result, .p = into};
	int r = sp_read_table_new(sizeof(uint64_t), &g.stacks);

	if (r >= 0)
		r = gperftools_read_header(&g);
	while (r > 0)
		r = read_record(&g);
	if (r >= 0)
		r = read_mappings(&g);
	if (r >= 0)
		r = resolve(&g);
	sp_read_table_free(g.stacks);
	free(g.addresses);
	free(g.frames);
	free(g.mappings);
	return r;
}

static int gperftools_recognise(const uint8_t *head, size_t n)
{
	uint64_t period_us;

	return gperftools_parse_header(head, n, &period_us) ? 95 : 0;
}

const struct sp_reader sp_reader_gperftools = {
    .name = "gperftools",
    .summary = "the CPU profile of libprofiler, as it lies on disk",
    .recognise = gperftools_recognise,
    .read = gperftools_read,
};
