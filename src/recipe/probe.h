/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe.h: calls of functions as events, and places that a program's authors have marked, by the names that the user
 * gives them:
 *
 *   LIBRARY:FUNCTION       FUNCTION may be a glob; LIBRARY as in probe/file.h, also a program
 *   LIBRARY+0xADDRESS      where soprof shows a function without a name so
 *   usdt:LIBRARY:NAME, usdt:LIBRARY:PROVIDER:NAME
 *
 * Expressions know arg0 to arg5 and, when the call returns, retval; by sessions one argument with it; of marks the
 * arguments that these have, for which their files are looked for first. A name is made a point of a recipe, then, once
 * its expressions are known, the places are looked for in all files that are meant. The point's probe is the set's that
 * has the recipe. Errors: -EINVAL, -ENOENT and the like with sp_error_text().
 */
#ifndef SP_RECIPE_PROBE_H
#define SP_RECIPE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_broker;
struct sp_recipe_point;
struct sp_recipe_probe;
struct sp_recipe_watch;
struct sp_workers;

/* Whether the name is one of these, and no tracepoint's. */
bool sp_recipe_probe_is(const char *name);
int sp_recipe_probe_point(const char *name, struct sp_recipe_point *ret_point);
struct sp_fields;
/* What expressions may name. */
int sp_recipe_probe_fields(const struct sp_recipe_point *point, struct sp_fields *ret_fields);
/* may_session: the event will be a session's, where the kernel has them (sp_recipe_probe_by_session()). */
int sp_recipe_probe_find(struct sp_recipe_point *point, bool may_session);
/* Of a slot with SP_SLOT_MARK, before it is attached: the map `marks` of its program, which stays the caller's. */
int sp_recipe_probe_front(struct sp_recipe_probe *probe, int map);
unsigned sp_recipe_probe_least_ns(void); /* of one hit where the kernel emulates the first instruction */
unsigned sp_recipe_probe_most_ns(void);  /* where it does not */
unsigned sp_recipe_probe_trap_ns(const struct sp_recipe_probe *probe); /* of one hit, on average over the places */

struct sp_recipe_mark { /* a place of a mark, once its fields or places were found; texts are the probe's */
	const char *path, *provider, *name, *arguments;
	uint64_t offset;
};
/* False: there are no more. */
bool sp_recipe_probe_mark_at(const struct sp_recipe_probe *probe, size_t i, struct sp_recipe_mark *ret_mark);
/* The fields of those with this one's provider and name; NULL: of all. They are good until the next call. */
int sp_recipe_probe_mark_fields(struct sp_recipe_probe *probe, const struct sp_recipe_mark *like,
				struct sp_fields *ret_fields);

struct sp_probe_file;
struct sp_probe_later;
struct sp_probe_name;
struct sp_probe_point;
/*
 * A point whose places the caller has found, at calls' beginnings or ends, and puts there one after the other, those of
 * a file together; no files are looked for. what: as messages call it.
 */
int sp_recipe_probe_empty(const char *what, bool returns, struct sp_recipe_point *ret_point);
int sp_recipe_probe_put(struct sp_recipe_probe *probe, const struct sp_probe_file *file,
			const struct sp_probe_point *at);
/* A watch that began before its files are looked for, for who attaches it, and outlives it. NULL: none did. */
void sp_recipe_probe_watched(struct sp_recipe_probe *probe, struct sp_recipe_watch *watch);
struct sp_recipe_watch *sp_recipe_probe_watch(const struct sp_recipe_probe *probe);
/* Which files are meant; NULL: those that were put. */
const struct sp_probe_name *sp_recipe_probe_name(const struct sp_recipe_probe *probe);
/*
 * A file that has appeared: if it is meant a worker looks for such places in it, and it is attached where others are.
 * The file stays the caller's. What fails is counted, and why. later: is told what that cost.
 */
void sp_recipe_probe_add(struct sp_recipe_probe *probe, const struct sp_probe_file *file, struct sp_workers *w,
			 struct sp_probe_later *later);

/*
 * One that was mapped by this path could not be looked at, with sp_error_text(); -ESRCH: all that had it have ended.
 * Only its dev and ino are known.
 */
void sp_recipe_probe_failed(struct sp_recipe_probe *probe, int r, const char *path, const struct sp_probe_file *file);
/* How many mappings were not seen, and how many files left out, of whom the last one (probe/later.h). */
void sp_recipe_probe_lost(struct sp_recipe_probe *probe, const struct sp_probe_later *later);

/*
 * An event that is about what calls return, where the kernel has sessions: from now on its program is to be one
 * (SP_SLOT_SESSION). False: it is not, or has places that were put.
 */
bool sp_recipe_probe_by_session(struct sp_recipe_probe *probe);
/* program: of a front; only: for this process alone, 0 = all. Where it is attached already, nothing is done. */
int sp_recipe_probe_attach(struct sp_recipe_probe *probe, int program, pid_t only);
/* From now on it opens what this process may not. */
void sp_recipe_probe_broker(struct sp_recipe_probe *probe, struct sp_broker *broker);
void sp_recipe_probe_detach(struct sp_recipe_probe *probe);

/* Whether they are in one library, as the user named it. */
bool sp_recipe_probe_is_beside(const struct sp_recipe_probe *a, const struct sp_recipe_probe *b);
struct sp_recipe_probe_stats {
	const char *library; /* as the user named it */
	size_t n_places;
	size_t n_mapped;     /* files; 0: all wait for their first mapping */
	size_t n_later;      /* that appeared while it ran */
	size_t n_refused;    /* places where the kernel takes no breakpoint, though they were chosen */
	size_t n_unread;     /* files that could be meant, and cannot be opened */
	uint64_t n_hidden;   /* processes whose mappings could not be read */
	uint64_t n_lost;     /* mappings that were not seen */
	char left_out[160];  /* how many mappings of new files were not looked at, of whom; "" = none */
	size_t n_gone;       /* files that nobody had any more when they were to be looked at */
	size_t n_failed;     /* files that could not be searched or attached */
	const char *failure; /* of the first of these: its path, and why */
};
/* Of the first of n, and of those beside it: a file counts once. */
void sp_recipe_probe_stats(struct sp_recipe_probe *const *probes, size_t n, struct sp_recipe_probe_stats *ret_stats);
void sp_recipe_probe_free(struct sp_recipe_probe *probe); /* NULL is nothing */

#endif
