/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are mapped later: one user's, beyond his share, are left out and counted; another's are looked at. */
#include "probe/later.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "probe/file.h"
#include "proc/process.h"
#include "test.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "libsoprof-later.so"
enum { HIS = 12345, ANOTHERS = 12346, N_FILES = 3 };

static char paths[N_FILES][96], directory[] = "/tmp/soprof-later-XXXXXX";
static unsigned n_taken;
static struct sp_probe_file taken;

static void take(void *arg, int r, const char *path, struct sp_probe_file *file)
{
	(void)arg, (void)path;
	assert_int_equal(r, 0);
	sp_probe_file_done(&taken);
	taken = *file;
	*file = (struct sp_probe_file){.fd = -1};
	n_taken++;
}

/* Copies of this program, each a file of its own. */
static int files_make(void **state)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	taken.fd = -1;
	if (!mkdtemp(directory) || from < 0 || fstat(from, &st))
		return -1;
	for (int i = 0; i < N_FILES; i++) {
		off_t at = 0;

		snprintf(paths[i], sizeof(paths[i]), "%s/%d", directory, i);
		mkdir(paths[i], 0755);
		snprintf(paths[i], sizeof(paths[i]), "%s/%d/" NAME, directory, i);
		SP_CLOSE int to = open(paths[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
		while (at < st.st_size)
			if (sendfile(to, from, &at, (size_t)(st.st_size - at)) <= 0)
				return -1;
	}
	close(from);
	return 0;
}

static int files_remove(void **state)
{
	for (int i = 0; i < N_FILES; i++) {
		unlink(paths[i]);
		*strrchr(paths[i], '/') = '\0';
		rmdir(paths[i]);
	}
	return rmdir(directory);
}

/* A process of this user that has the file mapped as code, until it is killed. */
static pid_t mapper_begin(uid_t user, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), is_mapped[2];
	char byte;
	pid_t pid;

	assert_true(fd >= 0);
	assert_int_equal(pipe(is_mapped), 0);
	pid = fork();
	if (pid == 0) {
		if (setresgid(user, user, user) || setresuid(user, user, user) ||
		    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
		    write(is_mapped[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(is_mapped[1]);
	assert_int_equal(read(is_mapped[0], &byte, 1), 1);
	close(is_mapped[0]);
	close(fd);
	return pid;
}

static void mapper_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Until so many files were taken, or mappings left out. */
static void run(struct sp_probe_later *l, struct sp_workers *w, unsigned n_files, uint64_t n_left_out)
{
	for (int i = 0; i < 3000 && (n_taken < n_files || sp_probe_later_unlooked(l).n < n_left_out); i++) {
		struct pollfd fds[] = {{.fd = sp_probe_later_fd(l), .events = POLLIN},
				       {.fd = sp_workers_fd(w), .events = POLLIN}};

		poll(fds, SP_COUNT(fds), 10);
		assert_int_equal(sp_probe_later_turn(l, w), 0);
		assert_int_equal(sp_workers_dispatch(w), 0);
	}
}

static void test_shares(void **state)
{
	struct sp_probe_later_options o = {.take = take};
	SP_FREE unsigned *cpus = NULL;
	struct sp_probe_later *l = NULL;
	struct sp_workers *w = NULL;
	char text[SP_PROBE_UNLOOKED_TEXT];
	struct sp_probe_name name;
	pid_t his, anothers;

	if (geteuid() || sp_process_cpus_online(&cpus, &o.n_cpus) < 0) {
		print_message("skip: needs root\n");
		skip();
	}
	o.cpus = cpus;
	assert_int_equal(sp_probe_later_new(&o, &l), 0);
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){0}, &w), 0);
	assert_int_equal(sp_probe_name_parse(NAME, &name), 0);
	assert_true(sp_probe_later_add(l, &name) >= 0);

	his = mapper_begin(HIS, paths[0]);
	run(l, w, 1, 0);
	assert_int_equal(n_taken, 1);
	assert_int_equal(taken.user, HIS);
	assert_true(taken.cpu_ns > 0);
	mapper_end(his);
	sp_probe_unlooked_text(&(struct sp_probe_unlooked){0}, text);
	assert_string_equal(text, "");

	sp_probe_later_took(l, HIS, 20 * SP_NS_PER_S); /* to find in it where probes go */
	his = mapper_begin(HIS, paths[1]);
	anothers = mapper_begin(ANOTHERS, paths[2]);
	run(l, w, 2, 1);
	assert_int_equal(n_taken, 2);
	assert_int_equal(taken.user, ANOTHERS);
	assert_int_equal(sp_probe_later_unlooked(l).n, 1);
	mapper_end(anothers);
	sp_probe_unlooked_text(&(struct sp_probe_unlooked){.n = 1, .user = HIS}, text);
	assert_non_null(strstr(text, "1 mapping of a new file was not looked at: programs of user 12345 map"));

	anothers = mapper_begin(ANOTHERS, paths[1]); /* what was left out is no file that was seen */
	run(l, w, 3, 1);
	assert_int_equal(n_taken, 3);
	mapper_end(his);
	mapper_end(anothers);
	sp_workers_free(w);
	sp_probe_later_free(l);
	sp_probe_file_done(&taken);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares)};

	sp_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, files_make, files_remove);
}
