/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups.c: see groups.h. */
#include "view/tables/groups.h"

#include "base/encode.h"
#include "base/mem.h"
#include "base/sum.h"
#include "view/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* The totals have a row for each group, if of nothing. */
static int join_all(const struct sp_view_options *o, struct sp_groups *g)
{
	struct sp_total *rows;
	size_t value = 0;
	int r = sp_join(g->p, o, &g->joined);

	if (r < 0)
		return r;
	while (value < g->joined.n_values && g->joined.value[value] != o->value)
		value++;
	rows = calloc(g->joined.n_groups + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < g->joined.n_groups; i++) {
		const struct sp_joined_group *from = &g->joined.groups[i];
		const struct sp_total *row = value < g->joined.n_values ? from->row[value] : NULL;

		rows[i] =
		    row ? *row
			: (struct sp_total){.id = from->any->id, .file = from->any->file, .none = from->any->none};
	}
	free(g->totals.rows);
	g->totals.rows = rows;
	g->totals.n_rows = g->joined.n_groups;
	return 0;
}

int sp_groups_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_groups *ret_groups)
{
	struct sp_groups g = {.p = p, .by = o->by};
	int r = sp_view_totals(p, o, &g.totals);

	if (r >= 0 && o->all_values)
		r = join_all(o, &g);
	if (r < 0) {
		sp_groups_done(&g);
		return r;
	}
	g.n_shown = o->limit ? SP_MIN(o->limit, g.totals.n_rows) : g.totals.n_rows;
	g.n_left_out = g.totals.n_rows - g.n_shown;
	for (size_t i = g.n_shown; i < g.totals.n_rows; i++)
		sp_saturating_add(&g.self_left_out, g.totals.rows[i].self);
	*ret_groups = g;
	return 0;
}

struct sp_amount sp_groups_amount(const struct sp_groups *g, size_t i, size_t value)
{
	const struct sp_total *row = g->joined.groups[i].row[value];

	return row ? (struct sp_amount){row->self, row->total} : (struct sp_amount){0};
}

struct sp_amount sp_groups_left_out(const struct sp_groups *g, size_t value)
{
	struct sp_amount sum = {0};

	for (size_t i = g->n_shown; i < g->joined.n_groups; i++)
		sp_saturating_add(&sum.self, sp_groups_amount(g, i, value).self);
	return sum;
}

void sp_groups_done(struct sp_groups *g)
{
	sp_totals_done(&g->totals);
	sp_join_done(&g->joined);
	*g = (struct sp_groups){0};
}

/* --- one group --- */
static const char *word(const struct sp_profile *p, uint32_t string)
{
	const char *s = sp_profile_string(p, string);

	return *s ? s : NULL;
}

static const char *library_word(const struct sp_profile *p, uint32_t file, char *text, size_t size)
{
	const struct sp_file *f = sp_profile_file(p, file);

	if (f->kind != SP_FILE_ANON || !f->process)
		return word(p, f->name);
	snprintf(text, size, "[anon:%" PRIu32 "]", sp_profile_process(p, f->process)->pid);
	return text;
}

static void fill_library(const struct sp_profile *p, uint32_t file, struct sp_group *g)
{
	const struct sp_file *f = sp_profile_file(p, file);

	if (!file)
		return;
	g->library = library_word(p, file, g->library_text, sizeof(g->library_text));
	g->path = word(p, f->path);
	g->package = word(p, f->package);
	g->package_version = word(p, f->package_version);
	sp_hex(f->build_id, SP_MIN(f->build_id_len, SP_BUILD_ID_MAX), g->build_id_text);
	g->build_id = *g->build_id_text ? g->build_id_text : NULL;
}

static uint32_t groups_file_of(const struct sp_groups *g, const struct sp_total *t)
{
	if (g->by == SP_TOTAL_BY_FUNCTION || g->by == SP_TOTAL_BY_CALLER)
		return t->file;
	if (t->none)
		return 0;
	if (g->by == SP_TOTAL_BY_PROCESS)
		return sp_profile_process(g->p, t->id)->exe;
	return g->by == SP_TOTAL_BY_LIBRARY ? t->id : 0;
}

static const char *groups_name_of(const struct sp_groups *g, const struct sp_total *t, struct sp_group *ret)
{
	const char *name = sp_total_name(g->p, g->by, t);

	if (t->none)
		return NULL;
	if (g->by == SP_TOTAL_BY_LIBRARY || g->by == SP_TOTAL_BY_CALLER)
		return library_word(g->p, t->id, ret->text, sizeof(ret->text));
	if (g->by != SP_TOTAL_BY_USER)
		return *name ? name : NULL;
	snprintf(ret->text, sizeof(ret->text), "%" PRIu32, t->id);
	return ret->text;
}

void sp_groups_get(const struct sp_groups *g, size_t i, struct sp_group *ret_group)
{
	const struct sp_total *t = &g->totals.rows[i];

	*ret_group = (struct sp_group){.total = t};
	ret_group->name = groups_name_of(g, t, ret_group);
	fill_library(g->p, groups_file_of(g, t), ret_group);
	if (g->by == SP_TOTAL_BY_PACKAGE)
		ret_group->package = ret_group->name;
	ret_group->has_functions = g->by == SP_TOTAL_BY_LIBRARY || g->by == SP_TOTAL_BY_PACKAGE;
	ret_group->has_pid = g->by == SP_TOTAL_BY_PROCESS && !t->none;
	if (ret_group->has_pid)
		ret_group->pid = sp_profile_process(g->p, t->id)->pid;
}
