/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unnamed.h: counts samples with unnamed frames, by file.
 *
 * Files with many such samples are named first. They are counted at the end of a window, by file numbers of the
 * window's profile, and handed to naming before names are made. Without memory nothing is counted, and the file counts
 * as one with few samples. Everything belongs to the caller's struct, zero at first. One thread.
 */
#ifndef SP_AGENT_DAEMON_UNNAMED_H
#define SP_AGENT_DAEMON_UNNAMED_H

#include <stddef.h>
#include <stdint.h>

struct sp_naming;
struct sp_profile;
struct sp_profile_rows;

struct sp_unnamed {
	uint64_t *n_samples; /* by file: samples, not yet reported to naming */
	uint32_t *counted;   /* by file: the last row that was counted for it */
	size_t n_files, n_counted;
};

void sp_unnamed_count(struct sp_unnamed *u, const struct sp_profile *p); /* the profile's rows */
void sp_unnamed_report(struct sp_unnamed *u, struct sp_naming *naming);
uint64_t sp_unnamed_samples(const struct sp_profile *p, const struct sp_profile_rows *rows);
void sp_unnamed_done(struct sp_unnamed *u);

#endif
