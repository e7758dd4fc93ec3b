/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_merge.c: makes pruned trees one, with a dictionary of its own; reads and writes their records. */
#include "store/format/pruned_tree.h"

#include "base/mem.h"
#include "store/format/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sp_tree_merge_init(struct sp_tree_merge *merge)
{
	int r = 0;

	memset(merge, 0, sizeof(*merge));
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		merge->next[i] = 1;
	for (size_t i = 0; i < SP_KEYS && r == 0; i++)
		r = sp_id_map_init(&merge->ids[i]);
	sp_chunk_clear(&merge->chunk, merge->next);
	return r < 0 ? r : sp_grow(&merge->nodes, &merge->node_capacity, 1, sizeof(*merge->nodes));
}

void sp_tree_merge_done(struct sp_tree_merge *merge)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		sp_id_map_done(&merge->ids[i]);
	sp_chunk_done(&merge->chunk);
	sp_window_rows_done(&merge->rows);
	free(merge->nodes);
	*merge = (struct sp_tree_merge){0};
}

/* --- names: from numbers of the dictionary to numbers of the merge --- */
/* By number of the dictionary: the number in the merge; 0: not merged yet. */
struct name_merge {
	struct sp_tree_merge *merge;
	const struct sp_dict *dict;
	uint32_t *strings, *files, *funcs, *frames, *groups;
};

static int64_t tree_merge_intern(struct sp_tree_merge *merge, enum sp_dict_kind kind, const void *item, size_t len)
{
	return sp_chunk_intern(&merge->chunk, kind, &merge->ids[kind], &merge->next[kind], item, len, item);
}

/* Replaces a number of the dictionary by the merge's. Does nothing after an error. */
static void merge_string(struct name_merge *t, uint32_t *string, int *error)
{
	uint32_t from = *string < t->dict->n_strings ? *string : 0;

	if (from != 0 && t->strings[from] == 0 && *error == 0) {
		const char *s = sp_dict_string(t->dict, from);
		int64_t n = tree_merge_intern(t->merge, SP_STRINGS, s, strlen(s));
		*error = n < 0 ? (int)n : 0;
		t->strings[from] = n < 0 ? 0 : (uint32_t)n;
	}
	*string = t->strings[from];
}

static void merge_file(struct name_merge *t, uint32_t *number, int *error)
{
	uint32_t from = *number < t->dict->n_files ? *number : 0;

	if (from != 0 && t->files[from] == 0 && *error == 0) {
		struct sp_file f;
		memcpy(&f, &t->dict->files[from], sizeof(f)); /* padding included, because the bytes are hashed */
		uint32_t *const strings[] = {&f.name,          &f.path, &f.package, &f.package_version,
					     &f.build_id_text, &f.note};
		for (size_t i = 0; i < SP_COUNT(strings); i++)
			merge_string(t, strings[i], error);
		int64_t n = *error < 0 ? *error : tree_merge_intern(t->merge, SP_FILES, &f, sizeof(f));
		*error = n < 0 ? (int)n : 0;
		t->files[from] = n < 0 ? 0 : (uint32_t)n;
	}
	*number = t->files[from];
}

static void merge_func(struct name_merge *t, uint32_t *number, int *error)
{
	uint32_t from = *number < t->dict->n_funcs ? *number : 0;

	if (from != 0 && t->funcs[from] == 0 && *error == 0) {
		struct sp_func f;
		memcpy(&f, &t->dict->funcs[from], sizeof(f));
		merge_string(t, &f.name, error);
		merge_string(t, &f.linkage_name, error);
		merge_string(t, &f.source, error);
		merge_file(t, &f.file, error);
		int64_t n = *error < 0 ? *error : tree_merge_intern(t->merge, SP_FUNCS, &f, sizeof(f));
		*error = n < 0 ? (int)n : 0;
		t->funcs[from] = n < 0 ? 0 : (uint32_t)n;
	}
	*number = t->funcs[from];
}

static int64_t merge_frame(struct name_merge *t, uint32_t number)
{
	uint32_t from = number < t->dict->n_frames ? number : 0;
	struct sp_dict_frame f;
	int error = 0;

	if (from == 0 || t->frames[from] != 0)
		return t->frames[from];
	memcpy(&f, &t->dict->frames[from], sizeof(f));
	merge_func(t, &f.func, &error);
	merge_file(t, &f.file, &error);
	int64_t n = error < 0 ? error : tree_merge_intern(t->merge, SP_FRAMES, &f, sizeof(f));
	t->frames[from] = n < 0 ? 0 : (uint32_t)n;
	return n;
}

static int64_t merge_group(struct name_merge *t, uint32_t number)
{
	uint32_t from = number < t->dict->n_groups ? number : 0;
	struct sp_dict_group group;
	int error = 0;

	if (from == 0 || t->groups[from] != 0)
		return t->groups[from];
	memcpy(&group, &t->dict->groups[from], sizeof(group));
	merge_file(t, &group.exe, &error);
	merge_string(t, &group.comm, &error);
	merge_string(t, &group.cgroup_path, &error);
	merge_string(t, &group.container, &error);
	merge_string(t, &group.root, &error);
	int64_t n = error < 0 ? error : tree_merge_intern(t->merge, SP_GROUPS, &group, sizeof(group));
	t->groups[from] = n < 0 ? 0 : (uint32_t)n;
	return n;
}

/* The frame [shortened] for a node: a function of the node's library. */
static int64_t merge_shortened_frame(struct sp_tree_merge *merge, uint32_t node)
{
	static const struct sp_dict_frame none;
	uint32_t frame = merge->nodes[node].frame;
	const struct sp_dict_frame *before =
	    frame == 0 ? &none : (const struct sp_dict_frame *)merge->chunk.items[SP_FRAMES].data + (frame - 1);
	const struct sp_func *funcs = merge->chunk.items[SP_FUNCS].data;
	struct sp_dict_frame f;
	struct sp_func func;

	memset(&func, 0, sizeof(func));
	memset(&f, 0, sizeof(f));
	func.file = before->func != 0 ? funcs[before->func - 1].file : before->file;
	f.file = before->file;
	f.flags = (uint16_t)((before->flags & SP_FRAMEF_KERNEL) | SP_DICT_SHORTENED);
	int64_t name = tree_merge_intern(merge, SP_STRINGS, SP_SHORTENED, strlen(SP_SHORTENED));
	func.name = name < 0 ? 0 : (uint32_t)name;
	int64_t number = name < 0 ? name : tree_merge_intern(merge, SP_FUNCS, &func, sizeof(func));
	f.func = number < 0 ? 0 : (uint32_t)number;
	return number < 0 ? number : tree_merge_intern(merge, SP_FRAMES, &f, sizeof(f));
}

static int64_t merge_node(struct sp_tree_merge *merge, uint32_t parent, uint32_t frame)
{
	uint32_t identity[2] = {parent, frame}, *number;
	int r = sp_id_map_find(&merge->ids[SP_NODES], identity, sizeof(identity), &number);

	if (r < 0 || *number != 0)
		return r < 0 ? r : (int64_t)*number;
	uint32_t n = merge->next[SP_NODES];
	r = sp_grow(&merge->nodes, &merge->node_capacity, (size_t)n + 1, sizeof(*merge->nodes));
	r = r < 0 ? r : sp_chunk_add_node(&merge->chunk, n - parent, 1, frame);
	if (r < 0)
		return r;
	merge->nodes[n] = (struct sp_node){parent, frame};
	*number = n;
	sp_id_map_added(&merge->ids[SP_NODES]);
	return merge->next[SP_NODES]++;
}

/* --- trees --- */
static int add_nodes(struct name_merge *t, const struct sp_node *nodes, uint32_t n_nodes, uint32_t *numbers)
{
	for (uint32_t i = 1; i < n_nodes; i++) {
		uint32_t parent = numbers[nodes[i].parent];
		int64_t frame_number = nodes[i].frame == SP_PRUNED_TREE_SHORTENED
					   ? merge_shortened_frame(t->merge, parent)
					   : merge_frame(t, nodes[i].frame);
		int64_t n = frame_number < 0 ? frame_number : merge_node(t->merge, parent, (uint32_t)frame_number);
		if (n < 0)
			return (int)n;
		numbers[i] = (uint32_t)n;
	}
	return 0;
}

static int add_rows(struct name_merge *t, const struct sp_window_rows *from, const uint32_t *numbers, uint32_t n_nodes)
{
	struct sp_window_rows *to = &t->merge->rows;
	int r;

	if (to->n > 0 && to->n_values != from->n_values)
		return -EBADMSG;
	to->n_values = from->n_values;
	r = sp_window_rows_reserve(to, (size_t)to->n + from->n);
	for (uint32_t i = 0; i < from->n && r == 0; i++) {
		int64_t who = merge_group(t, from->who[i]);
		if (who < 0)
			return (int)who;
		to->who[to->n] = (uint32_t)who;
		to->node[to->n] = from->node[i] < n_nodes ? numbers[from->node[i]] : 0;
		for (uint32_t v = 0; v < from->n_values; v++)
			to->values[v][to->n] = from->values[v][i];
		to->n++;
	}
	return r;
}

static int name_merge_init(struct name_merge *t, struct sp_tree_merge *merge, const struct sp_dict *d)
{
	*t = (struct name_merge){.merge = merge, .dict = d};
	t->strings =
	    calloc((size_t)d->n_strings + d->n_files + d->n_funcs + d->n_frames + d->n_groups + 1, sizeof(*t->strings));
	if (!t->strings)
		return -ENOMEM;
	t->files = t->strings + d->n_strings;
	t->funcs = t->files + d->n_files;
	t->frames = t->funcs + d->n_funcs;
	t->groups = t->frames + d->n_frames;
	return 0;
}

static int add_tree(struct sp_tree_merge *merge, const struct sp_dict *d, const struct sp_node *nodes, uint32_t n_nodes,
		    const struct sp_window_rows *rows)
{
	SP_FREE uint32_t *numbers = calloc((size_t)n_nodes + 1, sizeof(*numbers));
	struct name_merge t;
	int r = !numbers ? -ENOMEM : name_merge_init(&t, merge, d);

	if (r < 0)
		return r;
	r = add_nodes(&t, nodes, n_nodes, numbers);
	r = r < 0 ? r : add_rows(&t, rows, numbers, n_nodes);
	free(t.strings);
	return r;
}

int sp_tree_merge_add_files(struct sp_tree_merge *merge, const struct sp_dict *names, struct sp_sums *sums)
{
	struct name_merge t;
	int r = name_merge_init(&t, merge, names);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sums->n; i++)
		merge_file(&t, &sums->accounts[i].file, &r);
	free(t.strings);
	return r;
}

int sp_tree_merge_add(struct sp_tree_merge *merge, const struct sp_dict *names, const struct sp_pruned_tree *tree)
{
	return add_tree(merge, names, tree->nodes, tree->n_nodes, &tree->rows);
}

int sp_tree_merge_add_record(struct sp_tree_merge *merge, const struct sp_dict *d, const struct sp_window_rows *rows)
{
	SP_FREE struct sp_node *nodes = calloc((size_t)d->n_nodes + 1, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	for (uint32_t i = 1; i < d->n_nodes; i++)
		nodes[i] = (struct sp_node){d->parent[i], d->frame[i]};
	return add_tree(merge, d, nodes, d->n_nodes, rows);
}

int sp_tree_merge_prune(struct sp_tree_merge *merge, struct sp_tree_merge *ret_merge)
{
	struct sp_dict_arrays *d = NULL;
	struct sp_pruned_tree tree = {0};
	struct sp_tree_merge pruned;
	int r = sp_window_rows_sort(&merge->rows);

	r = r < 0 ? r : sp_pruned_tree_make(merge->nodes, merge->next[SP_NODES], &merge->rows, &tree);
	r = r < 0 ? r : sp_dict_new(0, 0, &d);
	r = r < 0 ? r : sp_dict_apply(d, &merge->chunk);
	sp_tree_merge_done(merge);
	if (r == 0) {
		r = sp_tree_merge_init(&pruned);
		r = r < 0 ? r : sp_tree_merge_add(&pruned, &d->dict, &tree);
		if (r < 0)
			sp_tree_merge_done(&pruned);
		else
			*ret_merge = pruned;
	}
	sp_pruned_tree_done(&tree);
	sp_dict_free(d);
	return r;
}

void sp_tree_merge_pack(struct sp_tree_merge *merge, uint64_t up_to_ms, struct sp_packer *p)
{
	int r = sp_window_rows_sort(&merge->rows);

	if (r < 0)
		sp_packer_fail(p, r);
	sp_chunk_pack(&merge->chunk, p, true);
	sp_window_rows_pack_columns(&merge->rows, p);
	sp_pack_u64(p, &up_to_ms, 1);
}

int sp_tree_unpack(struct sp_unpacker *u, uint64_t day_s, uint64_t id, struct sp_dict_arrays **ret_dict,
		   struct sp_window_rows *rows, uint64_t *ret_up_to_ms)
{
	static const uint32_t first[SP_N_DICT_KINDS];
	struct sp_chunk c = {0};
	struct sp_dict_arrays *d = NULL;
	uint64_t up_to_ms = 0;
	int r = sp_dict_new(day_s, id, &d);

	sp_chunk_clear(&c, first);
	r = r < 0 ? r : sp_chunk_unpack(&c, u);
	r = r < 0 ? r : sp_dict_apply(d, &c);
	sp_chunk_done(&c);
	rows->n = 0;
	r = r < 0 ? r : sp_window_rows_unpack_columns(rows, u);
	if (r == 0)
		sp_unpack_u64(u, &up_to_ms, 1);
	if (r < 0 || u->bad) {
		sp_dict_free(d);
		return r < 0 ? r : -EBADMSG;
	}
	d->dict.is_tree = true;
	*ret_dict = d;
	*ret_up_to_ms = up_to_ms;
	return 0;
}
