/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h: the directory of a store, and its day files: SQLite databases, one for each UTC day and resolution.
 *
 * The directory may be writable only by its owner or root. Only regular files with one link are opened in it; symbolic
 * links are not followed. Names: YYYY-MM-DD.{10s,1m,1h}.db. The schema is in man/soprof-store.5. Files being written
 * are in WAL mode, with synchronous=NORMAL and a checkpoint each minute; those of past days have no journal.
 * Errors: negative errno with sp_error_text(): -EBADMSG: SQLite reports damage, -EPROTONOSUPPORT: a newer version,
 * -ENOENT, -ENOSPC, -EIO ... Not thread-safe.
 */
#ifndef SP_STORE_FILES_FILE_H
#define SP_STORE_FILES_FILE_H

#include "base/sqlite.h"
#include "store/files/scan.h"
#include <sys/types.h>

enum { SP_STORE_VERSION = 1, SP_DAY_S = 86400, SP_DAY_NAME_MAX = 32 };

/* A file that was closed, and stays open: making SQLite ready for one takes as long as reading some minutes of it. */
struct sp_kept_file {
	sqlite3 *db; /* NULL: none */
	uint64_t day_s;
	pid_t pid; /* a process that was forked since neither uses nor closes it */
};
struct sp_directory {
	int fd;
	char *path;                /* without symbolic links */
	char *only;                /* the store is this single file of the directory; NULL: all of it */
	struct sp_kept_file *kept; /* by resolution; NULL: files are closed */
};
int sp_directory_open(const char *place, bool make, bool read_only, struct sp_directory *ret_directory);
void sp_directory_close(struct sp_directory *d);
/* From now on a file of each resolution stays open that was closed by who reads it, unless it is the only one, or
 * SQLite does not look whether others have written to it. Not for who writes: to end a journal it needs to be alone. */
int sp_directory_keep_files(struct sp_directory *d);
/* Locks the store for writing; -EBUSY: the text has the pid of the other writer. The lock file records that a writer
 * has the store open; its mtime is when that writer was last alive. */
struct sp_lock {
	void *held;
	bool was_open;     /* the last writer did not close the store ... */
	uint64_t alive_ns; /* ... and was last alive then */
};
int sp_directory_lock(const struct sp_directory *d, struct sp_lock *ret_lock);
void sp_directory_unlock(struct sp_lock *lock);
void sp_directory_alive(const struct sp_lock *lock);
/* Whether the path still leads to this directory and its lock file. */
bool sp_directory_is_in_place(const struct sp_directory *d, const struct sp_lock *lock);

struct sp_day {
	uint64_t day_s; /* start of the day (UTC) */
	int resolution;
	char name[SP_DAY_NAME_MAX];
	uint64_t bytes; /* journal included */
	bool has_journal;
};
struct sp_day sp_day_of(uint64_t wall_ns, int resolution);
/* All day files, sorted by day and resolution; free *ret_days. n_damaged: number of *.damaged files. */
int sp_directory_list(const struct sp_directory *d, struct sp_day **ret_days, size_t *ret_n, uint64_t *ret_n_damaged);
int sp_directory_unlink(const struct sp_directory *d, const char *name);
/* Renames the file and its journal to NAME.damaged. */
int sp_directory_set_aside(const struct sp_directory *d, const char *name);
/* -EPROTONOSUPPORT: the file is of a newer version. */
int sp_directory_check_version(const struct sp_directory *d, const char *name);

/* If the header has a newer version: whether the table `format` does not contradict it. */
bool sp_file_is_newer(const struct sp_directory *d, const char *name);

/* Prepared statements of the writer, cached for each file. */
enum sp_statement {
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
	SP_N_STATEMENTS
};
struct sp_day_file {
	sqlite3 *db;
	sqlite3_stmt *statements[SP_N_STATEMENTS]; /* NULL: not prepared yet */
	struct sp_day day;
	bool writable;
	struct sp_kept_file *kept; /* of its directory; NULL: none */
};
int sp_file_open(const struct sp_directory *d, const struct sp_day *day, bool write, struct sp_day_file *ret_file);
/* A new database in memory. */
int sp_file_open_memory(const struct sp_day *day, struct sp_day_file *ret_file);
void sp_file_close(struct sp_day_file *f);
/* Ends WAL mode: writes everything to the file itself and removes the journal. */
int sp_file_finish(struct sp_day_file *f);
/* Closing leaves the journal as it is, as a crash does. */
int sp_file_keep_journal(struct sp_day_file *f);
int sp_file_checkpoint(struct sp_day_file *f);
/* Whether it was removed, renamed or replaced after it was opened. */
bool sp_file_has_moved(struct sp_day_file *f);
/* Runs quick_check, which reads the whole file. */
bool sp_file_is_intact(struct sp_day_file *f);
int sp_file_exec(struct sp_day_file *f, const char *sql);
int sp_file_prepare(struct sp_day_file *f, const char *sql, sqlite3_stmt **ret_statement);
/* A cached statement, for SP_CACHED_STATEMENT or sp_file_run_statement(). */
int sp_file_statement(struct sp_day_file *f, enum sp_statement which, sqlite3_stmt **ret_statement);
/* Runs a cached statement that returns no rows. */
int sp_file_run_statement(struct sp_day_file *f, sqlite3_stmt *s);
int sp_file_begin(struct sp_day_file *f);
/* Commits; or, if r < 0, rolls back and returns r. */
int sp_file_end(struct sp_day_file *f, int r);
/* Turns a result code of SQLite into a negative errno, with its message. */
int sp_file_error(const struct sp_day_file *f, int code, const char *what);
/* Binds numbers to the parameters from 1 on. */
void sp_bind(sqlite3_stmt *s, const uint64_t *numbers, size_t n);
#define SP_BIND(s, ...) sp_bind(s, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
void sp_cleanup_statement(sqlite3_stmt **s);
#define SP_STATEMENT __attribute__((cleanup(sp_cleanup_statement))) sqlite3_stmt
void sp_cleanup_cached_statement(sqlite3_stmt **s);
#define SP_CACHED_STATEMENT __attribute__((cleanup(sp_cleanup_cached_statement))) sqlite3_stmt

#endif
