/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/rpm.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/sqlite.h"
#include "base/time.h"
#include "proc/rpm_header.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEADLINE_MS = 5000, STEPS_BETWEEN_LOOKS = 1000, MAX_BLOB_BYTES = 65 << 20 };

struct sp_rpm {
	struct sp_intern *strings;
	struct sp_package_words {
		uint32_t name, version, arch; /* strings; 0 = "" */
	} * of_path;
	size_t n_paths;
	uint64_t n_skipped;
	/* during the query */
	sqlite3 *db;
	sqlite3_stmt *query;
	uint64_t end_ns;
	char path[PATH_MAX];
};

/* --- the database --- */
static bool is_there(const char *root, const char *name, char *path)
{
	struct stat st;

	return snprintf(path, PATH_MAX, "%s%s", root, name) < PATH_MAX && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* 1: p->path is the database; 0: there is none. */
static int rpm_find_database(struct sp_rpm *p, const char *root)
{
	static const char *const ours[] = {"/var/lib/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/rpmdb.sqlite"};
	static const char *const others[][2] = {
	    {"/var/lib/rpm/Packages", "a Berkeley DB"},
	    {"/usr/lib/sysimage/rpm/Packages", "a Berkeley DB"},
	    {"/var/lib/rpm/Packages.db", "an ndb"},
	    {"/usr/lib/sysimage/rpm/Packages.db", "an ndb"},
	};

	for (size_t i = 0; i < SP_COUNT(ours); i++)
		if (is_there(root, ours[i], p->path))
			return 1;
	for (size_t i = 0; i < SP_COUNT(others); i++)
		if (is_there(root, others[i][0], p->path))
			return sp_fail_said(-EOPNOTSUPP, "%s: rpm's database is %s; only SQLite is read", p->path,
					    others[i][1]);
	return 0;
}

static int rpm_is_late(void *arg)
{
	const struct sp_rpm *p = arg;

	return sp_time_ns(CLOCK_MONOTONIC) >= p->end_ns;
}

static int late(const struct sp_rpm *p)
{
	return sp_fail_said(-ETIMEDOUT, "%s: took too long", p->path);
}

static int bad(const struct sp_rpm *p, int code)
{
	if (code == SQLITE_INTERRUPT)
		return late(p);
	if (code == SQLITE_NOMEM)
		return -ENOMEM;
	return sp_fail_said(-EBADMSG, "%s: %s", p->path, p->db ? sqlite3_errmsg(p->db) : sqlite3_errstr(code));
}

/* A file: URI that makes SQLite leave the file and its directory unchanged. */
static void write_uri(const char *path, char *uri, size_t size)
{
	size_t n = (size_t)snprintf(uri, size, "file:");

	for (; *path != '\0' && n + 64 < size; path++)
		n += (size_t)snprintf(uri + n, size - n, strchr("?#%", *path) ? "%%%02X" : "%c", *path);
	(void)snprintf(uri + n, size - n, "?mode=ro&immutable=1");
}

/* Keeps the file's contents from making SQLite run code or take much memory. */
static int restrain(struct sp_rpm *p)
{
	(void)sqlite3_limit(p->db, SQLITE_LIMIT_LENGTH, MAX_BLOB_BYTES);
	(void)sqlite3_limit(p->db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_db_config(p->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(p->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(p->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_progress_handler(p->db, STEPS_BETWEEN_LOOKS, rpm_is_late, p);
	return sqlite3_exec(p->db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY",
			    NULL, NULL, NULL);
}

static int open_database(struct sp_rpm *p)
{
	char uri[3 * PATH_MAX + 64];

	write_uri(p->path, uri, sizeof(uri));
	int code = sqlite3_open_v2(uri, &p->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	if (code == SQLITE_OK)
		code = restrain(p);
	if (code == SQLITE_OK)
		code =
		    sqlite3_prepare_v2(p->db,
				       "SELECT f.idx, p.blob FROM Basenames AS f JOIN Packages AS p ON p.hnum = f.hnum"
				       " WHERE f.key = ?1",
				       -1, &p->query, NULL);
	return code == SQLITE_OK ? 0 : bad(p, code);
}

/* --- the question --- */
static int64_t add_word(struct sp_rpm *p, const char *word)
{
	return sp_intern_add(p->strings, word, strlen(word));
}

static int own(struct sp_rpm *p, size_t i, const struct sp_rpm_owner *o)
{
	char version[1024], epoch[16] = "";

	if (p->of_path[i].name != 0 && strcmp(sp_intern_get(p->strings, p->of_path[i].name, NULL), o->name) <= 0)
		return 0;
	if (o->epoch != 0)
		(void)snprintf(epoch, sizeof(epoch), "%u:", o->epoch);
	(void)snprintf(version, sizeof(version), "%s%s-%s", epoch, o->version, o->release);
	int64_t name = add_word(p, o->name), full = add_word(p, version), arch = add_word(p, o->arch);
	if (name < 0 || full < 0 || arch < 0)
		return -ENOMEM;
	p->of_path[i] = (struct sp_package_words){(uint32_t)name, (uint32_t)full, (uint32_t)arch};
	return 0;
}

static bool is_path(const struct sp_rpm_file *f, const char *path)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s%s", f->dir, f->base) < PATH_MAX &&
	       strcmp(sp_path_canonical(full), sp_path_canonical(path)) == 0;
}

/* Takes a package that has a file with this base name. */
static int take_row(struct sp_rpm *p, size_t i, const char *path)
{
	int64_t number = sqlite3_column_int64(p->query, 0);
	const void *blob = sqlite3_column_blob(p->query, 1);
	struct sp_rpm_header h;
	struct sp_rpm_file f;
	struct sp_rpm_owner o;

	if (sqlite3_column_type(p->query, 1) != SQLITE_BLOB || !blob || number < 0 || number > UINT32_MAX ||
	    sp_rpm_header_open(blob, (size_t)sqlite3_column_bytes(p->query, 1), &h) < 0 ||
	    sp_rpm_header_file(&h, (uint32_t)number, &f) < 0) {
		p->n_skipped++;
		return 0;
	}
	if (f.state != 0 || !is_path(&f, path))
		return 0;
	if (sp_rpm_header_owner(&h, &o) < 0) {
		p->n_skipped++;
		return 0;
	}
	return own(p, i, &o);
}

static int rpm_query_path(struct sp_rpm *p, size_t i, const char *path)
{
	const char *slash = strrchr(path, '/');
	int code, r = 0;

	if (path[0] != '/' || slash[1] == '\0')
		return 0;
	code = sqlite3_bind_text(p->query, 1, slash + 1, -1, SQLITE_STATIC);
	if (code != SQLITE_OK)
		return bad(p, code);
	while (r == 0 && (code = sqlite3_step(p->query)) == SQLITE_ROW)
		r = rpm_is_late(p) ? late(p) : take_row(p, i, path);
	if (r == 0 && code != SQLITE_DONE)
		r = bad(p, code);
	(void)sqlite3_reset(p->query);
	return r;
}

static int ask_all(struct sp_rpm *p, const char *const *paths, size_t n_paths)
{
	int r = sp_sqlite_load();

	if (r < 0)
		return r;
	r = open_database(p);
	for (size_t i = 0; r == 0 && i < n_paths; i++)
		r = rpm_query_path(p, i, paths[i]);
	(void)sqlite3_finalize(p->query);
	(void)sqlite3_close(p->db);
	p->query = NULL;
	p->db = NULL;
	return r;
}

static int make(struct sp_rpm *p, size_t n_paths)
{
	int r = sp_intern_new(&p->strings);

	if (r == 0 && add_word(p, "") < 0)
		r = -ENOMEM;
	p->of_path = calloc(n_paths + 1, sizeof(*p->of_path));
	p->n_paths = n_paths;
	return r == 0 && !p->of_path ? -ENOMEM : r;
}

int sp_rpm_find(const struct sp_rpm_options *o, const char *const *paths, size_t n_paths, struct sp_rpm **ret_rpm)
{
	struct sp_rpm *p = calloc(1, sizeof(*p));
	int r = !p ? -ENOMEM : make(p, n_paths);

	if (r == 0) {
		unsigned ms = o->deadline_ms != 0 ? o->deadline_ms : DEADLINE_MS;
		p->end_ns = sp_time_ns(CLOCK_MONOTONIC) + ms * (SP_NS_PER_S / 1000);
		r = rpm_find_database(p, o->root ? o->root : "");
	}
	if (r > 0)
		r = ask_all(p, paths, n_paths);
	if (r < 0) {
		sp_rpm_free(p);
		return r;
	}
	*ret_rpm = p;
	return 0;
}

void sp_rpm_free(struct sp_rpm *p)
{
	if (!p)
		return;
	sp_intern_free(p->strings);
	free(p->of_path);
	free(p);
}

struct sp_package sp_rpm_get(const struct sp_rpm *p, size_t i)
{
	const struct sp_package_words *w = &p->of_path[i];

	return (struct sp_package){.name = sp_intern_get(p->strings, w->name, NULL),
				   .version = sp_intern_get(p->strings, w->version, NULL),
				   .arch = sp_intern_get(p->strings, w->arch, NULL)};
}

uint64_t sp_rpm_n_skipped(const struct sp_rpm *p)
{
	return p->n_skipped;
}
