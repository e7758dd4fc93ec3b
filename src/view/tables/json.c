/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.c: the table for scripts: one object with the groups, numbers in full, the totals and what the limit left out.
 *
 * Keys that do not apply are absent, except the name, which is then null. Keys may be added, never changed: soprof(1)
 * says what each of them is. One group a line, so that the text can be compared.
 */
#include "base/json.h"
#include "profile/profile.h"
#include "view/calls/counts.h"
#include "view/tables/groups.h"
#include "view/tables/matrix.h"
#include "view/units.h"

static void json_put_amount(struct sp_json *j, int64_t self, int64_t of, const char *name, const char *percent)
{
	sp_json_int(j, name, self);
	sp_json_format(j, percent, "%.6f", sp_percent(self, of));
}

static void put_value_type(const struct sp_profile *p, uint32_t i, const char *name, struct sp_json *j)
{
	const struct sp_value_type *type = sp_profile_value_type(p, i);

	sp_json_object(j, name);
	sp_json_string(j, "name", sp_profile_string(p, type->name));
	sp_json_string(j, "unit", sp_profile_string(p, type->unit));
	sp_json_end(j);
}

static void json_put_head(const struct sp_profile *p, const struct sp_view_options *o, const struct sp_groups *g,
			  struct sp_json *j)
{
	const struct sp_profile_info *info = sp_profile_info(p);

	sp_json_string(j, "format", "soprof-table");
	sp_json_int(j, "version", 1);
	sp_json_string(j, "by", sp_view_groupings[o->by]);
	sp_json_line(j);
	put_value_type(p, o->value, "value", j);
	sp_json_array(j, "value_types");
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++)
		put_value_type(p, i, NULL, j);
	sp_json_end(j);
	sp_json_ints(sp_json_line(j), {"total", g->totals.value}, {"samples", g->totals.n_samples});
	if (info->time_ns)
		sp_json_uint(j, "time_ns", info->time_ns);
	if (info->duration_ns)
		sp_json_uint(j, "duration_ns", info->duration_ns);
}

/* Of several events, of a group or of what the limit left out: "values":{"cpu":{"self":1,"total":2},...} */
static void put_values(const struct sp_groups *g, size_t i, struct sp_json *j)
{
	bool is_rest = i >= g->n_shown;

	if (!g->joined.n_values)
		return;
	sp_json_object(j, "values");
	for (size_t k = 0; k < g->joined.n_values; k++) {
		struct sp_amount amount = is_rest ? sp_groups_left_out(g, k) : sp_groups_amount(g, i, k);

		sp_json_object(j, sp_profile_string(g->p, sp_profile_value_type(g->p, g->joined.value[k])->name));
		sp_json_int(j, "self", amount.self);
		if (!is_rest)
			sp_json_int(j, "total", amount.total);
		sp_json_end(j);
	}
	sp_json_end(j);
}

static void put_group(const struct sp_groups *g, size_t i, struct sp_json *j)
{
	struct sp_group group;

	sp_groups_get(g, i, &group);
	sp_json_object(sp_json_line(j), NULL);
	sp_json_string(j, "name", group.name);
	sp_json_word(j, "library", group.library);
	sp_json_word(j, "path", group.path);
	sp_json_word(j, "build_id", group.build_id);
	sp_json_word(j, "package", group.package);
	sp_json_word(j, "package_version", group.package_version);
	if (group.has_pid)
		sp_json_int(j, "pid", group.pid);
	json_put_amount(j, group.total->self, g->totals.value, "self", "self_percent");
	json_put_amount(j, group.total->total, g->totals.value, "total", "total_percent");
	sp_json_int(j, "samples", group.total->n_samples);
	if (group.has_functions)
		sp_json_int(j, "functions", group.total->n_functions);
	put_values(g, i, j);
	sp_json_end(j);
}

static int groups_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_json j = {.out = out};
	struct sp_groups groups;
	int r = sp_groups_new(p, o, &groups);

	if (r < 0)
		return r;
	sp_json_object(&j, NULL);
	json_put_head(p, o, &groups, &j);
	sp_json_array(sp_json_line(&j), "groups");
	for (size_t i = 0; i < groups.n_shown; i++)
		put_group(&groups, i, &j);
	sp_json_end(&j);
	sp_json_object(sp_json_line(&j), "left_out");
	sp_json_int(&j, "groups", (int64_t)groups.n_left_out);
	json_put_amount(&j, groups.self_left_out, groups.totals.value, "self", "self_percent");
	put_values(&groups, groups.n_shown, &j);
	sp_json_done(&j);
	sp_groups_done(&groups);
	return 0;
}

static int json_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	if (sp_counts_wanted(p, o))
		return sp_counts_put_json(p, o, out);
	return o->by == SP_TOTAL_BY_MATRIX ? sp_matrix_put_json(p, o, out) : groups_write(p, o, out);
}

const struct sp_view sp_view_json = {
    .name = "json",
    .suffix = ".json",
    .mime = "application/json",
    .summary = "the table, for scripts",
    .grouped = true,
    .packages = true,
    .write = json_write,
};
