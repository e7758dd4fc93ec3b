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
	size_t n_costs, n_shown;
	bool only_total; /* there is no room for self, too */
	struct sp_joined joined;
	FILE *out;
};

static int n_numbers(const struct costs *c)
{
	return c->only_total ? 1 : 2;
}

/* Its numbers, with a gap between. */
static int cost_columns(const struct costs *c, const struct cost *cost)
{
	return n_numbers(c) * (cost->columns + GAP) - GAP;
}

static int all_columns(const struct costs *c)
{
	int n = 0;

	for (size_t k = 0; k < c->n_shown; k++)
		n += cost_columns(c, &c->cost[k]) + GAP;
	return n;
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

/* Beside the least that a name has. */
static int room_left(const struct costs *c)
{
	return (int)c->o->width - (int)sp_view_room(1, 0) - all_columns(c);
}

/* Columns become wide enough for the heading above both, as far as the names of groups keep their room. */
static void headings_fit(struct costs *c)
{
	int n = n_numbers(c), room = c->o->width ? room_left(c) : INT_MAX;

	for (size_t k = 0; k < c->n_shown; k++) {
		struct cost *cost = &c->cost[k];
		int wanted = (int)(sp_view_columns(cost->name) + unit_columns(cost));
		int more = SP_MIN((wanted - cost_columns(c, cost) + n - 1) / n, room / n);

		if (more > 0) {
			cost->columns += more;
			room -= n * more;
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
static void put_heading(const struct costs *c, const struct cost *cost)
{
	size_t room = (size_t)cost_columns(c, cost) - unit_columns(cost), n = sp_view_columns(cost->name);

	for (size_t i = n; i < room; i++)
		fputc(i + 1 < room && !c->only_total ? '-' : ' ', c->out);
	sp_view_put_cut(cost->name, room, false, c->out);
	fprintf(c->out, "%s%s", *cost->unit.name ? " " : "", cost->unit.name);
}

static void put_headings(const struct costs *c)
{
	fputs(c->o->colour ? "\033[1m" : "", c->out);
	for (size_t k = 0; k < c->n_shown; k++) {
		fprintf(c->out, "%*s", k ? GAP : 0, "");
		put_heading(c, &c->cost[k]);
	}
	fputc('\n', c->out);
	for (size_t k = 0; k < c->n_shown; k++) {
		if (!c->only_total)
			fprintf(c->out, "%*s%*s", c->cost[k].columns, "self", GAP, "");
		fprintf(c->out, "%*s%*s", c->cost[k].columns, "total", GAP, "");
	}
	fprintf(c->out, "%s%s\n", sp_table_heading(c->o->by), c->o->colour ? "\033[0m" : "");
}

static void put_number(const struct costs *c, const struct cost *cost, int64_t value)
{
	sp_unit_put(cost->unit, value, cost->columns, c->out);
	fprintf(c->out, "%*s", GAP, "");
}

static void put_numbers(const struct costs *c, size_t k, int64_t self, int64_t total)
{
	if (!c->only_total)
		put_number(c, &c->cost[k], self);
	put_number(c, &c->cost[k], total);
}

static int put_group_name(const struct costs *c, const struct sp_joined_group *g)
{
	SP_FREE char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	sp_table_put_name(c->p, c->o->by, g->any, out);
	if (fclose(out))
		return -ENOMEM;
	sp_view_put_cut(text, sp_view_room(c->o->width, (size_t)all_columns(c)), false, c->out);
	fputc('\n', c->out);
	return 0;
}

static int put_group(const struct costs *c, const struct sp_joined_group *g)
{
	for (size_t k = 0; k < c->n_shown; k++)
		put_numbers(c, k, g->row[k] ? g->row[k]->self : 0, g->row[k] ? g->row[k]->total : 0);
	return put_group_name(c, g);
}

/* The line of the sums, of which the groups are parts. */
static void put_sums(const struct costs *c)
{
	for (size_t k = 0; k < c->n_shown; k++)
		put_numbers(c, k, c->cost[k].totals->value, c->cost[k].totals->value);
	fputs("all\n", c->out);
}

/* What a narrow terminal has no room for. */
static void put_left_out(const struct costs *c)
{
	const char *gap = "without room: ";

	for (size_t k = c->n_shown; k < c->n_costs; k++) {
		fprintf(c->out, "%s%s", gap, c->cost[k].name);
		gap = ", ";
	}
	if (c->n_shown < c->n_costs)
		fputc('\n', c->out);
	if (c->only_total)
		fputs("self needs a wider terminal\n", c->out);
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
	put_left_out(c);
	return r;
}

/*
 * A terminal too narrow for both numbers of each cost shows the totals, in their order: a wait's self cost is the
 * kernel's. The last costs are left out where even these have no room.
 */
static int costs_fit(struct costs *c, struct sp_view_options *o)
{
	c->n_shown = c->n_costs;
	if (!o->width || room_left(c) >= 0)
		return 0;
	c->only_total = true;
	while (c->n_shown > 1 && room_left(c) < 0)
		c->n_shown--;
	if (o->sort != SP_SORT_SELF)
		return 0;
	o->sort = SP_SORT_TOTAL;
	return sp_join_sort(c->p, o, &c->joined);
}

int sp_costs_put(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_view_options options = *o;
	struct costs c = {.p = p, .o = &options, .out = out};
	int r = sp_join(p, o, &c.joined);

	if (r < 0)
		return r;
	while (r >= 0 && c.n_costs < c.joined.n_values)
		r = cost_add(&c);
	if (r >= 0)
		r = costs_fit(&c, &options);
	headings_fit(&c);
	if (r >= 0 && c.n_costs)
		r = put_all(&c);
	for (size_t i = 0; i < c.n_costs; i++)
		free(c.cost[i].name);
	sp_join_done(&c.joined);
	return SP_MIN(r, 0);
}
