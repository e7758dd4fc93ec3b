/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files that the kernel half has announced. Of stat(2)'s answer, inode number, size and time of change are
 * compared with the kernel's key; not the device, because overlayfs and btrfs show another. Only regular files are
 * opened for reading: O_PATH and statx(AT_STATX_DONT_SYNC) neither call a device's open nor ask a file system's
 * server. A file whose server may never answer is not opened, since even close(2) would hang.
 */
#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/time.h"
#include "worker/mounts.h"
#include "worker/priv.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_CHROOT_DEPTH = 512 };

static const char deleted_suffix[] = " (deleted)";
static const char deleted_words[] = "deleted, which takes CAP_CHECKPOINT_RESTORE to open";

static bool is_deleted(const char *path)
{
	size_t len = strlen(path), suffix = strlen(deleted_suffix);
	return len > suffix && strcmp(path + len - suffix, deleted_suffix) == 0;
}

/* overlayfs with xino puts the number of the layer into the highest bits of the inode number. */
static bool same_inode(uint64_t ino, uint64_t shown)
{
	return shown == ino || (shown & ((1ULL << 56) - 1)) == ino;
}

static bool same_file(const struct sp_file_key *k, const struct statx *st)
{
	uint64_t mtime_ns = (uint64_t)st->stx_mtime.tv_sec * 1000000000 + st->stx_mtime.tv_nsec;
	if (!k->size && !k->mtime_ns)
		return same_inode(k->ino, st->stx_ino);
	return same_inode(k->ino, st->stx_ino) && st->stx_size == k->size && mtime_ns == k->mtime_ns;
}

/* What a descriptor opened with O_PATH is, without asking any server. */
static int look(int fd, const struct sp_file_key *k, struct statx *ret_st)
{
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID, ret_st) < 0)
		return -errno;
	if (!S_ISREG(ret_st->stx_mode))
		return sp_fail_said(-EINVAL, "not a regular file");
	if (sp_open_has_key(k) && !same_file(k, ret_st))
		return sp_fail_said(-ESTALE, "another file is there now");
	return 0;
}

static int check_generation(int fd, const struct sp_file_key *k, const struct statx *st)
{
	int generation;
	/* perf_event_open tells an overlay's own inode: its files have another generation, that of the layer below */
	bool is_below = !k->size && !k->mtime_ns && (st->stx_dev_major << 20 | st->stx_dev_minor) != k->dev;
	if (!sp_open_has_key(k) || is_below || k->generation == SP_OPEN_ANY_GENERATION ||
	    ioctl(fd, FS_IOC_GETVERSION, &generation) < 0)
		return 0; /* a file system that does not tell */
	return (uint32_t)generation == k->generation ? 0 : sp_fail_said(-ESTALE, "another file has the inode now");
}

static int read_path(const char *link, char **ret_path)
{
	char text[PATH_MAX + 1];
	ssize_t n = readlink(link, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = 0;
	*ret_path = strdup(text);
	return *ret_path ? 0 : -ENOMEM;
}

/* Where the process itself begins its paths. */
static int open_root(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : root;
}

/*
 * The top of what the process can see mounted, from which /proc shows the paths of its files: a chroot is left upwards.
 * Where the process shares our mounts that ends at our own root, else at the root of its mount namespace.
 */
static int open_top(pid_t pid)
{
	char up[3 * MAX_CHROOT_DEPTH + 1];
	SP_CLOSE int root = open_root(pid);
	if (root < 0)
		return root;
	for (size_t i = 0; i < MAX_CHROOT_DEPTH; i++)
		memcpy(up + 3 * i, "../", 3);
	up[3 * MAX_CHROOT_DEPTH] = 0;
	int top = openat(root, up, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return top < 0 ? -errno : top;
}

/* A path that does not lead out of this directory; a link at its end is followed only without O_NOFOLLOW. */
static int open_below(int top, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/* Opens a path as /proc shows it of this process, O_PATH only. */
static int open_in_root(pid_t pid, const char *path)
{
	SP_CLOSE int top = open_top(pid);
	return top < 0 ? top : open_below(top, path, 0);
}

static bool same_inode_of(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

static bool has_our_top(pid_t pid)
{
	SP_CLOSE int top = open_top(pid > 0 ? pid : getpid());
	struct statx its, ours;
	return top >= 0 && statx(top, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &its) == 0 &&
	       statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_INO, &ours) == 0 && same_inode_of(&its, &ours);
}

static bool path_leads_to(pid_t pid, const char *path, const struct statx *st)
{
	SP_CLOSE int fd = open_in_root(pid > 0 ? pid : getpid(), path);
	struct statx there;
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &there) < 0)
		return false;
	return same_inode_of(&there, st);
}

/* The kernel writes " (deleted)" behind the path of an unlinked file; a file may also have that name. */
static bool take_off_deleted(pid_t pid, const struct statx *st, char *path)
{
	if (!is_deleted(path))
		return st->stx_nlink == 0;
	if (st->stx_nlink > 0 && path_leads_to(pid, path, st))
		return false;
	path[strlen(path) - strlen(deleted_suffix)] = 0;
	return true;
}

struct found {
	int fd; /* O_PATH */
	char *path;
	struct statx st;
	uint64_t gone_ns; /* nothing is there: when its directory was changed last */
};

static void found_done(struct found *f)
{
	sp_cleanup_close(&f->fd);
	free(f->path);
}

static void found_again(struct found *f)
{
	found_done(f);
	*f = (struct found){.fd = -1};
}

static void mapped_link(const struct sp_open_request *q, char *ret_link, size_t size)
{
	snprintf(ret_link, size, "/proc/%d/map_files/%lx-%lx", (int)q->pid, (unsigned long)q->start,
		 (unsigned long)q->end);
}

/* Without the right to follow map_files: by the path that it shows. */
static int find_by_path(const struct sp_open_request *q, struct found *f)
{
	if (!f->path)
		return -EACCES;
	f->fd = open_in_root(q->pid, f->path);
	if (f->fd == -ENOENT)
		return sp_fail_said(-EPERM, "%s", deleted_words);
	return f->fd < 0 ? f->fd : look(f->fd, &q->key, &f->st);
}

static int find_mapped(const struct sp_open_request *q, struct found *f)
{
	char link[96];
	mapped_link(q, link, sizeof(link));
	int r = read_path(link, &f->path);
	if (r < 0)
		return r;
	f->fd = open(link, O_PATH | O_CLOEXEC);
	if (f->fd >= 0)
		return look(f->fd, &q->key, &f->st);
	return errno == EPERM || errno == EACCES ? find_by_path(q, f) : -errno;
}

struct handle {
	struct file_handle head;
	unsigned char bytes[128];
};

/*
 * The handle of an inode, where the file system's handles are made of nothing but its number and generation: the form
 * comes from the handle of its mount point. Type 1 is the kernel's FILEID_INO32_GEN, 0x81 is that of xfs with 64-bit
 * inode numbers, 0x4d that of btrfs, which has the subvolume between the two. tmpfs also says type 1, but finds only
 * inodes that somebody has asked a handle of before.
 */
static int make_handle(int mount, const struct sp_file_key *k, struct handle *h)
{
	int mount_id;
	h->head.handle_bytes = sizeof(h->bytes);
	if (name_to_handle_at(mount, "", &h->head, &mount_id, AT_EMPTY_PATH) < 0)
		return -errno;
	uint32_t ino32 = (uint32_t)k->ino;
	if (h->head.handle_type == 1 && h->head.handle_bytes == 8 && ino32 == k->ino) {
		memcpy(h->head.f_handle, &ino32, 4);
		memcpy(h->head.f_handle + 4, &k->generation, 4);
		return 0;
	}
	if (h->head.handle_type == 0x81 && h->head.handle_bytes == 12) {
		memcpy(h->head.f_handle, &k->ino, 8);
		memcpy(h->head.f_handle + 8, &k->generation, 4);
		return 0;
	}
	if (h->head.handle_type == 0x4d && h->head.handle_bytes == 20) {
		memcpy(h->head.f_handle, &k->ino, 8);
		memcpy(h->head.f_handle + 16, &k->generation, 4);
		return 0;
	}
	return -EOPNOTSUPP;
}

static int open_handle(int mount, const struct sp_file_key *k, struct found *f)
{
	struct handle h = {0};
	int r = make_handle(mount, k, &h);
	if (r < 0)
		return r;
	f->fd = open_by_handle_at(mount, &h.head, O_PATH | O_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	r = look(f->fd, k, &f->st);
	return r < 0 ? r : read_path(link, &f->path);
}

/* Which of its hard links the kernel shows of an inode that was found by its handle is chance. */
static int find_name(const char *name, struct found *f)
{
	static const char *const directories[] = {"/usr/bin",   "/usr/sbin", ("/usr/lib/" SP_MACHINE_LIBRARIES),
						  "/usr/lib64", "/usr/lib",  "/usr/local/bin"};
	const char *slash = strrchr(f->path, '/');
	if (!slash || strcmp(slash + 1, name) == 0)
		return 0;
	for (size_t i = 0; i <= SP_COUNT(directories); i++) {
		SP_FREE char *path = NULL;
		int n = i ? asprintf(&path, "%s/%s", directories[i - 1], name)
			  : asprintf(&path, "%.*s/%s", (int)(slash - f->path), f->path, name);
		if (n < 0)
			return -ENOMEM;
		if (!path_leads_to(0, path, &f->st))
			continue;
		free(f->path);
		f->path = sp_take_ptr(path);
		return 0;
	}
	f->path[0] = 0;
	return 0;
}

/* The kernel half cuts names that are too long. */
static bool has_whole_name(const struct sp_open_request *q)
{
	size_t n = strnlen(q->name, sizeof(q->name));
	return n > 0 && n < sizeof(q->name) - 1 && !memchr(q->name, '/', n);
}

static int find_own_name(const struct sp_open_request *q, struct found *f)
{
	return has_whole_name(q) ? find_name(q->name, f) : 0;
}

/*
 * In a chroot, what is outside of it is found as well, but the path that the kernel shows of it means something else,
 * or nothing, from here.
 */
static int find_by_root(const struct sp_open_request *q, struct found *f)
{
	SP_CLOSE int root = sp_mount_open_root(q->key.dev);
	int r = root < 0 ? root : open_handle(root, &q->key, f);
	if (r < 0)
		return r;
	if (f->st.stx_nlink > 0 && !path_leads_to(0, f->path, &f->st))
		f->path[0] = 0;
	return *f->path ? find_own_name(q, f) : 0;
}

static int find_by_handle(const struct sp_open_request *q, struct found *f)
{
	for (unsigned position = 0;;) {
		SP_CLOSE int mount = sp_mount_open(q->key.dev, &position);
		if (mount == -ENOENT)
			return find_by_root(q, f);
		if (mount < 0)
			return mount;
		if (open_handle(mount, &q->key, f) == 0)
			return find_own_name(q, f);
		found_again(f);
	}
}

/* Where the mapped file cannot be looked at, the kernel's word is all there is about its path. */
static void take_off_any(const struct sp_open_request *q, const char *link, char *path, struct statx *ret_mapped)
{
	SP_CLOSE int mapped = open(link, O_PATH | O_CLOEXEC);
	*ret_mapped = (struct statx){0};
	if (mapped >= 0 && statx(mapped, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, ret_mapped) == 0)
		take_off_deleted(q->pid, ret_mapped, path);
	else
		take_off_deleted(q->pid, &(struct statx){.stx_nlink = 0}, path);
}

static uint64_t directory_changed_ns(pid_t pid, const char *path)
{
	SP_FREE char *above = strdup(path);
	char *slash = above ? strrchr(above, '/') : NULL;
	struct statx st;
	if (!slash)
		return 0;
	slash[slash == above] = 0;
	SP_CLOSE int fd = open_in_root(pid, above);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME, &st) < 0)
		return 0;
	return (uint64_t)st.stx_mtime.tv_sec * 1000000000 + st.stx_mtime.tv_nsec;
}

/* What is now where the path of the mapped file leads. */
static int find_now(const struct sp_open_request *q, struct found *f)
{
	struct sp_open_request any = {.pid = q->pid};
	struct statx mapped;
	char link[96];
	mapped_link(q, link, sizeof(link));
	int r = read_path(link, &f->path);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r; /* the mapping has gone, not what was at the path */
	take_off_any(q, link, f->path, &mapped);
	f->fd = open_in_root(q->pid, f->path);
	r = f->fd < 0 ? f->fd : look(f->fd, &any.key, &f->st);
	if (r == -ENOENT)
		f->gone_ns = directory_changed_ns(q->pid, f->path);
	if (r < 0)
		return r == -ENOTDIR ? -ENOENT : r;
	return mapped.stx_ino && same_inode_of(&mapped, &f->st) ? sp_fail_said(-EALREADY, "the same file") : 0;
}

/* By the path that it had when it was mapped. What a process sees, we may not (its root is another's), and back. */
static int find_given(const struct sp_open_request *q, const char *path, struct found *f)
{
	f->path = strdup(path);
	if (!f->path)
		return -ENOMEM;
	f->fd = q->pid > 0 ? open_in_root(q->pid, path) : -ESRCH;
	if (f->fd == -ESRCH || f->fd == -ENOENT || f->fd == -EACCES)
		f->fd = open_in_root(getpid(), path);
	return f->fd < 0 ? f->fd : look(f->fd, &q->key, &f->st);
}

/* A program may be opened by those who may look into the process, even if the file was deleted. */
static int find_program(const struct sp_open_request *q, struct found *f)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)q->pid);
	f->fd = q->pid > 0 ? open(link, O_PATH | O_CLOEXEC) : -1;
	if (f->fd < 0)
		return -ENOENT;
	int r = look(f->fd, &q->key, &f->st);
	return r < 0 ? r : read_path(link, &f->path);
}

/* The other ways, after /proc/PID/map_files. */
static int find_otherwise(const struct sp_open_request *q, char path[SP_JOB_MAX_PATH], struct found *f)
{
	SP_FREE char *shown = !*path && q->pid > 0 ? sp_maps_path(q->pid, q->start) : NULL;
	int r = -ENOENT;
	if (shown)
		snprintf(path, SP_JOB_MAX_PATH, "%s", shown);
	if (*path)
		r = find_given(q, path, f);
	if (r < 0 && *path) {
		found_again(f);
		r = find_program(q, f);
	}
	if (r == 0)
		return 0;
	found_again(f);
	r = find_by_handle(q, f);
	return r < 0 && shown && is_deleted(shown) ? sp_fail_said(-EACCES, "%s", deleted_words) : r;
}

/* Of the mapping only the file's name is known. */
static int find_named(const struct sp_open_request *q, struct found *f)
{
	struct sp_open_request at = *q;
	SP_FREE char *path = has_whole_name(q) ? sp_maps_named(q->pid, q->name, &at.start, &at.end) : NULL;
	int r = path ? find_mapped(&at, f) : -ENOENT;
	if (r == -EPERM || r == -EACCES)
		found_again(f);
	return r == -EPERM || r == -EACCES ? find_given(&at, path, f) : r;
}

static int find(const struct sp_open_request *q, char path[SP_JOB_MAX_PATH], struct found *f)
{
	if (q->now)
		return find_now(q, f);
	if (!q->start && !q->end && !sp_open_has_key(&q->key))
		return find_named(q, f);
	int r = q->pid > 0 ? find_mapped(q, f) : -ESRCH;
	if (r == 0 || r == -EINVAL || !sp_open_has_key(&q->key))
		return r;
	found_again(f);
	char said[200];
	snprintf(said, sizeof(said), "%s", sp_error_text(r));
	sp_error_clear();
	int otherwise = find_otherwise(q, path, f);
	if (otherwise == 0 || otherwise == -EACCES)
		return otherwise;
	sp_error_clear();
	return sp_fail_said(r, "%s%s", said,
			    r == -EACCES ? ", which CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH would allow" : "");
}

/* The file itself in place of what an overlay shows of it. */
static int go_below(const struct sp_open_request *q, struct found *f)
{
	__attribute__((cleanup(found_done))) struct found below = {.fd = -1};
	int r = find_by_handle(q, &below);
	if (r < 0)
		return sp_fail_said(-EACCES, "file system not trusted (overlay of another user namespace)");
	close(f->fd);
	f->fd = sp_take_fd(&below.fd);
	f->st = below.st;
	return sp_open_trusted(q, f->fd, &f->st);
}

static int open_found(const struct sp_open_request *q, struct found *f, struct stat *ret_st)
{
	int r = sp_open_trusted(q, f->fd, &f->st);
	if (r == -EXDEV)
		r = go_below(q, f);
	if (r < 0)
		return r;
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	SP_CLOSE int fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == EACCES)
		return sp_fail_said(-EACCES, "not readable, which takes CAP_DAC_READ_SEARCH");
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -errno;
	if (!S_ISREG(ret_st->st_mode) || ret_st->st_ino != f->st.stx_ino)
		return sp_fail_said(-ESTALE, "another file is there now");
	r = check_generation(fd, &q->key, &f->st);
	return r < 0 ? r : sp_take_fd(&fd);
}

/* Of our own paths links are followed to the end, as distributions make them; of others' the last is not. */
static int find_path(const struct sp_open_request *q, const struct sp_job_message *m, struct found *f)
{
	f->path = strndup(m->path, SP_MIN(m->path_len, SP_JOB_MAX_PATH - 1));
	if (!f->path)
		return -ENOMEM;
	SP_CLOSE int top = m->in_root ? open_root(q->pid) : open_top(q->pid);
	if (top == -EACCES && !m->in_root)
		top = open_top(getpid());
	if (top < 0)
		return top;
	f->fd = open_below(top, f->path, m->in_root ? O_NOFOLLOW : 0);
	return f->fd < 0 ? f->fd : look(f->fd, &q->key, &f->st);
}

/* What was found by its path, of a process that has gone or is not ours to look into, was found as ours. */
static pid_t whose(const struct sp_open_request *q, const char *path)
{
	char root[64];
	snprintf(root, sizeof(root), "/proc/%d/root", (int)q->pid);
	SP_CLOSE int fd = *path ? open(root, O_PATH | O_CLOEXEC) : -1;
	return *path && fd < 0 ? getpid() : q->pid;
}

int sp_opener_work(const struct sp_job_message *m, struct sp_answer_message *a)
{
	__attribute__((cleanup(found_done))) struct found f = {.fd = -1};
	struct stat st;
	struct sp_open_request q = m->open;
	q.pid = m->kind == SP_JOB_OPEN_PATH && q.pid <= 0 ? getpid() : q.pid;
	char path[SP_JOB_MAX_PATH];
	snprintf(path, sizeof(path), "%.*s", (int)SP_MIN(m->path_len, SP_JOB_MAX_PATH), m->path);
	a->r = m->kind == SP_JOB_OPEN_PATH ? find_path(&q, m, &f) : find(&q, path, &f);
	q.pid = whose(&q, path);
	a->opened_ns = sp_time_ns(CLOCK_REALTIME);
	SP_CLOSE int fd = a->r < 0 ? -1 : open_found(&q, &f, &st);
	a->r = a->r < 0 ? a->r : fd < 0 ? fd : sp_opener_check(m, fd);
	a->is_withheld = fd >= 0 && a->r == -ENOEXEC;
	a->r = a->is_withheld ? 0 : a->r;
	a->ctime_ns = f.gone_ns;
	if (a->r < 0)
		return -1;
	a->deleted = m->kind == SP_JOB_OPEN && !q.now && take_off_deleted(q.pid, &f.st, f.path);
	a->uid = st.st_uid;
	a->mode = st.st_mode;
	a->nlink = (uint32_t)SP_MIN(st.st_nlink, UINT32_MAX);
	a->dev = st.st_dev;
	a->ino = st.st_ino;
	a->ctime_ns = sp_timespec_ns(st.st_ctim);
	a->mtime_ns = sp_timespec_ns(st.st_mtim);
	a->size = (uint64_t)st.st_size;
	a->is_ours = has_our_top(q.pid);
	a->text_len = (uint32_t)strnlen(f.path, SP_JOB_MAX_TEXT);
	memcpy(a->text, f.path, a->text_len);
	return a->is_withheld ? -1 : sp_take_fd(&fd);
}
