/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libraries.c: sp_fleet_libraries(): which builds of a library run on which hosts, and what each costs there.
 *
 * Globs choose files here, whose builds have numbers (encode.h); the table `libraries` is asked for these.
 */
#include "base/error.h"
#include "base/mem.h"
#include "fleet/encode.h"
#include "fleet/question.h"
#include "profile/filter.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUILDS = 200 };

struct host {
	uint64_t id;
	char *name;
	int64_t cost;
};
struct build {
	uint64_t id;
	char *name, *path, *build_id, *package, *version;
};
struct libraries {
	struct sp_fleet_question ask;
	const char *const *globs;
	size_t n_globs;
	struct host *hosts;
	size_t n_hosts, hosts_capacity;
	struct build builds[MAX_BUILDS];
	size_t n_builds;
	struct sp_fleet_near near; /* of names that are not wanted */
};

/* --- hosts --- */
static int hosts_read(struct libraries *l)
{
	struct sp_bytes *sql = &l->ask.sql;
	struct sp_row_reader row;
	int r;

	sp_fleet_print(sql, "SELECT host, any(name), sum(cost) FROM windows WHERE ");
	sp_fleet_put_text(sql, &l->ask.range);
	sp_fleet_put_chosen(&l->ask, sql);
	sp_fleet_print(sql, " AND source = ");
	sp_fleet_quote(sql, l->ask.q->source ? l->ask.q->source : "cpu");
	sp_fleet_print(sql, " GROUP BY host");
	r = sp_fleet_question_ask(&l->ask, &row);
	while (r == 0 && sp_row_is_there(&row)) {
		struct host h = {.id = sp_row_u64(&row)};
		r = sp_grow(&l->hosts, &l->hosts_capacity, l->n_hosts + 1, sizeof(*l->hosts));
		if (r < 0)
			return r;
		h.name = sp_fleet_row_copy(&row);
		h.cost = (int64_t)sp_row_u64(&row);
		l->hosts[l->n_hosts++] = h;
		r = h.name ? sp_fleet_row_check(&l->ask, &row) : -ENOMEM;
	}
	return r == 0 && !l->n_hosts ? sp_fleet_nothing_found(&l->ask) : r;
}

static const struct host *host_find(const struct libraries *l, uint64_t id)
{
	for (size_t i = 0; i < l->n_hosts; i++)
		if (l->hosts[i].id == id)
			return &l->hosts[i];
	return NULL;
}

/* --- builds --- */
static void build_done(struct build *b)
{
	free(b->name);
	free(b->path);
	free(b->build_id);
	free(b->package);
	free(b->version);
}

static bool is_wanted(const struct libraries *l, const struct build *b)
{
	for (size_t i = 0; i < l->n_globs; i++)
		if (sp_glob_matches_file(l->globs[i], b->name, b->path) || !strcmp(l->globs[i], b->build_id))
			return true;
	return false;
}

static const struct build *build_find(const struct libraries *l, uint64_t id)
{
	for (size_t i = 0; i < l->n_builds; i++)
		if (l->builds[i].id == id)
			return &l->builds[i];
	return NULL;
}

static int build_add(struct libraries *l, struct build *b)
{
	b->id = sp_fleet_library(l->ask.seed, b->name, b->build_id, b->path);
	if (build_find(l, b->id))
		return 0;
	if (l->n_builds == MAX_BUILDS)
		return sp_fail_said(-E2BIG, "more than %d builds of such names run: name fewer libraries", MAX_BUILDS);
	l->builds[l->n_builds++] = *b;
	*b = (struct build){0};
	return 0;
}

static int build_read(struct libraries *l, struct sp_row_reader *row)
{
	struct build b = {0};
	int r;

	sp_row_u64(row); /* the file's own id */
	b.name = sp_fleet_row_copy(row);
	b.path = sp_fleet_row_copy(row);
	b.build_id = sp_fleet_row_copy(row);
	b.package = sp_fleet_row_copy(row);
	b.version = sp_fleet_row_copy(row);
	r = b.name && b.path && b.build_id && b.package && b.version ? sp_fleet_row_check(&l->ask, row) : -ENOMEM;
	if (r == 0 && is_wanted(l, &b))
		r = build_add(l, &b);
	else if (r == 0)
		sp_fleet_near_offer(&l->near, b.name);
	build_done(&b);
	return r;
}

static int builds_read(struct libraries *l)
{
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&l->ask.sql,
		       "SELECT id, any(name), any(path), any(build_id), any(package), any(version) FROM files "
		       "WHERE ");
	sp_fleet_put_days(&l->ask, &l->ask.sql);
	sp_fleet_print(&l->ask.sql, " GROUP BY id");
	r = sp_fleet_question_ask(&l->ask, &row);
	while (r == 0 && sp_row_is_there(&row))
		r = build_read(l, &row);
	if (r < 0 || l->n_builds)
		return r;
	return sp_fail_said(-ENOENT, "no samples of a library that is called '%s'%s%s%s%s", l->globs[0],
			    l->n_globs > 1 ? " or as the others" : "", l->near.kept ? "; did you mean '" : "",
			    l->near.kept ? l->near.kept : "", l->near.kept ? "'?" : "");
}

/* --- what each costs --- */
static void statement_put(struct libraries *l)
{
	struct sp_bytes *sql = &l->ask.sql;

	sp_fleet_print(sql, "SELECT library, host, sum(samples), sum(self), sum(total) FROM libraries WHERE ");
	sp_fleet_put_text(sql, &l->ask.range);
	sp_fleet_put_text(sql, &l->ask.host_ids);
	sp_fleet_put_chosen(&l->ask, sql);
	sp_fleet_print(sql, " AND library IN (");
	for (size_t i = 0; i < l->n_builds; i++)
		sp_fleet_print(sql, "%s%" PRIu64, i ? "," : "", l->builds[i].id);
	sp_fleet_print(sql, ") GROUP BY library, host");
}

static int costs_read(struct libraries *l, int (*each)(void *arg, const struct sp_fleet_library *library), void *arg)
{
	struct sp_row_reader row;
	int r;

	statement_put(l);
	r = sp_fleet_question_ask(&l->ask, &row);
	while (r == 0 && sp_row_is_there(&row)) {
		const struct build *b = build_find(l, sp_row_u64(&row));
		const struct host *h = host_find(l, sp_row_u64(&row));
		struct sp_fleet_library library = {0};

		library.n_samples = (int64_t)sp_row_u64(&row);
		library.self = (int64_t)sp_row_u64(&row);
		library.total = (int64_t)sp_row_u64(&row);
		r = sp_fleet_row_check(&l->ask, &row);
		if (r < 0 || !b || !h) /* a host that came just now */
			continue;
		library.name = b->name;
		library.path = b->path;
		library.build_id = b->build_id;
		library.package = b->package;
		library.version = b->version;
		library.host = h->name;
		library.of_host = h->cost;
		r = each(arg, &library);
	}
	return r;
}

int sp_fleet_libraries(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q,
		       const struct sp_fleet_globs *globs,
		       int (*each)(void *arg, const struct sp_fleet_library *library), void *arg)
{
	struct libraries *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->ask = (struct sp_fleet_question){.f = f, .filter = filter, .q = q};
	l->globs = globs->globs;
	l->n_globs = globs->n;
	l->near.suggest.word = globs->globs[0];
	r = sp_fleet_question_begin(&l->ask);
	if (r == 0)
		r = hosts_read(l);
	if (r == 0)
		r = builds_read(l);
	if (r == 0)
		r = costs_read(l, each, arg);
	for (size_t i = 0; i < l->n_builds; i++)
		build_done(&l->builds[i]);
	for (size_t i = 0; i < l->n_hosts; i++)
		free(l->hosts[i].name);
	free(l->hosts);
	free(l->near.kept);
	sp_fleet_question_done(&l->ask);
	free(l);
	return r;
}
