/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/find.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- ld.so.cache, as glibc writes it since 2.32 and, behind an older form, before --- */
enum { MAX_CACHE_BYTES = 64 << 20, FLAGS_MASK = 0xff00, FLAGS_X86_64 = 0x0300 };
static const char magic[] = "glibc-ld.so.cache1.1";

struct cache_head {
	char magic[20];
	uint32_t n, text_bytes, more[5];
};
struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* where their texts are, from the head on */
	uint32_t os_version;
	uint64_t hwcap;
};

/* A text at this place, which ends within the cache; NULL: it does not. */
static const char *text_at(const char *cache, size_t size, uint32_t at)
{
	return at < size && memchr(cache + at, 0, size - at) ? cache + at : NULL;
}

/* Calls `each` for every library of this machine's kind until it gives true. */
static void cache_walk(const char *cache, size_t size, bool (*each)(void *arg, const char *name, const char *path),
		       void *arg)
{
	struct cache_head head;
	struct cache_entry entry;

	if (size < sizeof(head))
		return;
	memcpy(&head, cache, sizeof(head));
	for (size_t i = 0; i < head.n && sizeof(head) + (i + 1) * sizeof(entry) <= size; i++) {
		const char *its, *path;

		memcpy(&entry, cache + sizeof(head) + i * sizeof(entry), sizeof(entry));
		its = text_at(cache, size, entry.name);
		path = text_at(cache, size, entry.path);
		if (its && path && (entry.flags & FLAGS_MASK) == FLAGS_X86_64 && each(arg, its, path))
			return;
	}
}

/* What `each` was given lies in *ret_cache, which the caller frees. */
static void cache_read(bool (*each)(void *arg, const char *name, const char *path), void *arg, char **ret_cache)
{
	const char *begin;
	size_t size;

	*ret_cache = NULL;
	if (sp_text_read("/etc/ld.so.cache", MAX_CACHE_BYTES, ret_cache, &size) < 0) {
		sp_error_clear();
		return;
	}
	begin = memmem(*ret_cache, size, magic, sizeof(magic) - 1);
	if (begin)
		cache_walk(begin, size - (size_t)(begin - *ret_cache), each, arg);
}

struct finding {
	const char *name, *path;
};

static bool is_found(void *arg, const char *name, const char *path)
{
	struct finding *f = arg;

	f->path = strcmp(name, f->name) ? NULL : path;
	return f->path;
}

static char *in_cache(const char *name)
{
	struct finding f = {.name = name};
	SP_FREE char *cache = NULL;

	cache_read(is_found, &f, &cache);
	return f.path ? strdup(f.path) : NULL;
}

static bool offer(void *arg, const char *name, const char *path)
{
	(void)path;
	sp_suggest_offer(arg, name);
	return false;
}

void sp_probe_find_near(struct sp_suggest *near, char **ret_names)
{
	cache_read(offer, near, ret_names);
}

/* --- directories --- */
static char *in_directories(const char *directories, const char *name, int mode)
{
	for (const char *at = directories; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		SP_FREE char *path = NULL;

		if (asprintf(&path, "%.*s/%s", (int)strcspn(at, ":"), at, name) > 0 && !access(path, mode))
			return sp_take_ptr(path);
	}
	return NULL;
}

char *sp_probe_find(const char *name)
{
	static const char libraries[] =
	    "/lib/" SP_MACHINE_LIBRARIES ":/usr/lib/" SP_MACHINE_LIBRARIES ":/lib64:/usr/lib64:/lib:/usr/lib";
	SP_FREE char *path = in_directories(getenv("LD_LIBRARY_PATH"), name, R_OK);

	path = path ? path : in_cache(name);
	path = path ? path : in_directories(libraries, name, R_OK);
	path = path ? path : in_directories(getenv("PATH"), name, X_OK);
	return path ? realpath(path, NULL) : NULL;
}
