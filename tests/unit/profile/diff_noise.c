/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One recording split at random into halves 200 times: nothing has changed, so at most 5 % of the rows may lie outside
 * their intervals. And what did change is found. The recording is a chain of phases, each with stacks of its own that
 * come in bursts, as a program's do: samples near in time are alike.
 */
#include "base/mem.h"
#include "profile/diff.h"
#include "profile/window.h"
#include "test.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	N_LIBRARIES = 14,
	N_FUNCS = 300,
	N_STACKS = 1200,
	N_SLICES = 40,
	PER_SLICE = 99,
	N_SPLITS = 200 / SP_FEWER,
	N_LIGHTENED = SP_FEWER > 1 ? 2 : 10,
	DEPTH = 12
};
enum { N_SAMPLES = N_SLICES * PER_SLICE };

static uint32_t stacks[N_STACKS][DEPTH]; /* functions, leaf first */
static uint32_t samples[N_SAMPLES];      /* stacks, in time */

/* Function i lies in library i % N_LIBRARIES; small numbers are likelier, as few functions do most of the work. */
static uint32_t zipf(uint32_t n)
{
	return (uint32_t)(pow((double)n, (double)random() / (double)RAND_MAX)) - 1;
}

static void make_up_stacks(void)
{
	for (uint32_t i = 0; i < N_STACKS; i++)
		for (uint32_t k = 0; k < DEPTH; k++)
			stacks[i][k] = k == DEPTH - 1 ? 0 : k > 6 ? (i % 50) * 7 % N_FUNCS : zipf(N_FUNCS);
}

/* Each second belongs to one or two programs, which have stacks and libraries of their own: uneven bursts. */
static void record_programs(void)
{
	enum { N_PROGRAMS = 12, EACH = N_STACKS / N_PROGRAMS };
	uint32_t running[2] = {0};

	for (uint32_t i = 0; i < N_SAMPLES; i++) {
		if (i % PER_SLICE == 0)
			for (int k = 0; k < 2; k++)
				running[k] = random() % 3 == 0 ? running[k] : zipf(N_PROGRAMS);
		samples[i] = running[random() % 4 == 0] * EACH + zipf(EACH);
	}
}

/* The stacks of a program have most of their frames in three libraries. */
static void gather_libraries(void)
{
	for (uint32_t i = 0; i < N_STACKS; i++)
		for (uint32_t k = 0; k < DEPTH - 1; k++)
			if (random() % 8 != 0)
				stacks[i][k] -= stacks[i][k] % N_LIBRARIES - (i / 100 + stacks[i][k] % 3) % N_LIBRARIES;
	for (uint32_t i = 0; i < N_STACKS; i++)
		for (uint32_t k = 0; k < DEPTH; k++)
			stacks[i][k] %= N_FUNCS;
}

/* bursts: how likely a sample is the same stack as the one before; phases last some seconds and have favourites. */
static void record(double bursts)
{
	uint32_t phase = 0, left = 0;

	for (uint32_t i = 0; i < N_SAMPLES; i++) {
		if (left-- == 0) {
			phase = (uint32_t)random() % 5;
			left = (uint32_t)random() % (3 * PER_SLICE);
		}
		bool same = i > 0 && (double)random() / (double)RAND_MAX < bursts;
		samples[i] = same ? samples[i - 1] : (zipf(N_STACKS) + (bursts > 0 ? phase * 37 : 0)) % N_STACKS;
	}
}

struct maker {
	struct sp_profile *p;
	uint32_t files[N_LIBRARIES], stacks[N_STACKS], keys[N_SLICES + 1];
};

static struct maker new_maker(void)
{
	struct maker m = {0};

	assert_int_equal(sp_profile_new(&m.p), 0);
	assert_int_equal(sp_profile_add_value_type(m.p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(m.p, "cpu", "nanoseconds"), 0);
	for (uint32_t i = 0; i < N_LIBRARIES; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "lib%u.so.1", i);
		struct sp_file f = {.kind = SP_FILE_ELF, .tag = i + 1, .build_id_len = 1, .build_id = {(uint8_t)i}};
		f.name = (uint32_t)sp_profile_add_string(m.p, name);
		m.files[i] = (uint32_t)sp_profile_add_file(m.p, &f);
	}
	for (uint32_t i = 0; i <= N_SLICES; i++)
		m.keys[i] = (uint32_t)sp_profile_add_key(m.p, &(struct sp_key){.slice = i});
	return m;
}

static uint32_t make_stack(struct maker *m, uint32_t which)
{
	uint32_t frames[DEPTH];

	if (m->stacks[which] != 0)
		return m->stacks[which];
	for (uint32_t k = 0; k < DEPTH; k++) {
		uint32_t number = stacks[which][k];
		char name[32];
		(void)snprintf(name, sizeof(name), "function_%u", number);
		struct sp_func func = {.file = m->files[number % N_LIBRARIES]};
		func.name = (uint32_t)sp_profile_add_string(m->p, name);
		struct sp_frame frame = {.file = func.file, .offset = number};
		frame.func = (uint32_t)sp_profile_add_func(m->p, &func);
		frames[k] = (uint32_t)sp_profile_add_frame(m->p, &frame);
	}
	struct sp_stack stack = {.n_frames = DEPTH, .frames = frames};
	m->stacks[which] = (uint32_t)sp_profile_add_stack(m->p, &stack);
	return m->stacks[which];
}

static void add(struct maker *m, uint32_t sample, bool slices)
{
	int64_t values[] = {1, 10101010};

	assert_int_equal(sp_profile_add(m->p, m->keys[slices ? sample / PER_SLICE + 1 : 0],
					make_stack(m, samples[sample]), 0, values),
			 0);
}

/* --- halves --- */
struct split {
	bool slices; /* the halves know them */
	bool whole;  /* slices go to one half as a whole; else each sample for itself */
	enum sp_diff_scale scale;
	double bursts; /* PROGRAMS: see record_programs() */
};
#define PROGRAMS 2.0

static const char *const by_names[] = {"library", "function", "stack"};

struct tally {
	size_t rows, outside, large_rows, large_outside; /* large: at least 20 samples in both */
};

static void count(struct tally *t, const struct sp_change *c, int64_t both)
{
	t->rows++;
	t->outside += !c->within_noise;
	t->large_rows += both >= 20;
	t->large_outside += both >= 20 && !c->within_noise;
}

/* Half of the slices, drawn at random. */
static void toss(bool coins[N_SLICES])
{
	for (uint32_t i = 0; i < N_SLICES; i++) {
		uint32_t at = (uint32_t)random() % (i + 1);
		coins[i] = at < i && coins[at];
		coins[at] = i % 2;
	}
}

static void split_once(const struct split *s, struct maker halves[2], struct tally tallies[3][2])
{
	struct sp_diff_options o = {.old_value = 0, .new_value = 0, .scale = s->scale};
	struct sp_diff *d;
	bool coins[N_SLICES];

	sp_profile_clear_rows(halves[0].p);
	sp_profile_clear_rows(halves[1].p);
	toss(coins);
	for (uint32_t i = 0; i < N_SAMPLES; i++)
		add(&halves[s->whole ? coins[i / PER_SLICE] : random() >> 7 & 1], i, s->slices);
	assert_int_equal(sp_diff_new(halves[0].p, halves[1].p, &o, &d), 0);
	assert_int_equal(d->method, s->slices ? SP_DIFF_FROM_SLICES : SP_DIFF_FROM_COUNTS);
	assert_int_equal(d->n_upgrades, 0);
	for (enum sp_diff_by by = 0; by < 3; by++) {
		struct sp_diff_rows rows;
		assert_int_equal(sp_diff_rows_new(d, by, &rows), 0);
		for (size_t i = 0; i < rows.n_rows; i++) {
			const struct sp_diff_row *row = &rows.rows[i];
			count(&tallies[by][0], &row->self, row->old_self + row->new_self);
			count(&tallies[by][1], &row->total, row->old_total + row->new_total);
		}
		sp_diff_rows_done(&rows);
	}
	sp_diff_free(d);
}

static void make_up(double bursts)
{
	make_up_stacks();
	if (bursts == PROGRAMS) {
		gather_libraries();
		record_programs();
	} else {
		record(bursts);
	}
}

static void split_often(const struct split *s)
{
	struct maker halves[2] = {new_maker(), new_maker()};
	struct tally tallies[3][2] = {0};

	srandom(1);
	make_up(s->bursts);
	for (int i = 0; i < N_SPLITS; i++)
		split_once(s, halves, tallies);
	sp_profile_free(halves[0].p);
	sp_profile_free(halves[1].p);
	print_message("%s, %s, %s, bursts %.2f:\n", s->slices ? "slices" : "counts",
		      s->whole ? "slices split" : "samples split", s->scale == SP_DIFF_SHARES ? "shares" : "absolute",
		      s->bursts);
	for (int by = 0; by < 3; by++)
		for (int k = 0; k < 2; k++) {
			const struct tally *t = &tallies[by][k];
			double share = 100.0 * (double)t->outside / (double)t->rows;
			double large = t->large_rows > 0 ? 100.0 * (double)t->large_outside / (double)t->large_rows : 0;
			print_message("  %s %s: %.2f %% of %zu rows outside; of %zu large ones %.2f %%\n", by_names[by],
				      k == 0 ? "self" : "total", share, t->rows, t->large_rows, large);
			assert_true(share <= 5.0);
			assert_true(large <= 5.0);
		}
}

static void halves_are_within_noise(void **state)
{
	static const struct split splits[] = {
	    {true, false, SP_DIFF_SHARES, 0},        {true, true, SP_DIFF_SHARES, 0.9},
	    {true, true, SP_DIFF_ABSOLUTE, 0.9},     {false, false, SP_DIFF_SHARES, 0},
	    {false, true, SP_DIFF_SHARES, 0.9},      {false, false, SP_DIFF_ABSOLUTE, 0},
	    {false, true, SP_DIFF_SHARES, PROGRAMS}, {true, true, SP_DIFF_SHARES, PROGRAMS},
	};

	for (size_t i = 0; i < SP_COUNT(splits); i++)
		split_often(&splits[i]);
}

/* --- what did change --- */
/* The second of two recordings spends a tenth more in one stack. */
static void a_change_is_found(void **state)
{
	for (int slices = 0; slices < 2; slices++) {
		struct maker m[2] = {new_maker(), new_maker()};
		struct sp_diff_options o = {.scale = SP_DIFF_SHARES};
		struct sp_diff_rows rows;
		struct sp_diff *d;
		uint32_t slower = N_STACKS - 1;
		srandom(3);
		make_up_stacks();
		for (uint32_t k = 0; k < DEPTH - 1; k++)
			stacks[slower][k] = N_FUNCS - 1 - k; /* functions of its own, but for the root */
		for (int side = 0; side < 2; side++) {
			record(0.5);
			for (uint32_t i = 0; i < N_SAMPLES; i++) {
				samples[i] = side == 1 && random() % 10 == 0 ? slower : samples[i];
				add(&m[side], i, slices);
			}
		}
		assert_int_equal(sp_diff_new(m[0].p, m[1].p, &o, &d), 0);
		assert_int_equal(sp_diff_rows_new(d, SP_DIFF_BY_FUNCTION, &rows), 0);
		const struct sp_diff_row *row = &rows.rows[0];
		assert_string_equal(sp_profile_string(d->joined, sp_profile_func(d->joined, row->id)->name),
				    "function_299");
		assert_false(row->self.within_noise);
		assert_true(row->self.q < 0.001);
		assert_true(row->self.low > 0.05 && row->self.high < 0.15);
		print_message("%s: %.4f to %.4f, q %.2g; %zu of %zu rows outside\n", slices ? "slices" : "counts",
			      row->self.low, row->self.high, row->self.q, rows.n_beyond_self, rows.n_rows);
		sp_diff_rows_done(&rows);
		sp_diff_free(d);
		sp_profile_free(m[0].p);
		sp_profile_free(m[1].p);
	}
}

/* Libraries, but the largest, that have a third of all samples of their own. */
static double choose_libraries(bool chosen[N_LIBRARIES])
{
	uint32_t n[N_LIBRARIES] = {0}, largest = 0, sum = 0;

	for (uint32_t i = 0; i < N_SAMPLES; i++)
		n[stacks[samples[i]][0] % N_LIBRARIES]++;
	for (uint32_t i = 1; i < N_LIBRARIES; i++)
		largest = n[i] > n[largest] ? i : largest;
	for (uint32_t i = 0; i < N_LIBRARIES; i++) {
		chosen[i] = i != largest && n[i] > N_SAMPLES / 20 && sum < N_SAMPLES / 3;
		sum += chosen[i] ? n[i] : 0;
	}
	return (double)sum / N_SAMPLES;
}

/* `left` of the chosen libraries' cost is left in the second half. Of four recordings: halves of many samples. */
static void lighten(const struct split *s, double left, size_t *n_chosen, size_t *n_found)
{
	struct maker halves[2] = {new_maker(), new_maker()};
	bool coins[N_SLICES], chosen[N_LIBRARIES];
	struct sp_diff_options o = {.scale = s->scale};
	struct sp_diff_rows rows;
	struct sp_diff *d;

	make_up(s->bursts);
	assert_true(choose_libraries(chosen) >= 0.25);
	for (uint32_t i = 0; i < 4 * N_SAMPLES; i++) {
		if (i % N_SAMPLES == 0) {
			record(s->bursts);
			toss(coins);
		}
		uint32_t sample = i % N_SAMPLES;
		int side = s->whole ? coins[sample / PER_SLICE] : random() >> 7 & 1;
		bool is_cheaper = side == 1 && chosen[stacks[samples[sample]][0] % N_LIBRARIES];
		if (!is_cheaper || (double)random() / (double)RAND_MAX < left)
			add(&halves[side], sample, s->slices);
	}
	assert_int_equal(sp_diff_new(halves[0].p, halves[1].p, &o, &d), 0);
	assert_int_equal(sp_diff_rows_new(d, SP_DIFF_BY_LIBRARY, &rows), 0);
	for (size_t i = 0; i < rows.n_rows; i++) {
		unsigned int number = 0;
		const char *name = sp_profile_string(d->joined, sp_profile_file(d->joined, rows.rows[i].id)->name);
		assert_int_equal(sscanf(name, "lib%u.so.1", &number), 1);
		*n_chosen += chosen[number];
		*n_found += chosen[number] && !rows.rows[i].self.within_noise && rows.rows[i].self.delta < 0;
	}
	sp_diff_rows_done(&rows);
	sp_diff_free(d);
	sp_profile_free(halves[0].p);
	sp_profile_free(halves[1].p);
}

/* Where libraries with a third of all cost half as much, or a third, noise is not told by what changed. */
static void many_changes_are_found(void **state)
{
	static const struct split splits[] = {
	    {false, false, SP_DIFF_SHARES, 0},  {false, false, SP_DIFF_ABSOLUTE, 0}, {true, false, SP_DIFF_SHARES, 0},
	    {false, true, SP_DIFF_SHARES, 0.5}, {true, true, SP_DIFF_SHARES, 0.5},
	};

	srandom(5);
	for (size_t i = 0; i < SP_COUNT(splits); i++) {
		const struct split *s = &splits[i];
		size_t n_chosen = 0, n_found = 0;
		for (int k = 0; k < N_LIGHTENED; k++)
			lighten(s, s->whole ? 0.3 : 0.5, &n_chosen, &n_found);
		print_message("%s, %s, bursts %.2f: %zu of %zu changed libraries found\n",
			      s->slices ? "slices" : "counts", s->scale == SP_DIFF_SHARES ? "shares" : "absolute",
			      s->bursts, n_found, n_chosen);
		assert_true(n_chosen >= 2 * N_LIGHTENED && 4 * n_found >= 3 * n_chosen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(halves_are_within_noise),
	    cmocka_unit_test(a_change_is_found),
	    cmocka_unit_test(many_changes_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
