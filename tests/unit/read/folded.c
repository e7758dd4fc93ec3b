/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded text: what our own view writes comes back as it was, and so does what other tools write. */
#include "base/mem.h"
#include "reading.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void expect_same(const char *text, const char *expected, const struct sp_view_options *o)
{
	struct sp_profile *p = reading_text(text);
	char *again SP_FREE = reading_view(p, "folded", o, NULL);
	char *sorted SP_FREE = reading_sorted(expected), *sorted_again SP_FREE = reading_sorted(again);

	assert_string_equal(sorted_again, sorted);
	sp_profile_free(p);
}

/* The golden files of the view: hostile names, missed stacks, delimiters and annotations. */
static void test_golden(void **state)
{
	static const struct {
		const char *name;
		struct sp_view_options o;
	} files[] = {
	    {"view/folded.txt", {0}},
	    {"view/folded-U.txt", {0}},
	    {"view/folded-K.txt", {.annotate = true}},
	    {"view/folded-d.txt", {.delimiter = true}},
	    {"view/folded-da.txt", {.delimiter = true, .annotate = true}},
	    {"view/folded-ns.txt", {0}},
	};

	for (size_t i = 0; i < SP_COUNT(files); i++) {
		size_t n;
		char *text SP_FREE = (char *)reading_data(files[i].name, &n);

		expect_same(text, text, &files[i].o);
	}
}

static void test_other_tools(void **state)
{
	static const char *const texts[][2] = {
	    {"# comment\nmain;a;b 1\n\nmain;a 2\r\nmain;a;b 3\n", "main;a;b 4\nmain;a 2\n"},
	    {"#1 2\n#a;b 3\n", "#1 2\n#a;b 3\n"},
	    {"java-123/456;start_thread;Foo::bar(int, char);[unknown] 12", "java-123/456;start_thread;Foo::bar(int, "
									   "char);[unknown] 12\n"},
	    {"main (a.py:1);f 5 6 7 (a.py:2);g <module> 9\n", "main (a.py:1);f 5 6 7 (a.py:2);g <module> 9\n"},
	    {"sh;a \t 12  \n", "sh;a 12\n"},
	    {"sh;a;;b 3\n", "sh;a;[unknown];b 3\n"},
	    {"sh;a -5\nsh;b +5\nsh;c 1.\n", "sh;b 5\nsh;c 1\nsh;a -5\n"},
	    {"a 1\nb 2\n", "b 2\na 1\n"},
	    {"sh;-;a 1\nsh;a;- 2\nsh;-;a;- 3\n", "sh;-;a 1\nsh;a;- 2\nsh;-;a;- 3\n"},
	    {"sh;a_[k];b 1\n", "sh;a_[k];b 1\n"},
	    {"sh;a_[k];b_[k] 1\n", "sh;a;b 1\n"},
	    {"sh;a;-;b 1\n", "sh;a;b 1\n"},
	    {"sh;a;[Missed User Stack] 4\n", "sh;a;[Missed User Stack] 4\n"},
	    {"sh;\\x41;\\x1b\\x0a;\\xff 1\n", "sh;\\x5cx41;\\x1b\\x0a;\\xff 1\n"},
	    {"sh;libfoo.so.6+0x1234;main 1\n", "sh;libfoo.so.6+0x1234;main 1\n"},
	};

	for (size_t i = 0; i < SP_COUNT(texts); i++)
		expect_same(texts[i][0], texts[i][1], &(struct sp_view_options){0});
}

/* --- what the lines say --- */
/* One line: a frame for each; a kernel's in (), "file!function", "=HEX" where only the range is known. */
static char *describe(const char *text)
{
	struct sp_profile *p = reading_text(text);
	const struct sp_row *row = sp_profile_row(p, 0);
	const struct sp_stack stacks[] = {sp_profile_stack(p, row->kernel), sp_profile_stack(p, row->user)};
	char *words = NULL;
	size_t len;
	FILE *out = open_memstream(&words, &len);

	assert_non_null(out);
	assert_int_equal(sp_profile_n_rows(p), 1);
	fprintf(out, "%s:", sp_profile_string(p, sp_profile_key(p, row->key)->comm));
	for (size_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < stacks[k].n_frames; i++) {
			const struct sp_frame *f = sp_profile_frame(p, stacks[k].frames[i]);
			const struct sp_func *func = sp_profile_func(p, f->func);
			bool kernel = f->flags & SP_FRAMEF_KERNEL;

			assert_int_equal(kernel, k == 0);
			assert_int_equal(kernel, sp_profile_file(p, f->file)->kind == SP_FILE_KERNEL);
			fprintf(out, kernel ? " (%s!%s" : " %s!%s",
				sp_profile_string(p, sp_profile_file(p, func->file)->name),
				sp_profile_string(p, func->name));
			if (func->is_range)
				fprintf(out, "=%" PRIx64, f->offset);
			fputs(kernel ? ")" : "", out);
		}
	assert_int_equal(fclose(out), 0);
	sp_profile_free(p);
	return words;
}

static void test_meaning(void **state)
{
	static const char *const cases[][2] = {
	    {"sh;_start;main;read 1", "sh: !read !main !_start"},
	    {"_start;main;read 1", ": !read !main !_start"},
	    {"main;read 1", ": !read !main"},
	    {"averylongfunctionname;read 1", ": !read !averylongfunctionname"},
	    {"read 1", ": !read"},
	    {"std::f;read 1", ": !read !std::f"},
	    {"java-77/78;f 1", "java-77/78: !f"},
	    {"sh;libz.so.1+0x12f0;a+0x2 1", "sh: a!a+0x2=2 libz.so.1!libz.so.1+0x12f0=12f0"},
	    {"sh;f(int)+0x1;x+0xg;+0x1 1", "sh: !+0x1 !x+0xg !f(int)+0x1"},
	    {"sh;deflate [libz.so.1];g [/usr/bin/sh];h [x] 1", "sh: !h [x] sh!g libz.so.1!deflate"},
	    {"sh;[libz.so.1];[vdso];[unknown] 1", "sh: ![unknown] [vdso]![vdso] libz.so.1![libz.so.1]"},
	    {"sh;read;vfs_read_[k];ext4_read_[k] 1", "sh: ([kernel]!ext4_read) ([kernel]!vfs_read) !read"},
	    {"sh;read;-;vfs_read;ext4_read 1", "sh: ([kernel]!ext4_read) ([kernel]!vfs_read) !read"},
	    {"sh;[Missed User Stack];vfs_read 1", "sh: ([kernel]!vfs_read)"},
	    {"sh;f;[kernel]+0xffff_[k] 1", "sh: ([kernel]![kernel]+0xffff=ffff) !f"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		char *words SP_FREE = describe(cases[i][0]);

		assert_string_equal(words, cases[i][1]);
	}
}

static void expect_values(const char *text, const char *names, const char *units, int64_t first, int64_t second)
{
	struct sp_profile *p = reading_text(text);
	int64_t sums[2] = {0};

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		for (uint32_t k = 0; k < sp_profile_n_value_types(p); k++)
			sums[k] += sp_profile_row(p, i)->values[k];
	assert_string_equal(sp_profile_string(p, sp_profile_value_type(p, 0)->name), names);
	assert_string_equal(sp_profile_string(p, sp_profile_value_type(p, 0)->unit), units);
	assert_int_equal(sums[0], first);
	assert_int_equal(sums[1], second);
	assert_int_equal(sp_profile_n_value_types(p), strcmp(names, "old") ? 1 : 2);
	sp_profile_free(p);
}

static void test_counts(void **state)
{
	expect_values("main;a 1\nmain;b 2", "samples", "count", 3, 0);
	expect_values("main;a 9223372036854775807", "samples", "count", INT64_MAX, 0);
	expect_values("main;a -9223372036854775808", "samples", "count", INT64_MIN, 0);
	expect_values("main;a 1.5\nmain;b 2\nmain;c 0.0004", "samples", "millionths", 3500400, 0);
	expect_values("main;a 0.25\nmain;b 2.7505", "samples", "millionths", 3000500, 0);
	expect_values("main;a 0.25\nmain;b 1", "samples", "thousandths", 1250, 0);
	expect_values("main;a 1e-05\n", "samples", "billionths", 10000, 0);
	expect_values("main;a 1 2\nmain;b 0 5\n", "old", "count", 1, 7);
	expect_values("main;a 0.5 2\nmain;b 0 5\n", "old", "thousandths", 500, 7000);
	expect_values("main;a 1 2\nmain;b 5\n", "samples", "count", 7, 0); /* a function called "a 1" */
}

static void expect_error(const char *text, const char *words, uint64_t n_kept, uint64_t n_lost)
{
	struct sp_read_options o = {.format = "folded"};
	struct sp_read_result result;
	struct sp_profile *p;

	assert_int_equal(reading_bytes(text, strlen(text), &o, &p, &result), -EBADMSG);
	assert_string_equal(reading_words(-EBADMSG), words);
	o.keep_going = true;
	assert_int_equal(reading_bytes(text, strlen(text), &o, &p, &result), 0);
	assert_string_equal(result.first_loss, words);
	assert_int_equal(result.n_samples, n_kept);
	assert_int_equal(result.n_lost, n_lost);
	assert_string_equal(result.format, "folded");
	assert_int_equal(result.bytes, strlen(text));
	sp_profile_free(p);
}

static void test_errors(void **state)
{
	expect_error("main;a 1\nmain;b\nmain;c 3\nmain 5x\n",
		     "in: line 2: no count at the end; expected FRAME;FRAME;... COUNT", 2, 2);
	expect_error("main;a 1 2\nmain;b 3 4\n 3 4\n", "in: line 3: a count without a stack", 2, 1);
	expect_error("main;a 1\n7\n", "in: line 2: no count at the end; expected FRAME;FRAME;... COUNT", 1, 1);
	expect_error("main;a 1\nmain;b 99999999999999999999\n", "in: line 2: a count that does not fit", 1, 1);
	expect_error("main;a nan\nmain;a 1\nmain;a inf\nmain;a 0x10\nmain;a 1-2\n",
		     "in: line 1: no count at the end; expected FRAME;FRAME;... COUNT", 1, 4);
	expect_error("main;a 1\n\x1f\x8b\x08nonsense\n", /* mixed formats */
		     "in: line 2: no count at the end; expected FRAME;FRAME;... COUNT", 1, 1);
}

/* Two shapes are decided by the beginning; what disagrees further on is an error, not a silent mistake. */
static void test_late_surprises(void **state)
{
	size_t n = 0, size = 200000;
	char *text SP_FREE = calloc(1, size + 64);
	struct sp_read_options o = {0};
	struct sp_read_result result;
	struct sp_profile *p;

	assert_non_null(text);
	while (n < size)
		n += (size_t)snprintf(text + n, 64, "main;function_%zu 1\n", n);
	snprintf(text + n, 64, "main;a 0.5\n");
	assert_int_equal(reading_bytes(text, strlen(text), &o, &p, &result), -EBADMSG);
	assert_non_null(strstr(reading_words(-EBADMSG), "a count with decimals, where the first lines have whole"));
	memcpy(text + n, "main\0;a 1\n", 10);
	assert_int_equal(reading_bytes(text, n + 10, &o, &p, &result), -EBADMSG);
	assert_non_null(strstr(reading_words(-EBADMSG), "a NUL byte"));
}

static void test_nothing(void **state)
{
	struct sp_read_options o = {.format = "folded"};
	struct sp_read_result result;
	struct sp_profile *p;

	assert_int_equal(reading_bytes("", 0, &o, &p, &result), 0); /* what a recording without a sample writes */
	assert_int_equal(sp_profile_n_rows(p), 0);
	assert_int_equal(result.n_samples + result.n_lost, 0);
	sp_profile_free(p);
}

/* --- random names --- */
enum { N_NAMES = 100000, NAME_BYTES = 24 };

static uint64_t random_state = 88172645463325252;

static uint32_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

/* Any bytes but NUL, mostly those that mean something to some reader. */
static void random_name(char *name)
{
	static const char special[] = ";; \t\n\r\\x0123456789abc_[]k-+().#\"'<>&\x1b\x7f\xc2\xa0\xe2\x80\xae\xff\x80";
	size_t n = random_number() % NAME_BYTES;

	for (size_t i = 0; i < n; i++)
		name[i] = random_number() % 4 ? special[random_number() % (sizeof(special) - 1)]
					      : (char)(1 + random_number() % 255);
	name[n] = 0;
	/* the names that folded text has for other things: its delimiter, its mark for the kernel, its ranges */
	if (!n || !strcmp(name, "-") || (n > 4 && !strcmp(name + n - 4, "_[k]")) || strstr(name, "+0x"))
		snprintf(name, NAME_BYTES, "f%u", random_number());
}

static uint32_t add(struct sp_profile *p, const char *name)
{
	struct sp_func func = {.name = (uint32_t)sp_profile_add_string(p, name)};
	struct sp_frame frame = {.offset = sp_profile_n_frames(p)};
	int64_t number = sp_profile_add_func(p, &func);

	assert_true(number > 0);
	frame.func = (uint32_t)number;
	number = sp_profile_add_frame(p, &frame);
	assert_true(number > 0);
	return (uint32_t)number;
}

static struct sp_profile *random_profile(void)
{
	struct sp_profile *p;
	int64_t values[SP_MAX_VALUES] = {0};
	struct sp_key key = {0};
	char name[NAME_BYTES];

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	key.comm = (uint32_t)sp_profile_add_string(p, "a comm");
	for (uint32_t i = 0; i < N_NAMES / 4; i++) {
		uint32_t frames[4];
		struct sp_stack stack = {.n_frames = 4, .frames = frames};

		for (size_t k = 0; k < 4; k++) {
			random_name(name);
			frames[k] = add(p, name);
		}
		values[0] = i + 1;
		assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key),
						(uint32_t)sp_profile_add_stack(p, &stack), 0, values),
				 0);
	}
	return p;
}

static void compare_stacks(const struct sp_profile *a, uint32_t stack_a, const struct sp_profile *b, uint32_t stack_b)
{
	struct sp_stack x = sp_profile_stack(a, stack_a), y = sp_profile_stack(b, stack_b);

	assert_int_equal(x.n_frames, y.n_frames);
	for (uint32_t i = 0; i < x.n_frames; i++)
		assert_string_equal(
		    sp_profile_string(a, sp_profile_func(a, sp_profile_frame(a, x.frames[i])->func)->name),
		    sp_profile_string(b, sp_profile_func(b, sp_profile_frame(b, y.frames[i])->func)->name));
}

static void test_random_names(void **state)
{
	struct sp_view_options o = {.ascending = true}; /* the counts rise, so the order stays */
	struct sp_profile *p = random_profile(), *q;
	char *text SP_FREE = reading_view(p, "folded", &o, NULL), *again SP_FREE = NULL;

	q = reading_text(text);
	assert_int_equal(sp_profile_n_rows(q), N_NAMES / 4);
	for (uint32_t i = 0; i < N_NAMES / 4; i++) {
		assert_int_equal(sp_profile_row(p, i)->values[0], sp_profile_row(q, i)->values[0]);
		compare_stacks(p, sp_profile_row(p, i)->user, q, sp_profile_row(q, i)->user);
	}
	again = reading_view(q, "folded", &o, NULL);
	assert_string_equal(again, text);
	sp_profile_free(p);
	sp_profile_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_golden),  cmocka_unit_test(test_other_tools),  cmocka_unit_test(test_meaning),
	    cmocka_unit_test(test_counts),  cmocka_unit_test(test_errors),       cmocka_unit_test(test_late_surprises),
	    cmocka_unit_test(test_nothing), cmocka_unit_test(test_random_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
