/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/profile.h"
#include "profile/window.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct sp_profile *p;

static int open_profile(void **state)
{
	return sp_profile_new(&p);
}

static int close_profile(void **state)
{
	sp_profile_free(p);
	sp_profile_free(NULL);
	return 0;
}

static uint32_t string(const char *s)
{
	int64_t n = sp_profile_add_string(p, s);

	assert_true(n >= 0);
	return (uint32_t)n;
}

static void number_zero_is_none(void **state)
{
	assert_string_equal(sp_profile_string(p, 0), "");
	assert_int_equal(sp_profile_n_files(p), 1);
	assert_int_equal(sp_profile_n_funcs(p), 1);
	assert_int_equal(sp_profile_n_frames(p), 1);
	assert_int_equal(sp_profile_n_stacks(p), 1);
	assert_int_equal(sp_profile_n_processes(p), 1);
	assert_int_equal(sp_profile_n_keys(p), 1);
	assert_int_equal(sp_profile_n_rows(p), 0);
	assert_int_equal(sp_profile_stack(p, 0).n_frames, 0);
	assert_int_equal(sp_profile_file(p, 0)->kind, 0);
}

static void strings_are_cut_at_nul(void **state)
{
	assert_int_equal(string("comm"), sp_profile_add_bytes(p, "comm\0junk", 9));
	assert_int_equal(string("com"), sp_profile_add_bytes(p, "comm", 3));
	assert_int_equal(sp_profile_add_bytes(p, "", 0), 0);
	assert_int_equal(sp_profile_add_bytes(p, "\0x", 2), 0);
}

static void what_makes_things_distinct(void **state)
{
	struct sp_file file = {.kind = SP_FILE_ELF, .tag = 7, .name = string("libx.so")};
	int64_t f = sp_profile_add_file(p, &file);

	file.name = string("renamed");
	assert_int_equal(sp_profile_add_file(p, &file), f);
	assert_string_equal(sp_profile_string(p, sp_profile_file(p, (uint32_t)f)->name), "libx.so");
	file.tag = 8;
	assert_int_equal(sp_profile_add_file(p, &file), f + 1);
	file.kind = SP_FILE_VDSO;
	assert_int_equal(sp_profile_add_file(p, &file), f + 2);

	struct sp_func func = {.name = string("main"), .file = (uint32_t)f, .start = 16, .size = 8};
	int64_t fn = sp_profile_add_func(p, &func);
	assert_int_equal(sp_profile_add_func(p, &func), fn);
	func.is_range = true;
	assert_int_equal(sp_profile_add_func(p, &func), fn + 1);

	struct sp_frame frame = {.file = (uint32_t)f, .offset = 20};
	int64_t fr = sp_profile_add_frame(p, &frame);
	frame.func = (uint32_t)fn;
	assert_int_equal(sp_profile_add_frame(p, &frame), fr);
	assert_int_equal(sp_profile_frame(p, (uint32_t)fr)->func, 0);
	frame.flags = SP_FRAMEF_GUESSED;
	assert_int_equal(sp_profile_add_frame(p, &frame), fr + 1);

	struct sp_process process = {.pid = 1, .start_ns = 5, .uid = 3};
	int64_t pr = sp_profile_add_process(p, &process);
	process.uid = 4;
	assert_int_equal(sp_profile_add_process(p, &process), pr);
	process.start_ns = 6; /* the pid was used again */
	assert_int_equal(sp_profile_add_process(p, &process), pr + 1);
}

static void inlined_and_placeless_frames_stay_apart(void **state)
{
	struct sp_func func = {.name = string("f"), .source = string("f.c"), .source_line = 3};
	struct sp_frame frame = {.offset = 20, .flags = SP_FRAMEF_INLINED, .line = 7};

	frame.func = (uint32_t)sp_profile_add_func(p, &func);
	func.source_line = 4;
	int64_t other = sp_profile_add_func(p, &func);
	assert_int_equal(other, frame.func + 1);
	int64_t place = sp_profile_add_frame_variant(p, &frame, true),
		apart = sp_profile_add_frame_variant(p, &frame, false);
	assert_int_equal(sp_profile_add_frame_variant(p, &frame, true), place);
	assert_int_equal(sp_profile_frame(p, (uint32_t)place)->flags, SP_FRAMEF_INLINED);
	assert_int_equal(apart, place + 1);
	frame.line = 8;
	assert_int_equal(sp_profile_add_frame_variant(p, &frame, true), place + 2);
	assert_int_equal(sp_profile_frame(p, (uint32_t)place + 2)->line, 8);
	frame.func = (uint32_t)other;
	assert_int_equal(sp_profile_add_frame_variant(p, &frame, true), place + 3);
	frame.line = 7;
	frame.func = (uint32_t)other - 1;
	assert_int_equal(sp_profile_add_frame_variant(p, &frame, false), apart);
	frame.func = 99;
	assert_int_equal(sp_profile_add_frame_variant(p, &frame, false), -EINVAL);
}

static void a_hundred_thousand_functions_of_one_name(void **state)
{
	struct sp_func func = {.name = string("f")};
	uint32_t n = sp_profile_n_frames(p);

	for (uint32_t i = 0; i < 100000; i++) {
		func.source_line = i / 2;
		struct sp_frame frame = {.func = (uint32_t)sp_profile_add_func(p, &func), .line = i};
		assert_int_equal(sp_profile_add_frame_variant(p, &frame, false), n + i);
	}
}

static void labels_are_sets_in_the_order_of_their_names(void **state)
{
	uint32_t a = string("a"), b = string("b"), word = string("word");
	struct sp_label labels[] = {{.name = b, .word = word}, {.name = a, .number = 2}, {.name = a, .number = 1}};
	int64_t set = sp_profile_add_labels(p, labels, 3);
	size_t n;

	assert_int_equal(sp_profile_add_labels(p, labels, 0), 0);
	assert_true(set > 0);
	const struct sp_label *back = sp_profile_labels(p, (uint32_t)set, &n);
	assert_int_equal(n, 3);
	assert_memory_equal(&back[0], &labels[1], sizeof(*back));
	assert_memory_equal(&back[1], &labels[2], sizeof(*back));
	assert_memory_equal(&back[2], &labels[0], sizeof(*back));
	struct sp_label again[] = {labels[1], labels[0], labels[2]};
	assert_int_equal(sp_profile_add_labels(p, again, 3), set);
	again[0].unit = word;
	assert_int_equal(sp_profile_add_labels(p, again, 3), set + 1);
	again[0].unit = 99;
	assert_int_equal(sp_profile_add_labels(p, again, 3), -EINVAL);
	assert_int_equal(sp_profile_add_key(p, &(struct sp_key){.labels = (uint32_t)set}), 1);
	assert_int_equal(sp_profile_add_key(p, &(struct sp_key){.labels = 99}), -EINVAL);
}

static void stacks_differ_by_class_and_reason(void **state)
{
	uint32_t frames[3];
	struct sp_stack stack = {.n_frames = 3, .frames = frames};

	for (uint32_t i = 0; i < 3; i++)
		frames[i] = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.offset = 100 + i});
	int64_t n = sp_profile_add_stack(p, &stack);
	assert_true(n > 0);
	assert_int_equal(sp_profile_add_stack(p, &stack), n);
	stack.stack_class = SP_CLASS_CUT;
	assert_int_equal(sp_profile_add_stack(p, &stack), n + 1);
	stack.reason = 4;
	assert_int_equal(sp_profile_add_stack(p, &stack), n + 2);
	stack.n_frames = 2;
	assert_int_equal(sp_profile_add_stack(p, &stack), n + 3);
	assert_int_equal(sp_profile_add_stack(p, &(struct sp_stack){.stack_class = SP_CLASS_ABSENT}), n + 4);
	assert_int_equal(sp_profile_add_stack(p, &(struct sp_stack){0}), 0);

	struct sp_stack back = sp_profile_stack(p, (uint32_t)n + 2);
	assert_int_equal(back.stack_class, SP_CLASS_CUT);
	assert_int_equal(back.reason, 4);
	assert_int_equal(back.n_frames, 3);
	assert_memory_equal(back.frames, frames, sizeof(frames));
}

static void numbers_that_do_not_exist_are_refused(void **state)
{
	uint32_t frames[] = {0, 99};
	int64_t value = 1;

	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_file(p, &(struct sp_file){.kind = 1, .name = 99}), -EINVAL);
	assert_int_equal(sp_profile_add_file(p, &(struct sp_file){.kind = 1, .build_id_len = 33}), -EINVAL);
	assert_int_equal(sp_profile_add_func(p, &(struct sp_func){.file = 99}), -EINVAL);
	assert_int_equal(sp_profile_add_frame(p, &(struct sp_frame){.func = 99}), -EINVAL);
	assert_int_equal(sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 2, .frames = frames}), -EINVAL);
	assert_int_equal(sp_profile_add_process(p, &(struct sp_process){.exe = 99}), -EINVAL);
	assert_int_equal(sp_profile_add_key(p, &(struct sp_key){.process = 99}), -EINVAL);
	assert_int_equal(sp_profile_add(p, 1, 0, 0, &value), -EINVAL);
	assert_int_equal(sp_profile_add(p, 0, 1, 0, &value), -EINVAL);
	assert_int_equal(sp_profile_add(p, 0, 0, 1, &value), -EINVAL);
	assert_int_equal(sp_profile_n_rows(p), 0);
}

static void value_types_come_before_rows(void **state)
{
	int64_t values[] = {1, 10};

	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(sp_profile_n_value_types(p), 2);
	assert_string_equal(sp_profile_string(p, sp_profile_value_type(p, 1)->unit), "nanoseconds");
	assert_int_equal(sp_profile_add(p, 0, 0, 0, values), 0);
	assert_int_equal(sp_profile_add_value_type(p, "late", "count"), -EINVAL);
}

static void at_most_sixteen_values(void **state)
{
	for (int i = 0; i < SP_MAX_VALUES; i++)
		assert_int_equal(sp_profile_add_value_type(p, "v", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(p, "v", "count"), -E2BIG);
}

static void sums_do_not_wrap(void **state)
{
	int64_t most[] = {INT64_MAX - 1, INT64_MIN + 1}, more[] = {5, -5};

	assert_int_equal(sp_profile_add_value_type(p, "up", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(p, "down", "count"), 0);
	assert_int_equal(sp_profile_add(p, 0, 0, 0, most), 0);
	assert_int_equal(sp_profile_add(p, 0, 0, 0, more), 0);
	assert_true(sp_profile_row(p, 0)->values[0] == INT64_MAX);
	assert_true(sp_profile_row(p, 0)->values[1] == INT64_MIN);
}

/* Against a plain array of counts: 64 keys x 64 user stacks x 4 kernel stacks, 300,000 additions in random order. */
enum { KEYS = 64, STACKS = 64, KERNEL = 4 };
static int64_t counts[KEYS][STACKS][KERNEL];

static void rows_add_up(void **state)
{
	uint32_t n_rows = 0;

	srandom(3);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	for (uint32_t i = 1; i < KEYS; i++)
		assert_int_equal(sp_profile_add_key(p, &(struct sp_key){.comm = string((char[]){(char)('0' + i), 0})}),
				 i);
	for (uint32_t i = 1; i < STACKS; i++) {
		uint32_t frame = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.offset = i});
		assert_int_equal(sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 1, .frames = &frame}), i);
	}
	for (int i = 0; i < 300000; i++) {
		uint32_t k = (uint32_t)random() % KEYS, u = (uint32_t)random() % STACKS,
			 n = (uint32_t)random() % KERNEL;
		int64_t value = random() % 100 + 1;
		n_rows += counts[k][u][n] == 0;
		counts[k][u][n] += value;
		assert_int_equal(sp_profile_add(p, k, u, n, &value), 0);
	}
	assert_int_equal(sp_profile_n_rows(p), n_rows);
	for (uint32_t i = 0; i < n_rows; i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		assert_true(row->values[0] == counts[row->key][row->user][row->kernel]);
		counts[row->key][row->user][row->kernel] = -1; /* each of them once */
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_profile, close_profile)

/* Rows that were taken out are those of a view, whatever comes into the profile since. */
static void test_windows(void **state)
{
	struct sp_profile_rows first, none;
	struct sp_profile *view;
	int64_t values[] = {3, 5};

	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(p, "cpu", "nanoseconds"), 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(sp_profile_add(p, 0, 0, 0, values), 0);
	first = sp_profile_take_rows(p);
	assert_int_equal(first.n, 1);
	none = sp_profile_take_rows(p);
	assert_int_equal(none.n, 0);
	assert_int_equal(sp_profile_n_rows(p), 0);
	assert_int_equal(sp_profile_add(p, 0, 0, 0, values), 0);
	uint32_t later = string("later");
	assert_int_equal(sp_profile_with_rows(p, &first, &view), 0);
	assert_int_equal(sp_profile_n_rows(view), 1);
	assert_int_equal(sp_profile_row(view, 0)->values[0], 300);
	assert_int_equal(sp_profile_row(view, 0)->values[1], 500);
	assert_int_equal(sp_profile_serial(view), sp_profile_serial(p));
	assert_string_equal(sp_profile_string(view, later), "later");
	free(view);
	assert_int_equal(sp_profile_with_rows(p, &none, &view), 0);
	assert_int_equal(sp_profile_n_rows(view), 0);
	free(view);
	assert_int_equal(sp_profile_row(p, 0)->values[0], 3);
	sp_profile_rows_done(&first);
	sp_profile_rows_done(&none);
}

/* Of a renewed profile strings, files, functions and frames are as they were, and nothing else is there. */
static void test_renewal(void **state)
{
	struct sp_profile *p;
	int64_t one[] = {1};

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	uint32_t name = (uint32_t)sp_profile_add_string(p, "memory");
	struct sp_process process = {.pid = 12, .comm = name};
	uint32_t number = (uint32_t)sp_profile_add_process(p, &process);
	struct sp_file file = {.kind = SP_FILE_ANON, .name = name, .process = number, .tag = 5};
	uint32_t f = (uint32_t)sp_profile_add_file(p, &file);
	uint32_t func = (uint32_t)sp_profile_add_func(p, &(struct sp_func){.name = name, .file = f});
	uint32_t frame = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = f, .offset = 7, .func = func});
	struct sp_stack stack = {.n_frames = 1, .frames = &frame};
	uint64_t serial = sp_profile_serial(p), names = sp_profile_names_serial(p);

	for (int round = 0; round < 3; round++) {
		struct sp_key key = {.process = (uint32_t)sp_profile_add_process(p, &process), .comm = name};
		for (uint16_t i = 0; i < 1000; i++) {
			stack.reason = i;
			assert_int_equal(sp_profile_add_stack(p, &stack), i + 1);
		}
		assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), 5, 6, one), 0);
		size_t bytes = sp_profile_memory_bytes(p);
		assert_int_equal(sp_profile_renew(p), 0);
		assert_true(sp_profile_memory_bytes(p) < bytes / 2);
		assert_int_not_equal(sp_profile_serial(p), serial);
		assert_int_equal(sp_profile_names_serial(p), names);
		assert_int_equal(sp_profile_n_rows(p), 0);
		assert_int_equal(sp_profile_n_stacks(p), 1);
		assert_int_equal(sp_profile_n_processes(p), 1);
		assert_int_equal(sp_profile_n_keys(p), 1);
		assert_int_equal(sp_profile_n_label_sets(p), 1);
		assert_int_equal(sp_profile_n_value_types(p), 1);
		assert_int_equal(sp_profile_file(p, f)->process, 0);
		assert_string_equal(sp_profile_string(p, name), "memory");
		assert_int_equal(sp_profile_frame(p, frame)->func, func);
		assert_int_equal(sp_profile_add_frame(p, &(struct sp_frame){.file = f, .offset = 7}), frame);
		serial = sp_profile_serial(p);
	}
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(number_zero_is_none),
	    TEST(strings_are_cut_at_nul),
	    TEST(what_makes_things_distinct),
	    TEST(inlined_and_placeless_frames_stay_apart),
	    TEST(a_hundred_thousand_functions_of_one_name),
	    TEST(labels_are_sets_in_the_order_of_their_names),
	    TEST(stacks_differ_by_class_and_reason),
	    TEST(numbers_that_do_not_exist_are_refused),
	    TEST(value_types_come_before_rows),
	    TEST(at_most_sixteen_values),
	    TEST(sums_do_not_wrap),
	    TEST(rows_add_up),
	    cmocka_unit_test(test_renewal),
	    TEST(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
