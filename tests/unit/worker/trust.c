/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an opener trusts it trusts no longer than it is mounted: the kernel gives a mount's number and device to the
 * next one at once, which may be a FUSE file system whose server never answers.
 */
#include "base/error.h"
#include "base/mem.h"
#include "tool.h"
#include "trap.h"
#include <elf.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

enum { TRIES = 100 };

static char place[] = "/tmp/soprof-trust-XXXXXX", path[64];

/* A file system that answers, for as long as its server lives; 0: there is none here. */
static pid_t mount_fuse(void)
{
	static union {
		struct fuse_in_header h;
		char bytes[1 << 17];
	} in;
	char options[64];
	SP_CLOSE int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (fd < 0 || mount("trust", place, "fuse", 0, options) < 0)
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(fd, &in, sizeof(in)) > 0)
			serve(fd, &in.h);
		_exit(0);
	}
	return pid;
}

static void unmount_fuse(pid_t server)
{
	assert_int_equal(umount2(place, MNT_DETACH), 0);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

/* --- what is opened --- */
struct answer {
	int r;
	char error[200];
};

static void opened(void *arg, struct sp_open_result *o)
{
	struct answer *a = arg;
	a->r = o->r;
	snprintf(a->error, sizeof(a->error), "%s", o->r < 0 ? sp_error_text(o->r) : "");
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
}

/* Asks for a file that a child has mapped; all of them have gone when it returns. */
static struct answer ask(struct sp_workers *w)
{
	struct answer a = {.r = 1};
	struct sp_open_request q = {0};
	int tell[2];
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	q.pid = fork();
	if (q.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		void *at = mmap(NULL, TRAP_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
		(void)!write(tell[1], &at, sizeof(at));
		pause();
	}
	close(tell[1]);
	assert_int_equal(read(tell[0], &q.start, sizeof(q.start)), sizeof(q.start));
	close(tell[0]);
	assert_int_not_equal(q.start, (uint64_t)(uintptr_t)MAP_FAILED);
	q.end = q.start + TRAP_BYTES;
	assert_int_equal(sp_workers_open(w, &q, opened, &a), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	kill(q.pid, SIGKILL);
	waitpid(q.pid, NULL, 0);
	return a;
}

static void mount_tmpfs(void)
{
	assert_int_equal(mount("trust", place, "tmpfs", 0, NULL), 0);
	SP_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_type = ET_DYN};
	assert_true(fd >= 0 && ftruncate(fd, TRAP_BYTES) == 0);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
}

/* Whoever has answered closes what he has handed over a moment later. */
static void unmount(void)
{
	for (int i = 0; i < 1000 && umount(place) < 0; i++) {
		assert_int_equal(errno, EBUSY);
		usleep(100);
	}
}

static struct statx numbers(void)
{
	struct statx st;
	assert_int_equal(statx(AT_FDCWD, place, AT_STATX_DONT_SYNC, STATX_MNT_ID, &st), 0);
	return st;
}

static bool is_same_number(const struct statx *a, const struct statx *b)
{
	return a->stx_mnt_id == b->stx_mnt_id && a->stx_dev_minor == b->stx_dev_minor &&
	       a->stx_dev_major == b->stx_dev_major;
}

/* At once, while the opener may remember what was there. The numbers depend on what else the machine mounts. */
static void test_number_used_again(void **state)
{
	struct sp_workers *w;
	bool again = false;
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		printf("skip: mounting needs root\n");
		skip();
	}
	assert_int_equal(sp_workers_new(NULL, &w), 0);
	for (int i = 0; i < TRIES && !again; i++) {
		mount_tmpfs();
		struct answer a = ask(w);
		assert_string_equal(a.error, "");
		assert_int_equal(a.r, 0);
		struct statx was = numbers(), is;
		unmount();
		pid_t server = mount_fuse();
		if (!server) {
			sp_workers_free(w);
			printf("skip: FUSE cannot be mounted here\n");
			skip();
		}
		is = numbers();
		again = is_same_number(&was, &is);
		a = ask(w);
		unmount_fuse(server);
		assert_string_equal(a.error, "file system not trusted (fuse)");
		assert_int_equal(a.r, -EACCES);
	}
	sp_workers_free(w);
	printf("%s\n", again ? "the number came again" : "the number never came again");
	assert_true(again);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_number_used_again)};
	if (!mkdtemp(place))
		return 1;
	snprintf(path, sizeof(path), "%s/file", place);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(place);
	return failed;
}
