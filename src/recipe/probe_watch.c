/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/probe_watch.h"
#include "base/error.h"
#include "base/mem.h"
#include "probe/file.h"
#include "probe/watch.h"
#include "recipe/probe.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEEN = 4096 };

struct seen { /* a file that was looked at, or is */
	uint64_t ino, generation;
	uint32_t dev, pid; /* pid: where it matters */
};
struct sp_recipe_watch {
	struct sp_probe_watch *watch;
	struct sp_workers *workers;
	struct sp_recipe_probe **probes;
	size_t n_probes, probes_capacity;
	struct seen *seen;
	size_t n_seen, seen_capacity;
	int failure; /* of an answer, until the next turn */
};

int sp_recipe_watch_new(const unsigned *cpus, size_t n_cpus, struct sp_recipe_watch **ret_watch)
{
	struct sp_recipe_watch *w = calloc(1, sizeof(*w));
	int r = w ? sp_probe_watch_new(cpus, n_cpus, &w->watch) : -ENOMEM;

	if (r < 0)
		sp_recipe_watch_free(w);
	else
		*ret_watch = w;
	return r;
}

int sp_recipe_watch_add(struct sp_recipe_watch *w, struct sp_recipe_probe *probe)
{
	int r = sp_grow(&w->probes, &w->probes_capacity, w->n_probes + 1, sizeof(*w->probes));

	if (r >= 0)
		w->probes[w->n_probes++] = probe;
	return r;
}

int sp_recipe_watch_fd(const struct sp_recipe_watch *w)
{
	return sp_probe_watch_fd(w->watch);
}

void sp_recipe_watch_free(struct sp_recipe_watch *w)
{
	if (!w)
		return;
	sp_probe_watch_free(w->watch);
	free(w->probes);
	free(w->seen);
	free(w);
}

/* --- a file --- */
static void looked(void *arg, int r, struct sp_probe_file *file)
{
	struct sp_recipe_watch *w = arg;

	for (size_t i = 0; i < w->n_probes && r >= 0; i++) {
		int added = sp_recipe_probe_add(w->probes[i], file, w->workers);

		w->failure = added < 0 && !w->failure ? added : w->failure;
	}
}

/* Whether it has been looked at. When there is no room, all are forgotten: a file is looked at once more. */
static bool is_seen(struct sp_recipe_watch *w, const struct seen *file)
{
	for (size_t i = 0; i < w->n_seen; i++)
		if (!memcmp(&w->seen[i], file, sizeof(*file)))
			return true;
	if (w->n_seen == MAX_SEEN)
		w->n_seen = 0;
	if (sp_grow(&w->seen, &w->seen_capacity, w->n_seen + 1, sizeof(*w->seen)) >= 0)
		w->seen[w->n_seen++] = *file;
	return false;
}

static int mapping_take(void *arg, const struct sp_probe_mapping *m)
{
	struct sp_recipe_watch *w = arg;
	bool may_be = false, by_process = false;

	for (size_t i = 0; i < w->n_probes; i++) {
		const struct sp_probe_name *name = sp_recipe_probe_name(w->probes[i]);

		if (name->pid && name->pid != m->pid)
			continue;
		may_be = may_be || sp_probe_name_may_be(name, m->path);
		by_process = by_process || name->pid;
	}
	if (!may_be ||
	    is_seen(w, &(struct seen){
			   .ino = m->ino, .generation = m->generation, .dev = m->dev, .pid = by_process ? m->pid : 0}))
		return 0;
	return sp_probe_file_look(w->workers, m->pid, m->start, m->end, looked, w);
}

int sp_recipe_watch_turn(struct sp_recipe_watch *w, struct sp_workers *workers)
{
	int r;

	w->workers = workers;
	r = sp_probe_watch_read(w->watch, mapping_take, w);
	for (size_t i = 0; i < w->n_probes; i++)
		sp_recipe_probe_lost(w->probes[i], sp_probe_watch_n_lost(w->watch));
	if (r >= 0)
		r = w->failure;
	w->failure = 0;
	return r;
}
