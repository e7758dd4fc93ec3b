/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions are probed that are made to be hard to probe (made.s), and which are not, and what is said of them.
 * That the places are right is shown by running them: tests/cmd/probe_points.sh.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/point.h"
#include "test.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MADE SP_BUILD_ROOT "/tests/unit/probe/made.so"
enum { E = SP_PROBE_EMULATED, N = SP_PROBE_NOP5, S = SP_PROBE_STEPPED };

struct file {
	uint8_t *bytes;
	size_t size;
};

static int load(void **state)
{
	static struct file f;
	struct stat st;
	SP_CLOSE int fd = open(MADE, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	f.size = (size_t)st.st_size;
	f.bytes = malloc(f.size);
	assert_int_equal(pread(fd, f.bytes, f.size, 0), st.st_size);
	*state = &f;
	return 0;
}

static int unload(void **state)
{
	free(((struct file *)*state)->bytes);
	return 0;
}

static int points_of(const struct file *f, const struct sp_probe_what *what, struct sp_probe_set *s)
{
	struct sp_elf *e;
	int r = sp_elf_open_bytes(f->bytes, f->size, &e);
	if (r < 0)
		return r;
	r = sp_probe_points(e, what, s);
	sp_elf_close(e);
	return r;
}

static struct sp_probe_point point_of(const struct file *f, struct sp_probe_what what, const char *name,
				      struct sp_probe_set *s)
{
	what.globs = &name;
	what.n_globs = 1;
	int r = points_of(f, &what, s);
	if (r < 0)
		fail_msg("%s: %s", name, sp_error_text(r));
	assert_int_equal(s->n, 1);
	return s->points[0];
}

struct place {
	const char *name;
	unsigned behind, cost, pushed;
};

static void expect(const struct file *f, struct sp_probe_what what, const struct place *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sp_probe_set s;
		struct sp_probe_point p = point_of(f, what, at[i].name, &s);
		if (p.offset - p.function != at[i].behind || p.cost != at[i].cost || p.pushed != at[i].pushed)
			fail_msg("%s: %u bytes behind, cost %u, %u pushed", at[i].name,
				 (unsigned)(p.offset - p.function), p.cost, p.pushed);
		assert_int_equal(p.loops, strcmp(at[i].name, "loops_to_entry") == 0);
		sp_probe_set_done(&s);
	}
}

static void cheapest(void **state)
{
	static const struct place places[] = {
	    {"pushes", 0, E, 0},         {"lands", 4, E, 0},
	    {"frames", 8, E, 24},        {"tests", 2, E, 0},
	    {"leaf", 0, S, 0},           {"loops_within", 0, S, 0},
	    {"loops_to_entry", 3, E, 0}, {"entered_short", 0, S, 0},
	    {"enters_short", 0, E, 0},   {"entered_long", 0, S, 0},
	    {"jumps_by_table", 0, S, 0}, {"jumps_and_saves", 7, E, 0},
	    {"locks", 3, E, 0},          {"exchanges", 2, S, 0},
	    {"nops", 0, N, 0},           {"nops_then_pushes", 5, E, 0},
	    {"aligns", 0, S, 0},         {"overwrites", 7, E, 0},
	    {"falls", 0, S, 0},          {"fallen_into", 0, S, 0},
	};
	expect(*state, (struct sp_probe_what){0}, places, SP_COUNT(places));
}

static void with_the_return_address_on_top(void **state)
{
	static const struct place places[] = {
	    {"pushes", 0, E, 0}, {"lands", 4, E, 0}, {"frames", 0, S, 0}, {"tests", 2, E, 0}};
	expect(*state, (struct sp_probe_what){.returns = true}, places, SP_COUNT(places));
}

static void with_arguments(void **state)
{
	static const struct place first[] = {
	    {"overwrites", 0, S, 0}, {"frames", 8, E, 24}, {"loops_to_entry", 0, S, 0}};
	static const struct place second[] = {{"overwrites", 7, E, 0}};
	expect(*state, (struct sp_probe_what){.arguments = 1}, first, SP_COUNT(first));
	expect(*state, (struct sp_probe_what){.arguments = 2}, second, SP_COUNT(second));
}

static void where_a_nop_of_five_bytes_is_fast(void **state)
{
	static const struct place places[] = {{"nops", 0, N, 0}, {"nops_then_pushes", 0, N, 0}, {"pushes", 0, E, 0}};
	expect(*state, (struct sp_probe_what){.nop5_is_fast = true}, places, SP_COUNT(places));
}

/* Each alone is an error that tells why; together they are counted. */
static void refused(void **state)
{
	static const struct {
		const char *name;
		enum sp_probe_refusal why;
	} refused[] = {
	    {"data_typed", SP_PROBE_NO_CODE},      {"text_in_code", SP_PROBE_UNDECODABLE},
	    {"zeros_in_code", SP_PROBE_UNCOVERED}, {"breaks", SP_PROBE_UNDECODABLE},
	    {"runs_on", SP_PROBE_UNDECODABLE},     {"inside", SP_PROBE_INSIDE},
	    {"locks_only", SP_PROBE_PREFIX},       {"avx_only", SP_PROBE_OPCODE},
	    {"chosen_blindly", SP_PROBE_IFUNC},
	};
	struct sp_probe_what what = {.n_globs = 1};
	struct sp_probe_set s;
	for (size_t i = 0; i < SP_COUNT(refused); i++) {
		what.globs = &refused[i].name;
		int r = points_of(*state, &what, &s);
		assert_int_equal(r, -ENOENT);
		if (!strstr(sp_error_text(r), sp_probe_refusal_text(refused[i].why)))
			fail_msg("%s: %s", refused[i].name, sp_error_text(r));
	}
	what.n_globs = 0;
	assert_int_equal(points_of(*state, &what, &s), 0);
	size_t n = 0;
	for (unsigned i = 0; i < SP_PROBE_N_REFUSALS; i++)
		n += s.refused[i];
	assert_int_equal(n, SP_COUNT(refused));
	assert_int_equal(s.n_functions, s.n + n);
	assert_int_equal(s.n_loops, 1);
	sp_probe_set_done(&s);
}

static void names(void **state)
{
	struct sp_probe_set s;
	struct sp_probe_point p = point_of(*state, (struct sp_probe_what){0}, "other_*", &s);
	assert_string_equal(p.name, "other_name");
	assert_int_equal(p.n_names, 2);
	assert_string_equal(p.names[1], "one_name");
	assert_int_equal(s.n_aliases, 1);
	sp_probe_set_done(&s);
	const char *glob = "versioned";
	assert_int_equal(points_of(*state, &(struct sp_probe_what){.globs = &glob, .n_globs = 1}, &s),
			 0); /* two functions */
	assert_int_equal(s.n, 2);
	assert_string_equal(s.points[0].name, "versioned");
	assert_string_equal(s.points[1].name, "versioned");
	sp_probe_set_done(&s);
	const char *some[] = {"no_such_name", "other_*"};
	struct sp_probe_what any = {.globs = some, .n_globs = 2, .any_glob = true};
	assert_int_equal(points_of(*state, &any, &s), 0);
	assert_int_equal(s.n, 1);
	sp_probe_set_done(&s);
	any.n_globs = 1;
	assert_int_equal(points_of(*state, &any, &s), -ENOENT);
}

static void what_a_resolver_chooses(void **state)
{
	struct sp_probe_set s;
	const char *glob = "chosen";
	struct sp_probe_what what = {.globs = &glob, .n_globs = 1};
	assert_int_equal(points_of(*state, &what, &s), 0);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.points[0].name, "chosen");
	assert_string_equal(s.points[1].name, "chosen");
	assert_int_equal(s.n_ifuncs, 1);
	assert_int_equal(s.n_ifuncs_unsure, 0);
	sp_probe_set_done(&s);
	struct sp_probe_point p = point_of(*state, (struct sp_probe_what){0}, "chosen_by_word", &s);
	assert_int_equal(p.n_names, 2); /* also exported by itself */
	assert_string_equal(p.names[1], "leaf");
	sp_probe_set_done(&s);
	p = point_of(*state, (struct sp_probe_what){0}, "chosen_elsewhere", &s);
	assert_int_equal(s.n_ifuncs_unsure, 1);
	sp_probe_set_done(&s);
}

static uint64_t address_of(void **state, const char *name) /* in this file addresses of code are offsets */
{
	struct sp_probe_set s;
	uint64_t at = point_of(*state, (struct sp_probe_what){0}, name, &s).function;
	sp_probe_set_done(&s);
	return at;
}

static void by_address(void **state)
{
	uint64_t at = address_of(state, "lands");
	struct sp_probe_what what = {.addresses = &at, .n_addresses = 1};
	struct sp_probe_set s;
	assert_int_equal(points_of(*state, &what, &s), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.points[0].function, at);
	assert_int_equal(s.points[0].offset, at + 4);
	sp_probe_set_done(&s);
	char expected[64];
	snprintf(expected, sizeof(expected), "the one before it begins at 0x%llx", (unsigned long long)at);
	at++;
	int r = points_of(*state, &what, &s);
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(sp_error_text(r), expected));
	at = 0x7fffffff;
	r = points_of(*state, &what, &s);
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(sp_error_text(r), "there is no code at 0x7fffffff"));
}

static void what_matches_nothing(void **state)
{
	static const char *const globs[] = {"pushes", "pushs"};
	struct sp_probe_what what = {.globs = globs, .n_globs = 2};
	struct sp_probe_set s;
	int r = points_of(*state, &what, &s);
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(sp_error_text(r), "no exported function is called 'pushs'; did you mean 'pushes'?"));
}

/* Functions that no symbol names: .eh_frame tells of them. */
static void inner(void **state)
{
	struct sp_probe_set exported, all;
	size_t n_nameless = 0;
	assert_int_equal(points_of(*state, &(struct sp_probe_what){0}, &exported), 0);
	assert_int_equal(points_of(*state, &(struct sp_probe_what){.inner = true}, &all), 0);
	for (size_t i = 0; i < all.n; i++)
		n_nameless += all.points[i].name == NULL;
	assert_int_equal(n_nameless, 1); /* `out`; the others have the names of the IFUNCs that may choose them */
	assert_int_equal(all.n, exported.n + 1);
	sp_probe_set_done(&exported);
	sp_probe_set_done(&all);
}

static void without_section_headers(void **state)
{
	const struct file *f = *state;
	struct file bare = {malloc(f->size), f->size};
	struct sp_probe_set a, b;
	memcpy(bare.bytes, f->bytes, f->size);
	((Elf64_Ehdr *)bare.bytes)->e_shoff = 0;
	((Elf64_Ehdr *)bare.bytes)->e_shnum = 0;
	assert_int_equal(points_of(f, &(struct sp_probe_what){0}, &a), 0);
	assert_int_equal(points_of(&bare, &(struct sp_probe_what){0}, &b), 0);
	size_t n = 0;
	for (size_t i = 0; i < b.n;
	     i++) { /* all but what a word of the GOT tells, since no section has the relocations */
		while (n < a.n && a.points[n].offset < b.points[i].offset)
			n++;
		assert_true(n < a.n && a.points[n].offset == b.points[i].offset &&
			    a.points[n].cost == b.points[i].cost);
	}
	assert_true(b.n + 1 >= a.n);
	sp_probe_set_done(&a);
	sp_probe_set_done(&b);
	free(bare.bytes);
}

/* Whatever is in a file: each point lies in its code. */
static void damaged(void **state)
{
	const struct file *f = *state;
	struct file bad = {malloc(f->size), f->size};
	uint64_t seed = 1;
	size_t n_good = 0;
	for (int i = 0; i < 3000 / SP_FEWER; i++) {
		struct sp_probe_set s;
		memcpy(bad.bytes, f->bytes, f->size);
		for (int k = 0; k < 8; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			bad.bytes[(seed >> 33) % f->size] = (uint8_t)(seed >> 24);
		}
		if (points_of(&bad, &(struct sp_probe_what){.inner = true}, &s) < 0) {
			sp_error_clear();
			continue;
		}
		n_good++;
		for (size_t k = 0; k < s.n; k++) {
			assert_true(s.points[k].offset < f->size);
			assert_true(s.points[k].offset - s.points[k].function < 128);
		}
		sp_probe_set_done(&s);
	}
	assert_true(n_good > 100);
	free(bad.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cheapest),
	    cmocka_unit_test(with_the_return_address_on_top),
	    cmocka_unit_test(with_arguments),
	    cmocka_unit_test(where_a_nop_of_five_bytes_is_fast),
	    cmocka_unit_test(refused),
	    cmocka_unit_test(names),
	    cmocka_unit_test(what_a_resolver_chooses),
	    cmocka_unit_test(by_address),
	    cmocka_unit_test(what_matches_nothing),
	    cmocka_unit_test(inner),
	    cmocka_unit_test(without_section_headers),
	    cmocka_unit_test(damaged),
	};
	return cmocka_run_group_tests(tests, load, unload);
}
