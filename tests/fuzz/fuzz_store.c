/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_store.c: any bytes as a record of a store's day file, or as the columns of one.
 *
 * The first byte says what it is taken for. A record's head and checksum are set right, since nothing else would come
 * past them; as columns the bytes are packed first, so that what lies behind the compression is reached. Whatever comes
 * out must name only what there is: the numbers of a dictionary, and parents below their children.
 */
#include "require.h"
#include "store/format/chart.h"
#include "store/format/dict_pick.h"
#include "store/format/pruned_tree.h"
#include "store/format/sums.h"
#include "store/format/window.h"
#include <string.h>
#include <zlib.h>

enum { HEAD_BYTES = 8, COPY_MAX = 1 << 16 };

static const uint64_t place[2] = {7, 9};

static void check_dict(const struct sp_dict *d)
{
	for (uint32_t i = 1; i < d->n_nodes; i++)
		require(d->parent[i] < i && d->frame[i] < d->n_frames);
	for (uint32_t i = 0; i < d->n_frames; i++)
		require(d->frames[i].func < d->n_funcs && d->frames[i].file < d->n_files);
	for (uint32_t i = 0; i < d->n_funcs; i++)
		require(strlen(sp_dict_string(d, d->funcs[i].name)) < COPY_MAX && d->funcs[i].file < d->n_files);
	for (uint32_t i = 0; i < d->n_files; i++)
		require(d->files[i].build_id_len <= SP_BUILD_ID_MAX && d->files[i].path < d->n_strings);
	for (uint32_t i = 0; i < d->n_keys; i++)
		require(d->keys[i].group < d->n_groups && d->keys[i].thread < d->n_strings);
	for (uint32_t i = 0; i < d->n_groups; i++)
		require(d->groups[i].exe < d->n_files && d->groups[i].comm < d->n_strings);
}

/* Frames that are looked for later are those that are looked for at once. */
static void check_lazy(const void *record, size_t len, const struct sp_dict *whole)
{
	struct sp_chunk c = {.nodes_in_record = true};
	struct sp_dict_arrays *d = NULL;
	struct sp_unpacker u;

	if (sp_unpack_begin(&u, SP_RECORD_CHUNK, place, record, len) < 0)
		return;
	require(sp_chunk_unpack(&c, &u) == 0);
	if (sp_dict_new(0, 1, &d) == 0) {
		d->lazy = true;
		struct sp_subtree all = {0};
		require(sp_dict_apply(d, &c) == 0 && d->dict.n_nodes == whole->n_nodes);
		if (sp_subtree_init(&all, d->dict.n_nodes) == 0) {
			for (uint32_t i = 0; i < d->dict.n_nodes; i++)
				sp_subtree_select(&all, i);
			sp_subtree_number_with_ancestors(&all, d->dict.parent, 1);
			require(sp_dict_narrow(d, &all) == 0 && d->dict.n_nodes == whole->n_nodes);
			require(memcmp(d->dict.frame, whole->frame, whole->n_nodes * sizeof(*whole->frame)) == 0);
			require(memcmp(d->dict.parent, whole->parent, whole->n_nodes * sizeof(*whole->parent)) == 0);
		}
		sp_subtree_done(&all);
	}
	sp_dict_free(d);
	sp_chunk_done(&c);
	sp_unpack_done(&u);
}

static bool is_same_text(const struct sp_dict *a, uint32_t string, const struct sp_dict *b, uint32_t other)
{
	return strcmp(sp_dict_string(a, string), sp_dict_string(b, other)) == 0;
}

static bool is_same_frame(const struct sp_dict *a, uint32_t frame, const struct sp_dict *b, uint32_t other)
{
	const struct sp_dict_frame *f = &a->frames[frame], *g = &b->frames[other];
	const struct sp_func *func = &a->funcs[f->func], *of = &b->funcs[g->func];

	return f->offset == g->offset && f->flags == g->flags && f->mark == g->mark && f->reason == g->reason &&
	       is_same_text(a, func->name, b, of->name) && is_same_text(a, func->source, b, of->source) &&
	       is_same_text(a, a->files[func->file].path, b, b->files[of->file].path) &&
	       is_same_text(a, a->files[f->file].path, b, b->files[g->file].path);
}

static bool is_same_key(const struct sp_dict *a, uint32_t key, const struct sp_dict *b, uint32_t other)
{
	const struct sp_dict_key *k = &a->keys[key], *l = &b->keys[other];

	return k->pid == l->pid && k->start_ns == l->start_ns && is_same_text(a, k->thread, b, l->thread) &&
	       is_same_text(a, a->groups[k->group].comm, b, b->groups[l->group].comm);
}

enum { EACH_NODE = 3, EACH_KEY = 2 };

/* Of the nodes in d, some, and what they and some keys need. 0: it is there. */
static int pick(struct sp_dict_arrays *d, struct sp_dict_pick *p, const void *record, size_t len)
{
	struct sp_chunk c = {.skip_nodes = true, .keys = &p->needed[SP_KEYS]};
	struct sp_unpacker u;
	int r = sp_dict_pick_begin(p, d);

	for (uint32_t key = 1; r == 0 && key < d->dict.n_keys; key += EACH_KEY)
		sp_dict_pick_key(p, key);
	if (r == 0)
		r = sp_unpack_begin(&u, SP_RECORD_CHUNK, place, record, len);
	if (r < 0)
		return r;
	r = sp_chunk_unpack(&c, &u);
	if (r == 0)
		r = sp_dict_pick_take(p, &c);
	if (r == 0)
		r = sp_dict_pick_end(p);
	sp_chunk_done(&c);
	sp_unpack_done(&u);
	return r;
}

static void check_same(const struct sp_dict *d, const struct sp_dict_pick *p, const struct sp_subtree *some,
		       const struct sp_dict *whole)
{
	for (uint32_t i = 0; i < whole->n_nodes; i++)
		if (some->selected[i / 64] >> i % 64 & 1)
			require(is_same_frame(whole, whole->frame[i], d, d->frame[sp_subtree_find(some, i)]));
	for (uint32_t key = 1; key < whole->n_keys; key += EACH_KEY)
		require(is_same_key(whole, key, d, sp_dict_pick_number(p, SP_KEYS, key)));
}

/* Nodes first, and then what some of them need, is what a reading of all has. whole: NULL: that failed. */
static void check_picked(const void *record, size_t len, const struct sp_dict *whole, bool has_hole)
{
	struct sp_chunk c = {.only_nodes = true};
	struct sp_dict_arrays *d = NULL;
	struct sp_dict_pick p = {0};
	struct sp_subtree some = {0};
	struct sp_unpacker u;

	if (sp_unpack_begin(&u, SP_RECORD_CHUNK, place, record, len) < 0 || sp_dict_new(0, 1, &d) < 0)
		return;
	d->nodes_first = true;
	bool has_nodes = sp_chunk_unpack(&c, &u) == 0 && sp_dict_apply(d, &c) == 0;
	sp_chunk_done(&c);
	sp_unpack_done(&u);
	require(has_nodes || !whole);
	if (has_nodes && sp_subtree_init(&some, d->dict.n_nodes) == 0) {
		for (uint32_t i = 0; i < d->dict.n_nodes; i += EACH_NODE)
			sp_subtree_select(&some, i);
		sp_subtree_number_with_ancestors(&some, d->dict.parent, 1);
		bool is_there = sp_dict_narrow(d, &some) == 0 && pick(d, &p, record, len) == 0;
		require(is_there || !whole || has_hole);
		if (is_there)
			check_dict(&d->dict);
		if (is_there && whole)
			check_same(&d->dict, &p, &some, whole);
	}
	sp_subtree_done(&some);
	sp_dict_pick_done(&p);
	sp_dict_free(d);
}

static void use_chunk(const void *record, size_t len)
{
	static const uint32_t first[SP_N_DICT_KINDS];
	struct sp_dict_arrays *d;
	struct sp_chunk c = {0};
	struct sp_unpacker u;

	if (sp_unpack_begin(&u, SP_RECORD_CHUNK, place, record, len) < 0)
		return;
	sp_chunk_clear(&c, first);
	bool is_valid = sp_chunk_unpack(&c, &u) == 0, has_hole = false;
	size_t most = 0; /* a hole before it is allowed, but takes memory */
	for (int i = 0; i < SP_N_DICT_KINDS; i++) {
		most = most < c.first[i] ? c.first[i] : most;
		has_hole = has_hole || (c.items[i].n > 0 && c.first[i] > 1);
	}
	if (most < COPY_MAX && sp_dict_new(0, 1, &d) == 0) {
		bool applied = is_valid && sp_dict_apply(d, &c) == 0;
		check_dict(&d->dict);
		if (applied)
			check_lazy(record, len, &d->dict);
		check_picked(record, len, applied ? &d->dict : NULL, has_hole);
		sp_dict_free(d);
	}
	sp_chunk_done(&c);
	sp_unpack_done(&u);
}

static void use_rows(const void *record, size_t len)
{
	struct sp_window_rows r = {0};

	if (sp_window_rows_unpack(&r, (struct sp_window_id){place[0], place[1]}, record, len) == 0) {
		require(r.n_values <= SP_MAX_VALUES && r.n <= r.capacity);
		uint32_t n = r.n;
		require(sp_window_rows_sort(&r) < 0 || r.n <= n);
	}
	sp_window_rows_done(&r);
}

static void use_sums(const void *record, size_t len)
{
	struct sp_sums s = {0};
	struct sp_unpacker u;

	if (sp_unpack_begin(&u, SP_RECORD_TOTALS, place, record, len) < 0)
		return;
	(void)sp_sums_unpack(&s, &u);
	sp_sums_done(&s);
	sp_unpack_done(&u);
}

static void use_tree(const void *record, size_t len)
{
	struct sp_window_rows rows = {0};
	struct sp_dict_arrays *d;
	struct sp_unpacker u;
	struct sp_tree_merge g, pruned;
	uint64_t up_to;

	if (sp_unpack_begin(&u, SP_RECORD_TREE, place, record, len) < 0)
		return;
	if (sp_tree_unpack(&u, 0, 1, &d, &rows, &up_to) == 0) {
		check_dict(&d->dict);
		for (uint32_t i = 0; i < rows.n; i++)
			rows.node[i] = rows.node[i] < d->dict.n_nodes ? rows.node[i] : 0;
		if (sp_tree_merge_init(&g) == 0 && rows.n_values > 0 &&
		    sp_tree_merge_add_record(&g, &d->dict, &rows) == 0 && sp_tree_merge_prune(&g, &pruned) == 0)
			sp_tree_merge_done(&pruned);
		sp_tree_merge_done(&g);
		sp_dict_free(d);
	}
	sp_window_rows_done(&rows);
	sp_unpack_done(&u);
}

static void use_chart(const void *record, size_t len)
{
	struct sp_chart_read c = {0};
	struct sp_unpacker u;

	if (sp_unpack_begin(&u, SP_RECORD_CHART, place, record, len) < 0)
		return;
	if (sp_chart_unpack(&u, 0, &c) == 0)
		check_dict(&c.dict->dict);
	sp_chart_read_done(&c);
	sp_unpack_done(&u);
}

/* The bytes as numbers: a byte for the length of a column, one for the width of its numbers, and those. */
static void pack_columns(struct sp_packer *p, const uint8_t *data, size_t size)
{
	uint64_t column[256];
	size_t at = 0;

	sp_packer_begin(p);
	while (at + 2 < size) {
		size_t n = data[at], width = 1 + data[at + 1] % 8, i;
		bool is_bytes = data[at + 1] >= 0x80;
		at += 2;
		n = is_bytes && n > size - at ? size - at : n;
		if (is_bytes) {
			sp_pack_bytes(p, data + at, n);
			at += n;
			continue;
		}
		for (i = 0; i < n && at + width <= size; i++, at += width) {
			column[i] = 0;
			memcpy(&column[i], data + at, width);
		}
		sp_pack_u64(p, column, i);
	}
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	static const enum sp_store_record types[] = {SP_RECORD_CHUNK, SP_RECORD_WINDOW, SP_RECORD_TOTALS,
						     SP_RECORD_TREE, SP_RECORD_CHART};
	static void (*const uses[])(const void *, size_t) = {use_chunk, use_rows, use_sums, use_tree, use_chart};
	static uint8_t copy[COPY_MAX];
	static struct sp_packer *p;

	if (size < 1 + HEAD_BYTES || size > COPY_MAX || (p == NULL && sp_packer_new(&p) < 0))
		return 0;
	size_t what = data[0] % 5, len = size - 1;
	const void *record = copy;
	if (data[0] >= 0x80) {
		pack_columns(p, data + 1, size - 1);
		if (sp_packer_end(p, types[what], place, &record, &len) < 0)
			return 0;
	} else {
		memcpy(copy, data + 1, len);
		memcpy(copy, (uint8_t[]){'S', 'P', (uint8_t)types[what], 1}, 4);
		uint32_t crc = (uint32_t)crc32_z(crc32_z(0, (const Bytef *)place, sizeof(place)), copy + HEAD_BYTES,
						 len - HEAD_BYTES);
		memcpy(copy + 4, &crc, sizeof(crc));
	}
	uses[what](record, len);
	struct sp_head h;
	(void)sp_head_unpack((struct sp_window_id){1, 2}, data, size, &h);
	return 0;
}
