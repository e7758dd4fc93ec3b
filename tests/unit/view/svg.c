/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flame graph: golden files, how stacks merge, what is dropped, hostile names, differences.
 * SP_UPDATE_GOLDEN=1 in the environment writes the golden files anew. `view-svg IN.stacks OUT.svg
 * [diff,absolute,icicle,callers]` draws a file of stacks (see stacks.h); tests/cmd/svg.sh and people
 * who want to look use it.
 */
#include "base/error.h"
#include "base/mem.h"
#include "fixture.h"
#include "profile/profile.h"
#include "stacks.h"
#include "test.h"
#include "view/svg/svg_tree.h"
#include "view/view.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct sp_view sp_view_svg;

/* With what was before, as the second value. */
static struct sp_profile *new_profile(const char *name, const char *unit)
{
	struct sp_profile *p = stacks_profile(name, unit);
	assert_true(sp_profile_add_value_type(p, "old", unit) >= 0);
	return p;
}

/* --- what the view writes --- */

static char *drawn(const struct sp_profile *p, const struct sp_view_options *o)
{
	return stacks_written(p, o, sp_view_svg.write);
}

static void test_demo(void **state)
{
	struct sp_profile *p = stacks_read(SP_TEST_DATA "/view/svg-demo.stacks");
	struct sp_view_options o = {.title = "Demo", .subtitle = "the same stacks in every test"};
	SP_FREE char *text = drawn(p, &o);
	fixture_compare("svg-demo.svg", text);
	sp_profile_free(p);
}

static const struct sp_view_options diff = {
    .title = "What changed", .subtitle = "libz faster, libcrypto slower", .has_second = true, .second = 1};

/* The picture, its callers, and as an icicle. */
static void test_diff(void **state)
{
	struct sp_profile *p = stacks_read(SP_TEST_DATA "/view/svg-diff.stacks");
	struct sp_view_options o = diff;
	SP_FREE char *text = drawn(p, &o);
	fixture_compare("svg-diff.svg", text);
	o.icicle = o.callers = true;
	SP_FREE char *icicle = drawn(p, &o);
	fixture_compare("svg-diff-icicle.svg", icicle);
	sp_profile_free(p);
}

static void test_empty(void **state)
{
	struct sp_profile *p = new_profile("samples", "count");
	struct sp_view_options o = {.title = "Nothing"};
	SP_FREE char *text = drawn(p, &o);
	assert_non_null(strstr(text, "There were no samples."));
	assert_null(strstr(text, "<script"));
	fixture_compare("svg-empty.svg", text);
	sp_profile_free(p);
}

/* None of these may close its element, begin another, or turn up in the script. */
static void test_hostile(void **state)
{
	static const char *const names[] = {
	    "</script><script>window.owned=1</script>",
	    "]]><x/>",
	    "</title></g></svg>",
	    "\"'><rect onclick=\"owned=1\"/>",
	    "a\nb\rc\td",
	    "\033[31mred",
	    "\xff\xfe\xc0\xaf bad",
	    "\xe2\x80\xae"
	    "rtl\xe2\x81\xa6",
	    "&lt;&#x3c;&amp;",
	    "<!--",
	    "\x01\x7f\xc2\x9b",
	    "\xef\xbf\xbe\xef\xbf\xbf",
	    "javascript:owned=1",
	    "漢字かな交じり関数名",
	    "",
	};
	struct sp_profile *p = new_profile("samples", "count");
	struct sp_view_options o = {.title = "</title><script>owned=1</script>", .subtitle = "]]>&\"<x>"};
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		uint32_t file = stacks_file(p, names[i], SP_FILE_ELF, "", i + 1);
		uint32_t frame = stacks_frame(p, file, names[i], 0);
		struct sp_stack stack = {.n_frames = 1, .frames = &frame};
		stacks_row(p, names[i], stacks_number(sp_profile_add_stack(p, &stack)), 0,
			   (int64_t[SP_MAX_VALUES]){(int64_t)i + 1});
	}
	SP_FREE char *text = drawn(p, &o);
	assert_int_equal(stacks_count(text, "<script"), 1);
	assert_int_equal(stacks_count(text, "</script"), 1);
	assert_int_equal(stacks_count(text, "]]>"), 2);
	assert_int_equal(stacks_count(text, "<![CDATA["), 2);
	assert_int_equal(stacks_count(text, "</svg>"), 1);
	assert_null(strstr(text, "<x"));
	assert_null(strstr(text, "\033"));
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_null(strstr(strstr(text, "<script"), "owned"));
	fixture_compare("svg-hostile.svg", text);
	sp_profile_free(p);
}

/* --- the tree --- */

static struct sp_svg_tree *tree_of(const struct sp_profile *p, const struct sp_view_options *o)
{
	struct sp_svg_tree *t = NULL;
	assert_int_equal(sp_svg_tree_new(p, o, 0, &t), 0);
	return t;
}

/* "all 5 (sh 5 (main 3) (read 2))": names and values, children in order. */
static void put_tree(FILE *f, const struct sp_svg_tree *t, uint32_t node)
{
	const struct sp_tree_node *nodes = t->tree.nodes;
	fprintf(f, "%s %lld", sp_svg_tree_name(t, node), (long long)nodes[node].total);
	if (t->is_diff)
		fprintf(f, "/%lld", (long long)nodes[node].second_total);
	for (uint32_t child = nodes[node].first; child; child = nodes[child].next) {
		fputs(" (", f);
		put_tree(f, t, child);
		fputc(')', f);
	}
}

static void assert_tree(const struct sp_profile *p, const struct sp_view_options *o, const char *wanted)
{
	struct sp_svg_tree *t = tree_of(p, o);
	SP_FREE char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	assert_non_null(f);
	put_tree(f, t, 0);
	fclose(f);
	assert_string_equal(text, wanted);
	sp_svg_tree_free(t);
}

static void test_merge(void **state)
{
	struct sp_view_options o = {0};
	struct sp_profile *p = new_profile("samples", "count");
	stacks_line(p, "3\tsh\ta`_start;a`main;c`read\t[k]`entry;[k]`vfs_read");
	stacks_line(p, "2\tsh\ta`_start;a`main\t");
	stacks_line(p, "4\tsh\ta`_start;a`main;c`read\t");
	stacks_line(p, "5\tkworker\t\t[k]`ret_from_fork");
	stacks_line(p, "6\tsh\t~c`read\t");
	assert_tree(p, &o,
		    "all 20 (kworker 5 (ret_from_fork 5)) (sh 15 ([truncated] 6 (read 6)) "
		    "(_start 9 (main 9 (read 7 (entry 3 (vfs_read 3))))))");
	assert_tree(p, &(struct sp_view_options){.user_only = true},
		    "all 20 (kworker 5) (sh 15 ([truncated] 6 (read 6)) (_start 9 (main 9 (read 7))))");
	assert_tree(p, &(struct sp_view_options){.kernel_only = true},
		    "all 20 (kworker 5 (ret_from_fork 5)) (sh 15 (entry 3 (vfs_read 3)))");
	struct sp_svg_tree *t = NULL;
	assert_int_equal(sp_svg_tree_new(p, &(struct sp_view_options){.value = 2}, 0, &t), -EINVAL);
	assert_int_equal(sp_svg_tree_new(p, &(struct sp_view_options){.has_second = true, .second = 2}, 0, &t),
			 -EINVAL);
	sp_error_clear();
	sp_profile_free(p);
}

static void test_absent_stack(void **state)
{
	struct sp_profile *p = new_profile("samples", "count");
	struct sp_stack absent = {.stack_class = SP_CLASS_ABSENT, .reason = 1};
	stacks_row(p, "exec", stacks_number(sp_profile_add_stack(p, &absent)), 0, (int64_t[SP_MAX_VALUES]){1});
	assert_tree(p, &(struct sp_view_options){0}, "all 1 (exec 1 ([no user stack] 1))");
	sp_profile_free(p);
}

/* The same build id on two paths is one library; another build id of the same name is another one. */
static void test_library_identity(void **state)
{
	static const char *const ids[] = {"\x11\x22", "\x11\x22", "\x33"};
	struct sp_profile *p = new_profile("samples", "count");
	for (uint64_t i = 0; i < SP_COUNT(ids); i++) {
		uint32_t frame = stacks_frame(p, stacks_file(p, "libz.so.1", SP_FILE_ELF, ids[i], i + 1), "inflate", 0);
		struct sp_stack stack = {.n_frames = 1, .frames = &frame};
		stacks_row(p, "x", stacks_number(sp_profile_add_stack(p, &stack)), 0, (int64_t[SP_MAX_VALUES]){10});
	}
	assert_tree(p, &(struct sp_view_options){0}, "all 30 (x 30 (inflate 20) (inflate 10))");
	struct sp_svg_tree *t = tree_of(p, &(struct sp_view_options){0});
	assert_int_equal(sp_svg_tree_n_libraries(t), 3);
	assert_string_equal(t->libraries[1].build_id, "1122");
	assert_int_equal(t->libraries[1].self, 20);
	sp_svg_tree_free(t);
	sp_profile_free(p);
}

/* JIT code belongs to one process; threads of one name run the same code in all of them. */
static void test_anonymous_memory(void **state)
{
	struct sp_profile *p = new_profile("samples", "count");
	for (uint64_t i = 1; i <= 3; i++) {
		uint32_t frame = stacks_frame(p, stacks_file(p, "[anon]", SP_FILE_ANON, "", i), "handle", 0);
		struct sp_stack stack = {.n_frames = 1, .frames = &frame};
		stacks_row(p, "node", stacks_number(sp_profile_add_stack(p, &stack)), 0, (int64_t[SP_MAX_VALUES]){5});
	}
	assert_tree(p, &(struct sp_view_options){0}, "all 15 (node 15 (handle 15))");
	sp_profile_free(p);
}

/* --- differences --- */

/* Old and new of every frame, what is new and what is gone; of negative values there is nothing to see. */
static void test_two_values(void **state)
{
	struct sp_profile *p = new_profile("samples", "count");
	stacks_line(p, "30,10\tsh\ta`main;b`f\t");
	stacks_line(p, "10,40\tsh\ta`main;b`g\t");
	stacks_line(p, "0,50\tsh\ta`main;b`gone;c`leaf\t");
	stacks_line(p, "60\tsh\ta`main;b`fresh\t");
	stacks_line(p, "-7,0\tsh\ta`main;b`less\t");
	assert_tree(p, &diff,
		    "all 100/100 (sh 100/100 (main 100/100 (f 30/10) (fresh 60/0) (g 10/40) (gone 0/50 (leaf 0/50))))");
	struct sp_view_options o = diff;
	o.callers = true;
	assert_tree(p, &o,
		    "all 100/100 (f 30/10 (main 30/10 (sh 30/10))) (fresh 60/0 (main 60/0 (sh 60/0))) "
		    "(g 10/40 (main 10/40 (sh 10/40))) (leaf 0/50 (gone 0/50 (main 0/50 (sh 0/50))))");
	SP_FREE char *text = drawn(p, &diff);
	assert_non_null(strstr(text, "<title>f\nb\n30 samples, 30.00%, was 10 samples, 10.00%: +20.00 pp; "
				     "self 30.00%, was 10.00%: +20.00 pp</title>"));
	assert_non_null(
	    strstr(text, "<title>main\na\n100 samples, 100.00%, was 100 samples, 100.00%: ±0.00 pp</title>"));
	assert_non_null(strstr(text,
			       "Not drawn: 2 frames that are gone or nearly so, but found by a search; the largest: "
			       "gone −50.00 pp</text>"));
	assert_non_null(strstr(text, "1 row with a value below 0."));
	assert_non_null(
	    strstr(text, "<title>c\nself 0.00%, was 50.00%: −50.00 pp; total 0.00%, was 50.00%: −50.00 pp"));
	assert_non_null(strstr(text, "\nO=[100,100,100,10,0,40,50,50,],"));
	/* The difference of fresh is the largest that is seen; that of f is a third of it, of g a half, downwards. */
	assert_non_null(strstr(text, "<rect class=\"l2 d16\""));
	assert_non_null(strstr(text, "<rect class=\"l2 d11\""));
	assert_non_null(strstr(text, "<rect class=\"l2 d4\""));
	assert_non_null(strstr(text, "<g class=\"off\"><title>gone"));
	sp_profile_free(p);
}

/* Twice as long a recording is no difference, unless it is asked for. */
static void test_normalised(void **state)
{
	struct sp_profile *p = new_profile("samples", "count");
	stacks_line(p, "30,15\tsh\ta`main;b`f\t");
	stacks_line(p, "20,10\tsh\ta`main;b`g\t");
	SP_FREE char *shares = drawn(p, &diff);
	assert_non_null(strstr(shares, "the same, or within noise</text>"));
	assert_non_null(strstr(shares, "30 samples, 60.00%, was 15 samples, 60.00%: ±0.00 pp; self"));
	assert_null(strstr(shares, " d16"));
	struct sp_view_options o = diff;
	o.absolute = true;
	SP_FREE char *values = drawn(p, &o);
	assert_non_null(strstr(values, "more: +15 samples</text>"));
	assert_non_null(strstr(values, "30 samples, 60.00%, was 15 samples, 60.00%: +15 samples; self"));
	assert_non_null(strstr(values, " d16"));
	sp_profile_free(p);
}

/* Nothing before, nothing now. */
static void test_one_side(void **state)
{
	struct sp_profile *p = new_profile("samples", "count");
	stacks_line(p, "4,0\tsh\ta`main\t");
	SP_FREE char *text = drawn(p, &diff);
	assert_non_null(strstr(text, "4 samples, was 0 samples, 3 frames;"));
	assert_non_null(strstr(text, "4 samples, 100.00%, was 0 samples, 0.00%: +100.00 pp"));
	struct sp_view_options o = {.value = 1, .has_second = true};
	SP_FREE char *gone = drawn(p, &o);
	assert_non_null(strstr(gone, "There were no samples."));
	assert_non_null(strstr(gone, "the largest: sh −100.00 pp"));
	sp_profile_free(p);
}

static void test_library_shares(void **state)
{
	struct sp_profile *p = new_profile("samples", "count");
	stacks_line(p, "3\tsh\ta`f;b`g;a`f;b`h\t");
	stacks_line(p, "4\tsh\ta`f\t[k]`entry");
	struct sp_svg_tree *t = tree_of(p, &(struct sp_view_options){0});
	assert_int_equal(sp_svg_tree_n_libraries(t), 4);
	const int64_t self[] = {0, 0, 3, 4}, total[] = {0, 7, 3, 4};
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(t->libraries[i].self, self[i]);
		assert_int_equal(t->libraries[i].total, total[i]);
		assert_int_equal(t->libraries[i].is_kernel, i == 3);
	}
	sp_svg_tree_free(t);
	sp_profile_free(p);
}

static void test_odd_values(void **state)
{
	struct sp_view_options o = {0};
	struct sp_profile *p = new_profile("cpu", "nanoseconds");
	stacks_line(p, "-3\ta\tx`f\t");
	stacks_line(p, "0\tb\tx`f\t");
	SP_FREE char *text = drawn(p, &o);
	assert_non_null(strstr(text, "There were no samples."));
	assert_non_null(strstr(text, "Not drawn: 1 row with a value below 0."));
	stacks_line(p, "9223372036854775807\tc\tx`f\t");
	SP_FREE char *large = drawn(p, &o);
	assert_non_null(strstr(large, "9,223,372,037 s cpu"));
	stacks_line(p, "1\td\tx`f\t");
	struct sp_svg_tree *t = NULL;
	assert_int_equal(sp_svg_tree_new(p, &o, 0, &t), -EOVERFLOW);
	sp_error_clear();
	sp_profile_free(p);
}

/* A program that is all there is: its packages have colours, and stand in the legend. */
static void test_tints(void **state)
{
	struct sp_profile *p = new_profile("samples", "count");
	struct sp_view_options o = {0};
	stacks_line(p, "80\tgo\tprog`runtime.main;prog`net/http.(*conn).serve\t");
	stacks_line(p, "20\tgo\tprog`runtime.main;prog`runtime.mallocgc\t[kernel]`page_fault");
	stacks_line(p, "15\tgo\tprog`runtime.main;prog`sort.part.0\t");
	SP_FREE char *text = drawn(p, &o);
	assert_non_null(strstr(text, ">net/http 69.57%<"));
	assert_non_null(strstr(text, ">sort 13.04%<"));
	assert_int_equal(stacks_count(text, " p0"), 1);
	assert_null(strstr(text, ">runtime ")); /* nothing of its own */
	stacks_line(p, "20\tgo\tprog`runtime.main;libz.so`deflate\t");
	SP_FREE char *two = drawn(p, &o);
	assert_null(strstr(two, ".p0{"));
	sp_profile_free(p);
}

/* --- size and what is dropped --- */

static void test_dropped(void **state)
{
	struct sp_profile *p = new_profile("samples", "count");
	stacks_line(p, "1000000\ta\tx`main;x`busy\t");
	stacks_line(p, "80\ta\tx`main;x`rare;x`rarer\t"); /* 80 of 1,000,081 is 0.094 px */
	stacks_line(p, "1\ta\tx`main;x`rare2\t");
	SP_FREE char *text = drawn(p, &(struct sp_view_options){0});
	assert_non_null(strstr(
	    text,
	    "Not drawn: 3 frames narrower than 0.1 of 1,200 px, together 0.01% of the whole; a search counts them."));
	assert_non_null(strstr(text, "<title>rare\nx</title>")); /* for a search; rare2 is less than a search counts */
	assert_null(strstr(text, "rare2"));
	assert_non_null(strstr(text, "L=[2,1,80,0,2,2,80,1,],\nX=1;"));
	assert_int_equal(stacks_count(text, "<g><title>"), 4);
	assert_non_null(strstr(text, "const D=[0,1000081,1,1000081,2,1000081,3,1000000,]"));
	sp_profile_free(p);
}

/* 5,000 frames of names of usual length in stacks 50 deep. */
static void test_size(void **state)
{
	struct sp_profile *p = new_profile("cpu", "nanoseconds");
	for (int i = 0; i < 106; i++) {
		char line[8192];
		size_t len = (size_t)snprintf(line, sizeof(line), "10101010\tworker-%d\t", i / 10);
		for (int k = 0; k < 48; k++)
			len += (size_t)snprintf(line + len, sizeof(line) - len,
						"%slibsomething%d.so.6`do_some_work_%d_%d", k ? ";" : "", k % 9, i, k);
		snprintf(line + len, sizeof(line) - len, "\t");
		stacks_line(p, line);
	}
	SP_FREE char *text = drawn(p, &(struct sp_view_options){.title = "size"});
	assert_in_range(stacks_count(text, "<g><title>"), 5000, 5200);
	print_message("%u frames: %zu bytes\n", stacks_count(text, "<g><title>"), strlen(text));
	assert_true(strlen(text) < 1 << 20);
	sp_profile_free(p);
}

static int draw_file(const char *from, const char *to, const char *options)
{
	struct sp_profile *p = stacks_read(from);
	struct sp_view_options o = {.title = "CPU flame graph", .subtitle = from, .second = 1};
	o.has_second = strstr(options, "diff");
	o.absolute = strstr(options, "absolute");
	o.icicle = strstr(options, "icicle");
	o.callers = strstr(options, "callers");
	SP_FCLOSE FILE *f = fopen(to, "we");
	const struct sp_view *view = sp_view_by_path(to);
	int r = f && view ? view->write(p, &o, f) : -EINVAL;
	sp_profile_free(p);
	return r < 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_anonymous_memory),
	    cmocka_unit_test(test_two_values),
	    cmocka_unit_test(test_normalised),
	    cmocka_unit_test(test_one_side),
	    cmocka_unit_test(test_demo),
	    cmocka_unit_test(test_diff),
	    cmocka_unit_test(test_empty),
	    cmocka_unit_test(test_hostile),
	    cmocka_unit_test(test_merge),
	    cmocka_unit_test(test_absent_stack),
	    cmocka_unit_test(test_library_identity),
	    cmocka_unit_test(test_library_shares),
	    cmocka_unit_test(test_odd_values),
	    cmocka_unit_test(test_tints),
	    cmocka_unit_test(test_dropped),
	    cmocka_unit_test(test_size),
	};
	if (argc >= 3)
		return draw_file(argv[1], argv[2], argc > 3 ? argv[3] : "");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
