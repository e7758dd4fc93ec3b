/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics_room.c: makes room for series that found none in a window.
 *
 * First go those that were idle for SP_METRICS_IDLE_S. If that is not enough, users share: the one with the most
 * series, if these are more than a quarter of all and more than a refused one has, loses those that are not above the
 * mean of his, and gets no more than that quarter from then on, while others want room. Root's series do not go to
 * others: they are the machine's own.
 */
#include "agent/export/metrics_priv.h"
#include "base/mem.h"
#include "base/time.h"
#include <stdlib.h>

enum { SP_METRICS_IDLE_S = 3600, LINES_OF_A_LIBRARY = 3, MAX_OWNERS = 256 };

struct owner {
	uint32_t uid;
	uint64_t n_lines, n_series, self_ns;
};
struct owners {
	size_t n;
	struct owner all[MAX_OWNERS]; /* more users than have room for a line each */
};
struct poorest {
	uint32_t uid;
	uint64_t mean_ns;
};

void sp_metrics_note_refused(struct sp_metrics_refused *x, uint32_t owner)
{
	size_t i = 0;

	while (i < x->n && x->owners[i] != owner)
		i++;
	if (i == x->n && i < SP_METRICS_REFUSED)
		x->owners[x->n++] = owner;
}

static bool is_idle(const void *arg, const struct sp_series *s)
{
	const uint64_t *before_ns = arg;

	return s->span.to_ns < *before_ns;
}

static bool is_poor(const void *arg, const struct sp_series *s)
{
	const struct poorest *p = arg;

	return s->owner == p->uid && s->all.self_ns <= p->mean_ns;
}

static int drop(struct sp_metrics *m, bool (*which)(const void *arg, const struct sp_series *s), const void *arg)
{
	struct sp_series_table *const tables[] = {&m->libraries, &m->functions_table, &m->infos};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < SP_COUNT(tables); i++)
		r = sp_series_drop(tables[i], which, arg);
	return r;
}

static struct owner *get_owner(struct owners *o, uint32_t uid)
{
	size_t i = 0;

	while (i < o->n && o->all[i].uid != uid)
		i++;
	if (i == MAX_OWNERS)
		return NULL;
	if (i == o->n)
		o->all[o->n++] = (struct owner){.uid = uid};
	return &o->all[i];
}

static void count_owners(struct owners *o, const struct sp_series_table *t)
{
	for (size_t i = 0; i < sp_series_count(t); i++) {
		struct owner *owner = get_owner(o, t->series[i].owner);

		if (!owner)
			continue;
		owner->n_lines += t->series[i].n_lines;
		owner->n_series++;
		owner->self_ns += t->series[i].all.self_ns;
	}
}

static uint64_t lines_of(const struct owners *o, uint32_t uid)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->all[i].uid == uid)
			return o->all[i].n_lines;
	return 0;
}

static void count_all(struct owners *o, const struct sp_metrics *m)
{
	o->n = 0;
	count_owners(o, &m->libraries);
	count_owners(o, &m->functions_table);
}

static int share(struct sp_metrics *m, const struct sp_metrics_refused *x)
{
	struct owners o;
	const struct owner *most = NULL;

	count_all(&o, m);
	for (size_t i = 0; i < o.n; i++)
		if (o.all[i].uid != 0 && o.all[i].n_lines > m->budget.max / 4 &&
		    (!most || o.all[i].n_lines > most->n_lines))
			most = &o.all[i];
	for (size_t i = 0; most && i < x->n; i++)
		if (x->owners[i] != most->uid && lines_of(&o, x->owners[i]) < most->n_lines) {
			m->greedy_uid = most->uid;
			return drop(m, is_poor, &(struct poorest){most->uid, most->self_ns / most->n_series});
		}
	return 0;
}

bool sp_metrics_may_have_series(const struct sp_metrics *m, uint32_t owner)
{
	struct owners o;

	if (!m->greedy_uid || owner != m->greedy_uid)
		return true;
	count_all(&o, m);
	return lines_of(&o, owner) < m->budget.max / 4;
}

static bool is_alone(const struct sp_metrics *m, const struct sp_metrics_refused *x)
{
	return x->n == 1 && x->owners[0] == m->greedy_uid &&
	       m->budget.n + m->budget.max / 4 + LINES_OF_A_LIBRARY <= m->budget.max;
}

int sp_metrics_make_room(struct sp_metrics *m, const struct sp_metrics_refused *x, const struct sp_series_span *now)
{
	uint64_t idle_ns = SP_METRICS_IDLE_S * SP_NS_PER_S;
	uint64_t before_ns = now->from_ns > idle_ns ? now->from_ns - idle_ns : 0;
	int r = x->n ? drop(m, is_idle, &before_ns) : 0;

	if (m->greedy_uid && is_alone(m, x)) /* nobody else wants room any more */
		m->greedy_uid = 0;
	return r < 0 || !x->n || m->budget.n + LINES_OF_A_LIBRARY <= m->budget.max ? r : share(m, x);
}
