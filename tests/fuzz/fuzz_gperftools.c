/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_gperftools.c: any bytes as the CPU profile of gperftools.
 *
 * What is read without an error is read the same with keep_going, without a loss; every sample that was counted stands
 * in a row, and no value is negative.
 */
#include "profile/profile.h"
#include "read.h"
#include <string.h>

static void check_rows(const struct sp_profile *p, const struct sp_read_result *result)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);

		require(row->values[0] >= 0 && row->values[1] >= 0);
		sum += (uint64_t)row->values[0];
	}
	require(sum == result->n_samples || result->n_samples > INT64_MAX / 2);
}

static int read_and_check(const uint8_t *data, size_t size, bool keep_going, struct sp_read_result *ret_result)
{
	struct sp_profile *p = NULL;
	int r = read_as("gperftools", "gperftools: ", data, size, keep_going, &p, ret_result);

	if (r == 0) {
		check_rows(p, ret_result);
		sp_profile_free(p);
	}
	return r;
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	read_both_ways(read_and_check, data, size);
	return 0;
}
