/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_caller.c: `soprof trace EVENT --by caller`: which library asked. Events are sampled with their stacks, all of
 * them, as `soprof profile -e EVENT` does; the caller is the first library up the stack that is not the C library.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/time.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/trace/trace.h"
#include "profile/identity.h"
#include "recipe/narrow.h"
#include "recipe/probe.h"
#include "trace/presets.h"
#include "view/units.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CALLER, COMM, PID, N_KEYS };
static const char *const key_names[] = {"caller", "comm", "pid"};
#define IN_KERNEL UINT32_MAX /* in place of a library: a thread of the kernel, or an interrupt */

struct called { /* so many events of one key */
	uint32_t key[N_KEYS];
	int64_t n, sum;
};
struct callers {
	const struct sp_trace_args *args;
	struct sp_profile_session session;
	struct sp_identity identity;
	unsigned keys[N_KEYS];
	size_t n_keys;
	bool is_probe; /* the leaf is the function itself */
	struct called *rows;
	size_t n_rows;
	char *sum; /* its title; NULL: none */
	FILE *out;
};

/* --- what is asked for --- */
/* The word of the list, or N_KEYS. */
static unsigned key_find(const char *word, size_t n)
{
	unsigned i = 0;

	while (i < N_KEYS && (strlen(key_names[i]) != n || strncmp(key_names[i], word, n) != 0))
		i++;
	return i;
}

bool sp_trace_is_by_caller(const struct sp_trace_args *a)
{
	for (const char *by = a->by; by && *by; by += *by == ',') {
		size_t n = sp_trace_list_length(by);

		if (key_find(by, n) == CALLER)
			return true;
		by += n;
	}
	return false;
}

static int keys_take(struct callers *c)
{
	for (const char *by = c->args->by; *by; by += *by == ',') {
		size_t n = sp_trace_list_length(by);
		unsigned key = key_find(by, n);

		for (size_t i = 0; i < c->n_keys; i++)
			key = c->keys[i] == key ? N_KEYS : key;
		if (key == N_KEYS)
			return sp_fail_at(-EINVAL, c->args->by, (size_t)(by - c->args->by),
					  "beside caller there may be comm and pid");
		c->keys[c->n_keys++] = key;
		by += n;
	}
	return 0;
}

static int options_check(const struct sp_trace_args *a)
{
	const char *vain = a->hist         ? "--hist"
			   : a->min_ns     ? "--min"
			   : a->interval_s ? "-I"
			   : a->print      ? "--print"
					   : NULL;

	if (vain)
		return sp_fail_said(-EINVAL, "--by caller counts and sums: %s is not for it", vain);
	if (a->operands.n != 1)
		return sp_fail_said(-EINVAL, "--by caller is for one event");
	if (a->sum && a->sum[sp_trace_list_length(a->sum)])
		return sp_fail_said(-EINVAL, "--by caller has one sum");
	return 0;
}

/* Calls are asked about where they begin: a preset's first point, without what it keeps. NULL: not to be had so. */
static const char *begin_of(const char *event, size_t *ret_n)
{
	const char *end = strstr(event, "..");
	struct sp_narrowing narrowing;
	SP_FREE char *first = strndup(event, end ? (size_t)(end - event) : strlen(event));

	if (!first || strstr(first, " on ") || sp_narrowing_split(first, &narrowing) < 0)
		return NULL;
	*ret_n = narrowing.n_filter ? narrowing.filter + narrowing.n_filter + 1 : narrowing.n_name;
	return event;
}

/* As `profile -e` has it. */
static int event_make(const struct sp_trace_args *a, char **ret_event)
{
	const char *event = a->operands.words[0], *prefix = "";
	size_t name = strcspn(event, "[{"), n = strlen(event);
	const struct sp_trace_preset *preset = sp_trace_preset_find(event, name);

	if (preset && event[name])
		return sp_fail_said(-EINVAL,
				    "--by caller: %s takes no FILTER here; its events do: soprof trace --list %s -v",
				    preset->name, preset->name);
	if (preset)
		event = begin_of(preset->event, &n);
	if (!event || (!preset && strstr(event, "..")))
		return sp_fail_said(-EINVAL, "--by caller is for single events and system calls, and no pairs");
	if (!strncmp(event, "syscall:", 8)) {
		prefix = "syscalls:sys_enter_";
		event += 8;
		n -= 8;
	}
	return asprintf(ret_event, "%s%.*s%s%s%s", prefix, (int)n, event, a->sum ? "{" : "", a->sum ? a->sum : "",
			a->sum ? "}" : "") < 0
		   ? -ENOMEM
		   : 0;
}

static int profile_fill(const struct sp_trace_args *a, const char *event, struct sp_profile_args *ret_args)
{
	sp_profile_args_default(ret_args);
	ret_args->events = event;
	ret_args->pids = a->pids;
	ret_args->comm = a->comm;
	ret_args->cgroup = a->cgroup;
	ret_args->duration_s = a->seconds;
	ret_args->command = a->command;
	ret_args->max_overhead = 0; /* all are counted */
	return sp_profile_args_complete(ret_args);
}

/* --- who called --- */
bool sp_trace_is_c_library(const struct sp_profile *p, uint32_t file)
{
	static const char *const names[] = {"libc.so.6",       "libc-2.*.so", "libpthread.so.0",
					    "libc.musl-*.so*", "ld-linux*",   "ld-musl-*"};
	const char *name = sp_library_name(p, file);
	bool is = file && sp_profile_file(p, file)->kind == SP_FILE_VDSO;

	for (size_t i = 0; i < SP_COUNT(names) && !is; i++)
		is = !fnmatch(names[i], name, 0);
	return is;
}

/* Of a stack that is nothing but the C library it is that, if the stack is whole. */
static uint32_t caller_of(const struct callers *c, uint32_t number)
{
	const struct sp_profile *p = c->session.sampling.profile;
	struct sp_stack stack = sp_profile_stack(p, number);
	uint32_t library = 0;

	if (!number || stack.stack_class == SP_CLASS_ABSENT)
		return IN_KERNEL;
	for (uint32_t i = c->is_probe; i < stack.n_frames; i++) {
		library = c->identity.library_of[stack.frames[i]];
		if (!sp_trace_is_c_library(p, library))
			return library;
	}
	return stack.stack_class == SP_CLASS_COMPLETE ? library : 0;
}

static int by_key(const void *a, const void *b)
{
	return memcmp(((const struct called *)a)->key, ((const struct called *)b)->key,
		      sizeof(((struct called *)0)->key));
}

static int by_most(const void *a, const void *b)
{
	const struct called *x = a, *y = b;

	return SP_FALLING(x->sum, y->sum) ?: SP_FALLING(x->n, y->n) ?: by_key(a, b);
}

static struct called called_of(const struct callers *c, const struct sp_row *row)
{
	const struct sp_profile *p = c->session.sampling.profile;
	const struct sp_key *key = sp_profile_key(p, row->key);
	struct called called = {.n = sp_identity_samples(&c->identity, row), .sum = c->args->sum ? row->values[1] : 0};
	const uint32_t all[] = {caller_of(c, row->user), key->comm, sp_profile_process(p, key->process)->pid};

	for (size_t i = 0; i < c->n_keys; i++)
		called.key[i] = all[c->keys[i]];
	return called;
}

static int callers_sum(struct callers *c)
{
	const struct sp_profile *p = c->session.sampling.profile;
	uint32_t n = sp_profile_n_rows(p);
	int r = sp_identity_new_by_path(p, &c->identity);

	if (r < 0)
		return r;
	c->rows = calloc((size_t)n + 1, sizeof(*c->rows));
	if (!c->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		c->rows[i] = called_of(c, sp_profile_row(p, i));
	qsort(c->rows, n, sizeof(*c->rows), by_key);
	for (uint32_t i = 0; i < n; i++)
		if (c->n_rows && !by_key(&c->rows[c->n_rows - 1], &c->rows[i])) {
			c->rows[c->n_rows - 1].n += c->rows[i].n;
			c->rows[c->n_rows - 1].sum += c->rows[i].sum;
		} else {
			c->rows[c->n_rows++] = c->rows[i];
		}
	qsort(c->rows, c->n_rows, sizeof(*c->rows), by_most);
	return 0;
}

/* --- shown --- */
static const char *key_text(const struct callers *c, const struct called *row, size_t i, char number[16])
{
	const struct sp_profile *p = c->session.sampling.profile;

	snprintf(number, 16, "%" PRIu32, row->key[i]);
	if (c->keys[i] == PID)
		return number;
	if (c->keys[i] == COMM)
		return sp_profile_string(p, row->key[i]);
	return row->key[i] == IN_KERNEL ? "[kernel]" : sp_library_name(p, row->key[i]);
}

static const char *sum_unit(const struct callers *c)
{
	const struct sp_profile *p = c->session.sampling.profile;

	return sp_profile_string(p, sp_profile_value_type(p, 1)->unit);
}

static size_t n_shown(const struct callers *c)
{
	return c->args->top && c->args->top < c->n_rows ? c->args->top : c->n_rows;
}

static int table_print(const struct callers *c)
{
	struct sp_grid_column columns[N_KEYS + 2] = {0};
	size_t n = 0;
	char text[32];
	struct sp_grid *g;
	int r;

	for (size_t i = 0; i < c->n_keys; i++)
		columns[n++] = (struct sp_grid_column){.title = key_names[c->keys[i]], .right = c->keys[i] == PID};
	if (c->sum)
		columns[n++] = (struct sp_grid_column){.title = c->sum, .right = true};
	columns[n++] = (struct sp_grid_column){.title = "count", .right = true};
	g = sp_grid_new(columns, n);
	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < n_shown(c); i++) {
		for (size_t k = 0; k < c->n_keys; k++)
			sp_grid_put(g, SP_GRID_PLAIN, "%s", key_text(c, &c->rows[i], k, text));
		if (c->args->sum) {
			sp_unit_write(sum_unit(c), (uint64_t)c->rows[i].sum, text, sizeof(text));
			sp_grid_put(g, SP_GRID_PLAIN, "%s", text);
		}
		sp_grid_put(g, SP_GRID_PLAIN, "%" PRId64, c->rows[i].n);
	}
	r = sp_grid_print(g, sp_terminal_width(c->out, NULL), false, "", c->out);
	sp_grid_free(g);
	if (n_shown(c) < c->n_rows)
		fprintf(c->out, "... and %zu more\n", c->n_rows - n_shown(c));
	return r;
}

static void csv_print(const struct callers *c, const char *clock)
{
	char number[16];

	fputs("time,event", c->out);
	for (size_t k = 0; k < c->n_keys; k++)
		fprintf(c->out, ",%s", key_names[c->keys[k]]);
	if (c->sum) {
		fputc(',', c->out);
		sp_encode(c->out, SP_ENCODE_CSV, c->sum);
	}
	fputs(",count\n", c->out);
	for (size_t i = 0; i < n_shown(c); i++) {
		fprintf(c->out, "%s,", clock);
		sp_encode(c->out, SP_ENCODE_CSV, c->args->operands.words[0]);
		for (size_t k = 0; k < c->n_keys; k++) {
			fputc(',', c->out);
			sp_encode(c->out, SP_ENCODE_CSV, key_text(c, &c->rows[i], k, number));
		}
		if (c->args->sum)
			fprintf(c->out, ",%" PRId64, c->rows[i].sum);
		fprintf(c->out, ",%" PRId64 "\n", c->rows[i].n);
	}
}

static void json_print(const struct callers *c, const char *clock)
{
	struct sp_json j = {.out = c->out};
	SP_FREE char *sum = c->sum ? sp_encoded(SP_ENCODE_JSON, c->sum) : NULL;
	char number[16];

	sp_json_object(&j, NULL);
	sp_json_string(&j, "time", clock);
	sp_json_array(&j, "rows");
	for (size_t i = 0; i < n_shown(c); i++) {
		sp_json_object(&j, NULL);
		sp_json_string(&j, "event", c->args->operands.words[0]);
		sp_json_object(&j, "key");
		for (size_t k = 0; k < c->n_keys; k++)
			if (c->keys[k] == PID)
				sp_json_uint(&j, key_names[PID], c->rows[i].key[k]);
			else
				sp_json_string(&j, key_names[c->keys[k]], key_text(c, &c->rows[i], k, number));
		sp_json_end(&j);
		sp_json_uint(&j, "count", (uint64_t)c->rows[i].n);
		sp_json_object(&j, "sum");
		if (sum)
			sp_json_int(&j, sum, c->rows[i].sum);
		sp_json_end(&j);
		sp_json_end(&j);
	}
	sp_json_done(&j);
}

static int callers_print(struct callers *c)
{
	char clock[16];
	int r = 0, closed;

	sp_trace_clock(sp_time_ns(CLOCK_REALTIME), clock);
	if (c->args->csv)
		csv_print(c, clock);
	else if (c->args->json)
		json_print(c, clock);
	else
		r = table_print(c);
	closed = sp_output_close(c->args->output, sp_take_ptr(c->out));
	return r < 0 ? r : closed;
}

/* --- the whole --- */
static int callers_run(struct callers *c)
{
	int r = sp_profile_session_begin(&c->session);

	c->session.quiet = c->session.own_table = true;
	if (r >= 0)
		r = sp_profile_session_sample(&c->session);
	if (r >= 0)
		r = sp_profile_session_name(&c->session);
	if (r >= 0)
		r = sp_profile_narrow(&c->session);
	if (r >= 0)
		r = callers_sum(c);
	if (r >= 0)
		r = callers_print(c);
	return r < 0 ? r : sp_profile_summarise(&c->session);
}

static int callers_begin(struct callers *c, char **event, struct sp_profile_args *profile)
{
	int r = options_check(c->args);

	if (r >= 0)
		r = sp_privileges_check("trace");
	if (r >= 0)
		r = keys_take(c);
	if (r >= 0)
		r = event_make(c->args, event);
	if (r >= 0)
		r = profile_fill(c->args, *event, profile);
	if (r >= 0)
		c->is_probe = sp_recipe_probe_is(*event);
	if (r >= 0 && c->args->sum && asprintf(&c->sum, "sum(%s)", c->args->sum) < 0)
		r = -ENOMEM;
	return r < 0 ? r : sp_output_open(c->args->output, c->args->command != NULL, &c->out);
}

int sp_trace_caller(const struct sp_cmd *cmd, const struct sp_trace_args *a)
{
	struct sp_profile_args profile = {0};
	struct callers c = {.args = a, .session = SP_PROFILE_SESSION(&profile)};
	SP_FREE char *event = NULL;
	int r = callers_begin(&c, &event, &profile), code = SP_EXIT_OK;

	if (r >= 0)
		r = callers_run(&c);
	if (r < 0)
		code = sp_cmd_error(cmd, r,
				    r == -ECHILD   ? sp_child_code(&c.session.child)
				    : r == -EINVAL ? SP_EXIT_USAGE
						   : sp_sampling_exit_code(r));
	else if (a->command)
		code = sp_child_code(&c.session.child);
	sp_profile_session_done(&c.session);
	profile.pids = (struct sp_u32_list){0}; /* trace's */
	sp_profile_args_done(&profile);
	sp_identity_done(&c.identity);
	free(c.rows);
	free(c.sum);
	if (sp_output_close(a->output, c.out) < 0) /* after another failure, which was told */
		sp_error_clear();
	return code;
}
