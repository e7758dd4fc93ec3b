/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_slide.h: the sum of a lasting profile's last seconds.
 *
 * Each window's rows are taken out of the profile that sampling goes on into, and kept while they are in the span; the
 * sum is a new profile (merge.h). If no number of windows fills the span exactly, as few as cover it are used. Rows
 * refer to the profile that they came from, so each call gets the same one until sp_slide_settle(), after which it may
 * be replaced. Set the struct to zero except for span_ns. 0 or a negative errno; then the profile is unchanged and the
 * newest window may be missing. Not thread-safe.
 */
#ifndef SP_CMD_TOP_TOP_SLIDE_H
#define SP_CMD_TOP_TOP_SLIDE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/window.h"

struct sp_profile;

/* What is told of a window beside its rows, and of a sum of them. */
struct sp_slide_time {
	uint64_t duration_ns; /* sampled */
	uint64_t n_lost;      /* samples */
	uint64_t own_ns;      /* CPU time that the sampling itself took */
};

struct sp_slide_window {
	struct sp_profile_rows rows; /* of the profile; none: settled */
	struct sp_profile *settled;
	struct sp_slide_time time;
};

struct sp_slide {
	uint64_t span_ns;
	struct sp_slide_window *windows; /* oldest first */
	size_t n, capacity;
	struct sp_slide_time sum;
};

/* The window's rows leave the profile; windows that lie before the span go. */
int sp_slide_push(struct sp_slide *s, struct sp_profile *p, const struct sp_slide_time *time);
/* The profile's rows that are in no window yet stay in it, and out of the sum. */
int sp_slide_sum(const struct sp_slide *s, const struct sp_profile *p, struct sp_profile **ret_sum);
/* No window needs the profile any more. */
int sp_slide_settle(struct sp_slide *s, const struct sp_profile *p);
void sp_slide_done(struct sp_slide *s);

#endif
