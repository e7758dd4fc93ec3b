/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query.c: `soprof query`: shows a time range of the agent's history in any view. */
#include "agent/answer/long_totals.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/fleet/fleet_args.h"
#include "cmd/report/history.h"
#include "cmd/report/report.h"
#include "cmd/report/show.h"
#include "cmd/unmatched.h"
#include "profile/profile.h"
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_NS (UINT64_C(3600) * SP_NS_PER_S)

struct query_args {
	const char *from, *to, *store, *socket, *source;
	const char *library, *function, *process, *cgroup;
	struct sp_show_args show;
	struct sp_fleet_args fleet;
	int resolution;
	bool exact;
};

SP_CHOICE(resolution_choice, [SP_RES_10S] = "10s", [SP_RES_1M] = "1m", [SP_RES_1H] = "1h")

/* clang-format off */
#define AT(member) .offset = offsetof(struct query_args, member)
static const struct sp_option options[] = {
	{SP_OPT_STRING, 0, "from", "TIME", "since when (an hour before --to)", AT(from)},
	{SP_OPT_STRING, 0, "to", "TIME", "until when (now)", AT(to)},
	{SP_OPT_STRING, 'l', "library", "GLOB", "samples with a frame in such a library", AT(library)},
	{SP_OPT_STRING, 0, "function", "GLOB", "samples with such a function", AT(function)},
	{SP_OPT_STRING, 0, "process", "GLOB", "samples of such processes (name, pid)", AT(process)},
	{SP_OPT_STRING, 0, "cgroup", "GLOB", "samples of such a cgroup", AT(cgroup)},
	SP_SHOW_WHAT(struct query_args, show),
	SP_SHOW_HOW(struct query_args, show),
	{SP_OPT_STRING, 0, "store", "PLACE", "read a store's directory, or one of its files", AT(store), .excludes = SP_HISTORY_PLACE},
	{SP_OPT_STRING, 0, "socket", "PATH", "ask the agent there", AT(socket), .excludes = SP_HISTORY_PLACE},
	SP_FLEET_OPTIONS(struct query_args, fleet, SP_HISTORY_PLACE),
	{SP_OPT_STRING, 0, "label", "NAME=GLOB", "of a fleet: hosts that have such a label", AT(fleet.filter.label)},
	{SP_OPT_STRING, 0, "source", "NAME", "what was sampled (cpu)", AT(source)},
	{SP_OPT_CHOICE, 0, "resolution", "LENGTH", "windows of this length only", AT(resolution), .choice = resolution_choice},
	{SP_OPT_FLAG, 0, "exact", NULL, "rare stacks in full, too", AT(exact)},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"soprof query --from -15m", "what each library cost"},
    {"soprof query --from yesterday --to today -o x.html", "a page of yesterday"},
    {"soprof query --process nginx --callers 'memcpy*'", "who calls memcpy in nginx"},
    {0},
};

struct query {
	const struct query_args *args;
	const struct sp_view *view;
	struct sp_store_query asked;
	struct sp_history *history;
	struct sp_profile *profile;
	struct sp_store_answer answer;
};

/* Without --from: the hour that --to ends. */
static int range_find(const struct query_args *a, struct sp_when *ret_range)
{
	uint64_t now = sp_time_ns(CLOCK_REALTIME);
	struct sp_when end = {now, now};
	int r = 0;

	if (a->from)
		return sp_when_between(a->from, a->to, now, ret_range);
	if (a->to)
		r = sp_when_parse(a->to, now, &end);
	if (r == 0)
		*ret_range = (struct sp_when){end.to_ns - SP_MIN(end.to_ns, DEFAULT_NS), end.to_ns};
	return r;
}

static int64_t samples_of(const struct sp_profile *p)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		sp_saturating_add(&n, sp_profile_row(p, i)->values[0]);
	return n;
}

static enum sp_total_by totals_by(const struct query_args *a)
{
	return a->show.by == SP_TOTAL_BY_FUNCTION ? SP_TOTAL_BY_FUNCTION : SP_TOTAL_BY_LIBRARY;
}

/* Whether the store's own sums answer it: of a long range, by library or function, and of everybody. */
static bool is_of_totals(const struct query *q)
{
	const struct query_args *a = q->args;
	bool all = !a->library && !a->function && !a->process && !a->cgroup;
	bool plain = !a->exact && a->resolution < 0 && !a->show.user_only && !a->show.kernel_only;

	return all && plain && q->view->grouped && a->show.by <= SP_TOTAL_BY_FUNCTION &&
	       q->asked.to_ns - q->asked.from_ns >= SP_LONG_TOTALS_NS(totals_by(a));
}

static int history_totals(void *arg, const struct sp_store_query *q, bool by_function,
			  int (*each)(void *each_arg, const struct sp_store_total *t), void *each_arg,
			  struct sp_store_answer *ret_answer)
{
	return sp_history_totals(arg, q, by_function, each, each_arg, ret_answer);
}

static int totals_show(struct query *q, const char *title)
{
	struct sp_totals totals = {0};
	struct sp_long_totals_from from = {.totals = history_totals, .value = sp_inputs_value, .arg = q->history};
	int r =
	    sp_long_totals(&from, &q->asked, totals_by(q->args), q->args->show.value, &q->profile, &totals, &q->answer);

	if (r < 0)
		return r;
	r = sp_show(&q->args->show, q->view, q->profile, &totals, title);
	if (r >= 0)
		sp_history_tell(q->history, NULL, &q->asked, &q->answer, totals.n_samples);
	sp_totals_done(&totals);
	return r;
}

/* --- filters that leave nothing --- */
static bool is_filtered(const struct sp_store_query *q)
{
	return q->library || q->function || q->process || q->cgroup;
}

/* Which filter it is, and what is near to it, is seen without filters; where that cannot be asked, it is not told. */
static int nothing_is_left(struct query *q)
{
	const struct sp_store_query *asked = &q->asked;
	const struct {
		const char *option, *glob;
		enum sp_filter_by by;
	} filters[] = {{"--library", asked->library, SP_FILTER_LIBRARY},
		       {"--function", asked->function, SP_FILTER_FUNCTION},
		       {"--process", asked->process, SP_FILTER_PROCESS},
		       {"--cgroup", asked->cgroup, SP_FILTER_CGROUP}};
	struct sp_store_query all = *asked;
	struct sp_profile *p = NULL;
	int r, found = 0;

	all.library = all.function = all.process = all.cgroup = NULL;
	all.who = SP_WHO_WHOLE;
	all.rough = false;
	r = sp_history_query(q->history, &all, &p, &q->answer);
	for (size_t i = 0; r >= 0 && found == 0 && i < SP_COUNT(filters); i++)
		if (filters[i].glob)
			found = sp_narrow_matched(
			    &p, filters[i].option,
			    &(struct sp_glob_filter){.by = filters[i].by, .globs = &filters[i].glob, .n_globs = 1},
			    NULL);
	sp_profile_free(p);
	if (r < 0)
		sp_error_clear();
	if (found == 0)
		found = sp_fail_said(-ENOENT, "no samples of what was asked for");
	return sp_history_is_own(q->history) ? sp_fail_said(found, "%s; these are " SP_OWN_ONLY, sp_error_text(found))
					     : found;
}

static int windows_show(struct query *q, const char *title)
{
	int r = sp_history_query(q->history, &q->asked, &q->profile, &q->answer);

	if (r >= 0 && is_filtered(&q->asked) && !sp_profile_n_rows(q->profile))
		return nothing_is_left(q);
	if (r >= 0)
		r = sp_show(&q->args->show, q->view, q->profile, NULL, title);
	if (r >= 0)
		sp_history_tell(q->history, NULL, &q->asked, &q->answer, samples_of(q->profile));
	return r;
}

static int query_make(struct query *q)
{
	SP_FREE char *title = sp_history_range_text(q->asked.from_ns, q->asked.to_ns);
	const struct query_args *a = q->args;
	int r = !title         ? -ENOMEM
		: a->fleet.url ? sp_history_open_fleet(&a->fleet, &q->history)
			       : sp_history_open(a->store, a->socket, &q->history);

	if (r >= 0 && !a->fleet.url && is_of_totals(q)) {
		r = totals_show(q, title);
		if (r != -ENODATA && r != -EACCES) /* others' are in the sums */
			return r;
		sp_error_clear();
		r = 0;
	}
	return r < 0 ? r : windows_show(q, title);
}

/* What is shown of processes and threads. */
static enum sp_store_who who_is_shown(const struct query *q)
{
	int by = q->args->show.by;

	if (strcmp(q->view->name, "svg") == 0)
		return SP_WHO_THREAD;
	return q->view->grouped && (by <= SP_TOTAL_BY_FUNCTION || by == SP_TOTAL_BY_CALLER || by == SP_TOTAL_BY_MATRIX)
		   ? SP_WHO_NOTHING
		   : SP_WHO_WHOLE;
}

static int asked_make(struct query *q)
{
	const struct query_args *a = q->args;
	struct sp_when range = {0};
	int r = range_find(a, &range);

	if (r == 0 && !a->fleet.url &&
	    (a->fleet.filter.host || a->fleet.filter.label || a->fleet.password_file || a->fleet.ca_file))
		r = sp_fail_said(-EINVAL,
				 "--host, --label, --password-file and --ca-file are of a fleet: give --fleet");
	if (r == 0 && !a->fleet.url && a->fleet.filter.by_host)
		r = sp_fail_said(-EINVAL, "--by host is for a fleet: give --fleet");
	if (r == 0 && a->fleet.url && a->resolution >= 0)
		r = sp_fail_said(-EINVAL, "a fleet has windows of the length that its hosts send: no --resolution");

	q->asked = (struct sp_store_query){.from_ns = range.from_ns,
					   .to_ns = range.to_ns,
					   .source = a->source,
					   .library = a->library,
					   .function = a->function,
					   .process = a->process,
					   .cgroup = a->cgroup,
					   .all_users = true,
					   .resolution = a->resolution,
					   .exact = a->exact,
					   .who = who_is_shown(q),
					   .rough = strcmp(q->view->name, "svg") == 0};
	return r;
}

static int query_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct query_args a = {.resolution = -1, .show = SP_SHOW_DEFAULTS};
	struct query q = {.args = &a};
	int code = SP_EXIT_OK, r = sp_options_parse(options, argc, argv, &a);

	sp_output_is_stdout(&a.show.output);
	if (r == SP_PARSED)
		r = sp_show_view(&a.show, &q.view);
	a.fleet.filter.by_host = a.show.by == SP_TOTAL_BY_HOST;
	if (r == SP_PARSED)
		r = asked_make(&q);
	if (sp_cmd_parsed(cmd, r, &code)) {
		r = query_make(&q);
		if (r < 0)
			code = sp_cmd_error(cmd, r, r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED);
	}
	sp_profile_free(q.profile);
	sp_history_close(q.history);
	return code;
}

const struct sp_cmd sp_cmd_query = {
    .name = "query",
    .summary = "show what the agent has kept of a range of time, in any view",
    .group = SP_CMD_WATCH,
    .synopsis = "[OPTIONS]",
    .options = options,
    .examples = examples,
    .run = query_run,
};
