/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_show.c: what `soprof profile` prints: the header, the view, the summary. */
#include "base/error.h"
#include "base/mem.h"
#include "base/state.h"
#include "capture/capture.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/recordings.h"
#include "cmd/unmatched.h"
#include "naming/enrich.h"
#include "proc/usage.h"
#include "profile/filter.h"
#include "profile/leaves.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "recipe/recipe.h"
#include "view/summary.h"
#include "view/value.h"
#include "worker/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the header: bcc's words --- */
static void numbers_print(FILE *out, const char *what, const struct sp_u32_list *list)
{
	size_t i;

	fprintf(out, "%s [", what);
	for (i = 0; i < list->n; i++)
		fprintf(out, "%s%u", i ? ", " : "", list->values[i]);
	fprintf(out, "]");
}

static void who_print(FILE *out, const struct sp_profile_args *a)
{
	if (a->pids.n)
		numbers_print(out, "PID", &a->pids);
	else if (a->tids.n)
		numbers_print(out, "TID", &a->tids);
	else if (a->command)
		fprintf(out, "%s", a->command[0]);
	else if (a->user_threads || a->kernel_threads)
		fputs(a->user_threads ? "user threads" : "kernel threads", out);
	else
		fprintf(out, "all threads");
}

/* Behind an event's name, what its numbers are, if they are no numbers of events. */
static const char *unit_words(const struct sp_recipe *recipe)
{
	const char *unit = recipe->values[1].unit;

	return !strcmp(unit, "nanoseconds") ? " (ns)" : !strcmp(unit, "bytes") ? " (bytes)" : "";
}

/* "Sampling at 49 Hertz", "Counting faults, sched:sched_switch", both with "and" between. wall is both. */
static void what_print(FILE *out, const struct sp_profile_args *a)
{
	const char *counting = "Counting ";
	bool has_rate = sp_recipe_set_has_rate(&a->recipes);

	if (a->in_us)
		fprintf(out, "Tracing %s time (us)", a->waker || a->waker_alone ? "blocked" : "off-CPU");
	else if (a->period)
		fprintf(out, "Sampling at every %llu events", (unsigned long long)a->period);
	else if (has_rate)
		fprintf(out, "Sampling at %llu Hertz", (unsigned long long)a->frequency_hz);
	for (size_t i = 0; i < a->recipes.n && !a->period && !a->in_us; i++) {
		const struct sp_recipe *recipe = a->recipes.recipes[i];
		bool is_second = i && a->recipes.recipes[i - 1]->is_live; /* of mem, which is told already */

		if (!sp_recipe_counts(recipe) || is_second)
			continue;
		fprintf(out, "%s%s%s", has_rate ? " and counting " : counting, recipe->name, unit_words(recipe));
		counting = ", ";
		has_rate = false;
	}
	fputs(" of ", out);
}

static void subtitle_write(FILE *out, const struct sp_profile_args *a)
{
	size_t i;

	what_print(out, a);
	who_print(out, a);
	fprintf(out, " by %s%s stack",
		a->user_only     ? "user"
		: a->kernel_only ? "kernel"
				 : "user + kernel",
		a->waker_alone ? " waker"
		: a->waker     ? " off-CPU and waker"
			       : "");
	for (i = 0; i < a->cpus.n; i++)
		fprintf(out, "%s%u", i ? "," : " on CPU#", a->cpus.values[i]);
	if (a->duration_s)
		fprintf(out, " for %llu secs", (unsigned long long)a->duration_s);
}

static void header_write(FILE *out, const struct sp_profile_args *a)
{
	subtitle_write(out, a);
	fputs(a->duration_s ? ".\n" : "... Hit Ctrl-C to end.\n", out);
}

static bool is_overview(const struct sp_profile_args *a)
{
	return !strcmp(a->view->name, "overview");
}

/* Where text goes to standard output the header comes before the sampling, as bcc's does; else it leads the file. */
void sp_header_print(const struct sp_profile_session *s)
{
	const struct sp_profile_args *a = s->args;

	if (!a->output && (!strcmp(a->view->name, "text") || is_overview(a))) {
		header_write(stdout, a);
		if (a->in_us)
			fputc('\n', stdout); /* as bcc's */
		fflush(stdout);
	}
}

/* --- narrowing --- */
static int narrow_by(struct sp_profile_session *s, const char *option, const struct sp_glob_filter *filter)
{
	int64_t left_out = 0;
	int r = *filter->globs ? sp_narrow_matched(&s->sampling.profile, option, filter, &left_out) : 0;

	s->n_left_out += (uint64_t)left_out;
	return r;
}

int sp_profile_narrow(struct sp_profile_session *s)
{
	const struct sp_glob_filter comm = {.by = SP_FILTER_COMM, .globs = &s->args->comm, .n_globs = 1},
				    library = {.by = SP_FILTER_LIBRARY, .globs = &s->args->library, .n_globs = 1};
	int r = narrow_by(s, "--comm", &comm);

	return r < 0 ? r : narrow_by(s, "--library", &library);
}

/* --- the recording --- */
/* As one of the last recordings (recordings.h). */
static bool is_kept(const struct sp_profile_args *a)
{
	return is_overview(a) && a->on_terminal && !a->output;
}

static int recording_write(void *profile, FILE *out)
{
	const struct sp_view_options o = {.value = sp_profile_default_value(profile)};

	return sp_view_by_name("pprof")->write(profile, &o, out);
}

/* What to do next, with the recording: it is only an addition, so that no more than a line comes of its failure. */
static char *next_words(const struct sp_profile_session *s)
{
	SP_FREE char *path = NULL;
	const char *sudo = sp_state_is_roots() ? "sudo " : "";
	char *words = NULL;
	size_t in_home;
	int r;

	if (!is_kept(s->args))
		return NULL;
	r = sp_recording_keep(recording_write, s->sampling.profile, &path);
	in_home = r >= 0 ? sp_state_in_home(path) : 0;
	if (r < 0)
		r = asprintf(&words, "the recording is not kept: %s", sp_error_text(r));
	else
		r = asprintf(
		    &words, "%ssoprof report last -o x.html (a flame graph), %ssoprof report last --tree; kept as %s%s",
		    sudo, sudo, in_home ? "~" : "", path + in_home);
	sp_error_clear();
	return r < 0 ? NULL : words;
}

/* --- the view --- */
static int labels_look_up(struct sp_profile_session *s)
{
	if (s->args->by == SP_TOTAL_BY_CGROUP || s->args->by == SP_TOTAL_BY_CONTAINER || s->args->view->recording ||
	    is_kept(s->args))
		return sp_enrich_cgroups(s->sampling.profile, NULL);
	return 0;
}

static char *text_of(void (*write)(FILE *out, const struct sp_profile_args *a), const struct sp_profile_args *a)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	write(f, a);
	fclose(f);
	return text;
}

/* Where one chooses among the values, the title is of all of them. */
static void title_write(FILE *out, const struct sp_profile_args *a)
{
	size_t n = a->view->shows_all ? a->recipes.n : 1;

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ", " : "", a->recipes.recipes[i]->title);
	fputs(" by stack", out);
}

struct shown {
	struct sp_profile_session *s;
	const struct sp_profile *profile;
};

static int view_write(void *arg, FILE *out)
{
	struct shown *shown = arg;
	struct sp_profile_session *s = shown->s;
	const struct sp_profile_args *a = s->args;
	SP_FREE char *header = text_of(header_write, a), *subtitle = text_of(subtitle_write, a),
		     *title = text_of(title_write, a);
	struct sp_view_options o = {
	    .header = a->output ? header : NULL,
	    .title = title,
	    .subtitle = subtitle,
	    .value = sp_value_default(s->sampling.profile, a->view),
	    .all_values = sp_value_has_several(s->sampling.profile),
	    .divisor = a->in_us ? 1000 : 0,
	    .user_only = a->user_only,
	    .kernel_only = a->kernel_only,
	    .delimiter = a->delimiter,
	    .annotate = a->annotate,
	    .verbose = a->verbose,
	    .addresses = a->addresses,
	    .ascending = true,
	    .by = a->by < 0 ? SP_TOTAL_BY_LIBRARY : (enum sp_total_by)a->by,
	    .colour = sp_terminal_has_colour(out),
	    .width = sp_terminal_width(out, NULL),
	};

	return a->view->write(shown->profile, &o, out);
}

/*
 * Views of stacks show no labels, so that what events were about is the leaf there. Tables keep the code that met the
 * event as the leaf, which their "self" is about; they have --by for labels.
 */
static int leaves_make(const struct sp_profile_session *s, struct sp_profile **ret_profile)
{
	static const char *const labels[] = {[SP_ABOUT_MEMORY] = "memory", [SP_ABOUT_LOCK] = "lock"};
	const struct sp_profile_args *a = s->args;
	int r = 0;

	for (size_t i = 0; i < a->recipes.n && r >= 0; i++) {
		struct sp_profile *before = *ret_profile;
		const char *label = labels[a->recipes.recipes[i]->about];

		if (!label || a->view->grouped || a->view->recording)
			continue;
		r = sp_profile_leaves(before ? before : s->sampling.profile, label, a->user_only, ret_profile);
		if (r >= 0)
			sp_profile_free(before);
	}
	return r;
}

static int shown_output(struct sp_profile_session *s, const struct sp_profile *profile)
{
	struct shown shown = {s, profile ? profile : s->sampling.profile};

	if (!s->output)
		return sp_output(s->args->output, view_write, &shown);
	return sp_output_prepared(s->args->output, s->sampling.broker, sp_take_ptr(s->output), view_write, &shown);
}

int sp_profile_print(struct sp_profile_session *s)
{
	struct sp_profile *leaves = NULL;
	int r = labels_look_up(s);

	if (r >= 0)
		r = leaves_make(s, &leaves);
	if (r >= 0)
		r = shown_output(s, leaves);
	sp_profile_free(leaves);
	return r;
}

/* --- the summary --- */
static void own_use(const struct sp_profile_session *s, const struct sp_capture_stats *c, struct sp_summary *summary)
{
	struct sp_usage own = {0};
	struct sp_workers_stats workers;

	sp_workers_stats(s->sampling.workers, &workers);
	sp_usage_get(0, &own);
	summary->user_ns = own.user_ns + workers.cpu_ns;
	summary->system_ns = own.system_ns;
	summary->bpf_ns = c->bpf_ns;
	summary->bpf_time_unknown = !c->n_bpf_runs;
	summary->without_bpf = s->backend.kind == SP_BACKEND_PERF;
	summary->ring_bytes = c->ring_bytes;
	summary->memory_bytes = own.peak_bytes - SP_MIN(c->mapped_bytes, own.peak_bytes) + workers.peak_bytes;
	summary->map_bytes = c->bpf_bytes;
}

int sp_bad_rows_keep(struct sp_profile_session *s)
{
	uint32_t n_files = sp_profile_n_files(s->sampling.profile), i;

	s->bad_rows = s->args->verbose ? calloc(n_files, sizeof(*s->bad_rows)) : NULL;
	for (i = 1; s->bad_rows && i < n_files; i++) {
		uint64_t n = sp_capture_file_bad_rows(s->sampling.capture, i);
		char *name =
		    n ? strdup(sp_profile_string(s->sampling.profile, sp_profile_file(s->sampling.profile, i)->name))
		      : NULL;

		if (name)
			s->bad_rows[s->n_bad_rows++] = (struct sp_summary_count){.what = name, .n = n};
	}
	return s->args->verbose && !s->bad_rows ? -ENOMEM : 0;
}

void sp_bad_rows_done(struct sp_profile_session *s)
{
	size_t i;

	for (i = 0; i < s->n_bad_rows; i++)
		free((char *)s->bad_rows[i].what);
	free(s->bad_rows);
}

static void mark_files(const struct sp_profile *p, uint32_t stack, bool *marks)
{
	struct sp_stack frames = sp_profile_stack(p, stack);

	for (uint32_t i = 0; i < frames.n_frames; i++)
		marks[sp_profile_frame(p, frames.frames[i])->file] = true;
}

static bool has_marked(const struct sp_profile *p, const bool *marks, const char *name)
{
	for (uint32_t i = 1; i < sp_profile_n_files(p); i++)
		if (marks[i] && !strcmp(sp_profile_string(p, sp_profile_file(p, i)->name), name))
			return true;
	return false;
}

/* Files that no shown sample went through are left out. */
static int bad_rows_narrow(struct sp_profile_session *s)
{
	const struct sp_profile *p = s->sampling.profile;
	bool *marks SP_FREE = calloc(sp_profile_n_files(p), sizeof(*marks));

	if (!marks)
		return -ENOMEM;
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		mark_files(p, sp_profile_row(p, i)->user, marks);
	for (size_t i = 0; i < s->n_bad_rows; i++)
		if (!has_marked(p, marks, s->bad_rows[i].what))
			s->bad_rows[i].n = 0;
	return 0;
}

int sp_profile_summarise(struct sp_profile_session *s)
{
	SP_FREE char *guarded = NULL, *next = next_words(s);
	struct sp_capture_stats c;
	int r = bad_rows_narrow(s);

	if (r < 0)
		return r;
	struct sp_summary summary = {.colour = sp_terminal_has_colour(stderr), .kernel_only = s->args->kernel_only};

	if (s->args->recipes.n > 1 || s->args->recipes.recipes[0] != &sp_recipe_cpu)
		summary.value = sp_profile_default_value(s->sampling.profile);
	if (s->args->memory.path)
		summary.counted =
		    (uint32_t)SP_MAX(sp_profile_find_value(s->sampling.profile, "allocations", "count"), 0);
	sp_capture_stats(s->sampling.capture, &c);
	sp_memory_unsampled_tell(&s->args->memory, &c);
	sp_memory_freed_tell(&c);
	if (sp_recipes_have_live(s->args->recipes.recipes) && !s->args->one_in)
		sp_memory_error_tell(s->sampling.profile, s->args->thin_bytes ? s->args->thin_bytes : SP_MEMORY_THIN);
	const struct sp_summary_count lost[] = {
	    {"not sampled since over budget (--max-overhead)", c.n_over_budget},
	    {"no room for its count (--hash-storage-size)", c.counter[SP_N_LOST_COUNTS]},
	    {"taken inside another sample", c.counter[SP_N_LOST_NESTED]},
	    {"hits that met a BPF program on their CPU (before any filter)", c.n_missed},
	    {"frames did not fit in the ring buffer (stack shown empty)",
	     c.n_lost_frames + c.counter[SP_N_LOST_STACKS]},
	    {"no room for a new file yet (announced again)", c.counter[SP_N_LOST_FILES]},
	    {"no room for a process record (process unknown)", c.counter[SP_N_LOST_PROCESSES]},
	    {"no room for a thread's wait", c.counter[SP_N_LOST_EPISODES]},
	    {"the end of a thread's wait was not seen", c.counter[SP_N_LOST_ENDS]},
	    {"no room for what an event was about (shown without)", c.counter[SP_N_LOST_OBJECTS]},
	    {"who ended a wait was not seen (shown without)", c.counter[SP_N_LOST_WAKERS]},
	    {"no room to remember an allocation (counted, not as live)", c.counter[SP_N_LOST_LIVE]},
	    {sp_recipes_have_live(s->args->recipes.recipes)
		 ? "the end of a call that allocates was not seen"
		 : "calls on a stack that is not their thread's own (not counted)",
	     c.counter[SP_N_LOST_CALLS]},
	    {"an argument was in memory that could not be read", c.counter[SP_N_LOST_ARGUMENTS]},
	    {"no room to follow a process of the command", c.counter[SP_N_LOST_TARGETS]},
	    {"no room to finish the stack later (stack cut)", c.counter[SP_N_LOST_PENDING]},
	    {"no room in the ring buffer (records lost)", c.n_lost_ring},
	    {"CPUs that came and could not be sampled", c.n_unsampled_cpus},
	    {"times held back by the kernel (kernel.perf_event_max_sample_rate)", c.n_throttled},
	    {"records that made no sense, or beyond the bounds kept", c.n_odd},
	    {"outside --library or --comm", s->n_left_out},
	};
	summary.lost = lost;
	summary.n_lost = SP_COUNT(lost);
	summary.unexpressed = s->bad_rows;
	summary.n_unexpressed = s->n_bad_rows;
	summary.n_tables = c.n_tables;
	summary.n_evicted = c.n_evicted;
	own_use(s, &c, &summary);
	guarded = sp_guard_words(s->sampling.capture, s->args->recipes.recipes);
	summary.guard = guarded;
	summary.next = next;
	summary.without_libraries = s->own_table || (is_overview(s->args) && !s->args->output);
	return sp_summary_write(s->sampling.profile, &summary, stderr);
}
