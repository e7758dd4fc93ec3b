/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes_export.c: the changes for scripts, and how their rows are called. See changes.h. */
#include "base/encode.h"
#include "base/mem.h"
#include "view/priv.h"
#include "view/tables/changes.h"
#include "view/tables/changes_priv.h"

#include <inttypes.h>

/* --- names -------------------------------------------------------------------------------------------------------- */
static void put_stack(const struct sp_diff *d, uint32_t number, bool after, int encoding, FILE *out)
{
	struct sp_stack s = sp_profile_stack(d->joined, number);

	for (uint32_t i = s.n_frames; i-- > 0;) {
		fputs(after || i + 1 < s.n_frames ? ";" : "", out);
		sp_view_put_name(d->joined, s.frames[i], encoding, out);
	}
}

/* User frames, then kernel frames, folded; the whole of it is one word of the other formats. */
static void put_both(const struct sp_diff *d, const struct sp_diff_row *row, int encoding, FILE *out)
{
	bool has_user = sp_profile_stack(d->joined, row->id).n_frames > 0;
	SP_FREE char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	put_stack(d, row->id, false, SP_ENCODE_FOLDED, f);
	put_stack(d, row->of, has_user, SP_ENCODE_FOLDED, f);
	if (fclose(f))
		return;
	if (encoding == SP_ENCODE_TERMINAL)
		fputs(text, out); /* FOLDED is safe there, and not to be encoded twice */
	else
		sp_encode(out, encoding, text);
}

static const char *library_name(const struct sp_diff *d, uint32_t file)
{
	return sp_profile_string(d->joined, sp_profile_file(d->joined, file)->name);
}

static void put_function(const struct sp_diff *d, const struct sp_diff_row *row, int encoding, FILE *out)
{
	const char *library = library_name(d, row->of);

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
		put_function(d, row, encoding, out);
	} else {
		put_both(d, row, encoding, out);
	}
}

/* --- csv ---------------------------------------------------------------------------------------------------------- */
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
		sp_encode(out, SP_ENCODE_CSV, library_name(d, row->of));
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
	int r = sp_diff_fold(d, o->by, &rows);

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

/* --- json --------------------------------------------------------------------------------------------------------- */
static void json_change(const char *key, const struct sp_change *c, FILE *out)
{
	fprintf(out, ",\"%s\":{\"old\":%.9g,\"new\":%.9g,\"delta\":%.9g,\"low\":%.9g,\"high\":%.9g,\"q\":%.6g,", key,
		c->old, c->new, c->delta, c->low, c->high, c->q);
	fprintf(out, "\"within_noise\":%s}", c->within_noise ? "true" : "false");
}

static void json_row(const struct sp_diff *d, const struct sp_changes_options *o, const struct sp_diff_row *row,
		     FILE *out)
{
	fputs("{\"name\":\"", out);
	sp_change_put_name(d, o->by, row, SP_ENCODE_JSON, out);
	fputc('"', out);
	if (o->by == SP_DIFF_BY_FUNCTION) {
		fputs(",\"library\":\"", out);
		sp_encode(out, SP_ENCODE_JSON, library_name(d, row->of));
		fputc('"', out);
	}
	fprintf(out, ",\"upgraded\":%s,\"old_self\":%" PRId64 ",\"new_self\":%" PRId64, row->upgrade ? "true" : "false",
		row->old_self, row->new_self);
	fprintf(out, ",\"old_total\":%" PRId64 ",\"new_total\":%" PRId64, row->old_total, row->new_total);
	json_change("self", &row->self, out);
	json_change("total", &row->total, out);
	fputc('}', out);
}

static void json_builds(const struct sp_profile *p, const char *key, const uint32_t *files, uint32_t n, FILE *out)
{
	fprintf(out, ",\"%s\":[", key);
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_file *f = sp_profile_file(p, files[i]);

		fputs(i ? ",\"" : "\"", out);
		for (size_t k = 0; k < f->build_id_len; k++)
			fprintf(out, "%02x", f->build_id[k]);
		fputc('"', out);
	}
	fputc(']', out);
}

static void json_upgrades(const struct sp_diff *d, const struct sp_profile *const profiles[2], FILE *out)
{
	fputs(",\n\"upgrades\":[", out);
	for (uint32_t i = 0; i < d->n_upgrades; i++) {
		const struct sp_upgrade *u = &d->upgrades[i];

		fputs(i ? ",\n{\"library\":\"" : "\n{\"library\":\"", out);
		sp_encode(out, SP_ENCODE_JSON, library_name(d, u->file));
		fputc('"', out);
		json_builds(profiles[0], "old_build_ids", u->old_files, u->n_old, out);
		json_builds(profiles[1], "new_build_ids", u->new_files, u->n_new, out);
		fputc('}', out);
	}
	fputc(']', out);
}

static void json_side(const struct sp_diff *d, const struct sp_changes_options *o, int side, FILE *out)
{
	fputs("{\"name\":\"", out);
	sp_encode(out, SP_ENCODE_JSON, o->names[side]);
	fprintf(out, "\",\"value\":%.17g,\"samples\":%.17g,\"duration_ns\":%" PRIu64 ",\"slices\":%" PRIu32 "}",
		d->value[side], d->n_samples[side], o->duration_ns[side], d->n_slices[side]);
}

int sp_changes_put_json(const struct sp_diff *d, const struct sp_profile *const profiles[2],
			const struct sp_changes_options *o, FILE *out)
{
	struct sp_diff_rows rows;
	int r = sp_diff_fold(d, o->by, &rows);

	if (r < 0)
		return r;
	fprintf(out,
		"{\"format\":\"soprof-diff\",\"version\":1,\"by\":\"%s\",\"scale\":\"%s\",\"intervals\":\"%s\","
		"\n\"value\":\"",
		by_words[o->by], d->scale == SP_DIFF_SHARES ? "shares" : "absolute",
		d->method == SP_DIFF_FROM_SLICES ? "slices" : "counts");
	sp_encode(out, SP_ENCODE_JSON, o->value);
	fputs("\",\"unit\":\"", out);
	sp_encode(out, SP_ENCODE_JSON,
		  sp_profile_string(d->joined, sp_profile_value_type(d->joined, SP_DIFF_NEW)->unit));
	fputs("\",\n\"old\":", out);
	json_side(d, o, 0, out);
	fputs(",\n\"new\":", out);
	json_side(d, o, 1, out);
	if (d->method == SP_DIFF_FROM_SLICES)
		fprintf(out, ",\n\"growth\":%.6g", d->growth[d->scale]);
	else
		fprintf(out, ",\n\"dispersion\":%.6g,\"spread\":%.6g", d->dispersion, d->spread);
	json_upgrades(d, profiles, out);
	fputs(",\n\"rows\":[", out);
	for (size_t i = 0; i < rows.n_rows && (!o->limit || i < o->limit); i++) {
		fputs(i ? ",\n" : "\n", out);
		json_row(d, o, &rows.rows[i], out);
	}
	fputs("]}\n", out);
	sp_diff_rows_done(&rows);
	return 0;
}
