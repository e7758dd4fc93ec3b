/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writer.c: a program that writes windows whose content follows from their numbers, for tests that kill it or make its
 * writes fail. `store-writer write DIRECTORY FIRST COUNT` prints each number that was stored on a line of its own;
 * what failed is tried five times. `store-writer check DIRECTORY` reads numbers, and checks that each of these windows
 * is there as it was written, and that no window differs from its number. Exit code 1: something is wrong.
 */
#include "base/error.h"
#include "base/parse.h"
#include "base/time.h"
#include "made.h"
#include "profile/window.h"
#include "test.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 5, MAX_WINDOWS = 1 << 20 };
#define T0 (UINT64_C(1763722800) * SP_NS_PER_S)

/* Tests with many kills cover more than the two days that 10-second windows are kept by default. */
static const struct sp_store_options keep_all = {.retain_s = {UINT64_C(1) << 30, UINT64_C(1) << 30, UINT64_C(1) << 30}};
static const struct made made = {
    .n_files = 9, .n_funcs = 90, .n_stacks = 120, .n_keys = 12, .n_rows = 30, .n_values = 2};

static struct sp_profile *things(void)
{
	struct sp_profile *p = NULL;
	uint64_t seed = 7;

	if (sp_profile_new(&p) < 0)
		exit(1);
	made_things(p, &made, &seed);
	return p;
}

static void fill(struct sp_profile *p, uint64_t number)
{
	uint64_t seed = number * 1000003;

	sp_profile_clear_rows(p);
	made_rows(p, &made, &seed);
}

static struct sp_store *open_store(const char *path, const struct sp_store_options *o)
{
	struct sp_store *s;
	int r = -1;

	for (int i = 0; i < TRIES && r < 0; i++) {
		r = sp_store_open(path, o, &s);
		if (r < 0)
			fprintf(stderr, "open: %s\n", sp_error_text(r));
	}
	if (r < 0)
		exit(1);
	return s;
}

static int write_windows(const char *path, uint64_t first, uint64_t count)
{
	struct sp_store *s = open_store(path, &keep_all);
	struct sp_profile *p = things();

	for (uint64_t n = first; n < first + count; n++) {
		struct sp_store_window w = {.wall_ns = T0 + n * 10 * SP_NS_PER_S,
					    .boot_ns = n,
					    .duration_ns = 10 * SP_NS_PER_S,
					    .rate_millihertz = 19000,
					    .n_cpus = 2,
					    .source = "cpu"};
		int r = -1;
		fill(p, n);
		for (int i = 0; i < TRIES && r < 0; i++) {
			r = sp_store_add(s, &w, p);
			if (r < 0)
				fprintf(stderr, "%" PRIu64 ": %s\n", n, sp_error_text(r));
		}
		if (r == 0)
			(void)dprintf(STDOUT_FILENO, "%" PRIu64 "\n", n);
	}
	sp_store_close(s);
	sp_profile_free(p);
	return 0;
}

static void compare(const struct sp_scan_window *w, struct sp_profile *p, uint64_t n)
{
	struct sums in = sums_new(made.n_values), out = sums_new(made.n_values);

	fill(p, n);
	sums_of_profile(&in, p, false);
	sums_of_window(&out, w, false);
	sums_equal(&in, &out); /* exits if they differ */
	assert_int_equal(w->w.boot_ns, n);
	sums_done(&in);
	sums_done(&out);
}

/* The rows of all roll-ups must be those of all windows. */
static void check_rolled(struct sp_store *s, struct sp_profile *p, const uint8_t *there, int resolution)
{
	struct sums in = sums_new(made.n_values), out = sums_new(made.n_values);

	for (uint64_t n = 0; n < MAX_WINDOWS; n++)
		if (there[n] != 0) {
			fill(p, n);
			sums_of_profile(&in, p, true);
		}
	(void)sums_of_store(&out, s, resolution, true);
	sums_equal(&in, &out);
	sums_done(&in);
	sums_done(&out);
}

static int check_windows(const char *path)
{
	static uint8_t there[MAX_WINDOWS];
	struct sp_scan_options o = {.to_ns = UINT64_MAX, .resolution = SP_RES_10S};
	struct sp_profile *p = things();
	struct sp_scan_window w;
	struct sp_scan *scan;
	uint64_t number, n_missing = 0, n = 0;
	char line[64];

	sp_store_close(open_store(path, &keep_all)); /* rolls up the rest */
	struct sp_store *s = open_store(path, &(struct sp_store_options){.read_only = true});
	if (sp_scan_open(s, &o, &scan) < 0)
		return 1;
	for (; sp_scan_next(scan, &w) == 1; n++) {
		number = (w.w.wall_ns - T0) / (10 * SP_NS_PER_S);
		assert_true(number < MAX_WINDOWS && there[number] == 0);
		there[number] = 1;
		compare(&w, p, number);
	}
	assert_int_equal(sp_scan_n_damaged(scan), 0);
	sp_scan_close(scan);
	check_rolled(s, p, there, SP_RES_1M);
	check_rolled(s, p, there, SP_RES_1H);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (sp_parse_number(line, 0, MAX_WINDOWS - 1, &number) < 0 || there[number] == 0) {
			printf("window %s was acknowledged, and is not there\n", line);
			n_missing++;
		}
	}
	printf("%" PRIu64 " windows, %" PRIu64 " missing\n", n, n_missing);
	sp_store_close(s);
	sp_profile_free(p);
	return n_missing > 0;
}

int main(int argc, char **argv)
{
	uint64_t first, count;

	if (argc == 5 && strcmp(argv[1], "write") == 0 && sp_parse_number(argv[3], 0, MAX_WINDOWS, &first) == 0 &&
	    sp_parse_number(argv[4], 1, MAX_WINDOWS, &count) == 0)
		return write_windows(argv[2], first, count);
	if (argc == 3 && strcmp(argv[1], "check") == 0)
		return check_windows(argv[2]);
	fprintf(stderr, "store-writer write DIRECTORY FIRST COUNT | check DIRECTORY\n");
	return 2;
}
