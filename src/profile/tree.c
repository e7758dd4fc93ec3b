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

/* A node that is not the root, by its parent and label; node 0 = free. The key is here for the cache's sake. */
struct slot {
	uint32_t parent, label, node;
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
	struct words last, walk;  /* of the row before: labels in the order of the walk, nodes that it came to */
	uint32_t *place;          /* by label: where in the path it was put last */
	struct slot *slots;       /* open addressing */
	size_t n_slots;           /* a power of two */
	uint32_t comm;            /* string, of the row */
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

static int64_t child_of(struct grower *g, uint32_t parent, uint32_t label)
{
	uint32_t n = g->t.n_nodes;

	if (n == UINT32_MAX || ((size_t)n * 4 >= g->n_slots * 3 && grow_slots(g) < 0) ||
	    sp_grow(&g->t.nodes, &g->nodes_capacity, (size_t)n + 1, sizeof(*g->t.nodes)) < 0)
		return -ENOMEM;
	struct slot *slot = slot_of(g->slots, g->n_slots, parent, label);
	if (slot->node != 0)
		return slot->node;
	*slot = (struct slot){.parent = parent, .label = label, .node = n};
	g->t.nodes[n] = (struct sp_tree_node){.parent = parent, .label = label, .depth = g->t.nodes[parent].depth + 1};
	g->t.n_nodes++;
	return n;
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
	if (number == n)
		g->t.labels[n] = label;
	g->t.n_labels = sp_intern_count(g->labels);
	return number;
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
	if (s.stack_class == SP_STACK_CUT)
		return push(&g->items, ITEM_CUT);
	return s.stack_class == SP_STACK_ABSENT && s.n_frames == 0 ? push(&g->items, ITEM_NO_STACK) : 0;
}

static int lay_out(struct grower *g, const struct sp_row *row)
{
	int r = g->o->user_only ? 0 : lay_out_half(g, row->kernel);
	const struct sp_key *key = sp_profile_key(g->p, row->key);

	if (r == 0 && !g->o->kernel_only)
		r = lay_out_half(g, row->user);
	g->comm = key->comm != 0 ? key->comm : sp_profile_process(g->p, key->process)->comm;
	return r == 0 && g->o->comms ? push(&g->items, ITEM_COMM) : r;
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
static int64_t walk_path(struct grower *g)
{
	int64_t node = 0;
	bool same = true;

	if (sp_grow(&g->last.data, &g->last.capacity, g->path.n, sizeof(uint32_t)) < 0 ||
	    sp_grow(&g->walk.data, &g->walk.capacity, g->path.n, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < g->path.n; i++) {
		uint32_t label = g->path.data[g->o->direction == SP_TREE_CALLEES ? i : g->path.n - 1 - i];
		same = same && i < g->last.n && g->last.data[i] == label;
		node = same ? g->walk.data[i] : child_of(g, (uint32_t)node, label);
		if (node < 0)
			return node;
		g->last.data[i] = label;
		g->walk.data[i] = (uint32_t)node;
	}
	g->last.n = g->path.n;
	return node;
}

static int64_t value_of(const struct grower *g, const struct sp_row *row, uint32_t value)
{
	return g->o->drawn ? SP_MAX(row->values[value], 0) : row->values[value];
}

static int add_row(struct grower *g, const struct sp_row *row)
{
	bool callees = g->o->direction == SP_TREE_CALLEES;
	size_t at = 0;

	g->items.n = g->path.n = 0;
	if (g->o->drawn && row->values[g->o->value] <= 0 && (!g->o->has_second || row->values[g->o->second] <= 0))
		return 0;
	int r = lay_out(g, row);
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
	sp_saturating_add(&node->self, value_of(g, row, g->o->value));
	sp_saturating_add(&node->n_samples, sp_identity_samples(&g->same, row));
	if (g->o->has_second)
		sp_saturating_add(&node->second_self, value_of(g, row, g->o->second));
	return 0;
}

static int grow(struct grower *g)
{
	int r = g->o->by_path ? sp_identity_new_by_path(g->p, &g->same) : sp_identity_new(g->p, &g->same);

	if (r < 0)
		return r;
	g->label_of = calloc(sp_profile_n_frames(g->p), sizeof(*g->label_of));
	if (g->label_of == NULL || sp_intern_new(&g->labels) < 0 || add_label(g, (struct sp_tree_label){0}) < 0 ||
	    sp_grow(&g->t.nodes, &g->nodes_capacity, 1, sizeof(*g->t.nodes)) < 0)
		return -ENOMEM;
	g->t.nodes[0] = (struct sp_tree_node){0};
	g->t.n_nodes = 1;
	for (uint32_t i = 0; i < sp_profile_n_rows(g->p) && r == 0; i++) {
		const struct sp_row *row = sp_profile_row(g->p, i);
		sp_saturating_add(&g->t.value, value_of(g, row, g->o->value));
		sp_saturating_add(&g->t.n_samples, sp_identity_samples(&g->same, row));
		if (g->o->has_second)
			sp_saturating_add(&g->t.second, value_of(g, row, g->o->second));
		r = add_row(g, row);
	}
	return r;
}

int sp_tree_new(const struct sp_profile *p, const struct sp_tree_options *o, struct sp_tree *ret_tree)
{
	struct grower g = {.p = p, .o = o};
	uint32_t n_values = sp_profile_n_value_types(p);
	int r = o->value < n_values && (!o->has_second || o->second < n_values) ? grow(&g) : -EINVAL;

	sp_identity_done(&g.same);
	sp_intern_free(g.labels);
	free(g.label_of);
	free(g.items.data);
	free(g.path.data);
	free(g.last.data);
	free(g.walk.data);
	free(g.place);
	free(g.slots);
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
