/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/diff_significance.h"

#include "base/intern.h"
#include "profile/priv.h"

#include <errno.h>
#include <stdlib.h>

/* The identity of a function's row. Interned in the order of the rows, so without padding. */
struct function {
	uint32_t id, second_id;
};

struct sp_significance {
	const struct sp_profile *joined;
	struct sp_identity same; /* of joined */
	struct sp_diff_rows libraries, functions;
	uint32_t *row_of_file; /* of libraries, + 1; 0 = none */
	uint32_t n_files;
	struct sp_intern *numbers; /* of functions */
	struct sp_change other;
};

static int significance_add_libraries(const struct sp_diff *d, struct sp_significance *j)
{
	int r = sp_diff_rows_new(d, SP_DIFF_BY_LIBRARY, &j->libraries);

	j->n_files = sp_profile_n_files(d->joined);
	j->row_of_file = calloc((size_t)j->n_files + 1, sizeof(*j->row_of_file));
	if (r < 0 || !j->row_of_file)
		return r < 0 ? r : -ENOMEM;
	j->other.factor = 1;
	j->other.quantile = SP_DIFF_Z_95;
	for (uint32_t i = 0; i < j->libraries.n_rows; i++) {
		const struct sp_diff_row *row = &j->libraries.rows[i];
		j->row_of_file[row->none ? 0 : row->id] = i + 1;
		if (row->self.factor > j->other.factor)
			j->other = row->self;
	}
	return 0;
}

static int significance_add_functions(const struct sp_diff *d, struct sp_significance *j)
{
	int r = sp_diff_rows_new(d, SP_DIFF_BY_FUNCTION, &j->functions);
	int64_t number = 0;

	if (r == 0)
		r = sp_intern_new(&j->numbers);
	for (size_t i = 0; i < j->functions.n_rows && r == 0 && number >= 0; i++) {
		struct function f = {.id = j->functions.rows[i].id, .second_id = j->functions.rows[i].second_id};
		number = sp_intern_add(j->numbers, &f, sizeof(f));
	}
	return r == 0 && number < 0 ? (int)number : r;
}

int sp_significance_new(const struct sp_diff *d, struct sp_significance **ret_significance)
{
	struct sp_significance *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->joined = d->joined;
	int r = sp_identity_new(d->joined, &j->same);
	if (r == 0)
		r = significance_add_libraries(d, j);
	if (r == 0)
		r = significance_add_functions(d, j);
	if (r < 0) {
		sp_significance_free(j);
		return r;
	}
	*ret_significance = j;
	return 0;
}

void sp_significance_free(struct sp_significance *j)
{
	if (!j)
		return;
	sp_identity_done(&j->same);
	sp_diff_rows_done(&j->libraries);
	sp_diff_rows_done(&j->functions);
	sp_intern_free(j->numbers);
	free(j->row_of_file);
	free(j);
}

const struct sp_diff_row *sp_significance_library_row(const struct sp_significance *j, uint32_t file)
{
	uint32_t row = file < j->n_files ? j->row_of_file[file] : 0;

	return row != 0 ? &j->libraries.rows[row - 1] : NULL;
}

static const struct sp_diff_row *row_of_function(const struct sp_significance *j, const struct sp_tree_label *label)
{
	uint32_t file = sp_profile_func(j->joined, label->func)->file;
	struct function f = {.id = label->func, .second_id = file != 0 ? j->same.files[file] : label->library};
	int64_t number = sp_intern_find(j->numbers, &f, sizeof(f));

	return number >= 0 ? &j->functions.rows[number] : NULL;
}

const struct sp_diff_row *sp_significance_label_row(const struct sp_significance *j, const struct sp_tree_label *label)
{
	if (label->kind == SP_TREE_FRAME)
		return row_of_function(j, label);
	return label->kind == SP_TREE_RUN ? sp_significance_library_row(j, label->library) : NULL;
}

const struct sp_change *sp_significance_default(const struct sp_significance *j)
{
	return &j->other;
}
