/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * matrix.h: the caller matrix: what each library costs, attributed to the library that called it and to its entry
 * function.
 *
 * A run is a sequence of neighbouring frames of one library (identity.h). Of each library on a sample's stack only
 * the run nearest to the leaf counts: its caller is the nearest other library below that run, its entry function that
 * of the run's lowest frame. Frames of no known file neither end a run nor call; they form a library "none" without
 * entry functions. Where there is no other library below, the cell has no caller. So each sample is in exactly one
 * cell of each library on its stack: self (of the leaf's library), total and samples of a library's cells add up to
 * those of sp_totals_by(SP_TOTAL_BY_LIBRARY), unless a sum saturates.
 * Errors: -ENOMEM, -EINVAL for a value that the profile does not have. Only reads the profile; reentrant.
 */
#ifndef SP_PROFILE_MATRIX_H
#define SP_PROFILE_MATRIX_H

#include "profile/profile.h"

struct sp_cell {
	uint32_t library; /* the callee: a file, 0 = frames of no known file, or no frames at all */
	uint32_t caller;  /* a file, 0 = no other library below */
	uint32_t entry;   /* a function of `library`, 0 = no name, or not asked for */
	int64_t self, total, n_samples;
};

struct sp_matrix {
	struct sp_cell *cells; /* by falling self, then total, then by library, caller and entry */
	size_t n_cells;
	int64_t value, n_samples; /* of the whole profile */
};

/* entries: a cell for each entry function; else one for each pair of libraries. */
int sp_matrix_new(const struct sp_profile *p, uint32_t value, bool entries, struct sp_matrix *ret_matrix);
void sp_matrix_done(struct sp_matrix *m);

#endif
