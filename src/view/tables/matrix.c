/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/tables/matrix.h"

#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "profile/matrix.h"
#include "view/priv.h"
#include "view/units.h"
#include "view/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
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
enum { LIBRARY, CALLER, ENTRY, N_NAMES, GAP = 2, SAMPLE_COLUMNS = 10, LEAST_NAME = 10 };

struct layout {
	char *(*names)[N_NAMES]; /* by cell, encoded */
	size_t room[N_NAMES];    /* columns; 0: as many as it takes */
	bool samples;            /* have a column */
};

static char *name_new(const struct shown *s, uint32_t file, const char *none)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (file)
		sp_view_put_library(s->p, file, f);
	else
		sp_encode(f, SP_ENCODE_TERMINAL, none);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

static int names_new(const struct shown *s, struct layout *l)
{
	l->names = calloc(s->n + 1, sizeof(*l->names));
	for (size_t i = 0; l->names && i < s->n; i++) {
		const struct sp_cell *c = &s->matrix.cells[i];
		const char *entry = sp_profile_string(s->p, sp_profile_func(s->p, c->entry)->name);

		l->names[i][LIBRARY] = name_new(s, c->library, "[no library]");
		l->names[i][CALLER] = name_new(s, c->caller, "[no caller]");
		l->names[i][ENTRY] = name_new(s, 0, c->entry ? entry : "-");
		if (!l->names[i][LIBRARY] || !l->names[i][CALLER] || !l->names[i][ENTRY])
			return -ENOMEM;
	}
	return l->names ? 0 : -ENOMEM;
}

static void layout_done(const struct shown *s, struct layout *l)
{
	for (size_t i = 0; l->names && i < s->n; i++)
		for (int k = 0; k < N_NAMES; k++)
			free(l->names[i][k]);
	free(l->names);
}

static size_t columns_all(const struct layout *l)
{
	size_t n = PERCENT_COLUMNS + GAP + PERCENT_COLUMNS + (l->samples ? GAP + SAMPLE_COLUMNS : 0);

	for (int k = 0; k < N_NAMES; k++)
		n += GAP + l->room[k];
	return n;
}

/* The widest name's column gives way, and where that is not enough the column of samples. */
static void layout_narrow(struct layout *l, size_t width)
{
	while (columns_all(l) > width) {
		size_t *widest = &l->room[LIBRARY];

		for (int k = 0; k < N_NAMES; k++)
			widest = l->room[k] > *widest ? &l->room[k] : widest;
		if (l->samples && columns_all(l) > width + *widest / 4)
			l->samples = false;
		else if (*widest > LEAST_NAME)
			--*widest;
		else
			return;
	}
}

/* As wide as its names on a terminal; in a file and a pipe names of libraries have the same room in all tables. */
static void layout_fit(const struct shown *s, struct layout *l)
{
	l->samples = true;
	if (!s->o->width)
		return;
	l->room[LIBRARY] = strlen("library");
	l->room[CALLER] = strlen("called by");
	l->room[ENTRY] = strlen("through");
	for (size_t i = 0; i < s->n; i++)
		for (int k = 0; k < N_NAMES; k++)
			l->room[k] = SP_MAX(l->room[k], sp_view_columns(l->names[i][k]));
	layout_narrow(l, s->o->width);
}

static void name_put(const struct shown *s, const struct layout *l, int k, const char *text)
{
	size_t columns = sp_view_columns(text), room = s->o->width ? l->room[k] : NAME_COLUMNS;

	fputs("  ", s->out);
	sp_view_put_middle(text, l->room[k], s->out);
	if (k != ENTRY && columns < room)
		fprintf(s->out, "%*s", (int)(room - columns), "");
}

static void matrix_put_cell(const struct shown *s, const struct layout *l, size_t i)
{
	const struct sp_cell *c = &s->matrix.cells[i];

	fprintf(s->out, "%*.2f  %*.2f", PERCENT_COLUMNS, sp_percent(c->self, s->matrix.value), PERCENT_COLUMNS,
		sp_percent(c->total, s->matrix.value));
	if (l->samples)
		fprintf(s->out, "  %*" PRId64, SAMPLE_COLUMNS, c->n_samples);
	for (int k = 0; k < N_NAMES; k++)
		name_put(s, l, k, l->names[i][k]);
	fputc('\n', s->out);
}

static void matrix_put_all(const struct shown *s, const struct layout *l)
{
	static const char *const headings[] = {[LIBRARY] = "library", [CALLER] = "called by", [ENTRY] = "through"};

	fprintf(s->out, "\n%s%*s  %*s", s->o->colour ? "\033[1m" : "", PERCENT_COLUMNS, "self %", PERCENT_COLUMNS,
		"total %");
	if (l->samples)
		fprintf(s->out, "  %*s", SAMPLE_COLUMNS, "samples");
	for (int k = 0; k < N_NAMES; k++)
		name_put(s, l, k, headings[k]);
	fprintf(s->out, "%s\n", s->o->colour ? "\033[0m" : "");
	for (size_t i = 0; i < s->n; i++)
		matrix_put_cell(s, l, i);
	if (s->n < s->matrix.n_cells)
		fprintf(s->out, "%*.2f  in %zu more row%s\n", PERCENT_COLUMNS,
			sp_percent(self_left_out(s), s->matrix.value), s->matrix.n_cells - s->n,
			s->matrix.n_cells - s->n == 1 ? "" : "s");
	if (!l->samples)
		fputs("without room: samples\n", s->out);
}

int sp_matrix_put_table(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct layout l = {0};
	struct shown s;
	int r = shown_new(p, o, out, &s);

	if (r < 0)
		return r;
	r = names_new(&s, &l);
	if (r >= 0) {
		layout_fit(&s, &l);
		sp_value_put(p, o->value, s.matrix.value, s.matrix.n_samples, out);
		matrix_put_all(&s, &l);
	}
	layout_done(&s, &l);
	sp_matrix_done(&s.matrix);
	return r;
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
