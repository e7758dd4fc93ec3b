/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/tables/costs.h"

#include "base/encode.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "view/priv.h"
#include "view/tables/join.h"
#include "view/tables/table.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2 };

struct cost {       /* one value of the profile */
	char *name; /* encoded */
	const struct sp_totals *totals;
	struct sp_unit unit;
	int columns;
};
struct costs {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	struct cost cost[SP_MAX_VALUES];
	size_t n_costs;
	struct sp_joined joined;
	FILE *out;
};

/* Behind the values before it: its two columns, a gap each. */
static int pair_columns(const struct cost *cost)
{
	return 2 * cost->columns + GAP;
}

static size_t unit_columns(const struct cost *cost)
{
	return *cost->unit.name ? strlen(cost->unit.name) + 1 : 0;
}

static void columns_fit(struct cost *cost)
{
	char number[64];

	snprintf(number, sizeof(number), "%.*f", cost->unit.decimals,
		 (double)cost->totals->value / (cost->unit.scale > 1 ? cost->unit.scale : 1));
	cost->columns = SP_MAX((int)strlen("total"), (int)strlen(number));
}

/* Columns become wide enough for the heading above both, as far as the names of groups keep their room. */
static void headings_fit(struct costs *c)
{
	int room = INT_MAX;

	if (c->o->width) {
		room = (int)c->o->width - (int)sp_view_room(1, 0);
		for (size_t k = 0; k < c->n_costs; k++)
			room -= pair_columns(&c->cost[k]) + GAP;
	}
	for (size_t k = 0; k < c->n_costs; k++) {
		struct cost *cost = &c->cost[k];
		int wanted = (int)(sp_view_columns(cost->name) + unit_columns(cost));
		int more = SP_MIN((wanted - pair_columns(cost) + 1) / 2, room / 2);

		if (more > 0) {
			cost->columns += more;
			room -= 2 * more;
		}
	}
}

static char *encoded(const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	sp_encode(out, SP_ENCODE_TERMINAL, name);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static int cost_add(struct costs *c)
{
	const struct sp_value_type *type = sp_profile_value_type(c->p, c->joined.value[c->n_costs]);
	struct cost *cost = &c->cost[c->n_costs];

	cost->totals = &c->joined.totals[c->n_costs];
	cost->name = encoded(sp_profile_string(c->p, type->name));
	if (!cost->name)
		return -ENOMEM;
	c->n_costs++;
	cost->unit = sp_unit_for(sp_profile_string(c->p, type->unit), (uint64_t)cost->totals->value / 10);
	columns_fit(cost);
	return 0;
}

/* "---- cpu ms", as wide as its columns; of a longer name the end is cut, never the unit. */
static void put_heading(const struct cost *cost, FILE *out)
{
	size_t room = (size_t)pair_columns(cost) - unit_columns(cost), n = sp_view_columns(cost->name);

	for (size_t i = n; i < room; i++)
		fputc(i + 1 < room ? '-' : ' ', out);
	sp_view_put_cut(cost->name, room, false, out);
	fprintf(out, "%s%s", *cost->unit.name ? " " : "", cost->unit.name);
}

static void put_headings(const struct costs *c)
{
	fputs(c->o->colour ? "\033[1m" : "", c->out);
	for (size_t k = 0; k < c->n_costs; k++) {
		fprintf(c->out, "%*s", k ? GAP : 0, "");
		put_heading(&c->cost[k], c->out);
	}
	fputc('\n', c->out);
	for (size_t k = 0; k < c->n_costs; k++)
		fprintf(c->out, "%*s%*s%*s%*s", c->cost[k].columns, "self", GAP, "", c->cost[k].columns, "total", GAP,
			"");
	fprintf(c->out, "%s%s\n", sp_table_heading(c->o->by), c->o->colour ? "\033[0m" : "");
}

static void put_number(const struct cost *cost, int64_t value, FILE *out)
{
	sp_unit_put(cost->unit, value, cost->columns, out);
	fprintf(out, "%*s", GAP, "");
}

static int put_group_name(const struct costs *c, const struct sp_joined_group *g)
{
	SP_FREE char *text = NULL;
	size_t size, before = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	sp_table_put_name(c->p, c->o->by, g->any, out);
	if (fclose(out))
		return -ENOMEM;
	for (size_t k = 0; k < c->n_costs; k++)
		before += (size_t)pair_columns(&c->cost[k]) + GAP;
	sp_view_put_cut(text, sp_view_room(c->o->width, before), false, c->out);
	fputc('\n', c->out);
	return 0;
}

static int put_group(const struct costs *c, const struct sp_joined_group *g)
{
	for (size_t k = 0; k < c->n_costs; k++) {
		put_number(&c->cost[k], g->row[k] ? g->row[k]->self : 0, c->out);
		put_number(&c->cost[k], g->row[k] ? g->row[k]->total : 0, c->out);
	}
	return put_group_name(c, g);
}

/* The line of the sums, of which the groups are parts. */
static void put_sums(const struct costs *c)
{
	for (size_t k = 0; k < c->n_costs; k++) {
		put_number(&c->cost[k], c->cost[k].totals->value, c->out);
		put_number(&c->cost[k], c->cost[k].totals->value, c->out);
	}
	fputs("all\n", c->out);
}

static int put_all(const struct costs *c)
{
	size_t n = c->o->limit ? SP_MIN(c->o->limit, c->joined.n_groups) : c->joined.n_groups;
	int r = 0;

	put_headings(c);
	put_sums(c);
	for (size_t i = 0; i < n && !r; i++)
		r = put_group(c, &c->joined.groups[i]);
	if (n < c->joined.n_groups)
		fprintf(c->out, "%zu more row%s\n", c->joined.n_groups - n, c->joined.n_groups - n == 1 ? "" : "s");
	return r;
}

int sp_costs_put(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct costs c = {.p = p, .o = o, .out = out};
	int r = sp_join(p, o, &c.joined);

	if (r < 0)
		return r;
	while (r >= 0 && c.n_costs < c.joined.n_values)
		r = cost_add(&c);
	headings_fit(&c);
	if (r >= 0 && c.n_costs)
		r = put_all(&c);
	for (size_t i = 0; i < c.n_costs; i++)
		free(c.cost[i].name);
	sp_join_done(&c.joined);
	return SP_MIN(r, 0);
}
