/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries.h: a directory of files, one for each build id and file size: what was made of ELF files, kept on disk.
 *
 * A build id is only a label: anybody can put libc's into a file of his own. So an entry is written, and used, only for
 * ELF files that are owned by root or by the caller and that nobody else may write: the caller passes the owner and the
 * mode that fstat gave for the descriptor of which it was made. A hostile file then never gives its entry to another
 * file with the same build id. The directory must be the caller's own and closed to writers; it is made 0700, and
 * refused (-EPERM) when it belongs to somebody else; symbolic links are not followed. What is in an entry is for the
 * caller to check; one that is damaged he has removed. Entries are written under a temporary name and renamed. A full
 * disk is a missed chance, counted and no more. Past max_bytes the entries that were not used for longest go (mtime,
 * renewed at most once a day). Several processes may share one directory. Not thread-safe.
 */
#ifndef SP_BASE_ENTRIES_H
#define SP_BASE_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

enum { SP_ENTRIES_MAX_BYTES = 512 << 20, SP_ENTRY_NAME = 64 };

struct sp_entries;

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

/*
 * $CACHE_DIRECTORY/WHAT where that is set (systemd.exec(5)), else /var/cache/soprof/WHAT for root, and
 * ${XDG_CACHE_HOME:-~/.cache}/soprof/WHAT for others: a new string (free it); -ENOENT.
 */
int sp_entries_default_dir(const char *what, char **ret_path);
/* max_bytes 0: SP_ENTRIES_MAX_BYTES. */
int sp_entries_open(const char *dir, uint64_t max_bytes, struct sp_entries **ret_entries);
void sp_entries_close(struct sp_entries *c);

/*
 * The entry of a file, open for reading: a regular file of ours, ret_size bytes long. -ENOENT: there is none that may
 * be used. Who has found it good says so, and who has not, too: then it is removed.
 */
int sp_entries_get(struct sp_entries *c, const struct sp_cache_key *key, int *ret_fd, uint64_t *ret_size);
void sp_entries_used(struct sp_entries *c, int fd);
void sp_entries_damaged(struct sp_entries *c, const struct sp_cache_key *key);
/* Only looks: makes no directory, removes nothing, and does not count. -EACCES: this file may have no entry. */
int sp_entries_look(const char *dir, const struct sp_cache_key *key, int *ret_fd, uint64_t *ret_size);

/*
 * When an open file was changed last (ctime); 0 where it cannot be told. What was made of a file that was changed
 * meanwhile is of half of it, and not to be kept.
 */
uint64_t sp_entries_changed_ns(int fd);

/* A new file, to be read and written, that will have about so many bytes: its descriptor, and its name for now. */
int sp_entries_new(struct sp_entries *c, uint64_t bytes, char ret_name[SP_ENTRY_NAME]);
/* Puts it in its place. 0, or it is removed. */
int sp_entries_keep(struct sp_entries *c, const char *name, const struct sp_cache_key *key, uint64_t bytes);
/* Removes it: it was not worth keeping. What is open stays so. */
void sp_entries_forget(struct sp_entries *c, const char *name);
/* Something was not stored: counted. */
void sp_entries_missed(struct sp_entries *c);
/* Whether this file may have an entry at all; counted if not. */
int sp_entries_may(struct sp_entries *c, const struct sp_cache_key *key);

struct sp_cache_stats sp_entries_stats(const struct sp_entries *c);

#endif
