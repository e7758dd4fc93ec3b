/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_pprof.c: any bytes as profile.proto, raw or compressed.
 *
 * What is read without an error is read the same with keep_going, without a loss; every value that was read stands in a
 * row; and whatever became a profile can be written and read again (every fourth), with the same sums.
 */
#include "profile/profile.h"
#include "read.h"
#include "view/view.h"
#include <string.h>

/* Wrapping, so that the order does not matter; false: a sum of the reader may have stayed at the end of its range. */
static bool sum_up(const struct sp_profile *p, uint64_t *sums)
{
	bool exact = true;

	memset(sums, 0, SP_MAX_VALUES * sizeof(*sums));
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		for (uint32_t k = 0; k < sp_profile_n_value_types(p); k++) {
			int64_t value = sp_profile_row(p, i)->values[k];

			exact &= value > INT64_MIN / 4 && value < INT64_MAX / 4;
			sums[k] += (uint64_t)value;
		}
	return exact;
}

/* The profile that is read from p as it is written. */
static struct sp_profile *again(const struct sp_profile *p, char **ret_bytes, size_t *ret_size)
{
	const struct sp_view_options o = {0};
	struct sp_read_result result;
	struct sp_profile *q = NULL;
	FILE *out = open_memstream(ret_bytes, ret_size);

	require(out && sp_view_by_name("pprof")->write(p, &o, out) == 0 && fclose(out) == 0);
	require(read_as("pprof", "pprof: byte ", *ret_bytes, *ret_size, false, &q, &result) == 0);
	return q;
}

/* Of labels and lines, each as often as rows name them: what is said, not in which order. */
static uint64_t labels_and_lines(const struct sp_profile *p)
{
	uint64_t sum = 0;
	size_t n;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		struct sp_stack user = sp_profile_stack(p, row->user);

		sp_profile_labels(p, sp_profile_key(p, row->key)->labels, &n);
		sum += n << 32;
		for (uint32_t k = 0; k < user.n_frames; k++)
			sum += sp_profile_frame(p, user.frames[k])->line;
	}
	return sum;
}

static void write_and_read(const struct sp_profile *p)
{
	uint64_t before[SP_MAX_VALUES], after[SP_MAX_VALUES];
	char *bytes = NULL, *bytes_again = NULL;
	size_t size = 0, size_again = 0;
	struct sp_profile *q = again(p, &bytes, &size), *r = again(q, &bytes_again, &size_again);

	require(labels_and_lines(q) == labels_and_lines(r));
	require(sp_profile_n_rows(q) == sp_profile_n_rows(r));
	if (sum_up(p, before) && sum_up(q, after))
		require(memcmp(before, after, sizeof(before)) == 0);
	require(sp_profile_n_value_types(p) == sp_profile_n_value_types(q));
	sp_profile_free(q);
	sp_profile_free(r);
	free(bytes);
	free(bytes_again);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

enum { WRITE_EVERY = 4 }; /* it is written and read twice */

int fuzz_one(const uint8_t *data, size_t size)
{
	static unsigned n_runs;
	struct sp_read_result strict, lenient;
	struct sp_profile *p = NULL, *q = NULL;
	bool good = read_as("pprof", "pprof: byte ", data, size, false, &p, &strict) == 0;
	bool writes = n_runs++ % WRITE_EVERY == 0;

	if (good && writes && sp_profile_n_value_types(p))
		write_and_read(p);
	if (read_again(good) && read_as("pprof", "pprof: byte ", data, size, true, &q, &lenient) == 0) {
		require(!good || (!lenient.n_lost && strict.n_samples == lenient.n_samples));
		require(good || lenient.n_lost);
		require(!lenient.n_lost == !*lenient.first_loss);
		if (!good && writes && sp_profile_n_value_types(q))
			write_and_read(q);
		sp_profile_free(q);
	}
	if (good)
		sp_profile_free(p);
	return 0;
}
