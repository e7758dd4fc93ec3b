/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * noise.c: how often a difference finds a library that changed, and how often it takes noise for a change: of made
 * recordings (tests/unit/profile/made.h).
 *
 * usage: noise PAIRS SECONDS HZ CPUS SLICES OLD-SHARE NEW-SHARE [KIND]
 * For each kind of program a line: its name, the pairs of which the target was found, rows of libraries, of functions
 * (self, total) and of stacks: how many, and of how many in a thousand nothing had changed, and the verdict was a
 * change.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "made.h"
#include "profile/diff.h"
#include "profile/profile.h"

static const struct sp_made_kind kinds[] = {
    {"even", 0.0003, 0, 0},           {"bursts", 0.05, 0, 0},   {"long bursts", 0.3, 0, 0},
    {"short phases", 0.05, 0.2, 0.6}, {"phases", 0.05, 1, 0.6}, {"long phases", 0.05, 3, 0.6},
};

struct tally {
	size_t found, rows[4], outside[4];
	double delta, square; /* the target's */
};

static bool is_target(const struct sp_diff *d, const struct sp_diff_row *row)
{
	return !strcmp(sp_profile_string(d->joined, sp_profile_file(d->joined, row->id)->name), "lib4.so.1");
}

static void count(struct tally *t, int what, bool outside)
{
	t->rows[what]++;
	t->outside[what] += outside;
}

static void judge(const struct sp_diff *d, enum sp_diff_by by, struct tally *t)
{
	struct sp_diff_rows rows;

	if (sp_diff_rows_new(d, by, &rows) < 0)
		exit(1);
	for (size_t i = 0; i < rows.n_rows; i++) {
		const struct sp_diff_row *row = &rows.rows[i];
		if (by == SP_DIFF_BY_LIBRARY && is_target(d, row)) {
			t->delta += row->self.delta;
			t->square += row->self.delta * row->self.delta;
		}
		if (by == SP_DIFF_BY_LIBRARY)
			t->found += is_target(d, row) && !row->self.within_noise && row->self.delta > 0;
		if (row->old_self + row->new_self > 0)
			count(t, by == SP_DIFF_BY_STACK ? 3 : (int)by, !row->self.within_noise);
		if (by == SP_DIFF_BY_FUNCTION)
			count(t, 2, !row->total.within_noise);
	}
	sp_diff_rows_done(&rows);
}

static void measure(const struct sp_made *made, size_t n, double new_share)
{
	struct tally t = {0};

	for (size_t i = 0; i < n; i++) {
		struct sp_diff_options o = {.scale = SP_DIFF_SHARES};
		struct sp_made old = *made, new = *made;
		struct sp_diff *d;
		old.program = new.program = i + 1;
		old.seed = 2 * i + 1;
		new.seed = 2 * i + 2;
		new.share = new_share;
		struct sp_profile *p[] = {sp_made_record(&old), sp_made_record(&new)};
		if (!p[0] || !p[1] || sp_diff_new(p[0], p[1], &o, &d) < 0)
			exit(1);
		for (int by = 0; by < 3; by++)
			judge(d, (enum sp_diff_by)by, &t);
		sp_diff_free(d);
		sp_profile_free(p[0]);
		sp_profile_free(p[1]);
	}
	double mean = t.delta / (double)n, deviation = sqrt(t.square / (double)n - mean * mean);
	printf("%s: %zu of %zu (known noise: %.0f)", made->kind->name, t.found, n,
	       (double)n * erfc(-(mean / deviation - 1.96) / M_SQRT2) / 2);
	for (int k = 0; k < 4; k++)
		printf(" %zu %.1f", t.rows[k], 1000.0 * (double)t.outside[k] / (double)SP_MAX(t.rows[k], (size_t)1));
	puts("");
}

int main(int argc, char **argv)
{
	if (argc < 8)
		return 2;
	struct sp_made made = {.seconds = strtod(argv[2], NULL),
			       .hz = strtod(argv[3], NULL),
			       .n_cpus = (unsigned)strtoul(argv[4], NULL, 10),
			       .n_slices = (unsigned)strtoul(argv[5], NULL, 10),
			       .share = strtod(argv[6], NULL)};

	for (size_t i = 0; i < SP_COUNT(kinds); i++) {
		made.kind = &kinds[i];
		if (argc < 9 || !strcmp(argv[8], kinds[i].name))
			measure(&made, strtoul(argv[1], NULL, 10), strtod(argv[7], NULL));
	}
	return 0;
}
