/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.h: built unwind tables kept on disk, one file for each build id and file size.
 *
 * A build id is only a label: anybody can put libc's into a file of his own. So an entry is written, and used, only for
 * ELF files that are owned by root or by the caller and that nobody else may write: the caller passes the owner and the
 * mode that fstat gave for the descriptor from which the table was built. A hostile file then never gives its table to
 * another file with the same build id. The directory must be the caller's own and closed to writers; it is made 0700,
 * and refused (-EPERM) when it belongs to somebody else; symbolic links are not followed. Entries are read by pread,
 * validated (sp_blob_validate, build id), and unlinked and counted when damaged or of another version. They are written
 * under a temporary name and renamed. A full disk is a missed chance, counted and no more. Past max_bytes the entries
 * that were not used for longest go (mtime, renewed at most once a day). Several processes may share one directory.
 * Blobs from sp_cache_get are the caller's to free. Not thread-safe.
 */
#ifndef SP_UNWIND_CACHE_H
#define SP_UNWIND_CACHE_H

#include "unwind/build.h"
#include <stddef.h>
#include <stdint.h>

#define SP_CACHE_MAX_BYTES (512ULL << 20)

struct sp_cache;

struct sp_cache_key { /* of an ELF file */
	const uint8_t *build_id;
	size_t build_id_len; /* 0: not to be cached */
	uint64_t file_size;
	uint32_t uid, mode; /* by fstat */
};
struct sp_cache_stats {
	uint64_t n_hits, n_misses;
	uint64_t n_refused;              /* the file's owner or mode does not allow it, or it has no build id */
	uint64_t n_damaged;              /* unlinked */
	uint64_t n_stored, n_not_stored; /* not stored: disk full, and other failures to write */
	uint64_t n_evicted;
};

/* /var/cache/soprof/unwind for root, else ${XDG_CACHE_HOME:-~/.cache}/soprof/unwind: a new string (free it); -ENOENT.
 */
int sp_cache_default_dir(char **ret_path);
/* max_bytes 0: SP_CACHE_MAX_BYTES. */
int sp_cache_open(const char *dir, uint64_t max_bytes, struct sp_cache **ret_cache);
void sp_cache_close(struct sp_cache *c);
/* 0, or -ENOENT when there is no entry that may be used. */
int sp_cache_get(struct sp_cache *c, const struct sp_cache_key *key, struct sp_blob **ret_blob);
/* Stores a table that was built from this file; whether it did is told by the counters only. */
void sp_cache_put(struct sp_cache *c, const struct sp_cache_key *key, const struct sp_blob *blob);
/*
 * Only looks: makes no directory, takes away nothing that is damaged, and does not count as a use. 0; -ENOENT: no
 * entry; -EACCES: this file may have none; -EBADMSG: one that is damaged, or of another version.
 */
int sp_cache_look(const char *dir, const struct sp_cache_key *key);
struct sp_cache_stats sp_cache_stats(const struct sp_cache *c);

#endif
