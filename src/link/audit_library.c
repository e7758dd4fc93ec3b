/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link/audit_library.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"
#include "link/audit_path.h" /* made by the build: SP_AUDIT_* */

enum { MAX_LIBRARY_BYTES = 16 << 20 };
static const char library_name[] = "calls.so", memory_name[] = "memory.so", marker_name[] = "uncounted";
static const struct {
	const char *path, *target;
} links[] = {SP_AUDIT_LINKS{NULL, NULL}};

/* --- where the library is --- */
static int path_join(const char *directory, const char *name, char **ret_path)
{
	return asprintf(ret_path, "%s/%s", directory, name) < 0 ? -ENOMEM : 0;
}

static int library_in(const char *directory)
{
	SP_FREE char *path = NULL;
	int r = path_join(directory, library_name, &path);

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
	r = path_join(self, "src/audit", &beside);
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

/* --- who may read it there --- */
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
	bool fits = part && component_fits("/", 0111, keeping);

	for (char *slash = fits ? strchr(part + 1, '/') : NULL; slash && fits; slash = strchr(slash + 1, '/')) {
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
	int r = path_join(directory, library_name, &path);

	if (r < 0)
		return r;
	if (strchr(path, ':')) /* which ends a name in LD_AUDIT */
		return sp_fail_said(-EINVAL, "ld.so cannot load %s: its name has a ':'", path);
	if (!can_be_mapped(path))
		return sp_fail_said(-EPERM, "ld.so cannot load %s: it is on a file system mounted noexec", path);
	whole = realpath(path, NULL);
	if (geteuid() != 0 || (whole && is_for_all(path, 0444, ANYBODY) && is_for_all(whole, 0444, ANYBODY)))
		return 0;
	return sp_fail_said(
	    -EACCES, "programs of other users will complain that they cannot load %s: not all may read it", path);
}

/* --- directories of ours --- */
/* A new one with a name of its own, for all to enter. */
static int directory_new(const char *in, char **ret_directory)
{
	SP_FREE char *path = NULL;
	int r = path_join(in, "soprof-calls-XXXXXX", &path);

	if (r < 0)
		return r;
	if (!mkdtemp(path))
		return -errno;
	if (chmod(path, 0755) < 0) {
		rmdir(path);
		return -EACCES;
	}
	*ret_directory = sp_take_ptr(path);
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

static void directory_remove(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int file_make(const char *directory, const char *name, mode_t mode, const void *bytes, size_t len)
{
	SP_FREE char *path = NULL;
	int r = path_join(directory, name, &path);

	if (r < 0)
		return r;
	SP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = sp_write_all(fd, bytes, len);
	if (r < 0)
		return r;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int library_copy(const char *from, const char *name, const char *to)
{
	SP_FREE char *path = NULL, *bytes = NULL;
	size_t len = 0;
	int r = path_join(from, name, &path);

	if (r >= 0)
		r = sp_text_read(path, MAX_LIBRARY_BYTES, &bytes, &len);
	return r < 0 ? r : file_make(to, name, 0555, bytes, len);
}

/* "lib/x86_64-linux-gnu/calls.so": each of its directories, and the link in them. */
static int link_make(const char *directory, const char *link, const char *target)
{
	SP_FREE char *path = NULL;
	int r = path_join(directory, link, &path);

	for (char *slash = r < 0 ? NULL : path + strlen(directory); slash; slash = strchr(slash + 1, '/')) {
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

	if (r >= 0)
		r = library_copy(from, memory_name, to);
	if (r >= 0 && links[0].path)
		r = library_copy(from, "calls32.so", to);
	for (size_t i = 0; links[i].path && r >= 0; i++)
		r = link_make(to, links[i].path, links[i].target);
	return r;
}

/* --- a copy of the library --- */
static int library_hash(const char *source, const char *name, uint64_t *hash, size_t *size)
{
	SP_FREE char *path = NULL, *bytes = NULL;
	size_t len = 0;
	int r = path_join(source, name, &path);

	if (r >= 0)
		r = sp_text_read(path, MAX_LIBRARY_BYTES, &bytes, &len);
	for (size_t i = 0; i < len; i++)
		*hash = (*hash ^ (unsigned char)bytes[i]) * 0x100000001b3ULL;
	*size += len;
	return r;
}

/* By the content of both libraries. */
static int copy_key(const char *source, char *ret_key, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	size_t len = 0;
	int r = library_hash(source, library_name, &hash, &len);

	if (r >= 0)
		r = library_hash(source, memory_name, &hash, &len);
	snprintf(ret_key, size, "%016llx-%zx", (unsigned long long)hash, len);
	return r;
}

/* Whole, or not there. */
static int copy_new(const char *source, const char *in, const char *path)
{
	SP_FREE char *made = NULL;
	int r = directory_new(in, &made);

	if (r >= 0)
		r = libraries_copy(source, made);
	if (r >= 0 && rename(made, path) < 0 && errno != EEXIST && errno != ENOTEMPTY) /* another run was first */
		r = -errno;
	if (made)
		directory_remove(made);
	return r;
}

static int copy_in(const char *where, const char *source, char **ret_place)
{
	SP_FREE char *in = NULL, *path = NULL;
	char key[48];
	int r = path_join(where, "soprof-calls", &in);

	if (r >= 0 && (!is_for_all(where, 0111, NOBODY) || !can_be_mapped(where)))
		r = -EACCES;
	if (r >= 0 && mkdir(in, 0755) == 0 && chmod(in, 0755) < 0) /* whatever the umask is */
		r = -errno;
	if (r >= 0 && !is_for_all(in, 0111, NOBODY))
		r = -EACCES;
	if (r >= 0)
		r = copy_key(source, key, sizeof(key));
	if (r >= 0)
		r = path_join(in, key, &path);
	if (r >= 0 && access(path, F_OK) < 0)
		r = copy_new(source, in, path);
	return r < 0 ? r : path_join(path, SP_AUDIT_PLACE, ret_place);
}

/*
 * In a directory where only root makes names, and kept: programs that are left running have the name in their
 * environment, so the copy must stay for their children, and nobody may replace it.
 */
static int copy_make(const char *source, char **ret_place)
{
	int r = copy_in("/run", source, ret_place);

	if (r < 0) {
		sp_error_clear();
		r = copy_in("/var/cache", source, ret_place);
	}
	return r;
}

/* The library from where it is; if that does not serve all, from a copy; if there is none, as it is, with a word. */
static int library_place(struct sp_audit_library *p, const char *source)
{
	SP_FREE char *why = NULL;
	int e, r = source_check(source);

	if (r >= 0)
		return path_join(source, SP_AUDIT_PLACE, &p->place);
	if (geteuid() != 0)
		return r;
	why = strdup(sp_error_text(r));
	sp_error_clear();
	e = copy_make(source, &p->place);
	if (e >= 0)
		return 0;
	sp_error_clear();
	if (r != -EACCES)
		return sp_fail_said(r, "%s; and in /run and /var/cache: %s", why ? why : "", strerror(-e));
	snprintf(p->lacking, sizeof(p->lacking), "%s; and in /run and /var/cache: %s", why ? why : "", strerror(-e));
	return path_join(source, SP_AUDIT_PLACE, &p->place);
}

/* --- who cannot count --- */
/* A directory for the marker that others cannot take away: a sticky one will do. */
static int marker_directory(char **ret_directory)
{
	const char *const places[] = {"/run", getenv("TMPDIR"), "/tmp", "/var/tmp"};
	int r = -EACCES;

	for (size_t i = 0; i < SP_COUNT(places) && r < 0; i++) {
		SP_FREE char *whole = places[i] ? realpath(places[i], NULL) : NULL;

		r = whole && is_for_all(whole, 0111, OWNERS) ? directory_new(whole, ret_directory) : -EACCES;
	}
	return r;
}

/* The file that programs open which cannot count, and who is notified of it. */
static int marker_make(struct sp_audit_library *p)
{
	SP_FREE char *path = NULL;
	SP_CLOSE int fd = -1;
	int r = marker_directory(&p->directory);

	if (r >= 0)
		r = file_make(p->directory, marker_name, 0444, NULL, 0);
	if (r >= 0)
		r = path_join(p->directory, marker_name, &path);
	if (r < 0)
		return r;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* Closed, too: equal events that follow each other become one. */
	if (fd < 0 || inotify_add_watch(fd, path, IN_OPEN | IN_CLOSE) < 0)
		return -errno;
	p->opened_fd = sp_take_fd(&fd);
	return 0;
}

int sp_audit_library_find(void)
{
	SP_FREE char *source = NULL;

	return source_find(&source);
}

int sp_audit_library_make(bool lasting, struct sp_audit_library *ret_place)
{
	struct sp_audit_library p = SP_AUDIT_LIBRARY_NONE;
	SP_FREE char *source = NULL;
	int e, r = source_find(&source);

	if (r >= 0)
		r = library_place(&p, source);
	if (r < 0)
		return r;
	e = lasting ? 0 : marker_make(&p);
	if (e < 0)
		snprintf(p.lacking, sizeof(p.lacking), "programs that run uncounted will not be told of: %s",
			 strerror(-e));
	*ret_place = p;
	return 0;
}

/* --- who counts --- */
/* What is in the variable already and not called as our library is, with colons between. Whether there is any. */
static bool others_write(FILE *out, const char *variable, const char *name)
{
	const char *others = getenv(variable);
	size_t n = strlen(name);
	bool any = false;

	while (others && *others != '\0') {
		size_t end = strcspn(others, ": ");
		bool is_ours = end > n && others[end - n - 1] == '/' && memcmp(others + end - n, name, n) == 0;

		if (end > 0 && !is_ours) {
			fprintf(out, "%s%.*s", any ? ":" : "", (int)end, others);
			any = true;
		}
		others += end + (others[end] != '\0');
	}
	return any;
}

/* "VARIABLE=", with ours behind the others. */
static int audit_make(const struct sp_audit_library *p, char **ret_text)
{
	size_t len;
	FILE *out = open_memstream(ret_text, &len);

	if (!out)
		return -ENOMEM;
	fputs("LD_AUDIT=", out);
	if (others_write(out, "LD_AUDIT", library_name))
		putc(':', out);
	fprintf(out, "%s%s", p->place, library_name);
	return fclose(out) != 0 ? -ENOMEM : 0;
}

/* With ours before the others: one of them may be a malloc. */
static int preload_make(const struct sp_audit_library *p, char **ret_text)
{
	size_t len;
	FILE *out = open_memstream(ret_text, &len);

	if (!out)
		return -ENOMEM;
	fprintf(out, "LD_PRELOAD=%s%s:", p->place, memory_name);
	others_write(out, "LD_PRELOAD", memory_name);
	return fclose(out) != 0 ? -ENOMEM : 0;
}

int sp_calls_environment(const struct sp_audit_library *place, const char *path, char *ret_set[SP_CALLS_VARIABLES + 1])
{
	SP_FREE char *audit = NULL, *calls = NULL, *uncounted = NULL;

	if (audit_make(place, &audit) < 0 || asprintf(&calls, "SOPROF_CALLS=%s", path) < 0)
		return -ENOMEM;
	if (place->opened_fd >= 0 && asprintf(&uncounted, "SOPROF_UNCOUNTED=%s/%s", place->directory, marker_name) < 0)
		return -ENOMEM;
	ret_set[0] = sp_take_ptr(audit);
	ret_set[1] = sp_take_ptr(calls);
	ret_set[2] = sp_take_ptr(uncounted);
	ret_set[3] = NULL;
	return 0;
}

int sp_memory_environment(const struct sp_audit_library *place, uint64_t distance,
			  char *ret_set[SP_MEMORY_VARIABLES + 1])
{
	SP_FREE char *preload = NULL, *bytes = NULL;

	if (preload_make(place, &preload) < 0 || asprintf(&bytes, "SOPROF_MEMORY=%" PRIu64, distance) < 0)
		return -ENOMEM;
	ret_set[0] = sp_take_ptr(preload);
	ret_set[1] = sp_take_ptr(bytes);
	ret_set[2] = NULL;
	return 0;
}

/* For each kind of program the place has a link to it. */
int sp_memory_path(const struct sp_audit_library *place, char **ret_path)
{
	size_t n = strlen(place->place) - strlen(SP_AUDIT_PLACE);

	return asprintf(ret_path, "%.*s/%s", (int)n, place->place, memory_name) < 0 ? -ENOMEM : 0;
}

uint64_t sp_audit_library_uncounted(const struct sp_audit_library *place, bool *ret_more)
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

void sp_audit_library_done(struct sp_audit_library *place)
{
	if (place->directory)
		directory_remove(place->directory);
	free(place->place);
	free(place->directory);
	if (place->opened_fd >= 0)
		close(place->opened_fd);
	*place = SP_AUDIT_LIBRARY_NONE;
}
