/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks.h: the allocations that a session holds until they are freed, one by one.
 *
 * Where all are sampled, these are all that live; else those that were drawn. Blocks that are too young to count
 * (sp_capture_options.older_ns) are left out. They may be asked for while the session runs, and after its end until it
 * is freed; what is allocated or freed meanwhile may be there or not. The list is the caller's. Only the kernel half,
 * with a recipe of allocations. 0 or a negative errno with sp_error_text().
 */
#ifndef SP_CAPTURE_BLOCKS_H
#define SP_CAPTURE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

struct sp_capture;

struct sp_capture_block {
	uint64_t address, bytes; /* bytes: of the block itself, also where it stands for several */
	uint32_t process;        /* as the first pid namespace has it */
};
/* The smallest first. */
int sp_capture_blocks(const struct sp_capture *c, struct sp_capture_block **ret_blocks, size_t *ret_n);

#endif
