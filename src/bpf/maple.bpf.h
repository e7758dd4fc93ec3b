/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * maple.bpf.h: one step down a maple tree (lib/maple_tree.c describes the nodes), in which a process's mappings are.
 *
 * A node word holds the node's address (aligned to 256) and, in bits 3 to 6, its type. The first pivot that is not
 * below the address picks the slot; 0 ends a part-filled node's pivots.
 */
#ifndef SP_BPF_MAPLE_BPF_H
#define SP_BPF_MAPLE_BPF_H

#include "bpf/compat.bpf.h"

enum { SP_MAPLE_LEAF = 1, SP_MAPLE_RANGE = 2, SP_MAPLE_ARANGE = 3, SP_MAPLE_LEVELS = 8, SP_MAPLE_PIVOTS = 15 };
enum { SP_MAPLE_WORDS = 32 }; /* of a node */

struct sp_node_shape {
	sp_u32 n_pivots, slots; /* of words in the node */
};

static __always_inline struct sp_node_shape sp_node_shape_of(sp_u64 node)
{
	struct sp_node_shape shape;

	if (((node >> 3) & 0xf) == SP_MAPLE_ARANGE) {
		shape.n_pivots = bpf_core_field_size(struct maple_node, ma64.pivot) / 8;
		shape.slots = bpf_core_field_offset(struct maple_node, ma64.slot) / 8;
	} else {
		shape.n_pivots = bpf_core_field_size(struct maple_node, mr64.pivot) / 8;
		shape.slots = bpf_core_field_offset(struct maple_node, mr64.slot) / 8;
	}
	return shape;
}

static __always_inline sp_u64 sp_node_word(int by_cast, const sp_u64 *words, sp_u64 at, sp_u32 i)
{
	return by_cast ? sp_kload_by(1, at + 8 * i) : words[i & (SP_MAPLE_WORDS - 1)];
}

/* words: to read the node into where there are no casts. Gives 0 with *ret_last = 0 where the node is dead. */
static __always_inline sp_u64 sp_node_slot_by(int by_cast, sp_u64 *words, sp_u64 node, sp_u64 addr, sp_u64 *ret_last)
{
	struct sp_node_shape shape = sp_node_shape_of(node);
	sp_u64 at = node & ~0xffULL, pivot = 0;
	sp_u32 i;

	if (!by_cast)
		bpf_probe_read_kernel(words, SP_MAPLE_WORDS * sizeof(*words), (void *)at);
	if ((sp_node_word(by_cast, words, at, 0) & ~0xffULL) == at) {
		*ret_last = 0;
		return 0;
	}
	for (i = 0; i < SP_MAPLE_PIVOTS; i++) {
		if (i >= shape.n_pivots)
			break;
		pivot = sp_node_word(by_cast, words, at, 1 + i);
		if (pivot >= addr || (!pivot && i))
			break;
	}
	if (i < shape.n_pivots && pivot >= addr)
		*ret_last = pivot;
	return sp_node_word(by_cast, words, at, shape.slots + i);
}

#endif
