/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * segments.h: the array of maps through which the kernel half reaches the segments of unwind tables (tables.h), with
 * its first segment.
 *
 * To put a map into an array of maps takes a grace period of 10 to 30 ms, in which the caller does nothing but wait. So
 * the array is made before the BPF programs are loaded, and its first segment put in place by a thread meanwhile. The
 * structure stays where it is until sp_segments_done(). Negative errno with sp_error_text().
 */
#ifndef SP_UNWIND_SEGMENTS_H
#define SP_UNWIND_SEGMENTS_H

#include "base/aside.h"
#include <stdint.h>

struct sp_segments {
	int maps_fd, first_fd; /* the array of maps; the first segment, -1: it was taken */
	int failure;           /* of putting it in place: a negative errno */
	struct sp_aside placing;
};

uint32_t sp_segments_most(uint64_t budget_bytes); /* that so much memory allows: 1 to SP_MAX_SEGS */
int sp_segments_begin(struct sp_segments *s, uint64_t budget_bytes);
int sp_segments_first(struct sp_segments *s, int *ret_fd); /* once it is in place; the descriptor is the caller's */
void sp_segments_done(struct sp_segments *s);

/* The array of a segment, in which a program of the kernel half can read and the user half write: a descriptor. */
int sp_segment_make(uint32_t bytes);

#endif
