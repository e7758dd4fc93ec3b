/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/schema.h"
#include "base/error.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* The first version that has codecs, ages of rows, and LowCardinality without a setting. */
enum { MODERN = 20, MAX_COLUMNS = 18, SECONDS_A_DAY = 86400 };

struct column {
	const char *name, *type, *modern; /* modern: of newer servers; NULL = the same */
};
/* `made` is the server's to fill in. */
static const char made[] = "made";

/* shard: what says which server of a cluster has a row: a host's rows are on one, and so are those of one id. */
static const struct table {
	const char *name, *engine, *order, *shard;
	struct column columns[MAX_COLUMNS];
} tables[SP_FLEET_N_TABLES] = {
    [SP_FLEET_FILE] = {"files",
		       "ReplacingMergeTree",
		       "(day, id)",
		       "id",
		       {{"day", "Date", NULL},
			{"id", "UInt64", NULL},
			{"kind", "UInt8", NULL},
			{"build_id", "String", NULL},
			{"build_id_text", "String", NULL},
			{"name", "String", NULL},
			{"path", "String", NULL},
			{"package", "String", NULL},
			{"version", "String", NULL},
			{"deleted", "UInt8", NULL}}},
    [SP_FLEET_FRAME] = {"frames",
			"ReplacingMergeTree",
			"(day, id)",
			"id",
			{{"day", "Date", NULL},
			 {"id", "UInt64", NULL},
			 {"file", "UInt64", NULL},
			 {"of", "UInt64", NULL},
			 {"name", "String", NULL},
			 {"linkage", "String", NULL},
			 {"source", "String", NULL},
			 {"line", "UInt32", NULL},
			 {"is_range", "UInt8", NULL},
			 {"start", "UInt64", NULL},
			 {"size", "UInt64", NULL},
			 {"vaddr", "UInt64", NULL},
			 {"offset", "UInt64", NULL},
			 {"flags", "UInt32", NULL}}},
    [SP_FLEET_STACK] = {"stacks",
			"ReplacingMergeTree",
			"(day, id)",
			"id",
			{{"day", "Date", NULL},
			 {"id", "UInt64", NULL},
			 {"class", "UInt16", NULL},
			 {"reason", "UInt16", NULL},
			 {"kernel_class", "UInt16", NULL},
			 {"kernel_reason", "UInt16", NULL},
			 {"kernel", "UInt32", NULL},
			 {"frames", "Array(UInt64)", "Array(UInt64) CODEC(ZSTD(1))"}}},
    [SP_FLEET_WHO] = {"who",
		      "ReplacingMergeTree",
		      "(day, id)",
		      "id",
		      {{"day", "Date", NULL},
		       {"id", "UInt64", NULL},
		       {"exe", "UInt64", NULL},
		       {"process", "String", NULL},
		       {"thread", "String", NULL},
		       {"uid", "UInt32", NULL},
		       {"cgroup", "String", NULL},
		       {"container", "String", NULL},
		       {"root", "String", NULL}}},
    /* By this order a stack's rows of an hour lie together, over all hosts: a quarter of the bytes of (host, ts). */
    [SP_FLEET_SAMPLE] = {"samples",
			 "MergeTree",
			 "(hour, who, stack, host, ts)",
			 "host",
			 {{"day", "Date", NULL},
			  {"hour", "DateTime", NULL},
			  {"who", "UInt64", "UInt64 CODEC(ZSTD(1))"},
			  {"stack", "UInt64", "UInt64 CODEC(ZSTD(1))"},
			  {"host", "UInt64", "UInt64 CODEC(ZSTD(1))"},
			  {"ts", "DateTime", "DateTime CODEC(Delta, ZSTD(1))"},
			  {"run", "UInt32", "UInt32 CODEC(ZSTD(1))"},
			  {"samples", "Int64", "Int64 CODEC(ZSTD(1))"},
			  {"cost", "Int64", "Int64 CODEC(ZSTD(1))"}}},
    /* By this order the rows of one library lie together. */
    [SP_FLEET_LIBRARY] = {"libraries",
			  "MergeTree",
			  "(library, host, ts)",
			  "host",
			  {{"day", "Date", NULL},
			   {"library", "UInt64", NULL},
			   {"host", "UInt64", NULL},
			   {"ts", "DateTime", "DateTime CODEC(Delta, ZSTD(1))"},
			   {"run", "UInt32", "UInt32 CODEC(ZSTD(1))"},
			   {"samples", "Int64", "Int64 CODEC(ZSTD(1))"},
			   {"self", "Int64", "Int64 CODEC(ZSTD(1))"},
			   {"total", "Int64", "Int64 CODEC(ZSTD(1))"}}},
    [SP_FLEET_WINDOW] = {"windows",
			 "MergeTree",
			 "(day, host, source, ts, run)",
			 "host",
			 {{"day", "Date", NULL},
			  {"host", "UInt64", NULL},
			  {"source", "String", "LowCardinality(String)"},
			  {"ts", "DateTime", NULL},
			  {"run", "UInt32", NULL},
			  {"name", "String", "LowCardinality(String)"},
			  {"labels", "Array(String)", NULL},
			  {"seconds", "UInt32", NULL},
			  {"covered", "UInt64", NULL},
			  {"lost", "UInt64", NULL},
			  {"left_out", "UInt64", NULL},
			  {"rows", "UInt64", NULL},
			  {"samples", "Int64", NULL},
			  {"cost", "Int64", NULL},
			  {"cost_name", "String", "LowCardinality(String)"},
			  {"cost_unit", "String", "LowCardinality(String)"},
			  {made, "DateTime DEFAULT now()", NULL}}},
};

const char *sp_fleet_table_name(enum sp_fleet_table table)
{
	return tables[table].name;
}

/* --- statements --- */
struct making {
	const char *database, *suffix; /* suffix: of the tables with rows */
	const struct sp_fleet_tables *with;
	bool is_modern;
};

/* The macros are the server's: which part of the cluster it has, and its own name among those that have the same. */
static void put_engine(const struct making *m, const char *table, const char *engine, struct sp_bytes *sql)
{
	if (m->with->is_replicated)
		sp_fleet_print(sql, "Replicated%s('/clickhouse/tables/{shard}/%s/%s%s', '{replica}')", engine,
			       m->database, table, m->suffix);
	else
		sp_fleet_print(sql, "%s()", engine);
}

static void put_distributed(const struct making *m, const char *name, const char *shard, struct sp_bytes *sql)
{
	if (!m->with->cluster)
		return;
	sp_fleet_print(sql, "CREATE TABLE IF NOT EXISTS %s.%s AS %s.%s%s ENGINE = Distributed(", m->database, name,
		       m->database, name, m->suffix);
	sp_fleet_quote(sql, m->with->cluster);
	sp_fleet_print(sql, ", '%s', '%s%s'%s%s);\n", m->database, name, m->suffix, shard ? ", " : "",
		       shard ? shard : "");
}

static void put_table(const struct making *m, const struct table *t, struct sp_bytes *sql)
{
	bool modern = m->is_modern;

	sp_fleet_print(sql, "CREATE TABLE IF NOT EXISTS %s.%s%s (", m->database, t->name, m->suffix);
	for (const struct column *c = t->columns; c->name; c++)
		sp_fleet_print(sql, "%s%s %s", c == t->columns ? "" : ", ", c->name,
			       modern && c->modern ? c->modern : c->type);
	sp_fleet_print(sql, ") ENGINE = ");
	put_engine(m, t->name, t->engine, sql);
	sp_fleet_print(sql, " PARTITION BY day ORDER BY %s", t->order);
	if (modern)
		sp_fleet_print(sql, " TTL day + INTERVAL %u DAY SETTINGS ttl_only_drop_parts = 1", m->with->keep_days);
	sp_fleet_print(sql, ";\n");
	put_distributed(m, t->name, t->shard, sql);
}

static const char *suffix_of(const struct sp_fleet_tables *t)
{
	return t->cluster ? "_local" : "";
}

void sp_fleet_schema_write(const char *database, const struct sp_fleet_tables *t, struct sp_bytes *sql)
{
	struct making m = {.database = database, .suffix = suffix_of(t), .with = t, .is_modern = t->server >= MODERN};

	sp_fleet_print(sql, "CREATE DATABASE IF NOT EXISTS %s;\n", database);
	sp_fleet_print(sql,
		       "CREATE TABLE IF NOT EXISTS %s.meta%s (version UInt32, seed UInt64, made DateTime DEFAULT "
		       "now()) ENGINE = ",
		       database, m.suffix);
	put_engine(&m, "meta", "MergeTree", sql);
	sp_fleet_print(sql, " ORDER BY version;\n");
	put_distributed(&m, "meta", NULL, sql);
	for (size_t i = 0; i < SP_FLEET_N_TABLES; i++)
		put_table(&m, &tables[i], sql);
}

/* As sp_fleet_init() does in two steps: a row if there is none. */
void sp_fleet_meta_write(const char *database, const struct sp_fleet_tables *t, struct sp_bytes *sql)
{
	sp_fleet_print(sql,
		       "INSERT INTO %s.meta%s (version, seed) SELECT %u, rand64() FROM (SELECT count() AS n FROM "
		       "%s.meta) AS there WHERE n = 0;\n",
		       database, suffix_of(t), SP_FLEET_VERSION, database);
}

void sp_fleet_insert_write(enum sp_fleet_table table, struct sp_bytes *sql)
{
	const struct table *t = &tables[table];

	sp_fleet_print(sql, "INSERT INTO %s (", t->name);
	for (const struct column *c = t->columns; c->name; c++)
		if (c->name != made)
			sp_fleet_print(sql, "%s%s", c == t->columns ? "" : ",", c->name);
	sp_fleet_print(sql, ") FORMAT RowBinary");
	sp_bytes_put_u8(sql, '\0');
}

/* --- at the server --- */
static int row_check(struct sp_fleet *f, const struct sp_row_reader *row)
{
	return row->bad ? sp_fail_said(-EIO, "%s does not answer as ClickHouse does", sp_fleet_name(f)) : 0;
}

/* How many servers the cluster has at most for the same rows. */
static int replicas_ask(struct sp_fleet *f, const char *cluster, uint64_t *ret_n)
{
	struct sp_bytes sql = {0}, answer = {0};
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&sql, "SELECT count() AS n FROM system.clusters WHERE cluster = ");
	sp_fleet_quote(&sql, cluster);
	sp_fleet_print(&sql, " GROUP BY shard_num ORDER BY n DESC LIMIT 1 FORMAT RowBinary");
	sp_bytes_put_u8(&sql, '\0');
	r = sql.failed ? -ENOMEM : sp_fleet_ask(f, sql.bytes, true, &answer);
	row = sp_bytes_rows(&answer);
	if (r == 0 && !sp_row_is_there(&row))
		r = sp_fail_said(-ENOENT, "%s knows no cluster '%s' (remote_servers)", sp_fleet_name(f), cluster);
	if (r == 0) {
		*ret_n = sp_row_u64(&row);
		r = row_check(f, &row);
	}
	sp_bytes_done(&sql);
	sp_bytes_done(&answer);
	return r;
}

int sp_fleet_server_ask(struct sp_fleet *f, struct sp_fleet_tables *t)
{
	struct sp_bytes answer = {0};
	int r = sp_fleet_ask(f, "SELECT toUInt32(splitByChar('.', version())[1]) FORMAT RowBinary", true, &answer);
	struct sp_row_reader row = sp_bytes_rows(&answer);
	uint64_t n_replicas = 1;

	if (r == 0) {
		t->server = sp_row_u32(&row);
		r = row_check(f, &row);
	}
	if (r == 0 && t->cluster)
		r = replicas_ask(f, t->cluster, &n_replicas);
	t->is_replicated = n_replicas > 1;
	sp_bytes_done(&answer);
	return r;
}

/* Statements make what is not there; tables of another kind would stay, and half of the others be made. */
static int kind_check(struct sp_fleet *f, const struct sp_fleet_tables *t, const char *table, const char *engine)
{
	bool is_distributed = !strcmp(engine, "Distributed");

	if (!strcmp(table, "samples") && is_distributed && !t->cluster)
		return sp_fail_said(-EEXIST, "the tables of %s in the database %s are distributed: give --cluster",
				    sp_fleet_name(f), sp_fleet_database(f));
	if (!strcmp(table, "samples") && !is_distributed && t->cluster)
		return sp_fail_said(-EEXIST,
				    "%s has tables of its own, of no cluster, in the database %s: name another one",
				    sp_fleet_name(f), sp_fleet_database(f));
	if (!strcmp(table, "samples_local") && t->is_replicated && !strcmp(engine, "MergeTree"))
		return sp_fail_said(-EEXIST,
				    "%s has tables that are not replicated in the database %s: name another one",
				    sp_fleet_name(f), sp_fleet_database(f));
	return 0;
}

static int kinds_check(struct sp_fleet *f, const struct sp_fleet_tables *t)
{
	struct sp_bytes sql = {0}, answer = {0};
	int r;

	sp_fleet_print(&sql, "SELECT name, engine FROM system.tables WHERE database = ");
	sp_fleet_quote(&sql, sp_fleet_database(f));
	sp_fleet_print(&sql, " AND name IN ('samples', 'samples_local') FORMAT RowBinary");
	sp_bytes_put_u8(&sql, '\0');
	r = sql.failed ? -ENOMEM : sp_fleet_ask(f, sql.bytes, true, &answer);
	for (struct sp_row_reader row = sp_bytes_rows(&answer); r == 0 && sp_row_is_there(&row);) {
		char words[2][32] = {"", ""};

		for (size_t i = 0; i < SP_COUNT(words); i++) {
			size_t n;
			const char *text = sp_row_text(&row, &n);
			memcpy(words[i], text, SP_MIN(n, sizeof(words[i]) - 1));
		}
		r = row_check(f, &row);
		if (r == 0)
			r = kind_check(f, t, words[0], words[1]);
	}
	sp_bytes_done(&sql);
	sp_bytes_done(&answer);
	return r;
}

/* Each statement of the text by itself. */
static int do_all(struct sp_fleet *f, struct sp_bytes *sql)
{
	int r = 0;

	sp_bytes_put_u8(sql, '\0');
	if (sql->failed)
		return -ENOMEM;
	for (char *at = sql->bytes, *end; r == 0 && (end = strstr(at, ";\n")); at = end + 2) {
		*end = '\0';
		r = sp_fleet_do(f, at, true);
	}
	return r;
}

/*
 * Two that begin at once leave two rows: the smaller seed counts, and what was named by the other keeps its names. So
 * do the servers of a cluster, of which nothing can be read until each has its tables.
 */
static int meta_make(struct sp_fleet *f, const char *suffix)
{
	struct sp_bytes sql = {0};
	uint64_t seed = 0;
	int r;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return sp_fail(-EIO, "draw a number");
	sp_fleet_print(&sql, "INSERT INTO %s.meta%s (version, seed) VALUES (%u, %llu)", sp_fleet_database(f), suffix,
		       SP_FLEET_VERSION, (unsigned long long)seed);
	sp_bytes_put_u8(&sql, '\0');
	r = sql.failed ? -ENOMEM : sp_fleet_do(f, sql.bytes, true);
	sp_bytes_done(&sql);
	return r;
}

static int meta_read(struct sp_fleet *f, uint64_t *ret_rows, uint32_t *ret_version, uint64_t *ret_seed)
{
	struct sp_bytes answer = {0};
	int r = sp_fleet_ask(f, "SELECT count(), toUInt32(max(version)), min(seed) FROM meta FORMAT RowBinary", false,
			     &answer);
	struct sp_row_reader row = sp_bytes_rows(&answer);

	*ret_rows = sp_row_u64(&row);
	*ret_version = sp_row_u32(&row);
	*ret_seed = sp_row_u64(&row);
	if (r == 0)
		r = row_check(f, &row);
	sp_bytes_done(&answer);
	return r;
}

/* Version 1 was the first: there is none to make it from. */
static int version_check(const struct sp_fleet *f, uint32_t version)
{
	if (version == SP_FLEET_VERSION)
		return 0;
	return sp_fail_said(-EPROTONOSUPPORT,
			    "the tables of %s in the database %s are of version %u, %s than this soprof's %u",
			    sp_fleet_name(f), sp_fleet_database(f), version,
			    version < SP_FLEET_VERSION ? "older" : "newer", SP_FLEET_VERSION);
}

int sp_fleet_meta(struct sp_fleet *f, uint64_t *ret_seed)
{
	uint64_t n = 0;
	uint32_t version = 0;
	int r = meta_read(f, &n, &version, ret_seed);

	if (r == -ENOENT || (r == 0 && n == 0)) {
		sp_error_clear();
		return sp_fail_said(-ENOENT,
				    "%s has no fleet's tables in the database %s; soprof fleet init makes them",
				    sp_fleet_name(f), sp_fleet_database(f));
	}
	return r == 0 ? version_check(f, version) : r;
}

static int drop_partition(struct sp_fleet *f, const char *table, const char *suffix, const char *day)
{
	struct sp_bytes sql = {0};
	int r;

	sp_fleet_print(&sql, "ALTER TABLE %s%s DROP PARTITION ", table, suffix);
	sp_fleet_quote(&sql, day);
	sp_bytes_put_u8(&sql, '\0');
	r = sql.failed ? -ENOMEM : sp_fleet_do(f, sql.bytes, false);
	sp_bytes_done(&sql);
	return r;
}

static int drop_old(struct sp_fleet *f, const char *table, const struct sp_fleet_tables *t)
{
	struct sp_bytes sql = {0}, answer = {0};
	int r;

	sp_fleet_print(&sql, "SELECT DISTINCT toString(day) FROM %s%s WHERE day < today() - %u FORMAT RowBinary", table,
		       suffix_of(t), t->keep_days);
	sp_bytes_put_u8(&sql, '\0');
	r = sql.failed ? -ENOMEM : sp_fleet_ask(f, sql.bytes, false, &answer);
	for (struct sp_row_reader row = sp_bytes_rows(&answer); r == 0 && sp_row_is_there(&row);) {
		char day[16] = "";
		size_t n;
		const char *text = sp_row_text(&row, &n);

		memcpy(day, text, SP_MIN(n, sizeof(day) - 1));
		r = drop_partition(f, table, suffix_of(t), day);
	}
	sp_bytes_done(&sql);
	sp_bytes_done(&answer);
	return r;
}

/* Where others of a cluster lack theirs, the tables cannot be read. */
static int meta_begin(struct sp_fleet *f, const struct sp_fleet_tables *t)
{
	uint64_t n = 0, seed;
	uint32_t version = 0;
	int r = meta_read(f, &n, &version, &seed);

	if (r == -ENOENT && t->cluster) {
		sp_error_clear();
		r = 0;
	}
	return r == 0 && n == 0 ? meta_make(f, suffix_of(t)) : r;
}

/* Of tables of another version nothing is made, and no day dropped. */
static int there_check(struct sp_fleet *f)
{
	uint64_t n = 0, seed;
	uint32_t version = 0;
	int r = meta_read(f, &n, &version, &seed);

	if (r == -ENOENT) {
		sp_error_clear();
		return 0;
	}
	return r == 0 && n ? version_check(f, version) : r;
}

int sp_fleet_init(struct sp_fleet *f, const struct sp_fleet_tables *t, bool *ret_is_whole)
{
	struct sp_bytes sql = {0};
	uint64_t seed;
	int r = kinds_check(f, t);

	if (r == 0)
		r = there_check(f);
	if (r == 0) {
		sp_fleet_schema_write(sp_fleet_database(f), t, &sql);
		r = do_all(f, &sql);
		if (r < 0 && t->is_replicated)
			r = sp_fail(r, "make replicated tables, since %s has several servers for the same rows",
				    t->cluster);
	}
	if (r == 0)
		r = meta_begin(f, t);
	for (int i = 0; r == 0 && t->server < MODERN && i < SP_FLEET_N_TABLES; i++)
		r = drop_old(f, tables[i].name, t);
	sp_bytes_done(&sql);
	if (r == 0)
		r = sp_fleet_meta(f, &seed);
	*ret_is_whole = r == 0;
	if (r == -ENOENT && t->cluster) {
		sp_error_clear();
		r = 0;
	}
	return r;
}
