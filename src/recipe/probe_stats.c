/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe_stats.c: what there is to tell of probes. */
#include "base/mem.h"
#include "recipe/probe_priv.h"
#include <stdio.h>
#include <string.h>

/* A file that cannot be read, or is made to harm who reads it, costs its own places. */
void sp_recipe_probe_note(struct sp_recipe_probe *p, const char *path, const char *why)
{
	if (!p->n_failed++ && asprintf(&p->failure, "%s: %s", path, why) < 0)
		p->failure = NULL;
}

bool sp_recipe_probe_is_beside(const struct sp_recipe_probe *a, const struct sp_recipe_probe *b)
{
	return !strcmp(a->asked.library, b->asked.library);
}

static bool has_later(const struct sp_recipe_probe *p, const struct sp_probe_file *file)
{
	for (size_t i = 0; i < p->files.n; i++)
		if (p->files.files[i].dev == file->dev && p->files.files[i].ino == file->ino)
			return p->places[i].is_later;
	return false;
}

/* Files of the last one that appeared later, and that none beside it has which stands before it. */
static size_t n_later(struct sp_recipe_probe *const *probes, size_t n)
{
	const struct sp_recipe_probe *last = probes[n - 1];
	size_t sum = 0;

	for (size_t i = 0; i < last->files.n; i++) {
		bool is_new = last->places[i].is_later;

		for (size_t k = 0; k + 1 < n && is_new; k++)
			is_new =
			    !sp_recipe_probe_is_beside(probes[k], last) || !has_later(probes[k], &last->files.files[i]);
		sum += is_new;
	}
	return sum;
}

static size_t n_mapped(const struct sp_recipe_probe *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->files.n; i++)
		n += p->files.files[i].n_pids > 0;
	return n;
}

void sp_recipe_probe_stats(struct sp_recipe_probe *const *probes, size_t n, struct sp_recipe_probe_stats *ret_stats)
{
	struct sp_recipe_probe_stats s = {.library = probes[0]->asked.library};

	for (size_t i = 0; i < n; i++) {
		const struct sp_recipe_probe *p = probes[i];

		if (!sp_recipe_probe_is_beside(p, probes[0]))
			continue;
		s.n_places += p->n_places;
		s.n_refused += p->n_refused;
		s.n_later += n_later(probes, i + 1);
		s.n_mapped = SP_MAX(s.n_mapped, n_mapped(p));
		s.n_unread = SP_MAX(s.n_unread, p->files.n_unread);
		s.n_hidden = SP_MAX(s.n_hidden, p->files.n_stuck);
		s.n_lost = SP_MAX(s.n_lost, p->n_lost);
		if (!*s.left_out)
			sp_probe_unlooked_text(&p->left_out, s.left_out);
		s.n_gone = SP_MAX(s.n_gone, p->n_gone);
		s.n_failed = SP_MAX(s.n_failed, p->n_failed);
		s.failure = s.failure ? s.failure : p->failure;
	}
	*ret_stats = s;
}
