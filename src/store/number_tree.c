/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "store/number_priv.h"

enum { SLOTS_MIN = 1024, NODE_BITS = 24 };
#define NODE_MASK ((1U << NODE_BITS) - 1)
#define MIXED (1U << 31)

int sp_numbering_make_tree(struct sp_numbering *n)
{
	n->n_slots = n->n_pair_slots = n->nodes_capacity = SLOTS_MIN;
	n->slots = calloc(n->n_slots, sizeof(*n->slots));
	n->pairs = calloc(n->n_pair_slots, sizeof(*n->pairs));
	n->nodes = calloc(n->nodes_capacity, sizeof(*n->nodes));
	return n->slots == NULL || n->pairs == NULL || n->nodes == NULL ? -ENOMEM : 0;
}

bool sp_numbering_is_full(const struct sp_numbering *n)
{
	return n->n[SP_NODES] > NODE_MASK / 8 * 7;
}

static uint64_t hash_of(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);

	return (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Any number of slots will do: the hash's upper half is spread over them. */
static size_t slot_of(uint64_t hash, size_t n_slots)
{
	return (size_t)((hash >> 32) * n_slots >> 32);
}

static uint32_t slot_word(uint64_t hash, uint32_t node)
{
	return (uint32_t)hash << NODE_BITS | node;
}

static void put_slot(uint32_t *slots, size_t n_slots, uint64_t hash, uint32_t node)
{
	size_t at = slot_of(hash, n_slots);

	while (slots[at] != 0)
		at = at + 1 == n_slots ? 0 : at + 1;
	slots[at] = slot_word(hash, node);
}

static int grow_slots(struct sp_numbering *n)
{
	size_t n_slots = n->n_slots + n->n_slots / 4;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	for (uint32_t node = 1; node < n->n[SP_NODES]; node++)
		put_slot(slots, n_slots, hash_of(n->nodes[node].parent, n->nodes[node].frame), node);
	free(n->slots);
	n->slots = slots;
	n->n_slots = n_slots;
	return 0;
}

static int grow_pairs(struct sp_numbering *n)
{
	size_t n_slots = n->n_pair_slots * 2, mask = n_slots - 1;
	struct sp_frame_pair *pairs = calloc(n_slots, sizeof(*pairs));

	if (pairs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n->n_pair_slots; i++) {
		size_t at = hash_of(n->pairs[i].of, n->pairs[i].frame) >> 32 & mask;
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
static struct sp_frame_pair *pair_of(struct sp_numbering *n, uint32_t of, uint32_t frame)
{
	size_t mask = n->n_pair_slots - 1, at = hash_of(of, frame) >> 32 & mask;

	while (n->pairs[at].rank1 != 0 && (n->pairs[at].of != of || n->pairs[at].frame != frame))
		at = (at + 1) & mask;
	return &n->pairs[at];
}

/* Room for one more; untouched room costs nothing, so it is not cleared. */
static int grow_nodes(struct sp_numbering *n)
{
	size_t capacity = n->nodes_capacity + n->nodes_capacity / 2;
	struct sp_node *nodes;

	if (n->n[SP_NODES] < n->nodes_capacity)
		return 0;
	nodes = n->n[SP_NODES] > NODE_MASK - 1 ? NULL : reallocarray(n->nodes, capacity, sizeof(*nodes));
	if (nodes == NULL)
		return -ENOMEM;
	n->nodes = nodes;
	n->nodes_capacity = capacity;
	return 0;
}

static int64_t add_node(struct sp_numbering *n, uint32_t parent, uint32_t frame)
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

static int64_t child(struct sp_numbering *n, int64_t parent, int64_t frame)
{
	if (parent < 0 || frame < 0)
		return parent < 0 ? parent : frame;
	/* a stack's own end was numbered in one go: the child is the next one, in the same cache line */
	const struct sp_node *next = &n->nodes[parent + 1];
	if ((uint32_t)parent + 1 < n->n[SP_NODES] && next->parent == parent && next->frame == frame)
		return parent + 1;
	if ((size_t)n->n[SP_NODES] + n->n[SP_NODES] / 6 >= n->n_slots && grow_slots(n) < 0)
		return -ENOMEM;
	uint64_t hash = hash_of((uint32_t)parent, (uint32_t)frame);
	size_t at = slot_of(hash, n->n_slots);
	for (; n->slots[at] != 0; at = at + 1 == n->n_slots ? 0 : at + 1) {
		uint32_t node = n->slots[at] & NODE_MASK;
		if (n->slots[at] == slot_word(hash, node) && n->nodes[node].parent == parent &&
		    n->nodes[node].frame == frame)
			return node;
	}
	int64_t node = add_node(n, (uint32_t)parent, (uint32_t)frame);
	if (node > 0)
		n->slots[at] = slot_word(hash, (uint32_t)node);
	return node;
}

/* --- look-ups made ready --------------------------------------------------------------------------------------------
 * A renewed profile's stacks are walked anew, and each step waits for memory twice: the slot, then the node. Several
 * stacks are walked at a time here, which is no more than reading, so that what the real walk needs is there already.
 */
struct walker {
	const uint32_t *frames; /* the next one last */
	uint32_t n_frames, node, frame;
	size_t slot;
	uint64_t hash;
	bool at_slot;
};

/* Asks for the slot of the next frame that is not found beside its parent; false: the walk ends. */
static bool walker_ask(const struct sp_numbering *n, struct walker *w)
{
	const struct sp_memo_frame *frames = n->memo.frames.data;

	while (w->n_frames > 0) {
		uint32_t frame = w->frames[--w->n_frames];
		w->frame = frame < n->memo.frames.n ? frames[frame].frame : 0;
		if (w->frame == 0)
			return false;
		const struct sp_node *next = &n->nodes[w->node + 1];
		if (w->node + 1 < n->n[SP_NODES] && next->parent == w->node && next->frame == w->frame) {
			w->node++;
			continue;
		}
		w->hash = hash_of(w->node, w->frame);
		w->slot = slot_of(w->hash, n->n_slots);
		__builtin_prefetch(&n->slots[w->slot]);
		w->at_slot = true;
		return true;
	}
	return false;
}

/* The slot has come, or the node. */
static bool walker_step(const struct sp_numbering *n, struct walker *w)
{
	uint32_t slot = n->slots[w->slot], node = slot & NODE_MASK;

	if (slot == 0)
		return false;
	if (slot != slot_word(w->hash, node)) {
		w->slot = w->slot + 1 == n->n_slots ? 0 : w->slot + 1;
		return true;
	}
	if (w->at_slot) {
		__builtin_prefetch(&n->nodes[node]);
		w->at_slot = false;
		return true;
	}
	if (n->nodes[node].parent == w->node && n->nodes[node].frame == w->frame) {
		w->node = node;
		return walker_ask(n, w);
	}
	w->slot = w->slot + 1 == n->n_slots ? 0 : w->slot + 1;
	w->at_slot = true;
	return true;
}

static bool walker_begin(const struct sp_numbering *n, const struct sp_profile *p, uint32_t number, struct walker *w)
{
	struct sp_stack s = sp_profile_stack(p, number);

	*w = (struct walker){.frames = s.frames, .n_frames = s.n_frames};
	struct sp_dict_frame mark = {.mark = SP_MARK_USER, .stack_class = s.stack_class, .reason = s.reason};
	uint32_t *known = NULL;
	struct sp_seen *seen = (struct sp_seen *)&n->seen[SP_FRAMES];
	if (sp_seen_find(seen, &mark, sizeof(mark), &known) < 0 || *known == 0)
		return false;
	w->frame = *known;
	w->hash = hash_of(0, w->frame);
	w->slot = slot_of(w->hash, n->n_slots);
	w->at_slot = true;
	return true;
}

void sp_numbering_make_ready(struct sp_numbering *n, const struct sp_profile *p, const uint32_t *stacks,
			     size_t n_stacks)
{
	struct walker walkers[SP_WALKERS];
	size_t left = 0;

	for (size_t i = 0; i < n_stacks && i < SP_WALKERS; i++)
		left += walker_begin(n, p, stacks[i], &walkers[left]);
	while (left > 0)
		for (size_t i = 0; i < left;) {
			if (walker_step(n, &walkers[i]))
				i++;
			else
				walkers[i] = walkers[--left];
		}
}

static bool is_kernels(const struct sp_numbering *n, int64_t frame)
{
	return frame > 0 && ((const uint8_t *)n->flags.data)[frame] != 0;
}

static int64_t mark(struct sp_numbering *n, int64_t parent, enum sp_mark mark, const struct sp_stack *s)
{
	struct sp_dict_frame f = {.mark = mark, .stack_class = s->stack_class, .reason = s->reason};

	return child(n, parent, sp_numbering_add_frame(n, &f));
}

static int64_t walk(struct sp_numbering *n, const struct sp_profile *p, int64_t node, const struct sp_stack *s)
{
	for (uint32_t i = s->n_frames; i > 0 && node >= 0; i--)
		node = child(n, node, sp_numbering_frame(n, p, s->frames[i - 1]));
	return node;
}

/* As walk(), from where the stack parts from the one before. */
static int64_t walk_on(struct sp_numbering *n, const struct sp_profile *p, int64_t node, const struct sp_stack *s)
{
	struct sp_memo_path *path = &n->memo.path;
	uint32_t i = 0, common = node > 0 && path->mark == node ? path->n : 0;

	while (i < common && i < s->n_frames && path->frames[i] == s->frames[s->n_frames - 1 - i])
		i++;
	if (i > 0)
		node = path->nodes[i - 1];
	else
		path->mark = node > 0 ? (uint32_t)node : 0;
	path->n = i;
	for (; i < s->n_frames && node >= 0; i++) {
		uint32_t frame = s->frames[s->n_frames - 1 - i];
		node = child(n, node, sp_numbering_frame(n, p, frame));
		if (i == path->n && i < SP_PATH_MAX && node > 0) {
			path->frames[i] = frame;
			path->nodes[i] = (uint32_t)node;
			path->n++;
		}
	}
	return node;
}

/* Foreign profiles have user frames in the kernel. */
static enum sp_mark mark_of(struct sp_numbering *n, const struct sp_profile *p, const struct sp_stack *s)
{
	for (uint32_t i = 0; i < s->n_frames; i++)
		if (is_kernels(n, sp_numbering_frame(n, p, s->frames[i])))
			return SP_MARK_MIXED;
	return SP_MARK_USER;
}

/* The node, with a bit if kernel frames are among the user's. */
static int64_t user_node(struct sp_numbering *n, const struct sp_profile *p, uint32_t stack)
{
	if (sp_items_room(&n->memo.stacks, (size_t)stack + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	if (sp_words(&n->memo.stacks)[stack] != 0)
		return sp_words(&n->memo.stacks)[stack];
	struct sp_stack s = sp_profile_stack(p, stack);
	enum sp_mark m = mark_of(n, p, &s);
	int64_t node = walk_on(n, p, mark(n, 0, m, &s), &s);
	if (node < 0)
		return node;
	node |= m == SP_MARK_MIXED ? MIXED : 0;
	sp_words(&n->memo.stacks)[stack] = (uint32_t)node;
	return node;
}

static int64_t kernel_node(struct sp_numbering *n, const struct sp_profile *p, uint32_t user, uint32_t kernel)
{
	struct sp_memo_kernel *memo = &n->memo.kernels[(hash_of(user, kernel) >> 32) % SP_KERNEL_CACHE];

	if (memo->node != 0 && memo->user == user && memo->kernel == kernel)
		return memo->node;
	struct sp_stack s = sp_profile_stack(p, kernel);
	int64_t node = user & NODE_MASK;
	if (s.n_frames == 0 || s.stack_class != 0 || s.reason != 0 || (user & MIXED) != 0 ||
	    !is_kernels(n, sp_numbering_frame(n, p, s.frames[s.n_frames - 1])))
		node = mark(n, node, SP_MARK_KERNEL, &s);
	node = walk(n, p, node, &s);
	if (node > 0)
		*memo = (struct sp_memo_kernel){.user = user, .kernel = kernel, .node = (uint32_t)node};
	return node;
}

int64_t sp_numbering_node(struct sp_numbering *n, const struct sp_profile *p, uint32_t user, uint32_t kernel)
{
	int64_t node = user_node(n, p, user);

	if (node < 0 || kernel == 0)
		return node < 0 ? node : node & NODE_MASK;
	return kernel_node(n, p, (uint32_t)node, kernel);
}
