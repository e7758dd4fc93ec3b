/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go.c: the text of Go's profiles (`debug=1` of net/http/pprof, WriteTo(w, 1)): goroutine, heap, allocs, threadcreate,
 * block, mutex, and those that a program makes itself.
 *
 * A record is a line of numbers and addresses, and a line for each function of its stack, leaf first. Heaps are scaled
 * up from the sampling rate as `go tool pprof` does, cycles become nanoseconds. A record without names has its
 * addresses.
 */
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "read/input.h"
#include "read/named.h"
#include "read/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum go_kind { GO_COUNTS, GO_HEAP, GO_CONTENTION };
enum { N_HEAP_VALUES = 4, MAX_FRAMES = 1 << 14 };

struct go {
	struct sp_input *in;
	const struct sp_read_options *o;
	struct sp_read_result *result;
	struct sp_profile *p;
	enum go_kind kind;
	double rate, cycles_per_s, period;
	bool has_record;
	int64_t values[SP_MAX_VALUES];
	char *addresses; /* of the record, as they stand there */
	uint32_t *frames;
	size_t capacity, n;
};

/* --- frames --- */
static int go_add_frame(struct go *g, const struct sp_read_named *named)
{
	int64_t frame = sp_read_named_frame(g->p, named);
	int r = frame < 0 ? (int)frame : sp_grow(&g->frames, &g->capacity, g->n + 1, sizeof(*g->frames));

	if (r >= 0 && g->n == MAX_FRAMES)
		return sp_input_bad(g->in, g->o, g->result, "a stack of more than %d frames", MAX_FRAMES);
	if (r >= 0)
		g->frames[g->n++] = (uint32_t)frame;
	return r;
}

/* "#\t0x4b3f49\tmain.work+0x89\t\t/srv/g.go:3" */
static int read_function(struct go *g, char *line)
{
	char *save = NULL, *address = strtok_r(line + 1, "\t ", &save), *name = strtok_r(NULL, "\t", &save),
	     *file = strtok_r(NULL, "\t", &save), *plus, *colon;
	struct sp_read_named named = {.file = "", .source = ""};

	if (!address || strncmp(address, "0x", 2) != 0 || !name)
		return 0; /* "#\t0x0", or the allocator's statistics */
	plus = strrchr(name, '+');
	if (plus && plus > name)
		*plus = 0;
	colon = file ? strrchr(file, ':') : NULL;
	if (colon) {
		*colon = 0;
		named.source = file;
		named.line = (uint32_t)strtoul(colon + 1, NULL, 10);
	}
	named.name = name;
	return go_add_frame(g, &named);
}

static int addresses_add(struct go *g)
{
	char *save = NULL;
	int r = 0;

	for (char *word = g->addresses ? strtok_r(g->addresses, " \t", &save) : NULL; word && r >= 0;
	     word = strtok_r(NULL, " \t", &save))
		r = go_add_frame(g, &(struct sp_read_named){.name = word, .file = "", .source = ""});
	return r;
}

/* --- records --- */
static int record_end(struct go *g)
{
	struct sp_read_path path = {0};
	int r = 0;

	if (!g->has_record)
		return 0;
	g->has_record = false;
	if (!g->n)
		r = addresses_add(g);
	path = (struct sp_read_path){.frames = g->frames, .n = g->n, .leaf_first = true};
	g->result->n_samples++;
	return r < 0 ? r : sp_read_path_add(g->p, 0, &path, g->values);
}

static int64_t whole(double x)
{
	return fabs(x) < 9e18 ? (int64_t)x : 0;
}

/* Of so many objects of this size, each byte was sampled once in `rate`. */
static void scale(const struct go *g, int64_t *count, int64_t *bytes)
{
	double factor;

	if (*count <= 0 || *bytes <= 0 || g->rate <= 1)
		return;
	factor = 1 / (1 - exp(-((double)*bytes / (double)*count) / g->rate));
	*count = whole((double)*count * factor);
	*bytes = whole((double)*bytes * factor);
}

static bool numbers_take(struct go *g, const char *line)
{
	int64_t in_use, in_use_bytes, allocated, allocated_bytes;
	double cycles, n;

	switch (g->kind) {
	case GO_HEAP:
		if (sscanf(line, "%" SCNd64 ": %" SCNd64 " [%" SCNd64 ": %" SCNd64 "] @", &in_use, &in_use_bytes,
			   &allocated, &allocated_bytes) != N_HEAP_VALUES)
			return false;
		scale(g, &in_use, &in_use_bytes);
		scale(g, &allocated, &allocated_bytes);
		g->values[0] = allocated;
		g->values[1] = allocated_bytes;
		g->values[2] = in_use;
		g->values[3] = in_use_bytes;
		return true;
	case GO_CONTENTION:
		if (sscanf(line, "%lf %lf @", &cycles, &n) != 2)
			return false;
		g->values[0] = whole(n * g->period);
		g->values[1] = whole(cycles * g->period * 1e9 / g->cycles_per_s);
		return true;
	default:
		return sscanf(line, "%" SCNd64 " @", &g->values[0]) == 1;
	}
}

static int record_begin(struct go *g, const char *line)
{
	const char *at = strchr(line, '@');
	int r = record_end(g);

	if (r < 0)
		return r;
	memset(g->values, 0, sizeof(g->values));
	g->n = 0;
	if (!at || !numbers_take(g, line))
		return sp_input_bad(g->in, g->o, g->result, "expected a record: %s @ ADDRESS...",
				    g->kind == GO_HEAP         ? "N: BYTES [N: BYTES]"
				    : g->kind == GO_CONTENTION ? "CYCLES N"
							       : "N");
	free(g->addresses);
	g->addresses = strdup(at + 1);
	g->has_record = true;
	return g->addresses ? 0 : -ENOMEM;
}

static int read_line(void *go, char *line, size_t len)
{
	struct go *g = go;
	double number;

	if (strlen(line) != len)
		return sp_input_bad(g->in, g->o, g->result, "a NUL byte in a line of text");
	if (!line[strspn(line, " \t\r")])
		return record_end(g);
	if (*line == '#')
		return g->has_record ? read_function(g, line) : 0;
	if (sscanf(line, "cycles/second=%lf", &number) == 1 && number > 0)
		g->cycles_per_s = number;
	else if (sscanf(line, "sampling period=%lf", &number) == 1 && number > 0)
		g->period = number;
	else
		return record_begin(g, line);
	return 0;
}

/* --- the head --- */
static int values_declare(struct go *g, const char *first, const char *unit, const char *const *others)
{
	int r = sp_profile_add_value_type(g->p, first, unit);

	for (; others && *others && r >= 0; others += 2)
		r = sp_profile_add_value_type(g->p, others[0], others[1]);
	return r;
}

static int head_read(struct go *g, char *line)
{
	static const char *const heap[] = {"alloc_space", "bytes", "inuse_objects", "count", "inuse_space",
					   "bytes",       NULL},
				 *const delay[] = {"delay", "nanoseconds", NULL};
	char *end = strstr(line, " profile: "), *at = strchr(line, '@');

	g->cycles_per_s = 1e9;
	g->period = 1;
	if (!strncmp(line, "heap profile: ", 14)) {
		g->kind = GO_HEAP;
		at = at ? strchr(at, '/') : NULL;
		g->rate = at ? strtod(at + 1, NULL) / 2 : 0;
		return values_declare(g, "alloc_objects", "count", heap);
	}
	if (!strncmp(line, "--- ", 4)) {
		g->kind = GO_CONTENTION;
		return values_declare(g, "contentions", "count", delay);
	}
	g->kind = GO_COUNTS;
	if (!end)
		return sp_fail_said(-EBADMSG, "%s: line 1: expected NAME profile: total N", sp_input_name(g->in));
	*end = 0;
	return values_declare(g, line, "count", NULL);
}

/* "goroutine 31 [running]:" */
static bool is_dump(const char *line)
{
	return !strncmp(line, "goroutine ", 10) && line[10] >= '0' && line[10] <= '9';
}

static int go_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		   struct sp_read_result *result)
{
	struct go g = {.in = in, .o = o, .result = result, .p = into};
	char *line;
	size_t len;
	int r = sp_input_line(in, &line, &len);

	if (r > 0 && is_dump(line))
		r = sp_fail_said(-EBADMSG,
				 "%s: goroutines one by one, of debug=2; what can be read is debug=1, or no debug",
				 sp_input_name(in));
	else if (r > 0)
		r = head_read(&g, line);
	else if (r == 0)
		r = sp_fail_said(-EBADMSG, "%s: line 1: expected NAME profile: total N", sp_input_name(in));
	if (r >= 0)
		r = sp_input_lines(in, o, result, read_line, &g);
	if (r >= 0)
		r = record_end(&g);
	free(g.addresses);
	free(g.frames);
	return SP_MIN(r, 0);
}

static int go_recognise(const uint8_t *head, size_t n)
{
	const uint8_t *newline = n ? memchr(head, '\n', n) : NULL;
	size_t len = newline ? (size_t)(newline - head) : 0;

	if (!len || len > 200)
		return 0;
	if ((len > 14 && !memcmp(head, "heap profile: ", 14)) || (len >= 10 && !memcmp(head, "--- mutex:", 10)) ||
	    (len >= 15 && !memcmp(head, "--- contention:", 15)) ||
	    (len > 14 && !memcmp(head, "goroutine ", 10) && head[10] >= '0' && head[10] <= '9'))
		return 93;
	return memmem(head, len, " profile: total ", 16) ? 93 : 0;
}

const struct sp_reader sp_reader_go = {
    .name = "go",
    .summary = "text of Go's profiles (debug=1)",
    .recognise = go_recognise,
    .read = go_read,
};
