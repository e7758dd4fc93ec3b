/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "store/number_priv.h"

enum { SLOTS_MIN = 1024 };

int sp_numbering_make_tree(struct sp_numbering *n)
{
	n->n_slots = n->n_pair_slots = SLOTS_MIN;
	n->slots = calloc(n->n_slots, sizeof(*n->slots));
	n->pairs = calloc(n->n_pair_slots, sizeof(*n->pairs));
	return n->slots == NULL || n->pairs == NULL ? -ENOMEM : 0;
}

static size_t hash_of(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)((h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 24);
}

static int grow_slots(struct sp_numbering *n)
{
	size_t n_slots = n->n_slots * 2, mask = n_slots - 1;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	for (uint32_t node = 1; node < n->n[SP_NODES]; node++) {
		size_t at = hash_of(sp_words(&n->parents)[node], sp_words(&n->frames)[node]) & mask;
		while (slots[at] != 0)
			at = (at + 1) & mask;
		slots[at] = node;
	}
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
		size_t at = hash_of(n->pairs[i].of, n->pairs[i].frame) & mask;
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
	size_t mask = n->n_pair_slots - 1, at = hash_of(of, frame) & mask;

	while (n->pairs[at].rank1 != 0 && (n->pairs[at].of != of || n->pairs[at].frame != frame))
		at = (at + 1) & mask;
	return &n->pairs[at];
}

static int64_t add_node(struct sp_numbering *n, uint32_t parent, uint32_t frame)
{
	uint32_t node = n->n[SP_NODES], of = sp_words(&n->frames)[parent];

	if (sp_items_room(&n->parents, (size_t)node + 1, sizeof(uint32_t)) < 0 ||
	    sp_items_room(&n->frames, (size_t)node + 1, sizeof(uint32_t)) < 0 ||
	    (n->n_pairs + n->n_pairs / 4 >= n->n_pair_slots && grow_pairs(n) < 0))
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
	sp_words(&n->parents)[node] = parent;
	sp_words(&n->frames)[node] = frame;
	n->n[SP_NODES]++;
	return node;
}

static int64_t child(struct sp_numbering *n, int64_t parent, int64_t frame)
{
	if (parent < 0 || frame < 0)
		return parent < 0 ? parent : frame;
	if ((size_t)n->n[SP_NODES] + n->n[SP_NODES] / 4 >= n->n_slots && grow_slots(n) < 0)
		return -ENOMEM;
	size_t mask = n->n_slots - 1, at = hash_of((uint32_t)parent, (uint32_t)frame) & mask;
	for (; n->slots[at] != 0; at = (at + 1) & mask) {
		uint32_t node = n->slots[at];
		if (sp_words(&n->parents)[node] == parent && sp_words(&n->frames)[node] == frame)
			return node;
	}
	int64_t node = add_node(n, (uint32_t)parent, (uint32_t)frame);
	if (node > 0)
		n->slots[at] = (uint32_t)node;
	return node;
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

static int64_t user_node(struct sp_numbering *n, const struct sp_profile *p, uint32_t stack)
{
	if (sp_items_room(&n->memo.stacks, (size_t)stack + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	if (sp_words(&n->memo.stacks)[stack] != 0)
		return sp_words(&n->memo.stacks)[stack];
	struct sp_stack s = sp_profile_stack(p, stack);
	enum sp_mark m = SP_MARK_USER;
	for (uint32_t i = 0; i < s.n_frames; i++)
		if (is_kernels(n, sp_numbering_frame(n, p, s.frames[i])))
			m = SP_MARK_MIXED;
	int64_t node = walk(n, p, mark(n, 0, m, &s), &s);
	if (node > 0)
		sp_words(&n->memo.stacks)[stack] = (uint32_t)node;
	return node;
}

/* Foreign profiles have user frames in the kernel, and the other way round. */
static bool is_mixed(struct sp_numbering *n, const struct sp_profile *p, uint32_t user)
{
	struct sp_stack s = sp_profile_stack(p, user);

	for (uint32_t i = 0; i < s.n_frames; i++)
		if (is_kernels(n, sp_numbering_frame(n, p, s.frames[i])))
			return true;
	return false;
}

static int64_t kernel_node(struct sp_numbering *n, const struct sp_profile *p, int64_t user_at, uint32_t user,
			   uint32_t kernel)
{
	struct sp_memo_kernel *memo = &n->memo.kernels[hash_of((uint32_t)user_at, kernel) % SP_KERNEL_CACHE];

	if (memo->node != 0 && memo->user == user_at && memo->kernel == kernel)
		return memo->node;
	struct sp_stack s = sp_profile_stack(p, kernel);
	int64_t node = user_at;
	if (s.n_frames == 0 || s.stack_class != 0 || s.reason != 0 ||
	    !is_kernels(n, sp_numbering_frame(n, p, s.frames[s.n_frames - 1])) || is_mixed(n, p, user))
		node = mark(n, node, SP_MARK_KERNEL, &s);
	node = walk(n, p, node, &s);
	if (node > 0)
		*memo = (struct sp_memo_kernel){.user = (uint32_t)user_at, .kernel = kernel, .node = (uint32_t)node};
	return node;
}

int64_t sp_numbering_node(struct sp_numbering *n, const struct sp_profile *p, uint32_t user, uint32_t kernel)
{
	int64_t node = user_node(n, p, user);

	return node > 0 && kernel != 0 ? kernel_node(n, p, node, user, kernel) : node;
}
