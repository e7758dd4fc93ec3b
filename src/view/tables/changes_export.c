/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes_export.c: the changes as CSV and JSON, and the names of their rows. See changes.h. */
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "view/priv.h"
#include "view/tables/changes.h"
#include "view/tables/changes_priv.h"

#include <inttypes.h>

/* --- names --- */
static void changes_export_put_stack(const struct sp_diff *d, uint32_t number, bool after, int encoding, FILE *out)
{
	struct sp_stack s = sp_profile_stack(d->joined, number);

	for (uint32_t i = s.n_frames; i-- > 0;) {
		fputs(after || i + 1 < s.n_frames ? ";" : "", out);
		sp_view_put_name(d->joined, s.frames[i], encoding, out);
	}
}

/* User frames, then kernel frames, as folded text, which is one word in the other formats. */
static void put_both(const struct sp_diff *d, const struct sp_diff_row *row, int encoding, FILE *out)
{
	bool has_user = sp_profile_stack(d->joined, row->id).n_frames > 0;
	SP_FREE char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	changes_export_put_stack(d, row->id, false, SP_ENCODE_FOLDED, f);
	changes_export_put_stack(d, row->second_id, has_user, SP_ENCODE_FOLDED, f);
	if (fclose(f))
		return;
	if (encoding == SP_ENCODE_TERMINAL)
		fputs(text, out); /* FOLDED is safe in all formats; encoded once is enough */
	else
		sp_encode(out, encoding, text);
}

static const char *library_name(const struct sp_diff *d, uint32_t file)
{
	return sp_profile_string(d->joined, sp_profile_file(d->joined, file)->name);
}

static void changes_export_put_function(const struct sp_diff *d, const struct sp_diff_row *row, int encoding, FILE *out)
{
	const char *library = library_name(d, row->second_id);

	sp_encode(out, encoding,
		  row->id ? sp_profile_string(d->joined, sp_profile_func(d->joined, row->id)->name) : "[no name]");
	if (!*library || encoding != SP_ENCODE_TERMINAL)
		return;
	fputs(*library == '[' ? " " : " [", out);
	sp_encode(out, encoding, library);
	fputs(*library == '[' ? "" : "]", out);
}

void sp_change_put_name(const struct sp_diff *d, enum sp_diff_by by, const struct sp_diff_row *row, int encoding,
			FILE *out)
{
	static const char *const none[] = {[SP_DIFF_BY_LIBRARY] = "[no library]",
					   [SP_DIFF_BY_FUNCTION] = "[no function]",
					   [SP_DIFF_BY_STACK] = "[no stack]"};

	if (row->none) {
		fputs(none[by], out);
	} else if (by == SP_DIFF_BY_LIBRARY) {
		sp_encode(out, encoding, library_name(d, row->id));
	} else if (by == SP_DIFF_BY_FUNCTION) {
		changes_export_put_function(d, row, encoding, out);
	} else {
		put_both(d, row, encoding, out);
	}
}

/* --- csv --- */
static const char *const by_words[] = {
    [SP_DIFF_BY_LIBRARY] = "library", [SP_DIFF_BY_FUNCTION] = "function", [SP_DIFF_BY_STACK] = "stack"};

static void csv_change(const struct sp_change *c, FILE *out)
{
	fprintf(out, ",%.9g,%.9g,%.9g,%.9g,%.9g,%.6g,%d", c->old, c->new, c->delta, c->low, c->high, c->q,
		c->within_noise);
}

static void csv_row(const struct sp_diff *d, const struct sp_changes_options *o, const struct sp_diff_row *row,
		    FILE *out)
{
	fprintf(out, "%s,", by_words[o->by]);
	sp_change_put_name(d, o->by, row, SP_ENCODE_CSV, out);
	fputc(',', out);
	if (o->by == SP_DIFF_BY_FUNCTION)
		sp_encode(out, SP_ENCODE_CSV, library_name(d, row->second_id));
	fprintf(out, ",%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, row->upgrade > 0, row->old_self, row->new_self,
		row->old_total, row->new_total);
	csv_change(&row->self, out);
	csv_change(&row->total, out);
	fputc('\n', out);
}

int sp_changes_put_csv(const struct sp_diff *d, const struct sp_profile *const profiles[2],
		       const struct sp_changes_options *o, FILE *out)
{
	struct sp_diff_rows rows;
	int r = sp_diff_rows_new(d, o->by, &rows);

	(void)profiles;
	if (r < 0)
		return r;
	fputs("by,name,library,upgraded,old_self,new_self,old_total,new_total,"
	      "self_old,self_new,self_delta,self_low,self_high,self_q,self_noise,"
	      "total_old,total_new,total_delta,total_low,total_high,total_q,total_noise\n",
	      out);
	for (size_t i = 0; i < rows.n_rows && (!o->limit || i < o->limit); i++)
		csv_row(d, o, &rows.rows[i], out);
	sp_diff_rows_done(&rows);
	return 0;
}

/* --- json --- */
static void json_change(const char *key, const struct sp_change *c, struct sp_json *j)
{
	sp_json_object(j, key);
	sp_json_format(j, "old", "%.9g", c->old);
	sp_json_format(j, "new", "%.9g", c->new);
	sp_json_format(j, "delta", "%.9g", c->delta);
	sp_json_format(j, "low", "%.9g", c->low);
	sp_json_format(j, "high", "%.9g", c->high);
	sp_json_format(j, "q", "%.6g", c->q);
	sp_json_bool(j, "within_noise", c->within_noise);
	sp_json_end(j);
}

static void json_row(const struct sp_diff *d, const struct sp_changes_options *o, const struct sp_diff_row *row,
		     struct sp_json *j)
{
	sp_json_object(sp_json_line(j), NULL);
	fputc('"', sp_json_raw(j, "name"));
	sp_change_put_name(d, o->by, row, SP_ENCODE_JSON, j->out);
	fputc('"', j->out);
	if (o->by == SP_DIFF_BY_FUNCTION)
		sp_json_string(j, "library", library_name(d, row->second_id));
	sp_json_bool(j, "upgraded", row->upgrade);
	sp_json_ints(j, {"old_self", row->old_self}, {"new_self", row->new_self}, {"old_total", row->old_total},
		     {"new_total", row->new_total});
	json_change("self", &row->self, j);
	json_change("total", &row->total, j);
	sp_json_end(j);
}

static void json_builds(const struct sp_profile *p, const char *key, const uint32_t *files, uint32_t n,
			struct sp_json *j)
{
	sp_json_array(j, key);
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_file *f = sp_profile_file(p, files[i]);

		sp_json_hex(j, NULL, f->build_id, f->build_id_len);
	}
	sp_json_end(j);
}

static void json_upgrades(const struct sp_diff *d, const struct sp_profile *const profiles[2], struct sp_json *j)
{
	sp_json_array(sp_json_line(j), "upgrades");
	for (uint32_t i = 0; i < d->n_upgrades; i++) {
		const struct sp_upgrade *u = &d->upgrades[i];

		sp_json_object(sp_json_line(j), NULL);
		sp_json_string(j, "library", library_name(d, u->file));
		json_builds(profiles[0], "old_build_ids", u->old_files, u->n_old, j);
		json_builds(profiles[1], "new_build_ids", u->new_files, u->n_new, j);
		sp_json_end(j);
	}
	sp_json_end(j);
}

static void json_side(const struct sp_diff *d, const struct sp_changes_options *o, int side, struct sp_json *j)
{
	sp_json_object(sp_json_line(j), side ? "new" : "old");
	sp_json_string(j, "name", o->names[side]);
	sp_json_format(j, "value", "%.17g", d->value[side]);
	sp_json_format(j, "samples", "%.17g", d->n_samples[side]);
	sp_json_uint(j, "duration_ns", o->duration_ns[side]);
	sp_json_uint(j, "slices", d->n_slices[side]);
	sp_json_end(j);
}

static void json_head(const struct sp_diff *d, const struct sp_changes_options *o, struct sp_json *j)
{
	uint32_t unit = sp_profile_value_type(d->joined, SP_DIFF_NEW)->unit;

	sp_json_string(j, "format", "soprof-diff");
	sp_json_int(j, "version", 1);
	sp_json_string(j, "by", by_words[o->by]);
	sp_json_string(j, "scale", d->scale == SP_DIFF_SHARES ? "shares" : "absolute");
	sp_json_string(j, "intervals", d->method == SP_DIFF_FROM_SLICES ? "slices" : "counts");
	sp_json_string(sp_json_line(j), "value", o->value);
	sp_json_string(j, "unit", sp_profile_string(d->joined, unit));
	json_side(d, o, 0, j);
	json_side(d, o, 1, j);
	sp_json_line(j);
	if (d->method == SP_DIFF_FROM_SLICES) {
		sp_json_format(j, "growth", "%.6g", d->growth[d->scale]);
		return;
	}
	sp_json_format(j, "dispersion", "%.6g", d->dispersion);
	sp_json_format(j, "spread", "%.6g", d->spread);
}

int sp_changes_put_json(const struct sp_diff *d, const struct sp_profile *const profiles[2],
			const struct sp_changes_options *o, FILE *out)
{
	struct sp_json j = {.out = out};
	struct sp_diff_rows rows;
	int r = sp_diff_rows_new(d, o->by, &rows);

	if (r < 0)
		return r;
	sp_json_object(&j, NULL);
	json_head(d, o, &j);
	json_upgrades(d, profiles, &j);
	sp_json_array(sp_json_line(&j), "rows");
	for (size_t i = 0; i < rows.n_rows && (!o->limit || i < o->limit); i++)
		json_row(d, o, &rows.rows[i], &j);
	sp_json_done(&j);
	sp_diff_rows_done(&rows);
	return 0;
}
