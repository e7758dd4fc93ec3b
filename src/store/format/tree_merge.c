/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_merge.c: pruned trees with their names, each in numbers of its own; and their records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/format/pruned_tree.h"
#include "store/format/window.h"

int sp_tree_merge_init(struct sp_tree_merge *g)
{
	int r = 0;

	memset(g, 0, sizeof(*g));
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		g->n[i] = 1;
	for (size_t i = 0; i < SP_KEYS && r == 0; i++)
		r = sp_id_map_init(&g->seen[i]);
	sp_chunk_clear(&g->chunk, g->n);
	return r < 0 ? r : sp_grow(&g->nodes, &g->node_capacity, 1, sizeof(*g->nodes));
}

void sp_tree_merge_done(struct sp_tree_merge *g)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		sp_id_map_done(&g->seen[i]);
	sp_chunk_done(&g->chunk);
	sp_window_rows_done(&g->rows);
	free(g->nodes);
	*g = (struct sp_tree_merge){0};
}

/* --- names: of the dictionary d, in the merge's numbers --- */
/* Numbers that were asked for before; 0: not yet. */
struct merging {
	struct sp_tree_merge *g;
	const struct sp_dict *d;
	uint32_t *strings, *files, *funcs, *frames, *groups;
};

static int64_t number_of(struct sp_tree_merge *g, enum sp_dict_kind thing, const void *item, size_t len)
{
	uint32_t *number;
	int r = sp_id_map_find(&g->seen[thing], item, len, &number);

	if (r < 0 || *number != 0)
		return r < 0 ? r : (int64_t)*number;
	r = thing == SP_STRINGS ? sp_chunk_add_string(&g->chunk, item, len) : sp_chunk_add(&g->chunk, thing, item);
	if (r < 0)
		return r;
	*number = g->n[thing]++;
	sp_id_map_added(&g->seen[thing]);
	return *number;
}

/* Replaces a number of the dictionary's; an error, if any, stays. */
static void string(struct merging *t, uint32_t *string, int *error)
{
	uint32_t from = *string < t->d->n_strings ? *string : 0;

	if (from != 0 && t->strings[from] == 0 && *error == 0) {
		const char *s = sp_dict_string(t->d, from);
		int64_t n = number_of(t->g, SP_STRINGS, s, strlen(s));
		*error = n < 0 ? (int)n : 0;
		t->strings[from] = n < 0 ? 0 : (uint32_t)n;
	}
	*string = t->strings[from];
}

static void file(struct merging *t, uint32_t *number, int *error)
{
	uint32_t from = *number < t->d->n_files ? *number : 0;

	if (from != 0 && t->files[from] == 0 && *error == 0) {
		struct sp_file f;
		memcpy(&f, &t->d->files[from], sizeof(f)); /* its bytes are hashed */
		uint32_t *const strings[] = {&f.name,          &f.path, &f.package, &f.package_version,
					     &f.build_id_text, &f.note};
		for (size_t i = 0; i < SP_COUNT(strings); i++)
			string(t, strings[i], error);
		int64_t n = *error < 0 ? *error : number_of(t->g, SP_FILES, &f, sizeof(f));
		*error = n < 0 ? (int)n : 0;
		t->files[from] = n < 0 ? 0 : (uint32_t)n;
	}
	*number = t->files[from];
}

static void func(struct merging *t, uint32_t *number, int *error)
{
	uint32_t from = *number < t->d->n_funcs ? *number : 0;

	if (from != 0 && t->funcs[from] == 0 && *error == 0) {
		struct sp_func f;
		memcpy(&f, &t->d->funcs[from], sizeof(f));
		string(t, &f.name, error);
		string(t, &f.linkage_name, error);
		string(t, &f.source, error);
		file(t, &f.file, error);
		int64_t n = *error < 0 ? *error : number_of(t->g, SP_FUNCS, &f, sizeof(f));
		*error = n < 0 ? (int)n : 0;
		t->funcs[from] = n < 0 ? 0 : (uint32_t)n;
	}
	*number = t->funcs[from];
}

static int64_t frame(struct merging *t, uint32_t number)
{
	uint32_t from = number < t->d->n_frames ? number : 0;
	struct sp_dict_frame f;
	int error = 0;

	if (from == 0 || t->frames[from] != 0)
		return t->frames[from];
	memcpy(&f, &t->d->frames[from], sizeof(f));
	func(t, &f.func, &error);
	file(t, &f.file, &error);
	int64_t n = error < 0 ? error : number_of(t->g, SP_FRAMES, &f, sizeof(f));
	t->frames[from] = n < 0 ? 0 : (uint32_t)n;
	return n;
}

static int64_t group(struct merging *t, uint32_t number)
{
	uint32_t from = number < t->d->n_groups ? number : 0;
	struct sp_dict_group g;
	int error = 0;

	if (from == 0 || t->groups[from] != 0)
		return t->groups[from];
	memcpy(&g, &t->d->groups[from], sizeof(g));
	file(t, &g.exe, &error);
	string(t, &g.comm, &error);
	string(t, &g.cgroup_path, &error);
	string(t, &g.container, &error);
	string(t, &g.root, &error);
	int64_t n = error < 0 ? error : number_of(t->g, SP_GROUPS, &g, sizeof(g));
	t->groups[from] = n < 0 ? 0 : (uint32_t)n;
	return n;
}

/* What stands for all that was cut behind a node: a function of its library. */
static int64_t cut_frame(struct sp_tree_merge *g, uint32_t node)
{
	static const struct sp_dict_frame none;
	uint32_t of = g->nodes[node].frame;
	const struct sp_dict_frame *before =
	    of == 0 ? &none : (const struct sp_dict_frame *)g->chunk.items[SP_FRAMES].data + (of - 1);
	const struct sp_func *funcs = g->chunk.items[SP_FUNCS].data;
	struct sp_dict_frame f;
	struct sp_func func;

	memset(&func, 0, sizeof(func));
	memset(&f, 0, sizeof(f));
	func.file = before->func != 0 ? funcs[before->func - 1].file : before->file;
	f.file = before->file;
	f.flags = (uint16_t)((before->flags & SP_FRAMEF_KERNEL) | SP_DICT_SHORTENED);
	int64_t name = number_of(g, SP_STRINGS, SP_SHORTENED, strlen(SP_SHORTENED));
	func.name = name < 0 ? 0 : (uint32_t)name;
	int64_t number = name < 0 ? name : number_of(g, SP_FUNCS, &func, sizeof(func));
	f.func = number < 0 ? 0 : (uint32_t)number;
	return number < 0 ? number : number_of(g, SP_FRAMES, &f, sizeof(f));
}

static int64_t node(struct sp_tree_merge *g, uint32_t parent, uint32_t frame)
{
	uint32_t identity[2] = {parent, frame}, *number;
	int r = sp_id_map_find(&g->seen[SP_NODES], identity, sizeof(identity), &number);

	if (r < 0 || *number != 0)
		return r < 0 ? r : (int64_t)*number;
	uint32_t n = g->n[SP_NODES];
	r = sp_grow(&g->nodes, &g->node_capacity, (size_t)n + 1, sizeof(*g->nodes));
	r = r < 0 ? r : sp_chunk_add_node(&g->chunk, n - parent, 1, frame);
	if (r < 0)
		return r;
	g->nodes[n] = (struct sp_node){parent, frame};
	*number = n;
	sp_id_map_added(&g->seen[SP_NODES]);
	return g->n[SP_NODES]++;
}

/* --- trees --- */
static int add_nodes(struct merging *t, const struct sp_node *nodes, uint32_t n_nodes, uint32_t *numbers)
{
	for (uint32_t i = 1; i < n_nodes; i++) {
		uint32_t parent = numbers[nodes[i].parent];
		int64_t of = nodes[i].frame == SP_PRUNED_TREE_CUT ? cut_frame(t->g, parent) : frame(t, nodes[i].frame);
		int64_t n = of < 0 ? of : node(t->g, parent, (uint32_t)of);
		if (n < 0)
			return (int)n;
		numbers[i] = (uint32_t)n;
	}
	return 0;
}

static int add_rows(struct merging *t, const struct sp_window_rows *from, const uint32_t *numbers, uint32_t n_nodes)
{
	struct sp_window_rows *to = &t->g->rows;
	int r;

	if (to->n > 0 && to->n_values != from->n_values)
		return -EBADMSG;
	to->n_values = from->n_values;
	r = sp_window_rows_room(to, (size_t)to->n + from->n);
	for (uint32_t i = 0; i < from->n && r == 0; i++) {
		int64_t who = group(t, from->who[i]);
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

static int merging_begin(struct merging *t, struct sp_tree_merge *g, const struct sp_dict *d)
{
	*t = (struct merging){.g = g, .d = d};
	t->strings =
	    calloc((size_t)d->n_strings + d->n_files + d->n_funcs + d->n_frames + d->n_groups + 1, sizeof(*t->strings));
	if (t->strings == NULL)
		return -ENOMEM;
	t->files = t->strings + d->n_strings;
	t->funcs = t->files + d->n_files;
	t->frames = t->funcs + d->n_funcs;
	t->groups = t->frames + d->n_frames;
	return 0;
}

static int add_tree(struct sp_tree_merge *g, const struct sp_dict *d, const struct sp_node *nodes, uint32_t n_nodes,
		    const struct sp_window_rows *rows)
{
	SP_FREE uint32_t *numbers = calloc((size_t)n_nodes + 1, sizeof(*numbers));
	struct merging t;
	int r = numbers == NULL ? -ENOMEM : merging_begin(&t, g, d);

	if (r < 0)
		return r;
	r = add_nodes(&t, nodes, n_nodes, numbers);
	r = r < 0 ? r : add_rows(&t, rows, numbers, n_nodes);
	free(t.strings);
	return r;
}

int sp_tree_merge_add_files(struct sp_tree_merge *g, const struct sp_dict *names, struct sp_sums *sums)
{
	struct merging t;
	int r = merging_begin(&t, g, names);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sums->n; i++)
		file(&t, &sums->accounts[i].file, &r);
	free(t.strings);
	return r;
}

int sp_tree_merge_add(struct sp_tree_merge *g, const struct sp_dict *names, const struct sp_pruned_tree *b)
{
	return add_tree(g, names, b->nodes, b->n_nodes, &b->rows);
}

int sp_tree_merge_add_record(struct sp_tree_merge *g, const struct sp_dict *d, const struct sp_window_rows *rows)
{
	SP_FREE struct sp_node *nodes = calloc((size_t)d->n_nodes + 1, sizeof(*nodes));

	if (nodes == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i < d->n_nodes; i++)
		nodes[i] = (struct sp_node){d->parent[i], d->frame[i]};
	return add_tree(g, d, nodes, d->n_nodes, rows);
}

int sp_tree_merge_prune(struct sp_tree_merge *g, struct sp_tree_merge *ret_merge)
{
	struct sp_dict_arrays *d = NULL;
	struct sp_pruned_tree b = {0};
	struct sp_tree_merge pruned;
	int r = sp_window_rows_sort(&g->rows);

	r = r < 0 ? r : sp_pruned_tree_make(g->nodes, g->n[SP_NODES], &g->rows, &b);
	r = r < 0 ? r : sp_dict_new(0, 0, &d);
	r = r < 0 ? r : sp_dict_apply(d, &g->chunk);
	sp_tree_merge_done(g);
	if (r == 0) {
		r = sp_tree_merge_init(&pruned);
		r = r < 0 ? r : sp_tree_merge_add(&pruned, &d->d, &b);
		if (r < 0)
			sp_tree_merge_done(&pruned);
		else
			*ret_merge = pruned;
	}
	sp_pruned_tree_done(&b);
	sp_dict_free(d);
	return r;
}

void sp_tree_merge_pack(struct sp_tree_merge *g, uint64_t up_to_ms, struct sp_packer *p)
{
	int r = sp_window_rows_sort(&g->rows);

	if (r < 0)
		sp_packer_fail(p, r);
	sp_chunk_pack(&g->chunk, p, true);
	sp_window_rows_put(&g->rows, p);
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
	r = r < 0 ? r : sp_window_rows_take(rows, u);
	if (r == 0)
		sp_unpack_u64(u, &up_to_ms, 1);
	if (r < 0 || u->bad) {
		sp_dict_free(d);
		return r < 0 ? r : -EBADMSG;
	}
	d->d.is_tree = true;
	*ret_dict = d;
	*ret_up_to_ms = up_to_ms;
	return 0;
}
