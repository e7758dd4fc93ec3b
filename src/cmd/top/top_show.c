/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/top_show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/grid.h"
#include "cmd/top/top_draw.h"
#include "view/units.h"

static const char *const help[] = {
    "1 to 8    libraries, functions,",
    "          processes, threads, cgroups,",
    "          users, containers, packages",
    "Tab       the next of them",
    "s t n     order: self, total, name",
    "/         filter: a word in the name, or",
    "          a glob such as lib*.so*",
    "arrows    choose a row (or j, k, Page",
    "          Up, Page Down, Home, End)",
    "Enter     who calls it; of processes,",
    "          users ...: their libraries",
    "c         what it calls, and back",
    "Esc       back (or Backspace, left)",
    "p, space  pause, go on",
    "+ -       refresh less, more often",
    "q         quit",
    "",
    "0[|||:: 43%]  CPU 0: programs |, kernel :",
    "last minute   its share, up to its most",
};
/* What the columns are, of CPU time, of waits or of all time of threads, and of what is counted. */
enum { OF_CPU, OF_THREADS, OF_EVENTS, N_COLUMN_LINES = 4 };
static const char *const help_columns[][N_COLUMN_LINES] = {
    [OF_CPU] = {"self %    of all CPU time: in itself", "total %   also in what it called",
		"ms/s      CPU time of its own, in ms a", "          second: 1000 is one CPU"},
    [OF_THREADS] = {"self %    of threads' time: in itself", "total %   also in what it called",
		    "ms/s      time in itself, in ms a", "          second: 1000 is one thread"},
    [OF_EVENTS] = {"self %    of all events: in itself", "total %   also in what it called",
		   "per second  events in itself"},
};

const char *sp_top_help(const struct sp_top_seen *seen, size_t i)
{
	int of = !seen->info->event ? OF_CPU : seen->page && !seen->page->is_time ? OF_EVENTS : OF_THREADS;

	if (i < SP_COUNT(help))
		return help[i];
	return i - SP_COUNT(help) < N_COLUMN_LINES ? help_columns[of][i - SP_COUNT(help)] : NULL;
}

/* --- the head --- */
struct classes {
	int64_t n[SP_CLASS_ABSENT + 1], all;
};

static void classes_count(const struct sp_profile *p, struct classes *c)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		unsigned is = row->user ? sp_profile_stack(p, row->user).stack_class : SP_CLASS_ABSENT;

		c->n[SP_MIN(is, (unsigned)SP_CLASS_ABSENT)] += row->values[0];
		c->all += row->values[0];
	}
}

static void line(char *ret_line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(char *ret_line, const char *format, ...)
{
	SP_FREE char *text = NULL;
	size_t n = SP_TOP_LINE - 1;
	va_list args;

	va_start(args, format);
	text = sp_encoded_format(SP_ENCODE_TERMINAL, format, args);
	va_end(args);
	if (text && strlen(text) > n) {
		while (n && ((unsigned char)text[n] & 0xc0) == 0x80) /* characters stay whole */
			n--;
		text[n] = '\0';
	}
	snprintf(ret_line, SP_TOP_LINE, "%s", text ? text : "");
}

static const char *sort_name(enum sp_top_sort sort)
{
	static const char *const names[] = {[SP_TOP_SELF] = "self", [SP_TOP_TOTAL] = "total", [SP_TOP_NAME] = "name"};

	return names[sort];
}

static void title_line(const struct sp_top_seen *seen, char *ret_line)
{
	const struct sp_top_state *s = seen->state;
	const struct sp_top_level *l = &s->levels[s->level];
	char what[2 * SP_TOP_WORD];

	if (l->is_tree)
		snprintf(what, sizeof(what), "%s %s", l->calls ? "what is called by" : "who calls", l->title);
	else if (s->level)
		snprintf(what, sizeof(what), "%s of %s", sp_top_by_name(l->by), l->title);
	else
		snprintf(what, sizeof(what), "%s", sp_top_by_name(l->by));
	line(ret_line, "%ssoprof top%s%s: %s by %s%s%s", s->is_paused ? "PAUSED  " : "",
	     seen->info->event ? " -e " : "", seen->info->event ? seen->info->event : "", what,
	     l->is_tree && s->sort == SP_TOP_SELF ? "total" : sort_name(s->sort),
	     *seen->narrowed ? ", samples of " : "", seen->narrowed);
}

static void source_put(const struct sp_top_info *info, char *ret_text, size_t size)
{
	const char *how = info->is_agent ? "by the agent" : "own sampling";

	if (info->rate_millihertz && info->n_cpus)
		snprintf(ret_text, size, "%s at %g Hz on %" PRIu64 " CPU%s", how, (double)info->rate_millihertz / 1000,
			 info->n_cpus, info->n_cpus == 1 ? "" : "s");
	else
		snprintf(ret_text, size, "%s", how);
}

static void samples_line(const struct sp_top_seen *seen, const struct classes *c, char *ret_line)
{
	const struct sp_top_info *info = seen->info;
	const struct sp_top_page *page = seen->page;
	double seconds = (double)info->time.duration_ns / SP_NS_PER_S;
	char source[96], busy[96] = "", who[64] = "";

	source_put(info, source, sizeof(source));
	if (info->own_only)
		snprintf(who, sizeof(who), "own processes only (uid %u), ", (unsigned)geteuid());
	if (page->is_time && seconds > 0)
		snprintf(busy, sizeof(busy), "%.2f %s, ", (double)page->value / SP_NS_PER_S / seconds,
			 !info->event            ? "CPUs busy"
			 : info->rate_millihertz ? "threads" /* running ones are sampled, too */
						 : "threads waiting");
	else if (info->event && seconds > 0)
		snprintf(busy, sizeof(busy), "%.1f %s a second, ", (double)page->value / seconds, info->event);
	line(ret_line, "%slast %.0f s: %s%" PRId64 " samples, lost %" PRIu64 ", %s", who, seconds, busy, c->all,
	     info->time.n_lost, *info->guard ? info->guard : source);
}

/* What soprof takes comes first: a narrow terminal cuts the line's end. */
static void stacks_line(const struct sp_top_seen *seen, const struct classes *c, char *ret_line)
{
	static const struct {
		unsigned is;
		const char *words;
	} rest[] = {{SP_CLASS_CUT, "cut"}, {SP_CLASS_GUESSED, "guessed"}, {SP_CLASS_ABSENT, "without"}};
	const struct sp_slide_time *time = &seen->info->time;
	char own[64] = "", others[96] = "";
	size_t n = 0;

	if (seen->info->has_own && time->duration_ns)
		snprintf(own, sizeof(own), "soprof itself %.2f %% of a CPU; ",
			 100 * (double)time->own_ns / (double)time->duration_ns);
	for (size_t i = 0; i < SP_COUNT(rest); i++)
		if (c->n[rest[i].is])
			n += (size_t)snprintf(others + n, sizeof(others) - n, ", %.1f %% %s",
					      sp_percent(c->n[rest[i].is], c->all), rest[i].words);
	line(ret_line, "%sstacks: %.1f %% complete%s", own, sp_percent(c->n[SP_CLASS_COMPLETE], c->all), others);
}

void sp_top_head(const struct sp_top_seen *seen, char ret_lines[SP_TOP_HEAD_LINES][SP_TOP_LINE])
{
	struct classes c = {0};

	title_line(seen, ret_lines[0]);
	ret_lines[1][0] = ret_lines[2][0] = '\0';
	if (!seen->profile) {
		line(ret_lines[1], "%s", *seen->error ? seen->error : "sampling ...");
		return;
	}
	classes_count(seen->profile, &c);
	samples_line(seen, &c, ret_lines[1]);
	if (*seen->error)
		line(ret_lines[2], "%s", seen->error);
	else
		stacks_line(seen, &c, ret_lines[2]);
}

/* --- rows --- */
enum { SHORT_BUILD_ID = 6 };

enum { RATE_COLUMN = 3 };

static const struct sp_grid_column columns[] = {
    {.title = "self %", .right = true},
    {.title = "total %", .right = true, .drop = 1},
    {.title = "", .drop = 3}, /* a bar */
    {.title = "ms/s", .right = true, .drop = 2},
    {.title = "last minute", .drop = 4},
    {.title = "samples", .right = true, .drop = 7},
    {.title = "build id", .drop = 6},
    {.title = "package", .max = 20, .min = 8, .drop = 5},
    {.title = "pid", .right = true},
};

static const struct sp_grid_column tree_columns[] = {
    {.title = "total %", .right = true},
    {.title = "", .drop = 2}, /* a bar */
    {.title = "self %", .right = true, .drop = 1},
    {.title = "samples", .right = true, .drop = 3},
};

static bool is_of_threads(const struct sp_top_page *page)
{
	return page->by != SP_TOTAL_BY_LIBRARY && page->by != SP_TOTAL_BY_FUNCTION && page->by != SP_TOTAL_BY_PACKAGE;
}

/* Red from a tenth of the whole, yellow from a hundredth: as in the view `table`. */
static enum sp_grid_colour heat(double percent)
{
	return percent >= 10 ? SP_GRID_RED : percent >= 1 ? SP_GRID_YELLOW : SP_GRID_PLAIN;
}

static void share_put(struct sp_grid *g, int64_t value, int64_t of)
{
	double percent = sp_percent(value, of);

	sp_grid_put(g, heat(percent), "%.2f", percent);
}

static void bar_put(struct sp_grid *g, const struct sp_top_seen *seen, int64_t value)
{
	char bar[SP_TOP_DRAWN] = "";

	if (seen->is_drawn && seen->page->value > 0)
		sp_top_bar((double)value / (double)seen->page->value, seen->is_ascii, bar);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", bar);
}

/* From 0 to the most that it was, but at least to a hundredth of the whole: what is next to nothing stays low. */
#define LEAST_SCALE 0.01

static void spark_put(struct sp_grid *g, const struct sp_top_seen *seen, size_t row)
{
	bool is_of_all = !seen->state->level && seen->page->by == SP_TOTAL_BY_LIBRARY;
	char spark[SP_TOP_DRAWN] = "", what[SP_TOP_WORD];
	double cells[SP_TOP_CELLS];

	if (seen->is_drawn && seen->history && is_of_all && sp_top_page_what(seen->page, row, what)) {
		sp_top_history_of(seen->history, what, seen->state->sort == SP_TOP_TOTAL, cells);
		sp_top_spark(cells, SP_TOP_CELLS, LEAST_SCALE, seen->is_ascii, spark);
	}
	sp_grid_put(g, SP_GRID_PLAIN, "%s", spark);
}

static void file_put(struct sp_grid *g, const struct sp_top_page *page, const struct sp_total *t)
{
	bool is_library = page->by == SP_TOTAL_BY_LIBRARY && !t->none;
	const struct sp_file *f = sp_profile_file(page->p, is_library ? t->id : 0);
	char id[2 * SHORT_BUILD_ID + 1];

	sp_hex(f->build_id, SP_MIN(f->build_id_len, SHORT_BUILD_ID), id);
	sp_grid_put(g, SP_GRID_DIM, "%s", id);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", is_library ? sp_profile_string(page->p, f->package) : "");
}

static void total_put(struct sp_grid *g, const struct sp_top_seen *seen, size_t row)
{
	const struct sp_top_page *page = seen->page;
	const struct sp_total *t = &page->rows[row].total;
	uint64_t duration_ns = seen->info->time.duration_ns;

	share_put(g, t->self, page->value);
	if (is_of_threads(page)) /* it would say the same */
		sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	else
		share_put(g, t->total, page->value);
	bar_put(g, seen, seen->state->sort == SP_TOP_TOTAL ? t->total : t->self);
	if (duration_ns && (page->is_time || seen->info->event))
		sp_grid_put(g, SP_GRID_PLAIN, "%.1f",
			    (double)t->self * (page->is_time ? 1e3 : SP_NS_PER_S) / (double)duration_ns);
	else
		sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	spark_put(g, seen, row);
	sp_grid_put(g, SP_GRID_PLAIN, "%" PRId64, t->n_samples);
	file_put(g, page, t);
	if (page->by == SP_TOTAL_BY_PROCESS && !t->none)
		sp_grid_put(g, SP_GRID_PLAIN, "%" PRIu32, sp_profile_process(page->p, t->id)->pid);
	else
		sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
}

enum { INDENT = 2 };

static void node_put(struct sp_grid *g, const struct sp_top_seen *seen, uint32_t node)
{
	const struct sp_tree_node *n = &seen->page->tree.nodes[node];

	share_put(g, n->total, seen->page->value);
	bar_put(g, seen, n->total);
	share_put(g, n->leaf, seen->page->value);
	sp_grid_put(g, SP_GRID_PLAIN, "%" PRId64, n->n_samples);
}

/* Where a way branches off; what has no mark only goes on. */
static const char *mark(const struct sp_top_seen *seen, const struct sp_top_row *row)
{
	if (!row->depth)
		return "";
	if (!row->is_branch)
		return "  ";
	return seen->state->levels[seen->state->level].calls ? "> " : "< ";
}

static int row_put(struct sp_grid *g, const struct sp_top_seen *seen, size_t i)
{
	const struct sp_top_page *page = seen->page;
	const struct sp_top_row *row = &page->rows[i];
	SP_FREE char *name = sp_top_page_name(page, i);

	if (!name)
		return -ENOMEM;
	if (page->is_tree)
		node_put(g, seen, row->node);
	else
		total_put(g, seen, i);
	sp_grid_put(g, SP_GRID_PLAIN, "%*s%s%s", (int)row->depth * INDENT, "", mark(seen, row), name);
	return 0;
}

static const char *heading(const struct sp_top_seen *seen)
{
	static const char *const words[] = {
	    [SP_TOTAL_BY_LIBRARY] = "library", [SP_TOTAL_BY_FUNCTION] = "function [library]",
	    [SP_TOTAL_BY_PROCESS] = "process", [SP_TOTAL_BY_PACKAGE] = "package",
	    [SP_TOTAL_BY_COMM] = "thread",     [SP_TOTAL_BY_CGROUP] = "cgroup",
	    [SP_TOTAL_BY_USER] = "uid",        [SP_TOTAL_BY_CONTAINER] = "container",
	};
	const struct sp_top_state *s = seen->state;

	if (seen->page->is_tree)
		return s->levels[s->level].calls ? "calls" : "called by";
	return words[seen->page->by];
}

int sp_top_rows_write(const struct sp_top_seen *seen, size_t first, size_t n, unsigned width, FILE *out)
{
	struct sp_grid_column all[SP_COUNT(columns) + 1];
	size_t n_columns = seen->page->is_tree ? SP_COUNT(tree_columns) : SP_COUNT(columns), i;
	struct sp_grid *g;
	int r = 0;

	memcpy(all, seen->page->is_tree ? tree_columns : columns, n_columns * sizeof(*all));
	if (!seen->page->is_tree && !seen->page->is_time)
		all[RATE_COLUMN].title = "per second";
	all[n_columns] = (struct sp_grid_column){.title = heading(seen), .min = 22};
	g = sp_grid_new(all, n_columns + 1);
	if (!g)
		return -ENOMEM;
	for (i = first; r >= 0 && i < seen->page->n_rows && i - first < n; i++)
		r = row_put(g, seen, i);
	if (r >= 0)
		r = sp_grid_print(g, width, false, "", out);
	sp_grid_free(g);
	return r;
}
