/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_perf.c: any bytes as the text of perf script.
 *
 * With keep_going nothing is malformed enough to fail; every sample that was counted is in the rows; and what can be
 * read without losses is the same either way. The last byte says whether the text is strictly read first.
 */
#include "profile/profile.h"
#include "read.h"
#include <string.h>

static void check_stack(const struct sp_profile *p, uint32_t number)
{
	struct sp_stack s = sp_profile_stack(p, number);
	for (uint32_t i = 0; i < s.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(p, s.frames[i]);
		require(f->func && *sp_profile_string(p, sp_profile_func(p, f->func)->name));
	}
}

static void check_rows(const struct sp_profile *p, const struct sp_read_result *result)
{
	int64_t sum = 0;
	bool counted = true;
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		const char *event = sp_profile_string(p, sp_profile_key(p, row->key)->recipe);
		counted &= strcmp(event, "samples") != 0; /* whose periods are numbers of samples */
		require(row->values[0] >= 0 && !__builtin_add_overflow(sum, counted ? row->values[0] : 0, &sum));
		check_stack(p, row->user);
		check_stack(p, row->kernel);
	}
	require(!counted || (uint64_t)sum == result->n_samples);
}

static int read_and_check(const uint8_t *data, size_t size, bool keep_going, struct sp_read_result *ret_result)
{
	struct sp_profile *p = NULL;
	int r = read_as("perf", "perf: ", data, size, keep_going, &p, ret_result);

	if (r == 0) {
		check_rows(p, ret_result);
		sp_profile_free(p);
	}
	return r;
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	struct sp_read_result strict, lenient;
	int r = size && data[size - 1] % 2 ? read_and_check(data, size, false, &strict) : -EBADMSG;
	require(r == 0 || r == -EBADMSG);
	require(read_and_check(data, size, true, &lenient) == 0);
	if (r == 0)
		require(!lenient.n_lost && strict.n_samples == lenient.n_samples);
	return 0;
}
