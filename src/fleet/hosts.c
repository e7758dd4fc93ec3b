/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hosts.c: sp_fleet_hosts(): what each host cost, and how far behind it is; a part of query.h. */
#include "base/error.h"
#include "base/mem.h"
#include "fleet/question.h"
#include "profile/filter.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct host {
	uint64_t id;
	char *name;
	struct sp_bytes labels; /* with newlines between, and a NUL */
	struct sp_fleet_host told;
};
struct hosts {
	struct sp_fleet_question ask;
	struct host *all;
	size_t n, capacity;
};

static void host_done(struct host *h)
{
	free(h->name);
	sp_bytes_done(&h->labels);
}

/* By what a host is asked for; a label alone is enough. */
static int identity_read(struct hosts *l, struct sp_row_reader *row, struct host *ret_host, bool *ret_wanted)
{
	const struct sp_fleet_filter *filter = l->ask.filter;
	bool has_label = !filter->label;

	ret_host->id = sp_row_u64(row);
	ret_host->name = sp_fleet_row_copy(row);
	if (!ret_host->name)
		return -ENOMEM;
	for (size_t n = sp_row_length(row, 1); n > 0 && !row->bad; n--) {
		SP_FREE char *label = sp_fleet_row_copy(row);
		if (!label)
			return -ENOMEM;
		has_label = has_label || sp_fleet_label_matches(filter->label, label);
		if (ret_host->labels.n)
			sp_bytes_put_u8(&ret_host->labels, '\n');
		sp_bytes_put(&ret_host->labels, label, strlen(label));
	}
	sp_bytes_put_u8(&ret_host->labels, '\0');
	*ret_wanted = has_label && (!filter->host || sp_glob_matches(filter->host, ret_host->name));
	return ret_host->labels.failed ? -ENOMEM : 0;
}

/* The host of this id, which is made if there is none yet; `h` is emptied then. NULL: out of memory. */
static struct host *host_keep(struct hosts *l, struct host *h)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->all[i].id == h->id)
			return &l->all[i];
	if (sp_grow(&l->all, &l->capacity, l->n + 1, sizeof(*l->all)) < 0)
		return NULL;
	l->all[l->n] = *h;
	*h = (struct host){0};
	return &l->all[l->n++];
}

static void source_put(struct hosts *l)
{
	sp_fleet_print(&l->ask.sql, " AND source = ");
	sp_fleet_quote(&l->ask.sql, l->ask.q->source ? l->ask.q->source : "cpu");
}

/* --- those that live --- */
static int recent_add(struct hosts *l, struct sp_row_reader *row)
{
	struct host h = {0}, *kept;
	bool wanted = false;
	uint64_t end_s, now_s;
	int r = identity_read(l, row, &h, &wanted);

	end_s = sp_row_u64(row);
	now_s = sp_row_u64(row);
	if (r == 0)
		r = sp_fleet_row_check(&l->ask, row);
	if (r == 0 && wanted) {
		kept = host_keep(l, &h);
		r = kept ? 0 : -ENOMEM;
		if (kept)
			kept->told =
			    (struct sp_fleet_host){.is_recent = true, .behind_s = now_s - SP_MIN(now_s, end_s)};
	}
	host_done(&h);
	return r;
}

static int recent_read(struct hosts *l)
{
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&l->ask.sql,
		       "SELECT host, any(name), argMax(labels, ts), toUInt64(max(toUInt32(ts) + seconds)), "
		       "toUInt64(toUInt32(now())) FROM windows WHERE day >= today() - 1");
	source_put(l);
	sp_fleet_print(&l->ask.sql, " GROUP BY host");
	r = sp_fleet_question_ask(&l->ask, &row);
	while (r == 0 && sp_row_is_there(&row))
		r = recent_add(l, &row);
	return r;
}

/* --- what they cost in the range --- */
static void unit_read(struct sp_row_reader *row, char *ret_text, size_t size)
{
	size_t n;
	const char *text = sp_row_text(row, &n);

	snprintf(ret_text, size, "%.*s", (int)SP_MIN(n, size - 1), text);
}

static int cost_add(struct hosts *l, struct sp_row_reader *row, struct sp_fleet_hosts *ret_hosts)
{
	struct host h = {0}, *kept;
	struct sp_fleet_host told = {0};
	bool wanted; /* which the server has seen to */
	int r = identity_read(l, row, &h, &wanted);

	told.n_windows = sp_row_u64(row);
	told.n_samples = (int64_t)sp_row_u64(row);
	told.cost = (int64_t)sp_row_u64(row);
	told.n_lost = sp_row_u64(row);
	told.covered_ns = sp_row_u64(row);
	unit_read(row, ret_hosts->cost_name, sizeof(ret_hosts->cost_name));
	unit_read(row, ret_hosts->cost_unit, sizeof(ret_hosts->cost_unit));
	if (r == 0)
		r = sp_fleet_row_check(&l->ask, row);
	kept = r == 0 ? host_keep(l, &h) : NULL;
	if (kept) {
		told.is_recent = kept->told.is_recent;
		told.behind_s = kept->told.behind_s;
		kept->told = told;
	}
	host_done(&h);
	return r == 0 && !kept ? -ENOMEM : r;
}

static int costs_read(struct hosts *l, struct sp_fleet_hosts *ret_hosts)
{
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&l->ask.sql, "SELECT host, any(name), argMax(labels, ts), count(), sum(samples), sum(cost), "
				    "sum(lost), sum(covered), any(cost_name), any(cost_unit) FROM windows WHERE ");
	sp_fleet_put_text(&l->ask.sql, &l->ask.range);
	sp_fleet_put_chosen(&l->ask, &l->ask.sql);
	source_put(l);
	sp_fleet_print(&l->ask.sql, " GROUP BY host");
	r = sp_fleet_question_ask(&l->ask, &row);
	while (r == 0 && sp_row_is_there(&row))
		r = cost_add(l, &row, ret_hosts);
	return r;
}

/* --- all --- */
static int compare_hosts(const void *a, const void *b)
{
	const struct host *x = a, *y = b;

	if (x->told.cost != y->told.cost)
		return x->told.cost < y->told.cost ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int hosts_tell(struct hosts *l, int (*each)(void *arg, const struct sp_fleet_host *h), void *arg)
{
	int r = 0;

	if (l->n > 1)
		qsort(l->all, l->n, sizeof(*l->all), compare_hosts);
	for (size_t i = 0; r == 0 && i < l->n; i++) {
		l->all[i].told.name = l->all[i].name;
		l->all[i].told.labels = l->all[i].labels.bytes;
		r = each(arg, &l->all[i].told);
	}
	return r;
}

int sp_fleet_hosts(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q,
		   struct sp_fleet_hosts *ret_hosts, int (*each)(void *arg, const struct sp_fleet_host *h), void *arg)
{
	struct hosts l = {.ask = {.f = f, .filter = filter, .q = q}};
	int r = sp_fleet_question_begin(&l.ask);

	*ret_hosts = (struct sp_fleet_hosts){0};
	if (r == 0)
		r = recent_read(&l);
	if (r == 0)
		r = costs_read(&l, ret_hosts);
	if (r == 0)
		r = hosts_tell(&l, each, arg);
	for (size_t i = 0; i < l.n; i++)
		host_done(&l.all[i]);
	free(l.all);
	sp_fleet_question_done(&l.ask);
	return r;
}
