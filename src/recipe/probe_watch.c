/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/probe_watch.h"
#include "base/mem.h"
#include "probe/later.h"
#include "recipe/probe_priv.h"
#include <errno.h>
#include <stdlib.h>

struct sp_recipe_watch {
	struct sp_probe_later *later;
	struct sp_workers *workers;
	struct sp_recipe_probe **probes;
	size_t n_probes, probes_capacity;
};

/* --- what a probe knows of its watch --- */
void sp_recipe_probe_watched(struct sp_recipe_probe *p, struct sp_recipe_watch *watch)
{
	p->watch = watch;
}

struct sp_recipe_watch *sp_recipe_probe_watch(const struct sp_recipe_probe *p)
{
	return p->watch;
}

void sp_recipe_probe_lost(struct sp_recipe_probe *p, const struct sp_probe_later *later)
{
	p->n_lost = sp_probe_later_n_lost(later);
	p->left_out = sp_probe_later_unlooked(later);
}

/* --- the watch --- */
static void file_take(void *arg, int r, const char *path, struct sp_probe_file *file)
{
	struct sp_recipe_watch *w = arg;

	for (size_t i = 0; i < w->n_probes; i++)
		if (r < 0)
			sp_recipe_probe_failed(w->probes[i], r, path, file);
		else
			sp_recipe_probe_add(w->probes[i], file, w->workers, w->later);
}

int sp_recipe_watch_new(const unsigned *cpus, size_t n_cpus, struct sp_recipe_watch **ret_watch)
{
	struct sp_recipe_watch *w = calloc(1, sizeof(*w));
	const struct sp_probe_later_options o = {.cpus = cpus, .n_cpus = n_cpus, .take = file_take, .arg = w};
	int r = w ? sp_probe_later_new(&o, &w->later) : -ENOMEM;

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
		r = sp_probe_later_add(w->later, sp_recipe_probe_name(probe));
	if (r >= 0)
		w->probes[w->n_probes++] = probe;
	return r;
}

int sp_recipe_watch_fd(const struct sp_recipe_watch *w)
{
	return sp_probe_later_fd(w->later);
}

int sp_recipe_watch_turn(struct sp_recipe_watch *w, struct sp_workers *workers)
{
	int r;

	w->workers = workers;
	r = sp_probe_later_turn(w->later, workers);
	for (size_t i = 0; i < w->n_probes; i++)
		sp_recipe_probe_lost(w->probes[i], w->later);
	return r;
}

void sp_recipe_watch_free(struct sp_recipe_watch *w)
{
	if (!w)
		return;
	sp_probe_later_free(w->later);
	free(w->probes);
	free(w);
}
