/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link/place.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "link/audit_path.h" /* made by the build: SP_AUDIT_* */

enum { MAX_LIBRARY_BYTES = 16 << 20 };
static const char library_name[] = "calls.so", marker_name[] = "uncounted";
static const struct {
	const char *directory, *target;
} links[] = {SP_AUDIT_LINKS{NULL, NULL}};

/* --- where the library is ----------------------------------------------------------------------------------------- */
static int join(const char *directory, const char *name, char **ret_path)
{
	return asprintf(ret_path, "%s/%s", directory, name) < 0 ? -ENOMEM : 0;
}

static int library_in(const char *directory)
{
	SP_FREE char *path = NULL;
	int r = join(directory, library_name, &path);

	if (r < 0)
		return r;
	return access(path, R_OK) < 0 ? sp_fail(-errno, "open the audit library %s", path) : 0;
}

/* Beside this program in a build tree, else where it is installed. */
static int source_find(char **ret_directory)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	SP_FREE char *beside = NULL;
	int r;

	if (n < 0)
		return sp_fail(-errno, "read /proc/self/exe");
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	r = join(self, "src/audit", &beside);
	if (r >= 0 && library_in(beside) < 0) {
		sp_error_clear();
		free(sp_take_ptr(beside));
		r = library_in(SP_AUDIT_DIR);
		beside = r < 0 ? NULL : strdup(SP_AUDIT_DIR);
	}
	if (r < 0 || !beside)
		return r < 0 ? r : -ENOMEM;
	*ret_directory = sp_take_ptr(beside);
	return 0;
}

/* --- who may read it there ---------------------------------------------------------------------------------------- */
/* Who but root and we may move what is in a directory. */
enum keeping { ANYBODY, OWNERS /* each his own: /tmp */, NOBODY };

static bool component_fits(const char *path, mode_t wanted, enum keeping keeping)
{
	struct stat st;
	bool is_open;

	if (stat(path, &st) < 0 || (st.st_mode & wanted) != wanted)
		return false;
	is_open = (st.st_mode & 022) != 0 && (keeping == NOBODY || (st.st_mode & S_ISVTX) == 0);
	return keeping == ANYBODY || ((st.st_uid == 0 || st.st_uid == geteuid()) && !is_open);
}

/* Whether every user has `wanted` of an absolute path. */
static bool is_for_all(const char *path, mode_t wanted, enum keeping keeping)
{
	SP_FREE char *part = strdup(path);
	bool fits = part != NULL && component_fits("/", 0111, keeping);

	for (char *slash = fits ? strchr(part + 1, '/') : NULL; slash != NULL && fits; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		fits = component_fits(part, 0111, keeping);
		*slash = '/';
	}
	return fits && component_fits(part, wanted, keeping);
}

static bool can_be_mapped(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOEXEC) == 0;
}

/* Children of other users have our environment only if we are root: ld.so takes ours away from set-user-id programs. */
static int source_check(const char *directory)
{
	SP_FREE char *path = NULL, *whole = NULL;
	int r = join(directory, library_name, &path);

	if (r < 0)
		return r;
	if (strchr(path, ':') != NULL) /* which ends a name in LD_AUDIT */
		return sp_fail_said(-EINVAL, "ld.so cannot load %s: its name has a ':'", path);
	if (!can_be_mapped(path))
		return sp_fail_said(-EPERM, "ld.so cannot load %s: it is on a file system mounted noexec", path);
	whole = realpath(path, NULL);
	if (geteuid() != 0 || (whole != NULL && is_for_all(path, 0444, ANYBODY) && is_for_all(whole, 0444, ANYBODY)))
		return 0;
	return sp_fail_said(
	    -EACCES, "programs of other users will complain that they cannot load %s: not all may read it", path);
}

/* --- the directory of a run --------------------------------------------------------------------------------------- */
static int try_directory(const char *in, enum keeping keeping, char **ret_directory)
{
	SP_FREE char *whole = in != NULL ? realpath(in, NULL) : NULL;
	SP_FREE char *path = NULL;

	if (whole == NULL || strchr(whole, ':') != NULL || !is_for_all(whole, 0111, keeping))
		return -EACCES;
	if (keeping == NOBODY && !can_be_mapped(whole))
		return -EACCES;
	if (asprintf(&path, "%s/soprof-calls-XXXXXX", whole) < 0)
		return -ENOMEM;
	if (mkdtemp(path) == NULL)
		return -errno;
	if (chmod(path, 0755) < 0) {
		rmdir(path);
		return -EACCES;
	}
	*ret_directory = sp_take_ptr(path);
	return 0;
}

/*
 * For a library: where only root makes names, since what outlives us has the name in its environment, and nobody else
 * may make one in its place when ours has been removed.
 */
static int directory_make(bool for_library, char **ret_directory)
{
	const char *const places[] = {"/run", "/var/cache", getenv("TMPDIR"), "/tmp", "/var/tmp"};
	int r = -EACCES;

	for (size_t i = 0; i < (for_library ? 2 : SP_COUNT(places)) && r < 0; i++)
		r = try_directory(places[i], for_library ? NOBODY : OWNERS, ret_directory);
	return r;
}

static int file_make(const char *directory, const char *name, mode_t mode, const void *bytes, size_t len)
{
	SP_FREE char *path = NULL;
	int r = join(directory, name, &path);

	if (r < 0)
		return r;
	SP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ssize_t n = len > 0 ? write(fd, bytes, len) : 0;
	if (n != (ssize_t)len)
		return n < 0 ? -errno : -ENOSPC;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int library_copy(const char *from, const char *name, const char *to)
{
	SP_FREE char *path = NULL, *bytes = NULL;
	size_t len = 0;
	int r = join(from, name, &path);

	if (r >= 0)
		r = sp_text_read(path, MAX_LIBRARY_BYTES, &bytes, &len);
	return r < 0 ? r : file_make(to, name, 0555, bytes, len);
}

/* "lib/x86_64-linux-gnu": each of its parts, and the link in it. */
static int link_make(const char *directory, const char *place, const char *target)
{
	SP_FREE char *path = NULL;
	int r = asprintf(&path, "%s/%s/%s", directory, place, library_name) < 0 ? -ENOMEM : 0;

	for (char *slash = r < 0 ? NULL : path + strlen(directory); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			r = -errno;
		else if (chmod(path, 0755) < 0) /* whatever the umask is */
			r = -errno;
		*slash = '/';
		if (r < 0)
			return r;
	}
	return r < 0 ? r : symlink(target, path) < 0 ? -errno : 0;
}

static int libraries_copy(const char *from, const char *to)
{
	int r = library_copy(from, library_name, to);

	if (r >= 0 && links[0].directory != NULL)
		r = library_copy(from, "calls32.so", to);
	for (size_t i = 0; links[i].directory != NULL && r >= 0; i++)
		r = link_make(to, links[i].directory, links[i].target);
	return r;
}

/* What programs open that cannot count, and who hears of it. */
static int marker_make(struct sp_calls_place *p)
{
	SP_FREE char *path = NULL;
	SP_CLOSE int fd = -1;
	int r = file_make(p->directory, marker_name, 0444, NULL, 0);

	if (r >= 0)
		r = join(p->directory, marker_name, &path);
	if (r < 0)
		return r;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* Closed, too: equal events that follow each other become one. */
	if (fd < 0 || inotify_add_watch(fd, path, IN_OPEN | IN_CLOSE) < 0)
		return -errno;
	p->opened_fd = sp_take_fd(&fd);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	remove(path);
	return 0;
}

static int copy_make(struct sp_calls_place *p, const char *source)
{
	int r = directory_make(true, &p->directory);

	if (r >= 0)
		r = libraries_copy(source, p->directory);
	return r < 0 ? r : join(p->directory, SP_AUDIT_NAME, &p->library);
}

/* The library from where it is; if that does not serve all, from a copy; if there is none, as it is, with a word. */
static int library_place(struct sp_calls_place *p, const char *source)
{
	SP_FREE char *why = NULL;
	int e, r = source_check(source);

	if (r >= 0)
		return join(source, SP_AUDIT_NAME, &p->library);
	if (geteuid() != 0)
		return r;
	why = strdup(sp_error_text(r));
	sp_error_clear();
	e = copy_make(p, source);
	if (e >= 0)
		return 0;
	sp_error_clear();
	if (r != -EACCES)
		return sp_fail_said(r, "%s; and in /run and /var/cache: %s", why ? why : "", strerror(-e));
	snprintf(p->lacking, sizeof(p->lacking), "%s; and in /run and /var/cache: %s", why ? why : "", strerror(-e));
	sp_calls_place_remove(p);
	return join(source, SP_AUDIT_NAME, &p->library);
}

static void marker_place(struct sp_calls_place *p)
{
	int r = p->directory ? 0 : directory_make(false, &p->directory);

	if (r >= 0)
		r = marker_make(p);
	if (r < 0)
		snprintf(p->lacking, sizeof(p->lacking), "programs that run uncounted will not be told of: %s",
			 strerror(-r));
}

int sp_calls_place_make(bool lasting, struct sp_calls_place *ret_place)
{
	struct sp_calls_place p = SP_CALLS_PLACE_NONE;
	SP_FREE char *source = NULL;
	int r = source_find(&source);

	if (r >= 0)
		r = library_place(&p, source);
	if (r >= 0 && !lasting)
		marker_place(&p);
	if (r < 0) {
		sp_calls_place_remove(&p);
		sp_calls_place_done(&p);
	} else {
		*ret_place = p;
	}
	return r;
}

/* --- who counts --------------------------------------------------------------------------------------------------- */
/* "LD_AUDIT=", and what is there already that is not called as our library is. */
static void auditors_put(FILE *out)
{
	const char *others = getenv("LD_AUDIT");

	fputs("LD_AUDIT=", out);
	while (others != NULL && *others != '\0') {
		size_t len = strcspn(others, ":"), n = strlen(library_name);
		bool is_ours = len > n && others[len - n - 1] == '/' && memcmp(others + len - n, library_name, n) == 0;

		if (len > 0 && !is_ours)
			fprintf(out, "%.*s:", (int)len, others);
		others += len + (others[len] == ':');
	}
}

static int auditors_make(const char *library, char **ret_text)
{
	size_t len;
	FILE *out = open_memstream(ret_text, &len);

	if (out == NULL)
		return -ENOMEM;
	auditors_put(out);
	fputs(library, out);
	return fclose(out) != 0 ? -ENOMEM : 0;
}

int sp_calls_environment(const struct sp_calls_place *place, const char *path, char *ret_set[SP_CALLS_VARIABLES + 1])
{
	SP_FREE char *audit = NULL, *calls = NULL, *uncounted = NULL;

	if (auditors_make(place->library, &audit) < 0 || asprintf(&calls, "SOPROF_CALLS=%s", path) < 0)
		return -ENOMEM;
	if (place->opened_fd >= 0 && asprintf(&uncounted, "SOPROF_UNCOUNTED=%s/%s", place->directory, marker_name) < 0)
		return -ENOMEM;
	ret_set[0] = sp_take_ptr(audit);
	ret_set[1] = sp_take_ptr(calls);
	ret_set[2] = sp_take_ptr(uncounted);
	ret_set[3] = NULL;
	return 0;
}

uint64_t sp_calls_place_uncounted(const struct sp_calls_place *place, bool *ret_more)
{
	union {
		struct inotify_event event;
		char bytes[4096];
	} buffer;
	uint64_t n_opened = 0;
	ssize_t n;

	*ret_more = false;
	while (place->opened_fd >= 0 && (n = read(place->opened_fd, &buffer, sizeof(buffer))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(buffer.bytes + at);

			n_opened += (e->mask & IN_OPEN) != 0;
			*ret_more = *ret_more || (e->mask & IN_Q_OVERFLOW) != 0;
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	return n_opened;
}

/*
 * Whether a program has the copy mapped: only of a file that nobody else has open one may have a lease to write. The
 * kernel lets go of what a program had a moment after its end, which nothing tells.
 */
static bool is_in_use(const char *directory)
{
	SP_FREE char *path = NULL;
	bool is_used = true;

	if (join(directory, library_name, &path) < 0)
		return true;
	SP_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	fcntl(fd, F_SETSIG, SIGURG); /* ignored by default, as SIGIO is not, when somebody opens it right now */
	for (unsigned ms = 1; ms <= 512 && is_used; ms *= 2) { /* a second in all */
		is_used = fcntl(fd, F_SETLEASE, F_WRLCK) < 0 && errno == EAGAIN;
		if (is_used)
			nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
	}
	return is_used;
}

bool sp_calls_place_remove(struct sp_calls_place *place)
{
	if (place->directory == NULL)
		return true;
	if (is_in_use(place->directory))
		return false;
	nftw(place->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(sp_take_ptr(place->directory));
	return true;
}

void sp_calls_place_done(struct sp_calls_place *place)
{
	free(place->library);
	free(place->directory);
	if (place->opened_fd >= 0)
		close(place->opened_fd);
	*place = SP_CALLS_PLACE_NONE;
}
