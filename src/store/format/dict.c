/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/dict.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HOLE_MAX = 1 << 22, BYTES_MAX = 1 << 30, AHEAD = 24 };

static size_t item_bytes(enum sp_dict_kind kind)
{
	return kind == SP_STRINGS ? sizeof(uint32_t) : sp_dict_kind_bytes(kind);
}

/* Grows to at least n items, and leaves those from `first` on to be filled by the caller. */
static int grow_unfilled(struct sp_items *items, size_t first, size_t n, size_t each)
{
	if (n <= items->n)
		return 0;
	if (sp_items_room(items, n, each) < 0)
		return -ENOMEM;
	if (items->n < first)
		memset((char *)items->data + items->n * each, 0, (SP_MIN(first, n) - items->n) * each);
	items->n = n;
	return 0;
}

/* Zeroes the new items only: untouched capacity takes no memory. */
static int grow_zeroed(struct sp_items *items, size_t n, size_t each)
{
	return grow_unfilled(items, n, n, each);
}

void sp_dict_update(struct sp_dict_arrays *d)
{
	uint32_t *counts[SP_N_DICT_KINDS] = {&d->dict.n_strings, &d->dict.n_files,  &d->dict.n_funcs, &d->dict.n_frames,
					     &d->dict.n_nodes,   &d->dict.n_groups, &d->dict.n_keys};

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		*counts[i] = (uint32_t)d->items[i].n;
	d->dict.string_at = d->items[SP_STRINGS].data;
	d->dict.bytes = d->bytes.data;
	d->dict.files = d->items[SP_FILES].data;
	d->dict.funcs = d->items[SP_FUNCS].data;
	d->dict.frames = d->items[SP_FRAMES].data;
	d->dict.parent = d->items[SP_NODES].data;
	d->dict.frame = d->frame_of.data;
	d->dict.groups = d->items[SP_GROUPS].data;
	d->dict.keys = d->items[SP_KEYS].data;
}

static int dict_init(struct sp_dict_arrays *d)
{
	int r = grow_zeroed(&d->bytes, 1, 1);

	for (size_t i = 0; i < SP_N_DICT_KINDS && r == 0; i++)
		r = grow_zeroed(&d->items[i], 1, item_bytes((enum sp_dict_kind)i));
	r = r < 0 ? r : grow_zeroed(&d->frame_of, 1, sizeof(uint32_t));
	r = r < 0 ? r : grow_zeroed(&d->successors, 1, sizeof(struct sp_successors));
	if (r == 0)
		sp_dict_update(d);
	return r;
}

static void dict_done(struct sp_dict_arrays *d)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		free(d->items[i].data);
	free(d->bytes.data);
	free(d->frame_of.data);
	free(d->successors.data);
	free(d->successor_table.data);
	free(d->new_successors.data);
}

int sp_dict_new(uint64_t day_s, uint64_t generation, struct sp_dict_arrays **ret_dict)
{
	struct sp_dict_arrays *d = calloc(1, sizeof(*d));
	int r = d ? dict_init(d) : -ENOMEM;

	if (r < 0) {
		sp_dict_free(d);
		return r;
	}
	d->dict.day_s = day_s, d->dict.generation = generation;
	*ret_dict = d;
	return 0;
}

void sp_dict_free(struct sp_dict_arrays *d)
{
	if (!d)
		return;
	dict_done(d);
	free(d);
}

int sp_dict_make_lazy(struct sp_dict_arrays *d)
{
	struct sp_dict_arrays anew = {.dict = {.day_s = d->dict.day_s, .generation = d->dict.generation},
				      .skip_nodes = d->skip_nodes,
				      .skip_keys = d->skip_keys,
				      .lazy = true};

	dict_done(d);
	*d = anew;
	return dict_init(d);
}

bool sp_dict_has_gap_before(const struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		if (c->items[i].n > 0 && c->first[i] > d->items[i].n)
			return true;
	return false;
}

/* --- numbers inside items --- */
#define REF(kind, type, member, to)                                                                                    \
	{                                                                                                              \
		kind, offsetof(struct type, member), to                                                                \
	}
const struct sp_dict_ref sp_dict_refs[SP_DICT_REFS] = {
    REF(SP_FILES, sp_file, name, SP_STRINGS),
    REF(SP_FILES, sp_file, path, SP_STRINGS),
    REF(SP_FILES, sp_file, package, SP_STRINGS),
    REF(SP_FILES, sp_file, package_version, SP_STRINGS),
    REF(SP_FILES, sp_file, build_id_text, SP_STRINGS),
    REF(SP_FILES, sp_file, note, SP_STRINGS),
    REF(SP_FUNCS, sp_func, name, SP_STRINGS),
    REF(SP_FUNCS, sp_func, linkage_name, SP_STRINGS),
    REF(SP_FUNCS, sp_func, source, SP_STRINGS),
    REF(SP_FUNCS, sp_func, file, SP_FILES),
    REF(SP_FRAMES, sp_dict_frame, func, SP_FUNCS),
    REF(SP_FRAMES, sp_dict_frame, file, SP_FILES),
    REF(SP_GROUPS, sp_dict_group, exe, SP_FILES),
    REF(SP_GROUPS, sp_dict_group, comm, SP_STRINGS),
    REF(SP_GROUPS, sp_dict_group, cgroup_path, SP_STRINGS),
    REF(SP_GROUPS, sp_dict_group, container, SP_STRINGS),
    REF(SP_GROUPS, sp_dict_group, root, SP_STRINGS),
    REF(SP_KEYS, sp_dict_key, group, SP_GROUPS),
    REF(SP_KEYS, sp_dict_key, thread, SP_STRINGS),
};

/* Replaces numbers from n_known on by 0. */
static void clear_unknown(char *at, size_t each, size_t n, size_t n_known)
{
	uint32_t number;

	for (size_t i = 0; i < n; i++, at += each) {
		memcpy(&number, at, sizeof(number));
		if (number >= n_known)
			memset(at, 0, sizeof(number));
	}
}

static void check_items(const struct sp_dict_arrays *d, enum sp_dict_kind kind, size_t first, size_t n)
{
	size_t each = item_bytes(kind);
	char *items = (char *)d->items[kind].data + first * each;

	for (size_t i = 0; i < SP_DICT_REFS; i++)
		if (sp_dict_refs[i].kind == kind)
			clear_unknown(items + sp_dict_refs[i].offset, each, n, d->items[sp_dict_refs[i].to].n);
	for (size_t i = 0; i < n && kind == SP_FILES; i++) {
		struct sp_file *f = (struct sp_file *)d->items[kind].data + first + i;
		f->build_id_len = f->build_id_len > SP_BUILD_ID_MAX ? 0 : f->build_id_len;
	}
}

static int apply_strings(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	const uint32_t *lengths = c->items[SP_STRINGS].data;
	size_t at = d->bytes.n;

	if (c->bytes.n > BYTES_MAX - at)
		return -EBADMSG;
	int r = grow_zeroed(&d->bytes, at + c->bytes.n, 1);
	if (r < 0 || c->bytes.n == 0)
		return r;
	memcpy((char *)d->bytes.data + at, c->bytes.data, c->bytes.n);
	uint32_t *string_at = (uint32_t *)d->items[SP_STRINGS].data + c->first[SP_STRINGS];
	for (size_t i = 0; i < c->items[SP_STRINGS].n; i++) {
		string_at[i] = (uint32_t)at;
		at += lengths[i];
	}
	return 0;
}

static void apply_structs(struct sp_dict_arrays *d, const struct sp_chunk *c, enum sp_dict_kind kind)
{
	size_t each = item_bytes(kind), n = c->items[kind].n;

	if (n == 0)
		return;
	memcpy((char *)d->items[kind].data + c->first[kind] * each, c->items[kind].data, n * each);
	check_items(d, kind, c->first[kind], n);
}

/* --- nodes --- */
/* Of n entries, 2 or more: they have room for so many, as a power of two. */
static unsigned size_of(uint32_t n)
{
	return 32U - (unsigned)__builtin_clz(n - 1);
}

/* Moves the entries of s to a place with room for n, which others may have left; theirs is free then. */
static int successors_grow(struct sp_dict_arrays *d, struct sp_successors *s, uint32_t n)
{
	struct sp_items *table = &d->successor_table;
	unsigned size = size_of(n);
	uint32_t at = d->free_entries[size], room = UINT32_C(1) << size, *entries = table->data;

	if (at) {
		d->free_entries[size] = entries[--at];
	} else {
		at = (uint32_t)table->n;
		if (table->n + room > UINT32_MAX)
			return -EBADMSG;
		int r = grow_unfilled(table, at, table->n + room, sizeof(*entries));
		if (r < 0)
			return r;
		entries = table->data;
	}
	if (s->n == 1)
		entries[at] = s->at;
	else if (s->n > 1)
		memcpy(entries + at, entries + s->at, s->n * sizeof(*entries));
	memset(entries + at + s->n, 0, (room - s->n) * sizeof(*entries));
	if (s->n > 1) {
		unsigned before = size_of(s->n);
		entries[s->at] = d->free_entries[before];
		d->free_entries[before] = s->at + 1;
	}
	s->at = at;
	return 0;
}

static int set_successor(struct sp_dict_arrays *d, uint32_t after, uint32_t rank, uint32_t frame)
{
	struct sp_successors *s = (struct sp_successors *)d->successors.data + after;

	if (rank >= d->items[SP_FRAMES].n || rank >= INT32_MAX) /* more ranks than frames: crafted */
		return -EBADMSG;
	if (rank == 0 && s->n <= 1) {
		*s = (struct sp_successors){frame, 1};
		return 0;
	}
	if (s->n <= 1 || rank >= UINT32_C(1) << size_of(s->n)) {
		int r = successors_grow(d, s, rank + 1);
		if (r < 0)
			return r;
	}
	((uint32_t *)d->successor_table.data)[s->at + rank] = frame;
	s->n = SP_MAX(s->n, rank + 1);
	return 0;
}

/* For all frames that there are. */
static int successors_reserve(struct sp_dict_arrays *d)
{
	return grow_zeroed(&d->successors, d->items[SP_FRAMES].n, sizeof(struct sp_successors));
}

static uint32_t find_successor(const struct sp_dict_arrays *d, uint32_t after, uint32_t rank)
{
	const struct sp_successors *s = (const struct sp_successors *)d->successors.data + after;

	if (s->n == 1)
		return rank ? 0 : s->at;
	return rank < s->n ? ((const uint32_t *)d->successor_table.data)[s->at + rank] : 0;
}

/* Frame 0 is unknown and has no successors, except the root's. */
static bool has_successors(uint32_t parent, uint32_t after)
{
	return after != 0 || parent == 0;
}

/* In ascending order, so that successors are known before they are referred to. */
static int find_frames(struct sp_dict_arrays *d)
{
	const uint32_t *parents = d->items[SP_NODES].data;
	const struct sp_new_successor *new = d->new_successors.data;
	uint32_t *frames = d->frame_of.data;
	int r = 0;

	for (uint32_t i = 1; i < d->items[SP_NODES].n && r == 0; i++) {
		uint32_t lazy = frames[i], after = frames[parents[i]], number = lazy & (SP_FRAME_IS_NEW - 1);
		bool known = has_successors(parents[i], after);
		if ((lazy & SP_FRAME_IS_LAZY) == 0)
			continue;
		if ((lazy & SP_FRAME_IS_NEW) == 0) {
			frames[i] = known ? find_successor(d, after, number) : 0;
			continue;
		}
		frames[i] = new[number].frame;
		r = known ? set_successor(d, after, new[number].rank, frames[i]) : 0;
	}
	return r;
}

/* Keeps the first n items, of 4 bytes each, and frees the rest. */
static void truncate_items(struct sp_items *items, size_t n)
{
	void *data = realloc(items->data, n * sizeof(uint32_t));

	items->n = n;
	items->data = data ? data : items->data;
	items->capacity = data ? n : items->capacity;
}

static void items_free(struct sp_items *items)
{
	free(items->data);
	*items = (struct sp_items){0};
}

void sp_dict_forget_successors(struct sp_dict_arrays *d)
{
	items_free(&d->successors);
	items_free(&d->successor_table);
}

/* Moves the nodes within their arrays, since copies of large arrays would need memory. */
int sp_dict_narrow(struct sp_dict_arrays *d, const struct sp_subtree *subtree)
{
	uint32_t *parents = d->items[SP_NODES].data, *frames = d->frame_of.data, number = 0;

	for (uint32_t w = 0; w < subtree->n_words; w++)
		for (uint64_t bits = subtree->selected[w]; bits != 0; bits &= bits - 1, number++) {
			uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits);
			parents[number] = sp_subtree_find(subtree, parents[node]);
			frames[number] = frames[node];
		}
	truncate_items(&d->items[SP_NODES], number);
	truncate_items(&d->frame_of, number);
	int r = d->lazy ? successors_reserve(d) : 0;
	r = r < 0 || !d->lazy ? r : find_frames(d);
	sp_dict_forget_successors(d);
	items_free(&d->new_successors);
	sp_dict_update(d);
	return r;
}

/* Replaces ranks by what a lazy dictionary keeps: SP_FRAME_IS_LAZY and the rank, or an index. */
static bool encode_lazy_frames(struct sp_dict_arrays *d, uint32_t *ranks, size_t n, const uint32_t *new_frames,
			       size_t n_new)
{
	uint32_t n_frames = (uint32_t)d->items[SP_FRAMES].n, number = (uint32_t)d->new_successors.n;
	struct sp_new_successor *all = d->new_successors.data, *new = all ? all + number : NULL;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t rank = ranks[i] >> 1;
		if ((ranks[i] & 1) == 0) {
			ranks[i] = SP_MIN(rank, SP_FRAME_IS_NEW - 1) | SP_FRAME_IS_LAZY;
			continue;
		}
		if (at == n_new)
			return false;
		new[at] = (struct sp_new_successor){rank, new_frames[at] < n_frames ? new_frames[at] : 0};
		ranks[i] = (number + (uint32_t)at++) | SP_FRAME_IS_LAZY | SP_FRAME_IS_NEW;
	}
	d->new_successors.n += at;
	return at == n_new;
}

/* Replaces distances by parents. */
static bool find_parents(uint32_t first, uint32_t *distances, size_t n)
{
	bool bad = false;

	for (size_t i = 0; i < n; i++) {
		bad |= distances[i] - 1 >= first + (uint32_t)i; /* includes a distance of 0 */
		distances[i] = first + (uint32_t)i - distances[i];
	}
	return !bad;
}

/* Unpacks nodes from the record straight into their arrays. */
static int unpack_lazy_nodes(struct sp_dict_arrays *d, struct sp_unpacker *u, uint32_t first, size_t n)
{
	if (n == 0)
		return 0;
	uint32_t *parents = (uint32_t *)d->items[SP_NODES].data + first, *frames = (uint32_t *)d->frame_of.data + first;
	sp_unpack_u32(u, parents, n);
	sp_unpack_u32(u, frames, n);
	size_t n_new = sp_unpack_length(u);
	SP_FREE uint32_t *new_frames = malloc((n_new + 1) * sizeof(*new_frames));
	if (!new_frames)
		return -ENOMEM;
	sp_unpack_u32(u, new_frames, n_new);
	if (u->bad || d->new_successors.n + n_new >= SP_FRAME_IS_NEW || !find_parents(first, parents, n))
		return -EBADMSG;
	size_t number = d->new_successors.n;
	int r = grow_unfilled(&d->new_successors, number + n_new, number + n_new, sizeof(struct sp_new_successor));
	d->new_successors.n = number; /* until it is known that each has its node */
	return r < 0 || encode_lazy_frames(d, frames, n, new_frames, n_new) ? r : -EBADMSG;
}

/* Marks the nodes of an invalid chunk as lost. */
static void clear_nodes(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	struct sp_items *arrays[] = {&d->items[SP_NODES], &d->frame_of};

	for (size_t i = 0; i < SP_COUNT(arrays); i++) {
		size_t first = SP_MIN((size_t)c->first[SP_NODES], arrays[i]->n);
		size_t n = SP_MIN(c->items[SP_NODES].n, arrays[i]->n - first);
		memset((uint32_t *)arrays[i]->data + first, 0, n * sizeof(uint32_t));
	}
}

static int apply_nodes(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	const uint32_t *distances = c->items[SP_NODES].data, *ranks = c->ranks.data, *new_frames = c->new_frames.data;
	uint32_t *parents = d->items[SP_NODES].data, *frames = d->frame_of.data;
	uint32_t node = c->first[SP_NODES], n_frames = (uint32_t)d->items[SP_FRAMES].n;

	for (size_t i = 0; i < c->items[SP_NODES].n; i++, node++) {
		if (distances[i] == 0 || distances[i] > node)
			return -EBADMSG;
		uint32_t parent = node - distances[i], rank = ranks[i] >> 1, after = frames[parent], frame;
		if (i + AHEAD < c->items[SP_NODES].n) /* the parent of a branch may be far away */
			__builtin_prefetch(&frames[node + AHEAD - distances[i + AHEAD]]);
		bool known = has_successors(parent, after);
		if ((ranks[i] & 1) != 0) {
			frame = *new_frames < n_frames ? *new_frames : 0;
			new_frames++;
			int r = known ? set_successor(d, after, rank, frame) : 0;
			if (r < 0)
				return r;
		} else {
			frame = known ? find_successor(d, after, rank) : 0;
		}
		parents[node] = parent;
		frames[node] = frame;
	}
	return 0;
}

static bool has_valid_numbers(const struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++) {
		size_t n = c->items[i].n, first = c->first[i];
		if (n > 0 && (first == 0 || first > d->items[i].n + HOLE_MAX || first + n > UINT32_MAX))
			return false;
	}
	return true;
}

/* Nodes still in a record are all filled later, so they are not zeroed. */
static int reserve_items(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	bool fills = c->record && c->items[SP_NODES].n > 0;
	int r = has_valid_numbers(d, c) ? 0 : -EBADMSG;

	for (size_t i = 0; i < SP_N_DICT_KINDS && r == 0; i++) {
		size_t n = c->items[i].n, first = c->first[i];
		if (n > 0 && d->nodes_first && i != SP_NODES)
			d->items[i].n = SP_MAX(d->items[i].n, first + n);
		else if (n > 0)
			r = grow_unfilled(&d->items[i], fills && i == SP_NODES ? first : first + n, first + n,
					  item_bytes((enum sp_dict_kind)i));
	}
	size_t n_nodes = d->items[SP_NODES].n, n_filled = fills ? SP_MIN(c->first[SP_NODES], n_nodes) : n_nodes;
	r = r < 0 ? r : grow_unfilled(&d->frame_of, n_filled, n_nodes, sizeof(uint32_t));
	return r < 0 || d->lazy ? r : successors_reserve(d);
}

int sp_dict_apply(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	int r = (c->record != NULL) != d->lazy && c->items[SP_NODES].n > 0 ? -EINVAL : reserve_items(d, c);

	r = r < 0 || d->nodes_first ? r : apply_strings(d, c);
	if (r == 0 && !d->nodes_first) {
		apply_structs(d, c, SP_FILES);
		apply_structs(d, c, SP_FUNCS);
		apply_structs(d, c, SP_FRAMES);
		apply_structs(d, c, SP_GROUPS);
		apply_structs(d, c, SP_KEYS);
	}
	if (r == 0)
		r = d->lazy ? unpack_lazy_nodes(d, c->record, c->first[SP_NODES], c->items[SP_NODES].n)
			    : apply_nodes(d, c);
	if (r < 0 && d->lazy)
		clear_nodes(d, c);
	sp_dict_update(d);
	return r;
}

int sp_dict_reserve_nodes(struct sp_dict_arrays *d, size_t n)
{
	struct sp_items *nodes[] = {&d->items[SP_NODES], &d->frame_of};

	for (size_t i = 0; i < SP_COUNT(nodes); i++) {
		void *data =
		    n <= nodes[i]->capacity ? nodes[i]->data : reallocarray(nodes[i]->data, n, sizeof(uint32_t));
		if (!data)
			return -ENOMEM;
		nodes[i]->data = data;
		nodes[i]->capacity = SP_MAX(nodes[i]->capacity, n);
	}
	sp_dict_update(d);
	return 0;
}

int sp_dict_apply_keys_only(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	size_t n = c->items[SP_KEYS].n, first = c->first[SP_KEYS];

	if (n == 0)
		return 0;
	if (first == 0 || first > d->items[SP_KEYS].n || first + n > UINT32_MAX)
		return -EBADMSG;
	int r = grow_zeroed(&d->items[SP_KEYS], first + n, item_bytes(SP_KEYS));
	if (r == 0)
		memcpy((struct sp_dict_key *)d->items[SP_KEYS].data + first, c->items[SP_KEYS].data,
		       n * item_bytes(SP_KEYS));
	sp_dict_update(d);
	return r;
}

void sp_dict_check_keys(struct sp_dict_arrays *d)
{
	check_items(d, SP_KEYS, 0, d->items[SP_KEYS].n);
}
