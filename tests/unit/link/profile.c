/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot of counted calls as a profile: callees by name and place, callers by place, tail calls, whole libraries.
 */
#include "link/profile.h"
#include "profile/profile.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct sp_calls_library libraries[] = {
    {.path = "/usr/lib/libx.so.1.2",
     .soname = "libx.so.1",
     .build_id = {1, 2, 3},
     .build_id_len = 3,
     .is_target = true},
    {.path = "/usr/bin/prog", .soname = "", .build_id = {4}, .build_id_len = 1, .is_program = true},
};
static struct sp_calls_callee callees[] = {
    {.library = 0, .offset = 0x2000, .name = "move", .address_taken = true},
    {.library = 0, .offset = 0x1000, .name = "first"},
    {.library = 0, .offset = 0x2000, .name = "copy"},
};
static int refusal;

static char *demangle(const char *name)
{
	return strdup(name);
}

static int place(void *arg, struct sp_profile *p, uint32_t file, const uint64_t *offsets, size_t n, uint64_t *vaddrs,
		 uint64_t *sizes)
{
	assert_string_equal(sp_profile_string(p, sp_profile_file(p, file)->name), "libx.so.1");
	assert_null(arg);
	for (size_t i = 0; i < n; i++) {
		assert_true(!i || offsets[i] >= offsets[i - 1]);
		vaddrs[i] = offsets[i] + 0x10000;
		sizes[i] = 0x20;
	}
	return refusal;
}

static struct sp_profile *make(enum sp_calls_depth depth, struct sp_calls_arc *arcs, size_t n)
{
	struct sp_calls_snapshot s = {.libraries = libraries,
				      .n_libraries = 2,
				      .callees = callees,
				      .n_callees = 3,
				      .arcs = arcs,
				      .n_arcs = n,
				      .depth = depth,
				      .created_ns = 77};
	struct sp_calls_namer namer = {.demangle = demangle, .place = place};
	struct sp_profile *p = NULL;

	refusal = 0;
	assert_int_equal(sp_calls_profile(&s, &namer, &p), 0);
	assert_string_equal(sp_profile_string(p, sp_profile_value_type(p, 0)->name), "calls");
	assert_int_equal(sp_profile_info(p)->time_ns, 77);
	refusal = -ENOMEM;
	assert_int_equal(sp_calls_profile(&s, &namer, &p), -ENOMEM);
	return p;
}

static const struct sp_frame *frame(const struct sp_profile *p, uint32_t row, uint32_t i)
{
	struct sp_stack s = sp_profile_stack(p, sp_profile_row(p, row)->user);

	assert_true(i < s.n_frames);
	return sp_profile_frame(p, s.frames[i]);
}

static uint32_t depth_of(const struct sp_profile *p, uint32_t row)
{
	return sp_profile_stack(p, sp_profile_row(p, row)->user).n_frames;
}

static const char *name(const struct sp_profile *p, const struct sp_frame *f)
{
	return f->func ? sp_profile_string(p, sp_profile_func(p, f->func)->name) : "";
}

static void by_site(void **state)
{
	struct sp_calls_arc arcs[] = {
	    {.callee = 1, .caller = 1, .site_library = 1, .site_offset = 0x501, .n_calls = 20000000000},
	    {.callee = 0, .caller = 1, .site_library = 0, .site_offset = 0x1010, .n_calls = 3}, /* a tail call */
	    {.callee = 2, .caller = SP_CALLS_NONE, .site_library = 1, .site_offset = 0x601, .n_calls = 4},
	    {.callee = 2, .caller = SP_CALLS_NONE, .site_library = SP_CALLS_NONE, .n_calls = 5},
	};
	struct sp_profile *p = make(SP_CALLS_BY_SITE, arcs, 4);

	assert_int_equal(sp_profile_n_rows(p), 4);
	assert_int_equal(sp_profile_row(p, 0)->values[0], 20000000000);
	assert_string_equal(name(p, frame(p, 0, 0)), "first");
	assert_int_equal(frame(p, 0, 0)->offset, 0x1000);
	assert_int_equal(sp_profile_func(p, frame(p, 0, 0)->func)->vaddr, 0x11000);
	assert_int_equal(sp_profile_func(p, frame(p, 0, 0)->func)->size, 0x20);
	assert_int_equal(frame(p, 0, 1)->offset, 0x500);
	assert_int_equal(frame(p, 0, 1)->func, 0);
	assert_string_equal(sp_profile_string(p, sp_profile_file(p, frame(p, 0, 1)->file)->name), "prog");

	assert_int_equal(depth_of(p, 1), 3);
	assert_string_equal(name(p, frame(p, 1, 0)), "move");
	assert_true(frame(p, 1, 0)->flags & SP_FRAMEF_ADDRESS_TAKEN);
	assert_string_equal(name(p, frame(p, 1, 1)), "[prog]");
	assert_true(sp_profile_func(p, frame(p, 1, 1)->func)->is_range);
	assert_int_equal(frame(p, 1, 2)->offset, 0x100f);

	/* two functions at one place stay two */
	assert_int_equal(depth_of(p, 2), 2);
	assert_string_equal(name(p, frame(p, 2, 0)), "copy");
	assert_int_equal(depth_of(p, 3), 1);
	sp_profile_free(p);
}

static void by_object(void **state)
{
	struct sp_calls_arc arcs[] = {
	    {.callee = 1, .caller = 1, .site_library = SP_CALLS_NONE, .n_calls = 1},
	    {.callee = 1, .caller = SP_CALLS_NONE, .site_library = SP_CALLS_NONE, .n_calls = UINT64_MAX},
	};
	struct sp_profile *p = make(SP_CALLS_BY_OBJECT, arcs, 2);

	assert_int_equal(depth_of(p, 0), 2);
	assert_string_equal(name(p, frame(p, 0, 1)), "[prog]");
	assert_int_equal(frame(p, 0, 1)->offset, 0);
	assert_int_equal(depth_of(p, 1), 1);
	assert_int_equal(sp_profile_row(p, 1)->values[0], INT64_MAX);
	sp_profile_free(p);
}

static int64_t label(const struct sp_profile *p, uint32_t row, const char *wanted)
{
	size_t n = 0;
	const struct sp_label *l = sp_profile_labels(p, sp_profile_key(p, sp_profile_row(p, row)->key)->labels, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(sp_profile_string(p, l[i].name), wanted))
			return l[i].number;
	return -1;
}

/* Of a function that was timed: its calls, their time, and how many took how long; of another: its mark. */
static void timed(void **state)
{
	struct sp_calls_arc arc = {.callee = 0, .caller = SP_CALLS_NONE, .site_library = SP_CALLS_NONE, .n_calls = 5};
	struct sp_calls_time times[] = {{.callee = 0, .n = 900}, {.callee = 0, .low_ns = 128, .high_ns = 160, .n = 4}};
	struct sp_calls_callee all[3];
	struct sp_calls_snapshot s = {.libraries = libraries,
				      .n_libraries = 2,
				      .callees = all,
				      .n_callees = 3,
				      .arcs = &arc,
				      .n_arcs = 1,
				      .times = times,
				      .n_times = 2,
				      .depth = SP_CALLS_BY_SITE};
	struct sp_calls_namer namer = {.demangle = demangle, .place = place};
	struct sp_profile *p = NULL;

	memcpy(all, callees, sizeof(all));
	all[0].untimed = true;
	refusal = 0;
	assert_int_equal(sp_calls_profile(&s, &namer, &p), 0);
	assert_int_equal(sp_profile_n_value_types(p), 3);
	assert_string_equal(sp_profile_string(p, sp_profile_value_type(p, 1)->name), "timed");
	assert_string_equal(sp_profile_string(p, sp_profile_value_type(p, 2)->name), "latency");
	assert_int_equal(sp_profile_n_rows(p), 2); /* who is not told is nobody: one row */
	assert_int_equal(sp_profile_row(p, 0)->values[0], 5);
	assert_int_equal(sp_profile_row(p, 0)->values[2], 900);
	assert_int_equal(sp_profile_row(p, 1)->values[1], 4);
	assert_int_equal(label(p, 1, "latency_from"), 128);
	assert_int_equal(label(p, 1, "latency_below"), 160);
	assert_string_equal(name(p, frame(p, 1, 0)), name(p, frame(p, 0, 0)));
	assert_true(frame(p, 0, 0)->flags & SP_FRAMEF_UNTIMED);
	sp_profile_free(p);
}

static void nothing_counted(void **state)
{
	struct sp_profile *p = make(SP_CALLS_BY_SITE, NULL, 0);

	assert_int_equal(sp_profile_n_rows(p), 0);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(by_site),
	    cmocka_unit_test(by_object),
	    cmocka_unit_test(timed),
	    cmocka_unit_test(nothing_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
