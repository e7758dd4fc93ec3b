/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes.c: the table of changes, for people. See changes.h. */
#include "view/tables/changes.h"

#include "base/encode.h"
#include "base/mem.h"
#include "base/time.h"
#include "view/priv.h"
#include "view/tables/changes_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_COLUMNS = 9, INTERVAL_COLUMNS = 19, SHORT_BUILD_ID = 6 };

#define MOST_CHANCE 0.05 /* a larger q (profile/diff.h) is marked as doubtful */

struct table {
	const struct sp_diff *d;
	const struct sp_changes_options *o;
	const struct sp_diff_rows *rows;
	double scale; /* of the numbers shown */
	int decimals;
	FILE *out;
};

/* --- numbers --- */
static void changes_put_number(const struct table *t, double x, const char *plus)
{
	char text[64];

	snprintf(text, sizeof(text), *plus ? "%+.*f" : "%.*f", t->decimals, x * t->scale);
	fprintf(t->out, "%*s", NUMBER_COLUMNS, text);
}

/* ~: within noise. ?: among so many rows some change as much by chance. */
static const char *mark_of(const struct sp_change *c)
{
	return c->within_noise ? " ~" : c->q > MOST_CHANCE ? " ?" : "  ";
}

static void put_interval(const struct table *t, const struct sp_change *c)
{
	char text[96];

	snprintf(text, sizeof(text), "[%+.*f, %+.*f]", t->decimals, c->low * t->scale, t->decimals, c->high * t->scale);
	fprintf(t->out, "  %*s", INTERVAL_COLUMNS, text);
}

static const char *colour_of(const struct table *t, const struct sp_change *c)
{
	if (!t->o->colour || c->within_noise)
		return "";
	return c->delta > 0 ? "\033[31m" : "\033[34m";
}

static void changes_put_change(const struct table *t, const struct sp_change *c)
{
	const char *colour = colour_of(t, c);

	changes_put_number(t, c->old, "");
	changes_put_number(t, c->new, "");
	fputs(colour, t->out);
	changes_put_number(t, c->delta, "+");
	fputs(*colour ? "\033[0m" : "", t->out);
	fputs(mark_of(c), t->out);
	put_interval(t, c);
}

/* --- the lines above the table --- */
static void put_side(const struct table *t, int side)
{
	fprintf(t->out, "%s  ", side ? "new" : "old");
	sp_encode(t->out, SP_ENCODE_TERMINAL, t->o->names[side]);
	fprintf(t->out, ": %.0f samples", t->d->n_samples[side]);
	if (t->o->duration_ns[side])
		fprintf(t->out, " in %.1f s", (double)t->o->duration_ns[side] / (double)SP_NS_PER_S);
	fputc('\n', t->out);
}

static const char *changes_unit_of(const struct sp_diff *d)
{
	return sp_profile_string(d->joined, sp_profile_value_type(d->joined, SP_DIFF_NEW)->unit);
}

/* The name and unit of the value: CPU time, samples, alloc_space in bytes. */
static char *value_text(const struct table *t)
{
	const char *unit = changes_unit_of(t->d), *name = t->o->value;
	bool is_cpu = !strcmp(name, "cpu") && !strcmp(unit, "nanoseconds"), is_count = !strcmp(unit, "count");
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fputs(t->d->scale == SP_DIFF_SHARES ? "shares of all " : "", f);
	sp_encode(f, SP_ENCODE_TERMINAL, is_cpu ? "CPU time" : name);
	if (!is_count && (!is_cpu || t->d->scale == SP_DIFF_ABSOLUTE)) {
		fputs(" in ", f);
		sp_encode(f, SP_ENCODE_TERMINAL, unit);
	}
	fclose(f);
	return text;
}

/* One line, or a part in each where a terminal has no room. */
static int put_method(const struct table *t)
{
	static const char noise[] = "~ = within noise";
	const struct sp_diff *d = t->d;
	const char *between = "; ";
	char how[96], *value SP_FREE = value_text(t);

	if (!value)
		return -ENOMEM;
	if (d->method == SP_DIFF_FROM_SLICES)
		snprintf(how, sizeof(how), "intervals (95 %%) from %" PRIu32 " and %" PRIu32 " time slices",
			 d->n_slices[0], d->n_slices[1]);
	else
		snprintf(how, sizeof(how), "intervals (95 %%) from counts of samples%s",
			 d->dispersion <= 1 && d->spread <= 0 ? "" : ", widened for bursts");
	if (t->o->width && sp_view_columns(value) + strlen(how) + strlen(noise) + 4 > t->o->width)
		between = "\n";
	fprintf(t->out, "%s%s%s%s%s\n", value, between, how, between, noise);
	return 0;
}

static void put_build_id(const struct sp_file *f, FILE *out)
{
	for (size_t i = 0; i < f->build_id_len && i < SHORT_BUILD_ID; i++)
		fprintf(out, "%02x", f->build_id[i]);
	if (!f->build_id_len)
		fputs("no build id", out);
}

static void put_builds(const struct sp_profile *p, const uint32_t *files, uint32_t n, FILE *out)
{
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", out);
		put_build_id(sp_profile_file(p, files[i]), out);
	}
}

static const struct sp_diff_row *row_of_upgrade(const struct table *t, uint32_t number)
{
	for (size_t i = 0; i < t->rows->n_rows; i++)
		if (t->rows->rows[i].upgrade == number)
			return &t->rows->rows[i];
	return NULL;
}

static void put_upgrade(const struct table *t, const struct sp_profile *const profiles[2], uint32_t i)
{
	const struct sp_upgrade *u = &t->d->upgrades[i];
	const struct sp_diff_row *row = t->o->by == SP_DIFF_BY_LIBRARY ? row_of_upgrade(t, i + 1) : NULL;

	fputs("upgraded  ", t->out);
	sp_view_put_library(t->d->joined, u->file, t->out);
	fputs("  ", t->out);
	put_builds(profiles[0], u->old_files, u->n_old, t->out);
	fputs(" -> ", t->out);
	put_builds(profiles[1], u->new_files, u->n_new, t->out);
	if (row)
		fprintf(t->out, "  %+.*f%s (%s)", t->decimals, row->self.delta * t->scale,
			t->scale > 1 ? " % of all" : "",
			row->self.within_noise ? "within noise"
			: row->self.delta < 0  ? "less"
					       : "more");
	fputc('\n', t->out);
}

/* --- rows --- */
static int changes_put_name(const struct table *t, const struct sp_diff_row *row)
{
	SP_FREE char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	sp_change_put_name(t->d, t->o->by, row, SP_ENCODE_TERMINAL, out);
	if (row->upgrade && t->o->by == SP_DIFF_BY_LIBRARY)
		fputs(" (upgraded)", out);
	if (fclose(out))
		return -ENOMEM;
	fputs("  ", t->out);
	sp_view_put_cut(text, sp_view_room(t->o->width, 3 * NUMBER_COLUMNS + INTERVAL_COLUMNS + 6),
			t->o->by == SP_DIFF_BY_STACK, t->out);
	fputc('\n', t->out);
	return 0;
}

static void put_heading(const struct table *t)
{
	static const char *const what[] = {[SP_DIFF_BY_LIBRARY] = "library",
					   [SP_DIFF_BY_FUNCTION] = "function [library]",
					   [SP_DIFF_BY_STACK] = "stack"};
	const char *unit = t->scale > 1 ? " %" : "";
	char old[16], new[16];

	snprintf(old, sizeof(old), "old%s", unit);
	snprintf(new, sizeof(new), "new%s", unit);
	fprintf(t->out, "\n%s%*s%*s%*s    %*s  %s%s\n", t->o->colour ? "\033[1m" : "", NUMBER_COLUMNS, old,
		NUMBER_COLUMNS, new, NUMBER_COLUMNS, "change", INTERVAL_COLUMNS, "95 % interval", what[t->o->by],
		t->o->colour ? "\033[0m" : "");
}

/* Rows without self in both profiles only call others, and are not shown. */
static bool is_shown(const struct table *t, const struct sp_diff_row *row)
{
	return (row->old_self || row->new_self) && (t->o->noise || !row->self.within_noise || row->upgrade);
}

static int put_rows(const struct table *t)
{
	size_t n_shown = 0, n_noise = 0, n_more = 0, n_doubtful = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < t->rows->n_rows; i++) {
		const struct sp_diff_row *row = &t->rows->rows[i];

		if (!is_shown(t, row)) {
			n_noise += row->old_self || row->new_self;
		} else if (t->o->limit && n_shown == t->o->limit) {
			n_more++;
		} else {
			if (!n_shown)
				put_heading(t);
			changes_put_change(t, &row->self);
			r = changes_put_name(t, row);
			n_shown++;
			n_doubtful += !row->self.within_noise && row->self.q > MOST_CHANCE;
		}
	}
	if (n_doubtful)
		fprintf(t->out, "? = among %zu rows, some that did not change differ as much by chance\n",
			t->rows->n_rows);
	if (n_more)
		fprintf(t->out, "%zu more row%s (--limit)\n", n_more, n_more == 1 ? "" : "s");
	if (n_noise)
		fprintf(t->out, "%zu row%s within noise (--noise shows them)\n", n_noise, n_noise == 1 ? "" : "s");
	if (!n_shown)
		fputs("nothing differs beyond noise\n", t->out);
	return r;
}

int sp_changes_put_table(const struct sp_diff *d, const struct sp_profile *const profiles[2],
			 const struct sp_changes_options *o, FILE *out)
{
	bool shares = d->scale == SP_DIFF_SHARES;
	struct sp_diff_rows rows;
	struct table t = {
	    .d = d, .o = o, .rows = &rows, .scale = shares ? 100 : 1, .decimals = shares ? 2 : 0, .out = out};
	int r = sp_diff_rows_new(d, o->by, &rows);

	if (r < 0)
		return r;
	put_side(&t, 0);
	put_side(&t, 1);
	r = put_method(&t);
	for (uint32_t i = 0; i < d->n_upgrades; i++)
		put_upgrade(&t, profiles, i);
	if (r >= 0)
		r = put_rows(&t);
	sp_diff_rows_done(&rows);
	return r;
}
