/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/files/file.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BLOB_BYTES = 1 << 28, WAIT_MS = 2000, MODE = 0640 };

static const char schema[] =
    "CREATE TABLE about(resolution INTEGER NOT NULL, day_s INTEGER NOT NULL);"
    "CREATE TABLE source(id INTEGER PRIMARY KEY, name TEXT NOT NULL, types TEXT NOT NULL, UNIQUE(name, types));"
    "CREATE TABLE generation(id INTEGER PRIMARY KEY, boot_id TEXT NOT NULL);"
    "CREATE TABLE chunk(id INTEGER PRIMARY KEY, record BLOB NOT NULL);"
    "CREATE TABLE window(t INTEGER PRIMARY KEY, source INTEGER NOT NULL, generation INTEGER NOT NULL,"
    " head BLOB NOT NULL, record BLOB NOT NULL);"
    "CREATE TABLE totals(t INTEGER PRIMARY KEY, record BLOB NOT NULL);"
    "CREATE TABLE day(source INTEGER PRIMARY KEY, head BLOB NOT NULL, record BLOB NOT NULL);"
    "CREATE TABLE event(from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL,"
    " text TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY(from_ns, kind, subject)) WITHOUT ROWID;";

/*
 * Tables added after version 1 was first released; readers do not need them. The version is stored twice, because a
 * flipped bit in the header could turn it into a newer one.
 */
static const char format_table[] = "CREATE TABLE IF NOT EXISTS format(version INTEGER NOT NULL);"
				   "INSERT INTO format SELECT 1 WHERE NOT EXISTS (SELECT * FROM format);";
_Static_assert(SP_STORE_VERSION == 1, "and in the line before this one");
static const char later_tables[] =
    "CREATE TABLE IF NOT EXISTS tree(t INTEGER PRIMARY KEY, record BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS day_tree(source INTEGER PRIMARY KEY, record BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS chart(t INTEGER PRIMARY KEY, record BLOB NOT NULL);";

static const char *const statement_sql[SP_N_STATEMENTS] = {
    [SP_BEGIN] = "BEGIN IMMEDIATE",
    [SP_COMMIT] = "COMMIT",
    [SP_PUT_CHUNK] = "INSERT OR REPLACE INTO chunk VALUES(?1, ?2)",
    [SP_PUT_WINDOW] = "INSERT OR REPLACE INTO window VALUES(?1, ?2, ?3, ?4, ?5)",
    [SP_PUT_TOTALS] = "INSERT OR REPLACE INTO totals VALUES(?1, ?2)",
    [SP_FIND_PLACE] = "SELECT source = ?2 AND generation = ?3 FROM window WHERE t = ?1",
    [SP_FIRST_WINDOW] = "SELECT t FROM window WHERE t >= ?1 AND source = ?2 AND generation = ?3 ORDER BY t LIMIT 1",
    [SP_COUNT_WINDOWS] =
	"SELECT count(*), sum(t) FROM window WHERE t >= ?1 AND t < ?2 AND source = ?3 AND generation = ?4",
    [SP_LAST_CHUNK] = "SELECT max(id) FROM chunk WHERE id BETWEEN ?1 AND ?2",
    [SP_CHUNKS] = "SELECT id, record FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
};

/* --- errors and statements --- */
static int errno_of_code(const struct sp_day_file *f, int code)
{
	int error = !f->db ? 0 : sqlite3_system_errno(f->db);

	switch (code & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	case SQLITE_SCHEMA:
	case SQLITE_ERROR: /* a table is missing */
		return -EBADMSG;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EAGAIN;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return error > 0 ? -error : -EIO;
	default:
		return -EIO;
	}
}

int sp_file_error(const struct sp_day_file *f, int code, const char *what)
{
	const char *message = f->db ? sqlite3_errmsg(f->db) : sqlite3_errstr(code);

	return sp_fail(errno_of_code(f, code), "%s %s: %s", what, f->day.name, message);
}

int sp_file_exec(struct sp_day_file *f, const char *sql)
{
	int code = sqlite3_exec(f->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : sp_file_error(f, code, "write");
}

int sp_file_prepare(struct sp_day_file *f, const char *sql, sqlite3_stmt **ret_statement)
{
	int code = sqlite3_prepare_v2(f->db, sql, -1, ret_statement, NULL);

	return code == SQLITE_OK ? 0 : sp_file_error(f, code, "read");
}

int sp_file_statement(struct sp_day_file *f, enum sp_statement which, sqlite3_stmt **ret_statement)
{
	int code = f->statements[which] ? SQLITE_OK
					: sqlite3_prepare_v3(f->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
							     &f->statements[which], NULL);

	if (code != SQLITE_OK)
		return sp_file_error(f, code, "read");
	*ret_statement = f->statements[which];
	return 0;
}

int sp_file_run_statement(struct sp_day_file *f, sqlite3_stmt *s)
{
	int code = sqlite3_step(s), r = code == SQLITE_DONE ? 0 : sp_file_error(f, code, "write");

	(void)sqlite3_reset(s);
	(void)sqlite3_clear_bindings(s); /* bound memory is the caller's */
	return r;
}

int sp_file_begin(struct sp_day_file *f)
{
	sqlite3_stmt *s;
	int r = sp_file_statement(f, SP_BEGIN, &s);

	return r < 0 ? r : sp_file_run_statement(f, s);
}

int sp_file_end(struct sp_day_file *f, int r)
{
	sqlite3_stmt *s;

	r = r < 0 ? r : sp_file_statement(f, SP_COMMIT, &s);
	r = r < 0 ? r : sp_file_run_statement(f, s);
	if (r < 0 && f->db && sqlite3_get_autocommit(f->db) == 0)
		(void)sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

void sp_bind(sqlite3_stmt *s, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)sqlite3_bind_int64(s, (int)i + 1, (int64_t)numbers[i]);
}

void sp_cleanup_statement(sqlite3_stmt **s)
{
	(void)sqlite3_finalize(*s);
}

void sp_cleanup_cached_statement(sqlite3_stmt **s)
{
	(void)sqlite3_reset(*s); /* an open statement blocks checkpoints */
}

/* --- opening --- */
/* Accepts only a regular file with one link and a trusted owner. */
static int check_file_type(const struct sp_directory *d, const char *name, bool write)
{
	struct stat st;

	if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return sp_fail_said(-ELOOP, "%s/%s is not a regular file: remove it", d->path, name);
	if (write && (st.st_nlink != 1 || (st.st_uid != geteuid() && st.st_uid != 0)))
		return sp_fail_said(-EPERM, "%s/%s has other names or another owner: remove it", d->path, name);
	return 0;
}

static int check_files(const struct sp_directory *d, const char *name, bool write)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal"};
	char other[SP_DAY_NAME_MAX + 16];
	int r = d->only ? 0 : check_file_type(d, name, write);

	if (r < 0 && !(r == -ENOENT && write))
		return r;
	for (size_t i = 0; i < SP_COUNT(ends) && !d->only; i++) {
		(void)snprintf(other, sizeof(other), "%s%s", name, ends[i]);
		r = check_file_type(d, other, write);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

/* Makes a URI. */
static int escape_path(const char *directory, const char *name, const char *options, char *ret_uri, size_t size)
{
	SP_FREE char *path = NULL;
	size_t n = (size_t)snprintf(ret_uri, size, "file:");

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return -ENOMEM;
	for (const char *c = path; *c != '\0' && n + 4 < size; c++)
		if (strchr("%?#", *c))
			n += (size_t)snprintf(ret_uri + n, size - n, "%%%02x", (unsigned char)*c);
		else
			ret_uri[n++] = *c;
	return snprintf(ret_uri + n, size - n, "%s", options) >= (int)(size - n) ? -ENAMETOOLONG : 0;
}

static int open_db(const struct sp_directory *d, const char *name, int flags, const char *options,
		   struct sp_day_file *f)
{
	char uri[PATH_MAX * 3];
	int r = escape_path(d->path, name, options, uri, sizeof(uri));

	if (r < 0)
		return r;
	int code =
	    sqlite3_open_v2(uri, &f->db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
	if (code == SQLITE_OK)
		return 0;
	r = sp_file_error(f, code, "open");
	(void)sqlite3_close(f->db);
	f->db = NULL;
	return r;
}

/* The file may come from an untrusted user. */
static int configure_connection(struct sp_day_file *f)
{
	(void)sqlite3_limit(f->db, SQLITE_LIMIT_LENGTH, MAX_BLOB_BYTES);
	(void)sqlite3_limit(f->db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_db_config(f->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(f->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(f->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	(void)sqlite3_db_config(f->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_busy_timeout(f->db, WAIT_MS);
	return sp_file_exec(f, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;"
			       "PRAGMA cache_size = -128"); /* a reader goes over what it reads once */
}

static int64_t query_number(struct sp_day_file *f, const char *sql)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, sql, &s);

	if (r < 0)
		return r;
	int code = sqlite3_step(s);
	int64_t number = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : sp_file_error(f, code, "read");
	if (code == SQLITE_ROW && number < 0) /* no number of ours, nor an error's */
		return sp_fail_said(-EBADMSG, "%s does not say what it is", f->day.name);
	return number;
}

static int create_tables(struct sp_day_file *f)
{
	static const int page_bytes[SP_N_RESOLUTIONS] = {1024, 1024, 4096};
	char sql[256];

	/* in one transaction, before WAL mode: other processes never see half a schema */
	(void)snprintf(sql, sizeof(sql), "PRAGMA page_size = %d; PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE",
		       page_bytes[f->day.resolution]);
	int r = sp_file_exec(f, sql);
	r = r < 0 ? r : sp_file_exec(f, schema);
	r = r < 0 ? r : sp_file_exec(f, format_table);
	r = r < 0 ? r : sp_file_exec(f, later_tables);
	(void)snprintf(
	    sql, sizeof(sql),
	    "INSERT INTO about VALUES(%d, %llu); PRAGMA application_id = 0x53507374; PRAGMA user_version = %d; COMMIT",
	    f->day.resolution, (unsigned long long)f->day.day_s, SP_STORE_VERSION);
	return r < 0 ? r : sp_file_exec(f, sql);
}

/* The version in the header may have a flipped bit. */
static bool has_known_format(struct sp_day_file *f)
{
	int64_t there = query_number(f, "SELECT count(*) FROM sqlite_schema WHERE name = 'format'");
	int64_t version = there != 1 ? -1 : query_number(f, "SELECT version FROM format");

	sp_error_clear();
	return version > 0 && version <= SP_STORE_VERSION;
}

/* Whether it is a day file, and of which day and resolution. */
static int identify_file(struct sp_day_file *f)
{
	int64_t version = query_number(f, "PRAGMA user_version"),
		application = query_number(f, "PRAGMA application_id");

	if (version < 0 || application < 0)
		return (int)(version < 0 ? version : application);
	if (version == 0 && application == 0 && query_number(f, "SELECT count(*) FROM sqlite_schema") == 0)
		return -ENODATA; /* an empty new file */
	if (application != 0x53507374)
		return sp_fail_said(-EBADMSG, "%s is not a file of a store", f->day.name);
	if (version == 0 || version >= 1000) /* as in sp_directory_check_version() */
		return sp_fail_said(-EBADMSG, "%s is of no version of the store", f->day.name);
	if (version > SP_STORE_VERSION && has_known_format(f))
		return sp_fail_said(-EBADMSG, "%s says two things of its version", f->day.name);
	if (version > SP_STORE_VERSION)
		return sp_fail_said(-EPROTONOSUPPORT, "%s is of version %lld of the store; this soprof knows %d",
				    f->day.name, (long long)version, SP_STORE_VERSION);
	int64_t resolution = query_number(f, "SELECT resolution FROM about"),
		day_s = query_number(f, "SELECT day_s FROM about");
	if (resolution < 0 || day_s < 0)
		return (int)(resolution < 0 ? resolution : day_s);
	if (resolution >= SP_N_RESOLUTIONS || (uint64_t)day_s > UINT64_MAX / SP_NS_PER_S)
		return sp_fail_said(-EBADMSG, "%s does not say what it is", f->day.name);
	if (f->day.resolution >= 0 && (resolution != f->day.resolution || (uint64_t)day_s != f->day.day_s))
		return sp_fail_said(-EBADMSG, "%s holds something else than its name says", f->day.name);
	if (f->day.resolution < 0)
		f->day.resolution = (int)resolution;
	f->day.day_s = (uint64_t)day_s;
	return 0;
}

bool sp_file_is_newer(const struct sp_directory *d, const char *name)
{
	struct sp_day_file f = {.day = {.resolution = -1}};
	int r = open_db(d, name, SQLITE_OPEN_READONLY, "?immutable=1", &f);

	(void)snprintf(f.day.name, sizeof(f.day.name), "%s", name);
	bool known = r == 0 && configure_connection(&f) == 0 && has_known_format(&f);
	sp_file_close(&f);
	sp_error_clear();
	return !known;
}

/* Whether it is a copy without a journal. It is then opened as immutable, or SQLite would create files beside it. */
static bool has_no_journal(const struct sp_directory *d)
{
	static const char *const ends[] = {"-wal", "-journal"};
	char other[PATH_MAX];
	bool none = d->only != NULL;

	for (size_t i = 0; i < SP_COUNT(ends) && none; i++)
		none = snprintf(other, sizeof(other), "%s%s", d->only, ends[i]) < (int)sizeof(other) &&
		       faccessat(d->fd, other, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
	return none;
}

static int open_for_reading(const struct sp_directory *d, struct sp_day_file *f)
{
	const char *name = d->only ? d->only : f->day.name;
	int r = open_db(d, name, SQLITE_OPEN_READONLY, has_no_journal(d) ? "?immutable=1" : "", f);

	r = r < 0 ? r : configure_connection(f);
	r = r < 0 ? r : identify_file(f);
	if (r == 0)
		f->kept = d->kept;
	if (r != -EROFS && r != -EACCES && r != -EIO && r != -ENOENT && r != -EPERM)
		return r;
	/* WAL mode needs to create -shm; where we may not, no writer of ours can be running either */
	(void)sqlite3_close(f->db);
	f->db = NULL;
	sp_error_clear();
	r = open_db(d, name, SQLITE_OPEN_READONLY, "?immutable=1", f);
	r = r < 0 ? r : configure_connection(f);
	return r < 0 ? r : identify_file(f);
}

static int open_for_writing(const struct sp_directory *d, struct sp_day_file *f)
{
	/* SQLite would make it readable by all */
	int fd = openat(d->fd, f->day.name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, MODE);
	if (fd < 0)
		return sp_fail(-errno, "open %s/%s", d->path, f->day.name);
	(void)close(fd);
	int r = open_db(d, f->day.name, SQLITE_OPEN_READWRITE, "", f);
	r = r < 0 ? r : configure_connection(f);
	r = r < 0 ? r : identify_file(f);
	if (r == -ENODATA) {
		r = create_tables(f);
		r = r < 0 ? r : identify_file(f);
	}
	r = r < 0 ? r : sp_file_exec(f, format_table);
	r = r < 0 || f->day.resolution != SP_RES_1H ? r : sp_file_exec(f, later_tables);
	return r < 0 ? r
		     : sp_file_exec(
			   f, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;"
			      "PRAGMA journal_size_limit = 1048576; PRAGMA cache_size = -512");
}

/* --- files that are kept open --- */
int sp_directory_keep_files(struct sp_directory *d)
{
	d->kept = d->only ? NULL : calloc(SP_N_RESOLUTIONS, sizeof(*d->kept));
	return d->only || d->kept ? 0 : -ENOMEM;
}

static bool keep(const struct sp_day_file *f)
{
	struct sp_kept_file *kept = &f->kept[f->day.resolution];

	if (kept->db)
		return false;
	(void)sqlite3_db_release_memory(f->db);
	*kept = (struct sp_kept_file){f->db, f->day.day_s, getpid()};
	return true;
}

/* Whether it was kept, and is still what its name leads to. */
static bool take_kept(const struct sp_directory *d, struct sp_day_file *f)
{
	struct sp_kept_file *kept = d->kept ? &d->kept[f->day.resolution] : NULL;

	if (!kept || !kept->db)
		return false;
	f->db = sp_take_ptr(kept->db);
	f->kept = d->kept;
	if (kept->pid == getpid() && kept->day_s == f->day.day_s && !sp_file_has_moved(f))
		return true;
	if (kept->pid == getpid())
		(void)sqlite3_close_v2(f->db);
	f->db = NULL;
	f->kept = NULL;
	return false;
}

int sp_file_open(const struct sp_directory *d, const struct sp_day *day, bool write, struct sp_day_file *ret_file)
{
	struct sp_day_file f = {.day = *day, .writable = write};
	int r = check_files(d, day->name, write);

	if (r == 0 && (write || !take_kept(d, &f)))
		r = write ? open_for_writing(d, &f) : open_for_reading(d, &f);
	if (r < 0) {
		sp_file_close(&f);
		return r;
	}
	*ret_file = f;
	return 0;
}

int sp_file_open_memory(const struct sp_day *day, struct sp_day_file *ret_file)
{
	struct sp_day_file f = {.day = *day, .writable = true};
	int r = sp_sqlite_load();

	if (r < 0)
		return r;
	int code = sqlite3_open_v2(":memory:", &f.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	r = code == SQLITE_OK ? configure_connection(&f) : -ENOMEM;
	r = r < 0 ? r : create_tables(&f);
	if (r < 0) {
		sp_file_close(&f);
		return r;
	}
	*ret_file = f;
	return 0;
}

void sp_file_close(struct sp_day_file *f)
{
	for (size_t i = 0; i < SP_N_STATEMENTS; i++)
		(void)sqlite3_finalize(f->statements[i]);
	if (f->db && !(f->kept && keep(f)))
		(void)sqlite3_close_v2(f->db);
	*f = (struct sp_day_file){0};
}

int sp_file_checkpoint(struct sp_day_file *f)
{
	int code = sqlite3_wal_checkpoint_v2(f->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

	return code == SQLITE_OK || code == SQLITE_BUSY ? 0 : sp_file_error(f, code, "checkpoint");
}

int sp_file_finish(struct sp_day_file *f)
{
	(void)sqlite3_busy_timeout(f->db, 0); /* do not wait for readers; the next writer tries again */
	int r = sp_file_exec(f, "PRAGMA journal_mode = DELETE");
	(void)sqlite3_busy_timeout(f->db, WAIT_MS);
	if (r == -EAGAIN)
		sp_error_clear();
	return r == -EAGAIN ? 0 : r;
}

int sp_file_keep_journal(struct sp_day_file *f)
{
	int code = sqlite3_db_config(f->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);

	return code == SQLITE_OK ? 0 : sp_file_error(f, code, "keep the journal of");
}

bool sp_file_has_moved(struct sp_day_file *f)
{
	int moved = 0;

	return sqlite3_file_control(f->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

bool sp_file_is_intact(struct sp_day_file *f)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, "PRAGMA quick_check(1)", &s), code = r < 0 ? SQLITE_ERROR : sqlite3_step(s);
	const char *result = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;

	/* an error of reading is no damage */
	return result ? strcmp(result, "ok") == 0 : r == 0 && code != SQLITE_CORRUPT && code != SQLITE_NOTADB;
}
