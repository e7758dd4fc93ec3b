/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/mem.h"
#include "profile/identity.h"
#include "profile/priv.h"

/* A stack is laid out as items, leaf first: numbers of frames, and these. */
enum { ITEM_CUT = 0xfffffffd, ITEM_NO_STACK, ITEM_COMM };
enum { SLOTS_MIN = 1024 };

struct words {
	uint32_t *data;
	size_t capacity, n;
};

/*
 * A node that is not the root, by its parent and label; node 0 = free. The key is here for the cache's sake.
 * While nodes are given up: by depth and label, the parent under which the label came last (struct step, serial).
 */
struct slot {
	uint32_t parent, label, node;
};

/* One node of the path that was walked last. */
struct step {
	uint32_t label, node;
	uint32_t serial; /* distinct among all nodes there ever were; while nodes are given up */
};

struct grower {
	const struct sp_profile *p;
	const struct sp_tree_options *o;
	struct sp_identity same;
	struct sp_tree t;
	struct sp_intern *labels;
	uint32_t *label_of; /* by frame, 0 = not made yet: label 0 is that of node 0 */
	size_t nodes_capacity, labels_capacity, place_capacity;
	struct words items, path; /* leaf first; labels from the root on */
	struct step *steps;       /* of the row before, in the order of the walk */
	size_t n_steps, steps_capacity;
	uint32_t *place;        /* by label: where in the path it was put last */
	struct slot *slots;     /* open addressing */
	size_t n_slots, n_used; /* a power of two */
	uint32_t comm;          /* string, of the row */
	bool gives_up;          /* nodes that are too narrow, when the path leaves them */
	uint32_t n_serials;
	double least, second_least; /* the narrowest that is kept */
	uint32_t *number_of;        /* by file: of the tree's libraries, 0 = not made yet */
	uint32_t *counted;          /* by library: the pile (+ 1) that was counted in its total last */
	size_t libraries_capacity, library_of_capacity, counted_capacity;
};

static int push(struct words *w, uint32_t word)
{
	int r = sp_grow(&w->data, &w->capacity, w->n + 1, sizeof(*w->data));

	if (r == 0)
		w->data[w->n++] = word;
	return r;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */
/* The finalizer of MurmurHash3 (Austin Appleby, public domain). */
static size_t hash_of(uint32_t parent, uint32_t label)
{
	uint64_t h = (uint64_t)parent << 32 | label;

	h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 33;
}

/* Where the node is, or the free slot where it belongs. */
static struct slot *slot_of(struct slot *slots, size_t n_slots, uint32_t parent, uint32_t label)
{
	size_t at = hash_of(parent, label) & (n_slots - 1);

	while (slots[at].node != 0 && (slots[at].parent != parent || slots[at].label != label))
		at = (at + 1) & (n_slots - 1);
	return &slots[at];
}

static int grow_slots(struct grower *g)
{
	size_t n = SP_MAX(g->n_slots * 2, (size_t)SLOTS_MIN);
	struct slot *slots = calloc(n, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_slots; i++)
		if (g->slots[i].node != 0)
			*slot_of(slots, n, g->slots[i].parent, g->slots[i].label) = g->slots[i];
	free(g->slots);
	g->slots = slots;
	g->n_slots = n;
	return 0;
}

static int make_room(struct grower *g)
{
	if (g->t.n_nodes == UINT32_MAX || (g->n_used * 4 >= g->n_slots * 3 && grow_slots(g) < 0))
		return -ENOMEM;
	return sp_grow(&g->t.nodes, &g->nodes_capacity, (size_t)g->t.n_nodes + 1, sizeof(*g->t.nodes));
}

static uint32_t add_node(struct grower *g, uint32_t parent, uint32_t label)
{
	uint32_t n = g->t.n_nodes++;

	g->t.nodes[n] = (struct sp_tree_node){.parent = parent, .label = label, .depth = g->t.nodes[parent].depth + 1};
	return n;
}

static int64_t child_of(struct grower *g, uint32_t parent, uint32_t label)
{
	int r = make_room(g);

	if (r < 0)
		return r;
	struct slot *slot = slot_of(g->slots, g->n_slots, parent, label);
	if (slot->node != 0)
		return slot->node;
	*slot = (struct slot){.parent = parent, .label = label, .node = g->t.n_nodes};
	g->n_used++;
	return add_node(g, parent, label);
}

/* --- nodes that are given up --------------------------------------------------------------------------------------
 * A node is only ever met again while the path is still in its parent. So that is all that has to be remembered: under
 * which parent a label came last at this depth. If it comes again under the same, the rows are not sorted.
 */
static int64_t new_child_of(struct grower *g, const struct step *parent, size_t depth, uint32_t label)
{
	int r = make_room(g);

	if (r < 0)
		return r;
	if (g->n_serials >= UINT32_MAX - 1)
		return -EAGAIN;
	struct slot *slot = slot_of(g->slots, g->n_slots, (uint32_t)depth, label);
	uint32_t serial = parent != NULL ? parent->serial + 1 : 1; /* 0 is that of node 0 */
	if (slot->node == serial)
		return -EAGAIN;
	g->n_used += slot->node == 0;
	*slot = (struct slot){.parent = (uint32_t)depth, .label = label, .node = serial};
	return add_node(g, parent != NULL ? parent->node : 0, label);
}

static bool is_too_narrow(const struct grower *g, const struct sp_tree_node *node)
{
	return (double)node->total < g->least && (!g->o->has_second || (double)node->second_total < g->second_least);
}

/*
 * The path leaves its steps from `depth` on. A node that is not the last of all has children that are wide enough, and
 * so is it; until all paths are in, total is what was given up above it.
 */
static void leave(struct grower *g, size_t depth)
{
	while (g->gives_up && g->n_steps > depth) {
		uint32_t number = g->steps[--g->n_steps].node;
		struct sp_tree_node *node = &g->t.nodes[number], *parent = &g->t.nodes[node->parent];
		if (number + 1 != g->t.n_nodes)
			continue;
		struct sp_tree_node whole = *node;
		sp_saturating_add(&whole.total, node->self);
		sp_saturating_add(&whole.second_total, node->second_self);
		if (!is_too_narrow(g, &whole))
			continue;
		sp_saturating_add(&parent->total, whole.total);
		sp_saturating_add(&parent->second_total, whole.second_total);
		sp_saturating_add(&parent->n_samples, whole.n_samples);
		g->t.n_left_out += whole.total > 0;
		g->t.n_nodes--;
	}
	g->n_steps = depth;
}

/* --- libraries ---------------------------------------------------------------------------------------------------- */
/* The kernel's functions know in which module they lie. */
static uint32_t file_of_label(const struct grower *g, const struct sp_tree_label *label)
{
	uint32_t file = label->library;

	if (label->func != 0 && (file == 0 || sp_profile_file(g->p, file)->kind == SP_FILE_KERNEL))
		file = sp_profile_func(g->p, label->func)->file;
	return g->same.files[file];
}

static int add_library(struct grower *g, uint32_t file)
{
	uint32_t n = g->t.n_libraries;
	int r = sp_grow(&g->t.libraries, &g->libraries_capacity, (size_t)n + 1, sizeof(*g->t.libraries));

	if (r == 0)
		r = sp_grow(&g->counted, &g->counted_capacity, (size_t)n + 1, sizeof(*g->counted));
	if (r < 0)
		return r;
	g->t.libraries[n] = (struct sp_tree_library){.file = file};
	g->counted[n] = 0;
	g->number_of[file] = g->t.n_libraries++;
	return 0;
}

static int set_library(struct grower *g, uint32_t number)
{
	uint32_t file = file_of_label(g, &g->t.labels[number]);
	int r = sp_grow(&g->t.library_of, &g->library_of_capacity, (size_t)number + 1, sizeof(*g->t.library_of));

	if (r == 0 && file != 0 && g->number_of[file] == 0)
		r = add_library(g, file);
	if (r == 0)
		g->t.library_of[number] = g->number_of[file];
	return r;
}

static void add_values(struct grower *g, int64_t *value, int64_t *second, const struct sp_tree_pile *pile)
{
	sp_saturating_add(value, pile->value);
	if (g->o->has_second)
		sp_saturating_add(second, pile->second);
}

/* The path's last is the leaf whatever the direction. */
static void count_libraries(struct grower *g, const struct sp_tree_pile *pile, uint32_t mark)
{
	struct sp_tree_library *all = g->t.libraries, *leaf = &all[0];

	for (size_t i = 0; i < g->path.n; i++) {
		uint32_t library = g->t.library_of[g->path.data[i]];
		leaf = &all[library];
		if (g->counted[library] == mark)
			continue;
		g->counted[library] = mark;
		add_values(g, &leaf->total, &leaf->second_total, pile);
	}
	add_values(g, &leaf->self, &leaf->second_self, pile);
}

/* --- labels ------------------------------------------------------------------------------------------------------- */
static int64_t add_label(struct grower *g, struct sp_tree_label label)
{
	uint32_t n = sp_intern_count(g->labels);
	int r = sp_grow(&g->t.labels, &g->labels_capacity, (size_t)n + 1, sizeof(*g->t.labels));

	if (r == 0)
		r = sp_grow(&g->place, &g->place_capacity, (size_t)n + 1, sizeof(*g->place));
	if (r < 0)
		return r;
	int64_t number = sp_intern_add(g->labels, &label, sizeof(label));
	if (number == n) {
		g->t.labels[n] = label;
		r = set_library(g, n);
	}
	g->t.n_labels = sp_intern_count(g->labels);
	return r < 0 ? r : number;
}

static struct sp_tree_label label_of_frame(const struct grower *g, uint32_t number)
{
	const struct sp_frame *frame = sp_profile_frame(g->p, number);
	struct sp_tree_label label = {.kind = SP_TREE_FRAME, .library = g->same.library_of[number]};
	bool in_kernel = sp_profile_file(g->p, label.library)->kind == SP_FILE_KERNEL;
	bool is_run = g->o->fold != SP_TREE_FRAMES && label.library != 0;

	label.flags = in_kernel ? SP_FRAMEF_KERNEL : frame->flags & SP_FRAMEF_KERNEL;
	if (!is_run && g->o->marks)
		label.flags |= frame->flags & SP_FRAMEF_GUESSED;
	if (is_run)
		label.kind = SP_TREE_RUN;
	if (!is_run || g->o->fold == SP_TREE_ENTRIES)
		label.func = g->same.function_of[number];
	return label;
}

static bool is_frame(uint32_t item)
{
	return item < ITEM_CUT;
}

static int64_t label_of_item(struct grower *g, uint32_t item)
{
	if (item == ITEM_COMM)
		return add_label(g, (struct sp_tree_label){.kind = SP_TREE_COMM, .string = g->comm});
	if (!is_frame(item))
		return add_label(g, (struct sp_tree_label){.kind = item == ITEM_CUT ? SP_TREE_CUT : SP_TREE_NO_STACK});
	if (g->label_of[item] != 0)
		return g->label_of[item];
	int64_t label = add_label(g, label_of_frame(g, item));
	if (label > 0)
		g->label_of[item] = (uint32_t)label;
	return label;
}

/* --- from a row to a path ----------------------------------------------------------------------------------------- */
static int lay_out_half(struct grower *g, uint32_t number)
{
	struct sp_stack s = sp_profile_stack(g->p, number);
	struct words *w = &g->items;
	int r = sp_grow(&w->data, &w->capacity, w->n + s.n_frames, sizeof(*w->data));

	for (uint32_t i = 0; i < s.n_frames && r == 0; i++)
		w->data[w->n++] = s.frames[i];
	if (r < 0 || number == 0 || !g->o->marks)
		return r;
	if (s.stack_class == SP_CLASS_CUT)
		return push(&g->items, ITEM_CUT);
	return s.stack_class == SP_CLASS_ABSENT && s.n_frames == 0 ? push(&g->items, ITEM_NO_STACK) : 0;
}

static int lay_out(struct grower *g, const struct sp_tree_pile *pile)
{
	int r = g->o->user_only ? 0 : lay_out_half(g, pile->kernel);

	if (r == 0 && !g->o->kernel_only)
		r = lay_out_half(g, pile->user);
	g->comm = pile->comm;
	return r == 0 && g->o->comms && g->comm != 0 ? push(&g->items, ITEM_COMM) : r;
}

/* Where the focus is in the items; false if it is not. A run may have frames of no known file in it, as in matrix.h. */
static bool find_focus(const struct grower *g, size_t *ret_at)
{
	bool found = false;

	for (size_t i = 0; i < g->items.n; i++) {
		uint32_t item = g->items.data[i];
		if (is_frame(item) && g->o->focus[item])
			*ret_at = i;
		else if (found && g->o->focus_run && is_frame(item) && g->same.library_of[item] != 0)
			break;
		found |= is_frame(item) && g->o->focus[item];
	}
	return found;
}

/* A function that is in the path already: the path goes on from there. */
static bool comes_again(struct grower *g, uint32_t label)
{
	uint32_t kind = g->t.labels[label].kind, at = g->place[label];

	if (!g->o->fold_recursion || (kind != SP_TREE_FRAME && kind != SP_TREE_RUN))
		return false;
	if (at >= g->path.n || g->path.data[at] != label) {
		g->place[label] = (uint32_t)g->path.n;
		return false;
	}
	g->path.n = at + 1;
	return true;
}

/* The labels of the items from `first` (nearest to the leaf) to before `end`, from the root's end on. */
static int make_path(struct grower *g, size_t first, size_t end)
{
	struct words *w = &g->path;
	uint32_t run = 0;

	if (sp_grow(&w->data, &w->capacity, w->n + end - first, sizeof(*w->data)) < 0)
		return -ENOMEM;
	for (size_t i = end; i-- > first;) {
		uint32_t item = g->items.data[i], library = is_frame(item) ? g->same.library_of[item] : 0;
		bool goes_on = g->o->fold != SP_TREE_FRAMES && library != 0 && library == run;
		run = library;
		if (goes_on)
			continue;
		int64_t label = label_of_item(g, item);
		if (label < 0)
			return (int)label;
		if (!comes_again(g, (uint32_t)label))
			w->data[w->n++] = (uint32_t)label;
	}
	return 0;
}

/* Profiles are often sorted: what a path has in common with the one before it is not looked up again. */
static size_t steps_in_common(const struct grower *g, bool forwards)
{
	const uint32_t *labels = g->path.data;
	size_t n = SP_MIN(g->path.n, g->n_steps), i = 0;

	while (i < n && g->steps[i].label == labels[forwards ? i : g->path.n - 1 - i])
		i++;
	return i;
}

static int64_t walk_path(struct grower *g)
{
	bool forwards = g->o->direction == SP_TREE_CALLEES;
	size_t i = steps_in_common(g, forwards);
	int64_t node = i > 0 ? g->steps[i - 1].node : 0;

	leave(g, i);
	if (sp_grow(&g->steps, &g->steps_capacity, g->path.n, sizeof(*g->steps)) < 0)
		return -ENOMEM;
	for (; i < g->path.n; i++) {
		uint32_t label = g->path.data[forwards ? i : g->path.n - 1 - i];
		node = g->gives_up ? new_child_of(g, i > 0 ? &g->steps[i - 1] : NULL, i, label)
				   : child_of(g, (uint32_t)node, label);
		if (node < 0)
			return node;
		g->steps[i] = (struct step){.label = label, .node = (uint32_t)node, .serial = ++g->n_serials};
		g->n_steps = i + 1;
	}
	return node;
}

/* Callers: whether the sample is in the function itself that its path begins with; of a focus it may be in a callee. */
static int begins_with_leaf(struct grower *g, size_t at, bool *ret_is)
{
	int r = 0;

	*ret_is = g->o->focus == NULL && g->path.n > 0;
	if (g->o->focus != NULL) {
		g->path.n = 0;
		r = make_path(g, 0, at + 1);
		*ret_is = r == 0 && g->path.n > 0 && g->path.data[g->path.n - 1] == g->steps[0].label;
	}
	return r;
}

static int add_leaf(struct grower *g, size_t at, int64_t value)
{
	bool is_leaf = false;
	int r = begins_with_leaf(g, at, &is_leaf);

	if (is_leaf)
		sp_saturating_add(&g->t.nodes[g->steps[0].node].leaf, value);
	return r;
}

static int add_pile(struct grower *g, const struct sp_tree_pile *pile, uint32_t mark)
{
	bool callees = g->o->direction == SP_TREE_CALLEES;
	size_t at = 0;

	g->items.n = g->path.n = 0;
	int r = lay_out(g, pile);
	if (r < 0 || (g->o->focus != NULL && !find_focus(g, &at)))
		return r;
	if (g->o->focus == NULL)
		r = make_path(g, 0, g->items.n);
	else
		r = callees ? make_path(g, 0, at + 1) : make_path(g, at, g->items.n);
	int64_t number = r == 0 ? walk_path(g) : r;
	if (number < 0)
		return (int)number;
	struct sp_tree_node *node = &g->t.nodes[number];
	add_values(g, &node->self, &node->second_self, pile);
	sp_saturating_add(&node->n_samples, pile->n_samples);
	if (callees || g->path.n == 0)
		sp_saturating_add(&node->leaf, pile->value);
	count_libraries(g, pile, mark);
	return callees || g->path.n == 0 ? 0 : add_leaf(g, at, pile->value);
}

static void sum_whole(struct grower *g)
{
	g->t.value = g->t.second = g->t.n_samples = 0;
	for (uint32_t i = 0; i < sp_profile_n_rows(g->p); i++) {
		struct sp_tree_pile row = sp_tree_pile_of(g->p, g->o, &g->same, sp_profile_row(g->p, i));
		add_values(g, &g->t.value, &g->t.second, &row);
		sp_saturating_add(&g->t.n_samples, row.n_samples);
	}
	g->least = g->o->min_drawn * (double)g->t.value;
	g->second_least = g->o->min_drawn * (double)g->t.second;
}

/* As they come, if nodes are given up: that is for rows that are sorted, and without taking memory. */
static int add_each_row(struct grower *g)
{
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(g->p) && r == 0; i++) {
		struct sp_tree_pile row = sp_tree_pile_of(g->p, g->o, &g->same, sp_profile_row(g->p, i));
		r = sp_tree_shows(g->o, &row) ? add_pile(g, &row, i + 1) : 0;
	}
	return r;
}

static int add_piles(struct grower *g)
{
	SP_FREE struct sp_tree_pile *piles = NULL;
	uint32_t n = 0;
	int r = sp_tree_piles_make(g->p, g->o, &g->same, &piles, &n);

	for (uint32_t i = 0; i < n && r == 0; i++)
		r = add_pile(g, &piles[i], i + 1);
	return r;
}

static int add_rows(struct grower *g)
{
	int r = sp_grow(&g->t.nodes, &g->nodes_capacity, 1, sizeof(*g->t.nodes));

	if (r < 0)
		return r;
	g->t.nodes[0] = (struct sp_tree_node){0};
	g->t.n_nodes = 1;
	r = g->gives_up ? add_each_row(g) : add_piles(g);
	leave(g, 0);
	return r;
}

/* The rows were not sorted: from the beginning, and every node is kept. Labels stay. */
static int add_rows_again(struct grower *g)
{
	g->gives_up = false;
	g->n_steps = g->n_used = 0;
	g->t.n_left_out = 0;
	memset(g->slots, 0, g->n_slots * sizeof(*g->slots));
	memset(g->counted, 0, g->t.n_libraries * sizeof(*g->counted));
	for (uint32_t i = 0; i < g->t.n_libraries; i++)
		g->t.libraries[i] = (struct sp_tree_library){.file = g->t.libraries[i].file};
	return add_rows(g);
}

static int grow(struct grower *g)
{
	int r = g->o->by_path ? sp_identity_new_by_path(g->p, &g->same) : sp_identity_new(g->p, &g->same);

	if (r < 0)
		return r;
	g->label_of = calloc(sp_profile_n_frames(g->p), sizeof(*g->label_of));
	g->number_of = calloc(sp_profile_n_files(g->p), sizeof(*g->number_of));
	if (g->label_of == NULL || g->number_of == NULL || sp_intern_new(&g->labels) < 0 || add_library(g, 0) < 0 ||
	    add_label(g, (struct sp_tree_label){0}) < 0)
		return -ENOMEM;
	sum_whole(g);
	g->gives_up = g->o->min_drawn > 0 && g->o->drawn && g->o->focus == NULL;
	r = add_rows(g);
	return r == -EAGAIN ? add_rows_again(g) : r;
}

static void grower_done(struct grower *g)
{
	sp_identity_done(&g->same);
	sp_intern_free(g->labels);
	free(g->label_of);
	free(g->number_of);
	free(g->counted);
	free(g->items.data);
	free(g->path.data);
	free(g->steps);
	free(g->place);
	free(g->slots);
}

int sp_tree_new(const struct sp_profile *p, const struct sp_tree_options *o, struct sp_tree *ret_tree)
{
	struct grower g = {.p = p, .o = o};
	uint32_t n_values = sp_profile_n_value_types(p);
	int r = o->value < n_values && (!o->has_second || o->second < n_values) ? grow(&g) : -EINVAL;

	grower_done(&g);
	if (r == 0)
		r = sp_tree_shape(p, o, &g.t);
	if (r == 0)
		*ret_tree = g.t;
	else
		sp_tree_done(&g.t);
	return r;
}

void sp_tree_done(struct sp_tree *t)
{
	free(t->nodes);
	free(t->labels);
	free(t->libraries);
	free(t->library_of);
	*t = (struct sp_tree){0};
}

const char *sp_tree_name(const struct sp_profile *p, const struct sp_tree *t, uint32_t node)
{
	const struct sp_tree_label *l = &t->labels[t->nodes[node].label];

	if (l->kind == SP_TREE_COMM)
		return sp_profile_string(p, l->string);
	if (l->func != 0)
		return sp_profile_string(p, sp_profile_func(p, l->func)->name);
	return sp_profile_string(p, sp_profile_file(p, l->library)->name);
}
