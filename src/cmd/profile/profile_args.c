/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/profile/profile_args.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "proc/process.h"
#include "recipe/memory.h"

#include <errno.h>
#include <unistd.h>

enum {
	DEFAULT_HZ = 49,
	MAX_HZ = 100000, /* the kernel's cpu-clock ticks every 10 us at most */
	MIN_CLOCK_PERIOD_NS = 10000,
	DEFAULT_STACKS = 16384, /* as bcc's profile */
	DEFAULT_ROWS = 40960,
	MAX_STORAGE = 1 << 24,
	MAX_CPU = 8191,
};
#define DEFAULT_MEMORY (24ULL << 20)
#define MIN_MEMORY (1ULL << 20)
#define MAX_MEMORY (64ULL << 30)

/* Options of one set exclude each other. */
enum { WHO = 1, WHICH_HALF = 2, RATE = 4, FORMAT = 8 };

static const char *event_choice(size_t i)
{
	size_t n = 0;

	while (sp_recipe_at(n))
		n++;
	if (i < n)
		return sp_recipe_at(i)->name;
	return sp_event_at(i - n) ? sp_event_at(i - n)->name : NULL;
}

SP_CHOICE(unwind_choice, [SP_UNWIND_AUTO] = "auto", [SP_UNWIND_DWARF] = "dwarf", [SP_UNWIND_FP] = "fp")

/* clang-format off */
#define AT(member) .offset = offsetof(struct sp_profile_args, member)
const struct sp_option sp_profile_options[] = {
	{SP_OPT_LIST, 'p', "pid", "PID[,PID]", "these processes only", AT(pids), .min = 1, .max = SP_MAX_PID, .excludes = WHO},
	{SP_OPT_LIST, 'L', "tid", "TID[,TID]", "these threads only", AT(tids), .min = 1, .max = SP_MAX_PID, .excludes = WHO},
	{SP_OPT_FLAG, 'U', "user-stacks-only", NULL, "user stacks, no kernel stacks", AT(user_only), .excludes = WHICH_HALF},
	{SP_OPT_FLAG, 'K', "kernel-stacks-only", NULL, "kernel stacks, no user stacks", AT(kernel_only), .excludes = WHICH_HALF},
	{SP_OPT_NUMBER, 'F', "frequency", "HZ", "samples a second on each CPU (49)", AT(frequency_hz), .min = 1, .max = MAX_HZ, .excludes = RATE},
	{SP_OPT_NUMBER, 'c', "count", "COUNT", "one sample every COUNT events (ns for cpu-clock)", AT(period), .min = 1, .max = INT64_MAX, .excludes = RATE},
	{SP_OPT_FLAG, 'd', "delimited", NULL, "a delimiter between kernel and user stacks", AT(delimiter)},
	{SP_OPT_FLAG, 'a', "annotations", NULL, "_[k] behind kernel frames", AT(annotate)},
	{SP_OPT_FLAG, 'f', "folded", NULL, "one line a stack, for flame graph tools", AT(folded), .excludes = FORMAT},
	{SP_OPT_FLAG, 'I', "include-idle", NULL, "the idle threads too", AT(include_idle)},
	{SP_OPT_RANGES, 'C', "cpu", "CPU[,CPU]", "these CPUs only; ranges too: 0-3,6", AT(cpus), .min = 0, .max = MAX_CPU},
	{SP_OPT_NUMBER, 0, "stack-storage-size", "N", "different stacks kept (16384)", AT(stack_storage), .min = 1, .max = MAX_STORAGE},
	{SP_OPT_NUMBER, 0, "hash-storage-size", "N", "different rows kept (40960)", AT(hash_storage), .min = 1, .max = MAX_STORAGE},
	{SP_OPT_FLAG, 'A', "address", NULL, "addresses before names", AT(addresses)},
	{SP_OPT_FLAG, 'v', "verbose", NULL, "+0xOFFSET [library] behind names", AT(verbose)},
	{SP_OPT_STRING, 'l', "library", "GLOB", "samples with a frame in such a library only", AT(library)},
	{SP_OPT_STRING, 0, "comm", "GLOB", "threads of such a name only", AT(comm)},
	{SP_OPT_STRING, 0, "cgroup", "PATH", "this cgroup only, and those in it", AT(cgroup)},
	{SP_OPT_CHOICE, 0, "by", "WHAT", "a table by", AT(by), .choice = sp_grouping_choice},
	{SP_OPT_CHOICE, 0, "unwind", "HOW", "unwind by", AT(unwind), .choice = unwind_choice},
	{SP_OPT_FLAG, 0, "inline", NULL, "inlined functions and source lines, by DWARF", AT(with_lines)},
	{SP_OPT_FLAG, 0, "no-debuginfod", NULL, "ask no server for debug files", AT(no_debuginfod)},
	{SP_OPT_STRING, 0, "debug-dir", "DIR[:DIR]", "debug files are here too", AT(debug_dirs)},
	{SP_OPT_STRING, 'e', "event", "EVENT[,EVENT]", "SYSTEM:EVENT[FILTER]{VALUE}, any tracepoint, or one of --list", AT(events), .choice = event_choice},
	{SP_OPT_STRING, 0, "list", "[GLOB]", "which events there are, what they cost, and whether they work here; -v: their fields", AT(list), .without = ""},
	{SP_OPT_NUMBER, 0, "min", "US", "waits of at least so many microseconds only (1)", AT(min_us), .min = 1, .max = 3600000000ULL},
	{SP_OPT_FLAG, 0, "waker", NULL, "the stack of who ended each wait, above it", AT(waker)},
	{SP_OPT_BYTES, 0, "thin", "BYTES", "mem: samples a byte in so many; 1: all (512K)", AT(thin_bytes), .min = 1, .max = 1ULL << 39},
	SP_OVERHEAD_OPTION,
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE, in the view of its suffix", AT(output)},
	{SP_OPT_CHOICE, 0, "format", "NAME", "the view", AT(view_number), .choice = sp_sample_view_choice, .excludes = FORMAT},
	{SP_OPT_BYTES, 0, "max-memory", "SIZE", "for unwind tables (24M)", AT(max_memory_bytes), .min = MIN_MEMORY, .max = MAX_MEMORY},
	{SP_OPT_OPERAND, 0, NULL, "SECONDS", "how long; without it, until Ctrl-C", AT(duration_s), .min = 1, .max = SP_MAX_SECONDS},
	{SP_OPT_COMMAND, 0, NULL, "COMMAND...", "run this, and profile it and all that it starts", AT(command), .excludes = WHO},
	{0},
};
/* clang-format on */

const struct sp_example sp_profile_examples[] = {
    {"sudo soprof profile 10", "all CPUs for 10 seconds"},
    {"sudo soprof profile -p 4711 -o out.svg 30", "a flame graph"},
    {"sudo soprof profile --by library -- make -j2", "what a build costs"},
    {0},
};

static int check_targets(const struct sp_profile_args *a)
{
	uint32_t tgid;

	for (size_t i = 0; i < a->pids.n; i++) {
		uint32_t pid = a->pids.values[i];
		int r = sp_process_tgid(pid, &tgid);

		sp_error_clear();
		if (r == -ESRCH || (r == 0 && tgid != pid))
			return sp_fail_said(-ESRCH, "-p: there is no process %u", pid);
	}
	for (size_t i = 0; i < a->tids.n; i++) {
		int r = sp_process_tgid(a->tids.values[i], &tgid);

		sp_error_clear();
		if (r == -ESRCH)
			return sp_fail_said(-ESRCH, "there is no thread %u", a->tids.values[i]);
	}
	return 0;
}

/* Perf events are opened for CPUs; fronts run on all. */
static int check_cpus_of(const struct sp_recipe *recipe, unsigned cpu)
{
	if (recipe->min_ns)
		return sp_fail_said(-EINVAL, "-C is not for %s: a thread that waits is on no CPU", recipe->name);
	if (recipe->is_live)
		return sp_fail_said(-EINVAL, "-C is not for %s", recipe->name);
	if (sp_recipe_has_front(recipe))
		return sp_fail_said(-EINVAL, "-C is not for %s: its filter chooses CPUs, as in [cpu == %u]",
				    recipe->name, cpu);
	return 0;
}

static int check_cpus(const struct sp_profile_args *a)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	int r = 0;

	if (a->cpus.n && n > 0 && a->cpus.values[a->cpus.n - 1] >= n)
		return sp_fail_said(-EINVAL, "-C: there is no CPU %u; this machine's are 0 to %ld",
				    a->cpus.values[a->cpus.n - 1], n - 1);
	for (size_t i = 0; a->cpus.n && i < a->recipes.n && r >= 0; i++)
		r = check_cpus_of(a->recipes.recipes[i], a->cpus.values[0]);
	return r;
}

static int check_period(const struct sp_profile_args *a)
{
	const char *event = a->recipes.event ? a->recipes.event : sp_event_at(0)->name;

	if (a->recipes.n > 1)
		return sp_fail_said(-EINVAL, "-c is for one event, not %zu", a->recipes.n);
	if (sp_recipe_has_front(a->recipes.recipes[0]))
		return sp_fail_said(-EINVAL, "-c is not for %s, of which every event counts",
				    a->recipes.recipes[0]->name);
	if (a->recipes.recipes[0] == &sp_recipe_cpu && a->period < MIN_CLOCK_PERIOD_NS)
		return sp_fail_said(-EINVAL, "-c must be at least %d (nanoseconds) with %s, not %llu",
				    MIN_CLOCK_PERIOD_NS, event, (unsigned long long)a->period);
	return 0;
}

static int check_rate(struct sp_profile_args *a)
{
	if (a->frequency_hz && !sp_recipe_set_has_rate(&a->recipes))
		return sp_fail_said(-EINVAL, "-F is not for %s, of which every event counts",
				    a->recipes.recipes[0]->name);
	if (!a->period && !a->frequency_hz)
		a->frequency_hz = DEFAULT_HZ;
	return 0;
}

/* bcc takes all threads, where its user names none; without any of this the recipe stays as it is. */
static int set_waits(struct sp_profile_args *a)
{
	struct sp_waits waits = {.by_state = a->state != SP_ANY_STATE, .state = a->state};

	if (a->max_us && a->min_us > a->max_us)
		return sp_fail_said(-EINVAL, "no wait takes at least %llu us and at most %llu us",
				    (unsigned long long)a->min_us, (unsigned long long)a->max_us);
	if (!a->in_us)
		return 0;
	waits.threads = a->user_threads ? SP_WAIT_USER : a->kernel_threads ? SP_WAIT_KERNEL : SP_WAIT_ALL;
	return sp_recipe_set_waits(&a->recipes, &waits);
}

static int set_wakers(struct sp_profile_args *a)
{
	if (!a->waker && !a->waker_alone)
		return 0;
	if (a->with_lines) /* a waker's frames stand the other way round */
		return sp_fail_said(-EINVAL, "--waker and --inline do not go together");
	return sp_recipe_set_wakers(&a->recipes);
}

static int check_min(const struct sp_profile_args *a)
{
	for (size_t i = 0; i < a->recipes.n; i++)
		if (a->recipes.recipes[i]->min_ns)
			return 0;
	return sp_fail_said(-EINVAL, "--min is for events that last: offcpu, wall, locks");
}

/* Rows of other events have no such label: the table would be one row. */
static int check_by(const struct sp_profile_args *a)
{
	static const struct {
		enum sp_about about; /* NOTHING: what lasts */
		const char *events;
	} of[SP_N_TOTAL_BY] = {[SP_TOTAL_BY_STATE] = {SP_ABOUT_NOTHING, "offcpu, wall, locks"},
			       [SP_TOTAL_BY_LOCK] = {SP_ABOUT_LOCK, "locks"},
			       [SP_TOTAL_BY_MEMORY] = {SP_ABOUT_MEMORY, "faults"},
			       [SP_TOTAL_BY_FAULT] = {SP_ABOUT_MEMORY, "faults"}};

	if (a->by == SP_TOTAL_BY_HOST)
		return sp_fail_said(-EINVAL, "--by host is for a fleet: soprof query --fleet");
	if (a->by < 0 || !of[a->by].events)
		return 0;
	for (size_t i = 0; i < a->recipes.n; i++) {
		const struct sp_recipe *recipe = a->recipes.recipes[i];

		if (of[a->by].about ? recipe->about == of[a->by].about : recipe->min_ns != 0)
			return 0;
	}
	return sp_fail_said(-EINVAL, "--by %s is for -e %s", sp_grouping_choice((size_t)a->by), of[a->by].events);
}

bool sp_overhead_choose(const struct sp_recipe_set *recipes, uint64_t *max_overhead)
{
	bool is_asked = *max_overhead != SP_NO_OVERHEAD;

	for (size_t i = 0; i < recipes->n; i++)
		if (sp_recipe_is_guarded(recipes->recipes[i])) {
			*max_overhead = is_asked ? *max_overhead : SP_DEFAULT_OVERHEAD;
			return true;
		}
	*max_overhead = 0;
	return !is_asked;
}

static int set_overhead(struct sp_profile_args *a)
{
	if (sp_overhead_choose(&a->recipes, &a->max_overhead))
		return 0;
	return sp_fail_said(-EINVAL,
			    "--max-overhead is for events without a rate, such as offcpu; %s costs "
			    "what its rate (-F, -c) makes it cost",
			    a->recipes.recipes[0]->name);
}

/* Of all the others nothing would come. */
static int check_list(int argc, char **argv, const struct sp_profile_args *a)
{
	int n = 1 + a->verbose;

	for (int i = 0; i < argc; i++)
		n += argv[i] == a->list; /* its glob, if it is a word of its own */
	if (argc == n)
		return 0;
	return sp_fail_said(-EINVAL, "--list takes a glob and -v, and no other option: --list 'sched:*' -v");
}

/* A command loads our library, a process that runs is probed. */
static int set_memory(struct sp_profile_args *a)
{
	struct sp_allocators of = {.thin_bytes = a->thin_bytes ? a->thin_bytes : SP_MEMORY_THIN,
				   .one_in = a->one_in,
				   .library = a->allocator,
				   .least = a->least_bytes,
				   .most = a->most_bytes};
	int r;

	if (!sp_recipes_have_live(a->recipes.recipes))
		return a->thin_bytes ? sp_fail_said(-EINVAL, "--thin is for -e mem") : 0;
	if (a->command && (a->allocator || a->one_in || a->least_bytes || a->most_bytes))
		return sp_fail_said(-EINVAL, "-O, -s, -z and -Z are for a process that runs: -p PID");
	if (a->command)
		return sp_memory_library_make(&a->recipes, a->thin_bytes, &a->memory);
	if (a->pids.n != 1)
		return sp_fail_said(-EINVAL, "-e mem samples a command that soprof starts, or one process: "
					     "profile -e mem -- COMMAND, or -p PID");
	of.pid = a->pids.values[0];
	r = check_targets(a);
	return r < 0 ? r : sp_recipe_set_allocators(&a->recipes, &of, &a->memory.unseen);
}

static int set_events(struct sp_profile_args *a)
{
	int r = 0;

	if (a->events)
		r = sp_recipe_set_parse(a->events, &a->recipes);
	else
		a->recipes = (struct sp_recipe_set){.recipes = {&sp_recipe_cpu}, .n = 1};
	if (r < 0)
		return sp_fail(r, "-e");
	if (!a->frequency_hz)
		sp_recipe_set_take_all(&a->recipes);
	if (r >= 0 && a->min_us)
		r = check_min(a);
	if (r >= 0)
		r = set_waits(a);
	if (r >= 0)
		r = set_wakers(a);
	if (r >= 0)
		r = set_memory(a);
	if (r >= 0)
		r = set_overhead(a);
	if (r >= 0 && a->period)
		r = check_period(a);
	return r < 0 ? r : check_rate(a);
}

/* Who gives one of these wants the stacks, as bcc prints them. */
static bool has_options_of_text(const struct sp_profile_args *a)
{
	return a->delimiter || a->annotate || a->addresses || a->verbose || a->in_us;
}

static const char *default_view(const struct sp_profile_args *a)
{
	if (a->by >= 0)
		return "table";
	return a->on_terminal && !has_options_of_text(a) ? "overview" : "text";
}

/* -f, --format, the suffix of -o, --by, text: the first that is there says what is written. */
static int set_view(struct sp_profile_args *a)
{
	int r = 0;

	if (a->folded)
		a->view = sp_view_by_name("folded");
	else if (a->view_number >= 0)
		a->view = sp_view_by_name(sp_sample_view_choice((size_t)a->view_number));
	else if (a->output)
		r = sp_output_view(a->output, sp_sample_view_choice, &a->view);
	else
		a->view = sp_view_by_name(default_view(a));
	if (r < 0)
		return r;
	if (!a->view)
		return sp_fail_said(-EINVAL, "this soprof was built without that view");
	if (a->by >= 0 && !a->view->grouped)
		return sp_fail_said(-EINVAL, "--by is for the views table, csv and json, not %s", a->view->name);
	r = check_by(a);
	return r < 0 ? r : sp_output_fits(a->view, a->output);
}

void sp_profile_args_default(struct sp_profile_args *ret_args)
{
	*ret_args = (struct sp_profile_args){
	    .cmd = &sp_cmd_profile,
	    .stack_storage = DEFAULT_STACKS,
	    .hash_storage = DEFAULT_ROWS,
	    .max_memory_bytes = DEFAULT_MEMORY,
	    .state = SP_ANY_STATE,
	    .max_overhead = SP_NO_OVERHEAD,
	    .by = -1,
	    .view_number = -1,
	};
}

int sp_profile_args_complete(struct sp_profile_args *args)
{
	int r = set_events(args);

	sp_output_is_stdout(&args->output);
	if (r == 0)
		r = set_view(args);
	if (r == 0)
		r = check_cpus(args);
	return r < 0 ? r : check_targets(args);
}

int sp_profile_args_parse_for(const struct sp_cmd *cmd, int argc, char **argv, struct sp_profile_args *args)
{
	int r = sp_options_parse(cmd->options, argc, argv, args);

	return r != SP_PARSED ? r : sp_profile_args_finish(cmd, argc, argv, args);
}

int sp_profile_args_finish(const struct sp_cmd *cmd, int argc, char **argv, struct sp_profile_args *args)
{
	args->cmd = cmd;
	return args->list ? check_list(argc, argv, args) : sp_profile_args_complete(args);
}

int sp_profile_args_parse(int argc, char **argv, struct sp_profile_args *ret_args)
{
	sp_profile_args_default(ret_args);
	ret_args->on_terminal = isatty(STDOUT_FILENO);
	return sp_profile_args_parse_for(&sp_cmd_profile, argc, argv, ret_args);
}

void sp_profile_args_done(struct sp_profile_args *a)
{
	sp_u32_list_done(&a->pids);
	sp_u32_list_done(&a->tids);
	sp_u32_list_done(&a->cpus);
	sp_recipe_set_done(&a->recipes);
	sp_memory_library_done(&a->memory);
}
