/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/tree.h"

#include "base/intern.h"
#include "base/mem.h"
#include "profile/frames.h"
#include "profile/identity.h"
#include "profile/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Items of a stack, leaf first: numbers of frames, and these. */
enum { ITEM_CUT = 0xfffffffd, ITEM_NO_STACK, ITEM_COMM };
enum { SLOTS_MIN = 1024 };

struct words {
	uint32_t *data;
	size_t capacity, n;
};

/*
 * Hash table of nodes by parent and label; node 0 = free. parent and label are copies, to spare cache misses.
 * With pruning: `parent` is the depth, and `node` the serial of the parent that had this label last at this depth.
 */
struct slot {
	uint32_t parent, label, node;
};

/* A node of the path that was walked last. */
struct step {
	uint32_t label, node;
	uint32_t serial; /* with pruning: different for each node that was ever made */
};

struct tree_builder {
	const struct sp_profile *p;
	const struct sp_tree_options *o;
	struct sp_identity same;
	struct sp_tree t;
	struct sp_intern *labels;
	uint32_t *label_of; /* by frame, 0 = not made yet (label 0 is that of node 0) */
	size_t nodes_capacity, labels_capacity, place_capacity;
	struct words items, path; /* items: leaf first; path: labels, root first */
	size_t n_beside, n_own; /* of items, those that are not the thread's own (frames.h); of path, all before them */
	struct step *steps;     /* the path of the row before, in the order of the walk */
	size_t n_steps, steps_capacity;
	uint32_t *place;        /* by label: its last index in the path */
	struct slot *slots;     /* open addressing */
	size_t n_slots, n_used; /* a power of two */
	uint32_t comm;          /* string, of the row */
	bool prunes;            /* removes nodes that are too narrow when the path leaves them */
	uint32_t n_serials;
	double min_total, second_min_total; /* narrower nodes are pruned */
	uint32_t *number_of;                /* by file: index of the tree's libraries, 0 = not made yet */
	uint32_t *counted;                  /* by library: the stack (+ 1) that was counted in its total last */
	size_t libraries_capacity, library_of_capacity, counted_capacity;
};

static int words_push(struct words *w, uint32_t word)
{
	return SP_APPEND(w->data, w->n, w->capacity, word);
}

/* --- nodes --- */
/* The finalizer of MurmurHash3 (Austin Appleby, public domain). */
static size_t node_hash(uint32_t parent, uint32_t label)
{
	uint64_t h = (uint64_t)parent << 32 | label;

	h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 33;
}

/* Where the node is, or the free slot where it belongs. */
static struct slot *node_slot(struct slot *slots, size_t n_slots, uint32_t parent, uint32_t label)
{
	size_t at = node_hash(parent, label) & (n_slots - 1);

	while (slots[at].node != 0 && (slots[at].parent != parent || slots[at].label != label))
		at = (at + 1) & (n_slots - 1);
	return &slots[at];
}

static int node_slots_grow(struct tree_builder *g)
{
	size_t n = SP_MAX(g->n_slots * 2, (size_t)SLOTS_MIN);
	struct slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_slots; i++)
		if (g->slots[i].node != 0)
			*node_slot(slots, n, g->slots[i].parent, g->slots[i].label) = g->slots[i];
	free(g->slots);
	g->slots = slots;
	g->n_slots = n;
	return 0;
}

static int node_room_make(struct tree_builder *g)
{
	if (g->t.n_nodes == UINT32_MAX || (g->n_used * 4 >= g->n_slots * 3 && node_slots_grow(g) < 0))
		return -ENOMEM;
	return sp_grow(&g->t.nodes, &g->nodes_capacity, (size_t)g->t.n_nodes + 1, sizeof(*g->t.nodes));
}

static uint32_t node_add(struct tree_builder *g, uint32_t parent, uint32_t label)
{
	uint32_t n = g->t.n_nodes++;

	g->t.nodes[n] = (struct sp_tree_node){.parent = parent, .label = label, .depth = g->t.nodes[parent].depth + 1};
	return n;
}

static int64_t child_find_or_add(struct tree_builder *g, uint32_t parent, uint32_t label)
{
	int r = node_room_make(g);

	if (r < 0)
		return r;
	struct slot *slot = node_slot(g->slots, g->n_slots, parent, label);
	if (slot->node != 0)
		return slot->node;
	*slot = (struct slot){.parent = parent, .label = label, .node = g->t.n_nodes};
	g->n_used++;
	return node_add(g, parent, label);
}

/*
 * --- pruning ---
 * With sorted rows a node is only met again while the path is still in its parent, so it is enough to remember the
 * last parent of each label at each depth. A label that comes again under that parent shows that the rows are not
 * sorted: -EAGAIN.
 */
static int64_t child_add(struct tree_builder *g, const struct step *parent, size_t depth, uint32_t label)
{
	int r = node_room_make(g);

	if (r < 0)
		return r;
	if (g->n_serials >= UINT32_MAX - 1)
		return -EAGAIN;
	struct slot *slot = node_slot(g->slots, g->n_slots, (uint32_t)depth, label);
	uint32_t serial = parent ? parent->serial + 1 : 1; /* 0 is that of node 0 */
	if (slot->node == serial)
		return -EAGAIN;
	g->n_used += slot->node == 0;
	*slot = (struct slot){.parent = (uint32_t)depth, .label = label, .node = serial};
	return node_add(g, parent ? parent->node : 0, label);
}

static bool node_is_too_narrow(const struct tree_builder *g, const struct sp_tree_node *node)
{
	return (double)node->total < g->min_total &&
	       (!g->o->has_second || (double)node->second_total < g->second_min_total);
}

/*
 * Leaves the steps from `depth` on, and prunes them. Only the last node can be pruned: any other has children that are
 * wide enough, and so is itself. Until all paths are added, a node's total is what was pruned above it.
 */
static void path_shorten(struct tree_builder *g, size_t depth)
{
	while (g->prunes && g->n_steps > depth) {
		uint32_t number = g->steps[--g->n_steps].node;
		struct sp_tree_node *node = &g->t.nodes[number], *parent = &g->t.nodes[node->parent];
		if (number + 1 != g->t.n_nodes)
			continue;
		struct sp_tree_node whole = *node;
		sp_saturating_add(&whole.total, node->self);
		sp_saturating_add(&whole.second_total, node->second_self);
		if (!node_is_too_narrow(g, &whole))
			continue;
		sp_saturating_add(&parent->total, whole.total);
		sp_saturating_add(&parent->second_total, whole.second_total);
		sp_saturating_add(&parent->n_samples, whole.n_samples);
		g->t.n_left_out += whole.total > 0;
		g->t.n_nodes--;
	}
	g->n_steps = depth;
}

/* --- libraries --- */
/* A kernel function's file is its module. */
static uint32_t label_file(const struct tree_builder *g, const struct sp_tree_label *label)
{
	uint32_t file = label->library;

	if (label->func != 0 && (file == 0 || sp_profile_file(g->p, file)->kind == SP_FILE_KERNEL))
		file = sp_profile_func(g->p, label->func)->file;
	return sp_profile_file(g->p, file)->kind == SP_FILE_WORDS ? 0 : g->same.files[file];
}

static int tree_library_add(struct tree_builder *g, uint32_t file)
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

static int label_library_set(struct tree_builder *g, uint32_t number)
{
	uint32_t file = label_file(g, &g->t.labels[number]);
	int r = sp_grow(&g->t.library_of, &g->library_of_capacity, (size_t)number + 1, sizeof(*g->t.library_of));

	if (r == 0 && file != 0 && g->number_of[file] == 0)
		r = tree_library_add(g, file);
	if (r == 0)
		g->t.library_of[number] = g->number_of[file];
	return r;
}

static void tree_values_add(struct tree_builder *g, int64_t *value, int64_t *second, const struct sp_tree_stack *stack)
{
	sp_saturating_add(value, stack->value);
	if (g->o->has_second)
		sp_saturating_add(second, stack->second);
}

/* The path's last element is the leaf in both directions. What is not the thread's own costs no library anything. */
static void tree_libraries_count(struct tree_builder *g, const struct sp_tree_stack *stack, uint32_t mark)
{
	struct sp_tree_library *all = g->t.libraries, *leaf = &all[0];

	for (size_t i = 0; i < g->n_own; i++) {
		uint32_t library = g->t.library_of[g->path.data[i]];
		leaf = &all[library];
		if (g->counted[library] == mark)
			continue;
		g->counted[library] = mark;
		tree_values_add(g, &leaf->total, &leaf->second_total, stack);
	}
	tree_values_add(g, &leaf->self, &leaf->second_self, stack);
}

/* --- labels --- */
static int64_t label_add(struct tree_builder *g, struct sp_tree_label label)
{
	bool is_new;
	int r = sp_grow(&g->place, &g->place_capacity, (size_t)sp_intern_count(g->labels) + 1, sizeof(*g->place));

	if (r < 0)
		return r;
	int64_t number = sp_intern_add_to(g->labels, &label, sizeof(label), &g->t.labels, &g->labels_capacity,
					  sizeof(*g->t.labels), &is_new);
	if (is_new) {
		g->t.labels[number] = label;
		r = label_library_set(g, (uint32_t)number);
	}
	g->t.n_labels = sp_intern_count(g->labels);
	return r < 0 ? r : number;
}

static struct sp_tree_label label_of_frame(const struct tree_builder *g, uint32_t number)
{
	const struct sp_frame *frame = sp_profile_frame(g->p, number);
	struct sp_tree_label label = {.kind = SP_TREE_FRAME, .library = g->same.library_of[number]};
	bool in_kernel = sp_profile_file(g->p, label.library)->kind == SP_FILE_KERNEL;
	bool is_run = g->o->granularity != SP_TREE_FUNCTIONS && label.library != 0;

	label.flags = in_kernel ? SP_FRAMEF_KERNEL : frame->flags & SP_FRAMEF_KERNEL;
	if (!is_run && g->o->marks)
		label.flags |= frame->flags & SP_FRAMEF_GUESSED;
	if (is_run)
		label.kind = SP_TREE_RUN;
	if (!is_run || g->o->granularity == SP_TREE_ENTRIES)
		label.func = g->same.function_of[number];
	return label;
}

static bool item_is_frame(uint32_t item)
{
	return item < ITEM_CUT;
}

static int64_t label_of_item(struct tree_builder *g, uint32_t item)
{
	if (item == ITEM_COMM)
		return label_add(g, (struct sp_tree_label){.kind = SP_TREE_COMM, .string = g->comm});
	if (!item_is_frame(item))
		return label_add(g, (struct sp_tree_label){.kind = item == ITEM_CUT ? SP_TREE_CUT : SP_TREE_NO_STACK});
	if (g->label_of[item] != 0)
		return g->label_of[item];
	int64_t label = label_add(g, label_of_frame(g, item));
	if (label > 0)
		g->label_of[item] = (uint32_t)label;
	return label;
}

/* --- paths --- */
static int stack_items_append(struct tree_builder *g, uint32_t number)
{
	struct sp_stack s = sp_profile_stack(g->p, number);
	struct words *w = &g->items;
	int r = sp_grow(&w->data, &w->capacity, w->n + s.n_frames, sizeof(*w->data));

	if (!w->n)
		g->n_beside = sp_profile_n_beside(g->p, &s);
	for (uint32_t i = 0; i < s.n_frames && r == 0; i++)
		w->data[w->n++] = s.frames[i];
	if (r < 0 || number == 0 || !g->o->marks)
		return r;
	if (s.stack_class == SP_CLASS_CUT)
		return words_push(&g->items, ITEM_CUT);
	return s.stack_class == SP_CLASS_ABSENT && s.n_frames == 0 ? words_push(&g->items, ITEM_NO_STACK) : 0;
}

static int stack_items_set(struct tree_builder *g, const struct sp_tree_stack *stack)
{
	int r = g->o->user_only ? 0 : stack_items_append(g, stack->kernel);

	if (r == 0 && !g->o->kernel_only)
		r = stack_items_append(g, stack->user);
	g->comm = stack->comm;
	return r == 0 && g->o->comms && g->comm != 0 ? words_push(&g->items, ITEM_COMM) : r;
}

/*
 * The index of the focus in the items; false: it is not there. A run may contain frames of no known file, as in
 * matrix.h.
 */
static bool focus_find(const struct tree_builder *g, size_t *ret_at)
{
	bool found = false;

	for (size_t i = 0; i < g->items.n; i++) {
		uint32_t item = g->items.data[i];
		if (item_is_frame(item) && g->o->focus[item])
			*ret_at = i;
		else if (found && g->o->focus_run && item_is_frame(item) && g->same.library_of[item] != 0)
			break;
		found |= item_is_frame(item) && g->o->focus[item];
	}
	return found;
}

/* If a function is in the path already, shortens the path to there. What is not the thread's own calls none of its. */
static bool path_fold_recursion(struct tree_builder *g, uint32_t label, size_t from)
{
	uint32_t kind = g->t.labels[label].kind, at = g->place[label];

	if (!g->o->fold_recursion || (kind != SP_TREE_FRAME && kind != SP_TREE_RUN))
		return false;
	if (at < from || at >= g->path.n || g->path.data[at] != label) {
		g->place[label] = (uint32_t)g->path.n;
		return false;
	}
	g->path.n = at + 1;
	return true;
}

/* Sets the path to the labels of items `first` (nearest to the leaf) to `end` - 1, root first. */
static int path_make(struct tree_builder *g, size_t first, size_t end)
{
	struct words *w = &g->path;
	uint32_t run = 0;

	if (sp_grow(&w->data, &w->capacity, w->n + end - first, sizeof(*w->data)) < 0)
		return -ENOMEM;
	for (size_t i = end; i-- > first;) {
		uint32_t item = g->items.data[i], library = item_is_frame(item) ? g->same.library_of[item] : 0;
		bool goes_on = g->o->granularity != SP_TREE_FUNCTIONS && library != 0 && library == run;
		run = library;
		if (goes_on)
			continue;
		int64_t label = label_of_item(g, item);
		if (label < 0)
			return (int)label;
		if (!path_fold_recursion(g, (uint32_t)label, i < g->n_beside ? g->n_own : 0))
			w->data[w->n++] = (uint32_t)label;
		g->n_own = i < g->n_beside ? g->n_own : w->n;
	}
	return 0;
}

/* Profiles are often sorted: the steps in common with the path before are not looked up again. */
static size_t path_common_steps(const struct tree_builder *g, bool forwards)
{
	const uint32_t *labels = g->path.data;
	size_t n = SP_MIN(g->path.n, g->n_steps), i = 0;

	while (i < n && g->steps[i].label == labels[forwards ? i : g->path.n - 1 - i])
		i++;
	return i;
}

static int64_t path_walk(struct tree_builder *g)
{
	bool forwards = g->o->direction == SP_TREE_CALLEES;
	size_t i = path_common_steps(g, forwards);
	int64_t node = i > 0 ? g->steps[i - 1].node : 0;

	path_shorten(g, i);
	if (sp_grow(&g->steps, &g->steps_capacity, g->path.n, sizeof(*g->steps)) < 0)
		return -ENOMEM;
	for (; i < g->path.n; i++) {
		uint32_t label = g->path.data[forwards ? i : g->path.n - 1 - i];
		node = g->prunes ? child_add(g, i > 0 ? &g->steps[i - 1] : NULL, i, label)
				 : child_find_or_add(g, (uint32_t)node, label);
		if (node < 0)
			return node;
		g->steps[i] = (struct step){.label = label, .node = (uint32_t)node, .serial = ++g->n_serials};
		g->n_steps = i + 1;
	}
	return node;
}

/* CALLERS: whether the sample is in the function that the path begins with. With a focus it may be in a callee. */
static int path_begins_with_leaf(struct tree_builder *g, size_t at, bool *ret_is)
{
	int r = 0;

	*ret_is = !g->o->focus && g->path.n > 0;
	if (g->o->focus) {
		g->path.n = 0;
		r = path_make(g, 0, at + 1);
		*ret_is = r == 0 && g->path.n > 0 && g->path.data[g->path.n - 1] == g->steps[0].label;
	}
	return r;
}

static int path_leaf_add(struct tree_builder *g, size_t at, int64_t value)
{
	bool is_leaf = false;
	int r = path_begins_with_leaf(g, at, &is_leaf);

	if (is_leaf)
		sp_saturating_add(&g->t.nodes[g->steps[0].node].leaf, value);
	return r;
}

static int tree_stack_add(struct tree_builder *g, const struct sp_tree_stack *stack, uint32_t mark)
{
	bool callees = g->o->direction == SP_TREE_CALLEES;
	size_t at = 0;

	g->items.n = g->path.n = g->n_beside = g->n_own = 0;
	int r = stack_items_set(g, stack);
	if (r < 0 || (g->o->focus && !focus_find(g, &at)))
		return r;
	if (!g->o->focus)
		r = path_make(g, 0, g->items.n);
	else
		r = callees ? path_make(g, 0, at + 1) : path_make(g, at, g->items.n);
	int64_t number = r == 0 ? path_walk(g) : r;
	if (number < 0)
		return (int)number;
	struct sp_tree_node *node = &g->t.nodes[number];
	tree_values_add(g, &node->self, &node->second_self, stack);
	sp_saturating_add(&node->n_samples, stack->n_samples);
	if (callees || g->path.n == 0)
		sp_saturating_add(&node->leaf, stack->value);
	tree_libraries_count(g, stack, mark);
	return callees || g->path.n == 0 ? 0 : path_leaf_add(g, at, stack->value);
}

static void tree_whole_sum(struct tree_builder *g)
{
	g->t.value = g->t.second = g->t.n_samples = 0;
	for (uint32_t i = 0; i < sp_profile_n_rows(g->p); i++) {
		struct sp_tree_stack row = sp_tree_stack_of_row(g->p, g->o, &g->same, sp_profile_row(g->p, i));
		tree_values_add(g, &g->t.value, &g->t.second, &row);
		sp_saturating_add(&g->t.n_samples, row.n_samples);
	}
	g->min_total = g->o->min_drawn * (double)g->t.value;
	g->second_min_total = g->o->min_drawn * (double)g->t.second;
}

/* With pruning rows are added one by one, without the memory to merge equal stacks. */
static int tree_rows_add_each(struct tree_builder *g)
{
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(g->p) && r == 0; i++) {
		struct sp_tree_stack row = sp_tree_stack_of_row(g->p, g->o, &g->same, sp_profile_row(g->p, i));
		r = sp_tree_stack_has_value(g->o, &row) ? tree_stack_add(g, &row, i + 1) : 0;
	}
	return r;
}

static int tree_stacks_add(struct tree_builder *g)
{
	SP_FREE struct sp_tree_stack *stacks = NULL;
	uint32_t n = 0;
	int r = sp_tree_stacks_make(g->p, g->o, &g->same, &stacks, &n);

	for (uint32_t i = 0; i < n && r == 0; i++)
		r = tree_stack_add(g, &stacks[i], i + 1);
	return r;
}

static int tree_rows_add(struct tree_builder *g)
{
	int r = sp_grow(&g->t.nodes, &g->nodes_capacity, 1, sizeof(*g->t.nodes));

	if (r < 0)
		return r;
	g->t.nodes[0] = (struct sp_tree_node){0};
	g->t.n_nodes = 1;
	r = g->prunes ? tree_rows_add_each(g) : tree_stacks_add(g);
	path_shorten(g, 0);
	return r;
}

/* Begins anew without pruning, because the rows were not sorted. Labels are kept. */
static int tree_rows_add_unpruned(struct tree_builder *g)
{
	g->prunes = false;
	g->n_steps = g->n_used = 0;
	g->t.n_left_out = 0;
	memset(g->slots, 0, g->n_slots * sizeof(*g->slots));
	memset(g->counted, 0, g->t.n_libraries * sizeof(*g->counted));
	for (uint32_t i = 0; i < g->t.n_libraries; i++)
		g->t.libraries[i] = (struct sp_tree_library){.file = g->t.libraries[i].file};
	return tree_rows_add(g);
}

static int tree_build(struct tree_builder *g)
{
	int r = g->o->by_path ? sp_identity_new_by_path(g->p, &g->same) : sp_identity_new(g->p, &g->same);

	if (r < 0)
		return r;
	g->label_of = calloc(sp_profile_n_frames(g->p), sizeof(*g->label_of));
	g->number_of = calloc(sp_profile_n_files(g->p), sizeof(*g->number_of));
	if (!g->label_of || !g->number_of || sp_intern_new(&g->labels) < 0 || tree_library_add(g, 0) < 0 ||
	    label_add(g, (struct sp_tree_label){0}) < 0)
		return -ENOMEM;
	tree_whole_sum(g);
	g->prunes = g->o->min_drawn > 0 && g->o->drawn && !g->o->focus;
	r = tree_rows_add(g);
	return r == -EAGAIN ? tree_rows_add_unpruned(g) : r;
}

static void tree_builder_done(struct tree_builder *g)
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
	struct tree_builder g = {.p = p, .o = o};
	uint32_t n_values = sp_profile_n_value_types(p);
	int r = o->value < n_values && (!o->has_second || o->second < n_values) ? tree_build(&g) : -EINVAL;

	tree_builder_done(&g);
	if (r == 0)
		r = sp_tree_finish(p, o, &g.t);
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
