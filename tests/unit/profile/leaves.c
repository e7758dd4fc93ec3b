/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/leaves.h"
#include "base/mem.h"
#include "profile/frames.h"
#include "profile/profile.h"
#include "profile/totals.h"
#include "profile/tree.h"
#include "test.h"

#include <stdint.h>
#include <string.h>

static uint32_t string(struct sp_profile *p, const char *s)
{
	return (uint32_t)sp_profile_add_string(p, s);
}

static uint32_t stack_of(struct sp_profile *p, const char *name, int class)
{
	struct sp_file file = {.kind = SP_FILE_ELF, .name = string(p, "lib"), .tag = 1};
	struct sp_func func = {.name = string(p, name), .file = (uint32_t)sp_profile_add_file(p, &file)};
	struct sp_frame frame = {.file = func.file, .offset = (uint64_t)*name};
	uint32_t number = (uint32_t)sp_profile_add_frame(p, &frame);

	sp_profile_frame(p, number)->func = (uint32_t)sp_profile_add_func(p, &func);
	return (uint32_t)sp_profile_add_stack(
	    p, &(struct sp_stack){.stack_class = (uint16_t) class, .n_frames = 1, .frames = &number});
}

/* A row with this label, or none. */
static void add(struct sp_profile *p, const char *name, const char *word, uint32_t user, uint32_t kernel, int64_t n)
{
	struct sp_label label = {.name = string(p, name), .word = string(p, word)};
	struct sp_key key = {.comm = string(p, "thread"),
			     .labels = (uint32_t)sp_profile_add_labels(p, &label, *name != '\0')};

	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), user, kernel, &n), 0);
}

static const char *leaf_of(const struct sp_profile *p, uint32_t stack)
{
	struct sp_stack s = sp_profile_stack(p, stack);

	return s.n_frames ? sp_profile_string(p, sp_profile_func(p, sp_profile_frame(p, s.frames[0])->func)->name) : "";
}

static struct sp_profile *made(void)
{
	struct sp_profile *p;
	uint32_t user, kernel, cut, none = 0;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "faults", "count"), 0);
	user = stack_of(p, "user", SP_CLASS_COMPLETE);
	kernel = stack_of(p, "kernel", SP_CLASS_COMPLETE);
	cut = stack_of(p, "cut", SP_CLASS_CUT);
	add(p, "memory", "[heap]", user, kernel, 1);
	add(p, "memory", "[heap]", cut, none, 2);
	add(p, "memory", "file", none, none, 4);
	add(p, "other", "[heap]", user, kernel, 8);
	add(p, "", "", user, none, 16);
	return p;
}

/* On top of the kernel's frames, if there are any; else of the user's, whose stack stays what it was. */
static void texts_are_leaves(void **state)
{
	struct sp_profile *p = made(), *with;

	assert_int_equal(sp_profile_leaves(p, "memory", false, &with), 0);
	assert_int_equal(sp_profile_n_rows(with), 5);
	assert_string_equal(leaf_of(with, sp_profile_row(with, 0)->kernel), "[heap]");
	assert_string_equal(leaf_of(with, sp_profile_row(with, 0)->user), "user");
	assert_int_equal(sp_profile_stack(with, sp_profile_row(with, 0)->kernel).n_frames, 2);
	assert_string_equal(leaf_of(with, sp_profile_row(with, 1)->user), "[heap]");
	assert_int_equal(sp_profile_stack(with, sp_profile_row(with, 1)->user).stack_class, SP_CLASS_CUT);
	assert_string_equal(leaf_of(with, sp_profile_row(with, 2)->kernel), "file");
	assert_string_equal(leaf_of(with, sp_profile_row(with, 3)->kernel), "kernel");
	assert_string_equal(leaf_of(with, sp_profile_row(with, 4)->user), "user");
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(sp_profile_row(with, i)->values[0], 1 << i);
	assert_int_equal(sp_profile_n_rows(p), 5); /* the old one is as it was */
	sp_profile_free(with);
	assert_int_equal(sp_profile_leaves(p, "memory", true, &with), 0);
	assert_string_equal(leaf_of(with, sp_profile_row(with, 0)->user), "[heap]");
	assert_string_equal(leaf_of(with, sp_profile_row(with, 0)->kernel), "kernel");
	sp_profile_free(with);
	sp_profile_free(p);
}

/* The texts of one label are one function of one file of words, which is no library: sums are those of the code. */
static void leaves_have_no_share(void **state)
{
	static const enum sp_total_by by[] = {SP_TOTAL_BY_LIBRARY, SP_TOTAL_BY_FUNCTION, SP_TOTAL_BY_CALLER};
	struct sp_profile *p = made(), *with;
	struct sp_totals a, b;

	assert_int_equal(sp_profile_leaves(p, "memory", false, &with), 0);
	assert_int_equal(sp_profile_stack(with, sp_profile_row(with, 0)->kernel).frames[0],
			 sp_profile_stack(with, sp_profile_row(with, 1)->user).frames[0]);
	for (size_t i = 0; i < SP_COUNT(by); i++) {
		assert_int_equal(sp_totals_by(p, by[i], 0, &a), 0);
		assert_int_equal(sp_totals_by(with, by[i], 0, &b), 0);
		assert_int_equal(a.n_rows, b.n_rows);
		for (size_t k = 0; k < a.n_rows; k++) {
			assert_string_equal(sp_total_name(p, by[i], &a.rows[k]),
					    sp_total_name(with, by[i], &b.rows[k]));
			assert_int_equal(a.rows[k].self, b.rows[k].self);
			assert_int_equal(a.rows[k].total, b.rows[k].total);
		}
		sp_totals_done(&a);
		sp_totals_done(&b);
	}
	sp_profile_free(with);
	sp_profile_free(p);
}

static const struct sp_tree_library *library_in(const struct sp_profile *p, const struct sp_tree *t, const char *name)
{
	for (uint32_t i = 0; i < t->n_libraries; i++)
		if (!strcmp(sp_profile_string(p, sp_profile_file(p, t->libraries[i].file)->name), name))
			return &t->libraries[i];
	return NULL;
}

/* Trees draw them, and their libraries (a legend) have none of it. */
static void trees_draw_leaves(void **state)
{
	struct sp_profile *p = made(), *with;
	struct sp_tree_options o = {.fold_recursion = true};
	struct sp_tree t;
	int64_t drawn = 0;

	assert_int_equal(sp_profile_leaves(p, "memory", false, &with), 0);
	assert_int_equal(sp_tree_new(with, &o, &t), 0);
	for (uint32_t i = 1; i < t.n_nodes; i++)
		if (!strcmp(sp_tree_name(with, &t, i), "[heap]"))
			drawn += t.nodes[i].self;
	assert_int_equal(drawn, 3);
	assert_null(library_in(with, &t, "[memory]"));
	assert_int_equal(library_in(with, &t, "lib")->self, 27);
	assert_int_equal(library_in(with, &t, "lib")->total, 27);
	assert_int_equal(library_in(with, &t, "")->self, 4); /* it has a label, and no frame */
	sp_tree_done(&t);
	sp_profile_free(with);
	sp_profile_free(p);
}

/* A word with frames above it, towards the leaf: they are somebody else's, and no recursion of what is below it. */
static void what_is_behind_a_word(void **state)
{
	struct sp_profile *p = made();
	struct sp_file file = {.kind = SP_FILE_WORDS, .name = string(p, "[waker]"), .tag = 9};
	struct sp_func func = {.name = string(p, "--"), .file = (uint32_t)sp_profile_add_file(p, &file)};
	struct sp_frame word = {.file = func.file, .func = (uint32_t)sp_profile_add_func(p, &func)};
	uint32_t user = sp_profile_stack(p, stack_of(p, "user", SP_CLASS_COMPLETE)).frames[0];
	uint32_t frames[] = {user, (uint32_t)sp_profile_add_frame_variant(p, &word, false), user};
	struct sp_stack s = {.n_frames = 3, .frames = frames};
	struct sp_tree_options o = {.fold_recursion = true};
	struct sp_tree t;
	uint32_t depth = 0;

	assert_int_equal(sp_profile_n_beside(p, &s), 2);
	assert_string_equal(sp_profile_drawn_name(p, word.func), "woken by");
	assert_string_equal(sp_profile_drawn_name(p, sp_profile_frame(p, user)->func), "user");
	add(p, "", "", (uint32_t)sp_profile_add_stack(p, &s), 0, 32);
	assert_int_equal(sp_tree_new(p, &o, &t), 0);
	for (uint32_t i = 1; i < t.n_nodes; i++)
		depth = SP_MAX(depth, t.nodes[i].self == 32 ? t.nodes[i].depth : 0);
	assert_int_equal(depth, 3);
	assert_int_equal(library_in(p, &t, "lib")->self, 27 + 32);
	sp_tree_done(&t);
	sp_profile_free(p);
}

/* And tables group by the label itself. */
static void labels_are_groups(void **state)
{
	struct sp_profile *p = made();
	struct sp_totals t;

	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_MEMORY, 0, &t), 0);
	assert_int_equal(t.n_rows, 3);
	assert_true(t.rows[0].none);
	assert_int_equal(t.rows[0].self, 24);
	assert_string_equal(sp_total_name(p, SP_TOTAL_BY_MEMORY, &t.rows[1]), "file");
	assert_int_equal(t.rows[1].total, 4);
	assert_string_equal(sp_total_name(p, SP_TOTAL_BY_MEMORY, &t.rows[2]), "[heap]");
	assert_int_equal(t.rows[2].self, 3);
	sp_totals_done(&t);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_LOCK, 0, &t), 0);
	assert_int_equal(t.n_rows, 1);
	assert_true(t.rows[0].none);
	sp_totals_done(&t);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(texts_are_leaves),  cmocka_unit_test(leaves_have_no_share),
	    cmocka_unit_test(trees_draw_leaves), cmocka_unit_test(what_is_behind_a_word),
	    cmocka_unit_test(labels_are_groups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
