/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/write/dict_builder_priv.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOTS_MIN = 1024 };

int sp_dict_builder_init_tree(struct sp_dict_builder *builder)
{
	builder->n_slots = builder->n_pair_slots = builder->nodes_capacity = SLOTS_MIN;
	builder->slots = calloc(builder->n_slots, sizeof(*builder->slots));
	builder->pairs = calloc(builder->n_pair_slots, sizeof(*builder->pairs));
	builder->nodes = calloc(builder->nodes_capacity, sizeof(*builder->nodes));
	return !builder->slots || !builder->pairs || !builder->nodes ? -ENOMEM : 0;
}

bool sp_dict_builder_is_full(const struct sp_dict_builder *builder)
{
	return builder->next[SP_NODES] > SP_NODE_MASK / 8 * 7;
}

/* Maps the upper half of the hash to slots; n_slots need not be a power of two. */
static size_t slot_of(uint64_t hash, size_t n_slots)
{
	return (size_t)((hash >> 32) * n_slots >> 32);
}

static uint32_t slot_word(uint64_t hash, uint32_t node)
{
	return (uint32_t)hash << SP_NODE_BITS | node;
}

static void put_slot(uint32_t *slots, size_t n_slots, uint64_t hash, uint32_t node)
{
	size_t at = slot_of(hash, n_slots);

	while (slots[at] != 0)
		at = at + 1 == n_slots ? 0 : at + 1;
	slots[at] = slot_word(hash, node);
}

static int grow_slots(struct sp_dict_builder *builder)
{
	size_t n_slots = builder->n_slots + builder->n_slots / 4;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t node = 1; node < builder->next[SP_NODES]; node++)
		if (builder->nodes[node].parent + 1 != node)
			put_slot(slots, n_slots, sp_pair_hash(builder->nodes[node].parent, builder->nodes[node].frame),
				 node);
	free(builder->slots);
	builder->slots = slots;
	builder->n_slots = n_slots;
	return 0;
}

static int grow_pairs(struct sp_dict_builder *builder)
{
	size_t n_slots = builder->n_pair_slots * 2, mask = n_slots - 1;
	struct sp_frame_pair *pairs = calloc(n_slots, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	for (size_t i = 0; i < builder->n_pair_slots; i++) {
		size_t at = sp_pair_hash(builder->pairs[i].parent_frame, builder->pairs[i].frame) >> 32 & mask;
		if (builder->pairs[i].rank1 == 0)
			continue;
		while (pairs[at].rank1 != 0)
			at = (at + 1) & mask;
		pairs[at] = builder->pairs[i];
	}
	free(builder->pairs);
	builder->pairs = pairs;
	builder->n_pair_slots = n_slots;
	return 0;
}

/* The entry of the pair, or the free one for it. */
static struct sp_frame_pair *find_pair(struct sp_dict_builder *builder, uint32_t parent_frame, uint32_t frame)
{
	size_t mask = builder->n_pair_slots - 1, at = sp_pair_hash(parent_frame, frame) >> 32 & mask;

	while (builder->pairs[at].rank1 != 0 &&
	       (builder->pairs[at].parent_frame != parent_frame || builder->pairs[at].frame != frame))
		at = (at + 1) & mask;
	return &builder->pairs[at];
}

/* Not zeroed: pages that are not touched take no memory. */
static int grow_nodes(struct sp_dict_builder *builder)
{
	size_t capacity = builder->nodes_capacity + builder->nodes_capacity / 2;
	struct sp_node *nodes;

	if (builder->next[SP_NODES] < builder->nodes_capacity)
		return 0;
	nodes =
	    builder->next[SP_NODES] > SP_NODE_MASK - 1 ? NULL : reallocarray(builder->nodes, capacity, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	builder->nodes = nodes;
	builder->nodes_capacity = capacity;
	return 0;
}

static int64_t add_node(struct sp_dict_builder *builder, uint32_t parent, uint32_t frame)
{
	uint32_t node = builder->next[SP_NODES], parent_frame = builder->nodes[parent].frame;

	if (grow_nodes(builder) < 0 ||
	    (builder->n_pairs + builder->n_pairs / 4 >= builder->n_pair_slots && grow_pairs(builder) < 0))
		return -ENOMEM;
	struct sp_frame_pair *pair = find_pair(builder, parent_frame, frame);
	bool is_new = pair->rank1 == 0;
	uint32_t rank = is_new ? sp_items_words(&builder->n_successors)[parent_frame] : pair->rank1 - 1;
	int r = sp_chunk_add_node(&builder->pending, node - parent, rank << 1 | is_new, frame);
	if (r < 0)
		return r;
	if (is_new) {
		*pair = (struct sp_frame_pair){parent_frame, frame, rank + 1};
		builder->n_pairs++;
		sp_items_words(&builder->n_successors)[parent_frame]++;
	}
	builder->nodes[node] = (struct sp_node){parent, frame};
	builder->next[SP_NODES]++;
	return node;
}

/*
 * A node that directly follows its parent is found there, without a slot. Most nodes do, because the new end of a stack
 * is added at once.
 */
int64_t sp_dict_builder_add_child(struct sp_dict_builder *builder, int64_t parent, int64_t frame)
{
	if (parent < 0 || frame < 0)
		return parent < 0 ? parent : frame;
	const struct sp_node *next = &builder->nodes[parent + 1];
	if (parent + 1 == builder->next[SP_NODES])
		return add_node(builder, (uint32_t)parent, (uint32_t)frame);
	if (next->parent == parent && next->frame == frame)
		return parent + 1;
	if (builder->n_slotted + builder->n_slotted / 6 >= builder->n_slots && grow_slots(builder) < 0)
		return -ENOMEM;
	uint64_t hash = sp_pair_hash((uint32_t)parent, (uint32_t)frame);
	size_t at = slot_of(hash, builder->n_slots);
	for (; builder->slots[at] != 0; at = at + 1 == builder->n_slots ? 0 : at + 1) {
		uint32_t node = builder->slots[at] & SP_NODE_MASK;
		if (builder->slots[at] == slot_word(hash, node) && builder->nodes[node].parent == parent &&
		    builder->nodes[node].frame == frame)
			return node;
	}
	int64_t node = add_node(builder, (uint32_t)parent, (uint32_t)frame);
	if (node > 0) {
		builder->slots[at] = slot_word(hash, (uint32_t)node);
		builder->n_slotted++;
	}
	return node;
}

/* --- many paths at a time --- */
/* Each step waits for memory twice, for the slot and for the node. Several walks at a time make these waits overlap. */
struct walker {
	struct sp_path *path; /* how far it is */
	size_t slot;
	uint64_t hash;
	bool at_slot;
};

/* The path has left the tree: its other frames will be looked up as pairs. */
static void prefetch_pairs(const struct sp_dict_builder *builder, const struct sp_path *path)
{
	size_t mask = builder->n_pair_slots - 1;

	for (uint32_t i = SP_MAX(path->depth, 1U); i < path->n; i++)
		__builtin_prefetch(&builder->pairs[sp_pair_hash(path->frames[i - 1], path->frames[i]) >> 32 & mask]);
}

/* Prefetches the slot of the next frame that does not directly follow its parent; false: end of the path. */
static bool walker_prefetch(const struct sp_dict_builder *builder, struct walker *w)
{
	struct sp_path *p = w->path;

	for (; p->depth < p->n; p->depth++) {
		const struct sp_node *next = &builder->nodes[p->node + 1];
		if (p->node + 1 < builder->next[SP_NODES] && next->parent == p->node &&
		    next->frame == p->frames[p->depth]) {
			p->node++;
			continue;
		}
		w->hash = sp_pair_hash(p->node, p->frames[p->depth]);
		w->slot = slot_of(w->hash, builder->n_slots);
		__builtin_prefetch(&builder->slots[w->slot]);
		w->at_slot = true;
		return true;
	}
	return false;
}

/* One step, after the slot or the node was prefetched; false: end of the walk. */
static bool walker_step(const struct sp_dict_builder *builder, struct walker *w)
{
	uint32_t slot = builder->slots[w->slot], node = slot & SP_NODE_MASK;
	struct sp_path *p = w->path;

	if (slot == 0) {
		prefetch_pairs(builder, p);
		return false;
	}
	if (slot != slot_word(w->hash, node)) {
		w->slot = w->slot + 1 == builder->n_slots ? 0 : w->slot + 1;
		return true;
	}
	if (w->at_slot) {
		__builtin_prefetch(&builder->nodes[node]);
		w->at_slot = false;
		return true;
	}
	if (builder->nodes[node].parent == p->node && builder->nodes[node].frame == p->frames[p->depth]) {
		p->node = node;
		p->depth++;
		return walker_prefetch(builder, w);
	}
	w->slot = w->slot + 1 == builder->n_slots ? 0 : w->slot + 1;
	w->at_slot = true;
	return true;
}

void sp_dict_builder_find_paths(const struct sp_dict_builder *builder, struct sp_path *const *paths, size_t n_paths)
{
	struct walker walkers[SP_PATHS_AT_ONCE];
	size_t left = 0;

	for (size_t i = 0; i < n_paths && i < SP_PATHS_AT_ONCE; i++) {
		paths[i]->depth = paths[i]->node = 0;
		walkers[left] = (struct walker){.path = paths[i]};
		left += walker_prefetch(builder, &walkers[left]);
	}
	while (left > 0)
		for (size_t i = 0; i < left;) {
			if (walker_step(builder, &walkers[i]))
				i++;
			else
				walkers[i] = walkers[--left];
		}
}
