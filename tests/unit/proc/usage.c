/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/usage.h"
#include "base/time.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 << 20, MIB = 1 << 20 };
#define MOST_NS UINT64_C(4000000000) /* of 0.4 s: other units are not so near, and a machine may be as slow */

static void burn_user(uint64_t ns)
{
	uint64_t end = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;
	volatile uint64_t n = 0;

	while (sp_time_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		for (int i = 0; i < 100000; i++)
			n = n + (uint64_t)i;
}

static void burn_system(uint64_t ns)
{
	static char buffer[1 << 20];
	uint64_t end = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (sp_time_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		assert_int_equal(read(fd, buffer, sizeof(buffer)), sizeof(buffer));
	close(fd);
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * SP_NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

/* getrusage is another way to the same numbers. */
static void our_time_as_getrusage_tells(void **state)
{
	struct rusage r;
	struct sp_usage u;

	burn_user(400000000);
	burn_system(200000000);
	uint64_t before_ns = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_int_equal(sp_usage_get(0, &u), 0);
	assert_in_range(u.user_ns + u.system_ns, before_ns, sp_time_ns(CLOCK_PROCESS_CPUTIME_ID));
	assert_int_equal(getrusage(RUSAGE_SELF, &r), 0);
	/* by what is user and what is system: one is twice the other */
	assert_in_range(u.user_ns + 90000000, ns_of(r.ru_utime), ns_of(r.ru_utime) + 180000000);
	assert_in_range(u.system_ns + 90000000, ns_of(r.ru_stime), ns_of(r.ru_stime) + 180000000);
}

static void memory_now_and_at_most(void **state)
{
	struct sp_usage before, during, after;
	struct rusage r;

	assert_int_equal(sp_usage_get(0, &before), 0);
	char *block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(block != MAP_FAILED);
	memset(block, 1, BLOCK_BYTES);
	assert_int_equal(sp_usage_get(0, &during), 0);
	assert_in_range(during.memory_bytes - before.memory_bytes, BLOCK_BYTES - 2 * MIB, BLOCK_BYTES + 2 * MIB);
	munmap(block, BLOCK_BYTES);
	assert_int_equal(sp_usage_get(0, &after), 0);
	assert_in_range(after.memory_bytes, 1, during.memory_bytes - BLOCK_BYTES / 2);
	assert_true(after.peak_bytes >= during.memory_bytes - 2 * MIB);
	assert_int_equal(getrusage(RUSAGE_SELF, &r), 0);
	assert_in_range(after.peak_bytes + 2 * MIB, (uint64_t)r.ru_maxrss * 1024,
			(uint64_t)r.ru_maxrss * 1024 + 4 * MIB);
}

static void another_process_and_one_that_ended(void **state)
{
	struct rusage own;
	struct sp_usage u;
	int ready[2];

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_NAME, ") 1 2 3 (x)"); /* must not mislead who reads the file */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		burn_user(300000000);
		burn_system(100000000);
		getrusage(RUSAGE_SELF, &own);
		(void)!write(ready[1], &own, sizeof(own));
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &own, sizeof(own)), sizeof(own));
	assert_int_equal(sp_usage_get((uint32_t)child, &u), 0);
	assert_in_range(u.user_ns + u.system_ns, 400000000, MOST_NS);
	/* The kernel divides the sum by where its ticks fell, which is luck; so by what it has told the child itself.
	 */
	assert_in_range(u.user_ns + 90000000, ns_of(own.ru_utime), ns_of(own.ru_utime) + 180000000);
	assert_true(u.memory_bytes > 0);
	assert_in_range(sp_usage_cpu_ns((uint32_t)child), u.user_ns + u.system_ns, MOST_NS);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(sp_usage_get((uint32_t)child, &u), 0);
	assert_in_range(u.user_ns + u.system_ns, 400000000, MOST_NS);
	assert_int_equal(u.memory_bytes, 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(sp_usage_get((uint32_t)child, &u), -ESRCH);
	assert_int_equal(sp_usage_cpu_ns((uint32_t)child), 0);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(our_time_as_getrusage_tells),
	    cmocka_unit_test(memory_now_and_at_most),
	    cmocka_unit_test(another_process_and_one_that_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
