/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lasting.h: a session that goes on for ever, as part of somebody's event loop (one that ends has sp_capture_run()).
 *
 * After sp_capture_start(): poll the descriptors of sp_capture_fds() for reading, call sp_capture_step() when one is
 * ready and when sp_capture_next_ns() has come; sp_capture_window() when a window is to end, which brings all that was
 * sampled into the profile. The caller then takes the rows out of the profile (profile/window.h).
 * What a profile interns stays in it, so it is closed from time to time, and either replaced by a new profile or
 * renewed (profile/window.h): sp_capture_close() is a window's end after which nothing more comes into the old profile;
 * names may be asked for, and nothing else be called, until sp_capture_renew() gives the new one. Sampling stops for
 * some ms meanwhile (the kernel half forgets which stacks and processes it has sent), and files that were not in use
 * for long are forgotten: their descriptors closed, their numbers given to others. A file that is met again is
 * announced again. Only sessions of the kernel half (SP_BACKEND_BPF). One thread. 0 or a negative errno with
 * sp_error_text().
 */
#ifndef SP_CAPTURE_LASTING_H
#define SP_CAPTURE_LASTING_H

#include "capture/capture.h"

enum { SP_CAPTURE_MAX_FDS = 4 };

/* How many there are; they stay the same. */
size_t sp_capture_fds(const struct sp_capture *c, int ret_fds[SP_CAPTURE_MAX_FDS]);
/* By CLOCK_MONOTONIC. */
uint64_t sp_capture_next_ns(const struct sp_capture *c);
int sp_capture_step(struct sp_capture *c);
int sp_capture_window(struct sp_capture *c);

/* Samples wait for a table: they would be cut if the profile were closed now. */
bool sp_capture_is_waiting(const struct sp_capture *c);
/* Files are being opened and identified: what they are called, and their build ids, are not known yet. */
bool sp_capture_is_identifying(const struct sp_capture *c);
struct sp_capture_keep {
	size_t max_files;   /* at most so many are kept, those used last */
	uint32_t n_windows; /* and none that was not used in so many drains of the counts */
};
int sp_capture_close(struct sp_capture *c, const struct sp_capture_keep *keep);
/* The old profile is still needed here, and the caller's afterwards; or it is the fresh one, renewed (window.h). */
int sp_capture_renew(struct sp_capture *c, struct sp_profile *fresh);

/* From now on, in thousandths of a sample a second: the clock's period; of other events the frequency, at least 1. */
int sp_capture_rate(struct sp_capture *c, uint64_t rate_millihertz);

/* What the session holds. */
struct sp_capture_size {
	size_t n_files;      /* known now */
	size_t n_ids;        /* of the kernel half's numbers of files, how many were ever given (SP_MAX_FILES) */
	size_t memory_bytes; /* of the user half's own numbers; neither the profile nor the tables */
	uint64_t n_forgotten, n_renewals;
	uint64_t paused_ns; /* time that was not sampled, since the start, for renewals */
};
void sp_capture_size(const struct sp_capture *c, struct sp_capture_size *ret_size);
/* Brings the counters of sp_capture_stats() up to date; with_memory: and the bytes, which takes a ms. */
void sp_capture_look(struct sp_capture *c, bool with_memory);

#endif
