/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * hotspot_blob.h: finds the blob of HotSpot's (Java's) code cache that holds an address.
 *
 * HotSpot keeps its code as blobs in heaps. A heap has a map with one byte per segment: 0 begins a blob, 0xff is free,
 * any other is the distance to go back. A blob's head has its frame size, where its frames are complete, and where its
 * code begins. HotSpot exports the offsets of these fields for debuggers (gHotSpotVMStructs; unwind/runtime.c).
 * Both halves include this file, with hotspot.h; so does hotspot_image.c. The includer defines SP_WALK with a member
 * struct sp_hotspot_blob_info blob_info, and int sp_env_read() as in v8.h. Memory may be hostile, so walks are
 * bounded. Sources: HotSpot's memory/heap.cpp, code/codeBlob.hpp.
 */
#ifndef SP_UNWIND_HOTSPOT_BLOB_H
#define SP_UNWIND_HOTSPOT_BLOB_H

#include "unwind/step_types.h"

enum {
	SP_HOTSPOT_HOPS = 16, /* back through a heap's map, each of at most 254 segments */
	SP_HOTSPOT_FREE = 0xff,
	SP_HOTSPOT_MAX_LOG2 = 16,
};

SP_STEP_INLINE int sp_hotspot_word(SP_WALK *w, sp_u64 addr, sp_u64 *ret)
{
	return addr < 4096 || addr >= SP_USER_END || (addr & 7) || sp_env_read(w, addr, ret, 8) ? -1 : 0;
}

SP_STEP_INLINE int sp_hotspot_int(SP_WALK *w, sp_u64 addr, sp_u32 *ret)
{
	return addr < 4096 || addr >= SP_USER_END || (addr & 3) || sp_env_read(w, addr, ret, 4) ? -1 : 0;
}

/* The offset of this field in the process's HotSpot. */
SP_STEP_INLINE int sp_hotspot_offset(SP_WALK *w, struct sp_hotspot *h, sp_u32 field, sp_u32 below)
{
	sp_u64 value;

	if (sp_hotspot_word(w, h->at[field], &value) || value >= below)
		return -1;
	h->off[field] = value;
	return 0;
}

/* One heap of the cache. */
SP_STEP_INLINE int sp_hotspot_heap(SP_WALK *w, struct sp_hotspot *h, sp_u64 heap, struct sp_code_heap *ret)
{
	sp_u64 memory = heap + h->off[SP_HOTSPOT_MEMORY];

	if (sp_hotspot_word(w, memory + h->off[SP_HOTSPOT_LOW], &ret->low) ||
	    sp_hotspot_word(w, memory + h->off[SP_HOTSPOT_HIGH], &ret->high) ||
	    sp_hotspot_word(w, heap + h->off[SP_HOTSPOT_SEGMAP] + h->off[SP_HOTSPOT_LOW], &ret->map) ||
	    sp_hotspot_int(w, heap + h->off[SP_HOTSPOT_LOG2], &ret->log2))
		return -1;
	return ret->log2 <= SP_HOTSPOT_MAX_LOG2 && ret->low < ret->high && ret->high < SP_USER_END ? 0 : -1;
}

SP_STEP_INLINE int sp_hotspot_heaps(SP_WALK *w, struct sp_hotspot *h)
{
	sp_u64 list, items, heap;
	sp_u32 n, i;

	if (sp_hotspot_word(w, h->at[SP_HOTSPOT_HEAPS], &list) ||
	    sp_hotspot_int(w, list + h->off[SP_HOTSPOT_LEN], &n) ||
	    sp_hotspot_word(w, list + h->off[SP_HOTSPOT_DATA], &items) || !n || n > SP_HOTSPOT_MAX_HEAPS)
		return -1;
	for (i = 0; i < SP_HOTSPOT_MAX_HEAPS; i++) {
		if (i >= n)
			break;
		if (sp_hotspot_word(w, items + 8 * i, &heap) || sp_hotspot_heap(w, h, heap, &h->heap[i]))
			return -1;
	}
	return 0;
}

SP_STEP_INLINE int sp_hotspot_interpreter(SP_WALK *w, struct sp_hotspot *h)
{
	sp_u64 queue;
	sp_u32 bytes;

	if (sp_hotspot_word(w, h->at[SP_HOTSPOT_INTERPRETER], &queue) ||
	    sp_hotspot_word(w, queue + h->off[SP_HOTSPOT_STUBS], &h->interpreter) ||
	    sp_hotspot_int(w, queue + h->off[SP_HOTSPOT_STUBS_SIZE], &bytes))
		return -1;
	h->interpreter_bytes = bytes;
	return 0;
}

/* Reads the numbers that h->at leads to. 0: all are there; HotSpot writes them before it runs any Java code. */
SP_STEP_INLINE int sp_hotspot_open(SP_WALK *w, struct sp_hotspot *h)
{
	sp_u32 i;

	for (i = SP_HOTSPOT_LEN; i < SP_HOTSPOT_N_FIELDS; i++)
		if (sp_hotspot_offset(w, h, i, 4096))
			return -1;
	if (sp_hotspot_heaps(w, h) || sp_hotspot_interpreter(w, h))
		return -1;
	h->is_open = 1;
	return 0;
}

/* The number of the first segment of the blob that this segment is in, or -1. */
SP_STEP_INLINE sp_s64 sp_hotspot_begin(SP_WALK *w, const struct sp_code_heap *heap, sp_u64 segment)
{
	sp_u8 back = 1;
	sp_u32 i;

	for (i = 0; i < SP_HOTSPOT_HOPS && back; i++) {
		if (sp_env_read(w, heap->map + segment, &back, 1) || back == SP_HOTSPOT_FREE || back > segment)
			return -1;
		segment -= back;
	}
	return back ? -1 : (sp_s64)segment;
}

/* Reads the head of the blob at this address into the walk. */
SP_STEP_INLINE int sp_hotspot_head(SP_WALK *w, const struct sp_hotspot *h, sp_u64 blob, sp_u64 pc)
{
	struct sp_hotspot_blob_info *m = &w->blob_info;
	sp_u32 size;
	sp_u16 half;

	if (sp_hotspot_int(w, blob + h->off[SP_HOTSPOT_SIZE], &size) || pc - blob >= size ||
	    sp_hotspot_int(w, blob + h->off[SP_HOTSPOT_FRAME], &m->frame))
		return -1;
	if (h->flags & SP_HOTSPOT_SHORT_COMPLETE) {
		if (sp_env_read(w, blob + h->off[SP_HOTSPOT_COMPLETE], &half, 2))
			return -1;
		m->complete = (sp_u32)(sp_s32)(sp_s16)half;
	} else if (sp_hotspot_int(w, blob + h->off[SP_HOTSPOT_COMPLETE], &m->complete)) {
		return -1;
	}
	if (!(h->flags & SP_HOTSPOT_CODE_OFFSET))
		return sp_hotspot_word(w, blob + h->off[SP_HOTSPOT_CODE], &m->code);
	if (sp_hotspot_int(w, blob + h->off[SP_HOTSPOT_CODE], &size))
		return -1;
	m->code = blob + size;
	return 0;
}

/* The blob that pc is in, into w->blob_info. 0 or -1. */
SP_STEP_INLINE int sp_hotspot_blob(SP_WALK *w, const struct sp_hotspot *h, sp_u64 pc)
{
	struct sp_code_heap heap = {0};
	sp_s64 segment;
	sp_u32 i;

	for (i = 0; i < SP_HOTSPOT_MAX_HEAPS; i++)
		if (pc >= h->heap[i].low && pc < h->heap[i].high)
			heap = h->heap[i];
	if (!heap.high)
		return -1;
	segment = sp_hotspot_begin(w, &heap, (pc - heap.low) >> (heap.log2 & 31));
	if (segment < 0)
		return -1;
	return sp_hotspot_head(w, h, heap.low + ((sp_u64)segment << (heap.log2 & 31)) + h->off[SP_HOTSPOT_BLOCK], pc);
}

#endif
