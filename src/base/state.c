/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/state.h"
#include "base/error.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sp_state_path(const char *below, char **ret_path)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	*ret_path = NULL;
	if (state && state[0] == '/')
		n = asprintf(ret_path, "%s/soprof%s", state, below);
	else if (home && home[0] == '/')
		n = asprintf(ret_path, "%s/.local/state/soprof%s", home, below);
	else
		return sp_fail_said(-ENOENT, "$HOME is not set");
	if (n >= 0)
		return 0;
	*ret_path = NULL;
	return -ENOMEM;
}

static int make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return sp_fail(-errno, "make %s", path);
		if (!slash)
			return 0;
		*slash = '/';
	}
}

int sp_state_make(char *path)
{
	struct stat st;
	int r = make_directories(path);

	if (r < 0)
		return r;
	if (lstat(path, &st) < 0)
		return sp_fail(-errno, "look at %s", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return sp_fail(-EPERM, "%s is not a directory that only you can write to", path);
	return 0;
}

bool sp_state_is_roots(void)
{
	return geteuid() == 0 && getenv("SUDO_USER");
}

size_t sp_state_in_home(const char *path)
{
	const char *home = getenv("HOME");
	size_t n = home && !sp_state_is_roots() ? strlen(home) : 0;

	return n && !strncmp(path, home, n) && path[n] == '/' ? n : 0;
}
