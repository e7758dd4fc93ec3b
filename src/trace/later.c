/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/later.h"
#include "base/mem.h"
#include "base/time.h"
#include "proc/process.h"
#include "recipe/probe.h"
#include "recipe/probe_watch.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>

/* Programs map files all the time: what has appeared is looked at so often and no more. */
#define EVERY_NS 100000000ULL

struct sp_trace_later {
	const struct sp_trace_spec *specs;
	size_t n_specs;
	struct sp_recipe_watch *watch;
	uint64_t again_ns;
};

int sp_trace_each_probe(const struct sp_trace_spec *specs, size_t n_specs,
			int (*each)(void *arg, struct sp_recipe_probe *probe), void *arg)
{
	int r = 0;

	for (size_t i = 0; i < n_specs; i++) {
		const struct sp_trace_spec *s = &specs[i];

		if (s->point.probe && r >= 0)
			r = each(arg, s->point.probe);
		for (size_t k = 0; k < s->n_before; k++)
			if (s->before[k].point.probe && r >= 0)
				r = each(arg, s->before[k].point.probe);
	}
	return r;
}

static int probe_count(void *arg, struct sp_recipe_probe *probe)
{
	(void)probe;
	++*(size_t *)arg;
	return 0;
}

bool sp_trace_has_probes(const struct sp_trace_spec *specs, size_t n_specs)
{
	size_t n = 0;

	sp_trace_each_probe(specs, n_specs, probe_count, &n);
	return n;
}

static int probe_watch(void *arg, struct sp_recipe_probe *probe)
{
	return sp_recipe_watch_add(((struct sp_trace_later *)arg)->watch, probe);
}

static int watch_open(struct sp_trace_later *l)
{
	unsigned *cpus = NULL;
	size_t n;
	int r = sp_process_cpus_online(&cpus, &n);

	if (r >= 0)
		r = sp_recipe_watch_new(cpus, n, &l->watch);
	if (r >= 0)
		r = sp_trace_each_probe(l->specs, l->n_specs, probe_watch, l);
	free(cpus);
	return r;
}

int sp_trace_later_new(const struct sp_trace_spec *specs, size_t n_specs, struct sp_trace_later **ret_later)
{
	struct sp_trace_later *l;
	int r;

	*ret_later = NULL;
	if (!sp_trace_has_probes(specs, n_specs))
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->specs = specs;
	l->n_specs = n_specs;
	r = watch_open(l);
	if (r < 0)
		sp_trace_later_free(l);
	else
		*ret_later = l;
	return r;
}

static int probe_broker(void *arg, struct sp_recipe_probe *probe)
{
	sp_recipe_probe_broker(probe, arg);
	return 0;
}

void sp_trace_later_broker(struct sp_trace_later *l, struct sp_broker *broker)
{
	if (l)
		sp_trace_each_probe(l->specs, l->n_specs, probe_broker, broker);
}

int sp_trace_later_fd(const struct sp_trace_later *l, uint64_t *ret_again_ns)
{
	bool waits = l && sp_time_ns(CLOCK_MONOTONIC) < l->again_ns;

	*ret_again_ns = waits ? l->again_ns : UINT64_MAX;
	return l && !waits ? sp_recipe_watch_fd(l->watch) : -1;
}

int sp_trace_later_turn(struct sp_trace_later *l, bool is_due, struct sp_workers *workers)
{
	int r = l ? sp_recipe_watch_turn(l->watch, workers) : 0;

	if (l && is_due)
		l->again_ns = sp_time_ns(CLOCK_MONOTONIC) + EVERY_NS;
	return r < 0 || !workers ? r : sp_workers_dispatch(workers);
}

void sp_trace_later_free(struct sp_trace_later *l)
{
	if (!l)
		return;
	sp_recipe_watch_free(l->watch);
	free(l);
}
