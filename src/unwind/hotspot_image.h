/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hotspot_image.h: a copy of the process memory needed to step through HotSpot's code.
 *
 * Whoever walks a stack later reads from the image what hotspot.h reads of a process: where the code cache is, what the
 * blobs of the places given say, and the bytes of code before each, which tell whether a call ends there. What the
 * process has there now need not be what it had when the stack was taken, so an image is made soon. It is lines of 64
 * bytes, at multiples of that, rising. The memory and an image that another process has made may be hostile; an image
 * has SP_IMAGE_MAX_LINES at most. Whoever made it frees it. -ENOMEM, -EBADMSG.
 */
#ifndef SP_UNWIND_HOTSPOT_IMAGE_H
#define SP_UNWIND_HOTSPOT_IMAGE_H

#include "bpf/wire.h"
#include "unwind/x86_64/jit.h"

enum { SP_IMAGE_LINE = 64, SP_IMAGE_MAX_LINES = 1 << 14 };

struct sp_image_line {
	uint64_t at;
	uint8_t bytes[SP_IMAGE_LINE];
};
struct sp_image {
	struct sp_image_line *lines;
	size_t n;
};

/* places: addresses in code, or that it may return to. The first n_leaves are leaves: the code around them is wanted.
 */
int sp_hotspot_image(const struct sp_jit_memory *m, const struct sp_hotspot *h, const uint64_t *places, size_t n,
		     size_t n_leaves, struct sp_image *ret_image);
/* An image of these bytes, which it owns from then on; -EBADMSG: they are none. */
int sp_image_from(void *bytes, size_t size, struct sp_image *ret_image);
/* 0, or -1: not all of it is there. */
int sp_image_read(const struct sp_image *image, uint64_t addr, void *ret, size_t n);

#endif
