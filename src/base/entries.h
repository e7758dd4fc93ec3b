/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries.h: a cache directory on disk, with an entry for each ELF file, by build id, size and state.
 *
 * A build id can be forged, also by the root of a container. So an entry is believed for the one file only that it was
 * made of, which is known by disk, inode number, size and times: whoever changes a file changes its ctime, which nobody
 * can set. A copy has an entry of its own; files of one image layer are one file in all its containers. Without a build
 * id a sample of the bytes counts as well, since images may have equal numbers and times. Only ELF files that are owned
 * by root or the caller and writable by nobody else have entries, so that others cannot fill the directory; the caller
 * passes owner and mode as fstat() gave them for the descriptor that was read. The directory is made 0700 and must
 * belong to the caller, without write access for others, or it is refused (-EPERM); symbolic links are not followed.
 * The contents of an entry are the caller's to validate; damaged entries he removes with sp_entries_damaged(). Entries
 * are written to a temporary name and renamed. A full disk is counted, not an error. Beyond max_bytes the least
 * recently used entries are removed (by mtime, renewed at most once a day). Several processes may share a directory.
 * Not thread-safe.
 */
#ifndef SP_BASE_ENTRIES_H
#define SP_BASE_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_ENTRIES_MAX_BYTES = 512 << 20, SP_ENTRY_NAME = 64 };

struct sp_entries;

/*
 * What a file is known by. If it had changed just before, it may change again within the same tick of the file system's
 * clock: it has no entry, nor has one of zeros.
 */
struct sp_file_state {
	uint64_t dev, ino, mtime_ns, ctime_ns; /* dev: as stat() shows it */
	uint64_t opened_ns;                    /* CLOCK_REALTIME, before the times were asked for and bytes read */
	uint64_t sample;                       /* sp_elf_sample(), where there is no build id */
};

struct sp_cache_key { /* of an ELF file */
	const uint8_t *build_id;
	size_t build_id_len; /* 0: it has none */
	struct sp_file_state state;
	uint64_t file_size;
	uint32_t uid, mode; /* by fstat */
};
struct sp_cache_stats {
	uint64_t n_hits, n_misses;
	uint64_t n_refused; /* the file's owner or mode does not allow it, or nothing tells it from others */
	uint64_t n_damaged; /* unlinked */
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
 * Opens the entry of a file for reading: a regular file of ours, ret_size bytes long. -ENOENT: there is none that may
 * be used. Afterwards the caller reports with sp_entries_used() or sp_entries_damaged(), which removes it.
 */
int sp_entries_get(struct sp_entries *c, const struct sp_cache_key *key, int *ret_fd, uint64_t *ret_size);
void sp_entries_used(struct sp_entries *c, int fd);
void sp_entries_damaged(struct sp_entries *c, const struct sp_cache_key *key);
/* The same without side effects: makes no directory, removes nothing, counts nothing. -EACCES: the file may not have an
 * entry; -EAGAIN: not yet, since it has just been changed. */
int sp_entries_peek(const char *dir, const struct sp_cache_key *key, int *ret_fd, uint64_t *ret_size);

/* Whether both may have entries, and the same one. */
bool sp_entries_is_same(const struct sp_cache_key *a, const struct sp_cache_key *b);

/*
 * The ctime of an open file, 0 if unknown. An entry must not be kept if the ELF file changed while it was read. No
 * server of a file system is asked.
 */
uint64_t sp_entries_changed_ns(int fd);

/* A new temporary file, open for reading and writing, for about so many bytes: its descriptor and name. */
int sp_entries_new(struct sp_entries *c, uint64_t bytes, char ret_name[SP_ENTRY_NAME]);
/* Renames it to the file's entry; on errors it is removed. */
int sp_entries_commit(struct sp_entries *c, const char *name, const struct sp_cache_key *key, uint64_t bytes);
/* Removes it instead. The descriptor stays open. */
void sp_entries_discard(struct sp_entries *c, const char *name);
/* Counts an entry that was not stored. */
void sp_entries_count_failed(struct sp_entries *c);
/* 0: this file may have an entry; else a negative errno, and it is counted as refused. */
int sp_entries_allow(struct sp_entries *c, const struct sp_cache_key *key);

struct sp_cache_stats sp_entries_stats(const struct sp_entries *c);

#endif
