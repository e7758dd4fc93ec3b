/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the summary says of the guard: the first state, the last, and what was farther from every one than both. */
#include "cmd/guard_tell.h"

#include "base/mem.h"
#include "capture/guard.h"
#include "test.h"
#include <stdlib.h>

#define S UINT64_C(1000000000)
#define COST "x cost 139 % of a CPU, more than 1 % (--max-overhead): "

/* Of what began at 10 s and ends at 20 s. */
static void says(struct sp_guard_event e, const char *wanted)
{
	char *text SP_FREE = NULL;
	size_t size;
	FILE *words = open_memstream(&text, &size);

	e.is_guarded = true;
	e.first.percent = 139;
	e.first.limit = 1;
	sp_guard_event_put(&e, "x", 10 * S, 20 * S, words);
	fclose(words);
	assert_string_equal(text, wanted);
}

static void states(void **state)
{
	struct sp_guard_event e = {.one_in = 64,
				   .most = 64,
				   .windows = 1,
				   .most_windows = 1,
				   .n_steps = 1,
				   .first = {.one_in = 64, .windows = 1}};

	says(e, COST "one of 64 was taken; each counts so many times");
	e.n_steps = 2;
	e.one_in = e.most = 256;
	says(e, COST "one of 64 was taken at first, at the end one of 256; each counts so many times");
	e.n_steps = 9;
	e.windows = 8;
	e.most_windows = 32;
	says(e,
	     COST "one of 64 was taken at first, at times one of 256 for 1/32 of the time, at the end one of 256 for "
		  "1/8 of the time; each counts so many times");
	e.one_in = e.windows = 1;
	e.most = 128;
	e.most_windows = 1;
	says(e,
	     COST "one of 64 was taken at first, at times one of 128, at the end every one; each counts so many times");
	e.most = 64;
	e.missed_ns = S * 3 / 2;
	says(e,
	     COST "one of 64 was taken at first, at the end every one; each counts so many times; for 1.5 s soprof was "
		  "too late for that, and the next time counts for those, too");
}

static void detached(void **state)
{
	struct sp_guard_event e = {.one_in = 256,
				   .most = 256,
				   .windows = 1,
				   .most_windows = 1,
				   .n_steps = 3,
				   .n_detached = 1,
				   .is_detached = true,
				   .detached_ns = 13 * S,
				   .first = {.one_in = 256, .windows = 1}};

	says(e, COST "one of 256 was taken at first, at the end none; each counts so many times; it was detached after "
		     "3.0 s, and what came then is not there");
	e.n_detached = 2;
	e.away_ns = S / 2;
	says(e,
	     COST "one of 256 was taken at first, at the end none; each counts so many times; it was detached 2 times, "
		  "for 7.5 s, and what came then is not there");
	e.is_detached = false;
	e.n_detached = 1;
	says(e, COST
	     "one of 256 was taken at first, at the end one of 256; each counts so many times; it was detached for "
	     "0.5 s, and what came then is not there");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(states),
	    cmocka_unit_test(detached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
