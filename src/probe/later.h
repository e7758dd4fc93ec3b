/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * later.h: files that appear while probes are on: a library that is upgraded, or that a container brings along, is
 * known from its first mapping on.
 *
 * What processes map from now on (probe/watch.h) and could be meant by one of the names is opened and identified by
 * workers, each file once. If the process that mapped it has ended by then, it is opened through another one that
 * has mapped it. Each user has a share of the workers' CPU time for this (base/share.h), since he may map new files
 * without end: above it his new files are left out, which is counted, until a later mapping of theirs finds it paid.
 * Names are the caller's and outlive it. The workers end first: each job is answered or cancelled by then. 0 or a
 * negative errno with sp_error_text(). One thread.
 */
#ifndef SP_PROBE_LATER_H
#define SP_PROBE_LATER_H

#include <stddef.h>
#include <stdint.h>

struct sp_probe_file;
struct sp_probe_later;
struct sp_probe_name;
struct sp_workers;

struct sp_probe_later_options {
	const unsigned *cpus;
	size_t n_cpus;
	const uint32_t *pids; /* what these map alone; none: all. The caller's, who keeps them */
	size_t n_pids;
	/*
	 * A file that could be meant; take() moves it out, and leaves an empty one with fd -1. r < 0, with
	 * sp_error_text(): it could not be looked at, and only its dev and ino are known; -ESRCH: all that had it
	 * have ended. path: as it was mapped.
	 */
	void (*take)(void *arg, int r, const char *path, struct sp_probe_file *file);
	void *arg;
};

/* From here on no mapping is missed, so it comes before the names' files are looked for. */
int sp_probe_later_new(const struct sp_probe_later_options *o, struct sp_probe_later **ret_later);
int sp_probe_later_add(struct sp_probe_later *l, const struct sp_probe_name *name);
int sp_probe_later_fd(const struct sp_probe_later *l); /* readable when something was mapped */
/* Takes in what was mapped; files come from sp_workers_dispatch(). */
int sp_probe_later_turn(struct sp_probe_later *l, struct sp_workers *w);
uint64_t sp_probe_later_n_lost(const struct sp_probe_later *l); /* mappings that were not seen */
/* What else a file of this user (sp_probe_file.user) has cost: to find in it where probes go. */
void sp_probe_later_took(struct sp_probe_later *l, uint64_t user, uint64_t cpu_ns);
struct sp_probe_unlooked {
	uint64_t n;    /* mappings of new files that were left out */
	uint64_t user; /* the last whose they were; SP_PROBE_NO_USER: of processes that had ended */
};
#define SP_PROBE_NO_USER UINT64_MAX
struct sp_probe_unlooked sp_probe_later_unlooked(const struct sp_probe_later *l);
enum { SP_PROBE_UNLOOKED_TEXT = 160 };
void sp_probe_unlooked_text(const struct sp_probe_unlooked *l, char ret_text[SP_PROBE_UNLOOKED_TEXT]); /* "" = none */
void sp_probe_later_free(struct sp_probe_later *l); /* NULL is nothing */

#endif
