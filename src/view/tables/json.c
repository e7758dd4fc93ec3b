/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.c: the table for scripts: one object with the groups, numbers in full, the totals and what the limit left out.
 *
 * What a group does not have is absent, but for its name, which is null for what has none. Keys may be added, never
 * changed: soprof(1) says what each of them is. One group a line, so that the text can be compared.
 */
#include "base/encode.h"
#include "view/calls/counts.h"
#include "view/tables/groups.h"
#include "view/tables/matrix.h"
#include "view/units.h"

#include "profile/profile.h"

#include <inttypes.h>

static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	sp_encode(out, SP_ENCODE_JSON, s);
	fputc('"', out);
}

static void put_word(FILE *out, const char *key, const char *word)
{
	if (!word)
		return;
	fprintf(out, ",\"%s\":", key);
	put_string(out, word);
}

static void put_amount(FILE *out, const char *key, int64_t value, int64_t of)
{
	fprintf(out, ",\"%s\":%" PRId64 ",\"%s_percent\":%.6f", key, value, key, sp_percent(value, of));
}

static void put_value_type(const struct sp_profile *p, uint32_t i, FILE *out)
{
	const struct sp_value_type *type = sp_profile_value_type(p, i);

	fputs("{\"name\":", out);
	put_string(out, sp_profile_string(p, type->name));
	fputs(",\"unit\":", out);
	put_string(out, sp_profile_string(p, type->unit));
	fputc('}', out);
}

static void put_head(const struct sp_profile *p, const struct sp_view_options *o, const struct sp_groups *g, FILE *out)
{
	const struct sp_profile_info *info = sp_profile_info(p);

	fputs("{\"format\":\"soprof-table\",\"version\":1,\"by\":", out);
	put_string(out, sp_view_groupings[o->by]);
	fputs(",\n\"value\":", out);
	put_value_type(p, o->value, out);
	fputs(",\"value_types\":[", out);
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++) {
		fputs(i ? "," : "", out);
		put_value_type(p, i, out);
	}
	fprintf(out, "],\n\"total\":%" PRId64 ",\"samples\":%" PRId64, g->totals.value, g->totals.n_samples);
	if (info->time_ns)
		fprintf(out, ",\"time_ns\":%" PRIu64, info->time_ns);
	if (info->duration_ns)
		fprintf(out, ",\"duration_ns\":%" PRIu64, info->duration_ns);
	fputs(",\n\"groups\":[", out);
}

static void put_group(const struct sp_groups *g, size_t i, FILE *out)
{
	struct sp_group group;

	sp_groups_get(g, i, &group);
	fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
	if (group.name)
		put_string(out, group.name);
	else
		fputs("null", out);
	put_word(out, "library", group.library);
	put_word(out, "path", group.path);
	put_word(out, "build_id", group.build_id);
	put_word(out, "package", group.package);
	put_word(out, "package_version", group.package_version);
	if (group.has_pid)
		fprintf(out, ",\"pid\":%" PRIu32, group.pid);
	put_amount(out, "self", group.total->self, g->totals.value);
	put_amount(out, "total", group.total->total, g->totals.value);
	fprintf(out, ",\"samples\":%" PRId64, group.total->n_samples);
	if (group.has_functions)
		fprintf(out, ",\"functions\":%" PRIu32, group.total->n_functions);
	fputc('}', out);
}

static int groups_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_groups groups;
	int r = sp_groups_new(p, o, &groups);

	if (r < 0)
		return r;
	put_head(p, o, &groups, out);
	for (size_t i = 0; i < groups.n_shown; i++)
		put_group(&groups, i, out);
	fprintf(out, "],\n\"left_out\":{\"groups\":%zu", groups.n_left_out);
	put_amount(out, "self", groups.self_left_out, groups.totals.value);
	fputs("}}\n", out);
	sp_groups_done(&groups);
	return 0;
}

static int json_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	if (sp_counts_wanted(p, o))
		return sp_counts_put_json(p, o, out);
	return o->by == SP_BY_MATRIX ? sp_matrix_put_json(p, o, out) : groups_write(p, o, out);
}

extern const struct sp_view sp_view_json;
const struct sp_view sp_view_json = {
    .name = "json",
    .suffix = ".json",
    .mime = "application/json",
    .summary = "the table, for scripts",
    .grouped = true,
    .packages = true,
    .write = json_write,
};
