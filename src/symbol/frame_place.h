/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame_place.h: frames of a profile with their places, in the order in which they are looked up.
 *
 * All frames of a file stand together, by offset. Frames are distinct by flags, too: two may lie at one offset. Private
 * to the layer. No state, no errors; reentrant.
 */
#ifndef SP_SYMBOL_FRAME_PLACE_H
#define SP_SYMBOL_FRAME_PLACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct sp_frame_place {
	uint32_t file, frame;
	uint64_t offset; /* of a kernel frame: the whole address */
};

static inline int sp_frame_place_compare(const void *a, const void *b)
{
	const struct sp_frame_place *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static inline void sp_frame_places_sort(struct sp_frame_place *places, size_t n)
{
	if (n)
		qsort(places, n, sizeof(*places), sp_frame_place_compare);
}

#endif
