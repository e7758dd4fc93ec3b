/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What openers hand out to who asks for anything, as a main process would that was taken over: ELF files, jit dumps,
 * perf maps in their place and the listed files of /proc; no secret, no script, no device.
 */
#include "answer.h"
#include "base/error.h"
#include "base/mem.h"
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static char directory[] = "/tmp/soprof-served-XXXXXX";

static struct answer ask_path(const char *path, pid_t pid, int in_root)
{
	struct sp_open_path q = {.path = path, .pid = pid, .in_root = in_root};
	struct sp_workers *w;
	struct answer a = {0};
	assert_int_equal(sp_workers_new(NULL, &w), 0);
	assert_int_equal(sp_workers_open_path(w, &q, opened, &a), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(a.n, 1);
	sp_workers_free(w);
	return a;
}

static void check_served(const char *path, int in_root, int r, const char *error)
{
	struct answer a = ask_path(path, getpid(), in_root);
	if (a.result.r != r || strcmp(a.error, error) != 0 || (a.result.fd >= 0) != (r == 0))
		fail_msg("%s: %d %s, descriptor %d", path, a.result.r, a.error, a.result.fd);
	answer_done(&a);
}

static void put(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void check_bytes(const void *bytes, size_t n, int r)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/some", directory);
	put(path, bytes, n);
	check_served(path, 0, r, r < 0 ? "not an ELF file" : "");
	unlink(path);
}

/* By name nothing is told of what it is. */
static void test_served_elf(void **state)
{
	unsigned char head[64] = ELFMAG "\2\1\1";
	check_served("/proc/self/exe", 0, -ELOOP, strerror(ELOOP)); /* no link that leads anywhere */
	check_served("/bin/sh", 0, 0, "");
	head[16] = ET_DYN;
	check_bytes(head, sizeof(head), 0);
	check_bytes(head, 20, -ENOEXEC);
	head[16] = ET_CORE;
	check_bytes(head, sizeof(head), -ENOEXEC);
	head[16] = 0;
	head[17] = ET_CORE; /* of the other byte order */
	check_bytes(head, sizeof(head), -ENOEXEC);
	check_bytes("DTiJ\1\0\0\0", 8, 0);
	check_bytes("JiTD\0\0\0\1", 8, 0);
	check_bytes("#!/bin/sh\n", 10, -ENOEXEC);
	check_bytes("", 0, -ENOEXEC);
}

static void test_served_others(void **state)
{
	char path[128];
	check_served(geteuid() == 0 ? "/etc/shadow" : "/etc/passwd", 0, -ENOEXEC, "not an ELF file");
	check_served("/etc", 0, -EINVAL, "not a regular file");
	check_served("/dev/null", 0, -EINVAL, "not a regular file");
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0644), 0);
	check_served(path, 0, -EINVAL, "not a regular file");
	unlink(path);
}

static void test_served_maps(void **state)
{
	static const char map[] = "7f0012 0x40 some name\n";
	char path[64], other[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "/tmp/perf-%d.map.", (int)getpid());
	put(path, map, strlen(map));
	check_served(path, 1, 0, "");
	check_served(path, 0, -ENOEXEC, "not an ELF file"); /* this way nobody asks for a perf map */
	put(path, "root:x:0:0\n", 11);
	check_served(path, 1, -EBADMSG, "not a perf map");
	put(path, "", 0);
	check_served(path, 1, 0, "");
	unlink(path);
	put(other, map, strlen(map));
	check_served(other, 1, -ENOEXEC, "not an ELF file");
	unlink(other);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	check_served(path, 1, -EINVAL, "not a regular file");
	unlink(path);
}

/* Of a process that made code its memory; of others nothing but what is mapped. */
static void test_served_proc(void **state)
{
	static const char refused[] = "nothing in /proc that soprof reads";
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)getpid());
	check_served(path, 0, 0, "");
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getpid());
	check_served(path, 0, -EACCES, refused);
	check_served("/proc/self/mem", 0, -EACCES, refused);
	check_served("/proc/version", 0, -EACCES, refused);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getpid());
	check_served(path, 0, -EACCES, refused);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	check_served(path, 0, 0, "");
	munmap(code, 4096);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	const struct CMUnitTest tests[] = {
	    CLEAN_TEST(test_served_elf),
	    CLEAN_TEST(test_served_others),
	    CLEAN_TEST(test_served_maps),
	    CLEAN_TEST(test_served_proc),
	};
	if (!mkdtemp(directory))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
