/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/recordings.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/state.h"
#include "cmd/output.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".pb.gz"

/* --- the directory --- */
/* Another user could lead us elsewhere with links: root's home may be that of who calls sudo. */
static int check_home(const char *path)
{
	const char *home = getenv("HOME");
	struct stat st;

	if (!home || strncmp(path, home, strlen(home)) != 0)
		return 0;
	if (stat(home, &st))
		return sp_fail(-errno, "%s", home);
	return st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)
		   ? sp_fail_said(-EPERM, "%s is not this user's alone", home)
		   : 0;
}

/* --- what is in it --- */
static int is_recording(const struct dirent *e)
{
	size_t n = strlen(e->d_name), suffix = strlen(SUFFIX);

	return n > suffix && strspn(e->d_name, "0123456789") == 8 && !strcmp(e->d_name + n - suffix, SUFFIX);
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*b)->d_name, (*a)->d_name);
}

static void list_free(struct dirent **list, int n)
{
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

static char *path_in(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* The newest stays, however large it is. */
static void forget_old(const char *directory)
{
	struct dirent **list;
	int n = scandir(directory, &list, is_recording, newest_first);
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++) {
		char *path SP_FREE = path_in(directory, list[i]->d_name);
		struct stat st;

		if (!path || lstat(path, &st))
			continue;
		bytes += (uint64_t)st.st_size;
		if (i >= SP_RECORDINGS || (i && bytes > SP_RECORDINGS_BYTES))
			unlink(path);
	}
	if (n >= 0)
		list_free(list, n);
}

int sp_recording_keep(int (*write)(void *arg, FILE *out), void *arg, char **ret_path)
{
	char *directory SP_FREE = NULL;
	char name[64];
	time_t now = time(NULL);
	struct tm tm;
	size_t n;
	int r = sp_state_path("", &directory);

	if (r >= 0)
		r = check_home(directory);
	if (r >= 0)
		r = sp_state_make(directory);
	if (r < 0)
		return r;
	localtime_r(&now, &tm);
	n = strftime(name, sizeof(name), "%Y%m%d-%H%M%S", &tm);
	snprintf(name + n, sizeof(name) - n, ".%d" SUFFIX, (int)getpid());
	*ret_path = path_in(directory, name);
	if (!*ret_path)
		return -ENOMEM;
	r = sp_output(*ret_path, write, arg);
	if (r < 0)
		free(sp_take_ptr(*ret_path));
	else
		forget_old(directory);
	return r;
}

static int nth(const char *directory, uint64_t back, char **ret_path)
{
	struct dirent **list;
	int n = scandir(directory, &list, is_recording, newest_first), r = 0;

	if (n < 0 && errno == ENOENT)
		n = 0, list = NULL;
	if (n < 0)
		return sp_fail(-errno, "read %s", directory);
	if (back < (uint64_t)n) {
		*ret_path = path_in(directory, list[back]->d_name);
		r = *ret_path ? 0 : -ENOMEM;
	} else {
		r = sp_fail_said(-ENOENT, "%s has %d recording%s: soprof profile keeps what it shows on a terminal",
				 directory, n, n == 1 ? "" : "s");
	}
	list_free(list, n);
	return r;
}

int sp_recording_find(const char *name, char **ret_path)
{
	char *directory SP_FREE = NULL;
	uint64_t back = 0;
	int r;

	*ret_path = NULL;
	if (strncmp(name, "last", 4) || (name[4] && name[4] != '-') || access(name, F_OK) == 0)
		return 0;
	if (name[4] && (sp_parse_number(name + 5, 0, UINT32_MAX, &back) < 0)) {
		sp_error_clear();
		return 0;
	}
	r = sp_state_path("", &directory);
	return r < 0 ? r : nth(directory, back, ret_path);
}
