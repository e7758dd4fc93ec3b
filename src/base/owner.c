/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/owner.h"
#include "base/error.h"
#include "base/mem.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_ours(const struct sp_new_owner *to, const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || to->is_ours(to->arg, name);
}

static int give_file(int directory, const char *name, const struct sp_new_owner *to)
{
	struct stat st;
	SP_CLOSE int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != 0)
		return 0; /* who opens it says what is wrong with it */
	return fchown(fd, to->uid, to->gid) < 0 ? sp_fail(-errno, "give %s to user %u", name, to->uid) : 0;
}

/* Refuses foreign names (may_have_others false), or gives what is ours. */
static int walk(int directory, const struct sp_new_owner *to, bool may_have_others, bool check_only)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir) {
		r = -errno;
		sp_cleanup_close(&copy);
		return r;
	}
	for (const struct dirent *e; r == 0 && (e = readdir(dir));) {
		if (!is_ours(to, e->d_name))
			r = may_have_others ? 0 : sp_fail_said(-EPERM, "it holds other files, such as %s", e->d_name);
		else if (!check_only)
			r = give_file(directory, e->d_name, to);
	}
	closedir(dir);
	return r;
}

static int change(int directory, const struct sp_new_owner *to, bool check_only)
{
	struct stat st;
	int r;

	if (fstat(directory, &st) < 0)
		return -errno;
	if (st.st_uid != 0 && st.st_uid != to->uid)
		return sp_fail_said(-EPERM, "it is user %u's", (unsigned)st.st_uid);
	if (st.st_uid == 0 && (st.st_mode & 022))
		return sp_fail_said(-EPERM, "it is root's, and others may write to it");
	r = walk(directory, to, st.st_uid == to->uid, true);
	if (r < 0 || check_only)
		return r;
	r = walk(directory, to, true, false);
	return r < 0 || st.st_uid == to->uid ? r : fchown(directory, to->uid, to->gid) < 0 ? -errno : 0;
}

int sp_owner_change(const char *directory, const struct sp_new_owner *to, bool check_only)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	SP_CLOSE int fd = (int)syscall(SYS_openat2, AT_FDCWD, directory, &how, sizeof(how));
	int r = fd < 0 ? -errno : change(fd, to, check_only);

	return r < 0 ? sp_fail(r, "%s", directory) : 0;
}
