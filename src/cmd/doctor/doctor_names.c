/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor_names.c: where names come from on this machine, and where unwind tables are kept. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/doctor/doctor.h"
#include "naming/naming.h"
#include "proc/process.h"
#include "unwind/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the kernel's --- */
/* The first line tells: addresses are all shown or all hidden. */
static int kallsyms(bool *ret_shown)
{
	SP_FCLOSE FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long address = 0;

	if (!f)
		return -errno;
	*ret_shown = false;
	for (int i = 0; i < 16 && !*ret_shown && fscanf(f, "%llx %*[^\n]", &address) == 1; i++)
		*ret_shown = address != 0; /* per-CPU symbols begin at 0 */
	return 0;
}

static void kernel_symbols(struct sp_doctor *d)
{
	static const char key[] = "kernel_symbols", what[] = "names of the kernel";
	int restrict_level = -1, r;
	bool shown = false;

	sp_process_setting("kptr_restrict", &restrict_level);
	r = kallsyms(&shown);
	if (r < 0) {
		sp_doctor_add(d, key, what, SP_DOCTOR_NO, "/proc/kallsyms: %s", sp_doctor_errno(r));
		return;
	}
	sp_doctor_add(d, key, what, shown ? SP_DOCTOR_YES : SP_DOCTOR_NO,
		      "/proc/kallsyms %s addresses; kernel.kptr_restrict is %d", shown ? "shows" : "hides",
		      restrict_level);
	sp_doctor_value(d, restrict_level);
	if (shown)
		return;
	if (restrict_level >= 2)
		sp_doctor_cure(d, "sysctl kernel.kptr_restrict=1");
	else if (sp_doctor_has(d, CAP_SYSLOG))
		sp_doctor_cure(d, "outside of the container or user namespace");
	else
		sp_doctor_cure(d, "run as root, or with CAP_SYSLOG");
}

/* --- files'
 * -----------------------------------------------------------------------------------------------------------
 */
static void packages(struct sp_doctor *d)
{
	static const char *const rpm[] = {"/usr/lib/sysimage/rpm/rpmdb.sqlite", "/var/lib/rpm/rpmdb.sqlite"};
	static const char dpkg[] = "/var/lib/dpkg/info";

	if (!access(dpkg, R_OK | X_OK)) {
		sp_doctor_add(d, "packages", "package database", SP_DOCTOR_YES, "dpkg's (%s)", dpkg);
		return;
	}
	for (size_t i = 0; i < SP_COUNT(rpm); i++) {
		if (access(rpm[i], R_OK))
			continue;
		sp_doctor_add(d, "packages", "package database", SP_DOCTOR_YES, "rpm's (%s)", rpm[i]);
		return;
	}
	sp_doctor_add(d, "packages", "package database", SP_DOCTOR_PARTLY,
		      "neither dpkg's nor rpm's: only packages that files name themselves are known");
}

static void debug_files(struct sp_doctor *d)
{
	static const char path[] = "/usr/lib/debug";
	size_t n = 0;
	glob_t found;

	if (!glob("/usr/lib/debug/.build-id/??", GLOB_NOSORT, NULL, &found)) {
		n = found.gl_pathc;
		globfree(&found);
	}
	if (n) {
		sp_doctor_add(d, "debug_files", "debug files", SP_DOCTOR_YES, "%s/.build-id has %zu directories", path,
			      n);
		return;
	}
	sp_doctor_add(d, "debug_files", "debug files", SP_DOCTOR_NO, "none by build id in %s", path);
	sp_doctor_cure(d, "packages called -dbg, -dbgsym or -debuginfo, of the libraries that matter");
}

static void debuginfod(struct sp_doctor *d)
{
	SP_FREE char *where = NULL, *urls = sp_debuginfod_urls(&where);

	if (urls && *urls) {
		sp_doctor_add(d, "debuginfod", "debuginfod servers", SP_DOCTOR_YES, "%s (%s)", urls, where);
		return;
	}
	sp_doctor_add(d, "debuginfod", "debuginfod servers", SP_DOCTOR_NO,
		      "neither DEBUGINFOD_URLS nor /etc/debuginfod/*.urls names one");
	sp_doctor_cure(d, "set DEBUGINFOD_URLS to the server of your distribution, if it has one");
}

/* --- tables
 * -----------------------------------------------------------------------------------------------------------
 */
static void measure(DIR *dir, uint64_t *ret_bytes, size_t *ret_n)
{
	struct dirent *e;
	struct stat st;

	*ret_bytes = 0;
	*ret_n = 0;
	while ((e = readdir(dir)))
		if (!fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode)) {
			*ret_bytes += (uint64_t)st.st_size;
			++*ret_n;
		}
}

/* Whether it could be made: the first of the directories above that is there. */
static int parent_writable(const char *path)
{
	SP_FREE char *above = strdup(path);
	char *slash;

	while (above && (slash = strrchr(above, '/'))) {
		*slash = 0;
		if (!access(*above ? above : "/", W_OK | X_OK))
			return 0;
		if (errno != ENOENT)
			return -errno;
	}
	return -ENOENT;
}

static void cache_there(struct sp_doctor *d, const char *path, DIR *dir)
{
	static const char key[] = "cache", what[] = "cache of tables";
	bool writable = !faccessat(dirfd(dir), ".", W_OK | X_OK, AT_EACCESS);
	int why = errno;
	struct stat st;
	uint64_t bytes;
	size_t n;

	if (fstat(dirfd(dir), &st) || st.st_uid != geteuid() || st.st_mode & 022) {
		sp_doctor_add(d, key, what, SP_DOCTOR_NO, "%s belongs to somebody else, or others may write to it",
			      path);
		sp_doctor_cure(d, "chown it to yourself, chmod 700; without a cache each run builds its tables anew");
		return;
	}
	measure(dir, &bytes, &n);
	if (writable) {
		sp_doctor_add(d, key, what, SP_DOCTOR_YES, "%s: %zu tables, %.1f of %.0f MiB", path, n,
			      (double)bytes / (1 << 20), (double)SP_ENTRIES_MAX_BYTES / (1 << 20));
		sp_doctor_value(d, (int64_t)bytes);
		return;
	}
	sp_doctor_add(d, key, what, SP_DOCTOR_PARTLY, "%s: %zu tables, but it cannot be written to: %s", path, n,
		      sp_doctor_errno(-why));
	sp_doctor_cure(d, "without new entries each run builds the tables that are missing");
}

static void cache_absent(struct sp_doctor *d, const char *path, int r)
{
	static const char key[] = "cache", what[] = "cache of tables";

	if (r == -ENOENT && !parent_writable(path)) {
		sp_doctor_add(d, key, what, SP_DOCTOR_YES, "%s will be made at the first use", path);
		return;
	}
	sp_doctor_add(d, key, what, SP_DOCTOR_NO, "%s: %s", path, sp_doctor_errno(r == -ENOENT ? -EACCES : r));
	sp_doctor_cure(d, "HOME or XDG_CACHE_HOME where you may write; without it each run builds its tables anew");
}

static void cache(struct sp_doctor *d)
{
	SP_FREE char *path = NULL;
	DIR *dir;
	int fd;

	if (sp_cache_default_dir(&path) < 0) {
		sp_doctor_add(d, "cache", "cache of tables", SP_DOCTOR_NO, "neither HOME nor XDG_CACHE_HOME is a path");
		sp_doctor_cure(d, "set HOME; without a cache each run builds its tables anew");
		return;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		cache_absent(d, path, -errno);
		if (fd >= 0)
			close(fd);
		return;
	}
	cache_there(d, path, dir);
	closedir(dir);
}

void sp_doctor_names(struct sp_doctor *d)
{
	kernel_symbols(d);
	packages(d);
	debug_files(d);
	debuginfod(d);
	cache(d);
	sp_error_clear();
}
