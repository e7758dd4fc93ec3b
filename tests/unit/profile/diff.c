/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/diff.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/totals.h"
#include "profile/tree.h"
#include "random.h"
#include "test.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sp_profile *old, *new;
static struct sp_diff *d;
static struct sp_diff_rows rows;

static uint32_t string(struct sp_profile *p, const char *s)
{
	return (uint32_t)sp_profile_add_string(p, s);
}

static uint32_t file(struct sp_profile *p, uint8_t kind, const char *path, const char *name, const char *build_id)
{
	static uint64_t tag;
	struct sp_file f = {.kind = kind, .tag = ++tag, .path = string(p, path), .name = string(p, name)};

	f.build_id_len = (uint8_t)strlen(build_id);
	memcpy(f.build_id, build_id, f.build_id_len);
	return (uint32_t)sp_profile_add_file(p, &f);
}

static uint32_t frame(struct sp_profile *p, uint32_t in, const char *name, uint64_t offset)
{
	struct sp_func f = {
	    .file = in, .name = string(p, name), .start = offset & ~15ULL, .linkage_name = string(p, name)};
	struct sp_frame fr = {.file = in, .offset = offset};

	f.is_range = strstr(name, "+0x") != NULL;
	fr.func = *name != '\0' ? (uint32_t)sp_profile_add_func(p, &f) : 0;
	return (uint32_t)sp_profile_add_frame(p, &fr);
}

static void add(struct sp_profile *p, uint32_t slice, int64_t value, uint32_t n, const uint32_t *frames)
{
	struct sp_stack s = {.n_frames = n, .frames = frames};
	int64_t key = sp_profile_add_key(p, &(struct sp_key){.slice = slice, .comm = string(p, "app")});

	assert_int_equal(sp_profile_add(p, (uint32_t)key, (uint32_t)sp_profile_add_stack(p, &s), 0, &value), 0);
}
#define ADD(p, value, ...) add(p, 0, value, SP_COUNT(((uint32_t[]){__VA_ARGS__})), (uint32_t[]){__VA_ARGS__})

static int open_profiles(void **state)
{
	d = NULL;
	rows = (struct sp_diff_rows){0};
	if (sp_profile_new(&old) < 0 || sp_profile_add_value_type(old, "samples", "count") < 0 ||
	    sp_profile_new(&new) < 0 || sp_profile_add_value_type(new, "samples", "count") < 0)
		return -1;
	return 0;
}

static int close_profiles(void **state)
{
	sp_diff_rows_done(&rows);
	sp_diff_free(d);
	sp_profile_free(old);
	sp_profile_free(new);
	return 0;
}

static void make(enum sp_diff_scale scale, enum sp_diff_by by)
{
	struct sp_diff_options o = {.scale = scale};

	sp_diff_rows_done(&rows);
	sp_diff_free(d);
	d = NULL;
	assert_int_equal(sp_diff_new(old, new, &o, &d), 0);
	assert_int_equal(sp_diff_rows_new(d, by, &rows), 0);
}

static const char *name_of(const struct sp_diff_row *row, enum sp_diff_by by)
{
	return by == SP_DIFF_BY_LIBRARY ? sp_profile_string(d->joined, sp_profile_file(d->joined, row->id)->name)
					: sp_profile_string(d->joined, sp_profile_func(d->joined, row->id)->name);
}

static void a_range_is_one_function_whoever_says_so(void **state)
{
	uint32_t one = file(old, SP_FILE_ELF, "/l/z", "z", "id"),
		 other = file(new, SP_FILE_ELF, "/cache/elf", "elf", "id");
	uint32_t plain = frame(new, other, "z+0x10", 0x14);
	struct sp_func f = *sp_profile_func(new, sp_profile_frame(new, plain)->func);

	f.is_range = false; /* its reader did not know: the library is called otherwise there */
	sp_profile_frame(new, plain)->func = (uint32_t)sp_profile_add_func(new, &f);
	ADD(old, 3, frame(old, one, "z+0x10", 0x14));
	ADD(new, 4, plain);
	make(SP_DIFF_ABSOLUTE, SP_DIFF_BY_STACK);
	assert_int_equal(rows.n_rows, 1);
	assert_int_equal(rows.rows[0].old_self, 3);
	assert_int_equal(rows.rows[0].new_self, 4);
}

/* The only row of this name, with these values. */
static const struct sp_diff_row *expect(enum sp_diff_by by, const char *name, int64_t old_self, int64_t new_self)
{
	const struct sp_diff_row *found = NULL;

	for (size_t i = 0; i < rows.n_rows; i++)
		if (strcmp(name_of(&rows.rows[i], by), name) == 0) {
			assert_null(found);
			found = &rows.rows[i];
		}
	if (found == NULL)
		fail_msg("no row %s", name);
	assert_int_equal(found->old_self, old_self);
	assert_int_equal(found->new_self, new_self);
	return found;
}

/* --- pairing --- */
static void an_upgrade_is_one_library(void **state)
{
	uint32_t za = file(old, SP_FILE_ELF, "/usr/lib/libz.so.1.2", "libz.so.1", "AA"),
		 zb = file(new, SP_FILE_ELF, "/usr/lib/libz.so.1.3", "libz.so.1", "BB");
	uint32_t ca = file(old, SP_FILE_ELF, "/lib/libc.so.6", "libc.so.6", "CC"),
		 cb = file(new, SP_FILE_ELF, "/copy/libc.so.6", "libc.so.6", "CC");

	ADD(old, 100, frame(old, za, "inflate", 16), frame(old, ca, "main", 16));
	ADD(old, 20, frame(old, za, "libz.so.1+0x40", 64), frame(old, ca, "main", 16));
	ADD(old, 5, frame(old, ca, "libc.so.6+0x80", 128));
	ADD(new, 300, frame(new, zb, "inflate", 512), frame(new, cb, "main", 16));
	ADD(new, 30, frame(new, zb, "libz.so.1+0x90", 0x90), frame(new, cb, "main", 16));
	ADD(new, 3, frame(new, zb, "", 0x999), frame(new, cb, "main", 16));
	ADD(new, 6, frame(new, cb, "libc.so.6+0x80", 128));
	make(SP_DIFF_ABSOLUTE, SP_DIFF_BY_LIBRARY);
	assert_int_equal(d->n_upgrades, 1);
	assert_int_equal(d->upgrades[0].n_old, 1);
	assert_int_equal(d->upgrades[0].old_files[0], za);
	assert_int_equal(d->upgrades[0].new_files[0], zb);
	assert_string_equal(sp_profile_string(d->joined, sp_profile_file(d->joined, d->upgrades[0].file)->path),
			    "/usr/lib/libz.so.1.3");
	assert_ptr_equal(expect(SP_DIFF_BY_LIBRARY, "libz.so.1", 120, 333), &rows.rows[0]);
	assert_int_equal(rows.rows[0].upgrade, 1);
	assert_int_equal(rows.rows[0].id, d->upgrades[0].file);
	assert_false(rows.rows[0].self.within_noise);
	assert_int_equal(expect(SP_DIFF_BY_LIBRARY, "libc.so.6", 5, 6)->upgrade, 0);
	assert_int_equal(rows.n_rows, 2);
	make(SP_DIFF_ABSOLUTE, SP_DIFF_BY_FUNCTION);
	assert_int_equal(expect(SP_DIFF_BY_FUNCTION, "inflate", 100, 300)->upgrade, 1);
	assert_int_equal(expect(SP_DIFF_BY_FUNCTION, "unnamed functions of libz.so.1", 20, 33)->upgrade, 1);
	assert_int_equal(expect(SP_DIFF_BY_FUNCTION, "libc.so.6+0x80", 5, 6)->upgrade, 0); /* the same build */
	assert_int_equal(rows.n_rows, 4);
	make(SP_DIFF_ABSOLUTE, SP_DIFF_BY_STACK);
	assert_int_equal(rows.n_rows, 3);
	assert_int_equal(rows.rows[0].old_self, 100);
	assert_int_equal(rows.rows[0].new_self, 300);
	assert_int_equal(rows.rows[0].upgrade, 1);
}

/* One after the other: path, name, name without version; a library that is only there in one of them stays alone. */
static void what_is_left_over_is_paired_by_likeness(void **state)
{
	ADD(old, 1, frame(old, file(old, SP_FILE_ELF, "/usr/bin/app", "app", "A1"), "main", 1));
	ADD(new, 2, frame(new, file(new, SP_FILE_ELF, "/usr/bin/app", "app", "A2"), "main", 9));
	ADD(old, 1, frame(old, file(old, SP_FILE_ELF, "/opt/v1/libq.so", "libq.so", "B1"), "q", 1));
	ADD(new, 2, frame(new, file(new, SP_FILE_ELF, "/opt/v2/libq.so", "libq.so", "B2"), "q", 9));
	ADD(old, 1, frame(old, file(old, SP_FILE_ELF, "/lib/libicu.so.72", "libicu.so.72", "C1"), "u", 1));
	ADD(new, 2, frame(new, file(new, SP_FILE_ELF, "/lib/libicu.so.74", "libicu.so.74", "C2"), "u", 9));
	ADD(old, 1, frame(old, file(old, SP_FILE_ELF, "/lib/libgone.so", "libgone.so", "D1"), "gone", 1));
	ADD(new, 2, frame(new, file(new, SP_FILE_ELF, "/lib/libcame.so", "libcame.so", "E1"), "came", 1));
	ADD(old, 1, frame(old, file(old, SP_FILE_KERNEL, "", "[kernel]", "K1"), "vfs_read", 0xffff));
	ADD(new, 2, frame(new, file(new, SP_FILE_KERNEL, "", "[kernel]", "K2"), "vfs_read", 0xeeee));
	/* from a text: no build id, no path */
	ADD(old, 1, frame(old, file(old, SP_FILE_OTHER, "", "libt.so", ""), "t", 0));
	ADD(new, 2, frame(new, file(new, SP_FILE_ELF, "/lib/libt.so", "libt.so", "T"), "t", 0));
	make(SP_DIFF_ABSOLUTE, SP_DIFF_BY_LIBRARY);
	assert_int_equal(rows.n_rows, 7);
	assert_int_equal(d->n_upgrades, 4);
	assert_int_equal(expect(SP_DIFF_BY_LIBRARY, "app", 1, 2)->upgrade != 0, 1);
	assert_int_equal(expect(SP_DIFF_BY_LIBRARY, "libq.so", 1, 2)->upgrade != 0, 1);
	assert_int_equal(expect(SP_DIFF_BY_LIBRARY, "libicu.so.74", 1, 2)->upgrade != 0, 1);
	assert_int_equal(expect(SP_DIFF_BY_LIBRARY, "[kernel]", 1, 2)->upgrade != 0, 1);
	assert_int_equal(expect(SP_DIFF_BY_LIBRARY, "libt.so", 1, 2)->upgrade, 0);
	assert_int_equal(expect(SP_DIFF_BY_LIBRARY, "libgone.so", 1, 0)->upgrade, 0);
	assert_int_equal(expect(SP_DIFF_BY_LIBRARY, "libcame.so", 0, 2)->upgrade, 0);
}

/* Some processes still run the old build. And two containers with a build each of the same path are two libraries. */
static void an_upgrade_under_way(void **state)
{
	ADD(old, 5, frame(old, file(old, SP_FILE_ELF, "/lib/libz.so.1", "libz.so.1", "A"), "f", 1));
	ADD(new, 2, frame(new, file(new, SP_FILE_ELF, "/lib/libz.so.1", "libz.so.1", "A"), "f", 1));
	ADD(new, 3, frame(new, file(new, SP_FILE_ELF, "/lib/libz.so.1", "libz.so.1", "B"), "f", 7));
	for (int i = 0; i < 2; i++) {
		struct sp_profile *p = i == 0 ? old : new;
		ADD(p, 10, frame(p, file(p, SP_FILE_ELF, "/lib/libc.so.6", "libc.so.6", "X"), "g", 1));
		ADD(p, 20, frame(p, file(p, SP_FILE_ELF, "/lib/libc.so.6", "libc.so.6", "Y"), "g", 1));
	}
	make(SP_DIFF_SHARES, SP_DIFF_BY_LIBRARY);
	assert_int_equal(rows.n_rows, 3);
	const struct sp_diff_row *row = expect(SP_DIFF_BY_LIBRARY, "libz.so.1", 5, 5);
	assert_int_equal(row->upgrade, 1);
	assert_int_equal(d->upgrades[0].n_old, 1);
	assert_int_equal(d->upgrades[0].n_new, 2);
	assert_true(row->self.delta == 0 && row->self.within_noise);
}

/* --- sums: of random profiles, whose libraries are told apart by build id or name --- */
static void sums_are_those_of_the_profiles(void **state)
{
	for (unsigned int seed = 1; seed < 20; seed++) {
		struct sp_profile *p[2] = {random_profile(seed), random_profile(seed + 100)};
		struct sp_diff_options o = {.old_value = 1, .new_value = 1, .scale = SP_DIFF_SHARES};
		struct sp_totals t;
		assert_int_equal(sp_diff_new(p[0], p[1], &o, &d), 0);
		for (int side = 0; side < 2; side++) {
			assert_int_equal(sp_totals_by(p[side], SP_TOTAL_BY_LIBRARY, 1, &t), 0);
			assert_true((double)t.value == d->value[side]);
			assert_true((double)t.n_samples == d->n_samples[side]); /* of this value */
			sp_totals_done(&t);
		}
		for (enum sp_diff_by by = SP_DIFF_BY_LIBRARY; by <= SP_DIFF_BY_STACK; by++) {
			double sums[2] = {0}, shares[2] = {0};
			assert_int_equal(sp_diff_rows_new(d, by, &rows), 0);
			for (size_t i = 0; i < rows.n_rows; i++) {
				const struct sp_diff_row *row = &rows.rows[i];
				sums[0] += (double)row->old_self;
				sums[1] += (double)row->new_self;
				shares[0] += row->self.old;
				shares[1] += row->self.new;
				assert_true(row->self.low <= row->self.delta && row->self.delta <= row->self.high);
				assert_true(row->self.q >= 0 && row->self.q <= 1);
				assert_true(row->old_total >= row->old_self);
				assert_true(by != SP_DIFF_BY_STACK || row->old_total == row->old_self);
			}
			assert_true(sums[0] == d->value[0] && sums[1] == d->value[1]);
			assert_true(fabs(shares[0] - 1) < 1e-9 && fabs(shares[1] - 1) < 1e-9);
			sp_diff_rows_done(&rows);
		}
		sp_diff_free(d);
		d = NULL;
		sp_profile_free(p[0]);
		sp_profile_free(p[1]);
	}
}

/* The joined profile makes a differential tree: old and new side by side. */
static void a_tree_of_both(void **state)
{
	uint32_t a = file(old, SP_FILE_ELF, "/a", "a", "1"), b = file(new, SP_FILE_ELF, "/a", "a", "1");
	struct sp_tree_options o = {
	    .value = SP_DIFF_OLD, .has_second = true, .second = SP_DIFF_NEW, .comms = true, .by_name = true};
	struct sp_tree t;

	ADD(old, 3, frame(old, a, "f", 16), frame(old, a, "main", 32));
	ADD(old, 4, frame(old, a, "f", 20), frame(old, a, "main", 40));
	ADD(new, 9, frame(new, b, "f", 18), frame(new, b, "main", 32));
	ADD(new, 1, frame(new, b, "g", 64), frame(new, b, "main", 32));
	make(SP_DIFF_SHARES, SP_DIFF_BY_STACK);
	assert_int_equal(rows.n_rows, 2);
	assert_int_equal(sp_tree_new(d->joined, &o, &t), 0);
	assert_int_equal(t.n_nodes, 5); /* all, app, main, f, g */
	uint32_t main_ = t.nodes[t.nodes[0].first].first, f = t.nodes[main_].first, g = t.nodes[f].next;
	assert_string_equal(sp_tree_name(d->joined, &t, f), "f");
	assert_int_equal(t.nodes[f].total, 7);
	assert_int_equal(t.nodes[f].second_total, 9);
	assert_int_equal(t.nodes[g].total, 0);
	assert_int_equal(t.nodes[g].second_total, 1);
	sp_tree_done(&t);
}

/* --- the interval, against sums made in another way --- */
enum { N_SLICES = 7, N_LIBS = 4 };

/* Seven slices: too few to take two together. 97.5 % of Student's t with 6 degrees of freedom lie below 2.4469. */
static void an_interval_from_slices(void **state)
{
	double counts[2][N_LIBS][N_SLICES], variance[2], share[2], one = 0;
	char name[2] = "a";

	srandom(5);
	for (int side = 0; side < 2; side++)
		for (int l = 0; l < N_LIBS; l++)
			for (uint32_t s = 0; s < N_SLICES; s++) {
				struct sp_profile *p = side == 0 ? old : new;
				int64_t n = 5 + random() % 40;
				name[0] = (char)('a' + l);
				counts[side][l][s] = (double)n;
				uint32_t fr = frame(p, file(p, SP_FILE_ELF, name, name, name), "f", 16);
				add(p, s + 1, n, 1, &fr);
			}
	make(SP_DIFF_SHARES, SP_DIFF_BY_LIBRARY);
	assert_int_equal(d->method, SP_DIFF_FROM_SLICES);
	for (int side = 0; side < 2; side++) {
		double all[N_SLICES] = {0}, sum = 0, of = 0, residuals = 0;
		for (int l = 0; l < N_LIBS; l++)
			for (int s = 0; s < N_SLICES; s++)
				all[s] += counts[side][l][s];
		for (int s = 0; s < N_SLICES; s++) {
			sum += all[s];
			of += counts[side][2][s];
		}
		share[side] = of / sum;
		for (int s = 0; s < N_SLICES; s++)
			residuals += pow(counts[side][2][s] - share[side] * all[s], 2);
		variance[side] = residuals * N_SLICES / (N_SLICES - 1) / (sum * sum);
		one += 1 / (sum * sum);
	}
	const struct sp_change *c = NULL;
	for (size_t i = 0; i < rows.n_rows; i++)
		if (strcmp(name_of(&rows.rows[i], SP_DIFF_BY_LIBRARY), "c") == 0)
			c = &rows.rows[i].self;
	assert_non_null(c);
	double deviation = sqrt(variance[0] + variance[1] + one), half = (c->high - c->low) / 2;
	assert_true(fabs(c->old - share[0]) < 1e-12 && fabs(c->new - share[1]) < 1e-12);
	assert_true(fabs(c->delta - (share[1] - share[0])) < 1e-12);
	assert_true(fabs((c->high + c->low) / 2 - c->delta) < 1e-12);
	/* Welch's degrees of freedom lie between 6 and 12 (t 2.1788), a little above for the one sample more */
	assert_true(half / deviation > 2.15 && half / deviation < 2.46);
}

static void an_interval_from_counts(void **state)
{
	uint32_t a = file(old, SP_FILE_ELF, "a", "a", "a"), b = file(new, SP_FILE_ELF, "a", "a", "a");

	ADD(old, 60, frame(old, a, "f", 16));
	ADD(old, 40, frame(old, a, "g", 32));
	ADD(new, 90, frame(new, b, "f", 16));
	ADD(new, 110, frame(new, b, "g", 32));
	make(SP_DIFF_SHARES, SP_DIFF_BY_FUNCTION);
	assert_int_equal(d->method, SP_DIFF_FROM_COUNTS);
	assert_true(d->dispersion == 1 && d->spread == 0); /* too few rows tell it */
	double half = 1.959964 * sqrt(0.6 * 0.4 / 100 + 0.45 * 0.55 / 200 + 1e-4 + 0.25e-4);
	for (int i = 0; i < 2; i++) {
		const struct sp_change *c = &rows.rows[i].self;
		assert_true(fabs(c->high - (c->delta + half)) < 1e-9 && fabs(c->low - (c->delta - half)) < 1e-9);
		assert_false(c->within_noise);
	}
	make(SP_DIFF_ABSOLUTE, SP_DIFF_BY_FUNCTION);
	const struct sp_diff_row *row = expect(SP_DIFF_BY_FUNCTION, "f", 60, 90);
	assert_true(row->self.delta == 30);
	assert_true(fabs(row->self.high - 30 - 1.959964 * sqrt(60 + 90 + 2)) < 1e-9);
}

static void few_samples_prove_nothing(void **state)
{
	uint32_t a = file(old, SP_FILE_ELF, "a", "a", "a"), b = file(new, SP_FILE_ELF, "a", "a", "a");

	ADD(old, 1000, frame(old, a, "most", 16));
	ADD(new, 1000, frame(new, b, "most", 16));
	ADD(new, 4, frame(new, b, "new", 32));
	make(SP_DIFF_SHARES, SP_DIFF_BY_FUNCTION);
	assert_int_equal(rows.n_beyond_self, 0);
	assert_true(expect(SP_DIFF_BY_FUNCTION, "new", 0, 4)->self.within_noise);
	ADD(new, 8, frame(new, b, "new", 32));
	make(SP_DIFF_SHARES, SP_DIFF_BY_FUNCTION);
	assert_false(expect(SP_DIFF_BY_FUNCTION, "new", 0, 12)->self.within_noise);
}

static void nothing_and_what_does_not_fit(void **state)
{
	struct sp_diff_options o = {.old_value = 0, .new_value = 1};
	struct sp_profile *other;
	struct sp_diff *none = NULL;

	make(SP_DIFF_SHARES, SP_DIFF_BY_LIBRARY);
	assert_int_equal(rows.n_rows, 0);
	uint32_t b = file(new, SP_FILE_ELF, "a", "a", "a");
	ADD(new, 7, frame(new, b, "f", 16));
	make(SP_DIFF_SHARES, SP_DIFF_BY_LIBRARY);
	assert_true(expect(SP_DIFF_BY_LIBRARY, "a", 0, 7)->self.within_noise); /* nothing is known of the old */
	assert_int_equal(sp_diff_new(old, new, &o, &none), -EINVAL);
	assert_int_equal(sp_profile_new(&other), 0);
	assert_int_equal(sp_profile_add_value_type(other, "cpu", "nanoseconds"), 0);
	o.new_value = 0;
	assert_int_equal(sp_diff_new(old, other, &o, &none), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), "cannot compare samples in count with cpu in nanoseconds");
	sp_profile_free(other);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_profiles, close_profiles)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_range_is_one_function_whoever_says_so),
	    TEST(an_upgrade_is_one_library),
	    TEST(what_is_left_over_is_paired_by_likeness),
	    TEST(an_upgrade_under_way),
	    TEST(sums_are_those_of_the_profiles),
	    TEST(a_tree_of_both),
	    TEST(an_interval_from_slices),
	    TEST(an_interval_from_counts),
	    TEST(few_samples_prove_nothing),
	    TEST(nothing_and_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
