/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * matrix.h: the caller matrix: what each library costs, charged to the library that called it and to the function
 * through which it did.
 *
 * A run is a row of neighbouring frames of one library. Of each library on a sample's stack (libraries as identity.h
 * tells them) the run nearest to the leaf counts, and it alone: the caller is the nearest other library below that run,
 * the entry function that of the run's lowest frame. Frames of no known file stand for nobody: they neither end a run
 * nor call; they are a library "none" of their own, without entry functions. Where no other library is below, the cell
 * has no caller. So each sample is in exactly one cell of each library that it has: self (the leaf's library), total
 * and samples of all cells of a library add up to those of sp_totals_by(SP_TOTAL_BY_LIBRARY), unless a sum saturates.
 * 0 or -ENOMEM, -EINVAL for a value that the profile does not have. Only reads the profile; reentrant.
 */
#ifndef SP_PROFILE_MATRIX_H
#define SP_PROFILE_MATRIX_H

#include "profile/profile.h"

struct sp_cell {
	uint32_t library; /* called: a file, 0 = frames of no known file, or no frames at all */
	uint32_t caller;  /* a file, 0 = no other library below */
	uint32_t entry;   /* a function of `library`, 0 = without a name, or not asked for */
	int64_t self, total, n_samples;
};

struct sp_matrix {
	struct sp_cell *cells; /* by falling self, then total, then by library, caller and entry */
	size_t n_cells;
	int64_t value, n_samples; /* of the whole profile */
};

/* entries: tell entry functions apart; else one cell for each pair of libraries. */
int sp_matrix_new(const struct sp_profile *p, uint32_t value, bool entries, struct sp_matrix *ret_matrix);
void sp_matrix_done(struct sp_matrix *m);

#endif
