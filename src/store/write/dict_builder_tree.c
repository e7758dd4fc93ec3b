/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "store/write/dict_builder_priv.h"

enum { SLOTS_MIN = 1024 };

int sp_dict_builder_make_tree(struct sp_dict_builder *n)
{
	n->n_slots = n->n_pair_slots = n->nodes_capacity = SLOTS_MIN;
	n->slots = calloc(n->n_slots, sizeof(*n->slots));
	n->pairs = calloc(n->n_pair_slots, sizeof(*n->pairs));
	n->nodes = calloc(n->nodes_capacity, sizeof(*n->nodes));
	return n->slots == NULL || n->pairs == NULL || n->nodes == NULL ? -ENOMEM : 0;
}

bool sp_dict_builder_is_full(const struct sp_dict_builder *n)
{
	return n->n[SP_NODES] > SP_NODE_MASK / 8 * 7;
}

/* Any number of slots will do: the hash's upper half is spread over them. */
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

static int grow_slots(struct sp_dict_builder *n)
{
	size_t n_slots = n->n_slots + n->n_slots / 4;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	for (uint32_t node = 1; node < n->n[SP_NODES]; node++)
		if (n->nodes[node].parent + 1 != node)
			put_slot(slots, n_slots, sp_pair_hash(n->nodes[node].parent, n->nodes[node].frame), node);
	free(n->slots);
	n->slots = slots;
	n->n_slots = n_slots;
	return 0;
}

static int grow_pairs(struct sp_dict_builder *n)
{
	size_t n_slots = n->n_pair_slots * 2, mask = n_slots - 1;
	struct sp_frame_pair *pairs = calloc(n_slots, sizeof(*pairs));

	if (pairs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n->n_pair_slots; i++) {
		size_t at = sp_pair_hash(n->pairs[i].of, n->pairs[i].frame) >> 32 & mask;
		if (n->pairs[i].rank1 == 0)
			continue;
		while (pairs[at].rank1 != 0)
			at = (at + 1) & mask;
		pairs[at] = n->pairs[i];
	}
	free(n->pairs);
	n->pairs = pairs;
	n->n_pair_slots = n_slots;
	return 0;
}

/* Where the pair is or belongs. */
static struct sp_frame_pair *pair_of(struct sp_dict_builder *n, uint32_t of, uint32_t frame)
{
	size_t mask = n->n_pair_slots - 1, at = sp_pair_hash(of, frame) >> 32 & mask;

	while (n->pairs[at].rank1 != 0 && (n->pairs[at].of != of || n->pairs[at].frame != frame))
		at = (at + 1) & mask;
	return &n->pairs[at];
}

/* Room for one more; untouched room costs nothing, so it is not cleared. */
static int grow_nodes(struct sp_dict_builder *n)
{
	size_t capacity = n->nodes_capacity + n->nodes_capacity / 2;
	struct sp_node *nodes;

	if (n->n[SP_NODES] < n->nodes_capacity)
		return 0;
	nodes = n->n[SP_NODES] > SP_NODE_MASK - 1 ? NULL : reallocarray(n->nodes, capacity, sizeof(*nodes));
	if (nodes == NULL)
		return -ENOMEM;
	n->nodes = nodes;
	n->nodes_capacity = capacity;
	return 0;
}

static int64_t add_node(struct sp_dict_builder *n, uint32_t parent, uint32_t frame)
{
	uint32_t node = n->n[SP_NODES], of = n->nodes[parent].frame;

	if (grow_nodes(n) < 0 || (n->n_pairs + n->n_pairs / 4 >= n->n_pair_slots && grow_pairs(n) < 0))
		return -ENOMEM;
	struct sp_frame_pair *pair = pair_of(n, of, frame);
	bool fresh = pair->rank1 == 0;
	uint32_t rank = fresh ? sp_words(&n->n_after)[of] : pair->rank1 - 1;
	int r = sp_chunk_add_node(&n->pending, node - parent, rank << 1 | fresh, frame);
	if (r < 0)
		return r;
	if (fresh) {
		*pair = (struct sp_frame_pair){of, frame, rank + 1};
		n->n_pairs++;
		sp_words(&n->n_after)[of]++;
	}
	n->nodes[node] = (struct sp_node){parent, frame};
	n->n[SP_NODES]++;
	return node;
}

/* A node that comes right behind its parent needs no slot: it is looked for there. Most are such, since a stack's own
 * end is numbered in one go. */
int64_t sp_dict_builder_child(struct sp_dict_builder *n, int64_t parent, int64_t frame)
{
	if (parent < 0 || frame < 0)
		return parent < 0 ? parent : frame;
	const struct sp_node *next = &n->nodes[parent + 1];
	if (parent + 1 == n->n[SP_NODES])
		return add_node(n, (uint32_t)parent, (uint32_t)frame);
	if (next->parent == parent && next->frame == frame)
		return parent + 1;
	if (n->n_slotted + n->n_slotted / 6 >= n->n_slots && grow_slots(n) < 0)
		return -ENOMEM;
	uint64_t hash = sp_pair_hash((uint32_t)parent, (uint32_t)frame);
	size_t at = slot_of(hash, n->n_slots);
	for (; n->slots[at] != 0; at = at + 1 == n->n_slots ? 0 : at + 1) {
		uint32_t node = n->slots[at] & SP_NODE_MASK;
		if (n->slots[at] == slot_word(hash, node) && n->nodes[node].parent == parent &&
		    n->nodes[node].frame == frame)
			return node;
	}
	int64_t node = add_node(n, (uint32_t)parent, (uint32_t)frame);
	if (node > 0) {
		n->slots[at] = slot_word(hash, (uint32_t)node);
		n->n_slotted++;
	}
	return node;
}

/* --- many paths at a time -------------------------------------------------------------------------------------------
 * Each step of a walk waits for memory twice: the slot, then the node. Several paths are walked at a time, so that they
 * wait together.
 */
struct walker {
	struct sp_path *path; /* how far it has come */
	size_t slot;
	uint64_t hash;
	bool at_slot;
};

/* The tree has no more of it: what follows are new pairs, or nodes that another path is just about to add. */
static void ask_for_pairs(const struct sp_dict_builder *n, const struct sp_path *path)
{
	size_t mask = n->n_pair_slots - 1;

	for (uint32_t i = SP_MAX(path->depth, 1U); i < path->n; i++)
		__builtin_prefetch(&n->pairs[sp_pair_hash(path->frames[i - 1], path->frames[i]) >> 32 & mask]);
}

/* Asks for the slot of the next frame that is not found beside its parent; false: the walk ends. */
static bool walker_ask(const struct sp_dict_builder *n, struct walker *w)
{
	struct sp_path *p = w->path;

	for (; p->depth < p->n; p->depth++) {
		const struct sp_node *next = &n->nodes[p->node + 1];
		if (p->node + 1 < n->n[SP_NODES] && next->parent == p->node && next->frame == p->frames[p->depth]) {
			p->node++;
			continue;
		}
		w->hash = sp_pair_hash(p->node, p->frames[p->depth]);
		w->slot = slot_of(w->hash, n->n_slots);
		__builtin_prefetch(&n->slots[w->slot]);
		w->at_slot = true;
		return true;
	}
	return false;
}

/* The slot has come, or the node. */
static bool walker_step(const struct sp_dict_builder *n, struct walker *w)
{
	uint32_t slot = n->slots[w->slot], node = slot & SP_NODE_MASK;
	struct sp_path *p = w->path;

	if (slot == 0) {
		ask_for_pairs(n, p);
		return false;
	}
	if (slot != slot_word(w->hash, node)) {
		w->slot = w->slot + 1 == n->n_slots ? 0 : w->slot + 1;
		return true;
	}
	if (w->at_slot) {
		__builtin_prefetch(&n->nodes[node]);
		w->at_slot = false;
		return true;
	}
	if (n->nodes[node].parent == p->node && n->nodes[node].frame == p->frames[p->depth]) {
		p->node = node;
		p->depth++;
		return walker_ask(n, w);
	}
	w->slot = w->slot + 1 == n->n_slots ? 0 : w->slot + 1;
	w->at_slot = true;
	return true;
}

void sp_dict_builder_find(const struct sp_dict_builder *n, struct sp_path *const *paths, size_t n_paths)
{
	struct walker walkers[SP_PATHS];
	size_t left = 0;

	for (size_t i = 0; i < n_paths && i < SP_PATHS; i++) {
		paths[i]->depth = paths[i]->node = 0;
		walkers[left] = (struct walker){.path = paths[i]};
		left += walker_ask(n, &walkers[left]);
	}
	while (left > 0)
		for (size_t i = 0; i < left;) {
			if (walker_step(n, &walkers[i]))
				i++;
			else
				walkers[i] = walkers[--left];
		}
}
