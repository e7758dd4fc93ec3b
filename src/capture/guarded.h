/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guarded.h: does to a session's events what its guard decides (guard.h). Private to src/capture.
 *
 * A session without a budget, or in which every event has a rate, has none (c->guarded is NULL): then all of this does
 * nothing, and the kernel half has no code for it. 0 or a negative errno with sp_error_text().
 */
#ifndef SP_CAPTURE_GUARDED_H
#define SP_CAPTURE_GUARDED_H

#include "capture/guard.h"

struct sp_capture;

int sp_guarded_open(struct sp_capture *c); /* once the programs are loaded, before they are attached */
/* Looks at the costs, if it is time, and does what has to be done. Not while the profile is closed. */
int sp_guarded_look(struct sp_capture *c);
uint64_t sp_guarded_next_ns(const struct sp_capture *c); /* CLOCK_MONOTONIC of the next look; UINT64_MAX = never */
void sp_guarded_stats(struct sp_capture *c);             /* c->stats.n_over_budget */
void sp_guarded_done(struct sp_capture *c);
/* drain.c: counts a recipe's open episodes up to now, and removes them. */
int sp_drain_episodes_end(struct sp_capture *c, unsigned recipe, uint64_t now_ns);

#endif
