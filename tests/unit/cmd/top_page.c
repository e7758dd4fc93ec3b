/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of random profiles: rows, order, filter, and what opening each row leads to. */
#include "cmd/top/top_page.h"
#include "profile/profile.h"
#include "random.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sp_top_state state_by(enum sp_total_by by)
{
	return (struct sp_top_state){.levels = {{.by = by}}};
}

static struct sp_top_page page_of(const struct sp_top_state *s, const struct sp_profile *p)
{
	struct sp_top_page page;

	assert_int_equal(sp_top_page_make(s, p, &page), 0);
	return page;
}

/*
 * What a row opens to is what the row said: of a library or function a tree whose first nodes add up to the row's
 * total; of processes and the like a table whose self adds up to it.
 */
static void check_opened(struct sp_top_state s, const struct sp_profile *p, const struct sp_top_page *page, size_t i)
{
	const struct sp_total *t = &page->rows[i].total;
	char what[SP_TOP_WORD];
	struct sp_top_page opened;
	int64_t sum = 0;
	size_t k;

	if (t->none) {
		assert_false(sp_top_page_what(page, i, what));
		return;
	}
	assert_true(sp_top_page_what(page, i, what));
	assert_true(sp_top_push(&s, what, "title"));
	opened = page_of(&s, p);
	assert_int_equal(opened.value, page->value);
	if (opened.is_tree) {
		const struct sp_tree_node *nodes = opened.tree.nodes;

		for (uint32_t n = nodes[0].first; n; n = nodes[n].next)
			sum += nodes[n].total;
	} else {
		for (k = 0; k < opened.n_rows; k++)
			sum += opened.rows[k].total.self;
	}
	assert_int_equal(sum, t->total);
	sp_top_page_done(&opened);
}

static void test_open(void **state)
{
	unsigned seed;
	size_t view, i;

	for (seed = 1; seed <= 4; seed++)
		for (view = 0; view < SP_TOP_N_VIEWS; view++) {
			struct sp_top_state s = state_by(sp_top_view(view));
			struct sp_profile *p = random_profile(seed);
			struct sp_top_page page = page_of(&s, p);

			assert_true(page.n_rows > 0);
			for (i = 0; i < page.n_rows; i++)
				check_opened(s, p, &page, i);
			sp_top_page_done(&page);
			sp_profile_free(p);
		}
}

static void test_order(void **state)
{
	struct sp_top_state s = state_by(SP_TOTAL_BY_FUNCTION);
	struct sp_profile *p = random_profile(9);
	struct sp_top_page page;
	size_t i, n;

	page = page_of(&s, p);
	n = page.n_rows;
	for (i = 1; i < n; i++)
		assert_true(page.rows[i - 1].total.self >= page.rows[i].total.self);
	sp_top_page_done(&page);
	s.sort = SP_TOP_TOTAL;
	page = page_of(&s, p);
	assert_int_equal(page.n_rows, n);
	for (i = 1; i < n; i++)
		assert_true(page.rows[i - 1].total.total >= page.rows[i].total.total);
	sp_top_page_done(&page);
	s.sort = SP_TOP_NAME;
	page = page_of(&s, p);
	assert_int_equal(page.n_rows, n);
	for (i = 1; i < n; i++)
		assert_true(strcasecmp(sp_total_name(p, page.by, &page.rows[i - 1].total),
				       sp_total_name(p, page.by, &page.rows[i].total)) <= 0);
	sp_top_page_done(&page);
	sp_profile_free(p);
}

static void test_filter(void **state)
{
	struct sp_top_state s = state_by(SP_TOTAL_BY_LIBRARY);
	struct sp_profile *p = random_profile(2);
	struct sp_top_page all = page_of(&s, p), some;
	char *name = sp_top_page_name(&all, 0);
	size_t i;

	snprintf(s.filter, sizeof(s.filter), "%s", name);
	some = page_of(&s, p);
	assert_in_range(some.n_rows, 1, all.n_rows - 1);
	assert_int_equal(some.value, all.value); /* shares stay those of everything */
	for (i = 0; i < some.n_rows; i++) {
		char *other = sp_top_page_name(&some, i);

		assert_non_null(strstr(other, name));
		free(other);
	}
	free(name);
	sp_top_page_done(&some);
	sp_top_page_done(&all);
	sp_profile_free(p);
	assert_true(sp_top_filter_matches("", "x"));
	assert_true(sp_top_filter_matches("LIBZ", "/usr/lib/libz.so.1"));
	assert_false(sp_top_filter_matches("libz", "libc.so.6"));
	assert_true(sp_top_filter_matches("lib?.so.*", "libz.so.1"));
	assert_false(sp_top_filter_matches("z.so.*", "libz.so.1")); /* a glob is of the whole name */
}

/* The next refresh is another profile: rows are found again by their words. */
static void test_find(void **state)
{
	struct sp_top_state s = state_by(SP_TOTAL_BY_FUNCTION);
	struct sp_profile *p = random_profile(4), *again = random_profile(4);
	struct sp_top_page before = page_of(&s, p), after = page_of(&s, again);
	char what[SP_TOP_WORD];
	size_t i, row;

	for (i = 0; i < before.n_rows; i++) {
		if (!sp_top_page_what(&before, i, what))
			continue;
		assert_true(sp_top_page_find(&after, what, &row));
		assert_int_equal(after.rows[row].total.total, before.rows[i].total.total);
	}
	assert_false(sp_top_page_find(&after, "there is no such function\t", &row));
	sp_top_page_done(&before);
	sp_top_page_done(&after);
	sp_profile_free(p);
	sp_profile_free(again);
}

static void test_nothing(void **state)
{
	struct sp_top_state s = state_by(SP_TOTAL_BY_LIBRARY);
	struct sp_profile *p;
	struct sp_top_page page;

	assert_int_equal(sp_profile_new(&p), 0);
	page = page_of(&s, p); /* not even value types */
	assert_int_equal(page.n_rows, 0);
	sp_top_page_done(&page);
	sp_profile_free(p);
}

/* Memory without a file of two processes is two rows of two names, each of which opens to its own samples. */
static void test_anon(void **state)
{
	struct sp_top_state s = state_by(SP_TOTAL_BY_LIBRARY);
	struct sp_profile *p;
	struct sp_top_page page;
	int64_t name;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	name = sp_profile_add_string(p, "[anon]");
	for (uint32_t pid = 12; pid <= 13; pid++) {
		uint32_t process = (uint32_t)sp_profile_add_process(p, &(struct sp_process){.pid = pid});
		uint32_t file = (uint32_t)sp_profile_add_file(
		    p, &(struct sp_file){.kind = SP_FILE_ANON, .name = (uint32_t)name, .process = process, .tag = pid});
		uint32_t frame = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = file, .offset = 16});
		uint32_t stack = (uint32_t)sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 1, .frames = &frame});
		uint32_t key = (uint32_t)sp_profile_add_key(p, &(struct sp_key){.process = process});

		assert_int_equal(sp_profile_add(p, key, stack, 0, (int64_t[SP_MAX_VALUES]){pid}), 0);
	}
	page = page_of(&s, p);
	assert_int_equal(page.n_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		char *words = sp_top_page_name(&page, i);

		assert_string_equal(words, i ? "[anon:12]" : "[anon:13]");
		check_opened(s, p, &page, i);
		free(words);
	}
	sp_top_page_done(&page);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_open), cmocka_unit_test(test_order),   cmocka_unit_test(test_filter),
	    cmocka_unit_test(test_find), cmocka_unit_test(test_nothing), cmocka_unit_test(test_anon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
