/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gmon.c: what glibc's LD_PROFILE writes of a library (LD_PROFILE_OUTPUT/SONAME.profile), and gmon.out of programs that
 * were compiled with -pg: counted calls, and a histogram of where time went.
 *
 * Both begin with "gmon" and a version. A gmon.out (1) has records of one byte of tag: a histogram, a call, or counts
 * of basic blocks, which are skipped. LD_PROFILE's file (0x1ffff) has one histogram and one table of calls, with the
 * number of rows in use; its addresses are relative to the histogram's start. A caller 0 is somewhere outside the
 * library, and rows may occur twice. Neither file has names, nor says which ELF file it is about: o->object finds that,
 * with its segments, and the caller can then name the frames. Without it, offsets are addresses. A return address less
 * 1 is the caller; a bin is the address that it begins with.
 * Sources: glibc's elf/dl-profile.c and sys/gmon_out.h; gprof's manual, "Profiling Data File Format".
 */
#include "base/cursor.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/path.h"
#include "profile/profile.h"
#include "read/input.h"
#include "read/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = 20, VERSION_PROGRAM = 1, VERSION_LIBRARY = 0x1ffff };
enum { TAG_HISTOGRAM, TAG_CALL, TAG_BLOCKS };
enum { HISTOGRAM_BYTES = 40, CALL_BYTES = 20, BLOCK_BYTES = 16, CHUNK_BINS = 1 << 15 };
enum { MAX_BINS = 1 << 28, MAX_RATE_HZ = 1000000000 };
enum { VALUE_CALLS, VALUE_CPU, N_VALUES };

struct histogram {
	uint64_t low, high;
	uint32_t n_bins, rate_hz;
};
struct gmon {
	struct sp_input *in;
	const struct sp_read_options *o;
	struct sp_read_result *result;
	struct sp_profile *p;
	bool is_library;
	struct histogram of_library;
	struct sp_read_object object;
	uint32_t file;
};

static uint32_t read_version(const uint8_t *head, size_t n)
{
	struct sp_cursor c = sp_cursor_on(head, n);
	uint32_t version;

	sp_cursor_skip(&c, 4);
	version = sp_cursor_u32(&c);
	sp_cursor_skip(&c, HEAD_BYTES - 8);
	if (c.bad || memcmp(head, "gmon", 4) || (version != VERSION_PROGRAM && version != VERSION_LIBRARY))
		return 0;
	return version;
}

/* 1; 0: the input ends too early (with keep_going); or negative. */
static int gmon_read_bytes(struct gmon *g, size_t n, const uint8_t **ret_bytes)
{
	int r = sp_input_bytes(g->in, n, ret_bytes);

	if (r > 0 || (r < 0 && (r != -EBADMSG || !g->o->keep_going)))
		return r;
	sp_error_clear();
	return sp_input_is_cut(g->in) ? 0 : sp_input_bad(g->in, g->o, g->result, "ends inside of the records");
}

/* --- the ELF file that the profile is about --- */
/* The library's name from the file's: SONAME of SONAME.profile. */
static void name_of_file(const struct gmon *g, char *ret_name, size_t size)
{
	char *dot;

	snprintf(ret_name, size, "%s", sp_path_last(sp_input_name(g->in)));
	dot = strstr(ret_name, ".profile");
	if (g->is_library && dot && dot != ret_name)
		*dot = 0;
	if (!strcmp(ret_name, "-"))
		snprintf(ret_name, size, "%s", g->is_library ? "library" : "program");
}

static int gmon_add_file(struct gmon *g, const char *name)
{
	const struct sp_read_object *object = &g->object;
	size_t n_id = SP_MIN(object->build_id_len, (size_t)SP_BUILD_ID_MAX);
	struct sp_file f = {.kind = SP_FILE_ELF, .build_id_len = (uint8_t)n_id};
	int64_t string = sp_profile_add_string(g->p, name), path = sp_profile_add_string(g->p, object->path), file;

	if (string < 0 || path < 0)
		return -ENOMEM;
	memcpy(f.build_id, object->build_id, n_id);
	f.name = (uint32_t)string;
	f.path = (uint32_t)path;
	f.tag = sp_hash_bytes(f.build_id, n_id, sp_hash_bytes(name, strlen(name), 0));
	file = sp_profile_add_file(g->p, &f);
	g->file = (uint32_t)SP_MAX(file, 0);
	return file < 0 ? (int)file : 0;
}

static int find_file(struct gmon *g)
{
	char name[256];
	int r = 0;

	name_of_file(g, name, sizeof(name));
	if (g->o->object)
		r = g->o->object(g->o->object_arg, g->is_library ? name : NULL, g->of_library.low, g->of_library.high,
				 &g->object);
	if (r < 0)
		return r;
	g->result->wants_names = true;
	return gmon_add_file(g, *g->object.name ? g->object.name : name);
}

static uint64_t offset_of(const struct gmon *g, uint64_t vaddr)
{
	for (size_t i = 0; i < g->object.n_segments; i++) {
		const struct sp_read_segment *s = &g->object.segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return s->offset + (vaddr - s->vaddr);
	}
	return vaddr;
}

/* --- rows --- */
static int64_t frame_at(struct gmon *g, uint64_t vaddr)
{
	return sp_profile_add_frame(g->p, &(struct sp_frame){.file = g->file, .offset = offset_of(g, vaddr)});
}

/* caller 0: unknown, or there is none. */
static int gmon_add_row(struct gmon *g, uint64_t at, uint64_t caller, const int64_t *values)
{
	int64_t leaf = frame_at(g, at), below = caller ? frame_at(g, caller) : 0, stack;
	uint32_t frames[] = {(uint32_t)leaf, (uint32_t)below};

	if (leaf < 0 || below < 0)
		return -ENOMEM;
	stack = sp_profile_add_stack(g->p, &(struct sp_stack){SP_CLASS_COMPLETE, 0, caller ? 2 : 1, frames});
	if (stack < 0)
		return -ENOMEM;
	return sp_profile_add(g->p, 0, (uint32_t)stack, 0, values);
}

static int add_call(struct gmon *g, const uint8_t *bytes)
{
	struct sp_cursor c = sp_cursor_on(bytes, CALL_BYTES);
	uint64_t from = sp_cursor_u64(&c), to = sp_cursor_u64(&c);
	int64_t values[N_VALUES] = {[VALUE_CALLS] = sp_cursor_u32(&c)};

	if (!values[VALUE_CALLS])
		return 0;
	if (g->is_library) {
		from += from ? g->of_library.low : 0;
		to += g->of_library.low;
	}
	g->result->n_samples++;
	return gmon_add_row(g, to, from ? from - 1 : 0, values);
}

static int add_bin(struct gmon *g, const struct histogram *h, uint32_t bin, uint16_t ticks)
{
	uint64_t at = h->low + (uint64_t)((unsigned __int128)(h->high - h->low) * bin / h->n_bins);
	int64_t values[N_VALUES] = {[VALUE_CPU] = (int64_t)(ticks * UINT64_C(1000000000) / h->rate_hz)};

	g->result->n_samples += ticks;
	return ticks ? gmon_add_row(g, at, 0, values) : 0;
}

/* --- records: 1, 0: the input ended, or negative --- */
/* 1. For an invalid histogram -EBADMSG, with sp_error_text(), or with keep_going 0. */
static int read_histogram_head(struct gmon *g, struct histogram *h)
{
	uint64_t at = sp_input_offset(g->in);
	struct sp_profile_info *info = sp_profile_info(g->p);
	const uint8_t *bytes;
	struct sp_cursor c;
	int r = gmon_read_bytes(g, HISTOGRAM_BYTES, &bytes);

	if (r <= 0)
		return r;
	c = sp_cursor_on(bytes, HISTOGRAM_BYTES);
	h->low = sp_cursor_u64(&c);
	h->high = sp_cursor_u64(&c);
	h->n_bins = sp_cursor_u32(&c);
	h->rate_hz = sp_cursor_u32(&c);
	if (h->low > h->high || h->n_bins > MAX_BINS || !h->rate_hz || h->rate_hz > MAX_RATE_HZ ||
	    strncmp((const char *)bytes + 24, "seconds", 15))
		return sp_input_bad_at(g->in, g->o, g->result, at,
				       "a histogram from 0x%" PRIx64 " to 0x%" PRIx64 " of %" PRIu32 " bins at %" PRIu32
				       " Hz; expected one of seconds",
				       h->low, h->high, h->n_bins, h->rate_hz);
	info->period = 1000000000 / h->rate_hz;
	return 1;
}

static int read_bins(struct gmon *g, const struct histogram *h)
{
	int r = 1;

	for (uint32_t done = 0; done < h->n_bins && r > 0;) {
		uint32_t n = SP_MIN(h->n_bins - done, (uint32_t)CHUNK_BINS);
		const uint8_t *bytes;
		struct sp_cursor c;

		r = gmon_read_bytes(g, (size_t)n * 2, &bytes);
		c = sp_cursor_on(bytes, r > 0 ? (size_t)n * 2 : 0);
		for (uint32_t i = 0; i < n && r > 0; i++) {
			int added = add_bin(g, h, done + i, sp_cursor_u16(&c));

			r = added < 0 ? added : r;
		}
		done += n;
	}
	return r;
}

static int read_calls(struct gmon *g, uint32_t n)
{
	const uint8_t *bytes;
	int r = 1;

	for (uint32_t i = 0; i < n && r > 0; i++) {
		r = gmon_read_bytes(g, CALL_BYTES, &bytes);
		if (r > 0)
			r = add_call(g, bytes) < 0 ? -ENOMEM : 1;
	}
	return r;
}

static int read_number(struct gmon *g, uint32_t *ret_number)
{
	const uint8_t *bytes;
	int r = gmon_read_bytes(g, 4, &bytes);
	struct sp_cursor c = sp_cursor_on(bytes, r > 0 ? 4 : 0);

	*ret_number = sp_cursor_u32(&c);
	return r;
}

static int bad_tag(struct gmon *g, uint64_t at, uint32_t tag)
{
	return sp_input_bad_at(g->in, g->o, g->result, at, "a record of tag %" PRIu32, tag);
}

static int read_record(struct gmon *g)
{
	uint64_t at = sp_input_offset(g->in);
	struct histogram h;
	const uint8_t *bytes;
	uint32_t n;
	int r = sp_input_bytes(g->in, 1, &bytes), tag;

	if (r <= 0) /* the file may end here */
		return r;
	tag = bytes[0];
	if (tag == TAG_CALL)
		return read_calls(g, 1);
	if (tag == TAG_HISTOGRAM) {
		r = read_histogram_head(g, &h);
		return r > 0 ? read_bins(g, &h) : r;
	}
	if (tag != TAG_BLOCKS)
		return bad_tag(g, at, (uint32_t)tag);
	r = read_number(g, &n);
	if (r <= 0)
		return r;
	r = sp_input_skip(g->in, (uint64_t)n * BLOCK_BYTES);
	return r ? r : gmon_read_bytes(g, 1, &bytes); /* reports the early end */
}

static int read_program(struct gmon *g)
{
	int r = find_file(g);

	if (r < 0)
		return r;
	do
		r = read_record(g);
	while (r > 0);
	return r;
}

static int read_library(struct gmon *g)
{
	uint64_t at = sp_input_offset(g->in);
	uint32_t tag, n;
	int r = read_number(g, &tag);

	if (r > 0 && tag != TAG_HISTOGRAM)
		return bad_tag(g, at, tag);
	if (r > 0)
		r = read_histogram_head(g, &g->of_library);
	if (r <= 0)
		return r;
	r = find_file(g);
	if (r >= 0)
		r = read_bins(g, &g->of_library);
	at = sp_input_offset(g->in);
	if (r > 0)
		r = read_number(g, &tag);
	if (r > 0 && tag != TAG_CALL)
		return bad_tag(g, at, tag);
	if (r > 0)
		r = read_number(g, &n);
	return r > 0 ? read_calls(g, n) : r;
}

static int set_values(struct gmon *g)
{
	struct sp_profile_info *info = sp_profile_info(g->p);
	int64_t name = sp_profile_add_string(g->p, "cpu"), unit = sp_profile_add_string(g->p, "nanoseconds");
	int r = sp_profile_add_value_type(g->p, "calls", "count");

	if (r >= 0)
		r = sp_profile_add_value_type(g->p, "cpu", "nanoseconds");
	if (r < 0 || name < 0 || unit < 0)
		return -ENOMEM;
	info->period_type = (struct sp_value_type){(uint32_t)name, (uint32_t)unit};
	info->default_type = sp_profile_value_type(g->p, 0)->name;
	return 0;
}

static int gmon_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		     struct sp_read_result *result)
{
	struct gmon g = {.in = in, .o = o, .result = result, .p = into};
	uint32_t version = 0;
	const uint8_t *head;
	size_t n;
	int r = sp_input_peek(in, HEAD_BYTES, &head, &n);

	if (r >= 0)
		version = read_version(head, n);
	if (r >= 0 && !version)
		return sp_fail_said(-EBADMSG, "%s: byte 0: neither the head of a gmon.out nor of LD_PROFILE's file",
				    sp_input_name(in));
	g.is_library = version == VERSION_LIBRARY;
	if (r >= 0)
		r = sp_input_bytes(in, HEAD_BYTES, &head);
	if (r > 0)
		r = set_values(&g);
	if (r >= 0)
		r = g.is_library ? read_library(&g) : read_program(&g);
	return r < 0 ? r : 0;
}

static int gmon_recognise(const uint8_t *head, size_t n)
{
	return read_version(head, n) ? 95 : 0;
}

const struct sp_reader sp_reader_gmon = {
    .name = "gmon",
    .summary = "what glibc's LD_PROFILE writes, and gmon.out",
    .recognise = gmon_recognise,
    .read = gmon_read,
};
