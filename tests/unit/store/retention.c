/* SPDX-License-Identifier: GPL-2.0-or-later */
/* retention.c: what is removed when a store reaches the limit of the disk: files of fine windows, not coarse history.
 */
#include "base/mem.h"
#include "base/time.h"
#include "made.h"
#include "profile/window.h"
#include "store/priv.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define T0 (UINT64_C(1763683200) * SP_NS_PER_S) /* the beginning of a day */
enum { DAYS = 4, HOURS = 3, MAX_NAMES = 16 };

struct notes {
	unsigned n;
	char last[512];
};

static void take_note(void *arg, const char *text)
{
	struct notes *notes = arg;

	notes->n++;
	(void)snprintf(notes->last, sizeof(notes->last), "%s", text);
}

/* Two windows in each of some hours of a day, each of stacks that no other window has. */
static void add_day(struct sp_store *s, unsigned day, uint32_t n_stacks, uint64_t *seed)
{
	struct made m = {.n_files = 5, .n_funcs = 400, .n_stacks = n_stacks, .n_keys = 5, .n_values = 1};

	m.n_rows = n_stacks;
	for (uint64_t i = 0; i < 2 * HOURS; i++) {
		struct sp_profile *p = made_profile();
		made_things(p, &m, seed);
		made_rows(p, &m, seed);
		made_add(s, T0 + (day * SP_DAY_S + i * 1800) * SP_NS_PER_S, p, "cpu");
		sp_profile_free(p);
	}
}

static char *make_days(const uint32_t *n_stacks)
{
	char *path = made_directory();
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	uint64_t seed = 5;

	for (unsigned day = 0; day < DAYS; day++)
		add_day(s, day, n_stacks[day], &seed);
	sp_store_close(s); /* rolls up all there is */
	return path;
}

/* Days of which the last is a flood: made once, and copied. */
static char *flood;

static int make_flood(void **state)
{
	static const uint32_t n_stacks[DAYS] = {100, 100, 100, 8000};

	flood = make_days(n_stacks);
	return 0;
}

static int unmake_flood(void **state)
{
	made_directory_gone(flood);
	return 0;
}

static char *copy_of_flood(void)
{
	char *path = made_directory(), *all;
	int status;

	assert_true(asprintf(&all, "%s/.", flood) > 0);
	pid_t child = fork();
	if (child == 0) {
		execl("/bin/cp", "cp", "-a", all, path, NULL);
		_exit(127);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	free(all);
	return path;
}

struct sizes {
	uint64_t all, by_resolution[SP_N_RESOLUTIONS], file[DAYS][SP_N_RESOLUTIONS];
};

static struct sizes measure(const char *path)
{
	struct sizes sizes = {0};
	struct sp_directory d;
	SP_FREE struct sp_day *days = NULL;
	uint64_t n_damaged;
	size_t n;

	assert_int_equal(sp_directory_open(path, false, true, &d), 0);
	assert_int_equal(sp_directory_list(&d, &days, &n, &n_damaged), 0);
	for (size_t i = 0; i < n; i++) {
		sizes.all += days[i].bytes;
		sizes.by_resolution[days[i].resolution] += days[i].bytes;
		sizes.file[(days[i].day_s - T0 / SP_NS_PER_S) / SP_DAY_S][days[i].resolution] = days[i].bytes;
	}
	sp_directory_close(&d);
	return sizes;
}

struct names {
	size_t n;
	char name[MAX_NAMES][SP_DAY_NAME_MAX];
};

static int take_event(void *arg, const struct sp_store_event *e)
{
	struct names *names = arg;

	if (strcmp(e->kind, "removed") != 0)
		return 0;
	assert_true(names->n < MAX_NAMES && strncmp(e->text, e->subject, strlen(e->subject)) == 0);
	assert_true(strncmp(e->data, "bytes=", 6) == 0 && e->data[6] != '0');
	(void)snprintf(names->name[names->n++], SP_DAY_NAME_MAX, "%s", e->subject);
	return 0;
}

/* Adds a small window to the last day, with which retention runs; returns the events about what it removed. */
static struct names run_retention(const char *path, uint64_t max_disk_bytes, unsigned n_notes,
				  struct sp_store_stats *ret_stats)
{
	struct made m = {.n_files = 2, .n_funcs = 5, .n_stacks = 5, .n_keys = 2, .n_rows = 5, .n_values = 1};
	struct notes notes = {0};
	struct sp_store_options o = {.max_disk_bytes = max_disk_bytes, .note = take_note, .note_arg = &notes};
	struct sp_store *s = made_store(path, &o);
	struct sp_profile *p = made_profile();
	struct names names = {0};
	uint64_t seed = 9;

	made_things(p, &m, &seed);
	made_rows(p, &m, &seed);
	for (uint64_t i = 0; i < 4; i++)
		made_add(s, T0 + ((DAYS - 1) * SP_DAY_S + 4 * 3600 + i * 30) * SP_NS_PER_S, p, "cpu");
	assert_int_equal(sp_store_events(s, 0, UINT64_MAX, take_event, &names), 0);
	assert_int_equal(sp_store_stats(s, ret_stats), 0);
	assert_int_equal(notes.n, n_notes);
	bool is_told = n_notes == 0;
	for (size_t i = 0; i < names.n; i++)
		is_told |= strncmp(notes.last, names.name[i], strlen(names.name[i])) == 0;
	assert_true(is_told);
	sp_store_close(s);
	sp_profile_free(p);
	return names;
}

static void nothing_goes_below_the_limit(void **state)
{
	char *path = copy_of_flood();
	struct sizes before = measure(path);
	struct sp_store_stats stats;

	assert_int_equal(run_retention(path, before.all * 2, 0, &stats).n, 0);
	assert_int_equal(stats.removed[SP_RES_10S].n_files, 0);
	made_directory_gone(path);
}

/* Older days are small, and stay in all resolutions. */
static void a_flood_goes_itself(void **state)
{
	char *path = copy_of_flood();
	struct sizes before = measure(path), after;
	struct sp_store_stats stats;
	/* so much that the flood's windows are enough */
	struct names names = run_retention(path, before.all - before.file[DAYS - 1][SP_RES_10S] / 2, 1, &stats);

	assert_int_equal(names.n, 1);
	assert_string_equal(names.name[0], "2025-11-24.10s.db");
	assert_int_equal(stats.removed[SP_RES_10S].n_files, 1);
	assert_true(stats.removed[SP_RES_10S].bytes >= before.file[DAYS - 1][SP_RES_10S]);
	assert_int_equal(stats.removed[SP_RES_1M].n_files + stats.removed[SP_RES_1H].n_files, 0);
	after = measure(path);
	for (unsigned day = 0; day < DAYS - 1; day++)
		for (int i = 0; i < SP_N_RESOLUTIONS; i++)
			assert_int_equal(after.file[day][i], before.file[day][i]);
	assert_true(after.file[DAYS - 1][SP_RES_10S] < before.file[DAYS - 1][SP_RES_10S] / 4);
	assert_true(after.file[DAYS - 1][SP_RES_1M] >= before.file[DAYS - 1][SP_RES_1M]);
	made_directory_gone(path);
}

/* Nor does one that is in minutes and hours, too, take the older days' minutes and hours. */
static void coarse_history_outlives_floods(void **state)
{
	char *path = copy_of_flood();
	struct sizes before = measure(path), after;
	uint64_t most = (before.by_resolution[SP_RES_1H] - before.file[DAYS - 1][SP_RES_1H]) / 2 * 5;
	struct sp_store_stats stats;
	struct names names;

	assert_true(most < before.all - before.file[DAYS - 1][SP_RES_10S]);
	names = run_retention(path, most, 1, &stats);
	assert_true(names.n >= 2);
	after = measure(path);
	for (unsigned day = 0; day < DAYS - 1; day++) {
		assert_int_equal(after.file[day][SP_RES_1M], before.file[day][SP_RES_1M]);
		assert_int_equal(after.file[day][SP_RES_1H], before.file[day][SP_RES_1H]);
	}
	assert_true(after.all <= most + (512 << 10)); /* and what is rolled up since */
	made_directory_gone(path);
}

/* Days of one size: the oldest fine windows go, today's stay. */
static void without_a_flood_the_oldest_go(void **state)
{
	static const uint32_t n_stacks[DAYS] = {1500, 1500, 1500, 1500};
	char *path = make_days(n_stacks);
	struct sizes before = measure(path), after;
	struct sp_store_stats stats;
	struct names names = run_retention(path, before.all - before.file[0][SP_RES_10S] / 4, 1, &stats);

	assert_int_equal(names.n, 1);
	assert_string_equal(names.name[0], "2025-11-21.10s.db");
	after = measure(path);
	assert_int_equal(after.file[0][SP_RES_10S], 0);
	assert_int_equal(after.file[1][SP_RES_10S], before.file[1][SP_RES_10S]);
	assert_true(after.file[DAYS - 1][SP_RES_10S] >= before.file[DAYS - 1][SP_RES_10S]);
	made_directory_gone(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_goes_below_the_limit),
	    cmocka_unit_test(a_flood_goes_itself),
	    cmocka_unit_test(coarse_history_outlives_floods),
	    cmocka_unit_test(without_a_flood_the_oldest_go),
	};

	return cmocka_run_group_tests(tests, make_flood, unmake_flood);
}
