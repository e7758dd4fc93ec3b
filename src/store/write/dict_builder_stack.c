/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/write/dict_builder_priv.h"

#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { KNOWN_MIN = 1 << 10, KNOWN_MAX = 1 << 19, BUCKET = 8 };
#define MIXED (1U << 31) /* flag of a node in memos: kernel frames are among the user's */

/* --- life --- */
static uint64_t *alloc_slots(size_t n_slots)
{
	uint64_t *slots = aligned_alloc(BUCKET * sizeof(*slots), n_slots * sizeof(*slots));

	if (slots)
		memset(slots, 0, n_slots * sizeof(*slots));
	return slots;
}

int sp_dict_builder_init_paths(struct sp_dict_builder *builder)
{
	struct sp_known_paths *k = &builder->known_paths;

	/* without randomness an attacker could guess the seed, which is all */
	(void)!getrandom(&k->seed, sizeof(k->seed), GRND_NONBLOCK);
	k->n_slots = KNOWN_MIN;
	k->slots = alloc_slots(k->n_slots);
	return !k->slots ? -ENOMEM : 0;
}

void sp_dict_builder_done_paths(struct sp_dict_builder *builder)
{
	for (size_t i = 0; i < SP_PATHS_AT_ONCE; i++)
		free(builder->paths[i].frames);
	free(builder->known_paths.slots);
	free(builder->stamps.data);
}

size_t sp_dict_builder_paths_memory(const struct sp_dict_builder *builder)
{
	size_t bytes = builder->known_paths.n_slots * sizeof(*builder->known_paths.slots) +
		       builder->stamps.capacity * sizeof(uint32_t);

	for (size_t i = 0; i < SP_PATHS_AT_ONCE; i++)
		bytes += builder->paths[i].capacity * sizeof(uint32_t);
	return bytes;
}

/* --- stacks as frames of the dictionary --- */
static inline int find_frame(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t frame,
			     struct sp_memo_frame *ret_memo)
{
	const struct sp_memo_frame *memo = builder->memo.frames.data;

	if (frame >= builder->memo.frames.n || memo[frame].frame == 0)
		return sp_dict_builder_find_frame(builder, p, frame, ret_memo);
	*ret_memo = memo[frame];
	return 0;
}

static int64_t find_mark(struct sp_dict_builder *builder, enum sp_mark mark, const struct sp_stack *s)
{
	struct sp_dict_frame f = {.mark = mark, .stack_class = s->stack_class, .reason = s->reason};

	return sp_dict_builder_add_frame(builder, &f);
}

static int reserve_path(struct sp_path *path, size_t n)
{
	if (sp_grow(&path->frames, &path->capacity, 2 * n, sizeof(*path->frames)) < 0)
		return -ENOMEM;
	path->libraries = path->frames + path->capacity / 2;
	return 0;
}

/* Foreign profiles may have kernel frames in user stacks. */
static int build_path(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t stack, struct sp_path *path)
{
	struct sp_stack s = sp_profile_stack(p, stack);
	struct sp_memo_frame frame = {0};
	uint32_t all = 0;
	int r = reserve_path(path, (size_t)s.n_frames + 1);

	for (uint32_t i = 0, at = s.n_frames; i < s.n_frames && r == 0; i++, at--) {
		r = find_frame(builder, p, s.frames[i], &frame);
		path->frames[at] = frame.frame & ~SP_FRAME_OF_KERNEL;
		path->libraries[at] = frame.library;
		all |= frame.frame;
	}
	if (r < 0)
		return r;
	path->stack = stack;
	path->n = s.n_frames + 1;
	path->mixed = (all & SP_FRAME_OF_KERNEL) != 0;
	int64_t mark = find_mark(builder, path->mixed ? SP_MARK_MIXED : SP_MARK_USER, &s);
	if (mark < 0)
		return (int)mark;
	path->frames[0] = (uint32_t)mark;
	path->hash = sp_hash_bytes(path->frames, path->n * sizeof(*path->frames), builder->known_paths.seed);
	return 0;
}

/* --- cache of paths --- */
static uint64_t *bucket_of(const struct sp_dict_builder *builder, const struct sp_path *path)
{
	return &builder->known_paths.slots[(path->hash & SP_NODE_MASK) * BUCKET & (builder->known_paths.n_slots - 1)];
}

/* An entry with this hash, from `at` on; 0: none. The caller compares the frame. */
static uint32_t find_candidate(const struct sp_dict_builder *builder, const struct sp_path *path, size_t *at)
{
	const uint64_t *bucket = bucket_of(builder, path);

	for (; *at < BUCKET; ++*at) {
		uint32_t node = (uint32_t)bucket[*at] & SP_NODE_MASK;
		if (((bucket[*at] ^ path->hash) & ~(uint64_t)SP_NODE_MASK) == 0 && node != 0)
			return node;
	}
	return 0;
}

/* 0: not in the cache. */
static uint32_t find_known_node(const struct sp_dict_builder *builder, const struct sp_path *path)
{
	uint32_t node;

	for (size_t at = 0; (node = find_candidate(builder, path, &at)) != 0; at++)
		if (builder->nodes[node].frame == path->frames[path->n - 1])
			return node;
	return 0;
}

/* The bucket was prefetched before. */
static void prefetch_node(const struct sp_dict_builder *builder, const struct sp_path *path)
{
	size_t at = 0;

	__builtin_prefetch(&builder->nodes[find_candidate(builder, path, &at)]);
}

/* Replaces the oldest entry of the bucket. When the table grows, it begins empty. */
static void remember_node(struct sp_dict_builder *builder, const struct sp_path *path, uint32_t node)
{
	struct sp_known_paths *k = &builder->known_paths;

	if (k->n_added >= k->n_slots && k->n_slots < KNOWN_MAX) {
		uint64_t *slots = alloc_slots(2 * k->n_slots);
		if (slots) {
			free(k->slots);
			k->slots = slots;
			k->n_slots *= 2;
			k->n_added = 0;
		}
	}
	uint64_t *bucket = bucket_of(builder, path);
	memmove(bucket + 1, bucket, (BUCKET - 1) * sizeof(*bucket));
	bucket[0] = (path->hash & ~(uint64_t)SP_NODE_MASK) | node;
	k->n_added++;
}

/* --- user stacks --- */
/* Adds the frames that the tree lacked when the path was prepared. */
static int64_t add_path(struct sp_dict_builder *builder, const struct sp_path *path)
{
	int64_t node = path->node;

	for (uint32_t i = path->depth; i < path->n && node >= 0; i++)
		node = sp_dict_builder_add_child(builder, node, path->frames[i]);
	return node;
}

/* Appends the list of a path's libraries, each once. */
static int64_t list_libraries(struct sp_dict_builder *builder, const struct sp_path *path)
{
	struct sp_items *all = &builder->memo.libraries;
	size_t at = SP_MAX(all->n, 1U);

	if (sp_items_reserve(&builder->stamps, builder->next[SP_FILES], sizeof(uint32_t)) < 0 ||
	    sp_grow(&all->data, &all->capacity, at + path->n, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	uint32_t *stamps = sp_items_words(&builder->stamps), *list = sp_items_words(all) + at, n_list = 0;
	if (++builder->stamp == 0) {
		memset(stamps, 0, builder->stamps.n * sizeof(*stamps));
		builder->stamp = 1;
	}
	for (uint32_t i = path->n; i-- > 1;) {
		uint32_t library = path->libraries[i];
		list[n_list + 1] = library; /* without a branch, which would be mispredicted often */
		n_list += stamps[library] != builder->stamp;
		stamps[library] = builder->stamp;
	}
	list[0] = n_list;
	all->n = at + n_list + 1;
	return (int64_t)at;
}

static int memoize_stack(struct sp_dict_builder *builder, const struct sp_path *path, int64_t node)
{
	int64_t libraries = node < 0 ? node : list_libraries(builder, path);

	if (libraries < 0)
		return (int)libraries;
	((struct sp_memo_stack *)builder->memo.stacks.data)[path->stack] = (struct sp_memo_stack){
	    .node = (uint32_t)node | (path->mixed ? MIXED : 0), .libraries = (uint32_t)libraries};
	return 0;
}

int sp_dict_builder_prepare_stacks(struct sp_dict_builder *builder, const struct sp_profile *p, const uint32_t *stacks,
				   size_t n_stacks)
{
	struct sp_path *new[SP_PATHS_AT_ONCE];
	size_t n_new = 0;
	int r = 0;

	builder->n_paths = 0;
	for (size_t i = 0; i < n_stacks && r == 0; i++) {
		r = build_path(builder, p, stacks[i], &builder->paths[i]);
		if (r == 0)
			__builtin_prefetch(bucket_of(builder, &builder->paths[i]));
		r = r < 0
			? r
			: sp_items_reserve(&builder->memo.stacks, (size_t)stacks[i] + 1, sizeof(struct sp_memo_stack));
	}
	builder->n_paths = r < 0 ? 0 : n_stacks;
	for (size_t i = 0; i < builder->n_paths; i++)
		prefetch_node(builder, &builder->paths[i]);
	for (size_t i = 0; i < builder->n_paths && r == 0; i++) {
		uint32_t node = find_known_node(builder, &builder->paths[i]);
		if (node == 0)
			new[n_new++] = &builder->paths[i];
		else
			r = memoize_stack(builder, &builder->paths[i], node);
	}
	if (r == 0)
		sp_dict_builder_find_paths(builder, new, n_new);
	return r;
}

/* The node of a prepared stack. New nodes are added only now, so that those of one stack follow each other. */
static int64_t find_user_node(struct sp_dict_builder *builder, uint32_t stack)
{
	const struct sp_path *path = builder->paths;

	if (sp_memo_of_stack(builder, stack).node != 0)
		return sp_memo_of_stack(builder, stack).node;
	while (path < builder->paths + builder->n_paths && path->stack != stack)
		path++;
	if (path == builder->paths + builder->n_paths)
		return -EINVAL;
	int64_t node = add_path(builder, path);
	int r = memoize_stack(builder, path, node);
	if (r == 0)
		remember_node(builder, path, (uint32_t)node);
	return r < 0 ? r : (int64_t)sp_memo_of_stack(builder, stack).node;
}

int64_t sp_dict_builder_find_libraries(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t stack)
{
	struct sp_path *path = &builder->paths[0]; /* the prepared stacks are done */
	uint32_t known = sp_memo_of_stack(builder, stack).libraries;

	if (known != 0)
		return known;
	int r = build_path(builder, p, stack, path);
	r = r < 0 ? r : sp_items_reserve(&builder->memo.stacks, (size_t)stack + 1, sizeof(struct sp_memo_stack));
	int64_t libraries = r < 0 ? r : list_libraries(builder, path);
	if (libraries > 0)
		((struct sp_memo_stack *)builder->memo.stacks.data)[stack].libraries = (uint32_t)libraries;
	return libraries;
}

/* --- rows --- */
static size_t kernel_slot(uint32_t user, uint32_t kernel)
{
	return (sp_pair_hash(user, kernel) >> 32) % SP_KERNEL_CACHE;
}

void sp_dict_builder_prefetch_row(const struct sp_dict_builder *builder, const struct sp_row *row)
{
	struct sp_memo_stack user = sp_memo_of_stack(builder, row->user);

	__builtin_prefetch(sp_items_words(&builder->memo.libraries) + user.libraries);
	__builtin_prefetch(sp_items_words(&builder->memo.libraries) + user.libraries +
			   8); /* most lists cross a cache line */
	if (row->kernel != 0)
		__builtin_prefetch(&builder->memo.kernel_nodes[kernel_slot(user.node, row->kernel)]);
}

static int64_t find_kernel_node(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t user,
				uint32_t kernel)
{
	struct sp_memo_kernel *memo = &builder->memo.kernel_nodes[kernel_slot(user, kernel)];

	if (memo->node != 0 && memo->user == user && memo->kernel == kernel)
		return memo->node;
	struct sp_stack s = sp_profile_stack(p, kernel);
	struct sp_memo_frame frame = {0};
	int64_t node = user & SP_NODE_MASK;
	int r = s.n_frames == 0 ? 0 : find_frame(builder, p, s.frames[s.n_frames - 1], &frame);
	if (r < 0)
		return r;
	if ((frame.frame & SP_FRAME_OF_KERNEL) == 0 || s.stack_class != 0 || s.reason != 0 || (user & MIXED) != 0)
		node = sp_dict_builder_add_child(builder, node, find_mark(builder, SP_MARK_KERNEL, &s));
	for (uint32_t i = s.n_frames; i > 0 && node >= 0; i--) {
		r = find_frame(builder, p, s.frames[i - 1], &frame);
		node = r < 0 ? r : sp_dict_builder_add_child(builder, node, frame.frame & ~SP_FRAME_OF_KERNEL);
	}
	if (node > 0)
		*memo = (struct sp_memo_kernel){.user = user, .kernel = kernel, .node = (uint32_t)node};
	return node;
}

int64_t sp_dict_builder_find_node(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t user,
				  uint32_t kernel)
{
	int64_t node = find_user_node(builder, user);

	return node < 0      ? node
	       : kernel == 0 ? node & SP_NODE_MASK
			     : find_kernel_node(builder, p, (uint32_t)node, kernel);
}
