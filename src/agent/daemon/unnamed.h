/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unnamed.h: samples with frames that have no function yet: how many there are, and in which files.
 *
 * What a file's names are worth is how many samples want them. They are counted when a window ends, by the numbers of
 * the window's profile, and told to naming when names are asked for. Where memory is short nothing is counted, and the
 * file counts as one with few samples. Everything belongs to the caller's struct, zero at first. One thread.
 */
#ifndef SP_AGENT_DAEMON_UNNAMED_H
#define SP_AGENT_DAEMON_UNNAMED_H

#include <stddef.h>
#include <stdint.h>

struct sp_naming;
struct sp_profile;
struct sp_profile_rows;

struct sp_unnamed {
	uint64_t *met;     /* by file: samples that were not told yet */
	uint32_t *counted; /* by file: which row counted it last */
	size_t n_met, n_counted;
};

void sp_unnamed_count(struct sp_unnamed *u, const struct sp_profile *p); /* its rows */
void sp_unnamed_tell(struct sp_unnamed *u, struct sp_naming *naming);
uint64_t sp_unnamed_samples(const struct sp_profile *p, const struct sp_profile_rows *rows);
void sp_unnamed_done(struct sp_unnamed *u);

#endif
