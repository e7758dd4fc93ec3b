/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_stacks.c: who called, of events that are told one by one. A session of sampling walks their stacks; both it and
 * the records know an event by its number.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/time.h"
#include "capture/capture.h"
#include "capture/lasting.h"
#include "cmd/cmd.h"
#include "cmd/grid.h"
#include "cmd/sampling.h"
#include "cmd/trace/trace.h"
#include "naming/naming.h"
#include "proc/cgroup.h"
#include "profile/identity.h"
#include "recipe/recipe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
	IDENTIFY_MS = 1000,
	MAX_ROWS = 1 << 17, /* events between two turns: while names are looked for these may be long */
	KEPT_TURNS = 64,    /* of a stack whose record does not come, since it was lost */
};
/* So long a line waits for its stack, which waits for the unwind table of a file. */
#define PATIENCE_NS (3 * SP_NS_PER_S)
/*
 * What the walk of a stack takes at most, whose event is told before it begins: its thread may be preempted meanwhile,
 * or the CPU be a guest's that does not run.
 */
#define WALK_NS SP_NS_PER_S

struct walked { /* a stack, by the number of its event */
	uint32_t number, user, kernel, turn;
};
struct sp_trace_stacks {
	const struct sp_trace_args *args;
	struct sp_sampling *sampling;
	void (*beside)(void *arg, const struct sp_recipe_object *object); /* sp_trace_stacks_new()'s */
	void *beside_arg;
	struct sp_naming naming;
	struct sp_recipe recipe;
	struct walked *walked; /* by number, once a turn has sorted them */
	size_t n, capacity;
	uint32_t turn, n_frames; /* n_frames: that were in the profile when names were looked for last */
	struct walked shown;     /* of the record that is shown; number 0: there is none */
	uint64_t drained_ns;     /* what was walked before is here, unless its stack waits for a table */
	bool is_waiting;
	uint64_t n_missing, n_cut;
};

/* --- the session --- */
static int walked_take(void *arg, uint32_t number, uint32_t user, uint32_t kernel)
{
	struct sp_trace_stacks *s = arg;
	int r = sp_grow(&s->walked, &s->capacity, s->n + 1, sizeof(*s->walked));

	if (r >= 0)
		s->walked[s->n++] = (struct walked){.number = number, .user = user, .kernel = kernel, .turn = s->turn};
	return r < 0 ? r : 0;
}

/* A point without a name for each kind of the events' points that walk. */
static void kind_add(struct sp_recipe *recipe, enum sp_at at)
{
	size_t i = 0;

	at = at == SP_AT_KRETPROBE ? SP_AT_KPROBE : at; /* programs of one type */
	while (recipe->points[i].at && recipe->points[i].at != at)
		i++;
	recipe->points[i].at = at;
}

static void recipe_make(const struct sp_trace_run *run, struct sp_recipe *recipe)
{
	*recipe = (struct sp_recipe){
	    .name = "trace", .values = {{"samples", "count"}, {"events", "count"}}, .ground = &sp_ground};
	for (size_t i = 0; i < run->n_specs; i++) {
		const struct sp_trace_spec *s = &run->specs[i];

		if (sp_trace_walks(s, &s->config))
			kind_add(recipe, s->point.at);
		for (size_t k = 0; k < s->n_before; k++)
			if (sp_trace_walks(s, &s->before[k].config))
				kind_add(recipe, s->before[k].point.at);
	}
}

static void beside_load(void *arg, const struct sp_recipe_object *object)
{
	struct sp_trace_stacks *s = arg;

	s->beside(s->beside_arg, object);
}

static int capture_open(struct sp_trace_stacks *s)
{
	const struct sp_trace_args *a = s->args;
	struct sp_capture_options o = {.recipes = {&s->recipe},
				       .backend = SP_BACKEND_BPF,
				       .user = true,
				       .kernel = a->stack,
				       .unwind = SP_UNWIND_AUTO,
				       .filter = a->pids.n || a->command ? SP_TARGETS_TGID : SP_TARGETS_ALL,
				       .targets = a->pids.values,
				       .n_targets = a->pids.n,
				       .follow = a->command != NULL,
				       .no_seek =
					   !a->pids.n, /* a file is read when an event meets it, whose line waits */
				       .hash_entries = MAX_ROWS,
				       .numbered = walked_take,
				       .numbered_arg = s,
				       .beside = beside_load};
	int r = a->cgroup ? sp_cgroup_id(a->cgroup, &o.cgroup, &o.cgroup_level) : 0;

	return r < 0 ? r : sp_sampling_open(s->sampling, &o);
}

/* The thread that a pair is of does not run where its stack could be walked. */
static int specs_check(const struct sp_trace_run *run)
{
	for (size_t i = 0; i < run->n_specs; i++)
		if (run->specs[i].config.of_task)
			return sp_fail_said(-EINVAL, "%s is not for %s, which is about threads that do not run",
					    run->args->caller ? "--caller" : "--stack", run->specs[i].event);
	return 0;
}

int sp_trace_stacks_new(struct sp_trace_run *run, struct sp_sampling *sampling,
			void (*beside)(void *arg, const struct sp_recipe_object *object), void *beside_arg)
{
	struct sp_trace_stacks *s = calloc(1, sizeof(*s));
	int r = s ? specs_check(run) : -ENOMEM;

	if (r < 0) {
		free(s);
		return r;
	}
	run->stacks = s;
	s->args = run->args;
	s->sampling = sampling;
	s->beside = beside;
	s->beside_arg = beside_arg;
	recipe_make(run, &s->recipe);
	r = capture_open(s);
	s->naming = (struct sp_naming){.workers = sampling->workers,
				       .capture = sampling->capture,
				       .profile = sampling->profile,
				       .keeps_kernel = true,
				       .identify_ms = IDENTIFY_MS,
				       .no_fetch = true};
	return r;
}

void sp_trace_stacks_free(struct sp_trace_stacks *s)
{
	if (!s)
		return;
	if (s->sampling->capture)
		sp_capture_let_go(s->sampling->capture);
	sp_naming_done(&s->naming);
	free(s->walked);
	free(s);
}

/* --- taking in --- */
static int names_find(struct sp_trace_stacks *s)
{
	uint32_t n = sp_profile_n_frames(s->sampling->profile);

	if (n == s->n_frames)
		return 0;
	s->n_frames = n;
	s->naming.kallsyms = s->sampling->kallsyms;
	return sp_naming_run(&s->naming);
}

SP_ORDER_BY(by_number, struct walked, number);

/* Those that were shown are marked by number 0. */
static void walked_tidy(struct sp_trace_stacks *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->walked[i].number && s->turn - s->walked[i].turn < KEPT_TURNS)
			s->walked[n++] = s->walked[i];
	s->n = n;
}

int sp_trace_stacks_turn(struct sp_trace_stacks *s, bool is_last)
{
	struct sp_capture *capture = s->sampling->capture;
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);
	int r;

	s->turn++;
	walked_tidy(s);
	r = is_last ? sp_capture_finish(capture) : sp_capture_drain(capture);
	if (r >= 0)
		r = names_find(s);
	s->drained_ns = is_last ? UINT64_MAX : now;
	s->is_waiting = !is_last && sp_capture_is_waiting(capture);
	if (s->n)
		qsort(s->walked, s->n, sizeof(*s->walked), by_number);
	return r;
}

int sp_trace_stacks_find(struct sp_trace_stacks *s, const struct sp_trace_record *record)
{
	const struct walked wanted = {.number = record->number};
	struct walked *found =
	    s->n && wanted.number ? bsearch(&wanted, s->walked, s->n, sizeof(*s->walked), by_number) : NULL;

	if (!found && record->ns + WALK_NS >= s->drained_ns)
		return 1;
	if (!found && s->is_waiting && s->drained_ns - record->ns < PATIENCE_NS)
		return 1;
	s->n_missing += !found;
	s->shown = found ? *found : (struct walked){.number = 0};
	s->n_cut += found && sp_profile_stack(s->sampling->profile, found->user).stack_class == SP_CLASS_CUT;
	return 0;
}

void sp_trace_stacks_tell(const struct sp_trace_stacks *s)
{
	struct sp_capture_stats stats;

	if (s->n_missing)
		fprintf(stderr, "soprof: %" PRIu64 " stack%s not seen: [unknown] in their lines\n", s->n_missing,
			s->n_missing == 1 ? "" : "s");
	if (s->n_cut)
		fprintf(stderr, "soprof: %" PRIu64 " stacks cut: what is beyond, and maybe the caller, is not known\n",
			s->n_cut);
	sp_capture_stats(s->sampling->capture, &stats);
	sp_cmd_lost(stats.counter[SP_N_LOST_TARGETS],
		    "processes not followed: there was no room; their events are not seen");
}

/* --- shown --- */
static const char *file_name(const struct sp_profile *p, uint32_t frame, const struct sp_func *func)
{
	uint32_t file = sp_profile_frame(p, frame)->file;

	return sp_library_name(p, func && func->file ? func->file : file);
}

/* "libz.so.1:gzwrite"; what has no name is called library+0xADDRESS, or by its file alone. */
static char *frame_text(const struct sp_profile *p, uint32_t frame)
{
	uint32_t number = sp_profile_frame(p, frame)->func;
	const struct sp_func *func = number ? sp_profile_func(p, number) : NULL;
	const char *name = func ? sp_profile_string(p, func->name) : "", *file = file_name(p, frame, func);
	char *text = NULL;

	if (func && func->is_range)
		return strdup(name);
	return asprintf(&text, "%s%s%s", file, *name ? ":" : "", name) < 0 ? NULL : text;
}

/* Who called; NULL: out of memory. */
static char *caller_text(const struct sp_trace_stacks *s, bool is_call)
{
	const struct sp_profile *p = s->sampling->profile;
	struct sp_stack stack = sp_profile_stack(p, s->shown.user);

	if (!s->shown.number)
		return strdup("[unknown]");
	if (!s->shown.user || stack.stack_class == SP_CLASS_ABSENT)
		return strdup("[kernel]");
	for (uint32_t i = is_call; i < stack.n_frames; i++)
		if (!sp_trace_is_c_library(p, sp_profile_frame(p, stack.frames[i])->file))
			return frame_text(p, stack.frames[i]);
	if (stack.stack_class == SP_CLASS_COMPLETE && stack.n_frames)
		return frame_text(p, stack.frames[stack.n_frames - 1]);
	return strdup("[unknown]");
}

void sp_trace_stacks_caller(const struct sp_trace_stacks *s, bool is_call, FILE *out)
{
	SP_FREE char *text = caller_text(s, is_call);

	fputs(" caller=", out);
	sp_encode(out, SP_ENCODE_TERMINAL, text ? text : "[unknown]");
}

static void stack_each(const struct sp_trace_stacks *s, void (*each)(void *arg, const char *text), void *arg)
{
	const struct sp_profile *p = s->sampling->profile;
	const struct sp_stack stacks[] = {sp_profile_stack(p, s->shown.kernel), sp_profile_stack(p, s->shown.user)};

	for (size_t k = 0; k < SP_COUNT(stacks); k++)
		for (uint32_t i = 0; i < stacks[k].n_frames; i++) {
			SP_FREE char *text = frame_text(p, stacks[k].frames[i]);

			each(arg, text ? text : "[unknown]");
		}
	if (!s->shown.number)
		each(arg, "[unknown]");
	else if (stacks[1].stack_class == SP_CLASS_CUT)
		each(arg, "[cut]");
}

enum { INDENT = 4, LEAST = 20 };
struct lines {
	FILE *out;
	unsigned width; /* 0: no limit */
};

static void line_put(void *arg, const char *text)
{
	const struct lines *lines = arg;
	SP_FREE char *whole = lines->width ? sp_encoded(SP_ENCODE_TERMINAL, text) : NULL;
	SP_FREE char *cut = whole ? sp_terminal_cut(whole, SP_MAX(lines->width, LEAST) - INDENT) : NULL;

	fprintf(lines->out, "%*s", INDENT, "");
	if (cut)
		fputs(cut, lines->out);
	else
		sp_encode(lines->out, SP_ENCODE_TERMINAL, text);
	fputc('\n', lines->out);
}

void sp_trace_stacks_lines(const struct sp_trace_stacks *s, unsigned width, FILE *out)
{
	stack_each(s, line_put, &(struct lines){.out = out, .width = width});
}

static void json_put(void *arg, const char *text)
{
	sp_json_string(arg, NULL, text);
}

void sp_trace_stacks_json(const struct sp_trace_stacks *s, bool is_call, struct sp_json *j)
{
	SP_FREE char *text = caller_text(s, is_call);

	if (s->args->caller)
		sp_json_string(j, "caller", text ? text : "[unknown]");
	if (!s->args->stack)
		return;
	sp_json_array(j, "stack");
	stack_each(s, json_put, j);
	sp_json_end(j);
}
