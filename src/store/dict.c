/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { HOLE_MAX = 1 << 22, BYTES_MAX = 1 << 30, AHEAD = 24 };

static size_t bytes_each(enum sp_thing thing)
{
	return thing == SP_STRINGS ? sizeof(uint32_t) : sp_thing_bytes(thing);
}

/* At least n items, the new ones zeros; the room behind them is not touched, which would cost memory. */
static int reach(struct sp_items *items, size_t n, size_t each)
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
	memset((char *)items->data + items->n * each, 0, (n - items->n) * each);
	items->n = n;
	return 0;
}

static void hand_out(struct sp_dict_room *d)
{
	uint32_t *counts[SP_N_THINGS] = {&d->d.n_strings, &d->d.n_files,  &d->d.n_funcs, &d->d.n_frames,
					 &d->d.n_nodes,   &d->d.n_groups, &d->d.n_keys};

	for (size_t i = 0; i < SP_N_THINGS; i++)
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

int sp_dict_new(uint64_t day_s, uint64_t generation, struct sp_dict_room **ret_dict)
{
	struct sp_dict_room *d = calloc(1, sizeof(*d));
	int r = d == NULL ? -ENOMEM : reach(&d->bytes, 1, 1);

	for (size_t i = 0; i < SP_N_THINGS && r == 0; i++)
		r = reach(&d->items[i], 1, bytes_each((enum sp_thing)i));
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

void sp_dict_free(struct sp_dict_room *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < SP_N_THINGS; i++)
		free(d->items[i].data);
	free(d->bytes.data);
	free(d->frame_of.data);
	free(d->successors.data);
	free(d->successor_table.data);
	free(d);
}

size_t sp_dict_memory(const struct sp_dict_room *d)
{
	size_t bytes = sizeof(*d) + d->bytes.capacity + d->frame_of.capacity * sizeof(uint32_t) +
		       d->successors.capacity * sizeof(struct sp_successors) +
		       d->successor_table.capacity * sizeof(uint32_t);

	for (size_t i = 0; i < SP_N_THINGS; i++)
		bytes += d->items[i].capacity * bytes_each((enum sp_thing)i);
	return bytes;
}

bool sp_dict_misses(const struct sp_dict_room *d, const struct sp_chunk *c)
{
	for (size_t i = 0; i < SP_N_THINGS; i++)
		if (c->items[i].n > 0 && c->first[i] > d->items[i].n)
			return true;
	return false;
}

/* --- what items refer to --------------------------------------------------------------------------------------------
 */
static void check(const struct sp_dict_room *d, enum sp_thing thing, uint32_t *number)
{
	if (*number >= d->items[thing].n)
		*number = 0;
}

static void check_file(const struct sp_dict_room *d, void *item)
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

static void check_func(const struct sp_dict_room *d, void *item)
{
	struct sp_func *f = item;

	check(d, SP_STRINGS, &f->name);
	check(d, SP_STRINGS, &f->linkage_name);
	check(d, SP_STRINGS, &f->source);
	check(d, SP_FILES, &f->file);
}

static void check_frame(const struct sp_dict_room *d, void *item)
{
	struct sp_dict_frame *f = item;

	check(d, SP_FUNCS, &f->func);
	check(d, SP_FILES, &f->file);
}

static void check_group(const struct sp_dict_room *d, void *item)
{
	struct sp_dict_group *g = item;

	check(d, SP_FILES, &g->exe);
	check(d, SP_STRINGS, &g->comm);
	check(d, SP_STRINGS, &g->cgroup_path);
	check(d, SP_STRINGS, &g->container);
}

static void check_key(const struct sp_dict_room *d, void *item)
{
	struct sp_dict_key *k = item;

	check(d, SP_GROUPS, &k->group);
	check(d, SP_STRINGS, &k->thread);
}

static void (*const checks[SP_N_THINGS])(const struct sp_dict_room *d, void *item) = {
    [SP_FILES] = check_file,   [SP_FUNCS] = check_func, [SP_FRAMES] = check_frame,
    [SP_GROUPS] = check_group, [SP_KEYS] = check_key,
};

static int apply_strings(struct sp_dict_room *d, const struct sp_chunk *c)
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

static void apply_structs(struct sp_dict_room *d, const struct sp_chunk *c, enum sp_thing thing)
{
	size_t each = bytes_each(thing), n = c->items[thing].n;
	char *at = (char *)d->items[thing].data + c->first[thing] * each;

	if (n == 0)
		return;
	memcpy(at, c->items[thing].data, n * each);
	for (size_t i = 0; i < n; i++)
		checks[thing](d, at + i * each);
}

/* --- nodes ---------------------------------------------------------------------------------------------------------
 */
static int set_successor(struct sp_dict_room *d, uint32_t of, uint32_t rank, uint32_t frame)
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

static uint32_t successor(const struct sp_dict_room *d, uint32_t of, uint32_t rank)
{
	const struct sp_successors *s = (const struct sp_successors *)d->successors.data + of;

	return rank < s->n ? ((const uint32_t *)d->successor_table.data)[s->at + rank] : 0;
}

/* What follows an unknown frame teaches nothing, and is not known; what follows the root's 0 is. */
static bool knows_successors(uint32_t parent, uint32_t of)
{
	return of != 0 || parent == 0;
}

static void find_frame(const struct sp_dict_room *d, uint32_t node)
{
	const uint32_t *parents = d->items[SP_NODES].data;
	uint32_t *frames = d->frame_of.data, of = frames[parents[node]];

	if ((frames[node] & SP_FRAME_LAZY) == 0)
		return;
	bool known = (of & SP_FRAME_LAZY) == 0 && knows_successors(parents[node], of);
	frames[node] = known ? successor(d, of, frames[node] & ~SP_FRAME_LAZY) : 0;
}

uint32_t sp_dict_frame_of(struct sp_dict_room *d, uint32_t node)
{
	const uint32_t *parents = d->items[SP_NODES].data;
	uint32_t *frames = d->frame_of.data, path[64];
	size_t n = 0;

	for (uint32_t at = node; (frames[at] & SP_FRAME_LAZY) != 0 && n < SP_COUNT(path); at = parents[at])
		path[n++] = at;
	if (n == SP_COUNT(path)) /* deep: all of them in their order, once */
		for (; d->found_to < node; d->found_to++)
			find_frame(d, d->found_to + 1);
	while (n-- > 0)
		find_frame(d, path[n]);
	return frames[node];
}

uint32_t sp_dict_frame_after(const struct sp_dict_room *d, uint32_t node, uint32_t of)
{
	const uint32_t *frames = d->frame_of.data, *parents = d->items[SP_NODES].data;

	if ((frames[node] & SP_FRAME_LAZY) == 0)
		return frames[node];
	return knows_successors(parents[node], of) ? successor(d, of, frames[node] & ~SP_FRAME_LAZY) : 0;
}

static int apply_nodes(struct sp_dict_room *d, const struct sp_chunk *c)
{
	const uint32_t *distances = c->items[SP_NODES].data, *ranks = c->ranks.data, *fresh = c->fresh.data;
	uint32_t *parents = d->items[SP_NODES].data, *frames = d->frame_of.data;
	uint32_t node = c->first[SP_NODES], n_frames = (uint32_t)d->items[SP_FRAMES].n;

	for (size_t i = 0; i < c->items[SP_NODES].n; i++, node++) {
		if (distances[i] == 0 || distances[i] > node)
			return -EBADMSG;
		uint32_t parent = node - distances[i], rank = ranks[i] >> 1, frame;
		if (i + AHEAD < c->items[SP_NODES].n) /* a branch's beginning may be anywhere */
			__builtin_prefetch(&frames[node + AHEAD - distances[i + AHEAD]]);
		if ((ranks[i] & 1) != 0) {
			uint32_t of = sp_dict_frame_of(d, parent);
			frame = *fresh < n_frames ? *fresh : 0;
			fresh++;
			int r = knows_successors(parent, of) ? set_successor(d, of, rank, frame) : 0;
			if (r < 0)
				return r;
		} else if (d->lazy) {
			frame = rank | SP_FRAME_LAZY;
		} else {
			frame = knows_successors(parent, frames[parent]) ? successor(d, frames[parent], rank) : 0;
		}
		parents[node] = parent;
		frames[node] = frame;
	}
	return 0;
}

static int make_room(struct sp_dict_room *d, const struct sp_chunk *c)
{
	for (size_t i = 0; i < SP_N_THINGS; i++) {
		size_t n = c->items[i].n, first = c->first[i];
		if (n == 0)
			continue;
		if (first == 0 || first > d->items[i].n + HOLE_MAX || first + n > UINT32_MAX)
			return -EBADMSG;
		int r = reach(&d->items[i], first + n, bytes_each((enum sp_thing)i));
		if (r < 0)
			return r;
	}
	int r = reach(&d->frame_of, d->items[SP_NODES].n, sizeof(uint32_t));
	return r < 0 ? r : reach(&d->successors, d->items[SP_FRAMES].n, sizeof(struct sp_successors));
}

int sp_dict_apply(struct sp_dict_room *d, const struct sp_chunk *c)
{
	int r = make_room(d, c);

	r = r < 0 ? r : apply_strings(d, c);
	if (r == 0) {
		apply_structs(d, c, SP_FILES);
		apply_structs(d, c, SP_FUNCS);
		apply_structs(d, c, SP_FRAMES);
		apply_structs(d, c, SP_GROUPS);
		apply_structs(d, c, SP_KEYS);
		r = apply_nodes(d, c);
	}
	hand_out(d);
	return r;
}

int sp_dict_apply_keys(struct sp_dict_room *d, const struct sp_chunk *c)
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

void sp_dict_check_keys(struct sp_dict_room *d)
{
	for (size_t i = 0; i < d->items[SP_KEYS].n; i++)
		check_key(d, (struct sp_dict_key *)d->items[SP_KEYS].data + i);
}
