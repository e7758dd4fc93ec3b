/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files a name means: copies of a library that children of this test map, under other names, deleted, and as two
 * distinct files; by soname, file name, path, build id, process; what ld.so would load against what ldconfig -p says.
 */
#include "probe/file.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "probe/find.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY "/lib/x86_64-linux-gnu/libz.so.1"

static char directory[64];

static int shell(const char *command)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int directory_make(void **state)
{
	snprintf(directory, sizeof(directory), "/tmp/soprof-file-XXXXXX");
	return mkdtemp(directory) == NULL ? -1 : 0;
}

static int directory_remove(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return shell(command);
}

static char *copy_make(const char *name)
{
	char command[256], *path;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	snprintf(command, sizeof(command), "cp %s %s", LIBRARY, path);
	assert_int_equal(shell(command), 0);
	return path;
}

/* A child that maps the file as code. */
static pid_t mapper_begin(const char *path)
{
	int ends[2];
	char done;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
		    write(ends[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &done, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void mapper_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const struct sp_probe_file *file_of(const struct sp_probe_files *files, const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	for (size_t i = 0; i < files->n; i++)
		if (files->files[i].ino == st.st_ino && files->files[i].dev == st.st_dev)
			return &files->files[i];
	return NULL;
}

static void find(const char *name, struct sp_probe_files *ret_files)
{
	int r = sp_probe_files(name, NULL, ret_files);

	if (r < 0)
		print_message("%s\n", sp_error_text(r));
	assert_int_equal(r, 0);
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skip: needs root\n");
	skip();
}

/* By its soname: two copies, one of which is called otherwise, each once, with the processes that map them. */
static void a_soname_means_all_copies(void **state)
{
	SP_FREE char *one = copy_make("libz.so.1"), *other = copy_make("renamed");
	pid_t pids[] = {mapper_begin(one), mapper_begin(one), mapper_begin(other)};
	struct sp_probe_files files;
	const struct sp_probe_file *f;

	need_root();
	find("libz.so.1", &files);
	f = file_of(&files, one);
	assert_non_null(f);
	assert_int_equal(f->n_pids, 2);
	assert_int_equal(f->pids[0] + f->pids[1], (uint32_t)(pids[0] + pids[1]));
	f = file_of(&files, other);
	assert_non_null(f);
	assert_int_equal(f->n_pids, 1);
	assert_non_null(file_of(&files, LIBRARY)); /* what ld.so would load, whether or not anybody maps it */
	sp_probe_files_done(&files);
	for (size_t i = 0; i < SP_COUNT(pids); i++)
		mapper_end(pids[i]);
}

/* A worker that looked at files there may end a moment after its answer. */
static void unmount(const char *path)
{
	for (unsigned tries = 500; umount(path); tries--) {
		assert_int_equal(errno, EBUSY);
		assert_true(tries > 0);
		usleep(10000);
	}
}

/* Of a file that somebody maps through an overlay, too, the one below is told, with the processes of both. */
static void an_overlay_shows_the_same(void **state)
{
	SP_FREE char *path = NULL, *above = NULL, *options = NULL;
	struct sp_probe_files files;
	const struct sp_probe_file *f;
	char command[256];
	pid_t pids[2];

	need_root();
	snprintf(command, sizeof(command), "cd %s && mkdir lower upper work both", directory);
	assert_int_equal(shell(command), 0);
	path = copy_make("lower/libz.so.1");
	assert_true(asprintf(&options, "lowerdir=%1$s/lower,upperdir=%1$s/upper,workdir=%1$s/work", directory) > 0);
	assert_true(asprintf(&above, "%s/both/libz.so.1", directory) > 0);
	snprintf(command, sizeof(command), "%s/both", directory);
	if (mount("overlay", command, "overlay", 0, options)) {
		print_message("skip: no overlays here\n");
		skip();
	}
	pids[0] = mapper_begin(above);
	pids[1] = mapper_begin(path);
	find("libz.so.1", &files);
	f = file_of(&files, path);
	assert_non_null(f);
	assert_int_equal(f->n_pids, 2);
	assert_null(file_of(&files, above));
	mapper_end(pids[0]);
	mapper_end(pids[1]);
	unmount(command);
	sp_probe_files_done(&files);
}

static void a_process_has_its_own(void **state)
{
	SP_FREE char *path = copy_make("libz.so.1");
	pid_t pid = mapper_begin(path);
	struct sp_probe_files files;
	char name[64];

	need_root();
	snprintf(name, sizeof(name), "%d:libz.so.1", (int)pid);
	find(name, &files);
	assert_non_null(file_of(&files, path));
	for (size_t i = 0; i < files.n; i++)
		assert_int_equal(files.files[i].n_pids, 1);
	sp_probe_files_done(&files);
	mapper_end(pid);
	assert_int_equal(sp_probe_files(name, NULL, &files), -ENOENT);
	assert_non_null(strstr(sp_error_text(-ENOENT), "there is no process"));
	sp_error_clear();
}

/* A deleted file is opened all the same, and is another than the one that took its place. */
static void deleted_and_replaced(void **state)
{
	SP_FREE char *path = copy_make("libgone.so.1"), *next = copy_make("next");
	pid_t pid = mapper_begin(path), second;
	struct sp_probe_files files;
	size_t n_deleted = 0;
	struct stat st;

	need_root();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(rename(next, path), 0);
	second = mapper_begin(path);
	find("libgone.so.1", &files);
	assert_int_equal(files.n, 2);
	assert_non_null(file_of(&files, path));
	for (size_t i = 0; i < files.n; i++) {
		struct stat there;

		assert_int_equal(fstat(files.files[i].fd, &there), 0);
		assert_int_equal(there.st_ino, files.files[i].ino);
		n_deleted += files.files[i].is_deleted && files.files[i].ino == st.st_ino;
	}
	assert_int_equal(n_deleted, 1);
	sp_probe_files_done(&files);
	mapper_end(pid);
	mapper_end(second);
}

/* A path, a link to it and the build id mean the file; nobody has to map what is named by its path. */
static void paths_and_build_ids(void **state)
{
	SP_FREE char *path = copy_make("libown.so.1"), *link = NULL;
	struct sp_probe_files files, by_id;
	char id[65] = "";

	need_root();
	assert_true(asprintf(&link, "%s/link", directory) > 0);
	assert_int_equal(symlink(path, link), 0);
	find(link, &files);
	assert_int_equal(files.n, 1);
	assert_non_null(file_of(&files, path));
	assert_int_equal(files.files[0].n_pids, 0);
	for (uint32_t i = 0; i < files.files[0].build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", files.files[0].build_id[i]);
	id[9] = '\0'; /* an odd number of digits */
	pid_t pid = mapper_begin(path);
	find(id, &by_id);
	assert_non_null(file_of(&by_id, path));
	sp_probe_files_done(&by_id);
	sp_probe_files_done(&files);
	mapper_end(pid);
}

static void refused(const char *name, int r, const char *words)
{
	struct sp_probe_files files;

	assert_int_equal(sp_probe_files(name, NULL, &files), r);
	if (!strstr(sp_error_text(r), words))
		print_message("%s\n", sp_error_text(r));
	assert_non_null(strstr(sp_error_text(r), words));
	sp_error_clear();
}

static void what_is_not_there(void **state)
{
	SP_FREE char *path = copy_make("libnearby.so.1");
	pid_t pid = mapper_begin(path);

	need_root();
	refused("", -EINVAL, "empty");
	refused("no-such-thing", -ENOENT, "no process maps it");
	refused("libz.so", -ENOENT, "did you mean libz.so.1?");
	refused("/no/such/file", -ENOENT, "no library or program '/no/such/file'");
	refused("0123456789abcdef", -ENOENT, "no library or program");
	mapper_end(pid);
}

static void names_are_parsed(void **state)
{
	struct sp_probe_name name;

	assert_int_equal(sp_probe_name_parse("12:libz.so.1", &name), 0);
	assert_int_equal(name.pid, 12);
	assert_string_equal(name.text, "libz.so.1");
	assert_int_equal(sp_probe_name_parse("12:*", &name), 0);
	assert_int_equal(name.by, SP_PROBE_ALL);
	assert_true(sp_probe_name_may_be(&name, "/x/liby.so.1"));
	assert_int_equal(sp_probe_name_parse("*", &name), 0);
	assert_int_equal(name.by, SP_PROBE_BY_NAME);
	assert_int_equal(sp_probe_name_parse("deadBEEF0", &name), 0);
	assert_int_equal(name.by, SP_PROBE_BY_BUILD_ID);
	assert_int_equal(name.build_id[1], 0xad);
	assert_int_equal(sp_probe_name_parse("dead", &name), 0); /* too short for one */
	assert_int_equal(name.by, SP_PROBE_BY_NAME);
	assert_int_equal(sp_probe_name_parse("libz.so.1", &name), 0);
	assert_true(sp_probe_name_may_be(&name, "/x/libz.so.1.2.13"));
	assert_true(sp_probe_name_may_be(&name, "/x/libz.so.1 (deleted)"));
	assert_false(sp_probe_name_may_be(&name, "/x/liby.so.1"));
	assert_false(sp_probe_name_may_be(&name, "[vdso]"));
}

/* The first of ldconfig's lines for a library is the one that ld.so takes. */
static void ld_so_finds_the_same(void **state)
{
	SP_FREE char *list = NULL;
	FILE *f;
	char line[1024], name[256], path[512], last[256] = "";
	size_t n = 0, n_same = 0;

	assert_true(asprintf(&list, "/sbin/ldconfig -p > %s/list", directory) > 0);
	assert_int_equal(shell(list), 0);
	f = fopen(strchr(list, '>') + 2, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		SP_FREE char *ours = NULL, *theirs = NULL;

		if (sscanf(line, " %255s (libc6,x86-64%*[^)]) => %511s", name, path) != 2 &&
		    sscanf(line, " %255s (libc6,x86-64) => %511s", name, path) != 2)
			continue;
		if (!strcmp(name, last))
			continue;
		snprintf(last, sizeof(last), "%s", name);
		ours = sp_probe_find(name);
		theirs = realpath(path, NULL);
		n++;
		n_same += ours && theirs && !strcmp(ours, theirs);
	}
	fclose(f);
	if (!n) {
		print_message("skip: ldconfig lists nothing\n");
		skip();
	}
	assert_int_equal(n_same, n);
	assert_null(sp_probe_find("libno-such.so.9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_parsed),          cmocka_unit_test(a_soname_means_all_copies),
	    cmocka_unit_test(an_overlay_shows_the_same), cmocka_unit_test(a_process_has_its_own),
	    cmocka_unit_test(deleted_and_replaced),      cmocka_unit_test(paths_and_build_ids),
	    cmocka_unit_test(what_is_not_there),         cmocka_unit_test(ld_so_finds_the_same),
	};

	return cmocka_run_group_tests(tests, directory_make, directory_remove);
}
