/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_walk.h: the surroundings of unwind/step.h, x86_64/v8.h and x86_64/hotspot.h over memory that is made up.
 *
 * Included before them. All memory is one array at BASE: code, stack, variables. Every read is checked and counted, so
 * that with the sanitizers nothing is read that is not there. No unwind tables. One thread.
 */
#ifndef SP_TESTS_MADE_WALK_H
#define SP_TESTS_MADE_WALK_H

#include "unwind/hotspot_image.h"
#include "unwind/step_types.h"
#include <stddef.h>
#include <string.h>

enum { MEMORY = 1 << 16 };
#define BASE 0x10000ULL

struct walk {
	sp_u8 memory[MEMORY]; /* at BASE */
	sp_u8 code[SP_CODE_BYTES];
	struct sp_hotspot_blob_info blob_info;
	unsigned n_reads;
	const struct sp_image *image; /* what is not the stack is read from it; NULL: from memory */
};
#define SP_WALK struct walk
#define sp_opaque(x) ((void)0)

static int memory_read(struct walk *w, sp_u64 addr, void *ret, sp_u32 n)
{
	if (addr < BASE || addr - BASE >= MEMORY || MEMORY - (addr - BASE) < n)
		return -1;
	memcpy(ret, w->memory + (addr - BASE), n);
	return 0;
}
static int sp_env_read(struct walk *w, sp_u64 addr, void *ret, sp_u32 n)
{
	w->n_reads++;
	return w->image ? sp_image_read(w->image, addr, ret, n) : memory_read(w, addr, ret, n);
}
static int sp_env_stack(struct walk *w, sp_u64 addr, sp_u64 *ret)
{
	w->n_reads++;
	return memory_read(w, addr, ret, 8);
}
static inline int sp_env_around(struct walk *w, sp_u64 ip)
{
	return sp_env_read(w, ip - SP_CODE_BEFORE, w->code, sizeof(w->code));
}
static int sp_env_code(struct walk *w, sp_u64 addr, sp_u8 *ret)
{
	return sp_env_read(w, addr, ret, 8);
}
static const struct sp_segment *sp_env_segment(struct walk *w, sp_u32 word)
{
	(void)w;
	(void)word;
	return NULL;
}
static int sp_env_is_return(struct walk *w, sp_u64 addr)
{
	sp_u8 code[8];
	return !sp_env_read(w, addr - 8, code, 8) && sp_ends_in_call(code);
}

static void put(struct walk *w, sp_u64 at, sp_u64 value) /* at: from BASE on */
{
	memcpy(w->memory + at, &value, 8);
}

#endif
