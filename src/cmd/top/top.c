/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top.c: `soprof top`: the present cost of libraries, functions and processes, in the terminal or as tables for
 * scripts.
 *
 * One loop: it takes samples from a source, passes keys to the state, and shows both. Keys are handled while names are
 * searched.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/socket/ask.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/grid.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/sampling.h"
#include "cmd/top/top_screen.h"
#include "cmd/top/top_source.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "recipe/recipe.h"
#include "trace/presets.h"

enum { DEFAULT_HZ = 49, DEFAULT_S = 2, DEFAULT_SPAN_S = 10, FIRST_MS = 1000, MAX_HZ = 10000, MAX_S = 3600, ROWS = 50 };
#define NS_PER_MS UINT64_C(1000000)

struct top_args {
	uint64_t interval_s, span_s, frequency_hz, count, limit, max_overhead;
	const char *events, *library, *process, *cgroup, *socket;
	int by, sort;
	struct sp_recipe_set recipes;
	char *row_event; /* what a row of `soprof trace` stands for */
	bool batch, agent;
};

SP_CHOICE(sort_choice, [SP_TOP_SELF] = "self", [SP_TOP_TOTAL] = "total", [SP_TOP_NAME] = "name")

/* clang-format off */
#define AT(member) .offset = offsetof(struct top_args, member)
static const struct sp_option options[] = {
	{SP_OPT_NUMBER, 'd', "interval", "SECONDS", "between two pictures (2; tables: as --over)", AT(interval_s), .min = 1, .max = MAX_S},
	{SP_OPT_NUMBER, 0, "over", "SECONDS", "they are of the last SECONDS (10)", AT(span_s), .min = 1, .max = MAX_S},
	{SP_OPT_NUMBER, 'F', "frequency", "HZ", "samples a second on each CPU (49)", AT(frequency_hz), .min = 1, .max = MAX_HZ},
	{SP_OPT_STRING, 'e', "event", "EVENT", "what is counted, as of profile: offcpu, wall ... (cpu); or a row of trace: syscalls", AT(events)},
	SP_OVERHEAD_OPTION,
	{SP_OPT_CHOICE, 0, "by", "WHAT", "what is seen first (libraries)", AT(by), .choice = sp_top_view_name},
	{SP_OPT_CHOICE, 0, "sort", "KEY", "in which order (self; of waits: total)", AT(sort), .choice = sort_choice},
	{SP_OPT_STRING, 'l', "library", "GLOB", "samples with a frame in such a library", AT(library)},
	{SP_OPT_STRING, 0, "process", "GLOB", "samples of such processes (name, pid)", AT(process)},
	{SP_OPT_STRING, 0, "cgroup", "GLOB", "samples of such a cgroup", AT(cgroup)},
	{SP_OPT_FLAG, 'b', "batch", NULL, "tables, for scripts; so without a terminal", AT(batch)},
	{SP_OPT_NUMBER, 'n', "count", "COUNT", "pictures, then the end (tables: 1; 0 = no end)", AT(count), .min = 0, .max = UINT32_MAX},
	{SP_OPT_NUMBER, 0, "limit", "ROWS", "of each table (50; 0 = all)", AT(limit), .min = 0, .max = UINT32_MAX},
	{SP_OPT_FLAG, 0, "agent", NULL, "what the running agent has sampled", AT(agent)},
	{SP_OPT_STRING, 0, "socket", "PATH", "the same of the agent there", AT(socket)},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"sudo soprof top", "the whole machine; q quits, ? tells the keys"},
    {"sudo soprof top -e offcpu", "where threads wait"},
    {"sudo soprof top --process nginx", "one program"},
    {"soprof top --batch --agent > now.txt", "one table of what the agent saw"},
    {0},
};

struct top {
	const struct top_args *args;
	struct sp_top_state state;
	struct sp_top_source source;
	struct sp_profile *profile; /* that is seen; NULL: none yet */
	struct sp_top_page page;
	struct sp_top_info info;
	struct sp_top_history history;
	struct sp_top_cpus cpus;
	char narrowed[SP_TOP_WORD], error[SP_TOP_WORD];
	uint64_t next_ns; /* the next picture, CLOCK_MONOTONIC */
	uint64_t n_pictures;
	int signal_fd;
	bool is_screen, is_over, is_taking;
};

/* --- pictures --- */
static struct sp_top_seen seen_of(const struct top *t)
{
	return (struct sp_top_seen){.state = &t->state,
				    .profile = t->profile,
				    .page = &t->page,
				    .info = &t->info,
				    .narrowed = t->narrowed,
				    .error = t->error,
				    .history = &t->history,
				    .cpus = &t->cpus};
}

static int draw(struct top *t, bool clear)
{
	struct sp_top_seen seen = seen_of(t);

	return t->is_screen ? sp_top_screen_draw(&seen, &t->state, clear) : 0;
}

static int table_print(const struct top *t)
{
	char head[SP_TOP_HEAD_LINES][SP_TOP_LINE];
	struct sp_top_seen seen = seen_of(t);
	size_t i, n = t->args->limit ? t->args->limit : t->page.n_rows;
	int r;

	sp_top_head(&seen, head);
	for (i = 0; i < SP_TOP_HEAD_LINES; i++)
		printf("%s%s\n", i || !t->n_pictures ? "" : "\n", head[i]);
	r = sp_top_rows_write(&seen, 0, n, sp_terminal_width(stdout, NULL), stdout);
	if (r >= 0 && t->page.n_rows > n)
		printf("and %zu more\n", t->page.n_rows - n);
	if (fflush(stdout) && errno != EPIPE)
		r = r < 0 ? r : sp_fail(-errno, "write");
	return r;
}

/* The cursor stays on the row that it was on, but for the first: that is the row on top, whatever it is. */
static int build(struct top *t, bool follow)
{
	struct sp_top_level *l = sp_top_level(&t->state);
	char what[SP_TOP_WORD] = "";
	struct sp_top_page page;
	size_t row;
	int r = t->profile ? sp_top_page_make(&t->state, t->profile, &page) : -ENODATA;

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	if (follow && l->cursor && l->cursor < t->page.n_rows)
		follow = sp_top_page_what(&t->page, l->cursor, what);
	if (follow && *what && !page.is_tree && sp_top_page_find(&page, what, &row)) {
		l->first += row > l->cursor ? row - l->cursor : 0;
		l->first -= row < l->cursor ? SP_MIN(l->cursor - row, l->first) : 0;
		l->cursor = row;
	}
	sp_top_page_done(&t->page);
	t->page = page;
	t->state.n_rows = page.n_rows;
	return 0;
}

/* --- samples --- */
static int narrow(const struct top_args *a, struct sp_profile **p)
{
	const struct {
		enum sp_filter_by by;
		const char *glob;
	} wanted[] = {{SP_FILTER_LIBRARY, a->library}, {SP_FILTER_PROCESS, a->process}, {SP_FILTER_CGROUP, a->cgroup}};
	struct sp_filter_result result;
	size_t i;
	int r = 0;

	for (i = 0; r >= 0 && i < SP_COUNT(wanted); i++) {
		const struct sp_glob_filter filter = {.by = wanted[i].by, .globs = &wanted[i].glob, .n_globs = 1};
		struct sp_profile *some;

		if (!wanted[i].glob)
			continue;
		r = sp_profile_filter_by(*p, &filter, &some, &result);
		if (r >= 0) {
			sp_profile_free(*p);
			*p = some;
		}
	}
	return r;
}

/* What lasts longer than a picture: the last minute, and the CPUs. */
static int moment_add(struct top *t)
{
	sp_top_cpus_take(&t->cpus);
	return sp_top_history_add(&t->history, t->profile, sp_time_ns(CLOCK_MONOTONIC),
				  t->state.interval_ms * NS_PER_MS);
}

static int show(struct top *t, struct sp_profile *p, const struct sp_top_info *info)
{
	struct sp_profile *old = t->profile;
	int r;

	t->profile = p;
	t->info = *info;
	r = build(t, true);
	if (r >= 0 && t->is_screen)
		r = moment_add(t);
	if (r < 0 && old) { /* the page is still of the old one */
		t->profile = old;
		sp_profile_free(p);
		return r;
	}
	sp_profile_free(old);
	if (r >= 0)
		r = t->is_screen ? draw(t, false) : table_print(t);
	t->n_pictures++;
	t->is_over |= (t->args->count && t->n_pictures >= t->args->count) || ferror(stdout);
	return r;
}

static int picture_take(struct top *t)
{
	struct sp_top_info info;
	struct sp_profile *p;
	int r = t->source.take(t->source.source, &p, &info);

	t->is_taking = r == 0;
	if (r <= 0)
		return r;
	r = narrow(t->args, &p);
	if (r < 0 || t->state.is_paused) {
		sp_profile_free(p);
		return r;
	}
	t->error[0] = '\0';
	return show(t, p, &info);
}

/* On the screen a failure is shown, and tried again: agents are restarted. */
static int picture(struct top *t)
{
	int r = picture_take(t);

	if (t->is_taking)
		return 0;
	t->next_ns = sp_time_ns(CLOCK_MONOTONIC) + t->state.interval_ms * NS_PER_MS;
	if (r >= 0 || !t->is_screen)
		return r;
	snprintf(t->error, sizeof(t->error), "%s", sp_error_text(r));
	sp_error_clear();
	return draw(t, false);
}

/* --- keys --- */
static int row_open(struct top *t)
{
	size_t row = sp_top_level(&t->state)->cursor;
	char what[SP_TOP_WORD];

	if (row >= t->page.n_rows || !sp_top_page_what(&t->page, row, what))
		return 0;
	SP_FREE char *title = sp_top_page_name(&t->page, row);
	if (!title)
		return -ENOMEM;
	return sp_top_push(&t->state, what, title) ? build(t, false) : 0;
}

static int key_do(struct top *t, uint32_t key)
{
	unsigned asked = sp_top_key(&t->state, key);
	int r = 0;

	t->is_over |= asked & SP_TOP_QUIT;
	if (asked & SP_TOP_OPEN)
		r = row_open(t);
	if (r >= 0 && asked & SP_TOP_BUILD)
		r = build(t, false);
	if (asked & SP_TOP_LATER)
		t->next_ns = sp_time_ns(CLOCK_MONOTONIC) + t->state.interval_ms * NS_PER_MS;
	if (r >= 0 && asked & ~(unsigned)SP_TOP_QUIT)
		r = draw(t, asked & SP_TOP_CLEAR);
	return r;
}

static int keys_do(struct top *t)
{
	uint32_t key;
	int r = 0;

	while (r >= 0 && t->is_screen && !t->is_over && sp_top_screen_key(&key))
		r = key_do(t, key);
	return r;
}

/* --- the loop --- */
enum { SIGNALS, KEYS, OWN, N_FDS = OWN + SP_TOP_MAX_FDS };

/* Waits for something to happen, and serves it. */
static int turn(struct top *t, int timeout_ms)
{
	struct pollfd fds[N_FDS] = {{.fd = t->signal_fd, .events = POLLIN},
				    {.fd = t->is_screen ? STDIN_FILENO : -1, .events = POLLIN}};
	int own[SP_TOP_MAX_FDS], n, r;
	size_t i, n_own = t->source.fds(t->source.source, own);
	struct signalfd_siginfo signal;

	for (i = 0; i < n_own; i++)
		fds[OWN + i] = (struct pollfd){.fd = own[i], .events = POLLIN};
	n = poll(fds, OWN + n_own, timeout_ms);
	if (n < 0 && errno != EINTR)
		return sp_fail(-errno, "wait");
	while (read(t->signal_fd, &signal, sizeof(signal)) > 0)
		t->is_over = true;
	if (n > 0 && fds[KEYS].revents & (POLLHUP | POLLERR)) /* the terminal has gone */
		t->is_over = true;
	r = keys_do(t);
	return r < 0 ? r : t->source.step(t->source.source);
}

static int wait_ms(const struct top *t)
{
	uint64_t next = t->source.next_ns(t->source.source);

	return sp_ms_until(t->is_taking ? next : SP_MIN(next, t->next_ns));
}

static int loop(struct top *t)
{
	int r = 0;

	t->next_ns = sp_time_ns(CLOCK_MONOTONIC) +
		     (t->is_screen ? SP_MIN(t->state.interval_ms, FIRST_MS) : t->state.interval_ms) * NS_PER_MS;
	if (t->info.is_agent) /* it has sampled already */
		t->next_ns = 0;
	r = draw(t, false);
	while (r >= 0 && !t->is_over) {
		r = turn(t, wait_ms(t));
		if (r >= 0 && !t->is_over && (t->is_taking || sp_time_ns(CLOCK_MONOTONIC) >= t->next_ns))
			r = picture(t);
	}
	return r;
}

/* --- beginning --- */
/* Who names a socket means the agent there, and nothing else. */
static bool is_agent_wanted(const struct top *t)
{
	return t->args->agent || t->args->socket;
}

static int agent_open(struct top *t, const struct sp_top_wants *wants)
{
	int r = sp_top_agent_open(wants, &t->source);

	t->info.is_agent = r >= 0;
	if (!is_agent_wanted(t) || (r != -ENOENT && r != -ECONNREFUSED))
		return r;
	sp_error_clear();
	return sp_fail_said(r, "no agent answers at %s; sudo soprof agent starts one",
			    wants->socket ? wants->socket : SP_AGENT_SOCKET);
}

/* Who may sample does; others, and those to whom the kernel refuses it, ask the agent, if there is one. */
static int source_open(struct top *t)
{
	const struct sp_top_wants wants = {.span_ns = t->args->span_s * SP_NS_PER_S,
					   .frequency_hz = t->args->frequency_hz,
					   .recipes = &t->args->recipes,
					   .max_overhead_percent = (unsigned)t->args->max_overhead,
					   .is_screen = t->is_screen,
					   .socket = t->args->socket};
	char why[SP_TOP_WORD];
	int r, refused;

	if (is_agent_wanted(t))
		return agent_open(t, &wants);
	refused = sp_privileges_check("sample");
	if (refused >= 0)
		refused = sp_top_own_open(&wants, &t->source);
	if (refused >= 0 || t->args->events)
		return refused;
	snprintf(why, sizeof(why), "%s", sp_error_text(refused));
	sp_error_clear();
	r = agent_open(t, &wants);
	if (r >= 0)
		return 0;
	sp_error_clear();
	if (r != -ENOENT && r != -ECONNREFUSED)
		return sp_fail_said(refused, "%s; and the agent at %s does not answer", why, SP_AGENT_SOCKET);
	return sp_fail_said(refused, "%s; and no agent answers at %s", why, SP_AGENT_SOCKET);
}

static void narrowed_tell(struct top *t)
{
	const struct top_args *a = t->args;
	const char *const words[] = {a->library, a->process, a->cgroup};
	size_t i, n = 0;

	for (i = 0; i < SP_COUNT(words); i++)
		if (words[i] && n < sizeof(t->narrowed))
			n +=
			    (size_t)snprintf(t->narrowed + n, sizeof(t->narrowed) - n, "%s%s", n ? ", " : "", words[i]);
}

static int top_run(struct top *t)
{
	int r = sp_signals_take(SIGQUIT, NULL, &t->signal_fd);

	narrowed_tell(t);
	t->state.levels[0].by = sp_top_view((size_t)t->args->by);
	t->state.sort = (enum sp_top_sort)t->args->sort;
	t->state.interval_ms = 1000 * t->args->interval_s;
	if (t->is_screen)
		sp_top_cpus_open(&t->cpus);
	sp_top_cpus_take(&t->cpus);
	if (r >= 0)
		r = source_open(t);
	if (r >= 0 && t->is_screen)
		r = sp_top_screen_open();
	if (r >= 0)
		r = loop(t);
	if (t->is_screen)
		sp_top_screen_close();
	return r;
}

static void top_done(struct top *t)
{
	sp_top_page_done(&t->page);
	sp_top_history_done(&t->history);
	sp_top_cpus_done(&t->cpus);
	sp_profile_free(t->profile);
	if (t->source.close)
		t->source.close(t->source.source);
	sp_cleanup_close(&t->signal_fd);
}

static int overhead_choose(struct top_args *a)
{
	if (sp_overhead_choose(&a->recipes, &a->max_overhead))
		return 0;
	sp_recipe_set_done(&a->recipes);
	return sp_fail_said(-EINVAL, "--max-overhead is for events without a rate, such as -e offcpu");
}

static int event_choose(struct top_args *a)
{
	const struct sp_trace_preset *row;
	int r;

	if (a->events && (a->agent || a->socket))
		return sp_fail_said(-EINVAL, "--event is for top's own sampling, not for the agent's");
	row = a->events && !sp_recipe_find(a->events) ? sp_trace_preset_find(a->events, strlen(a->events)) : NULL;
	r = row ? sp_trace_preset_sampled(row, &a->row_event) : 0;
	if (r < 0)
		return r;
	if (row)
		a->events = a->row_event;
	r = sp_recipe_set_parse(a->events ? a->events : sp_recipe_cpu.name, &a->recipes);
	if (r >= 0 && !a->frequency_hz)
		sp_recipe_set_take_all(&a->recipes);
	if (!a->frequency_hz)
		a->frequency_hz = DEFAULT_HZ;
	if (r >= 0 && a->recipes.n > 1) {
		sp_recipe_set_done(&a->recipes);
		return sp_fail_said(-EINVAL, "top shows one event, not %s", a->events);
	}
	if (r >= 0)
		r = overhead_choose(a);
	/* The code that waits is the kernel's, so the share of a library is what it called. */
	if (r >= 0 && a->sort < 0)
		a->sort = row || a->recipes.recipes[0]->min_ns ? SP_TOP_TOTAL : SP_TOP_SELF;
	return r;
}

static int run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct top_args a = {
	    .span_s = DEFAULT_SPAN_S, .limit = ROWS, .count = UINT64_MAX, .sort = -1, .max_overhead = SP_NO_OVERHEAD};
	struct top t = {.args = &a, .signal_fd = -1, .cpus.fd = -1};
	int code = SP_EXIT_OK, r = sp_options_parse(options, argc, argv, &a);

	if (!sp_cmd_parsed(cmd, r, &code))
		return code;
	r = event_choose(&a);
	if (r < 0) {
		free(a.row_event);
		return sp_cmd_error(cmd, r, SP_EXIT_USAGE);
	}
	t.is_screen = !a.batch && sp_terminal_has_escapes(stdout);
	if (a.count == UINT64_MAX)
		a.count = !t.is_screen;
	if (!a.interval_s)
		a.interval_s = t.is_screen ? SP_MIN(DEFAULT_S, a.span_s) : a.span_s;
	r = top_run(&t);
	if (r < 0)
		code = sp_cmd_error(cmd, r, sp_sampling_exit_code(r));
	top_done(&t);
	sp_recipe_set_done(&a.recipes);
	free(a.row_event);
	return code;
}

const struct sp_cmd sp_cmd_top = {
    .name = "top",
    .summary = "what libraries, functions and processes cost now, in the terminal",
    .group = SP_CMD_WATCH,
    .needs = "root, or a running agent (which shows users their own processes)",
    .synopsis = "[OPTIONS]",
    .options = options,
    .examples = examples,
    .run = run,
};
