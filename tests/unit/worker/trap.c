/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trap.h"
#include "base/mem.h"
#include "tool.h"
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { FILE_NODE = 2 };

static char directory[64];

/* The server. */
static void reply(int fd, const struct fuse_in_header *in, int error, const void *bytes, size_t size)
{
	char message[256];
	struct fuse_out_header h = {.len = (uint32_t)(sizeof(h) + size), .error = error, .unique = in->unique};
	memcpy(message, &h, sizeof(h));
	if (size)
		memcpy(message + sizeof(h), bytes, size);
	(void)!write(fd, message, h.len);
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .size = node == FILE_NODE ? TRAP_BYTES : 0,
				  .mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
				  .nlink = 1,
				  .mtime = 1600000000,
				  .blksize = 4096};
}

void serve(int fd, const struct fuse_in_header *in)
{
	const char *name = (const char *)(in + 1);
	struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096};
	struct fuse_entry_out entry = {
	    .nodeid = FILE_NODE, .entry_valid = 1000, .attr_valid = 1000, .attr = attr_of(FILE_NODE)};
	struct fuse_attr_out attr = {.attr_valid = 1000, .attr = attr_of(in->nodeid)};
	struct fuse_open_out open_out = {.fh = 1};
	struct fuse_statfs_out fs = {.st = {.bsize = 4096, .namelen = 255}};
	switch (in->opcode) {
	case FUSE_INIT:
		reply(fd, in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp(name, "file") == 0)
			reply(fd, in, 0, &entry, sizeof(entry));
		else
			reply(fd, in, -ENOENT, NULL, 0);
		break;
	case FUSE_GETATTR:
		reply(fd, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(fd, in, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_STATFS:
		reply(fd, in, 0, &fs, sizeof(fs));
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	default:
		reply(fd, in, -ENOSYS, NULL, 0);
	}
}

/* Until told by a byte (or the end of the pipe) it answers; after that it only takes. */
static _Noreturn void run_server(int fd, int told)
{
	static union {
		struct fuse_in_header h;
		char bytes[1 << 17];
	} in;
	struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = told, .events = POLLIN}};
	for (;;) {
		poll(fds, 2, -1);
		if (fds[1].revents)
			fds[1].fd = -1;
		if (fds[0].revents & POLLERR)
			usleep(1000); /* not mounted yet */
		if (!(fds[0].revents & POLLIN))
			continue;
		ssize_t n = read(fd, &in, sizeof(in));
		if (n >= (ssize_t)sizeof(in.h) && fds[1].fd >= 0)
			serve(fd, &in.h);
	}
}

struct told { /* by the victim */
	int error;
	const char *what;
	void *at;
	struct stat st, inner;
};

static _Noreturn void say(int fd, int error, const char *what)
{
	struct told t = {.error = error, .what = what};
	(void)!write(fd, &t, sizeof(t));
	_exit(1);
}

/* Maps DIRECTORY/seen/file, and gives nothing away but where. */
static _Noreturn void run_victim(int say_fd)
{
	struct told t = {0};
	char path[128];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/seen/file", directory);
	close(open(path, O_RDONLY | O_CLOEXEC)); /* so that FUSE_FLUSH is asked for once */
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		say(say_fd, errno, "open the file");
	t.at = mmap(NULL, TRAP_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (t.at == MAP_FAILED || fstat(fd, &t.st) < 0)
		say(say_fd, errno, "map the file");
	snprintf(path, sizeof(path), "%s/inner", directory);
	if (stat(path, &t.inner) < 0)
		say(say_fd, errno, "stat the file system below");
	(void)!write(say_fd, &t, sizeof(t));
	for (;;)
		pause();
}

static int mount_all(int fuse, enum trap_kind kind)
{
	char options[400], inner[128], seen[128];
	snprintf(inner, sizeof(inner), "%s/%s", directory, kind ? "inner" : "seen");
	snprintf(seen, sizeof(seen), "%s/seen", directory);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse);
	if (mount("test", inner, "fuse", MS_NODEV | MS_NOSUID, options) < 0)
		return -errno;
	if (!kind)
		return 0;
	snprintf(options, sizeof(options), "lowerdir=%s/empty:%s", directory, inner);
	return mount("test", seen, "overlay", MS_RDONLY, options) < 0 ? -errno : 0;
}

/* As an ordinary user does who mounts something. */
static int enter_user_namespace(void)
{
	static const char *const maps[] = {"setgroups", "deny", "uid_map", "0 0 1", "gid_map", "0 0 1"};
	char path[64];
	if (unshare(CLONE_NEWUSER) < 0)
		return -1;
	for (size_t i = 0; i < SP_COUNT(maps); i += 2) {
		snprintf(path, sizeof(path), "/proc/self/%s", maps[i]);
		SP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, maps[i + 1], strlen(maps[i + 1])) < 0)
			return -1;
	}
	return 0;
}

/* Mounts in a namespace of its own; the mounting itself asks the server, so it is done beside it. */
static _Noreturn void run_all(int told, int say_fd, enum trap_kind kind)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kind == TRAP_OF_USER && enter_user_namespace() < 0)
		say(say_fd, errno, "make a user namespace");
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		say(say_fd, errno, "make a mount namespace");
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0)
		say(say_fd, errno, "open /dev/fuse");
	pid_t victim = fork();
	if (victim == 0) {
		int r = mount_all(fuse, kind);
		close(fuse); /* else the connection would live as long as this process */
		close(told);
		if (r < 0)
			say(say_fd, -r, "mount");
		run_victim(say_fd);
	}
	run_server(fuse, told);
}

bool set_trap(enum trap_kind kind, struct trap *t)
{
	int tell[2], hear[2];
	struct told told = {.error = EIO, .what = "hear of the victim"};
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	assert_int_equal(pipe2(hear, O_CLOEXEC), 0);
	t->server = fork();
	if (t->server == 0) {
		close(tell[1]);
		run_all(tell[0], hear[1], kind);
	}
	close(tell[0]);
	close(hear[1]);
	t->tell = tell[1];
	(void)!read(hear[0], &told, sizeof(told));
	close(hear[0]);
	if (told.error) {
		printf("skip: cannot %s: %s\n", told.what, strerror(told.error));
		return false;
	}
	char path[128];
	FILE *f;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)t->server, (int)t->server);
	assert_non_null(f = fopen(path, "re"));
	assert_int_equal(fscanf(f, "%d", &t->victim), 1);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/root%s/seen/file", (int)t->victim, directory);
	assert_true((t->fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0);
	t->inner_dev = major(told.inner.st_dev) << 20 | minor(told.inner.st_dev);
	t->q = (struct sp_open_request){.pid = t->victim,
					.start = (uint64_t)(uintptr_t)told.at,
					.end = (uint64_t)(uintptr_t)told.at + TRAP_BYTES,
					.key = {.ino = told.st.st_ino,
						.size = TRAP_BYTES,
						.mtime_ns = 1600000000ULL * 1000000000,
						.dev = major(told.st.st_dev) << 20 | minor(told.st.st_dev)}};
	return true;
}

void go_silent(struct trap *t)
{
	close(t->tell);
	t->tell = -1;
}

/* With the server goes the connection: every request in it ends, and so do those who hung. */
void release(struct trap *t)
{
	sp_cleanup_close(&t->tell);
	kill(t->server, SIGKILL);
	waitpid(t->server, NULL, 0);
	if (t->fd > 0)
		close(t->fd);
	for (double start = now_ms(); now_ms() - start < 3000 && waitpid(-1, NULL, WNOHANG) >= 0;)
		usleep(10000);
}

static const char *const subdirectories[] = {"inner", "seen", "empty"};

int make_directories(void **state)
{
	char path[128];
	snprintf(directory, sizeof(directory), "%s/soprof-hang-XXXXXX",
		 access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp"); /* which may be tmpfs */
	if (!mkdtemp(directory))
		return -1;
	for (size_t i = 0; i < SP_COUNT(subdirectories); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, subdirectories[i]);
		mkdir(path, 0755);
	}
	return 0;
}

int remove_directories(void **state)
{
	char path[128];
	for (size_t i = 0; i < SP_COUNT(subdirectories); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, subdirectories[i]);
		rmdir(path);
	}
	return rmdir(directory);
}
