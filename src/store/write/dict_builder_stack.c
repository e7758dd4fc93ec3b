/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/intern.h"
#include "store/write/dict_builder_priv.h"

enum { KNOWN_MIN = 1 << 10, KNOWN_MAX = 1 << 19, BUCKET = 8 };
#define MIXED (1U << 31) /* of a memo's node: kernel frames are among the user's */

/* --- life --- */
/* A bucket is one cache line. */
static uint64_t *make_slots(size_t n_slots)
{
	uint64_t *slots = aligned_alloc(BUCKET * sizeof(*slots), n_slots * sizeof(*slots));

	if (slots != NULL)
		memset(slots, 0, n_slots * sizeof(*slots));
	return slots;
}

int sp_dict_builder_make_paths(struct sp_dict_builder *n)
{
	struct sp_known_paths *k = &n->known;

	/* without randomness the seed is known, which is only worse */
	(void)!getrandom(&k->seed, sizeof(k->seed), GRND_NONBLOCK);
	k->n_slots = KNOWN_MIN;
	k->slots = make_slots(k->n_slots);
	return k->slots == NULL ? -ENOMEM : 0;
}

void sp_dict_builder_done_paths(struct sp_dict_builder *n)
{
	for (size_t i = 0; i < SP_PATHS; i++)
		free(n->paths[i].frames);
	free(n->known.slots);
	free(n->met.data);
}

size_t sp_dict_builder_paths_memory(const struct sp_dict_builder *n)
{
	size_t bytes = n->known.n_slots * sizeof(*n->known.slots) + n->met.capacity * sizeof(uint32_t);

	for (size_t i = 0; i < SP_PATHS; i++)
		bytes += n->paths[i].capacity * sizeof(uint32_t);
	return bytes;
}

/* --- stacks as frames of the dictionary --- */
static inline int frame_of(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t frame,
			   struct sp_memo_frame *ret_memo)
{
	const struct sp_memo_frame *memo = n->memo.frames.data;

	if (frame >= n->memo.frames.n || memo[frame].frame == 0)
		return sp_dict_builder_frame(n, p, frame, ret_memo);
	*ret_memo = memo[frame];
	return 0;
}

static int64_t mark_of(struct sp_dict_builder *n, enum sp_mark mark, const struct sp_stack *s)
{
	struct sp_dict_frame f = {.mark = mark, .stack_class = s->stack_class, .reason = s->reason};

	return sp_dict_builder_add_frame(n, &f);
}

static int path_room(struct sp_path *path, size_t n)
{
	if (sp_grow(&path->frames, &path->capacity, 2 * n, sizeof(*path->frames)) < 0)
		return -ENOMEM;
	path->libraries = path->frames + path->capacity / 2;
	return 0;
}

/* Foreign profiles have user frames in the kernel. */
static int path_of(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t stack, struct sp_path *path)
{
	struct sp_stack s = sp_profile_stack(p, stack);
	struct sp_memo_frame frame = {0};
	uint32_t all = 0;
	int r = path_room(path, (size_t)s.n_frames + 1);

	for (uint32_t i = 0, at = s.n_frames; i < s.n_frames && r == 0; i++, at--) {
		r = frame_of(n, p, s.frames[i], &frame);
		path->frames[at] = frame.frame & ~SP_OF_KERNEL;
		path->libraries[at] = frame.library;
		all |= frame.frame;
	}
	if (r < 0)
		return r;
	path->stack = stack;
	path->n = s.n_frames + 1;
	path->mixed = (all & SP_OF_KERNEL) != 0;
	int64_t mark = mark_of(n, path->mixed ? SP_MARK_MIXED : SP_MARK_USER, &s);
	if (mark < 0)
		return (int)mark;
	path->frames[0] = (uint32_t)mark;
	path->hash = sp_hash_bytes(path->frames, path->n * sizeof(*path->frames), n->known.seed);
	return 0;
}

/* --- paths that are known --- */
static uint64_t *bucket_of(const struct sp_dict_builder *n, const struct sp_path *path)
{
	return &n->known.slots[(path->hash & SP_NODE_MASK) * BUCKET & (n->known.n_slots - 1)];
}

/* From `at` on; 0: there is none. Whether it is one says its frame. */
static uint32_t likely_node(const struct sp_dict_builder *n, const struct sp_path *path, size_t *at)
{
	const uint64_t *bucket = bucket_of(n, path);

	for (; *at < BUCKET; ++*at) {
		uint32_t node = (uint32_t)bucket[*at] & SP_NODE_MASK;
		if (((bucket[*at] ^ path->hash) & ~(uint64_t)SP_NODE_MASK) == 0 && node != 0)
			return node;
	}
	return 0;
}

/* 0: it is not. */
static uint32_t known_node(const struct sp_dict_builder *n, const struct sp_path *path)
{
	uint32_t node;

	for (size_t at = 0; (node = likely_node(n, path, &at)) != 0; at++)
		if (n->nodes[node].frame == path->frames[path->n - 1])
			return node;
	return 0;
}

/* Its bucket has come. */
static void ask_for_node(const struct sp_dict_builder *n, const struct sp_path *path)
{
	size_t at = 0;

	__builtin_prefetch(&n->nodes[likely_node(n, path, &at)]);
}

/* The bucket's oldest goes. A larger table begins empty. */
static void remember_node(struct sp_dict_builder *n, const struct sp_path *path, uint32_t node)
{
	struct sp_known_paths *k = &n->known;

	if (k->n_added >= k->n_slots && k->n_slots < KNOWN_MAX) {
		uint64_t *slots = make_slots(2 * k->n_slots);
		if (slots != NULL) {
			free(k->slots);
			k->slots = slots;
			k->n_slots *= 2;
			k->n_added = 0;
		}
	}
	uint64_t *bucket = bucket_of(n, path);
	memmove(bucket + 1, bucket, (BUCKET - 1) * sizeof(*bucket));
	bucket[0] = (path->hash & ~(uint64_t)SP_NODE_MASK) | node;
	k->n_added++;
}

/* --- user stacks --- */
/* From where the tree had it when it was expected. */
static int64_t walk(struct sp_dict_builder *n, const struct sp_path *path)
{
	int64_t node = path->node;

	for (uint32_t i = path->depth; i < path->n && node >= 0; i++)
		node = sp_dict_builder_child(n, node, path->frames[i]);
	return node;
}

/* Each library of a path once. */
static int64_t note_libraries(struct sp_dict_builder *n, const struct sp_path *path)
{
	struct sp_items *all = &n->memo.libraries;
	size_t at = SP_MAX(all->n, 1U);

	if (sp_items_room(&n->met, n->n[SP_FILES], sizeof(uint32_t)) < 0 ||
	    sp_grow(&all->data, &all->capacity, at + path->n, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	uint32_t *met = sp_words(&n->met), *list = sp_words(all) + at, n_list = 0;
	if (++n->n_met == 0) {
		memset(met, 0, n->met.n * sizeof(*met));
		n->n_met = 1;
	}
	for (uint32_t i = path->n; i-- > 1;) {
		uint32_t library = path->libraries[i];
		list[n_list + 1] = library; /* and no branch, which would often be foretold wrongly */
		n_list += met[library] != n->n_met;
		met[library] = n->n_met;
	}
	list[0] = n_list;
	all->n = at + n_list + 1;
	return (int64_t)at;
}

static int memoize(struct sp_dict_builder *n, const struct sp_path *path, int64_t node)
{
	int64_t libraries = node < 0 ? node : note_libraries(n, path);

	if (libraries < 0)
		return (int)libraries;
	((struct sp_memo_stack *)n->memo.stacks.data)[path->stack] = (struct sp_memo_stack){
	    .node = (uint32_t)node | (path->mixed ? MIXED : 0), .libraries = (uint32_t)libraries};
	return 0;
}

int sp_dict_builder_expect(struct sp_dict_builder *n, const struct sp_profile *p, const uint32_t *stacks,
			   size_t n_stacks)
{
	struct sp_path *new[SP_PATHS];
	size_t n_new = 0;
	int r = 0;

	n->n_paths = 0;
	for (size_t i = 0; i < n_stacks && r == 0; i++) {
		r = path_of(n, p, stacks[i], &n->paths[i]);
		if (r == 0)
			__builtin_prefetch(bucket_of(n, &n->paths[i]));
		r = r < 0 ? r : sp_items_room(&n->memo.stacks, (size_t)stacks[i] + 1, sizeof(struct sp_memo_stack));
	}
	n->n_paths = r < 0 ? 0 : n_stacks;
	for (size_t i = 0; i < n->n_paths; i++)
		ask_for_node(n, &n->paths[i]);
	for (size_t i = 0; i < n->n_paths && r == 0; i++) {
		uint32_t node = known_node(n, &n->paths[i]);
		if (node == 0)
			new[n_new++] = &n->paths[i];
		else
			r = memoize(n, &n->paths[i], node);
	}
	if (r == 0)
		sp_dict_builder_find(n, new, n_new);
	return r;
}

/* Of an expected stack. A walk waits until its row's turn, since nodes that come one behind the other cost least. */
static int64_t user_node(struct sp_dict_builder *n, uint32_t stack)
{
	const struct sp_path *path = n->paths;

	if (sp_memo_of_stack(n, stack).node != 0)
		return sp_memo_of_stack(n, stack).node;
	while (path < n->paths + n->n_paths && path->stack != stack)
		path++;
	if (path == n->paths + n->n_paths)
		return -EINVAL;
	int64_t node = walk(n, path);
	int r = memoize(n, path, node);
	if (r == 0)
		remember_node(n, path, (uint32_t)node);
	return r < 0 ? r : (int64_t)sp_memo_of_stack(n, stack).node;
}

int64_t sp_dict_builder_libraries(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t stack)
{
	struct sp_path *path = &n->paths[0]; /* nothing is expected any more */
	uint32_t known = sp_memo_of_stack(n, stack).libraries;

	if (known != 0)
		return known;
	int r = path_of(n, p, stack, path);
	r = r < 0 ? r : sp_items_room(&n->memo.stacks, (size_t)stack + 1, sizeof(struct sp_memo_stack));
	int64_t libraries = r < 0 ? r : note_libraries(n, path);
	if (libraries > 0)
		((struct sp_memo_stack *)n->memo.stacks.data)[stack].libraries = (uint32_t)libraries;
	return libraries;
}

/* --- rows --- */
static size_t kernel_slot(uint32_t user, uint32_t kernel)
{
	return (sp_pair_hash(user, kernel) >> 32) % SP_KERNEL_CACHE;
}

void sp_dict_builder_prefetch_row(const struct sp_dict_builder *n, const struct sp_row *row)
{
	struct sp_memo_stack user = sp_memo_of_stack(n, row->user);

	__builtin_prefetch(sp_words(&n->memo.libraries) + user.libraries);
	__builtin_prefetch(sp_words(&n->memo.libraries) + user.libraries + 8); /* a cache line ends in most of them */
	if (row->kernel != 0)
		__builtin_prefetch(&n->memo.kernels[kernel_slot(user.node, row->kernel)]);
}

static int64_t kernel_node(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t user, uint32_t kernel)
{
	struct sp_memo_kernel *memo = &n->memo.kernels[kernel_slot(user, kernel)];

	if (memo->node != 0 && memo->user == user && memo->kernel == kernel)
		return memo->node;
	struct sp_stack s = sp_profile_stack(p, kernel);
	struct sp_memo_frame frame = {0};
	int64_t node = user & SP_NODE_MASK;
	int r = s.n_frames == 0 ? 0 : frame_of(n, p, s.frames[s.n_frames - 1], &frame);
	if (r < 0)
		return r;
	if ((frame.frame & SP_OF_KERNEL) == 0 || s.stack_class != 0 || s.reason != 0 || (user & MIXED) != 0)
		node = sp_dict_builder_child(n, node, mark_of(n, SP_MARK_KERNEL, &s));
	for (uint32_t i = s.n_frames; i > 0 && node >= 0; i--) {
		r = frame_of(n, p, s.frames[i - 1], &frame);
		node = r < 0 ? r : sp_dict_builder_child(n, node, frame.frame & ~SP_OF_KERNEL);
	}
	if (node > 0)
		*memo = (struct sp_memo_kernel){.user = user, .kernel = kernel, .node = (uint32_t)node};
	return node;
}

int64_t sp_dict_builder_node(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t user, uint32_t kernel)
{
	int64_t node = user_node(n, user);

	return node < 0 ? node : kernel == 0 ? node & SP_NODE_MASK : kernel_node(n, p, (uint32_t)node, kernel);
}
