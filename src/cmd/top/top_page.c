/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/top_page.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/encode.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "profile/filter.h"
#include "profile/identity.h"
#include "profile/values.h"

/* --- what a row is, in words --- */
enum { HEX = 2 * SP_BUILD_ID_MAX + 1, ANON_WORDS = 24 };

/* Memory without a file is of one process, whose number tells it from that of others, as in all views. */
static const char *library_words(const struct sp_profile *p, uint32_t file, char ret_words[ANON_WORDS])
{
	const struct sp_file *f = sp_profile_file(p, file);

	if (f->kind != SP_FILE_ANON || !f->process)
		return sp_library_name(p, file);
	snprintf(ret_words, ANON_WORDS, "[anon:%" PRIu32 "]", sp_profile_process(p, f->process)->pid);
	return ret_words;
}

static const char *file_words(const struct sp_profile *p, uint32_t file, char *ret_words, size_t size)
{
	const struct sp_file *f = sp_profile_file(p, file);
	char id[HEX], anon[ANON_WORDS];

	sp_hex(f->build_id, f->build_id_len, id);
	snprintf(ret_words, size, "%s\t%s", library_words(p, file, anon), *id ? id : sp_profile_string(p, f->path));
	return ret_words;
}

static bool words_of(const struct sp_profile *p, enum sp_total_by by, uint32_t id, uint32_t of, char *ret_words)
{
	char file[SP_TOP_WORD];
	int n;

	if (by == SP_TOTAL_BY_LIBRARY)
		n = snprintf(ret_words, SP_TOP_WORD, "%s", file_words(p, id, file, sizeof(file)));
	else if (by == SP_TOTAL_BY_FUNCTION)
		n = snprintf(ret_words, SP_TOP_WORD, "%s\t%s", sp_profile_string(p, sp_profile_func(p, id)->name),
			     file_words(p, of, file, sizeof(file)));
	else if (by == SP_TOTAL_BY_PROCESS)
		n = snprintf(ret_words, SP_TOP_WORD, "%" PRIu32 " %" PRIu64 " %" PRIu32, sp_profile_process(p, id)->pid,
			     sp_profile_process(p, id)->start_ns, sp_profile_process(p, id)->exec_id);
	else if (by == SP_TOTAL_BY_USER)
		n = snprintf(ret_words, SP_TOP_WORD, "%" PRIu32, id);
	else
		n = snprintf(ret_words, SP_TOP_WORD, "%s", sp_profile_string(p, id));
	return n < SP_TOP_WORD;
}

bool sp_top_page_what(const struct sp_top_page *page, size_t row, char ret_what[SP_TOP_WORD])
{
	const struct sp_total *t = &page->rows[row].total;

	return !page->is_tree && !t->none && words_of(page->p, page->by, t->id, t->file, ret_what);
}

bool sp_top_page_find(const struct sp_top_page *page, const char *what, size_t *ret_row)
{
	char words[SP_TOP_WORD];
	size_t i;

	for (i = 0; i < page->n_rows; i++)
		if (sp_top_page_what(page, i, words) && !strcmp(words, what)) {
			*ret_row = i;
			return true;
		}
	return false;
}

/* --- names --- */
static const char *const none_words[] = {
    [SP_TOTAL_BY_LIBRARY] = "[no library]", [SP_TOTAL_BY_FUNCTION] = "[no function]",
    [SP_TOTAL_BY_PROCESS] = "[no process]", [SP_TOTAL_BY_PACKAGE] = "[no package]",
    [SP_TOTAL_BY_COMM] = "[no name]",       [SP_TOTAL_BY_CGROUP] = "[no cgroup]",
    [SP_TOTAL_BY_USER] = "[no user]",       [SP_TOTAL_BY_CONTAINER] = "[no container]",
};

/* " [libz.so.1]", but " [kernel]", not " [[kernel]]"; nor behind libz.so.1+0x4970, which says it. */
static char *in_library(const char *name, const char *library)
{
	char *text = NULL;
	bool bare = *library == '[';
	size_t n = strlen(library);

	if (!*library || (!strncmp(name, library, n) && (!name[n] || !strncmp(name + n, "+0x", 3))))
		return strdup(name);
	if (asprintf(&text, bare ? "%s %s" : "%s [%s]", name, library) < 0) /* NOLINT: one of these two */
		return NULL;
	return text;
}

static char *total_name(const struct sp_top_page *page, const struct sp_total *t)
{
	const struct sp_profile *p = page->p;
	const char *name = sp_total_name(p, page->by, t), *of = sp_total_library(p, page->by, t);
	char number[16], anon[ANON_WORDS];

	if (t->none)
		return strdup(none_words[page->by]);
	if (page->by == SP_TOTAL_BY_LIBRARY)
		return strdup(library_words(p, t->id, anon));
	if (page->by == SP_TOTAL_BY_FUNCTION && t->file)
		of = library_words(p, t->file, anon);
	if (page->by == SP_TOTAL_BY_PROCESS)
		of = sp_profile_string(p, sp_profile_file(p, sp_profile_process(p, t->id)->exe)->name);
	if (page->by == SP_TOTAL_BY_USER) {
		snprintf(number, sizeof(number), "%" PRIu32, t->id);
		name = number;
	}
	return in_library(*name ? name : "[no name]", of);
}

static char *node_name(const struct sp_top_page *page, uint32_t node)
{
	const struct sp_tree_node *n = &page->tree.nodes[node];
	const struct sp_tree_label *l = &page->tree.labels[n->label];
	const char *name = sp_tree_name(page->p, &page->tree, node);
	char more[32], anon[ANON_WORDS];

	switch (l->kind) {
	case SP_TREE_CUT:
		return strdup("[cut]");
	case SP_TREE_NO_STACK:
		return strdup("[no user stack]");
	case SP_TREE_OTHER:
		snprintf(more, sizeof(more), "[%" PRIu32 " more]", n->n_cut);
		return strdup(more);
	default:
		return in_library(*name ? name : "[no name]",
				  l->kind != SP_TREE_COMM && l->func ? library_words(page->p, l->library, anon) : "");
	}
}

char *sp_top_page_name(const struct sp_top_page *page, size_t row)
{
	const struct sp_top_row *r = &page->rows[row];

	return page->is_tree ? node_name(page, r->node) : total_name(page, &r->total);
}

bool sp_top_filter_matches(const char *filter, const char *name)
{
	return strcasestr(name, filter) || (strpbrk(filter, "*?[") && !fnmatch(filter, name, FNM_CASEFOLD));
}

/* --- what was opened --- */
static uint32_t group_of(const struct sp_profile *p, enum sp_total_by by, const struct sp_key *key)
{
	const struct sp_process *process = sp_profile_process(p, key->process);

	switch (by) {
	case SP_TOTAL_BY_PROCESS:
		return key->process;
	case SP_TOTAL_BY_COMM:
		return key->comm;
	case SP_TOTAL_BY_CGROUP:
		return process->cgroup_path;
	case SP_TOTAL_BY_CONTAINER:
		return process->container;
	default:
		return process->uid;
	}
}

static bool is_opened(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	const struct sp_top_level *level = arg;
	const struct sp_key *key = sp_profile_key(p, row->key);
	char words[SP_TOP_WORD];

	if (!key->process && level->of != SP_TOTAL_BY_COMM) /* no user, not a process of root */
		return false;
	return words_of(p, level->of, group_of(p, level->of, key), 0, words) && !strcmp(words, level->what);
}

/* Tables that were opened hold the samples of their group only, and of those below them. */
static int narrow(const struct sp_top_state *s, struct sp_top_page *page)
{
	struct sp_filter_result result;
	int r = 0;
	unsigned i;

	for (i = 1; r >= 0 && i <= s->level; i++) {
		const struct sp_top_level *level = &s->levels[i];
		struct sp_profile *some;

		if (level->is_tree)
			continue;
		r = sp_profile_filter(page->p, is_opened, (void *)level, &some, &result);
		if (r < 0)
			break;
		sp_profile_free(page->narrowed);
		page->p = page->narrowed = some;
	}
	return r;
}

static bool is_of(const struct sp_profile *p, const struct sp_identity *same, uint32_t frame,
		  const struct sp_top_level *level)
{
	uint32_t library = same->library_of[frame], func = same->function_of[frame];
	uint32_t file = sp_profile_func(p, func)->file;
	char words[SP_TOP_WORD];

	if (level->by == SP_TOTAL_BY_FUNCTION)
		return words_of(p, level->by, func, file ? same->files[file] : library, words) &&
		       !strcmp(words, level->what);
	if (level->by == SP_TOTAL_BY_PACKAGE)
		return !strcmp(sp_profile_string(p, sp_profile_file(p, library)->package), level->what);
	return library && words_of(p, level->by, library, 0, words) && !strcmp(words, level->what);
}

static int focus_make(const struct sp_profile *p, const struct sp_top_level *level, bool **ret_focus)
{
	uint32_t n = sp_profile_n_frames(p), i;
	struct sp_identity same;
	bool *focus = calloc(n, sizeof(*focus));
	int r = focus ? sp_identity_new(p, &same) : -ENOMEM;

	if (r < 0) {
		free(focus);
		return r;
	}
	for (i = 1; i < n; i++)
		focus[i] = is_of(p, &same, i, level);
	sp_identity_done(&same);
	*ret_focus = focus;
	return 0;
}

/* --- rows --- */
static int row_add(struct sp_top_page *page, const struct sp_top_state *s, const struct sp_top_row *row)
{
	SP_FREE char *name = NULL;

	page->rows[page->n_rows] = *row;
	if (!*s->filter) {
		page->n_rows++;
		return 0;
	}
	name = sp_top_page_name(page, page->n_rows);
	if (!name)
		return -ENOMEM;
	page->n_rows += sp_top_filter_matches(s->filter, name);
	return 0;
}

static int by_total(const void *left, const void *right)
{
	const struct sp_top_row *a = left, *b = right;

	return SP_FALLING(a->total.total, b->total.total)
	       ?: SP_FALLING(a->total.self, b->total.self)
	       ?: SP_RISING(a->total.id, b->total.id);
}

static int by_name(const void *left, const void *right, void *page)
{
	const struct sp_top_page *x = page;
	const struct sp_total *a = &((const struct sp_top_row *)left)->total,
			      *b = &((const struct sp_top_row *)right)->total;
	int order = strcasecmp(sp_total_name(x->p, x->by, a), sp_total_name(x->p, x->by, b));

	if (!order) /* users, and processes of one name */
		order = a->id < b->id ? -1 : a->id > b->id;
	return order;
}

static int table_make(const struct sp_top_state *s, struct sp_top_page *page)
{
	int r = sp_totals_by(page->p, page->by, page->n_value, &page->totals);
	size_t i;

	if (r < 0)
		return r;
	page->rows = calloc(page->totals.n_rows + 1, sizeof(*page->rows));
	if (!page->rows)
		return -ENOMEM;
	for (i = 0; r >= 0 && i < page->totals.n_rows; i++)
		r = row_add(page, s, &(struct sp_top_row){.total = page->totals.rows[i]});
	if (s->sort == SP_TOP_TOTAL)
		qsort(page->rows, page->n_rows, sizeof(*page->rows), by_total);
	else if (s->sort == SP_TOP_NAME)
		qsort_r(page->rows, page->n_rows, sizeof(*page->rows), by_name, page);
	return r;
}

/*
 * Nodes in the order in which they are shown. One with a single child that costs as much stands above it without going
 * deeper, as in the view `tree`, but for the first ones, below which all is indented.
 */
static int tree_rows(const struct sp_top_state *s, struct sp_top_page *page)
{
	const struct sp_tree *t = &page->tree;
	SP_FREE uint32_t *depths = calloc(t->n_nodes + 1, sizeof(*depths));
	uint32_t node = t->n_nodes ? t->nodes[0].first : 0;
	int r = depths ? 0 : -ENOMEM;

	while (r >= 0 && node) {
		const struct sp_tree_node *n = &t->nodes[node];

		r = row_add(page, s,
			    &(struct sp_top_row){.node = node,
						 .depth = depths[node],
						 .is_branch = n->parent && depths[node] > depths[n->parent]});
		if (n->first) {
			bool chain = n->parent && !t->nodes[n->first].next && t->nodes[n->first].total == n->total;

			for (uint32_t c = n->first; c; c = t->nodes[c].next)
				depths[c] = depths[node] + !chain;
			node = n->first;
			continue;
		}
		while (node && !t->nodes[node].next)
			node = t->nodes[node].parent;
		node = node ? t->nodes[node].next : 0;
	}
	return r;
}

enum { MAX_DEPTH = 100 };
#define MIN_SHARE 0.001

static int tree_make(const struct sp_top_state *s, const struct sp_top_level *level, struct sp_top_page *page)
{
	SP_FREE bool *focus = NULL;
	struct sp_tree_options o = {
	    .value = page->n_value,
	    .direction = level->calls ? SP_TREE_CALLEES : SP_TREE_CALLERS,
	    .granularity = level->by == SP_TOTAL_BY_FUNCTION ? SP_TREE_FUNCTIONS : SP_TREE_ENTRIES,
	    .fold_recursion = true,
	    .marks = true,
	    .by_name = s->sort == SP_TOP_NAME,
	    .focus_run = level->by != SP_TOTAL_BY_FUNCTION,
	    .min_share = MIN_SHARE,
	    .max_depth = MAX_DEPTH,
	};
	int r = focus_make(page->p, level, &focus);

	o.focus = focus;
	if (r >= 0)
		r = sp_tree_new(page->p, &o, &page->tree);
	if (r < 0)
		return r;
	page->rows = calloc(page->tree.n_nodes + 1, sizeof(*page->rows));
	return page->rows ? tree_rows(s, page) : -ENOMEM;
}

/* Time, where the profile has it: samples need not all weigh the same. */
static void value_choose(struct sp_top_page *page)
{
	int time = sp_profile_find_value(page->p, NULL, "nanoseconds");

	page->is_time = time >= 0;
	page->n_value = time < 0 ? sp_profile_default_value(page->p) : (uint32_t)time;
}

static void value_sum(struct sp_top_page *page)
{
	uint32_t i;

	for (i = 0; i < sp_profile_n_rows(page->p); i++)
		sp_saturating_add(&page->value, sp_profile_row(page->p, i)->values[page->n_value]);
}

int sp_top_page_make(const struct sp_top_state *s, const struct sp_profile *p, struct sp_top_page *ret_page)
{
	const struct sp_top_level *level = &s->levels[s->level];
	struct sp_top_page page = {.p = p, .is_tree = level->is_tree, .by = level->by};
	int r = 0;

	if (sp_profile_n_value_types(p)) { /* else nothing was sampled yet */
		value_choose(&page);
		value_sum(&page);
		r = narrow(s, &page);
		if (r >= 0)
			r = level->is_tree ? tree_make(s, level, &page) : table_make(s, &page);
	}
	if (r < 0)
		sp_top_page_done(&page);
	else
		*ret_page = page;
	return r;
}

void sp_top_page_done(struct sp_top_page *page)
{
	sp_totals_done(&page->totals);
	sp_tree_done(&page->tree);
	free(page->rows);
	sp_profile_free(page->narrowed);
	*page = (struct sp_top_page){0};
}
