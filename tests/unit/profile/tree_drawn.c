/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What min_drawn leaves out is too narrow to be seen, is counted, and changes nothing of what stays. */
#include "profile/profile.h"
#include "profile/tree.h"
#include "random.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 9, N_FRAMES = 12, N_FILES = 3 };
#define SHARE 0.01

/* A profile whose rows come as a walk through a tree meets them, and a way to turn that order round. */
struct grown {
	struct sp_profile *p;
	uint32_t frames[N_FRAMES], stack[DEPTH], keys[2];
	struct {
		uint32_t key, stack;
		int64_t values[2];
	} rows[20000];
	size_t n;
};

static void put(struct grown *g, uint32_t key, uint32_t depth)
{
	struct sp_stack s = {.n_frames = depth, .frames = g->stack + DEPTH - depth};
	int64_t stack = sp_profile_add_stack(g->p, &s);

	assert_true(stack >= 0 && g->n < 20000);
	g->rows[g->n].key = key;
	g->rows[g->n].stack = (uint32_t)stack;
	g->rows[g->n].values[0] = rand() % 7 ? rand() % (400 >> depth | 2) : 0;
	g->rows[g->n++].values[1] = rand() % (400 >> depth | 2);
}

static void walk(struct grown *g, uint32_t key, uint32_t depth)
{
	if (depth > 0 && rand() % 2)
		put(g, key, depth);
	if (depth == DEPTH)
		return;
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		if (rand() % N_FRAMES > 2)
			continue;
		g->stack[DEPTH - 1 - depth] = g->frames[i]; /* the leaf is first */
		walk(g, key, depth + 1);
	}
}

static void start(struct grown *g, const char *const *comms)
{
	char name[32];

	assert_int_equal(sp_profile_new(&g->p), 0);
	assert_int_equal(sp_profile_add_value_type(g->p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(g->p, "before", "count"), 0);
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		(void)snprintf(name, sizeof(name), "lib%u", i % N_FILES);
		struct sp_file file = {.kind = SP_FILE_ELF, .tag = 1 + i % N_FILES};
		file.name = (uint32_t)sp_profile_add_string(g->p, name);
		uint32_t number = (uint32_t)sp_profile_add_file(g->p, &file);
		(void)snprintf(name, sizeof(name), "f%u", i);
		struct sp_func func = {.name = (uint32_t)sp_profile_add_string(g->p, name), .file = number};
		struct sp_frame frame = {.offset = i, .file = number};
		frame.func = (uint32_t)sp_profile_add_func(g->p, &func);
		g->frames[i] = (uint32_t)sp_profile_add_frame(g->p, &frame);
	}
	for (int i = 0; i < 2; i++) {
		struct sp_key key = {.comm = (uint32_t)sp_profile_add_string(g->p, comms[i])};
		g->keys[i] = (uint32_t)sp_profile_add_key(g->p, &key);
	}
}

static void finish(struct grown *g, size_t step)
{
	for (size_t i = 0; i < g->n; i++) {
		size_t at = i * step % g->n;
		assert_int_equal(sp_profile_add(g->p, g->rows[at].key, g->rows[at].stack, 0, g->rows[at].values), 0);
	}
}

static bool same_path(const struct sp_tree *a, uint32_t x, const struct sp_tree *b, uint32_t y)
{
	const struct sp_tree_label *l, *m;

	for (; x != 0 && y != 0; x = a->nodes[x].parent, y = b->nodes[y].parent) {
		l = &a->labels[a->nodes[x].label];
		m = &b->labels[b->nodes[y].label];
		if (l->kind != m->kind || l->func != m->func || l->library != m->library || l->string != m->string ||
		    l->flags != m->flags)
			return false;
	}
	return x == y;
}

static uint32_t find(const struct sp_tree *in, const struct sp_tree *t, uint32_t node)
{
	for (uint32_t i = 1; i < in->n_nodes; i++)
		if (same_path(in, i, t, node))
			return i;
	return 0;
}

static void node_is_same(const struct sp_tree_node *a, const struct sp_tree_node *b)
{
	assert_int_equal(a->self, b->self);
	assert_int_equal(a->total, b->total);
	assert_int_equal(a->second_self, b->second_self);
	assert_int_equal(a->second_total, b->second_total);
	assert_int_equal(a->n_samples, b->n_samples);
}

static void libraries_are_same(const struct sp_tree *a, const struct sp_tree *b)
{
	assert_int_equal(a->n_libraries, b->n_libraries);
	for (uint32_t i = 0; i < a->n_libraries; i++) {
		assert_int_equal(a->libraries[i].file, b->libraries[i].file);
		assert_int_equal(a->libraries[i].self, b->libraries[i].self);
		assert_int_equal(a->libraries[i].total, b->libraries[i].total);
		assert_int_equal(a->libraries[i].second_self, b->libraries[i].second_self);
		assert_int_equal(a->libraries[i].second_total, b->libraries[i].second_total);
	}
}

/* Returns how many nodes were left out. */
static uint64_t compare(const struct sp_profile *p, struct sp_tree_options o)
{
	struct sp_tree whole, drawn;
	uint32_t n_met = 0, n_valued[2] = {0};

	o.drawn = true;
	assert_int_equal(sp_tree_new(p, &o, &whole), 0);
	o.min_drawn = SHARE;
	assert_int_equal(sp_tree_new(p, &o, &drawn), 0);
	node_is_same(&whole.nodes[0], &drawn.nodes[0]);
	libraries_are_same(&whole, &drawn);
	for (uint32_t i = 1; i < whole.n_nodes; i++) {
		const struct sp_tree_node *node = &whole.nodes[i], *all = &whole.nodes[0];
		uint32_t other = find(&drawn, &whole, i);
		n_met += other != 0;
		n_valued[0] += node->total > 0;
		if (other != 0)
			node_is_same(node, &drawn.nodes[other]);
		else
			assert_true((double)node->total < SHARE * (double)all->total &&
				    (!o.has_second || (double)node->second_total < SHARE * (double)all->second_total));
	}
	assert_int_equal(n_met, drawn.n_nodes - 1);
	for (uint32_t i = 1; i < drawn.n_nodes; i++)
		n_valued[1] += drawn.nodes[i].total > 0;
	uint64_t n_left_out = drawn.n_left_out;
	assert_int_equal(n_valued[0], n_valued[1] + n_left_out);
	sp_tree_done(&whole);
	sp_tree_done(&drawn);
	return n_left_out;
}

static void grown(size_t step, uint64_t *ret_one, uint64_t *ret_both)
{
	static const char *const comms[] = {"first", "second"};
	static struct grown g;

	srand(5);
	g.n = 0;
	start(&g, comms);
	walk(&g, g.keys[0], 0);
	walk(&g, g.keys[1], 0);
	assert_true(g.n > 200);
	finish(&g, step);
	struct sp_tree_options o = {.comms = true};
	*ret_one = compare(g.p, o);
	o.has_second = true;
	o.second = 1;
	*ret_both = compare(g.p, o);
	o.granularity = SP_TREE_ENTRIES;
	o.fold_recursion = true;
	compare(g.p, o);
	o.direction = SP_TREE_CALLERS;
	compare(g.p, o);
	sp_profile_free(g.p);
}

static void sorted_rows(void **state)
{
	uint64_t one, both;

	grown(1, &one, &both);
	assert_true(one > 100);
	assert_true(both > 0 && both < one);
}

/* The order tells what may be given up early: without it the same goes in the end. */
static void rows_in_any_order(void **state)
{
	uint64_t one, both, sorted_one, sorted_both;

	grown(1, &sorted_one, &sorted_both);
	grown(7919, &one, &both); /* a prime, and no divisor of the number of rows */
	assert_int_equal(one, sorted_one);
	assert_int_equal(both, sorted_both);
}

static void random_rows(void **state)
{
	for (unsigned int seed = 1; seed < 2 + 3 / SP_FEWER; seed++) {
		struct sp_profile *p = random_profile(seed);
		compare(p, (struct sp_tree_options){.comms = true, .marks = true, .value = 1});
		sp_profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sorted_rows),
	    cmocka_unit_test(rows_in_any_order),
	    cmocka_unit_test(random_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
