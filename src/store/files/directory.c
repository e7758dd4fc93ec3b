/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/files/file.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/search.h"
#include "base/time.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEADER_BYTES = 100, VERSION_AT = 60, APPLICATION_AT = 68, APPLICATION_ID = 0x53507374 /* SPst */ };

static const char *const suffixes[SP_N_RESOLUTIONS] = {"10s", "1m", "1h"};

/* --- the directory --- */
static int check_directory(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sp_fail(-errno, "stat %s", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return sp_fail_said(-EPERM, "%s belongs to user %u: a store must be your own or root's", path,
				    st.st_uid);
	if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0)
		return sp_fail_said(-EPERM, "%s can be written by everybody: chmod o-w it", path);
	if ((st.st_mode & S_IWOTH) != 0)
		return sp_fail_said(-EPERM, "%s is for everybody's files: give the store a directory of its own", path);
	return 0;
}

/* Like mkdir -p -m 0750. */
static int make_directory(const char *place)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s", place) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return sp_fail(-errno, "make %s", path);
		*slash = '/';
	}
	return mkdir(path, 0750) < 0 && errno != EEXIST ? sp_fail(-errno, "make %s", path) : 0;
}

/* The last component must not be a symbolic link, unless the store is read-only. */
static int open_directory(const char *place, bool read_only, struct sp_directory *d)
{
	int flags = O_DIRECTORY | O_RDONLY | O_CLOEXEC | (read_only ? 0 : O_NOFOLLOW);

	d->fd = open(place, flags);
	if (d->fd < 0 && (errno == ELOOP || errno == ENOTDIR) && !read_only)
		return sp_fail_said(-errno, "%s is not a directory (symbolic links are not followed)", place);
	if (d->fd < 0)
		return sp_fail(-errno, "open %s", place);
	d->path = realpath(place, NULL);
	if (!d->path)
		return sp_fail(-errno, "find %s", place);
	return read_only ? 0 : check_directory(d->fd, place);
}

static int open_single_file(const char *place, struct sp_directory *d)
{
	SP_FREE char *path = realpath(place, NULL);

	if (!path)
		return sp_fail(-errno, "find %s", place);
	char *slash = strrchr(path, '/');
	d->only = strdup(slash + 1);
	slash[slash == path] = '\0';
	return !d->only ? -ENOMEM : open_directory(path, true, d);
}

int sp_directory_open(const char *place, bool make, bool read_only, struct sp_directory *ret_directory)
{
	struct sp_directory d = {.fd = -1};
	struct stat st;
	int r = make ? make_directory(place) : 0;

	if (r == 0 && read_only && stat(place, &st) == 0 && S_ISREG(st.st_mode))
		r = open_single_file(place, &d);
	else if (r == 0)
		r = open_directory(place, read_only, &d);
	if (r == 0)
		r = sp_sqlite_load();
	if (r < 0) {
		sp_directory_close(&d);
		return r;
	}
	*ret_directory = d;
	return 0;
}

void sp_directory_close(struct sp_directory *d)
{
	for (int i = 0; d->kept && i < SP_N_RESOLUTIONS; i++)
		if (d->kept[i].db && d->kept[i].pid == getpid())
			(void)sqlite3_close_v2(d->kept[i].db);
	free(d->kept);
	if (d->fd >= 0)
		(void)close(d->fd);
	free(d->path);
	free(d->only);
	*d = (struct sp_directory){.fd = -1};
}

/* In the lock file, behind the pid, while that process has the store open. */
#define OPEN " open"

/* The stores that this process has locked. */
struct held_lock {
	struct held_lock *next;
	dev_t dev;
	ino_t ino;
	pid_t pid; /* a forked child holds no lock */
	int fd;
	bool is_locked;
};
static struct held_lock *all_held;

static int add_held(struct held_lock *h, const struct sp_directory *d)
{
	struct stat st;

	if (fstat(d->fd, &st) < 0)
		return sp_fail(-errno, "stat %s", d->path);
	for (const struct held_lock *other = all_held; other; other = other->next)
		if (other->dev == st.st_dev && other->ino == st.st_ino && other->pid == getpid())
			return sp_fail_said(-EBUSY, "%s is in use by process %d: this one", d->path, getpid());
	h->dev = st.st_dev, h->ino = st.st_ino, h->pid = getpid();
	h->next = all_held;
	all_held = h;
	return 0;
}

/* For people and for the next writer; the lock itself is in the kernel. */
static void write_holder(int fd, const char *word)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d%s\n", getpid(), word);

	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, text, (size_t)n, 0);
}

static void read_last_holder(int fd, struct sp_lock *lock)
{
	char text[32] = "";
	struct stat st;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 || !strstr(text, OPEN) || fstat(fd, &st) < 0)
		return;
	lock->was_open = true;
	lock->alive_ns = (uint64_t)st.st_mtim.tv_sec * SP_NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
}

static int lock_file(const struct sp_directory *d, int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET}, holder = lock;

	if (fcntl(fd, F_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return sp_fail(-errno, "lock %s", d->path);
		if (fcntl(fd, F_GETLK, &holder) < 0 || holder.l_type == F_UNLCK || holder.l_pid <= 0)
			return sp_fail_said(-EBUSY, "%s is in use by another process", d->path);
		return sp_fail_said(-EBUSY, "%s is in use by process %d", d->path, holder.l_pid);
	}
	return 0;
}

static bool parse_name(const char *name, struct sp_day *ret_day);

/* Files that may exist before the store: an agent may write its alerts first. */
static bool is_allowed_beside(const char *name)
{
	static const char *const names[] = {".", "..", "lost+found", "alerts", "alerts.new"};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool sp_store_is_own_name(const char *name)
{
	char day_name[SP_DAY_NAME_MAX];
	struct sp_day day;
	const char *end = strstr(name, ".db");

	if (strcmp(name, "lock") == 0 || is_allowed_beside(name))
		return true;
	if (!end || (end[3] && end[3] != '-' && end[3] != '.') || end + 3 - name >= (ptrdiff_t)sizeof(day_name))
		return false;
	(void)snprintf(day_name, sizeof(day_name), "%.*s", (int)(end + 3 - name), name);
	return parse_name(day_name, &day);
}

/* Refuses a directory with other files, because retention removes files here. */
static int check_no_foreign_files(const struct sp_directory *d)
{
	int copy = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	bool is_store = false, has_other = false;
	struct sp_day day;

	if (!dir) {
		sp_cleanup_close(&copy);
		return sp_fail(-errno, "read %s", d->path);
	}
	for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		is_store |= strcmp(e->d_name, "lock") == 0 || parse_name(e->d_name, &day);
		has_other |= !is_allowed_beside(e->d_name);
	}
	closedir(dir);
	return has_other && !is_store ? sp_fail_said(-ENOTEMPTY,
						     "%s holds other files, and is no store: a store wants a "
						     "directory of its own",
						     d->path)
				      : 0;
}

/*
 * A POSIX record lock (fcntl) names its holder and is not inherited by children. But it does not exclude its own
 * process, and closing any descriptor of the file releases it: hence all_held, which is checked first.
 */
int sp_directory_lock(const struct sp_directory *d, struct sp_lock *ret_lock)
{
	struct held_lock *h = calloc(1, sizeof(*h));
	int r = !h ? -ENOMEM : check_no_foreign_files(d);

	r = r < 0 ? r : add_held(h, d);

	if (r < 0) {
		free(h);
		return r;
	}
	h->fd = openat(d->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
	r = h->fd < 0 ? sp_fail(-errno, "open %s/lock", d->path) : lock_file(d, h->fd);
	*ret_lock = (struct sp_lock){.held = h};
	if (r < 0) {
		sp_directory_unlock(ret_lock);
		return r;
	}
	h->is_locked = true;
	read_last_holder(h->fd, ret_lock);
	write_holder(h->fd, OPEN);
	return 0;
}

void sp_directory_unlock(struct sp_lock *lock)
{
	struct held_lock **at = &all_held, *h = lock->held;

	if (!h)
		return;
	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	if (h->is_locked && h->pid == getpid())
		write_holder(h->fd, "");
	if (h->fd >= 0)
		(void)close(h->fd);
	free(h);
	lock->held = NULL;
}

void sp_directory_alive(const struct sp_lock *lock)
{
	const struct held_lock *h = lock->held;

	if (h && h->is_locked)
		(void)futimens(h->fd, NULL);
}

static bool is_same_file(int r, const struct stat *a, const struct stat *b)
{
	return r == 0 && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool sp_directory_is_in_place(const struct sp_directory *d, const struct sp_lock *lock)
{
	const struct held_lock *h = lock->held;
	struct stat held, found;

	return h && fstat(d->fd, &held) == 0 && is_same_file(stat(d->path, &found), &held, &found) &&
	       fstat(h->fd, &held) == 0 &&
	       is_same_file(fstatat(d->fd, "lock", &found, AT_SYMLINK_NOFOLLOW), &held, &found);
}

int sp_directory_unlink(const struct sp_directory *d, const char *name)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal"};
	char other[SP_DAY_NAME_MAX + 16];

	if (unlinkat(d->fd, name, 0) < 0 && errno != ENOENT)
		return sp_fail(-errno, "remove %s/%s", d->path, name);
	for (size_t i = 0; i < SP_COUNT(ends); i++)
		if (snprintf(other, sizeof(other), "%s%s", name, ends[i]) < (int)sizeof(other))
			(void)unlinkat(d->fd, other, 0);
	return 0;
}

int sp_directory_set_aside(const struct sp_directory *d, const char *name)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal", ""};
	char from[SP_DAY_NAME_MAX + 16], to[SP_DAY_NAME_MAX + 48];

	/* the journal first: SQLite ignores a journal without its database */
	for (size_t i = 0; i < SP_COUNT(ends); i++) {
		(void)snprintf(from, sizeof(from), "%s%s", name, ends[i]);
		(void)snprintf(to, sizeof(to), "%s.damaged%s", name, ends[i]);
		for (int nth = 2; faccessat(d->fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && nth < 100; nth++)
			(void)snprintf(to, sizeof(to), "%s.damaged.%d%s", name, nth, ends[i]);
		if (renameat(d->fd, from, d->fd, to) < 0 && (ends[i][0] == '\0' || errno != ENOENT))
			return sp_fail(-errno, "set %s/%s aside", d->path, from);
	}
	return 0;
}

/* --- days --- */
struct sp_day sp_day_of(uint64_t wall_ns, int resolution)
{
	struct sp_day day = {.resolution = resolution};
	struct tm tm;

	day.day_s = wall_ns / SP_NS_PER_S / SP_DAY_S * SP_DAY_S;
	time_t t = (time_t)day.day_s;
	if (gmtime_r(&t, &tm))
		(void)snprintf(day.name, sizeof(day.name), "%04d-%02d-%02d.%s.db", tm.tm_year + 1900, tm.tm_mon + 1,
			       tm.tm_mday, suffixes[resolution]);
	return day;
}

/* Accepts only the exact name that sp_day_of() gives. */
static bool parse_name(const char *name, struct sp_day *ret_day)
{
	struct tm tm = {0};
	const char *rest = strptime(name, "%Y-%m-%d", &tm);
	time_t t = !rest ? -1 : timegm(&tm);

	for (int r = 0; t >= 0 && r < SP_N_RESOLUTIONS; r++) {
		struct sp_day day = sp_day_of((uint64_t)t * SP_NS_PER_S, r);
		if (strcmp(day.name, name) == 0) {
			*ret_day = day;
			return true;
		}
	}
	return false;
}

static void add_file_sizes(const struct sp_directory *d, struct sp_day *day)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
	char name[SP_DAY_NAME_MAX + 16];
	struct stat st;

	for (size_t i = 0; i < SP_COUNT(ends); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", day->name, ends[i]);
		if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		day->bytes += (uint64_t)st.st_size;
		day->has_journal |= i > 0;
	}
}

static int compare_days(const void *x, const void *y)
{
	const struct sp_day *a = x, *b = y;

	return SP_RISING(a->day_s, b->day_s) ?: SP_RISING(a->resolution, b->resolution);
}

static int list_days(const struct sp_directory *d, DIR *dir, struct sp_day **days, size_t *n, uint64_t *n_damaged)
{
	size_t capacity = 0;

	for (struct dirent *e; errno = 0, (e = readdir(dir)) != NULL;) {
		struct sp_day day;
		const char *end = strstr(e->d_name, ".db.damaged");
		*n_damaged += end && !strchr(end, '-');
		if (!parse_name(e->d_name, &day))
			continue;
		add_file_sizes(d, &day);
		int r = sp_grow(days, &capacity, *n + 1, sizeof(**days));
		if (r < 0)
			return r;
		(*days)[(*n)++] = day;
	}
	return errno != 0 ? sp_fail(-errno, "list %s", d->path) : 0;
}

/* A single file of any name: its day and resolution are read when it is opened. */
static int list_single_file(const struct sp_directory *d, struct sp_day **days, size_t *n)
{
	struct sp_day day = {.resolution = -1};
	struct stat st;

	*days = calloc(1, sizeof(day));
	if (!*days)
		return -ENOMEM;
	if (fstatat(d->fd, d->only, &st, 0) == 0)
		day.bytes = (uint64_t)st.st_size;
	**days = day;
	*n = 1;
	return 0;
}

int sp_directory_list(const struct sp_directory *d, struct sp_day **ret_days, size_t *ret_n, uint64_t *ret_n_damaged)
{
	struct sp_day *days = NULL;
	size_t n = 0;
	uint64_t n_damaged = 0;
	int fd = d->only ? -1 : openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!d->only && !dir)
		return sp_fail(-errno, "list %s", d->path);
	int r = d->only ? list_single_file(d, &days, &n) : list_days(d, dir, &days, &n, &n_damaged);
	if (dir)
		(void)closedir(dir);
	if (r < 0) {
		free(days);
		return r;
	}
	if (n > 0)
		qsort(days, n, sizeof(*days), compare_days);
	*ret_days = days;
	*ret_n = n;
	*ret_n_damaged = n_damaged;
	return 0;
}

static uint32_t big_endian(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

int sp_directory_check_version(const struct sp_directory *d, const char *name)
{
	uint8_t header[HEADER_BYTES];
	SP_CLOSE int fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, header, sizeof(header), 0);

	/* errors are reported when the file is opened */
	if (n < HEADER_BYTES || big_endian(header + APPLICATION_AT) != APPLICATION_ID)
		return 0;
	uint32_t version = big_endian(header + VERSION_AT);
	if (version > SP_STORE_VERSION && version < 1000 && sp_file_is_newer(d, name)) /* other values are damage */
		return sp_fail_said(-EPROTONOSUPPORT,
				    "%s/%s is of version %u of the store; this soprof knows %d: use a newer one",
				    d->path, name, version, SP_STORE_VERSION);
	return 0;
}
