/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/time.h"
#include "made.h"
#include "store/priv.h"

#define T0 (UINT64_C(1763722800) * SP_NS_PER_S) /* an hour's beginning */

static struct sp_store *store_at(const char *path, const struct sp_store_options *o)
{
	struct sp_store *s = NULL;
	int r = sp_store_open(path, o, &s);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
	return s;
}

static void add(struct sp_store *s, uint64_t wall_ns, const struct sp_profile *p, const char *source)
{
	struct sp_store_window w = {.wall_ns = wall_ns,
				    .boot_ns = wall_ns / 7,
				    .duration_ns = 9 * SP_NS_PER_S,
				    .rate_mhz = 19000,
				    .n_cpus = 2,
				    .n_lost = 3,
				    .source = source};
	int r = sp_store_add(s, &w, p);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
}

static struct sp_profile *new_profile(void)
{
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	return p;
}

/* Windows of one profile that grows, over some minutes: what the agent does but for the clearing of rows. */
static void what_goes_in_comes_out(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		struct made m = {
		    .n_files = 12, .n_funcs = 200, .n_stacks = 300, .n_keys = 30, .n_rows = 150, .n_values = 1 + seed};
		struct sums in = sums_new(m.n_values), in_groups = sums_new(m.n_values);
		struct sums out = sums_new(m.n_values), minutes = sums_new(m.n_values), hours = sums_new(m.n_values);
		struct sp_store_options o = {0};
		struct sp_profile *p = new_profile();
		char *path = made_directory();
		struct sp_store *s = store_at(path, &o);
		uint64_t random = seed;

		made_things(p, &m, &random);
		for (uint64_t i = 0; i < 40; i++) {
			made_rows(p, &m, &random);
			add(s, T0 + (i * 10 + i / 20 * 3600) * SP_NS_PER_S, p, "cpu");
			sums_of_profile(&in, p, false);
			sums_of_profile(&in_groups, p, true);
		}
		assert_int_equal(sums_of_store(&out, s, SP_RES_10S, false), 40);
		sums_equal(&in, &out);
		sp_store_close(s); /* what was not over is rolled up */
		s = store_at(path, &(struct sp_store_options){.read_only = true});
		assert_int_equal(sums_of_store(&minutes, s, SP_RES_1M, true), 8);
		sums_equal(&in_groups, &minutes);
		assert_int_equal(sums_of_store(&hours, s, SP_RES_1H, true), 2);
		sums_equal(&in_groups, &hours);
		sp_store_close(s);
		sums_done(&in), sums_done(&in_groups), sums_done(&out), sums_done(&minutes), sums_done(&hours);
		sp_profile_free(p);
		made_directory_gone(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_goes_in_comes_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
