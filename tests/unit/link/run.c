/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose file a run counts in: its own, which only it has, and which is kept as the last run's; or one that is shared.
 */
#include "link/run.h"
#include "base/error.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const one[] = {"libone.so.1"};
static const struct sp_calls_what what = {.libraries = one, .n_libraries = 1, .depth = SP_CALLS_BY_SITE};
static char directory[64], state[128];

static int setup(void **unused)
{
	snprintf(directory, sizeof(directory), "/tmp/soprof-run-XXXXXX");
	if (mkdtemp(directory) == NULL || setenv("XDG_STATE_HOME", directory, 1) != 0)
		return -1;
	snprintf(state, sizeof(state), "%s/soprof/calls", directory);
	return 0;
}

static void remove_all(const char *path)
{
	DIR *all = opendir(path);

	for (const struct dirent *e; all != NULL && (e = readdir(all)) != NULL;) {
		char inside[512];
		snprintf(inside, sizeof(inside), "%s/%s", path, e->d_name);
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			remove_all(inside);
		else if (e->d_type != DT_DIR)
			unlink(inside);
	}
	if (all != NULL)
		closedir(all);
	rmdir(path);
}

static int teardown(void **unused)
{
	remove_all(directory);
	return 0;
}

static unsigned n_files(const char *path)
{
	DIR *all = opendir(path);
	unsigned n = 0;

	for (const struct dirent *e; all != NULL && (e = readdir(all)) != NULL;)
		n += e->d_type == DT_REG;
	if (all != NULL)
		closedir(all);
	return n;
}

static int run_make(const char *where, struct sp_calls_run *r)
{
	return where ? sp_calls_run_share(where, &what, r) : sp_calls_run_make(NULL, &what, r);
}

static void make(const char *where, struct sp_calls_run *r)
{
	assert_int_equal(run_make(where, r), 0);
}

static void test_own(void **unused)
{
	struct sp_calls_run r;
	char *name;

	make(NULL, &r);
	assert_true(r.is_own && r.is_new);
	assert_false(sp_calls_run_has_others(&r));
	assert_true(asprintf(&name, "%s/libone.so.1.run-%ld.profile", state, (long)getpid()) > 0);
	assert_string_equal(r.path, name);
	sp_calls_run_done(&r); /* nothing was counted */
	assert_int_equal(n_files(state), 0);
	make(NULL, &r);
	assert_int_equal(sp_calls_run_keep(&r), 0);
	assert_non_null(strstr(r.path, "/libone.so.1.last.profile"));
	sp_calls_run_done(&r);
	assert_int_equal(n_files(state), 1);
	make(NULL, &r); /* beside the last run's, until it takes its place */
	assert_int_equal(n_files(state), 2);
	assert_int_equal(sp_calls_run_keep(&r), 0);
	sp_calls_run_done(&r);
	assert_int_equal(n_files(state), 1);
	free(name);
}

/* In a process of its own, which ends without a word when it is killed. */
static pid_t other_run(const char *where, int *ret_ready)
{
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct sp_calls_run r;
		if (run_make(where, &r) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	*ret_ready = ready[0];
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	return pid;
}

static void end(pid_t pid, int ready)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready);
}

static void test_two_at_once(void **unused)
{
	struct sp_calls_run r;
	int ready;
	pid_t pid;

	pid = other_run(NULL, &ready);
	make(NULL, &r);
	assert_int_equal(n_files(state), 2); /* that of a run that lives stays */
	end(pid, ready);
	sp_calls_run_done(&r);
	assert_int_equal(n_files(state), 1);
	make(NULL, &r); /* that of one that was killed goes */
	assert_int_equal(n_files(state), 1);
	sp_calls_run_done(&r);
}

static void test_no_directory(void **unused)
{
	struct sp_calls_run r;
	char spare[160], file[128];

	snprintf(file, sizeof(file), "%s/soprof", directory);
	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)); /* in place of the directory */
	assert_int_equal(sp_calls_run_make(NULL, &what, &r), -ENOTDIR);
	sp_error_clear();
	snprintf(spare, sizeof(spare), "%s/spare", directory);
	mkdir(spare, 0755);
	assert_int_equal(sp_calls_run_make(spare, &what, &r), 0);
	assert_int_equal(strncmp(r.path, spare, strlen(spare)), 0);
	assert_non_null(strstr(r.lacking, "will not be kept: "));
	assert_int_equal(sp_calls_run_keep(&r), 0);
	assert_int_equal(n_files(spare), 1);
	sp_calls_run_done(&r);
	assert_int_equal(n_files(spare), 0);
}

static void test_shared(void **unused)
{
	struct sp_calls_run first, second;
	int ready;
	pid_t pid;

	make(directory, &first);
	assert_true(first.is_new && !first.is_own);
	assert_false(sp_calls_run_has_others(&first));
	sp_calls_run_done(&first);
	make(directory, &first); /* one after the other */
	assert_false(first.is_new);
	assert_false(sp_calls_run_has_others(&first));
	pid = other_run(directory, &ready); /* one inside of the other */
	end(pid, ready);
	assert_true(sp_calls_run_has_others(&first));
	sp_calls_run_done(&first);
	pid = other_run(directory, &ready);
	make(directory, &second); /* one that has begun before */
	assert_true(sp_calls_run_has_others(&second));
	end(pid, ready);
	assert_true(sp_calls_run_has_others(&second));
	sp_calls_run_done(&second);
	assert_int_equal(n_files(directory), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_own, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_two_at_once, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_no_directory, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_shared, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
