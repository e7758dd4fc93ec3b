/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.h: a cache on disk of built unwind tables, one file for each ELF file, by what that is known by.
 *
 * It follows the rules of base/entries.h: only ELF files that belong to root or the caller and that nobody else may
 * write have entries; the directory is the caller's own and its size is limited. Entries are read with pread and
 * validated. Damaged ones, and those of other versions, are removed and counted. The caller frees blobs from
 * sp_cache_get(). Not thread-safe.
 */
#ifndef SP_UNWIND_CACHE_H
#define SP_UNWIND_CACHE_H

#include "base/entries.h"
#include "unwind/build.h"
#include <stddef.h>
#include <stdint.h>

struct sp_cache;

/* .../soprof/unwind, as sp_entries_default_dir() has it. */
int sp_cache_default_dir(char **ret_path);
/* max_bytes 0: SP_ENTRIES_MAX_BYTES. */
int sp_cache_open(const char *dir, uint64_t max_bytes, struct sp_cache **ret_cache);
void sp_cache_close(struct sp_cache *c);
/* 0, or -ENOENT when there is no entry that may be used. */
int sp_cache_get(struct sp_cache *c, const struct sp_cache_key *key, struct sp_blob **ret_blob);
/* Stores a table that was built from this file; whether it did is told by the counters only. */
void sp_cache_put(struct sp_cache *c, const struct sp_cache_key *key, const struct sp_blob *blob);
/*
 * Only looks: makes no directory, takes away nothing that is damaged, and does not count as a use. 0; -ENOENT: no
 * entry; -EACCES: this file may have none, -EAGAIN: nor yet; -EBADMSG: one that is damaged, or of another version.
 */
int sp_cache_look(const char *dir, const struct sp_cache_key *key);
struct sp_cache_stats sp_cache_stats(const struct sp_cache *c);

#endif
