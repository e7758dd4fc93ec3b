/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/matrix.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "profile/frames.h"
#include "profile/identity.h"

#include <errno.h>
#include <stdlib.h>

/* The identity of a cell. Interned, so without padding. */
struct cell_identity {
	uint32_t library, caller, entry;
};

struct matrix_builder {
	const struct sp_profile *p;
	struct sp_identity same;
	uint32_t value;
	bool entries;
	struct sp_intern *identities;
	struct sp_cell *cells; /* by number */
	size_t capacity;
	uint32_t *counted_in; /* by library: row + 1 of the profile that was counted last */
};

static int cell_add(struct matrix_builder *c, struct cell_identity place, bool is_leaf, const struct sp_row *row)
{
	bool is_new;
	int64_t number =
	    sp_intern_add_to(c->identities, &place, sizeof(place), &c->cells, &c->capacity, sizeof(*c->cells), &is_new);

	if (number < 0)
		return (int)number;
	struct sp_cell *cell = &c->cells[number];
	if (is_new)
		*cell = (struct sp_cell){.library = place.library, .caller = place.caller, .entry = place.entry};
	if (is_leaf)
		sp_saturating_add(&cell->self, row->values[c->value]);
	sp_saturating_add(&cell->total, row->values[c->value]);
	sp_saturating_add(&cell->n_samples, sp_identity_samples_with(&c->same, row, c->value));
	return 0;
}

/* The cell of the run of `library` that begins at frame `at`. */
static struct cell_identity cell_of_run(const struct matrix_builder *c, const struct sp_frames *frames, size_t at,
					uint32_t library)
{
	struct cell_identity place = {.library = library};
	size_t lowest = at;

	for (; at < frames->n && place.caller == 0; at++) {
		uint32_t here = c->same.library_of[sp_frames_at(frames, at)];
		if (here == library)
			lowest = at;
		else
			place.caller = here;
	}
	if (c->entries && library != 0)
		place.entry = c->same.function_of[sp_frames_at(frames, lowest)];
	return place;
}

static int matrix_row_add(struct matrix_builder *c, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(c->p, number);
	const struct sp_frames frames = sp_profile_frames(c->p, row);
	uint32_t last = UINT32_MAX;
	int r = 0;

	if (frames.n == 0)
		return cell_add(c, (struct cell_identity){0}, true, row);
	for (size_t i = 0; i < frames.n && r == 0; i++) {
		uint32_t library = c->same.library_of[sp_frames_at(&frames, i)];
		if (library == last || c->counted_in[library] == number + 1)
			continue;
		c->counted_in[library] = number + 1;
		r = cell_add(c, cell_of_run(c, &frames, i, library), i == 0, row);
		last = library;
	}
	return r;
}

static int matrix_rows_add(struct matrix_builder *c)
{
	c->counted_in = calloc(sp_profile_n_files(c->p), sizeof(*c->counted_in));
	if (!c->counted_in || sp_intern_new(&c->identities) < 0)
		return -ENOMEM;
	int r = 0;
	for (uint32_t i = 0; i < sp_profile_n_rows(c->p) && r == 0; i++)
		r = sp_profile_row(c->p, i)->values[c->value] != 0 ? matrix_row_add(c, i) : 0;
	return r;
}

static int compare_cells(const void *left, const void *right)
{
	const struct sp_cell *a = left, *b = right;

	return SP_FALLING(a->self, b->self)
	       ?: SP_FALLING(a->total, b->total)
	       ?: SP_RISING(a->library, b->library)
	       ?: SP_RISING(a->caller, b->caller)
	       ?: SP_RISING(a->entry, b->entry);
}

static void matrix_finish(struct matrix_builder *c, struct sp_matrix *ret_matrix)
{
	struct sp_matrix m = {.n_cells = sp_intern_count(c->identities)};

	for (uint32_t i = 0; i < sp_profile_n_rows(c->p); i++) {
		sp_saturating_add(&m.value, sp_profile_row(c->p, i)->values[c->value]);
		sp_saturating_add(&m.n_samples, sp_identity_samples_with(&c->same, sp_profile_row(c->p, i), c->value));
	}
	if (m.n_cells > 0)
		qsort(c->cells, m.n_cells, sizeof(*c->cells), compare_cells);
	m.cells = sp_take_ptr(c->cells);
	*ret_matrix = m;
}

int sp_matrix_new(const struct sp_profile *p, uint32_t value, bool entries, struct sp_matrix *ret_matrix)
{
	struct matrix_builder c = {.p = p, .value = value, .entries = entries};
	int r = value < sp_profile_n_value_types(p) ? sp_identity_new(p, &c.same) : -EINVAL;

	if (r == 0)
		r = matrix_rows_add(&c);
	if (r == 0)
		matrix_finish(&c, ret_matrix);
	sp_identity_done(&c.same);
	sp_intern_free(c.identities);
	free(c.cells);
	free(c.counted_in);
	return r;
}

void sp_matrix_done(struct sp_matrix *m)
{
	free(m->cells);
	*m = (struct sp_matrix){0};
}
