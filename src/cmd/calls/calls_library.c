/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls_library.c: libraries that the user names, by soname or as a file, and whether ld.so knows them. */
#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/calls/calls.h"
#include "elf/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CACHE_BYTES = 64 << 20 };

static int soname_read(const char *path, char **ret_name)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct sp_elf *e = NULL;
	int r = fd < 0 ? -errno : sp_elf_open_fd(fd, &e);

	if (r < 0)
		return sp_fail(r, "%s", path);
	r = sp_elf_soname(e, ret_name);
	sp_elf_close(e);
	return r;
}

int sp_calls_library_name(const char *given, char **ret_name)
{
	const char *slash = strrchr(given, '/');
	int r = slash ? soname_read(given, ret_name) : -ENOENT;

	if (slash && r < 0 && access(given, F_OK) == 0 && r == -ENOENT)
		sp_error_clear(); /* it has none */
	else if (slash)
		return r;
	*ret_name = strdup(slash ? slash + 1 : given);
	if (!*ret_name)
		return -ENOMEM;
	return **ret_name ? 0 : sp_fail_said(-EINVAL, "the name of a library is empty");
}

/* The cache has names as strings, with a NUL before and behind. */
static bool is_in_cache(const char *name)
{
	SP_FREE char *cache = NULL, *wanted = NULL;
	size_t len = 0;
	int n;

	if (sp_text_read("/etc/ld.so.cache", MAX_CACHE_BYTES, &cache, &len) < 0) {
		sp_error_clear();
		return false;
	}
	n = asprintf(&wanted, "%c%s%c", '\0', name, '\0');
	return n > 0 && memmem(cache, len, wanted, (size_t)n);
}

static bool is_in_directories(const char *directories, const char *name)
{
	for (const char *at = directories; *at; at += strcspn(at, ":"), at += *at == ':') {
		SP_FREE char *path = NULL;

		if (asprintf(&path, "%.*s/%s", (int)strcspn(at, ":"), at, name) > 0 && !access(path, R_OK))
			return true;
	}
	return false;
}

bool sp_calls_library_is_known(const char *name)
{
	const char *own = getenv("LD_LIBRARY_PATH");

	return is_in_cache(name) || (own && is_in_directories(own, name)) ||
	       is_in_directories("/lib/" SP_MACHINE_LIBRARIES ":/usr/lib/" SP_MACHINE_LIBRARIES
				 ":/lib64:/usr/lib64:/lib:/usr/lib",
				 name);
}
