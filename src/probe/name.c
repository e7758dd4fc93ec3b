/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name.c: what a user's name for a library, program or place in one means, and whether a file is meant by it. */
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

/* Of "PID:", 0 = none; a path may begin with digits and have a colon, but not without a slash before it. */
static size_t pid_length(const char *text)
{
	size_t n = strspn(text, "0123456789");
	unsigned long pid = strtoul(text, NULL, 10);

	return n && text[n] == ':' && pid && pid <= INT32_MAX ? n + 1 : 0;
}

static void pid_take(struct sp_probe_name *name)
{
	size_t n = pid_length(name->text);

	name->pid = n ? (uint32_t)strtoul(name->text, NULL, 10) : 0;
	name->text += n;
}

int sp_probe_name_parse(const char *text, struct sp_probe_name *ret_name)
{
	struct sp_probe_name name = {.text = text};

	pid_take(&name);
	if (!*name.text)
		return sp_fail_said(-EINVAL, "the name of a library is empty");
	name.by = name.pid && !strcmp(name.text, "*") ? SP_PROBE_ALL
		  : strchr(name.text, '/')            ? SP_PROBE_BY_PATH
		  : build_id_take(&name)              ? SP_PROBE_BY_BUILD_ID
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
	case SP_PROBE_ALL:
		return true;
	case SP_PROBE_BY_NAME:
		break;
	}
	return !strcmp(file->soname, name->text) || !strcmp(sp_path_last(file->path), name->text);
}

/* --- what is asked for --- */
#define USDT "usdt:"
#define PLUS "+0x"

/* Where a library's name ends, if something follows. A function may have a slash (Go's), and a path a colon. */
static char *colon_find(char *library)
{
	char *begin = library + pid_length(library), *colon = strchr(begin, ':'), *slash, *next;

	if (!colon || !memchr(begin, '/', (size_t)(colon - begin)))
		return colon;
	slash = strrchr(begin, '/');
	next = strchr(slash, ':');
	return next ? next : strrchr(begin, ':');
}

/* Cuts the text there; what is behind. */
static char *cut(char *at, size_t n)
{
	*at = '\0';
	return at + n;
}

static int address_take(struct sp_probe_asked *asked, char *plus, const char *whole)
{
	const char *digits = cut(plus, sizeof(PLUS) - 1);
	char *end;

	errno = 0;
	asked->address = strtoull(digits, &end, 16);
	asked->has_address = true;
	return !isxdigit((unsigned char)*digits) || *end || errno
		   ? sp_fail_said(-EINVAL, "'%s': the address after + must be hexadecimal", whole)
		   : 0;
}

static int behind_take(struct sp_probe_asked *asked, const char *whole)
{
	char *colon = colon_find(asked->library), *plus = strstr(asked->library, PLUS), *next;

	if (!colon && plus && !asked->is_usdt)
		return address_take(asked, plus, whole);
	if (!colon)
		return asked->is_usdt
			   ? sp_fail_said(-EINVAL, "'%s': usdt:LIBRARY:NAME, or usdt:LIBRARY:PROVIDER:NAME", whole)
			   : 0;
	asked->function = cut(colon, 1);
	next = asked->is_usdt ? strchr(asked->function, ':') : NULL;
	if (next) {
		asked->provider = asked->function;
		asked->function = cut(next, 1);
	}
	if (!*asked->function || (next && !*asked->provider))
		return sp_fail_said(-EINVAL, "'%s': no %s after the colon", whole,
				    asked->is_usdt ? "name" : "function");
	return 0;
}

int sp_probe_asked_parse(const char *text, struct sp_probe_asked *ret_asked)
{
	struct sp_probe_asked asked = {.is_usdt = !strncmp(text, USDT, sizeof(USDT) - 1)};
	int r;

	asked.library = strdup(text + (asked.is_usdt ? sizeof(USDT) - 1 : 0));
	r = asked.library ? behind_take(&asked, text) : -ENOMEM;
	if (r >= 0 && !asked.library[pid_length(asked.library)])
		r = sp_fail_said(-EINVAL, "'%s': no library before its function", text);
	if (r < 0)
		sp_probe_asked_done(&asked);
	else
		*ret_asked = asked;
	return r;
}

void sp_probe_asked_done(struct sp_probe_asked *asked)
{
	free(asked->library);
	*asked = (struct sp_probe_asked){.library = NULL};
}

int sp_probe_mistake(int r)
{
	char *words;

	if (r != -ENOENT)
		return r;
	words = strdup(sp_error_text(r));
	r = words ? sp_fail_said(-EINVAL, "%s", words) : -ENOMEM;
	free(words);
	return r;
}
