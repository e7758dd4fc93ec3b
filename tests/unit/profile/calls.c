/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counted calls by function: callers, and times of samples that are found by the function's place. */
#include "profile/calls.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static struct sp_profile *p;
static uint32_t lib, program;

static uint32_t ok(int64_t number)
{
	assert_true(number >= 0);
	return (uint32_t)number;
}

static uint32_t file(const char *name, uint8_t id)
{
	struct sp_file f = {.kind = SP_FILE_ELF, .tag = id, .build_id_len = 1, .build_id = {id}};

	f.name = ok(sp_profile_add_string(p, name));
	return ok(sp_profile_add_file(p, &f));
}

static uint32_t frame(uint32_t in, const char *name, uint64_t start, uint64_t at, uint32_t flags)
{
	struct sp_func func = {.file = in, .start = start, .size = 0x100};
	struct sp_frame f = {.file = in, .offset = at, .flags = flags};

	func.name = ok(sp_profile_add_string(p, name));
	f.func = ok(sp_profile_add_func(p, &func));
	return ok(sp_profile_add_frame_variant(p, &f, true));
}

static void add(int64_t calls, int64_t samples, int64_t ns, uint32_t kernel, uint32_t n, const uint32_t *frames)
{
	struct sp_stack s = {.n_frames = n, .frames = frames};
	int64_t values[] = {calls, samples, ns};

	assert_int_equal(sp_profile_add(p, 0, ok(sp_profile_add_stack(p, &s)), kernel, values), 0);
}
#define ADD(calls, samples, ns, ...)                                                                                   \
	add(calls, samples, ns, 0, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

static int begin(void **state)
{
	assert_int_equal(sp_profile_new(&p), 0);
	ok(sp_profile_add_value_type(p, "calls", "count"));
	ok(sp_profile_add_value_type(p, "samples", "count"));
	ok(sp_profile_add_value_type(p, "cpu", "nanoseconds"));
	lib = file("libx.so.1", 1);
	program = file("prog", 2);
	return 0;
}

static int end(void **state)
{
	sp_profile_free(p);
	return 0;
}

static const struct sp_callee *find(const struct sp_calls_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (!strcmp(sp_profile_string(p, sp_profile_func(p, t->rows[i].func)->name), name))
			return &t->rows[i];
	fail_msg("no %s", name);
	return NULL;
}

static void callers_are_summed_and_sorted(void **state)
{
	uint32_t work = frame(lib, "work", 0x1000, 0x1000, SP_FRAMEF_ADDRESS_TAKEN);
	uint32_t main_a = frame(program, "main", 0x500, 0x510, 0), main_b = frame(program, "main", 0x500, 0x520, 0);
	uint32_t helper = frame(lib, "helper", 0x2000, 0x2010, 0);
	struct sp_calls_table t;
	const struct sp_callee *c;

	ADD(20000000000, 0, 0, work, main_a);
	ADD(5, 0, 0, work, main_b);
	ADD(7, 0, 0, work, helper);
	ADD(1, 0, 0, work);
	assert_int_equal(sp_calls_table_new(p, &t), 0);
	assert_int_equal(t.n_rows, 1);
	c = find(&t, "work");
	assert_int_equal(c->n_calls, 20000000013);
	assert_int_equal(c->n_outside, 20000000005);
	assert_true(c->address_taken);
	assert_int_equal(c->n_callers, 3);
	assert_int_equal(c->callers[0].n_calls, 20000000005);
	assert_int_equal(c->callers[0].file, program);
	assert_true(c->callers[0].is_outside);
	assert_int_equal(c->callers[1].n_calls, 7);
	assert_false(c->callers[1].is_outside);
	assert_int_equal(c->callers[2].func, 0);
	assert_int_equal(t.n_calls, 20000000013);
	sp_calls_table_done(&t);
}

static void times_are_found_by_place(void **state)
{
	uint32_t copy = frame(lib, "memcpy", 0x1000, 0x1000, 0), move = frame(lib, "memmove", 0x1000, 0x1000, 0);
	uint32_t code = frame(lib, "libx.so.1+0x1000", 0x1000, 0x1040, 0);
	uint32_t outer = frame(lib, "outer", 0x3000, 0x3040, 0), main_a = frame(program, "main", 0x500, 0x510, 0);
	struct sp_calls_table t;
	const struct sp_callee *c;
	double ns, low, high;

	ADD(100, 0, 0, copy, main_a);
	ADD(10, 0, 0, move, outer);
	ADD(0, 4, 4000, code, main_a);        /* from outside, leaf */
	ADD(0, 2, 2000, code, outer, main_a); /* from inside: neither function of the place was entered from outside */
	ADD(0, 1, 1000, code, code, main_a);  /* it calls itself: once */
	assert_int_equal(sp_calls_table_new(p, &t), 0);
	assert_true(t.has_times);
	assert_int_equal(t.time_ns, 7000);
	assert_int_equal(t.n_samples, 7);
	c = find(&t, "memcpy");
	assert_int_equal(c->self_ns, 7000);
	assert_int_equal(c->total_ns, 7000);
	assert_int_equal(c->outside_ns, 5000);
	assert_int_equal(c->n_outside_samples, 5);
	assert_true(sp_callee_time(c, &ns, &low, &high));
	assert_true(ns == 50);
	/* of 5 samples: 1.62 to 11.67 (exact: by the chi-squared distribution) */
	assert_true(low > 16.0 && low < 16.5 && high > 116 && high < 117.5);
	c = find(&t, "memmove");
	assert_int_equal(c->total_ns, 7000);
	assert_int_equal(c->n_outside, 0);
	assert_false(sp_callee_time(c, &ns, &low, &high));
	sp_calls_table_done(&t);
}

/* One of five samples has lost its stack: the time may be a quarter more. Other processes' losses say nothing. */
static void lost_stacks_widen_the_interval(void **state)
{
	uint32_t copy = frame(lib, "memcpy", 0x1000, 0x1000, 0), main_a = frame(program, "main", 0x500, 0x510, 0);
	struct sp_process other = {.pid = 7};
	struct sp_key key = {.process = ok(sp_profile_add_process(p, &other))};
	int64_t values[] = {0, 2, 2000};
	struct sp_calls_table t;
	double ns, low, high, low_before, high_before;

	ADD(100, 0, 0, copy, main_a);
	ADD(0, 8, 8000, copy, main_a);
	assert_int_equal(sp_profile_add(p, ok(sp_profile_add_key(p, &key)), 0, 0, values), 0);
	assert_int_equal(sp_calls_table_new(p, &t), 0);
	assert_true(sp_callee_time(find(&t, "memcpy"), &ns, &low_before, &high_before));
	sp_calls_table_done(&t);
	assert_int_equal(sp_profile_add(p, 0, 0, 0, values), 0);
	assert_int_equal(sp_calls_table_new(p, &t), 0);
	assert_true(sp_callee_time(find(&t, "memcpy"), &ns, &low, &high));
	assert_true(ns == 80 && low == low_before);
	assert_float_equal(high, high_before * 1.25, 0.001);
	sp_calls_table_done(&t);
}

/* What is sampled of a place is of the calls by all of its names. */
static void names_of_a_place_share_its_time(void **state)
{
	uint32_t copy = frame(lib, "memcpy", 0x1000, 0x1000, 0), move = frame(lib, "memmove", 0x1000, 0x1000, 0);
	uint32_t code = frame(lib, "__memmove_avx", 0x1000, 0x1040, 0),
		 main_a = frame(program, "main", 0x500, 0x510, 0);
	struct sp_calls_table t;
	double ns, low, high;

	ADD(60, 0, 0, copy, main_a);
	ADD(40, 0, 0, move, main_a);
	ADD(0, 5, 5000, code, main_a);
	assert_int_equal(sp_calls_table_new(p, &t), 0);
	assert_true(sp_callee_time(find(&t, "memcpy"), &ns, &low, &high) && ns == 50);
	assert_true(sp_callee_time(find(&t, "memmove"), &ns, &low, &high) && ns == 50);
	assert_int_equal(find(&t, "memmove")->n_outside, 40);
	sp_calls_table_done(&t);
}

/* As pprof has it: no function has a place. */
static void without_places_functions_are_found_by_name(void **state)
{
	uint32_t a = frame(lib, "a", 0, 1, 0), b = frame(lib, "b", 0, 2, 0), a_code = frame(lib, "a", 0, 3, 0);
	uint32_t main_a = frame(program, "main", 0, 4, 0);
	struct sp_calls_table t;

	ADD(3, 0, 0, a, main_a);
	ADD(4, 0, 0, b, main_a);
	ADD(0, 1, 50, a_code, main_a);
	assert_int_equal(sp_calls_table_new(p, &t), 0);
	assert_int_equal(find(&t, "a")->total_ns, 50);
	assert_int_equal(find(&t, "b")->total_ns, 0);
	sp_calls_table_done(&t);
}

static void time_in_the_kernel_is_not_self(void **state)
{
	uint32_t work = frame(lib, "read", 0x1000, 0x1000, 0), code = frame(lib, "read", 0x1000, 0x1020, 0);
	uint32_t main_a = frame(program, "main", 0x500, 0x510, 0), in_kernel = frame(0, "vfs_read", 0, 9, 0);
	struct sp_stack k = {.n_frames = 1, .frames = &in_kernel};
	struct sp_calls_table t;

	ADD(3, 0, 0, work, main_a);
	add(0, 1, 50, ok(sp_profile_add_stack(p, &k)), 2, (uint32_t[]){code, main_a});
	assert_int_equal(sp_calls_table_new(p, &t), 0);
	assert_int_equal(find(&t, "read")->self_ns, 0);
	assert_int_equal(find(&t, "read")->total_ns, 50);
	sp_calls_table_done(&t);
}

static void took(int64_t low, int64_t high, int64_t n, int64_t ns, uint32_t callee)
{
	struct sp_label labels[] = {{.name = ok(sp_profile_add_string(p, "latency_from")), .number = low},
				    {.name = ok(sp_profile_add_string(p, "latency_below")), .number = high}};
	struct sp_key key = {.labels = high ? ok(sp_profile_add_labels(p, labels, 2)) : 0};
	struct sp_stack s = {.n_frames = 1, .frames = &callee};
	int64_t values[] = {0, 0, 0, n, ns};

	assert_int_equal(sp_profile_add(p, ok(sp_profile_add_key(p, &key)), ok(sp_profile_add_stack(p, &s)), 0, values),
			 0);
}

static void latencies_are_ranges(void **state)
{
	uint32_t work, rest, main_a;
	struct sp_calls_table t;
	const struct sp_callee *c;

	ok(sp_profile_add_value_type(p, "timed", "count"));
	ok(sp_profile_add_value_type(p, "latency", "nanoseconds"));
	work = frame(lib, "work", 0x1000, 0x1000, 0);
	rest = frame(lib, "rest", 0x2000, 0x2000, SP_FRAMEF_UNTIMED);
	main_a = frame(program, "main", 0x500, 0x510, 0);
	struct sp_stack called = {.n_frames = 2, .frames = (uint32_t[]){work, main_a}},
			other = {.n_frames = 2, .frames = (uint32_t[]){rest, main_a}};
	const int64_t calls[] = {110, 0, 0, 0, 0};
	assert_int_equal(sp_profile_add(p, 0, ok(sp_profile_add_stack(p, &called)), 0, calls), 0);
	assert_int_equal(sp_profile_add(p, 0, ok(sp_profile_add_stack(p, &other)), 0, calls), 0);
	took(1000, 2000, 1, 0, work);
	took(100, 120, 98, 0, work);
	took(200, 300, 1, 0, work);
	took(0, 0, 0, 12500, work);
	assert_int_equal(sp_calls_table_new(p, &t), 0);
	assert_true(t.has_latency);
	assert_int_equal(t.n_calls, 220);
	c = find(&t, "work");
	assert_true(c->n_timed == 100 && c->timed_ns == 12500 && c->n_ranges == 3 && !c->untimed);
	assert_true(c->ranges[0].low_ns == 100 && c->ranges[2].high_ns == 2000);
	assert_true(sp_callee_quantile(c, 0.5) > 110 && sp_callee_quantile(c, 0.5) < 110.5);
	assert_true(sp_callee_quantile(c, 0.99) == 300);
	assert_true(sp_callee_quantile(c, 1) == 2000);
	assert_int_equal(c->total_ns, 0); /* of samples, of which there are none */
	c = find(&t, "rest");
	assert_true(c->untimed && c->n_ranges == 0 && sp_callee_quantile(c, 0.5) < 0);
	sp_calls_table_done(&t);
}

static void without_calls_there_is_no_table(void **state)
{
	struct sp_profile *other;
	struct sp_calls_table t;

	assert_int_equal(sp_profile_new(&other), 0);
	ok(sp_profile_add_value_type(other, "samples", "count"));
	assert_int_equal(sp_calls_table_new(other, &t), -ENODATA);
	sp_profile_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(callers_are_summed_and_sorted, begin, end),
	    cmocka_unit_test_setup_teardown(times_are_found_by_place, begin, end),
	    cmocka_unit_test_setup_teardown(names_of_a_place_share_its_time, begin, end),
	    cmocka_unit_test_setup_teardown(lost_stacks_widen_the_interval, begin, end),
	    cmocka_unit_test_setup_teardown(without_places_functions_are_found_by_name, begin, end),
	    cmocka_unit_test_setup_teardown(time_in_the_kernel_is_not_self, begin, end),
	    cmocka_unit_test_setup_teardown(latencies_are_ranges, begin, end),
	    cmocka_unit_test_setup_teardown(without_calls_there_is_no_table, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
