/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_watch.h: a session's probes in files that appear while it runs: a library that is upgraded, or that a container
 * brings along, is probed from its first mapping on.
 *
 * What could be meant (probe/later.h) gets places and is attached (recipe/probe.h). The probes are the caller's and
 * outlive it, as the workers do not: they answer, or say that they are cancelled, before. What fails costs its own file
 * alone, and is told by the probe. 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_RECIPE_PROBE_WATCH_H
#define SP_RECIPE_PROBE_WATCH_H

#include <stddef.h>

struct sp_recipe_probe;
struct sp_recipe_watch;
struct sp_workers;

int sp_recipe_watch_new(const unsigned *cpus, size_t n_cpus, struct sp_recipe_watch **ret_watch);
int sp_recipe_watch_add(struct sp_recipe_watch *w, struct sp_recipe_probe *probe);
int sp_recipe_watch_fd(const struct sp_recipe_watch *w);
/* Takes in what has been mapped. Mappings that were not seen are told to the probes (sp_recipe_probe_lost()). */
int sp_recipe_watch_turn(struct sp_recipe_watch *w, struct sp_workers *workers);
void sp_recipe_watch_free(struct sp_recipe_watch *w);

#endif
