/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_gmon.c: any bytes as gmon.out or as LD_PROFILE's file.
 *
 * What is read without an error is read the same with keep_going, without a loss; no value is negative, and a row has a
 * leaf and at most one caller. Every view of counted calls shows what was read: all of them for every eighth input,
 * else one after the other.
 */
#include "profile/profile.h"
#include "read.h"
#include "view/view.h"

#include <stdio.h>
#include <string.h>

enum { SHOW_ALL_EVERY = 8 };

static void show(const struct sp_profile *p, FILE *out)
{
	static unsigned n_shown, next;
	const struct sp_view_options o = {0};
	bool all = n_shown++ % SHOW_ALL_EVERY == 0;
	unsigned n = 0;

	for (size_t i = 0; sp_views[i]; i++) {
		if (!sp_views[i]->calls && strcmp(sp_views[i]->name, "callgrind") != 0)
			continue;
		if (all || n == next)
			require(sp_views[i]->write(p, &o, out) == 0 &&
				(!sp_views[i]->beside || sp_views[i]->write_beside(p, &o, out) == 0));
		n++;
	}
	next = next + 1 < n ? next + 1 : 0;
}

static void check_rows(const struct sp_profile *p)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		uint32_t n = sp_profile_stack(p, row->user).n_frames;

		require(row->values[0] >= 0 && row->values[1] >= 0 && (n == 1 || n == 2) && !row->kernel);
	}
}

static int read_and_check(const uint8_t *data, size_t size, bool keep_going, struct sp_read_result *ret_result)
{
	struct sp_profile *p = NULL;
	int r = read_as("gmon", "gmon: ", data, size, keep_going, &p, ret_result);

	static FILE *null;

	if (!null)
		null = fopen("/dev/null", "we"); /* kept to the end */
	require(null != NULL);
	if (r == 0) {
		check_rows(p);
		show(p, null);
		require(fflush(null) == 0);
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
