/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/aside.h"
#include "test.h"

#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

struct work {
	int go[2]; /* a pipe: the work ends when something comes */
	pid_t tid;
	char got;
};

static void *wait_for_go(void *arg)
{
	struct work *w = arg;

	w->tid = gettid();
	if (read(w->go[0], &w->got, 1) != 1)
		w->got = 0;
	return NULL;
}

/* The caller goes on while the work waits for it. */
static void meanwhile(void **state)
{
	struct sp_aside a = {.is_begun = false};
	struct work w = {.got = 0};

	assert_int_equal(pipe(w.go), 0);
	sp_aside_begin(&a, wait_for_go, &w);
	assert_int_equal(write(w.go[1], "x", 1), 1);
	sp_aside_wait(&a);
	assert_int_equal(w.got, 'x');
	assert_int_not_equal(w.tid, gettid());
	sp_aside_wait(&a); /* once more: nothing */
	close(w.go[0]);
	close(w.go[1]);
}

static void not_begun(void **state)
{
	struct sp_aside a = {.is_begun = false};

	sp_aside_wait(&a);
}

#ifndef __SANITIZE_ADDRESS__ /* which needs memory for a thread itself, and ends without */
/* Without memory for another stack the caller does the work itself. */
static void no_thread(void **state)
{
	struct rlimit old, none;
	struct sp_aside a = {.is_begun = false};
	struct work w = {.got = 0};

	assert_int_equal(pipe(w.go), 0);
	assert_int_equal(write(w.go[1], "y", 1), 1);
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	none = old;
	none.rlim_cur = 1 << 20;
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	sp_aside_begin(&a, wait_for_go, &w);
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	assert_int_equal(w.tid, gettid());
	assert_int_equal(w.got, 'y');
	sp_aside_wait(&a);
	close(w.go[0]);
	close(w.go[1]);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_ADDRESS__
	    cmocka_unit_test(no_thread), /* first: later ones could have the stack of a thread that has ended */
#endif
	    cmocka_unit_test(meanwhile),
	    cmocka_unit_test(not_begun),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
