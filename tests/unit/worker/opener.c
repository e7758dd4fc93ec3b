/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opener processes: files that a process has mapped are opened by its mapping, whatever has become of their names,
 * and by their inode when the process has gone; nothing but the file that was asked for is ever opened, and of it only
 * what soprof reads is handed out.
 */
#include "answer.h"
#include "base/error.h"
#include "base/mem.h"
#include <elf.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

static char directory[64];
static const char *jail; /* where children chroot to, once they have mapped the file */

struct mapped { /* a file, and a process that has it mapped */
	char path[128];
	pid_t pid;
	struct sp_open_request q;
	struct stat st;
};

static struct answer ask(const struct sp_open_request *q)
{
	struct sp_workers *w;
	struct answer a = {0};
	assert_int_equal(sp_workers_new(NULL, &w), 0);
	assert_int_equal(sp_workers_open(w, q, opened, &a), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(a.n, 1);
	sp_workers_free(w);
	return a;
}

/* The key as the kernel half would send it; on the file systems of the tests stat tells the same. */
static struct sp_file_key key_of(int fd, struct stat *ret_st)
{
	int generation = 0;
	assert_int_equal(fstat(fd, ret_st), 0);
	ioctl(fd, FS_IOC_GETVERSION, &generation);
	return (struct sp_file_key){.ino = ret_st->st_ino,
				    .size = (uint64_t)ret_st->st_size,
				    .mtime_ns = (uint64_t)ret_st->st_mtim.tv_sec * 1000000000 +
						(uint64_t)ret_st->st_mtim.tv_nsec,
				    .dev = major(ret_st->st_dev) << 20 | minor(ret_st->st_dev),
				    .generation = (uint32_t)generation};
}

/* A child that maps the descriptor, tells where, and waits to be killed. */
static void map_in_child(int fd, struct mapped *m)
{
	int tell[2];
	void *at;
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	m->pid = fork();
	if (m->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		at = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (jail && (chroot(jail) < 0 || chdir("/") < 0))
			_exit(1);
		(void)!write(tell[1], &at, sizeof(at));
		pause();
	}
	close(tell[1]);
	assert_int_equal(read(tell[0], &at, sizeof(at)), sizeof(at));
	close(tell[0]);
	assert_ptr_not_equal(at, MAP_FAILED);
	m->q.pid = m->pid;
	m->q.start = (uint64_t)(uintptr_t)at;
	m->q.end = m->q.start + 8192;
	m->q.key = key_of(fd, &m->st);
}

static int create(const char *path, char fill)
{
	char bytes[8192];
	memset(bytes, fill, sizeof(bytes));
	memcpy(bytes, ELFMAG, SELFMAG);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	return fd;
}

static void map_file(const char *name, struct mapped *m)
{
	snprintf(m->path, sizeof(m->path), "%s/%s", directory, name);
	int fd = create(m->path, 'a');
	map_in_child(fd, m);
	close(fd);
}

static void stop(struct mapped *m)
{
	if (m->pid > 0) {
		kill(m->pid, SIGKILL);
		waitpid(m->pid, NULL, 0);
	}
	m->pid = 0;
}

static void done(struct mapped *m)
{
	stop(m);
	unlink(m->path);
}

static void check_file(const struct answer *a, const struct mapped *m, const char *path, int deleted)
{
	struct stat st;
	char byte;
	assert_string_equal(a->error, "");
	assert_int_equal(a->result.r, 0);
	assert_int_equal(fstat(a->result.fd, &st), 0);
	assert_int_equal(st.st_ino, m->st.st_ino);
	assert_int_equal(st.st_dev, m->st.st_dev);
	assert_int_equal(pread(a->result.fd, &byte, 1, SELFMAG), 1);
	assert_int_equal(byte, 'a');
	assert_true(fcntl(a->result.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(a->result.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_string_equal(a->result.path, path);
	assert_int_equal(a->result.deleted, deleted);
	assert_int_equal(a->result.uid, m->st.st_uid);
	assert_int_equal(a->result.mode, m->st.st_mode);
}

static void check_refused(const struct answer *a, int r, const char *error)
{
	assert_string_equal(a->error, error);
	assert_int_equal(a->result.r, r);
	assert_int_equal(a->result.fd, -1);
	assert_null(a->result.path);
}

/* Without it map_files cannot be followed, and what has no name any more cannot be opened. */
static void needs_root(void)
{
	if (geteuid() == 0)
		return;
	printf("skip: needs root\n");
	skip();
}

static void test_mapped(void **state)
{
	struct mapped m = {0};
	map_file("file", &m);
	struct answer a = ask(&m.q);
	check_file(&a, &m, m.path, 0);
	answer_done(&a);
	done(&m);
}

static void test_without_key(void **state)
{
	struct mapped m = {0};
	map_file("file", &m);
	memset(&m.q.key, 0, sizeof(m.q.key));
	struct answer a = ask(&m.q);
	check_file(&a, &m, m.path, 0);
	answer_done(&a);
	done(&m);
}

static void test_deleted(void **state)
{
	needs_root();
	struct mapped m = {0};
	map_file("file", &m);
	unlink(m.path);
	struct answer a = ask(&m.q);
	check_file(&a, &m, m.path, 1);
	answer_done(&a);
	done(&m);
}

static void test_replaced(void **state)
{
	needs_root();
	struct mapped m = {0};
	char other[160];
	map_file("file", &m);
	snprintf(other, sizeof(other), "%s.new", m.path);
	close(create(other, 'b'));
	assert_int_equal(rename(other, m.path), 0);
	struct answer a = ask(&m.q);
	check_file(&a, &m, m.path, 1);
	answer_done(&a);
	done(&m);
}

/* Files that are really called so, one of them with another name left after the unlink. */
/* What is where the path leads: asked for the whole life of a library that gets replaced and removed. */
static void check_now(struct sp_open_request q, int r, ino_t ino)
{
	q.key = (struct sp_file_key){0};
	q.now = 1;
	struct answer a = ask(&q);
	assert_int_equal(a.result.r, r);
	if (r == 0)
		assert_int_equal(a.result.state.ino, ino);
	answer_done(&a);
}

static void live_and_die(void)
{
	struct mapped m = {0};
	struct stat st;
	char other[140];
	map_file("lib", &m);
	check_now(m.q, geteuid() == 0 ? -EALREADY : 0, m.st.st_ino); /* without privileges the caller has to compare */
	snprintf(other, sizeof(other), "%s.new", m.path);
	int fd = create(other, 'b');
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	assert_int_equal(rename(other, m.path), 0);
	check_now(m.q, 0, st.st_ino);
	assert_int_equal(unlink(m.path), 0);
	check_now(m.q, -ENOENT, 0);
	stop(&m);
	check_now(m.q, -ESRCH, 0);
}

static void test_now(void **state)
{
	live_and_die();
}

/* A daemon that locks itself into an empty directory, as sshd does, is asked about the paths from before. */
static void test_now_in_chroot(void **state)
{
	char path[128];
	if (geteuid() != 0) {
		printf("skip: chroot needs root\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/jail", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	jail = path;
	live_and_die();
	jail = NULL;
	rmdir(path);
}

static void test_named_deleted(void **state)
{
	needs_root();
	struct mapped m = {0};
	char other[160], said[160];
	map_file("file (deleted)", &m);
	struct answer a = ask(&m.q);
	check_file(&a, &m, m.path, 0);
	answer_done(&a);
	snprintf(other, sizeof(other), "%s/other", directory);
	assert_int_equal(link(m.path, other), 0);
	unlink(m.path);
	a = ask(&m.q);
	check_file(&a, &m, m.path, 1);
	answer_done(&a);
	unlink(other);
	a = ask(&m.q);
	snprintf(said, sizeof(said), "%s", m.path);
	check_file(&a, &m, said, 1);
	answer_done(&a);
	done(&m);
}

static void test_unprivileged(void **state)
{
	struct mapped m = {0};
	map_file("file", &m);
	unlink(m.path);
	struct answer a = ask(&m.q);
	check_refused(&a, -EACCES, "deleted, which takes CAP_CHECKPOINT_RESTORE to open");
	done(&m);
}

static void test_wrong_key(void **state)
{
	struct mapped m = {0};
	map_file("file", &m);
	struct sp_open_request q = m.q;
	q.key.size++;
	struct answer a = ask(&q);
	check_refused(&a, -ESTALE, "another file is there now");
	q = m.q;
	q.key.mtime_ns++;
	a = ask(&q);
	check_refused(&a, -ESTALE, "another file is there now");
	q = m.q;
	q.key.dev = 0xffe;
	q.key.ino++;
	a = ask(&q);
	check_refused(&a, -ESTALE, "another file is there now");
	done(&m);
}

/* By handle, where the file system has handles that can be made from the key. */
static bool can_use_handles(void)
{
	struct file_handle *h = calloc(1, sizeof(*h) + 128);
	int mount;
	h->handle_bytes = 128;
	bool can = geteuid() == 0 && name_to_handle_at(AT_FDCWD, directory, h, &mount, 0) == 0 && h->handle_type == 1 &&
		   h->handle_bytes == 8;
	free(h);
	return can;
}

static void test_gone(void **state)
{
	if (!can_use_handles()) {
		printf("skip: no file handles of inode and generation in %s, or not root\n", directory);
		skip();
	}
	struct mapped m = {0};
	map_file("file", &m);
	stop(&m);
	struct answer a = ask(&m.q);
	check_file(&a, &m, m.path, 0);
	answer_done(&a);
	struct sp_open_request q = m.q;
	q.key.generation++;
	a = ask(&q);
	check_refused(&a, -ENOENT, "No such file or directory");
	q = m.q;
	q.key.dev = 0xffe; /* of no mount */
	a = ask(&q);
	check_refused(&a, -ENOENT, "No such file or directory");
	unlink(m.path);
	a = ask(&m.q);
	check_refused(&a, -ENOENT, "No such file or directory");
	done(&m);
}

static void test_mapping_gone(void **state)
{
	struct mapped m = {0};
	map_file("file", &m);
	struct sp_open_request q = m.q;
	q.start += 4096;
	struct answer a = ask(&q); /* there is another at this address: by its path */
	check_file(&a, &m, m.path, 0);
	answer_done(&a);
	q.key = (struct sp_file_key){0};
	a = ask(&q);
	check_refused(&a, -ENOENT, "No such file or directory");
	done(&m);
}

/* A mapping of something that is no file: a perf event's ring. */
static void test_no_file(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		printf("skip: no perf event to be had\n");
		skip();
	}
	struct sp_open_request q = {
	    .pid = getpid(), .start = (uint64_t)(uintptr_t)at, .end = (uint64_t)(uintptr_t)at + 8192};
	struct answer a = ask(&q);
	if (geteuid() == 0)
		check_refused(&a, -EINVAL, "not a regular file");
	else
		check_refused(&a, -EPERM, "deleted, which takes CAP_CHECKPOINT_RESTORE to open");
	munmap(at, 8192);
	close(fd);
}

static void test_memfd(void **state)
{
	needs_root();
	struct mapped m = {0};
	int fd = memfd_create("code", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(pwrite(fd, ELFMAG "a", SELFMAG + 1, 0), SELFMAG + 1);
	map_in_child(fd, &m);
	close(fd);
	struct answer a = ask(&m.q);
	check_file(&a, &m, "/memfd:code", 1);
	answer_done(&a);
	done(&m);
}

static void test_many(void **state)
{
	struct mapped m = {0};
	static struct answer a[150];
	struct sp_workers *w;
	struct sp_workers_stats s;
	map_file("file", &m);
	assert_int_equal(sp_workers_new(NULL, &w), 0);
	double start = now_ms();
	for (size_t i = 0; i < SP_COUNT(a); i++)
		assert_int_equal(sp_workers_open(w, &m.q, opened, &a[i]), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	printf("150 openings: %.1f ms\n", now_ms() - start);
	for (size_t i = 0; i < SP_COUNT(a); i++) {
		check_file(&a[i], &m, m.path, 0);
		answer_done(&a[i]);
	}
	sp_workers_stats(w, &s);
	printf("CPU %.1f ms, peak %llu KiB\n", (double)s.cpu_ns / 1e6, (unsigned long long)s.peak_bytes / 1024);
	sp_workers_free(w);
	done(&m);
}

/* The mapped file is none of ours: all but the file is told. */
static void test_withheld(void **state)
{
	needs_root();
	struct mapped m = {0};
	snprintf(m.path, sizeof(m.path), "%s/text", directory);
	int fd = create(m.path, 'a');
	assert_int_equal(pwrite(fd, "secret", 6, 0), 6);
	map_in_child(fd, &m);
	close(fd);
	unlink(m.path);
	struct answer a = ask(&m.q);
	assert_string_equal(a.error, "not an ELF file");
	assert_int_equal(a.result.r, -ENOEXEC);
	assert_int_equal(a.result.fd, -1);
	assert_string_equal(a.result.path, m.path);
	assert_int_equal(a.result.deleted, 1);
	assert_int_equal(a.result.state.ino, m.st.st_ino);
	assert_int_equal(a.result.size, 8192);
	answer_done(&a);
	done(&m);
}

static int make_directory(void **state)
{
	struct statvfs disk; /* /tmp may be tmpfs, which opens nothing by its inode */
	bool good = statvfs("/var/tmp", &disk) == 0 && !(disk.f_flag & ST_NOEXEC) && access("/var/tmp", W_OK) == 0;
	snprintf(directory, sizeof(directory), "%s/soprof-opener-XXXXXX", good ? "/var/tmp" : getenv("TMPDIR") ?: "/tmp");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	return rmdir(directory);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	const struct CMUnitTest tests[] = {
	    CLEAN_TEST(test_mapped),        CLEAN_TEST(test_without_key),   CLEAN_TEST(test_deleted),
	    CLEAN_TEST(test_replaced),      CLEAN_TEST(test_named_deleted), CLEAN_TEST(test_wrong_key),
	    CLEAN_TEST(test_gone),          CLEAN_TEST(test_mapping_gone),  CLEAN_TEST(test_no_file),
	    CLEAN_TEST(test_memfd),         CLEAN_TEST(test_many),          CLEAN_TEST(test_now),
	    CLEAN_TEST(test_now_in_chroot), CLEAN_TEST(test_withheld),
	};
	const struct CMUnitTest unprivileged[] = {CLEAN_TEST(test_unprivileged)};
	int failed = cmocka_run_group_tests(tests, make_directory, remove_directory);
	if (geteuid() != 0)
		failed += cmocka_run_group_tests(unprivileged, make_directory, remove_directory);
	return failed;
}
