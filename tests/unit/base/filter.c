/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seccomp filters: each test is a child that sets one up and makes a system call; how it ends, and what it wrote to
 * stderr, is what is looked at.
 */
#include "base/filter.h"
#include "test.h"
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_CALL = 5000, NOT_SET = 100 }; /* of no kernel yet */

static char said[300]; /* by the child, on stderr */

/* 0: the call was made, or refused by the kernel itself; else its errno, or what the process ended with. */
static int try(enum sp_filter which, const char *mode, long call, long a, long b, long c)
{
	int status, out[2];
	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(out[1], STDERR_FILENO);
		if (mode)
			setenv("SOPROF_FILTER", mode, 1);
		else
			unsetenv("SOPROF_FILTER");
		if (sp_filter_enter(which) < 0)
			_exit(NOT_SET);
		errno = 0;
		syscall(call, a, b, c, 0, 0, 0);
		_exit(errno == ENOSYS || errno == EPERM ? errno : 0);
	}
	close(out[1]);
	ssize_t n = read(out[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = 0;
	close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_listed(void **state)
{
	for (int which = 0; which < SP_N_FILTERS; which++) {
		assert_int_equal(try((enum sp_filter)which, "strict", SYS_getpid, 0, 0, 0), 0);
		assert_int_equal(try((enum sp_filter)which, "strict", SYS_openat, -1, 0, 0), 0);
		assert_string_equal(said, "");
	}
	assert_int_equal(try(SP_FILTER_AGENT, "strict", SYS_socket, -1, 0, 0), 0);
}

/* As on an older kernel. */
static void test_unknown(void **state)
{
	for (int which = 0; which < SP_N_FILTERS; which++) {
		assert_int_equal(try((enum sp_filter)which, NULL, NO_CALL, 0, 0, 0), ENOSYS);
		assert_int_equal(try((enum sp_filter)which, "off", NO_CALL, 0, 0, 0), ENOSYS);
		assert_string_equal(said, "");
		assert_int_equal(try((enum sp_filter)which, "strict", NO_CALL, 0, 0, 0), SP_FILTER_EXIT);
		assert_non_null(strstr(said, ") ended: its seccomp filter does not allow system call 5000\n"));
	}
}

static void test_dangerous(void **state)
{
	static const int calls[] = {SYS_ptrace,  SYS_process_vm_writev, SYS_mount, SYS_init_module,
				    SYS_unshare, SYS_io_uring_setup,    SYS_keyctl};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		assert_int_equal(try(SP_FILTER_AGENT, NULL, calls[i], -1, 0, 0), EPERM);
		assert_int_equal(try(SP_FILTER_BROKER, NULL, calls[i], -1, 0, 0), EPERM);
		assert_string_equal(said, "");
		assert_int_equal(try(SP_FILTER_ANSWER, NULL, calls[i], -1, 0, 0), SP_FILTER_EXIT);
		assert_int_equal(try(SP_FILTER_OPENER, NULL, calls[i], -1, 0, 0), SP_FILTER_EXIT);
		assert_non_null(strstr(said, "soprof: process "));
	}
	assert_int_equal(try(SP_FILTER_ANSWER, NULL, SYS_execve, 0, 0, 0), SP_FILTER_EXIT);
	assert_int_equal(try(SP_FILTER_ANSWER, NULL, SYS_socket, -1, 0, 0), SP_FILTER_EXIT);
	assert_int_equal(try(SP_FILTER_AGENT, NULL, SYS_perf_event_open, 0, 0, 0), EPERM);
	assert_int_equal(try(SP_FILTER_BROKER, "strict", SYS_perf_event_open, 0, 0, 0), 0);
}

static void test_arguments(void **state)
{
	assert_int_equal(try(SP_FILTER_AGENT, "strict", SYS_bpf, BPF_MAP_LOOKUP_ELEM, 0, 0), 0);
	assert_int_equal(try(SP_FILTER_AGENT, NULL, SYS_bpf, BPF_PROG_LOAD, 0, 0), EPERM);
	assert_int_equal(try(SP_FILTER_AGENT, NULL, SYS_bpf, BPF_MAP_CREATE, 0, 0), EPERM);
	assert_int_equal(try(SP_FILTER_BROKER, NULL, SYS_bpf, BPF_PROG_LOAD, 0, 0), EPERM);
	assert_int_equal(try(SP_FILTER_BROKER, "strict", SYS_bpf, BPF_PROG_LOAD, 0, 0), SP_FILTER_EXIT);
	assert_int_equal(try(SP_FILTER_ANSWER, NULL, SYS_bpf, BPF_MAP_LOOKUP_ELEM, 0, 0), SP_FILTER_EXIT);
	assert_int_equal(try(SP_FILTER_ANSWER, NULL, SYS_mprotect, 0, 4096, PROT_READ | PROT_EXEC), SP_FILTER_EXIT);
	assert_int_equal(try(SP_FILTER_ANSWER, "strict", SYS_mprotect, 0, 0, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(try(SP_FILTER_AGENT, "strict", SYS_mprotect, 0, 0, PROT_READ | PROT_EXEC), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_listed),
	    cmocka_unit_test(test_unknown),
	    cmocka_unit_test(test_dangerous),
	    cmocka_unit_test(test_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
