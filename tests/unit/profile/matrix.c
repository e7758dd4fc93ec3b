/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/matrix.h"
#include "base/intern.h"
#include "profile/totals.h"
#include "random.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_PROFILES = 60 };

/* --- one profile by hand --- */
static struct sp_profile *p;
static uint32_t app, libpng, libz, kernel;

static uint32_t file(uint8_t kind, const char *name)
{
	static uint64_t tag;
	struct sp_file f = {.kind = kind, .tag = ++tag, .name = (uint32_t)sp_profile_add_string(p, name)};

	return (uint32_t)sp_profile_add_file(p, &f);
}

static uint32_t frame(uint32_t in, const char *name)
{
	struct sp_func f = {.file = in, .name = (uint32_t)sp_profile_add_string(p, name)};
	uint32_t func = (uint32_t)sp_profile_add_func(p, &f);

	return (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = in, .func = func, .offset = func});
}

static void add(int64_t value, uint32_t n, const uint32_t *frames)
{
	struct sp_stack s = {.n_frames = n, .frames = frames};

	assert_int_equal(sp_profile_add(p, 0, (uint32_t)sp_profile_add_stack(p, &s), 0, &value), 0);
}
#define ADD(value, ...) add(value, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

static int open_profile(void **state)
{
	if (sp_profile_new(&p) < 0 || sp_profile_add_value_type(p, "cpu", "nanoseconds") < 0)
		return -1;
	app = file(SP_FILE_ELF, "app");
	libpng = file(SP_FILE_ELF, "libpng");
	libz = file(SP_FILE_ELF, "libz");
	kernel = file(SP_FILE_KERNEL, "[kernel]");
	return 0;
}

static int close_profile(void **state)
{
	sp_profile_free(p);
	return 0;
}

static void expect(const struct sp_matrix *m, uint32_t library, uint32_t caller, const char *entry, int64_t self,
		   int64_t total)
{
	for (size_t i = 0; i < m->n_cells; i++) {
		const struct sp_cell *c = &m->cells[i];
		if (c->library != library || c->caller != caller ||
		    strcmp(sp_profile_string(p, sp_profile_func(p, c->entry)->name), entry) != 0)
			continue;
		assert_int_equal(c->self, self);
		assert_int_equal(c->total, total);
		return;
	}
	fail_msg("no cell of library %u under %u through %s", library, caller, entry);
}

static void who_pays_for_libz(void **state)
{
	uint32_t main_ = frame(app, "main"), read_ = frame(libpng, "png_read"), inflate = frame(libz, "inflate"),
		 fast = frame(libz, "inflate_fast"), crc = frame(libz, "crc32"), cb = frame(app, "callback"),
		 lost = frame(0, ""), page = frame(kernel, "page_fault");
	struct sp_matrix m;

	ADD(1, fast, inflate, read_, main_);
	ADD(2, crc, main_);
	ADD(4, crc, cb, fast, inflate, read_, main_); /* the run nearest to the leaf: through crc32 from app */
	ADD(8, fast, lost, inflate, main_);           /* who is not known neither calls nor parts a run */
	ADD(16, page, fast, inflate, read_, main_);
	ADD(32, main_);
	assert_int_equal(sp_matrix_new(p, 0, true, &m), 0);
	expect(&m, libz, libpng, "inflate", 1, 17);
	expect(&m, libz, app, "crc32", 6, 6);
	expect(&m, libz, app, "inflate", 8, 8);
	expect(&m, 0, libz, "", 0, 8);
	expect(&m, kernel, libz, "page_fault", 16, 16);
	expect(&m, libpng, app, "png_read", 0, 21);
	expect(&m, app, 0, "main", 32, 59);
	expect(&m, app, libz, "callback", 0, 4);
	assert_int_equal(m.n_cells, 8);
	assert_int_equal(m.value, 63);
	sp_matrix_done(&m);
	assert_int_equal(sp_matrix_new(p, 0, false, &m), 0);
	expect(&m, libz, app, "", 14, 14);
	assert_int_equal(m.n_cells, 7);
	sp_matrix_done(&m);
	assert_int_equal(sp_matrix_new(p, 1, false, &m), -EINVAL);
}

/* --- random ones against the definition --- */
static void count_library(const struct sp_profile *q, const struct sp_row *row, const uint32_t *frames, uint32_t n,
			  uint32_t first, struct truth *truth)
{
	char library[RANDOM_WORDS], here[RANDOM_WORDS], caller[RANDOM_WORDS] = "", words[4 * RANDOM_WORDS];
	char entry[2 * RANDOM_WORDS];
	uint32_t lowest = first;

	random_library_words(q, frames[first], library);
	for (uint32_t i = first + 1; i < n && caller[0] == '\0'; i++) {
		random_library_words(q, frames[i], here);
		if (strcmp(here, library) == 0)
			lowest = i;
		else
			(void)snprintf(caller, sizeof(caller), "%s", here);
	}
	random_func_words(q, sp_profile_frame(q, frames[lowest])->func, entry);
	(void)snprintf(words, sizeof(words), "%s|%s|%s", library, caller, library[0] != '\0' ? entry : "");
	struct sum *sum = truth_at(truth, words);
	sum->self += first == 0 ? row->values[1] : 0;
	sum->total += row->values[1];
	sum->samples += row->values[0];
}

static void count_row(const struct sp_profile *q, const struct sp_row *row, struct truth *truth)
{
	uint32_t frames[2 * RANDOM_DEPTH], n = random_frames(q, row, frames);

	if (n == 0) {
		struct sum *sum = truth_at(truth, "||");
		sum->self += row->values[1];
		sum->total += row->values[1];
		sum->samples += row->values[0];
	}
	for (uint32_t i = 0; i < n; i++) {
		char library[RANDOM_WORDS], before[RANDOM_WORDS];
		bool again = false;
		random_library_words(q, frames[i], library);
		for (uint32_t k = 0; k < i && !again; k++) {
			random_library_words(q, frames[k], before);
			again = strcmp(library, before) == 0;
		}
		if (!again)
			count_library(q, row, frames, n, i, truth);
	}
}

static void cells_are_true(const struct sp_profile *q, const struct sp_matrix *m)
{
	struct truth truth = truth_new();

	for (uint32_t i = 0; i < sp_profile_n_rows(q); i++)
		if (sp_profile_row(q, i)->values[1] != 0)
			count_row(q, sp_profile_row(q, i), &truth);
	for (size_t i = 0; i < m->n_cells; i++) {
		const struct sp_cell *c = &m->cells[i];
		char library[RANDOM_WORDS], caller[RANDOM_WORDS], entry[2 * RANDOM_WORDS], words[4 * RANDOM_WORDS];
		random_file_words(q, c->library, library);
		random_file_words(q, c->caller, caller);
		random_func_words(q, c->entry, entry);
		(void)snprintf(words, sizeof(words), "%s|%s|%s", library, caller, entry);
		struct sum sum = truth_see(&truth, words);
		assert_int_equal(c->self, sum.self);
		assert_int_equal(c->total, sum.total);
		assert_int_equal(c->n_samples, sum.samples);
	}
	truth_all_seen(&truth);
	truth_free(&truth);
}

static void sums_are_the_totals(const struct sp_profile *q, const struct sp_matrix *m)
{
	struct sp_totals t;

	assert_int_equal(sp_totals_by(q, SP_TOTAL_BY_LIBRARY, 1, &t), 0);
	for (size_t i = 0; i < t.n_rows; i++) {
		const struct sp_total *row = &t.rows[i];
		int64_t self = 0, total = 0, n_samples = 0;
		for (size_t k = 0; k < m->n_cells; k++)
			if (m->cells[k].library == (row->none ? 0 : row->id)) {
				self += m->cells[k].self;
				total += m->cells[k].total;
				n_samples += m->cells[k].n_samples;
			}
		assert_int_equal(self, row->self);
		assert_int_equal(total, row->total);
		assert_int_equal(n_samples, row->n_samples);
	}
	assert_int_equal(m->value, t.value);
	assert_int_equal(m->n_samples, t.n_samples);
	sp_totals_done(&t);
}

static void random_profiles(void **state)
{
	for (unsigned int seed = 1; seed <= N_PROFILES; seed++) {
		struct sp_profile *q = random_profile(seed);
		struct sp_matrix m;
		assert_int_equal(sp_matrix_new(q, 1, true, &m), 0);
		cells_are_true(q, &m);
		sums_are_the_totals(q, &m);
		sp_matrix_done(&m);
		assert_int_equal(sp_matrix_new(q, 1, false, &m), 0);
		sums_are_the_totals(q, &m);
		sp_matrix_done(&m);
		sp_profile_free(q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(who_pays_for_libz, open_profile, close_profile),
	    cmocka_unit_test(random_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
