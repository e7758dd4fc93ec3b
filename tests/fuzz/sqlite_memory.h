/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlite_memory.h: SQLite's memory from libc's own heap, and only now and then from that of the sanitizer.
 *
 * Most of what a small query of a store takes are SQLite's allocations, of which each costs several times as much
 * where it is watched. So a target has them watched for some inputs (every eighth, by fuzz_sqlite_watched): there a
 * text or BLOB that is used after its statement, or beyond its end, and what is not freed, is found as anywhere.
 * What lasts for several inputs must not keep memory of both kinds: pointers in libc's heap are not seen by those who
 * look for leaks. Call fuzz_sqlite_memory() before SQLite is used.
 */
#ifndef TESTS_FUZZ_SQLITE_MEMORY_H
#define TESTS_FUZZ_SQLITE_MEMORY_H

#include "require.h"

#include <sqlite3.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes);
extern void __libc_free(void *p);

static bool fuzz_sqlite_watched;

struct fuzz_sqlite_block {
	size_t bytes;
	bool watched;
	_Alignas(16) uint8_t data[];
};

static inline struct fuzz_sqlite_block *fuzz_sqlite_block_of(void *p)
{
	return (struct fuzz_sqlite_block *)(void *)((uint8_t *)p - offsetof(struct fuzz_sqlite_block, data));
}

static inline void *fuzz_sqlite_take(int bytes)
{
	size_t all = sizeof(struct fuzz_sqlite_block) + (size_t)bytes;
	struct fuzz_sqlite_block *b = fuzz_sqlite_watched ? malloc(all) : __libc_malloc(all);

	if (!b)
		return NULL;
	b->bytes = (size_t)bytes;
	b->watched = fuzz_sqlite_watched;
	return b->data;
}

static inline void fuzz_sqlite_give_back(void *p)
{
	struct fuzz_sqlite_block *b = fuzz_sqlite_block_of(p);

	if (b->watched)
		free(b);
	else
		__libc_free(b);
}

static inline int fuzz_sqlite_bytes(void *p)
{
	return p ? (int)fuzz_sqlite_block_of(p)->bytes : 0;
}

static inline void *fuzz_sqlite_resize(void *p, int bytes)
{
	void *to = fuzz_sqlite_take(bytes);
	size_t n = fuzz_sqlite_block_of(p)->bytes;

	if (!to)
		return NULL;
	memcpy(to, p, n < (size_t)bytes ? n : (size_t)bytes);
	fuzz_sqlite_give_back(p);
	return to;
}

static inline int fuzz_sqlite_round_up(int bytes)
{
	return (bytes + 7) & ~7;
}

static inline int fuzz_sqlite_begin(void *arg)
{
	(void)arg;
	return SQLITE_OK;
}

static inline void fuzz_sqlite_end(void *arg)
{
	(void)arg;
}

static inline void fuzz_sqlite_memory(void)
{
	static const sqlite3_mem_methods methods = {.xMalloc = fuzz_sqlite_take,
						    .xFree = fuzz_sqlite_give_back,
						    .xRealloc = fuzz_sqlite_resize,
						    .xSize = fuzz_sqlite_bytes,
						    .xRoundup = fuzz_sqlite_round_up,
						    .xInit = fuzz_sqlite_begin,
						    .xShutdown = fuzz_sqlite_end};

	require(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK);
}

#endif
