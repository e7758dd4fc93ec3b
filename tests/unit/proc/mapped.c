/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is mapped where: this machine's processes against what their maps say by grep and awk, and made-up /proc
 * directories for what a hostile process can do: names, numbers of mappings, and never answering.
 */
#include "proc/mapped.h"
#include "base/error.h"
#include "base/mem.h"
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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* --- made-up processes --- */
static char proc[64];

static int make_proc(void **state)
{
	snprintf(proc, sizeof(proc), "/tmp/soprof-mapped-XXXXXX");
	return mkdtemp(proc) == NULL ? -1 : 0;
}

static int remove_proc(void **state)
{
	pid_t child = fork();
	if (child == 0) {
		execlp("rm", "rm", "-rf", proc, NULL);
		_exit(127);
	}
	return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static FILE *create(uint32_t pid, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%u/%s", proc, pid, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	return f;
}

static void make_process(uint32_t pid, const char *comm)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%u", proc, pid);
	assert_int_equal(mkdir(path, 0755), 0);
	FILE *f = create(pid, "stat");
	fprintf(f, "%u (%s) S 1 1 1 0 -1 4194304 1 0 0 0 2 3 0 0 20 0 1 0 12345 1 1", pid, comm);
	fclose(f);
	f = create(pid, "status");
	fprintf(f, "Name:\t%s\nUid:\t1001\t0\t0\t0\n", comm);
	fclose(f);
	f = create(pid, "cgroup");
	fputs("2:cpu:/a\n1:name=systemd:/b\n0::/system.slice/x.service\n", f);
	fclose(f);
}

static struct sp_mapped *read_made(unsigned deadline_ms)
{
	struct sp_mapped_options o = {.proc = proc, .deadline_ms = deadline_ms};
	struct sp_mapped *m = NULL;

	assert_int_equal(sp_mapped_read(&o, &m), 0);
	return m;
}

static void odd_names_and_lines(void **state)
{
	make_process(7, "a) S (b\n");
	FILE *f = create(7, "maps");
	fputs(
	    "1000-2000 r--p 00000000 fe:00 5                          /lib/a.so\n"
	    "2000-3000 r-xp 00001000 fe:00 5                          /lib/a.so\n"
	    "3000-4000 r-xp 00002000 fe:00 5                          /lib/a.so\n"
	    "4000-5000 --xp 00000000 fe:00 6                          /lib/with  two spaces\\012and\\a line (deleted)\n"
	    "5000-6000 r-xp 00000000 00:00 0 \n"
	    "6000-7000 r-xp 00000000 00:00 0                          [vdso]\n"
	    "7000-8000 r-xp 00000000 fe:00 5                          /lib/a.so\n"
	    "8000-9000 rwxs 00000000 00:05 9                          anon_inode:[x]\n"
	    "x",
	    f);
	fclose(f);
	struct sp_mapped *m = read_made(0);
	assert_int_equal(m->n_processes, 1);
	assert_string_equal(m->processes[0].comm, "a) S (b\n");
	assert_string_equal(m->processes[0].cgroup, "/system.slice/x.service");
	assert_int_equal(m->processes[0].uid, 1001);
	assert_int_equal(m->processes[0].start_ticks, 12345);
	assert_int_equal(m->n_files, 2);
	assert_int_equal(m->n_uses, 2);
	assert_string_equal(m->files[0].path, "/lib/a.so");
	assert_int_equal(m->files[0].dev, 0xfe << 20);
	assert_int_equal(m->uses[0].start, 0x2000);
	assert_int_equal(m->uses[0].end, 0x3000);
	assert_string_equal(m->files[1].path, "/lib/with  two spaces\nand\\a line (deleted)");
	assert_int_equal(m->n_memory, 1);
	sp_mapped_free(m);
}

/* As many mappings as a process may have, each of another file; the memory stays that of the text that is kept. */
static void a_process_with_65000_mappings(void **state)
{
	make_process(7, "many");
	FILE *f = create(7, "maps");
	for (unsigned i = 1; i <= 65000; i++)
		fprintf(f, "%x000-%x000 r-xp 00000000 fe:00 %u       /lib/%0300u\n", i, i + 1, i, i);
	fclose(f);
	double start = now_ms();
	struct sp_mapped *m = read_made(60000);
	printf("65,000 mappings: %.1f ms; %zu files, %llu left out\n", now_ms() - start, m->n_files,
	       (unsigned long long)m->n_left_out);
	assert_int_equal(m->n_files + m->n_left_out, 65000);
	assert_in_range(m->n_files, SP_MAPPED_MAX_BYTES / 400, 65000);
	assert_int_equal(m->n_uses, m->n_files);
	sp_mapped_free(m);
}

/* A reader of maps that has to wait for ever, as with a FIFO here, is given up; those after it are read. (Soon it is
 * given a twentieth of the time, which a busy machine may need for the others, too.) */
static void processes_that_never_answer(void **state)
{
	char path[128];

	for (uint32_t pid = 1; pid <= 30; pid++) {
		make_process(pid, "p");
		snprintf(path, sizeof(path), "%s/%u/maps", proc, pid);
		if (pid % 5 == 0) {
			assert_int_equal(mkfifo(path, 0600), 0);
			continue;
		}
		FILE *f = create(pid, "maps");
		fputs("2000-3000 r-xp 00001000 fe:00 5         /lib/a.so\n", f);
		fclose(f);
	}
	double start = now_ms();
	struct sp_mapped *m = read_made(600);
	double ms = now_ms() - start;
	printf("30 processes, of which 6 do not answer in 600 ms: %.1f ms\n", ms);
	assert_int_equal(m->n_stuck, 6);
	assert_int_equal(m->n_processes, 24);
	assert_int_equal(m->files[0].n_uses, 24);
	assert_true(ms >= 2400);
	sp_mapped_free(m);
}

static void who_may_not_be_looked_at_is_counted(void **state)
{
	make_process(7, "secret");
	FILE *f = create(7, "maps");
	fclose(f);
	char path[128];
	snprintf(path, sizeof(path), "%s/7/maps", proc);
	assert_int_equal(chmod(path, 0), 0);
	snprintf(path, sizeof(path), "%s/8", proc);
	assert_int_equal(mkdir(path, 0755), 0); /* it ends while we look */
	struct sp_mapped *m = read_made(0);
	assert_int_equal(m->n_refused, geteuid() == 0 ? 0 : 1);
	assert_int_equal(m->n_ended, 1);
	assert_int_equal(m->n_processes, 0);
	sp_mapped_free(m);
}

/* --- real ones --- */
struct child {
	pid_t pid;
	char lib[128];
};

static void *map(int fd, int prot)
{
	void *at = mmap(NULL, 4096, prot, MAP_PRIVATE, fd, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* A process with a file of its own, the same file under another name, and memory of every kind, all executable. */
static struct child start_child(void)
{
	struct child c;
	int ready[2];
	char byte, other[140];

	snprintf(c.lib, sizeof(c.lib), "%s/own.so", proc);
	snprintf(other, sizeof(other), "%s.link", c.lib);
	int fd = open(c.lib, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0 && ftruncate(fd, 8192) == 0 && link(c.lib, other) == 0 && pipe(ready) == 0);
	c.pid = fork();
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "mapped\nchild");
		map(fd, PROT_READ | PROT_EXEC);
		map(open(other, O_RDONLY | O_CLOEXEC), PROT_EXEC);
		int memory = memfd_create("jit", MFD_CLOEXEC);
		if (ftruncate(memory, 4096) != 0)
			_exit(1);
		map(memory, PROT_READ | PROT_EXEC);
		mmap(NULL, 4096, PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		unlink(other);
		(void)!write(ready[1], "", 1);
		pause();
	}
	close(fd);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return c;
}

static const struct sp_mapped_file *file_of(const struct sp_mapped *m, const char *path)
{
	for (size_t i = 0; i < m->n_files; i++)
		if (strcmp(m->files[i].path, path) == 0)
			return &m->files[i];
	return NULL;
}

static void what_a_child_maps(void **state)
{
	struct sp_mapped *m = NULL;
	struct stat st, ns;
	char deleted[160];

	struct child c = start_child();
	struct sp_mapped_options o = {.pids = (uint32_t[]){(uint32_t)c.pid, 1 << 22}, .n_pids = 2};
	assert_int_equal(sp_mapped_read(&o, &m), 0);
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
	assert_int_equal(m->n_processes, 1);
	assert_int_equal(m->n_ended, 1);
	assert_int_equal(m->processes[0].pid, c.pid);
	assert_int_equal(m->processes[0].uid, getuid());
	assert_string_equal(m->processes[0].comm, "mapped\nchild");
	assert_int_equal(m->n_memory, 2); /* memfd and shared memory; private memory is no file */
	assert_int_equal(m->n_uses, m->n_files);

	assert_int_equal(stat(c.lib, &st), 0);
	assert_int_equal(stat("/proc/self/ns/mnt", &ns), 0);
	const struct sp_mapped_file *own = file_of(m, c.lib);
	assert_non_null(own);
	assert_int_equal(own->ino, st.st_ino);
	assert_int_equal(own->dev, major(st.st_dev) << 20 | minor(st.st_dev));
	assert_int_equal(own->mount_ns, ns.st_ino);
	snprintf(deleted, sizeof(deleted), "%s.link (deleted)", c.lib);
	assert_non_null(file_of(m, deleted));
	unlink(c.lib);
	sp_mapped_free(m);
}

/* The libraries of this machine as grep and awk count them, while nothing of ours starts or ends. */
static void this_process_as_grep_sees_it(void **state)
{
	struct sp_mapped *m = NULL;
	struct sp_mapped_options o = {.pids = (uint32_t[]){(uint32_t)getpid()}, .n_pids = 1};
	char line[4400], path[4200];
	unsigned n = 0;

	assert_int_equal(sp_mapped_read(&o, &m), 0);
	FILE *f = fopen("/proc/self/maps", "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strstr(line, " r-xp ") == NULL || sscanf(line, "%*s %*s %*s %*s %*u %4199s", path) != 1 ||
		    path[0] != '/')
			continue;
		assert_non_null(file_of(m, path));
		n++;
	}
	fclose(f);
	assert_int_equal(m->n_files, n);
	sp_mapped_free(m);
}

static void the_whole_machine_in_time(void **state)
{
	struct sp_mapped *m = NULL;
	double start = now_ms();

	assert_int_equal(sp_mapped_read(NULL, &m), 0);
	printf("%zu processes, %zu files, %zu uses: %.1f ms\n", m->n_processes, m->n_files, m->n_uses,
	       now_ms() - start);
	assert_true(m->n_processes >= 1);
	for (size_t i = 0; i < m->n_uses; i++) {
		assert_true(m->uses[i].file < m->n_files && m->uses[i].process < m->n_processes);
		assert_true(i == 0 || m->uses[i - 1].process <= m->uses[i].process);
	}
	sp_mapped_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(odd_names_and_lines, make_proc, remove_proc),
	    cmocka_unit_test_setup_teardown(a_process_with_65000_mappings, make_proc, remove_proc),
	    cmocka_unit_test_setup_teardown(processes_that_never_answer, make_proc, remove_proc),
	    cmocka_unit_test_setup_teardown(who_may_not_be_looked_at_is_counted, make_proc, remove_proc),
	    cmocka_unit_test_setup_teardown(what_a_child_maps, make_proc, remove_proc),
	    cmocka_unit_test(this_process_as_grep_sees_it),
	    cmocka_unit_test(the_whole_machine_in_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
