/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/html_noise.h"

#include <errno.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/mem.h"
#include "profile/diff.h"
#include "profile/identity.h"
#include "view/html_stacks.h"

enum { NO_ROW = UINT32_MAX, SEVERAL = UINT32_MAX - 1 };

/* What a row of functions is told apart by, without padding: interned in the rows' order. */
struct function {
	uint32_t id, of;
};

static void put_half(const struct sp_change *c, bool is_first, FILE *out)
{
	fprintf(out, is_first ? "%.4g" : ",%.4g", c ? (c->high - c->low) / 2 : -1.0);
}

static void put_halves(const char *name, const struct sp_diff_rows *rows, const uint32_t *row_of, uint32_t n, FILE *out)
{
	fprintf(out, ",\n\"%s\":[", name);
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_diff_row *row = row_of[i] < rows->n_rows ? &rows->rows[row_of[i]] : NULL;
		put_half(row ? &row->self : NULL, i == 0, out);
		put_half(row ? &row->total : NULL, false, out);
	}
	fputc(']', out);
}

static uint32_t *no_rows(uint32_t n)
{
	uint32_t *row_of = malloc((n + 1U) * sizeof(*row_of));

	for (uint32_t i = 0; row_of && i < n; i++)
		row_of[i] = NO_ROW;
	return row_of;
}

/* --- libraries ---------------------------------------------------------------------------------------------------- */
static int put_libraries(const struct sp_diff *d, const struct sp_html_stacks *s, FILE *out)
{
	SP_FREE uint32_t *row_of_file = no_rows(sp_profile_n_files(d->joined));
	SP_FREE uint32_t *row_of = no_rows(s->n_libraries);
	struct sp_diff_rows rows;

	if (!row_of_file || !row_of)
		return -ENOMEM;
	int r = sp_diff_fold(d, SP_DIFF_BY_LIBRARY, &rows);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < rows.n_rows; i++)
		row_of_file[rows.rows[i].none ? 0 : rows.rows[i].id] = i;
	for (uint32_t i = 0; i < s->n_libraries; i++)
		row_of[i] = row_of_file[s->files[i]];
	put_halves("libraries", &rows, row_of, s->n_libraries, out);
	sp_diff_rows_done(&rows);
	return 0;
}

/* --- functions ---------------------------------------------------------------------------------------------------- */
/* The row of each entity, if its frames are all of one row. A row is one entity: joined frames are told by names. */
static int find_rows(const struct sp_diff *d, const struct sp_html_stacks *s, struct sp_intern *functions,
		     uint32_t *row_of)
{
	struct sp_identity same;
	int r = sp_identity_new(d->joined, &same);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < sp_profile_n_frames(d->joined) && r >= 0; i++) {
		struct function f = {.id = same.function_of[i], .of = sp_identity_home(d->joined, &same, i)};
		if (s->entity_of[i] >= s->n_entities)
			continue;
		int64_t number = sp_intern_add(functions, &f, sizeof(f));
		uint32_t *row = &row_of[s->entity_of[i]];
		r = number < 0 ? (int)number : 0;
		*row = *row == NO_ROW || *row == number ? (uint32_t)number : SEVERAL;
	}
	sp_identity_done(&same);
	return r;
}

static int intern_rows(const struct sp_diff_rows *rows, struct sp_intern *functions)
{
	int64_t number = 0;

	for (size_t i = 0; i < rows->n_rows && number >= 0; i++) {
		struct function f = {.id = rows->rows[i].id, .of = rows->rows[i].of};
		number = sp_intern_add(functions, &f, sizeof(f));
	}
	return number < 0 ? (int)number : 0;
}

static int put_functions(const struct sp_diff *d, const struct sp_html_stacks *s, FILE *out)
{
	SP_FREE uint32_t *row_of = no_rows(s->n_entities);
	struct sp_intern *functions = NULL;
	struct sp_diff_rows rows = {0};
	int r = row_of ? sp_intern_new(&functions) : -ENOMEM;

	if (r >= 0)
		r = sp_diff_fold(d, SP_DIFF_BY_FUNCTION, &rows);
	if (r >= 0)
		r = intern_rows(&rows, functions);
	if (r >= 0)
		r = find_rows(d, s, functions, row_of);
	if (r >= 0)
		put_halves("entities", &rows, row_of, s->n_entities, out);
	sp_diff_rows_done(&rows);
	sp_intern_free(functions);
	return r;
}

int sp_html_noise_write(const struct sp_diff *d, const struct sp_html_stacks *s, FILE *out)
{
	struct sp_diff shares = *d;

	shares.scale = SP_DIFF_SHARES;
	fprintf(out, "\"noise\":{\"value\":%d,\"from\":\"%s\",\"dispersion\":%.6g,\"spread\":%.6g", SP_DIFF_NEW,
		d->method == SP_DIFF_FROM_SLICES ? "slices" : "counts", d->dispersion, d->spread);
	int r = put_libraries(&shares, s, out);
	if (r >= 0)
		r = put_functions(&shares, s, out);
	fputs("},\n", out);
	return r;
}
