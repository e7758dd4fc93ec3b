/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name.c: what a user's name for a library or program means, and whether a file is meant by it. */
#include "base/error.h"
#include "base/path.h"
#include "probe/file.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_HEX = 8, MOST_HEX = 64 };

static unsigned hex_of(char c)
{
	return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

static bool build_id_take(struct sp_probe_name *name)
{
	size_t n = strlen(name->text);

	if (n < LEAST_HEX || n > MOST_HEX)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned digit = hex_of((char)tolower((unsigned char)name->text[i]));

		if (digit > 15)
			return false;
		name->build_id[i / 2] = (uint8_t)(name->build_id[i / 2] | digit << (i % 2 ? 0 : 4));
	}
	name->build_id_len = (uint32_t)n;
	return true;
}

/* PID:NAME; a path may begin with digits and have a colon, but not without a slash before it. */
static void pid_take(struct sp_probe_name *name)
{
	size_t n = strspn(name->text, "0123456789");
	unsigned long pid = strtoul(name->text, NULL, 10);

	if (!n || name->text[n] != ':' || !pid || pid > INT32_MAX)
		return;
	name->pid = (uint32_t)pid;
	name->text += n + 1;
}

int sp_probe_name_parse(const char *text, struct sp_probe_name *ret_name)
{
	struct sp_probe_name name = {.text = text};

	pid_take(&name);
	if (!*name.text)
		return sp_fail_said(-EINVAL, "the name of a library is empty");
	name.by = strchr(name.text, '/') ? SP_PROBE_BY_PATH
		  : build_id_take(&name) ? SP_PROBE_BY_BUILD_ID
					 : SP_PROBE_BY_NAME;
	*ret_name = name;
	return 0;
}

static size_t without_deleted(const char *path)
{
	static const char suffix[] = " (deleted)";
	size_t n = strlen(path);

	return n > sizeof(suffix) - 1 && !strcmp(path + n - (sizeof(suffix) - 1), suffix) ? n - (sizeof(suffix) - 1)
											  : n;
}

/* A library's file may be called otherwise than the library: libz.so.1.2.13, libc-2.31.so. */
static bool is_like(const char *file, size_t n, const char *name)
{
	const char *so = strstr(name, ".so");
	size_t stem = so ? (size_t)(so - name) : strlen(name);

	return (n == strlen(name) && !strncmp(file, name, n)) || (so && n >= stem && !strncmp(file, name, stem));
}

bool sp_probe_name_may_be(const struct sp_probe_name *name, const char *path)
{
	const char *last = sp_path_last(path);
	size_t n = without_deleted(path);

	if (*path != '/')
		return false;
	if (name->by == SP_PROBE_BY_PATH)
		return is_like(last, without_deleted(last), sp_path_last(name->text));
	return name->by != SP_PROBE_BY_NAME || is_like(last, n - (size_t)(last - path), name->text);
}

static bool has_build_id(const struct sp_probe_name *name, const struct sp_probe_file *file)
{
	size_t whole = name->build_id_len / 2;

	if (file->build_id_len * 2 < name->build_id_len || memcmp(file->build_id, name->build_id, whole) != 0)
		return false;
	return !(name->build_id_len % 2) || file->build_id[whole] >> 4 == name->build_id[whole] >> 4;
}

bool sp_probe_name_is(const struct sp_probe_name *name, const struct sp_probe_file *file)
{
	switch (name->by) {
	case SP_PROBE_BY_BUILD_ID:
		return has_build_id(name, file);
	case SP_PROBE_BY_PACKAGE:
		return !strcmp(file->package, name->text);
	case SP_PROBE_BY_PATH:
		return !strcmp(file->path, name->text);
	case SP_PROBE_BY_NAME:
		break;
	}
	return !strcmp(file->soname, name->text) || !strcmp(sp_path_last(file->path), name->text);
}
