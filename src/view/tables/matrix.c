/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/tables/matrix.h"

#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "profile/matrix.h"
#include "view/priv.h"
#include "view/units.h"
#include "view/value.h"

#include <inttypes.h>
#include <string.h>

enum { PERCENT_COLUMNS = 7, NAME_COLUMNS = 24 };

struct shown {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	struct sp_matrix matrix;
	size_t n;
	FILE *out;
};

static int shown_new(const struct sp_profile *p, const struct sp_view_options *o, FILE *out, struct shown *s)
{
	int r = sp_matrix_new(p, o->value, true, &s->matrix);

	s->p = p;
	s->o = o;
	s->out = out;
	if (r >= 0)
		s->n = o->limit ? SP_MIN(o->limit, s->matrix.n_cells) : s->matrix.n_cells;
	return r;
}

static int64_t self_left_out(const struct shown *s)
{
	int64_t self = 0;

	for (size_t i = s->n; i < s->matrix.n_cells; i++)
		self += s->matrix.cells[i].self;
	return self;
}

/* --- text --- */
static void put_file(const struct shown *s, uint32_t file, const char *none, bool pad)
{
	SP_FREE char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	if (file)
		sp_view_put_library(s->p, file, f);
	else
		fputs(none, f);
	fclose(f);
	fprintf(s->out, "  %-*s", pad ? NAME_COLUMNS : 0, text);
}

static void matrix_put_cell(const struct shown *s, const struct sp_cell *c)
{
	const char *entry = sp_profile_string(s->p, sp_profile_func(s->p, c->entry)->name);

	fprintf(s->out, "%*.2f  %*.2f  %10" PRId64, PERCENT_COLUMNS, sp_percent(c->self, s->matrix.value),
		PERCENT_COLUMNS, sp_percent(c->total, s->matrix.value), c->n_samples);
	put_file(s, c->library, "[no library]", true);
	put_file(s, c->caller, "[no caller]", true);
	fputs("  ", s->out);
	sp_encode(s->out, SP_ENCODE_TERMINAL, c->entry ? entry : "-");
	fputc('\n', s->out);
}

int sp_matrix_put_table(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct shown s;
	int r = shown_new(p, o, out, &s);

	if (r < 0)
		return r;
	sp_value_put(p, o->value, s.matrix.value, s.matrix.n_samples, out);
	fprintf(out, "\n%s%*s  %*s  %10s  %-*s  %-*s  %s%s\n", o->colour ? "\033[1m" : "", PERCENT_COLUMNS, "self %",
		PERCENT_COLUMNS, "total %", "samples", NAME_COLUMNS, "library", NAME_COLUMNS, "called by", "through",
		o->colour ? "\033[0m" : "");
	for (size_t i = 0; i < s.n; i++)
		matrix_put_cell(&s, &s.matrix.cells[i]);
	if (s.n < s.matrix.n_cells)
		fprintf(out, "%*.2f  in %zu more row%s\n", PERCENT_COLUMNS,
			sp_percent(self_left_out(&s), s.matrix.value), s.matrix.n_cells - s.n,
			s.matrix.n_cells - s.n == 1 ? "" : "s");
	sp_matrix_done(&s.matrix);
	return 0;
}

/* --- for scripts --- */
static const char *file_name(const struct shown *s, uint32_t file)
{
	return file ? sp_profile_string(s->p, sp_profile_file(s->p, file)->name) : NULL;
}

static void build_id_text(const struct shown *s, uint32_t file, char text[static 2 * SP_BUILD_ID_MAX + 1])
{
	const struct sp_file *f = sp_profile_file(s->p, file);

	sp_hex(f->build_id, f->build_id_len, text);
}

static void csv_word(FILE *out, const char *word)
{
	if (word)
		sp_encode(out, SP_ENCODE_CSV, word);
	fputc(',', out);
}

static void csv_value(const struct shown *s)
{
	const struct sp_value_type *type = sp_profile_value_type(s->p, s->o->value);

	csv_word(s->out, sp_profile_string(s->p, type->name));
	sp_encode(s->out, SP_ENCODE_CSV, sp_profile_string(s->p, type->unit));
	fputc('\n', s->out);
}

static void csv_cell(const struct shown *s, const struct sp_cell *c)
{
	const char *entry = c->entry ? sp_profile_string(s->p, sp_profile_func(s->p, c->entry)->name) : NULL;
	char id[2 * SP_BUILD_ID_MAX + 1];

	fputs("matrix,", s->out);
	csv_word(s->out, file_name(s, c->library));
	build_id_text(s, c->library, id);
	csv_word(s->out, id);
	csv_word(s->out, file_name(s, c->caller));
	build_id_text(s, c->caller, id);
	csv_word(s->out, id);
	csv_word(s->out, entry);
	fprintf(s->out, "%" PRId64 ",%.6f,%" PRId64 ",%.6f,%" PRId64 ",", c->self, sp_percent(c->self, s->matrix.value),
		c->total, sp_percent(c->total, s->matrix.value), c->n_samples);
	csv_value(s);
}

int sp_matrix_put_csv(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct shown s;
	int r = shown_new(p, o, out, &s);

	if (r < 0)
		return r;
	fputs("by,library,build_id,caller,caller_build_id,entry,self,self_percent,total,total_percent,samples,value,"
	      "unit\n",
	      out);
	for (size_t i = 0; i < s.n; i++)
		csv_cell(&s, &s.matrix.cells[i]);
	if (s.n < s.matrix.n_cells) {
		fprintf(out, "rest,%zu more,,,,,%" PRId64 ",%.6f,,,,", s.matrix.n_cells - s.n, self_left_out(&s),
			sp_percent(self_left_out(&s), s.matrix.value));
		csv_value(&s);
	}
	sp_matrix_done(&s.matrix);
	return 0;
}

static void json_file(struct sp_json *j, const struct shown *s, uint32_t file, const char *name, const char *id_name)
{
	char id[2 * SP_BUILD_ID_MAX + 1];

	build_id_text(s, file, id);
	sp_json_string(j, name, file_name(s, file));
	sp_json_string(j, id_name, *id ? id : NULL);
}

static void json_cell(const struct shown *s, const struct sp_cell *c, struct sp_json *j)
{
	sp_json_object(sp_json_line(j), NULL);
	json_file(j, s, c->library, "library", "build_id");
	json_file(j, s, c->caller, "caller", "caller_build_id");
	sp_json_string(j, "entry", c->entry ? sp_profile_string(s->p, sp_profile_func(s->p, c->entry)->name) : NULL);
	sp_json_int(j, "self", c->self);
	sp_json_format(j, "self_percent", "%.6f", sp_percent(c->self, s->matrix.value));
	sp_json_int(j, "total", c->total);
	sp_json_format(j, "total_percent", "%.6f", sp_percent(c->total, s->matrix.value));
	sp_json_int(j, "samples", c->n_samples);
	sp_json_end(j);
}

int sp_matrix_put_json(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	const struct sp_value_type *type = sp_profile_value_type(p, o->value);
	struct sp_json j = {.out = out};
	struct shown s;
	int r = shown_new(p, o, out, &s);

	if (r < 0)
		return r;
	sp_json_object(&j, NULL);
	sp_json_string(&j, "format", "soprof-matrix");
	sp_json_int(&j, "version", 1);
	sp_json_object(sp_json_line(&j), "value");
	sp_json_string(&j, "name", sp_profile_string(p, type->name));
	sp_json_string(&j, "unit", sp_profile_string(p, type->unit));
	sp_json_end(&j);
	sp_json_ints(sp_json_line(&j), {"total", s.matrix.value}, {"samples", s.matrix.n_samples});
	sp_json_array(sp_json_line(&j), "cells");
	for (size_t i = 0; i < s.n; i++)
		json_cell(&s, &s.matrix.cells[i], &j);
	sp_json_end(&j);
	sp_json_object(sp_json_line(&j), "left_out");
	sp_json_ints(&j, {"cells", (int64_t)(s.matrix.n_cells - s.n)}, {"self", self_left_out(&s)});
	sp_json_done(&j);
	sp_matrix_done(&s.matrix);
	return 0;
}
