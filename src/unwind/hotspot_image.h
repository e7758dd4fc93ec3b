/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hotspot_image.h: a copy of the process memory needed to step through HotSpot's code.
 *
 * A later walk reads from the image what hotspot.h reads from a process: the code cache, the blobs at the given
 * addresses, and the bytes before each address, which show whether a call ends there. The process goes on and changes
 * its memory, so images are made soon after the sample. An image is a sorted list of 64-byte lines, at most
 * SP_IMAGE_MAX_LINES. Memory, and images made by other processes, may be hostile. Whoever makes an image frees it.
 * -ENOMEM, -EBADMSG.
 */
#ifndef SP_UNWIND_HOTSPOT_IMAGE_H
#define SP_UNWIND_HOTSPOT_IMAGE_H

#include "bpf/wire.h"
#include "unwind/arch.h"

enum { SP_IMAGE_LINE = 64, SP_IMAGE_MAX_LINES = 1 << 14 };

struct sp_image_line {
	uint64_t at;
	uint8_t bytes[SP_IMAGE_LINE];
};
struct sp_image {
	struct sp_image_line *lines;
	size_t n;
};

/*
 * places: addresses of code, or possible return addresses. The first n_leaves are leaves: the code around them is
 * copied.
 */
int sp_hotspot_image(const struct sp_jit_memory *m, const struct sp_hotspot *h, const uint64_t *places, size_t n,
		     size_t n_leaves, struct sp_image *ret_image);
/* Makes an image of these bytes and then owns them; -EBADMSG: they are none. */
int sp_image_from(void *bytes, size_t size, struct sp_image *ret_image);
/* 0, or -1: not all of it is there. */
int sp_image_read(const struct sp_image *image, uint64_t addr, void *ret, size_t n);

#endif
