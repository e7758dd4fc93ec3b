/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * csv.c: the table for scripts and spreadsheets: one line a group, numbers in full.
 *
 * The columns are the same for every grouping; those that do not apply are empty. Columns may be added at the end,
 * never moved: soprof(1) says what each of them is. Groups beyond the limit are one last line, whose first column is
 * "rest" instead of the grouping, so that the column `self` still adds up. Several events have two columns each at the
 * end, in the units that the profile has.
 */
#include "base/encode.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "view/calls/counts.h"
#include "view/tables/groups.h"
#include "view/tables/matrix.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>

static const char header[] =
    "by,name,library,path,build_id,package,pid,self,self_percent,total,total_percent,samples,functions,value,unit,"
    "package_version";

struct csv {
	const struct sp_groups *g;
	const char *value, *unit;
	FILE *out;
};

static void csv_put_word(const struct csv *c, const char *word)
{
	if (word)
		sp_encode(c->out, SP_ENCODE_CSV, word);
	fputc(',', c->out);
}

static void csv_put_number(const struct csv *c, bool there, int64_t number)
{
	if (there)
		fprintf(c->out, "%" PRId64, number);
	fputc(',', c->out);
}

static void csv_put_amount(const struct csv *c, int64_t value)
{
	fprintf(c->out, "%" PRId64 ",%.6f,", value, sp_percent(value, c->g->totals.value));
}

static void put_end(const struct csv *c, const char *package_version)
{
	csv_put_word(c, c->value);
	csv_put_word(c, c->unit);
	if (package_version)
		sp_encode(c->out, SP_ENCODE_CSV, package_version);
}

static void put_more(const struct csv *c, struct sp_amount amount, bool has_total)
{
	fprintf(c->out, ",%" PRId64 ",", amount.self);
	if (has_total)
		fprintf(c->out, "%" PRId64, amount.total);
}

/* A name and what it is may need quotes as one word. */
static int csv_put_header(const struct csv *c)
{
	fputs(header, c->out);
	for (size_t k = 0; k < c->g->joined.n_values; k++) {
		const char *name =
		    sp_profile_string(c->g->p, sp_profile_value_type(c->g->p, c->g->joined.value[k])->name);

		for (int i = 0; i < 2; i++) {
			SP_FREE char *word = NULL;

			if (asprintf(&word, "%s_%s", name, i ? "total" : "self") < 0)
				return -ENOMEM;
			fputc(',', c->out);
			sp_encode(c->out, SP_ENCODE_CSV, word);
		}
	}
	fputc('\n', c->out);
	return 0;
}

static void put_group(const struct csv *c, size_t i)
{
	struct sp_group group;

	sp_groups_get(c->g, i, &group);
	csv_put_word(c, sp_view_groupings[c->g->by]);
	csv_put_word(c, group.name);
	csv_put_word(c, group.library);
	csv_put_word(c, group.path);
	csv_put_word(c, group.build_id);
	csv_put_word(c, group.package);
	csv_put_number(c, group.has_pid, group.pid);
	csv_put_amount(c, group.total->self);
	csv_put_amount(c, group.total->total);
	csv_put_number(c, true, group.total->n_samples);
	csv_put_number(c, group.has_functions, group.total->n_functions);
	put_end(c, group.package_version);
	for (size_t k = 0; k < c->g->joined.n_values; k++)
		put_more(c, sp_groups_amount(c->g, i, k), true);
	fputc('\n', c->out);
}

/* Totals and samples of groups overlap, so their sums would mean nothing. */
static void csv_put_rest(const struct csv *c)
{
	fprintf(c->out, "rest,%zu more,,,,,,", c->g->n_left_out);
	csv_put_amount(c, c->g->self_left_out);
	fputs(",,,,", c->out);
	put_end(c, NULL);
	for (size_t k = 0; k < c->g->joined.n_values; k++)
		put_more(c, sp_groups_left_out(c->g, k), false);
	fputc('\n', c->out);
}

static int groups_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_groups groups;
	struct csv c = {.g = &groups, .out = out};
	int r = sp_groups_new(p, o, &groups);

	if (r < 0)
		return r;
	c.value = sp_profile_string(p, sp_profile_value_type(p, o->value)->name);
	c.unit = sp_profile_string(p, sp_profile_value_type(p, o->value)->unit);
	r = csv_put_header(&c);
	for (size_t i = 0; i < groups.n_shown && r >= 0; i++)
		put_group(&c, i);
	if (groups.n_left_out && r >= 0)
		csv_put_rest(&c);
	sp_groups_done(&groups);
	return r;
}

static int csv_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	if (sp_counts_wanted(p, o))
		return sp_counts_put_csv(p, o, out);
	return o->by == SP_TOTAL_BY_MATRIX ? sp_matrix_put_csv(p, o, out) : groups_write(p, o, out);
}

const struct sp_view sp_view_csv = {
    .name = "csv",
    .suffix = ".csv",
    .mime = "text/csv; charset=utf-8",
    .summary = "the table, for spreadsheets and scripts",
    .grouped = true,
    .packages = true,
    .write = csv_write,
};
