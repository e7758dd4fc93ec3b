/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lasting.h: a session that has no end, as part of its caller's event loop (one that ends has sp_capture_run()).
 *
 * After sp_capture_start(): poll the descriptors of sp_capture_fds() for reading, and call sp_capture_step() when one
 * is ready and when the time of sp_capture_next_ns() has come. Call sp_capture_drain() to bring all that was sampled
 * into the profile. The caller then takes the rows out of the profile (profile/window.h).
 * What a profile interns stays in it, so it is closed from time to time, and either replaced by a new profile or
 * renewed (profile/window.h). sp_capture_close() drains it, after which nothing more comes into the old profile.
 * Until sp_capture_renew() gives the new one, names may be asked for, but nothing else may be called. In between,
 * sampling stops for some ms (the kernel half forgets which stacks and processes it has sent), and files that were not
 * in use for long are forgotten: their descriptors are closed, their numbers given to others. A forgotten file is
 * announced again when it is met again. Only sessions of the kernel half (SP_BACKEND_BPF). One thread. 0 or a negative
 * errno with sp_error_text().
 */
#ifndef SP_CAPTURE_LASTING_H
#define SP_CAPTURE_LASTING_H

#include "capture/capture.h"

enum { SP_CAPTURE_MAX_FDS = 5 };

/* Returns how many there are. They stay the same. */
size_t sp_capture_fds(const struct sp_capture *c, int ret_fds[SP_CAPTURE_MAX_FDS]);
/* When to call sp_capture_step() at the latest, by CLOCK_MONOTONIC. */
uint64_t sp_capture_next_ns(const struct sp_capture *c);
int sp_capture_step(struct sp_capture *c);
int sp_capture_drain(struct sp_capture *c);

/* Whether samples wait for a table: they would be cut if the profile were closed now. */
bool sp_capture_is_waiting(const struct sp_capture *c);
/* Whether files are being opened and identified: their names and build ids are not known yet. */
bool sp_capture_is_identifying(const struct sp_capture *c);
struct sp_capture_keep {
	size_t max_files;  /* how many are kept, those used last */
	uint32_t n_drains; /* a file that was not used in so many drains of the counts is not kept */
};
int sp_capture_close(struct sp_capture *c, const struct sp_capture_keep *keep);
/*
 * fresh: a new profile, or the old one, renewed (window.h). A replaced one is read here, and is the caller's
 * afterwards.
 */
int sp_capture_renew(struct sp_capture *c, struct sp_profile *fresh);

/* Sets the rate in thousandths of a sample a second: the period of a clock, else a frequency of at least 1 Hz. */
int sp_capture_rate(struct sp_capture *c, uint64_t rate_millihertz);

/* What the session holds. */
struct sp_capture_size {
	size_t n_files;      /* known now */
	size_t n_ids;        /* how many of the kernel half's file numbers were ever given (SP_MAX_FILES at most) */
	size_t memory_bytes; /* of what the user half knows, without the profile and the tables */
	uint64_t n_forgotten, n_renewals;
	uint64_t paused_ns; /* how long renewals have stopped sampling since the start */
};
void sp_capture_size(const struct sp_capture *c, struct sp_capture_size *ret_size);
/* Updates the counters of sp_capture_stats(); with_memory: and its bytes, which takes a ms. */
void sp_capture_look(struct sp_capture *c, bool with_memory);

#endif
