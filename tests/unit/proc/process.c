/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/process.h"
#include "base/error.h"
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *wait_in_thread(void *ret_tid)
{
	*(pid_t *)ret_tid = gettid();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void threads_belong_to_their_process(void **state)
{
	uint32_t tgid = 0;
	pthread_t thread;
	pid_t tid = 0;

	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, &tid), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(sp_process_tgid((uint32_t)tid, &tgid), 0);
	assert_int_equal(tgid, getpid());
	assert_true(tid != getpid());
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	assert_int_equal(sp_process_tgid((uint32_t)getpid(), &tgid), 0);
	assert_int_equal(tgid, getpid());
	assert_int_equal(sp_process_tgid(1, &tgid), 0);
	assert_int_equal(tgid, 1);
}

static void who_has_gone_is_not_there(void **state)
{
	uint32_t tgid = 77;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(sp_process_tgid((uint32_t)child, &tgid), -ESRCH);
	assert_non_null(strstr(sp_error_text(-ESRCH), ": No such process"));
	assert_int_equal(sp_process_tgid(0, &tgid), -ESRCH);
	assert_int_equal(sp_process_tgid(UINT32_MAX, &tgid), -ESRCH);
	assert_int_equal(tgid, 77);
}

static void cpus_as_the_c_library_counts(void **state)
{
	SP_FREE uint32_t *cpus = NULL;
	cpu_set_t allowed;
	size_t n;

	assert_int_equal(sp_process_cpus_online(&cpus, &n), 0);
	assert_int_equal(n, sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 1; i < n; i++)
		assert_true(cpus[i - 1] < cpus[i]);
	/* where we may run is online */
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	size_t n_allowed = 0;
	for (size_t i = 0; i < n; i++)
		n_allowed += cpus[i] < CPU_SETSIZE && CPU_ISSET(cpus[i], &allowed);
	assert_int_equal(n_allowed, CPU_COUNT(&allowed));
}

/* /etc/passwd is read by hand here: what getent says for the users that every machine has. */
static void users_as_in_passwd(void **state)
{
	char line[1024], name[256];
	FILE *f = fopen("/etc/passwd", "re");
	bool seen[1000] = {false};
	int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		char *rest = line, *user = strsep(&rest, ":");
		assert_non_null(strsep(&rest, ":"));
		unsigned long uid = strtoul(strsep(&rest, ":"), NULL, 10);
		if (uid >= SP_COUNT(seen) || seen[uid])
			continue;
		seen[uid] = true;
		sp_process_user_name((uint32_t)uid, name, sizeof(name));
		assert_string_equal(name, user);
		n++;
	}
	fclose(f);
	assert_true(n > 3);
	sp_process_user_name(3999999999, name, sizeof(name));
	assert_string_equal(name, "3999999999");
	sp_process_user_name(0, name, 3);
	assert_string_equal(name, "ro");
}

static void settings_are_numbers(void **state)
{
	int value = 77, max;
	FILE *f = fopen("/proc/sys/kernel/pid_max", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &max), 1);
	fclose(f);
	assert_int_equal(sp_process_setting("pid_max", &value), 0);
	assert_int_equal(value, max);
	assert_int_equal(sp_process_setting("perf_event_paranoid", &value), 0);
	assert_in_range(value + 1, 0, 5); /* -1 to 4 */
	assert_int_equal(sp_process_setting("kptr_restrict", &value), 0);
	assert_in_range(value, 0, 2);
	assert_int_equal(sp_process_setting("no_such_setting", &value), -ENOENT);
	assert_int_equal(sp_process_setting("ostype", &value), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(threads_belong_to_their_process),
	    cmocka_unit_test(who_has_gone_is_not_there),
	    cmocka_unit_test(cpus_as_the_c_library_counts),
	    cmocka_unit_test(users_as_in_passwd),
	    cmocka_unit_test(settings_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
