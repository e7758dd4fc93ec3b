/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a sample of this machine's files say what readelf says: tests/tables/compare does the work. */
#include "base/mem.h"
#include "test.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMPARE SP_SOURCE_ROOT "/tests/tables/compare"
#define BUILT SP_BUILD_ROOT "/tests/unit/unwind/"
#define LIB "/usr/lib/x86_64-linux-gnu/"

enum { MAX_ARGS = 40 };

/* What Debian with our packages has: C, C++, hand-written assembly, static, PIE, relocatable, our own. */
static const char *const always[] = {
    "vdso",
    LIB "libc.so.6",
    LIB "ld-linux-x86-64.so.2",
    LIB "libcrypto.so.3",
    LIB "libstdc++.so.6",
    "/usr/bin/python3",
    "/bin/bash",
    "/sbin/ldconfig",
    LIB "crt1.o",
    LIB "Scrt1.o",
    LIB "crti.o",
    BUILT "table-odd",
    BUILT "table-blob",
};
/* Written in Rust and Go, and a JavaScript engine's assembly: what of it is there. */
static const char *const if_present[] = {
    LIB "libmnl.so.0",        LIB "libXau.so.6",     LIB "librsvg-2.so.2", "/usr/bin/rustc",
    "/root/.cargo/bin/rustc", LIB "libgnutls.so.30", LIB "libgo.so.21",
};

static int run(char *const *args, bool show)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		if (!show)
			dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execv(args[0], args);
		_exit(127);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void sample_equals_readelf(void **state)
{
	const char *args[MAX_ARGS] = {"/usr/bin/python3", COMPARE, BUILT "table-blob"};
	size_t n = 3;
	for (size_t i = 0; i < SP_COUNT(always); i++)
		args[n++] = always[i];
	for (size_t i = 0; i < SP_COUNT(if_present) && SP_FEWER == 1; i++)
		if (access(if_present[i], R_OK) == 0)
			args[n++] = if_present[i];
	assert_int_equal(run((char *const *)args, true), 0);
}

/* The comparison can fail: of another file's table it says so. */
static void comparison_can_fail(void **state)
{
	const char *const args[] = {"/usr/bin/python3", COMPARE, SP_SOURCE_ROOT "/tests/tables/other-table",
				    BUILT "table-odd", NULL};
	assert_int_equal(run((char *const *)args, false), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sample_equals_readelf),
	    cmocka_unit_test(comparison_can_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
