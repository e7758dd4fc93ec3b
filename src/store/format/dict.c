/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { HOLE_MAX = 1 << 22, BYTES_MAX = 1 << 30, AHEAD = 24 };

static size_t bytes_each(enum sp_dict_kind thing)
{
	return thing == SP_STRINGS ? sizeof(uint32_t) : sp_dict_kind_bytes(thing);
}

/* At least n items; those from `first` on are the caller's to fill. */
static int reach_unfilled(struct sp_items *items, size_t first, size_t n, size_t each)
{
	if (n <= items->n)
		return 0;
	if (n > items->capacity) {
		size_t capacity = SP_MAX(n, items->capacity + items->capacity / 2);
		void *data = reallocarray(items->data, capacity, each);
		if (data == NULL)
			return -ENOMEM;
		items->data = data;
		items->capacity = capacity;
	}
	if (items->n < first)
		memset((char *)items->data + items->n * each, 0, (SP_MIN(first, n) - items->n) * each);
	items->n = n;
	return 0;
}

/* The new ones zeros; the room behind them is not touched, which would cost memory. */
static int reach(struct sp_items *items, size_t n, size_t each)
{
	return reach_unfilled(items, n, n, each);
}

static void hand_out(struct sp_dict_arrays *d)
{
	uint32_t *counts[SP_N_DICT_KINDS] = {&d->d.n_strings, &d->d.n_files,  &d->d.n_funcs, &d->d.n_frames,
					     &d->d.n_nodes,   &d->d.n_groups, &d->d.n_keys};

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		*counts[i] = (uint32_t)d->items[i].n;
	d->d.string_at = d->items[SP_STRINGS].data;
	d->d.bytes = d->bytes.data;
	d->d.files = d->items[SP_FILES].data;
	d->d.funcs = d->items[SP_FUNCS].data;
	d->d.frames = d->items[SP_FRAMES].data;
	d->d.parent = d->items[SP_NODES].data;
	d->d.frame = d->frame_of.data;
	d->d.groups = d->items[SP_GROUPS].data;
	d->d.keys = d->items[SP_KEYS].data;
}

int sp_dict_new(uint64_t day_s, uint64_t generation, struct sp_dict_arrays **ret_dict)
{
	struct sp_dict_arrays *d = calloc(1, sizeof(*d));
	int r = d == NULL ? -ENOMEM : reach(&d->bytes, 1, 1);

	for (size_t i = 0; i < SP_N_DICT_KINDS && r == 0; i++)
		r = reach(&d->items[i], 1, bytes_each((enum sp_dict_kind)i));
	r = r < 0 ? r : reach(&d->frame_of, 1, sizeof(uint32_t));
	r = r < 0 ? r : reach(&d->successors, 1, sizeof(struct sp_successors));
	if (r < 0) {
		sp_dict_free(d);
		return r;
	}
	d->d.day_s = day_s, d->d.generation = generation;
	hand_out(d);
	*ret_dict = d;
	return 0;
}

void sp_dict_free(struct sp_dict_arrays *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		free(d->items[i].data);
	free(d->bytes.data);
	free(d->frame_of.data);
	free(d->successors.data);
	free(d->successor_table.data);
	free(d->news.data);
	free(d);
}

size_t sp_dict_memory(const struct sp_dict_arrays *d)
{
	size_t bytes = sizeof(*d) + d->bytes.capacity + d->frame_of.capacity * sizeof(uint32_t) +
		       d->successors.capacity * sizeof(struct sp_successors) +
		       d->successor_table.capacity * sizeof(uint32_t) + d->news.capacity * sizeof(struct sp_news);

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		bytes += d->items[i].capacity * bytes_each((enum sp_dict_kind)i);
	return bytes;
}

bool sp_dict_misses(const struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		if (c->items[i].n > 0 && c->first[i] > d->items[i].n)
			return true;
	return false;
}

/* --- what items refer to --- */
static void check(const struct sp_dict_arrays *d, enum sp_dict_kind thing, uint32_t *number)
{
	if (*number >= d->items[thing].n)
		*number = 0;
}

static void check_file(const struct sp_dict_arrays *d, void *item)
{
	struct sp_file *f = item;

	check(d, SP_STRINGS, &f->name);
	check(d, SP_STRINGS, &f->path);
	check(d, SP_STRINGS, &f->package);
	check(d, SP_STRINGS, &f->package_version);
	check(d, SP_STRINGS, &f->build_id_text);
	check(d, SP_STRINGS, &f->note);
	if (f->build_id_len > SP_BUILD_ID_MAX)
		f->build_id_len = 0;
}

static void check_func(const struct sp_dict_arrays *d, void *item)
{
	struct sp_func *f = item;

	check(d, SP_STRINGS, &f->name);
	check(d, SP_STRINGS, &f->linkage_name);
	check(d, SP_STRINGS, &f->source);
	check(d, SP_FILES, &f->file);
}

static void check_frame(const struct sp_dict_arrays *d, void *item)
{
	struct sp_dict_frame *f = item;

	check(d, SP_FUNCS, &f->func);
	check(d, SP_FILES, &f->file);
}

static void check_group(const struct sp_dict_arrays *d, void *item)
{
	struct sp_dict_group *g = item;

	check(d, SP_FILES, &g->exe);
	check(d, SP_STRINGS, &g->comm);
	check(d, SP_STRINGS, &g->cgroup_path);
	check(d, SP_STRINGS, &g->container);
	check(d, SP_STRINGS, &g->root);
}

static void check_key(const struct sp_dict_arrays *d, void *item)
{
	struct sp_dict_key *k = item;

	check(d, SP_GROUPS, &k->group);
	check(d, SP_STRINGS, &k->thread);
}

static void (*const checks[SP_N_DICT_KINDS])(const struct sp_dict_arrays *d, void *item) = {
    [SP_FILES] = check_file,   [SP_FUNCS] = check_func, [SP_FRAMES] = check_frame,
    [SP_GROUPS] = check_group, [SP_KEYS] = check_key,
};

static int apply_strings(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	const uint32_t *lengths = c->items[SP_STRINGS].data;
	size_t at = d->bytes.n;

	if (c->bytes.n > BYTES_MAX - at)
		return -EBADMSG;
	int r = reach(&d->bytes, at + c->bytes.n, 1);
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

static void apply_structs(struct sp_dict_arrays *d, const struct sp_chunk *c, enum sp_dict_kind thing)
{
	size_t each = bytes_each(thing), n = c->items[thing].n;
	char *at = (char *)d->items[thing].data + c->first[thing] * each;

	if (n == 0)
		return;
	memcpy(at, c->items[thing].data, n * each);
	for (size_t i = 0; i < n; i++)
		checks[thing](d, at + i * each);
}

/* --- nodes --- */
static int set_successor(struct sp_dict_arrays *d, uint32_t of, uint32_t rank, uint32_t frame)
{
	struct sp_successors *s = (struct sp_successors *)d->successors.data + of;
	struct sp_items *table = &d->successor_table;

	if (rank >= d->items[SP_FRAMES].n) /* more than there are frames: crafted */
		return -EBADMSG;
	if (rank >= s->capacity) {
		uint32_t capacity = SP_MAX(rank + 1, s->capacity + s->capacity / 2), at = (uint32_t)table->n;
		if (table->n + capacity > UINT32_MAX)
			return -EBADMSG;
		int r = reach(table, table->n + capacity, sizeof(uint32_t));
		if (r < 0)
			return r;
		if (s->n > 0)
			memcpy((uint32_t *)table->data + at, (uint32_t *)table->data + s->at, s->n * sizeof(uint32_t));
		s->at = at;
		s->capacity = capacity;
	}
	((uint32_t *)table->data)[s->at + rank] = frame;
	s->n = SP_MAX(s->n, rank + 1);
	return 0;
}

static uint32_t successor(const struct sp_dict_arrays *d, uint32_t of, uint32_t rank)
{
	const struct sp_successors *s = (const struct sp_successors *)d->successors.data + of;

	return rank < s->n ? ((const uint32_t *)d->successor_table.data)[s->at + rank] : 0;
}

/* What follows an unknown frame teaches nothing, and is not known; what follows the root's 0 is. */
static bool knows_successors(uint32_t parent, uint32_t of)
{
	return of != 0 || parent == 0;
}

/* By rising number: what comes after a frame is known by then. */
static int find_frames(struct sp_dict_arrays *d)
{
	const uint32_t *parents = d->items[SP_NODES].data;
	const struct sp_news *news = d->news.data;
	uint32_t *frames = d->frame_of.data;
	int r = 0;

	for (uint32_t i = 1; i < d->items[SP_NODES].n && r == 0; i++) {
		uint32_t kept = frames[i], of = frames[parents[i]], number = kept & (SP_FRAME_NEWS - 1);
		bool known = knows_successors(parents[i], of);
		if ((kept & SP_FRAME_LAZY) == 0)
			continue;
		if ((kept & SP_FRAME_NEWS) == 0) {
			frames[i] = known ? successor(d, of, number) : 0;
			continue;
		}
		frames[i] = news[number].frame;
		r = known ? set_successor(d, of, news[number].rank, frames[i]) : 0;
	}
	return r;
}

/* What is behind the first n items goes back. */
static void cut_off(struct sp_items *items, size_t n)
{
	void *data = realloc(items->data, n * sizeof(uint32_t));

	items->n = n;
	items->data = data != NULL ? data : items->data;
	items->capacity = data != NULL ? n : items->capacity;
}

/* They move down in their own order: large arrays are not made twice. */
int sp_dict_narrow(struct sp_dict_arrays *d, const struct sp_subtree *part)
{
	uint32_t *parents = d->items[SP_NODES].data, *frames = d->frame_of.data, number = 0;

	for (uint32_t w = 0; w < part->n_words; w++)
		for (uint64_t bits = part->touched[w]; bits != 0; bits &= bits - 1, number++) {
			uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits);
			parents[number] = sp_subtree_of(part, parents[node]);
			frames[number] = frames[node];
		}
	cut_off(&d->items[SP_NODES], number);
	cut_off(&d->frame_of, number);
	int r = find_frames(d);
	hand_out(d);
	return r;
}

/* The new nodes' ranks become what a lazy dictionary keeps: the rank, or where the news are. */
static bool keep_ranks(struct sp_dict_arrays *d, uint32_t first, uint32_t *ranks, size_t n, const uint32_t *fresh,
		       size_t n_fresh)
{
	uint32_t n_frames = (uint32_t)d->items[SP_FRAMES].n, number = (uint32_t)d->news.n;
	struct sp_news *news = (struct sp_news *)d->news.data + number;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t rank = ranks[i] >> 1;
		if ((ranks[i] & 1) == 0) {
			ranks[i] = SP_MIN(rank, SP_FRAME_NEWS - 1) | SP_FRAME_LAZY;
			continue;
		}
		if (at == n_fresh)
			return false;
		news[at] = (struct sp_news){first + (uint32_t)i, rank, fresh[at] < n_frames ? fresh[at] : 0};
		ranks[i] = (number + (uint32_t)at++) | SP_FRAME_LAZY | SP_FRAME_NEWS;
	}
	d->news.n += at;
	return at == n_fresh;
}

/* Distances become parents. */
static bool find_parents(uint32_t first, uint32_t *distances, size_t n)
{
	bool bad = false;

	for (size_t i = 0; i < n; i++) {
		bad |= distances[i] - 1 >= first + (uint32_t)i; /* 0, too */
		distances[i] = first + (uint32_t)i - distances[i];
	}
	return !bad;
}

/* From the record to where they stay. */
static int take_nodes(struct sp_dict_arrays *d, struct sp_unpacker *u, uint32_t first, size_t n)
{
	if (n == 0)
		return 0;
	uint32_t *parents = (uint32_t *)d->items[SP_NODES].data + first, *frames = (uint32_t *)d->frame_of.data + first;
	sp_unpack_u32(u, parents, n);
	sp_unpack_u32(u, frames, n);
	size_t n_fresh = sp_unpack_length(u);
	SP_FREE uint32_t *fresh = malloc((n_fresh + 1) * sizeof(*fresh));
	if (fresh == NULL)
		return -ENOMEM;
	sp_unpack_u32(u, fresh, n_fresh);
	if (u->bad || d->news.n + n_fresh >= SP_FRAME_NEWS || !find_parents(first, parents, n))
		return -EBADMSG;
	int r = sp_grow(&d->news.data, &d->news.capacity, d->news.n + n_fresh + 1, sizeof(struct sp_news));
	return r < 0 || keep_ranks(d, first, frames, n, fresh, n_fresh) ? r : -EBADMSG;
}

/* What cannot be is as if it was lost. */
static void lose_nodes(struct sp_dict_arrays *d, const struct sp_chunk *c)
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
	const uint32_t *distances = c->items[SP_NODES].data, *ranks = c->ranks.data, *fresh = c->fresh.data;
	uint32_t *parents = d->items[SP_NODES].data, *frames = d->frame_of.data;
	uint32_t node = c->first[SP_NODES], n_frames = (uint32_t)d->items[SP_FRAMES].n;

	for (size_t i = 0; i < c->items[SP_NODES].n; i++, node++) {
		if (distances[i] == 0 || distances[i] > node)
			return -EBADMSG;
		uint32_t parent = node - distances[i], rank = ranks[i] >> 1, of = frames[parent], frame;
		if (i + AHEAD < c->items[SP_NODES].n) /* a branch's beginning may be anywhere */
			__builtin_prefetch(&frames[node + AHEAD - distances[i + AHEAD]]);
		bool known = knows_successors(parent, of);
		if ((ranks[i] & 1) != 0) {
			frame = *fresh < n_frames ? *fresh : 0;
			fresh++;
			int r = known ? set_successor(d, of, rank, frame) : 0;
			if (r < 0)
				return r;
		} else {
			frame = known ? successor(d, of, rank) : 0;
		}
		parents[node] = parent;
		frames[node] = frame;
	}
	return 0;
}

static bool may_follow(const struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++) {
		size_t n = c->items[i].n, first = c->first[i];
		if (n > 0 && (first == 0 || first > d->items[i].n + HOLE_MAX || first + n > UINT32_MAX))
			return false;
	}
	return true;
}

/* Nodes in a record are filled in whole, and need no zeros before. */
static int make_room(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	bool fills = c->record != NULL && c->items[SP_NODES].n > 0;
	int r = may_follow(d, c) ? 0 : -EBADMSG;

	for (size_t i = 0; i < SP_N_DICT_KINDS && r == 0; i++) {
		size_t n = c->items[i].n, first = c->first[i];
		if (n > 0)
			r = reach_unfilled(&d->items[i], fills && i == SP_NODES ? first : first + n, first + n,
					   bytes_each((enum sp_dict_kind)i));
	}
	size_t n_nodes = d->items[SP_NODES].n, n_filled = fills ? SP_MIN(c->first[SP_NODES], n_nodes) : n_nodes;
	r = r < 0 ? r : reach_unfilled(&d->frame_of, n_filled, n_nodes, sizeof(uint32_t));
	return r < 0 ? r : reach(&d->successors, d->items[SP_FRAMES].n, sizeof(struct sp_successors));
}

int sp_dict_apply(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	int r = (c->record != NULL) != d->lazy && c->items[SP_NODES].n > 0 ? -EINVAL : make_room(d, c);

	r = r < 0 ? r : apply_strings(d, c);
	if (r == 0) {
		apply_structs(d, c, SP_FILES);
		apply_structs(d, c, SP_FUNCS);
		apply_structs(d, c, SP_FRAMES);
		apply_structs(d, c, SP_GROUPS);
		apply_structs(d, c, SP_KEYS);
		r = d->lazy ? take_nodes(d, c->record, c->first[SP_NODES], c->items[SP_NODES].n) : apply_nodes(d, c);
	}
	if (r < 0 && d->lazy)
		lose_nodes(d, c);
	hand_out(d);
	return r;
}

int sp_dict_reserve_nodes(struct sp_dict_arrays *d, size_t n)
{
	struct sp_items *nodes[] = {&d->items[SP_NODES], &d->frame_of};

	for (size_t i = 0; i < SP_COUNT(nodes); i++) {
		void *data =
		    n <= nodes[i]->capacity ? nodes[i]->data : reallocarray(nodes[i]->data, n, sizeof(uint32_t));
		if (data == NULL)
			return -ENOMEM;
		nodes[i]->data = data;
		nodes[i]->capacity = SP_MAX(nodes[i]->capacity, n);
	}
	hand_out(d);
	return 0;
}

int sp_dict_apply_keys(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	size_t n = c->items[SP_KEYS].n, first = c->first[SP_KEYS];

	if (n == 0)
		return 0;
	if (first == 0 || first > d->items[SP_KEYS].n || first + n > UINT32_MAX)
		return -EBADMSG;
	int r = reach(&d->items[SP_KEYS], first + n, bytes_each(SP_KEYS));
	if (r == 0)
		memcpy((struct sp_dict_key *)d->items[SP_KEYS].data + first, c->items[SP_KEYS].data,
		       n * bytes_each(SP_KEYS));
	hand_out(d);
	return r;
}

void sp_dict_check_keys(struct sp_dict_arrays *d)
{
	for (size_t i = 0; i < d->items[SP_KEYS].n; i++)
		check_key(d, (struct sp_dict_key *)d->items[SP_KEYS].data + i);
}
