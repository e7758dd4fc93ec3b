/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_priv.h: a probe (probe.h), as four files know it: probe.c, which looks for its places, and attaches them;
 * probe_stats.c, which sums up what there is to tell of it; probe_watch.c, which finds it files that come later; and
 * marks.c, which knows of the arguments of marks.
 *
 * It owns its files, their places and its texts. No errors. Private to src/recipe.
 */
#ifndef SP_RECIPE_PROBE_PRIV_H
#define SP_RECIPE_PROBE_PRIV_H

#include "base/intern.h"
#include "probe/attach.h"
#include "probe/file.h"
#include "probe/later.h"
#include "probe/usdt.h"
#include "recipe/probe.h"

struct places { /* of one file */
	uint64_t *offsets, *semaphores;
	uint64_t *cookies;     /* of marks whose arguments are read: a number of the probe's; else NULL */
	struct sp_usdts marks; /* if it is a mark that is probed: the places, in the same order */
	size_t n, capacity, semaphores_capacity, n_refused;
	struct sp_probe_link link;
	bool is_attached, is_later; /* is_later: the file appeared while probes were on */
};
struct sp_recipe_probe {
	struct sp_probe_asked asked; /* of one that is put: what it is, as the library */
	bool returns, is_put, by_session;
	uint8_t arguments; /* that expressions read, a bit each */
	bool is_looked;    /* the files were looked through */
	/* Of marks: */
	uint16_t wanted;         /* which arguments expressions read, a bit each */
	struct sp_intern *marks; /* numbers where these are, a struct sp_mark_place; NULL: nowhere yet */
	uint64_t *mark_users; /* of each: who mapped the first file that has it; 0 also of those from the beginning */
	size_t mark_users_capacity;
	int front;     /* the map of the program in which it finds them; -1: there is none yet */
	char *unclear; /* why the note of one makes no sense */
	struct sp_probe_files files;
	struct places *places; /* of each of them */
	size_t places_capacity;
	size_t n_places, n_stepped, n_refused, n_gone;
	uint64_t n_lost;
	struct sp_probe_unlooked left_out;
	int program; /* it is attached to; -1: none */
	pid_t only;
	struct sp_broker *broker;
	struct sp_recipe_watch *watch; /* that began before its files were looked for; NULL: none did */
	size_t n_failed;
	char *failure; /* of the first of these */
};

/* --- probe_stats.c --- */
/* Counts a file that failed; of the first of them why is told. */
void sp_recipe_probe_note(struct sp_recipe_probe *probe, const char *path, const char *why);

#endif
