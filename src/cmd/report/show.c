/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/show.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/report/report.h"
#include "naming/enrich.h"
#include "profile/calls.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "profile/tree.h"
#include "view/value.h"
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_LIMIT = 50, OTHER_LINES = 10 };

const char *sp_show_sort_choice(size_t i)
{
	return i < SP_N_SORTS ? sp_view_sorts[i] : NULL;
}

const char *sp_show_fold_choice(size_t i)
{
	static const char *const names[] = {
	    [SP_TREE_FUNCTIONS] = "frames", [SP_TREE_ENTRIES] = "entries", [SP_TREE_LIBRARIES] = "libraries"};

	return i < SP_COUNT(names) ? names[i] : NULL;
}

int sp_show_view(const struct sp_show_args *a, const struct sp_view **ret_view)
{
	bool is_tree = a->tree || a->inverted || a->callers || a->callees || a->around;
	const struct sp_view *view;
	int r = 0;

	if (a->csv || a->json)
		view = sp_view_by_name(a->csv ? "csv" : "json");
	else if (a->view >= 0)
		view = sp_view_by_name(sp_view_choice((size_t)a->view));
	else if (a->output)
		r = sp_output_view(a->output, sp_view_choice, &view);
	else
		view = sp_view_by_name(is_tree ? "tree" : "table");
	if (r >= 0)
		r = sp_output_fits(view, a->output);
	if (r >= 0 && a->on_stderr && !a->output && view->binary)
		r = sp_fail_said(-EINVAL, "the view %s is not for standard error; give -o FILE%s", view->name,
				 view->suffix);
	if (r >= 0)
		*ret_view = view;
	return r;
}

/* --- showing --- */
struct show {
	const struct sp_show_args *args;
	const struct sp_view *view;
	struct sp_profile *profile;
	const char *title;
	struct sp_view_options options;
	char *header, *caption; /* what the value is: as a line and an empty one, and above pictures */
};

static int any_matches(const struct sp_profile *p, enum sp_filter_by by, const char *glob, bool *ret_any)
{
	SP_FREE bool *matches = sp_profile_frames_matching(p, by, glob);

	if (!matches)
		return -ENOMEM;
	*ret_any = memchr(matches, 1, sp_profile_n_frames(p)) != NULL;
	return 0;
}

/* The glob is of functions; where none has such a name, of libraries. */
static int focus_choose(struct show *r)
{
	const struct sp_show_args *a = r->args;
	const char *glob = a->around ? a->around : a->callers ? a->callers : a->callees;
	bool any = false;
	int e;

	r->options.callers = a->around || a->callers || a->inverted;
	r->options.callees = a->around || a->callees || a->tree;
	r->options.focus = glob;
	if (!glob)
		return 0;
	e = any_matches(r->profile, SP_FILTER_FUNCTION, glob, &any);
	if (e < 0 || any)
		return e;
	r->options.focus_is_library = true;
	e = any_matches(r->profile, SP_FILTER_LIBRARY, glob, &any);
	return e < 0 || any ? e : sp_fail_said(-ENOENT, "no function and no library is called '%s'", glob);
}

static int labels_fill(struct show *r)
{
	return r->args->by == SP_TOTAL_BY_PACKAGE || r->view->packages ? sp_enrich_packages(r->profile, NULL) : 0;
}

static void options_fill(struct show *r)
{
	const struct sp_show_args *a = r->args;
	bool for_scripts = a->csv || a->json || a->output;

	r->options = (struct sp_view_options){
	    .title = r->title,
	    .by = a->by < 0 ? SP_TOTAL_BY_LIBRARY : (enum sp_total_by)a->by,
	    .sort = a->sort < 0 ? SP_SORT_SELF : (enum sp_sort)a->sort,
	    .limit = a->limit != UINT64_MAX ? (uint32_t)a->limit
		     : for_scripts          ? 0
					    : DEFAULT_LIMIT,
	    .user_only = a->user_only,
	    .kernel_only = a->kernel_only,
	    .verbose = a->verbose,
	    .external = a->external,
	    .granularity = a->fold < 0 ? SP_TREE_FUNCTIONS : a->fold,
	    .fold_recursion = a->fold_recursion,
	    .icicle = a->icicle,
	    .min_share = (double)a->min_percent / 100,
	    .colour = !a->output && sp_terminal_has_colour(a->on_stderr ? stderr : stdout),
	};
}

/* What is shown stands above pictures, and above text in the place of what `soprof profile` says of its sampling. */
static int value_tell(struct show *s)
{
	bool all = s->options.all_values && s->view->shows_all;
	SP_FREE char *text = sp_value_text(s->profile, s->options.value);

	s->caption = sp_value_caption(s->profile, s->options.value, all);
	if (!text || !s->caption || asprintf(&s->header, "%s\n", text) < 0) {
		s->header = NULL;
		return -ENOMEM;
	}
	s->options.subtitle = s->caption;
	s->options.header = s->header;
	return 0;
}

static int view_write(void *arg, FILE *out)
{
	struct show *r = arg;

	r->options.width = sp_terminal_width(out, NULL);
	if (r->args->limit == UINT64_MAX && !r->args->output)
		r->options.lines = sp_terminal_rows(out, OTHER_LINES);
	return r->view->write(r->profile, &r->options, out);
}

static int beside_write(void *arg, FILE *out)
{
	struct show *r = arg;

	return r->view->write_beside(r->profile, &r->options, out);
}

static int output_write(struct show *s)
{
	const struct sp_show_args *a = s->args;

	if (a->prepared)
		return sp_output_prepared(a->output, a->broker, a->prepared, view_write, s);
	return !a->output && a->on_stderr ? sp_output_stderr(view_write, s) : sp_output(a->output, view_write, s);
}

/* And which command reads the two. */
static int beside_show(struct show *s)
{
	SP_FREE char *path = NULL;
	int r;

	if (asprintf(&path, "%s%s", s->args->output, s->view->beside) < 0)
		return -ENOMEM;
	r = sp_output(path, beside_write, s);
	if (r < 0)
		return r;
	fputs("read it with: gprof -b ", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, path);
	fputc(' ', stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, s->args->output);
	fputc('\n', stderr);
	return 0;
}

/* A profile of calls has a table of its own. */
static bool wants_nothing_special(const struct sp_show_args *a)
{
	return !a->csv && !a->json && !a->output && a->view < 0 && a->by < 0 && a->sort < 0 && !a->value && !a->tree &&
	       !a->inverted && !a->callers && !a->callees && !a->around;
}

int sp_show(const struct sp_show_args *a, const struct sp_view *view, struct sp_profile *p,
	    const struct sp_totals *totals, const char *title)
{
	struct show s = {.args = a, .view = view, .profile = p, .title = title};
	int r;

	if (wants_nothing_special(a) && !sp_calls_table_value(p))
		s.view = sp_view_by_name("counts");
	options_fill(&s);
	s.options.totals = totals;
	s.options.value = sp_value_default(p, s.view);
	r = a->value ? sp_inputs_value(p, a->value, &s.options.value) : 0;
	s.options.all_values = !a->value && sp_value_has_several(p);
	if (r >= 0)
		r = value_tell(&s);
	if (r >= 0)
		r = focus_choose(&s);
	if (r >= 0)
		r = labels_fill(&s);
	if (r >= 0)
		r = output_write(&s);
	free(s.header);
	free(s.caption);
	return r >= 0 && s.view->write_beside ? beside_show(&s) : r;
}
