/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTML report: the data say what the profile says, equal stacks are one, nothing from the profile is markup, and
 * the page is small. What the page does with it is tested in a browser (tests/full/html.sh), on pages made by
 *   view-html stacks IN OUT    a file of stacks (see stacks.h)
 *   view-html hostile OUT      names that want to be something else
 *   view-html big N DEPTH OUT  N different stacks of DEPTH frames
 */
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/diff.h"
#include "profile/profile.h"
#include "profile/totals.h"
#include "stacks.h"
#include "test.h"
#include "view/html/html_data.h"
#include "view/html/html_stacks.h"
#include "view/view.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct sp_view sp_view_html;

/* --- profiles that are made --- */

static const char *const hostile[] = {
    "</script><script>window.owned=1</script>",
    "<!--<script>",
    "]]><x/>",
    "</title></noscript></style><img src=x onerror=owned=1>",
    "\"'><rect onclick=\"owned=1\"/>",
    "a\nb\rc\td",
    "\033[31mred",
    "\xff\xfe\xc0\xaf bad",
    "\xe2\x80\xae"
    "rtl\xe2\x81\xa6",
    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
    "&lt;&#x3c;&amp;",
    "\\u003cimg src=x onerror=owned=1\\u003e",
    "\x01\x7f\xc2\x9b",
    "\xe2\x80\xa8\xe2\x80\xa9",
    "javascript:owned=1",
    "__proto__",
    "constructor",
    "${owned=1}",
    "漢字かな交じり関数名",
    "@DATA@ @TITLE@",
    "lib:x",
    "",
};

static struct sp_profile *hostile_profile(void)
{
	struct sp_profile *p = stacks_profile("samples", "count");
	for (size_t i = 0; i < SP_COUNT(hostile); i++) {
		uint32_t file = stacks_file(p, hostile[i], SP_FILE_ELF, "", i + 1);
		struct sp_file *it = sp_profile_file(p, file);
		it->path = it->package = it->note = it->name;
		it->deleted = i % 2;
		uint32_t frame = stacks_frame(p, file, hostile[i], i % 3 ? 0 : SP_FRAMEF_GUESSED);
		stacks_row(p, hostile[i], stacks_stack(p, &frame, 1, i % 4 == 1), 0,
			   (int64_t[SP_MAX_VALUES]){(int)i + 1});
	}
	return p;
}

static const struct sp_view_options hostile_options = {.title = "</title><script>owned=1</script>@STATIC@",
						       .subtitle = "]]>&\"<x>--></script>"};

static uint32_t random_below(uint64_t *state, uint32_t n)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((*state >> 33) % n);
}

/* The lower third of the stacks branches by three each level, the rest is all different: hardly anything merges. */
static struct sp_profile *big_profile(uint32_t n_stacks, uint32_t depth)
{
	enum { LIBRARIES = 60, FUNCTIONS = 20000 };
	struct sp_profile *p = stacks_profile("samples", "count");
	assert_true(sp_profile_add_value_type(p, "cpu", "nanoseconds") >= 0);
	uint32_t *frames = calloc(FUNCTIONS, sizeof(*frames)), stack[STACKS_MAX_DEPTH];
	uint64_t state = 42;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[64], library[64], id[3] = {(char)(1 + i % LIBRARIES), 'x', 0};
		snprintf(name, sizeof(name), "some_function_of_usual_length_%u", i);
		snprintf(library, sizeof(library), "libsomething%u.so.%u", i % LIBRARIES, i % LIBRARIES / 7);
		frames[i] = stacks_frame(p, stacks_file(p, library, SP_FILE_ELF, id, i % LIBRARIES), name, 0);
	}
	for (uint32_t i = 0; i < n_stacks; i++) {
		for (uint32_t k = 0; k < depth; k++)
			stack[k] =
			    frames[k < depth / 3 ? 100 * k + random_below(&state, 3) : random_below(&state, FUNCTIONS)];
		int64_t n = 1 + random_below(&state, 50);
		stacks_row(p, i % 3 ? "worker" : "main", stacks_stack(p, stack, depth, false), 0,
			   (int64_t[SP_MAX_VALUES]){n, n * 10101010});
	}
	free(frames);
	return p;
}

/* --- what the view writes --- */

/* The page's own elements, whatever the names are. */
static void assert_markup(const char *text)
{
	assert_int_equal(stacks_count(text, "<script"), 2);
	assert_int_equal(stacks_count(text, "</script>"), 2);
	assert_int_equal(stacks_count(text, "<style"), 1);
	assert_int_equal(stacks_count(text, "</style"), 1);
	assert_int_equal(stacks_count(text, "<title>"), 1);
	assert_int_equal(stacks_count(text, "</title>"), 1);
	assert_int_equal(stacks_count(text, "</noscript>"), 1);
	assert_null(strstr(text, "<!--"));
	assert_null(strstr(text, "<x"));
	assert_null(strstr(text, "<img"));
	assert_null(strstr(text, "@POLICY@"));
	assert_null(strstr(text, "@SCRIPT@"));
	assert_null(strstr(text, "\033"));
	assert_null(strstr(text, "\xe2\x80\xae"));
}

static void test_hostile(void **state)
{
	struct sp_profile *p = hostile_profile();
	SP_FREE char *page = stacks_written(p, &hostile_options, sp_view_html.write);
	assert_markup(page);
	const char *data = strstr(page, "id=\"data\">");
	assert_non_null(data);
	assert_ptr_equal(strchr(data, '<'), strstr(data, "</script>"));
	sp_profile_free(p);
}

static void test_empty(void **state)
{
	struct sp_profile *p = stacks_profile("samples", "count");
	SP_FREE char *page = stacks_written(p, &(struct sp_view_options){0}, sp_view_html.write);
	assert_markup(page);
	assert_non_null(strstr(page, "There were no samples."));
	assert_non_null(strstr(page, "\"n_nodes\":0,\"n_paths\":0,\"paths\":\"\""));
	print_message("a page without stacks: %zu bytes\n", strlen(page));
	assert_true(strlen(page) < 100000);
	sp_profile_free(p);
}

static void test_no_such_value(void **state)
{
	struct sp_profile *p = stacks_profile("samples", "count");
	SP_FREE char *text = NULL;
	size_t len;
	SP_FCLOSE FILE *f = open_memstream(&text, &len);
	assert_int_equal(sp_view_html.write(p, &(struct sp_view_options){.value = 1}, f), -EINVAL);
	sp_error_clear();
	sp_profile_free(p);
}

/* --- stacks --- */

static const char *entity_name(const struct sp_html_stacks *s, uint32_t entity)
{
	return sp_intern_get(s->t.names, sp_html_entity_at(&s->t, s->order[entity])->name, NULL);
}

/* "[truncated: ...] main read=3,1": every path in order, its names and its values. */
static void assert_stacks(const struct sp_profile *p, const struct sp_view_options *o, const char *const *wanted)
{
	struct sp_html_stacks *s = NULL;
	assert_int_equal(sp_html_stacks_new(p, o, &s), 0);
	for (size_t i = 0; i < s->n_paths; i++) {
		SP_FREE char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);
		for (uint32_t k = 0; k < s->paths[i].n; k++)
			fprintf(f, "%s%s", k ? ";" : "", entity_name(s, s->words[s->paths[i].first + k]));
		fprintf(f, "=%lld", (long long)s->paths[i].values[0]);
		fclose(f);
		assert_non_null(wanted[i]);
		assert_string_equal(text, wanted[i]);
	}
	assert_null(wanted[s->n_paths]);
	sp_html_stacks_free(s);
}

static void test_merge(void **state)
{
	struct sp_profile *p = stacks_profile("samples", "count");
	stacks_line(p, "3\tsh\ta`_start;a`main;c`read\t[k]`entry;[k]`vfs_read");
	stacks_line(p, "2\tsh\ta`_start;a`main\t");
	stacks_line(p, "4\tsh\ta`_start;a`main;c`read\t");
	stacks_line(p, "5\tkworker\t\t[k]`ret_from_fork");
	stacks_line(p, "6\tsh\t~c`read\t");
	stacks_line(p, "7\t\ta`_start;?a`main\t");
	assert_stacks(p, &(struct sp_view_options){0},
		      (const char *const[]){"_start;main=7", "kworker;ret_from_fork=5",
					    "sh;[truncated: in execve or exit];read=6", "sh;_start;main=2",
					    "sh;_start;main;read=4", "sh;_start;main;read;entry;vfs_read=3", NULL});
	assert_stacks(p, &(struct sp_view_options){.user_only = true},
		      (const char *const[]){"_start;main=7", "kworker=5", "sh;[truncated: in execve or exit];read=6",
					    "sh;_start;main=2", "sh;_start;main;read=7", NULL});
	assert_stacks(p, &(struct sp_view_options){.kernel_only = true},
		      (const char *const[]){"=7", "kworker;ret_from_fork=5", "sh=12", "sh;entry;vfs_read=3", NULL});
	sp_profile_free(p);
}

static void test_saturate(void **state)
{
	struct sp_profile *p = stacks_profile("bytes", "bytes");
	stacks_line(p, "9223372036854775807\tsh\ta`f\t");
	stacks_line(p, "9223372036854775807\tsh\ta`f\t[k]`g");
	stacks_line(p, "-5\tsh\ta`f;a`g\t");
	assert_stacks(p, &(struct sp_view_options){.user_only = true},
		      (const char *const[]){"sh;f=9223372036854775807", "sh;f;g=-5", NULL});
	sp_profile_free(p);
}

/* --- the data, read back --- */

struct bytes {
	const char *at;
	uint32_t bits, n_bits;
};

static uint8_t next_byte(struct bytes *b)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (; b->n_bits < 8; b->n_bits += 6) {
		const char *digit = strchr(digits, *b->at++);
		assert_non_null(digit);
		b->bits = b->bits << 6 | (uint32_t)(digit - digits);
	}
	b->n_bits -= 8;
	return (uint8_t)(b->bits >> b->n_bits);
}

static uint64_t next_varint(struct bytes *b)
{
	uint64_t n = 0;
	for (uint32_t shift = 0;; shift += 7) {
		uint8_t byte = next_byte(b);
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return n;
	}
}

static uint64_t field(const char *json, const char *name)
{
	const char *at = strstr(json, name);
	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 10);
}

/* Sums of the values of all paths, and of their lengths. */
static void test_data(void **state)
{
	struct sp_profile *p = stacks_read(SP_TEST_DATA "/view/svg-demo.stacks");
	struct sp_view_options o = {.title = "Demo"};
	SP_FREE char *json = stacks_written(p, &o, sp_html_data_write);
	struct bytes b = {.at = strstr(json, "\"paths\":\"") + strlen("\"paths\":\"")};
	uint64_t n_nodes = 0, sum = 0, depth = 0;
	for (uint64_t n = field(json, "\"n_paths\":"); n; n--) {
		uint64_t back = next_varint(&b), on = next_varint(&b);
		assert_true(back <= depth);
		depth += on - back;
		n_nodes += on;
		for (; on; on--)
			next_varint(&b);
		uint64_t value = next_varint(&b);
		assert_int_equal(value % 2, 0);
		sum += value / 2;
	}
	assert_int_equal(n_nodes, field(json, "\"n_nodes\":"));
	struct sp_totals totals;
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_LIBRARY, 0, &totals), 0);
	assert_int_equal(sum, totals.value);
	assert_int_equal(stacks_count(json, "\n[\""), totals.n_rows);
	sp_totals_done(&totals);
	sp_profile_free(p);
}

/* What a diff says of libraries and functions goes with the data, as shares: "[0,0" of none, then each one's. */
static void test_noise(void **state)
{
	struct sp_profile *sides[] = {stacks_profile("samples", "count"), stacks_profile("samples", "count")};
	stacks_line(sides[0], "60\tx\ta`f\t");
	stacks_line(sides[0], "40\tx\tb`g;b`g\t");
	stacks_line(sides[1], "90\tx\ta`f\t");
	stacks_line(sides[1], "110\tx\tb`g;b`g\t");
	struct sp_diff *d = NULL;
	assert_int_equal(sp_diff_new(sides[0], sides[1], &(struct sp_diff_options){.scale = SP_DIFF_ABSOLUTE}, &d), 0);
	struct sp_view_options o = {.value = SP_DIFF_NEW, .diff = d};
	SP_FREE char *json = stacks_written(d->joined, &o, sp_html_data_write);
	char half[64], libraries[400];
	snprintf(half, sizeof(half), "%.6g,1,1.95996",
		 1.959964 * sqrt(0.6 * 0.4 / 100 + 0.45 * 0.55 / 200 + 1e-4 + 0.25e-4));
	snprintf(libraries, sizeof(libraries), "\"libraries\":[-1,-1,-1,-1,-1,-1,%s,%s,%s,%s],\n", half, half, half,
		 half);
	assert_non_null(strstr(json, "\"noise\":{\"value\":1,\"from\":\"counts\",\"other\":[1,1.95996],"));
	assert_non_null(strstr(json, libraries));
	/* f, g and the thread's name, which is no function */
	snprintf(libraries, sizeof(libraries), "\"entities\":[%s,%s,%s,%s,-1,-1,-1,-1,-1,-1]},\n", half, half, half,
		 half);
	assert_non_null(strstr(json, libraries));
	sp_diff_free(d);
	sp_profile_free(sides[0]);
	sp_profile_free(sides[1]);
}

static void test_values(void **state)
{
	struct sp_profile *p = stacks_profile(NULL, NULL);
	const char *lines[] = {"#old/nanoseconds", "#new/nanoseconds", "#old samples/count", "#new samples/count",
			       "1,2,3,4\tx\ta`f\t"};
	for (size_t i = 0; i < SP_COUNT(lines); i++)
		stacks_line(p, lines[i]);
	SP_FREE char *diff = stacks_written(p, &(struct sp_view_options){.value = 1}, sp_html_data_write);
	assert_non_null(strstr(diff, "\"values\":[[\"old\",\"nanoseconds\",-1],[\"new\",\"nanoseconds\",0],"
				     "[\"old samples\",\"count\",-1],[\"new samples\",\"count\",2]],\n"
				     "\"value\":1,\"samples\":3,"));
	sp_profile_free(p);
	p = stacks_profile("cpu", "nanoseconds");
	SP_FREE char *rows = stacks_written(p, &(struct sp_view_options){0}, sp_html_data_write);
	assert_non_null(strstr(rows, "\"values\":[[\"cpu\",\"nanoseconds\",-1],[\"samples\",\"count\",-1]],\n"
				     "\"value\":0,\"samples\":1,"));
	sp_profile_free(p);
}

/* --- pages for the browser --- */

static int make(struct sp_profile *p, const struct sp_view_options *o, const char *path)
{
	FILE *f = fopen(path, "we");
	int r = f ? sp_view_html.write(p, o, f) : -errno;
	if (f && fclose(f))
		r = -errno;
	sp_profile_free(p);
	if (r < 0)
		fprintf(stderr, "view-html: %s: %s\n", path, strerror(-r));
	return r < 0;
}

static int make_page(int argc, char **argv)
{
	struct sp_view_options demo = {.title = "Demo", .subtitle = "the same stacks in every test\n"};
	if (argc == 4 && !strcmp(argv[1], "stacks"))
		return make(stacks_read(argv[2]), &demo, argv[3]);
	if (argc == 3 && !strcmp(argv[1], "hostile"))
		return make(hostile_profile(), &hostile_options, argv[2]);
	if (argc == 5 && !strcmp(argv[1], "big"))
		return make(big_profile((uint32_t)strtoul(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10)),
			    &demo, argv[4]);
	fprintf(stderr, "usage: view-html [stacks IN OUT | hostile OUT | big N DEPTH OUT]\n");
	return 2;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_hostile), cmocka_unit_test(test_empty),    cmocka_unit_test(test_no_such_value),
	    cmocka_unit_test(test_merge),   cmocka_unit_test(test_saturate), cmocka_unit_test(test_data),
	    cmocka_unit_test(test_values),  cmocka_unit_test(test_noise),
	};
	return argc > 1 ? make_page(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
