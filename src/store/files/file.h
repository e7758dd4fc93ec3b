/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h: the directory of a store, and its day files: SQLite databases, one for each UTC day and resolution.
 *
 * The directory must be one that only its owner (or root) writes to; in it only regular files with one name are opened,
 * and no symbolic link is followed. Names: YYYY-MM-DD.{10s,1m,1h}.db. man/soprof-store.5 has the schema. Files being
 * written are in WAL mode, with synchronous=NORMAL and a checkpoint each minute; those of days that are over are plain.
 * Errors: negative errno with context: -EBADMSG: SQLite says that the file is damaged, -EPROTONOSUPPORT: it is of a
 * newer version, -ENOENT: there is none, -ENOSPC, -EIO ... Not thread-safe.
 */
#ifndef SP_STORE_FILES_FILE_H
#define SP_STORE_FILES_FILE_H

#include <sqlite3.h>

#include "store/files/scan.h"

enum { SP_STORE_VERSION = 1, SP_DAY_S = 86400, SP_DAY_NAME_MAX = 32 };

struct sp_directory {
	int fd;
	char *path; /* without symbolic links */
	char *only; /* the place is this one file of the directory; else NULL */
};
int sp_directory_open(const char *place, bool make, bool read_only, struct sp_directory *ret_directory);
void sp_directory_close(struct sp_directory *d);
/* The lock of the writer: -EBUSY, with its pid in the text. The file says whether a writer has it open, and its time
 * when that one was last alive: so the next one knows of one that was killed. */
struct sp_lock {
	void *held;
	bool was_open;     /* who had it before did not give it back ... */
	uint64_t alive_ns; /* ... and was alive then */
};
int sp_directory_lock(const struct sp_directory *d, struct sp_lock *ret_lock);
void sp_directory_unlock(struct sp_lock *lock);
void sp_directory_alive(const struct sp_lock *lock);
/* Is what is held by the lock still what is found at the directory's path? */
bool sp_directory_is_in_place(const struct sp_directory *d, const struct sp_lock *lock);

struct sp_day {
	uint64_t day_s; /* when it began */
	int resolution;
	char name[SP_DAY_NAME_MAX];
	uint64_t bytes; /* with its journal */
	bool has_journal;
};
struct sp_day sp_day_of(uint64_t wall_ns, int resolution);
/* All day files, by day and resolution; free *ret_days. n_damaged: files that were set aside. */
int sp_directory_list(const struct sp_directory *d, struct sp_day **ret_days, size_t *ret_n, uint64_t *ret_n_damaged);
int sp_directory_unlink(const struct sp_directory *d, const char *name);
/* Renamed to NAME.damaged, with its journal. */
int sp_directory_set_aside(const struct sp_directory *d, const char *name);
/* -EPROTONOSUPPORT if a day file is of a newer version. */
int sp_directory_check_version(const struct sp_directory *d, const char *name);

/* Of a file whose header says a newer version: does it say so elsewhere, too? */
bool sp_file_is_newer(const struct sp_directory *d, const char *name);

/* Statements of the writer, each made once for an open file. */
enum sp_kept {
	SP_BEGIN,
	SP_COMMIT,
	SP_PUT_CHUNK,
	SP_PUT_WINDOW,
	SP_PUT_TOTALS,
	SP_FIND_PLACE,
	SP_FIRST_WINDOW,
	SP_COUNT_WINDOWS,
	SP_LAST_CHUNK,
	SP_CHUNKS,
	SP_N_KEPT
};
struct sp_day_file {
	sqlite3 *db;
	sqlite3_stmt *kept[SP_N_KEPT]; /* NULL: not asked for yet */
	struct sp_day day;
	bool writable;
};
int sp_file_open(const struct sp_directory *d, const struct sp_day *day, bool write, struct sp_day_file *ret_file);
/* From a file's bytes, which the database takes (sqlite3_malloc) or frees. */
int sp_file_open_bytes(void *bytes, size_t len, struct sp_day_file *ret_file);
/* A new one, in memory. */
int sp_file_open_memory(const struct sp_day *day, struct sp_day_file *ret_file);
void sp_file_close(struct sp_day_file *f);
/* Into the file itself, without a journal from now on. */
int sp_file_finish(struct sp_day_file *f);
int sp_file_checkpoint(struct sp_day_file *f);
/* It was removed, renamed or replaced since it was opened. */
bool sp_file_has_moved(struct sp_day_file *f);
/* Is its structure as SQLite wants it? Reads all of it. */
bool sp_file_is_intact(struct sp_day_file *f);
int sp_file_exec(struct sp_day_file *f, const char *sql);
int sp_file_prepare(struct sp_day_file *f, const char *sql, sqlite3_stmt **ret_statement);
/* One that is kept, ready to be bound: for SP_KEPT, or for sp_file_put(). */
int sp_file_keep(struct sp_day_file *f, enum sp_kept which, sqlite3_stmt **ret_statement);
/* Runs it; it gives no rows. */
int sp_file_put(struct sp_day_file *f, sqlite3_stmt *kept);
int sp_file_begin(struct sp_day_file *f);
/* Commits what was begun, or rolls it back and keeps r. */
int sp_file_end(struct sp_day_file *f, int r);
/* What SQLite said, as an error. */
int sp_file_error(const struct sp_day_file *f, int code, const char *what);
/* Binds 64-bit numbers from parameter 1 on. */
void sp_bind(sqlite3_stmt *s, const uint64_t *numbers, size_t n);
#define SP_BIND(s, ...) sp_bind(s, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
void sp_cleanup_statement(sqlite3_stmt **s);
#define SP_STATEMENT __attribute__((cleanup(sp_cleanup_statement))) sqlite3_stmt
void sp_cleanup_kept(sqlite3_stmt **s);
#define SP_KEPT __attribute__((cleanup(sp_cleanup_kept))) sqlite3_stmt

#endif
