/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_folded.c: any bytes as folded text.
 *
 * With keep_going nothing is malformed enough to fail; what is read without an error is read the same with keep_going,
 * without a loss; and whatever became a profile can be written as folded text (every fourth) and is read again without
 * an error, to the same sum and the same number of lines.
 */
#include "profile/profile.h"
#include "read.h"
#include "view/view.h"
#include <string.h>

static uint64_t sum(const struct sp_profile *p, bool *exact)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		int64_t value = sp_profile_row(p, i)->values[0];

		*exact &= value > INT64_MIN / 4 && value < INT64_MAX / 4; /* else a sum may have stayed at its end */
		n += (uint64_t)value;
	}
	return n;
}

static void write_and_read(const struct sp_profile *p)
{
	const struct sp_view_options o = {.delimiter = true, .annotate = true};
	struct sp_read_result result;
	struct sp_profile *q = NULL;
	char *text = NULL;
	size_t size = 0, n_lines = 0;
	bool exact = true;
	FILE *out = open_memstream(&text, &size);

	require(out && sp_view_by_name("folded")->write(p, &o, out) == 0 && fclose(out) == 0);
	require(read_as("folded", "folded: ", text, size, false, &q, &result) == 0);
	require(sp_profile_n_value_types(q) == 1 && !result.n_lost);
	for (size_t i = 0; i < size; i++)
		n_lines += text[i] == '\n';
	require(result.n_samples == n_lines);
	if (sum(p, &exact) != sum(q, &exact))
		require(!exact);
	sp_profile_free(q);
	free(text);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

enum { WRITE_EVERY = 4 }; /* it goes most of the way twice again */

int fuzz_one(const uint8_t *data, size_t size)
{
	static unsigned n_runs;
	struct sp_read_result strict, lenient;
	struct sp_profile *p = NULL, *q = NULL;
	bool good = read_as("folded", "folded: ", data, size, false, &p, &strict) == 0;

	if (read_again(good)) {
		require(read_as("folded", "folded: ", data, size, true, &q, &lenient) == 0);
		require(!good == !!lenient.n_lost && !lenient.n_lost == !*lenient.first_loss);
		require(!good || strict.n_samples == lenient.n_samples);
	}
	if (n_runs++ % WRITE_EVERY == 0)
		write_and_read(good ? p : q);
	sp_profile_free(q);
	if (good)
		sp_profile_free(p);
	return 0;
}
