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
	struct sp_recipe_watch *watch; /* NULL: no function or mark is traced, so there is nothing to watch */
	struct sp_recipe_probe *probes[SP_TRACE_PROBES];
	size_t n_probes;
	uint64_t again_ns;
};

static size_t probe_add(struct sp_recipe_probe *probe, struct sp_recipe_probe **probes, size_t n)
{
	if (probe)
		probes[n++] = probe;
	return n;
}

size_t sp_trace_probes(const struct sp_trace_spec *specs, size_t n_specs,
		       struct sp_recipe_probe *ret_probes[SP_TRACE_PROBES])
{
	size_t n = 0;

	for (size_t i = 0; i < n_specs; i++) {
		n = probe_add(specs[i].point.probe, ret_probes, n);
		for (size_t k = 0; k < specs[i].n_before; k++)
			n = probe_add(specs[i].before[k].point.probe, ret_probes, n);
	}
	return n;
}

int sp_trace_later_new(struct sp_trace_later **ret_later)
{
	*ret_later = calloc(1, sizeof(**ret_later));
	return *ret_later ? 0 : -ENOMEM;
}

int sp_trace_later_begin(struct sp_trace_later *l)
{
	SP_FREE unsigned *cpus = NULL;
	size_t n;
	int r;

	if (!l || l->watch)
		return 0;
	r = sp_process_cpus_online(&cpus, &n);
	return r < 0 ? r : sp_recipe_watch_new(cpus, n, &l->watch);
}

int sp_trace_later_add(struct sp_trace_later *l, const struct sp_trace_spec *specs, size_t n_specs)
{
	int r = 0;

	l->n_probes = sp_trace_probes(specs, n_specs, l->probes);
	for (size_t i = 0; i < l->n_probes && r >= 0; i++)
		r = sp_recipe_watch_add(l->watch, l->probes[i]);
	return r;
}

void sp_trace_later_broker(struct sp_trace_later *l, struct sp_broker *broker)
{
	for (size_t i = 0; l && i < l->n_probes; i++)
		sp_recipe_probe_broker(l->probes[i], broker);
}

int sp_trace_later_fd(const struct sp_trace_later *l, uint64_t *ret_again_ns)
{
	bool watches = l && l->watch, waits = watches && sp_time_ns(CLOCK_MONOTONIC) < l->again_ns;

	*ret_again_ns = waits ? l->again_ns : UINT64_MAX;
	return watches && !waits ? sp_recipe_watch_fd(l->watch) : -1;
}

int sp_trace_later_turn(struct sp_trace_later *l, bool is_due, struct sp_workers *workers)
{
	int r = l && l->watch ? sp_recipe_watch_turn(l->watch, workers) : 0;

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
