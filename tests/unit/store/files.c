/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/time.h"
#include "made.h"
#include "profile/merge.h"
#include "profile/totals.h"
#include "profile/window.h"
#include "store/priv.h"
#include "store/totals.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define T0 (UINT64_C(1763722800) * SP_NS_PER_S) /* the beginning of an hour */

/* Windows of one growing profile, over some minutes: as the agent writes them, but rows are not cleared. */
static void what_goes_in_comes_out(void **state)
{
	for (uint64_t seed = 1; seed < 2 + 4 / SP_FEWER; seed += 3) {
		struct made m = {
		    .n_files = 12, .n_funcs = 200, .n_stacks = 300, .n_keys = 30, .n_rows = 150, .n_values = 1 + seed};
		struct sums in = sums_new(m.n_values), in_groups = sums_new(m.n_values);
		struct sums out = sums_new(m.n_values), minutes = sums_new(m.n_values), hours = sums_new(m.n_values);
		struct sp_store_options o = {0};
		struct sp_profile *p = made_profile();
		char *path = made_directory();
		struct sp_store *s = made_store(path, &o);
		uint64_t random = seed;

		made_things(p, &m, &random);
		for (uint64_t i = 0; i < 40; i++) {
			made_rows(p, &m, &random);
			made_add(s, T0 + (50 + i * 10 + i / 20 * 3600) * SP_NS_PER_S, p,
				 "cpu"); /* the first minute has one window */
			sums_of_profile(&in, p, false);
			sums_of_profile(&in_groups, p, true);
		}
		assert_int_equal(sums_of_store(&out, s, SP_RES_10S, false), 40);
		sums_equal(&in, &out);
		sp_store_close(s); /* rolls up the rest */
		s = made_store(path, &(struct sp_store_options){.read_only = true});
		assert_int_equal(sums_of_store(&minutes, s, SP_RES_1M, true), 9);
		sums_equal(&in_groups, &minutes);
		assert_int_equal(sums_of_store(&hours, s, SP_RES_1H, true), 2);
		sums_equal(&in_groups, &hours);
		sp_store_close(s);
		sums_done(&in), sums_done(&in_groups), sums_done(&out), sums_done(&minutes), sums_done(&hours);
		sp_profile_free(p);
		made_directory_gone(path);
	}
}

/* --- totals --- */
struct wanted {
	const char *library, *function; /* function NULL: of the library */
	int64_t self[SP_MAX_VALUES], total[SP_MAX_VALUES];
	uint64_t n;
};

static int sum_total(void *arg, const struct sp_store_total *t)
{
	struct wanted *w = arg;

	if ((w->library != NULL && strcmp(t->file, w->library) != 0) ||
	    strcmp(t->function, w->function != NULL ? w->function : "") != 0)
		return 0;
	w->n++;
	for (uint32_t v = 0; v < t->n_values; v++) {
		w->self[v] += t->self[v];
		w->total[v] += t->total[v];
	}
	return 0;
}

/* The totals that profile/totals.h computes for all rows in one profile. */
static void compare_totals(struct sp_store *s, const struct sp_profile *p, enum sp_total_by by, int step,
			   uint64_t n_times)
{
	/* days: totals of everything */
	struct sp_store_query q = {
	    .to_ns = UINT64_MAX / 2, .all_users = true, .resolution = step < SP_N_RESOLUTIONS ? step : -1};
	struct sp_store_answer answer;
	struct sp_totals all;

	assert_int_equal(sp_totals_by(p, by, 0, &all), 0);
	assert_true(all.n_rows > 10);
	for (size_t i = 0; i < all.n_rows && i < 40; i++) {
		const struct sp_total *row = &all.rows[i];
		struct wanted w = {.library = sp_total_name(p, by, row)};
		if (row->none || (by == SP_TOTAL_BY_FUNCTION && row->id == 0))
			continue;
		if (by == SP_TOTAL_BY_FUNCTION) {
			w.function = w.library;
			w.library = sp_total_library(p, by, row);
		}
		assert_int_equal(sp_store_totals(s, &q, by == SP_TOTAL_BY_FUNCTION, sum_total, &w, &answer), 0);
		if (w.self[0] != row->self || w.total[0] != row->total)
			fail_msg("%s %s: self %lld %lld total %lld %lld", w.library, w.function ? w.function : "",
				 (long long)w.self[0], (long long)row->self, (long long)w.total[0],
				 (long long)row->total);
		assert_true(w.n >= 1 && w.n <= n_times);
		assert_int_equal(w.self[1], w.self[0] * 52631578);
	}
	sp_totals_done(&all);
}

static void totals_are_exact(void **state)
{
	struct made m = {.n_files = 30, .n_funcs = 200, .n_stacks = 300, .n_keys = 30, .n_rows = 150, .n_values = 2};
	struct sp_profile *p = made_profile(), *sum = made_profile();
	char *path = made_directory();
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	uint64_t random = 99;

	made_things(p, &m, &random);
	for (uint64_t i = 0; i < 30; i++) {
		made_rows(p, &m, &random);
		made_add(s, T0 + i * 400 * SP_NS_PER_S, p, "cpu"); /* more than three hours */
		assert_int_equal(sp_profile_merge(sum, p), 0);
		sp_profile_clear_rows(p);
	}
	sp_store_close(s);
	s = made_store(path, &(struct sp_store_options){.read_only = true});
	compare_totals(s, sum, SP_TOTAL_BY_LIBRARY, SP_RES_1M, 30);
	compare_totals(s, sum, SP_TOTAL_BY_LIBRARY, SP_RES_1H, 4);
	compare_totals(s, sum, SP_TOTAL_BY_FUNCTION, SP_RES_1H, 4);
	compare_totals(s, sum, SP_TOTAL_BY_LIBRARY, SP_N_RESOLUTIONS, 1);
	compare_totals(s, sum, SP_TOTAL_BY_FUNCTION, SP_N_RESOLUTIONS, 1);
	sp_store_close(s);
	sp_profile_free(p);
	sp_profile_free(sum);
	made_directory_gone(path);
}

static char *in(const char *directory, const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	return path;
}

/* --- locks and permissions --- */
static int refused(const char *path)
{
	struct sp_store *s = NULL;
	int r = sp_store_open(path, &(struct sp_store_options){0}, &s);

	if (r == 0)
		sp_store_close(s);
	return r;
}

static void one_writer(void **state)
{
	char *path = made_directory(), pid[32];
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	int status, r = refused(path);

	(void)snprintf(pid, sizeof(pid), "process %d", getpid());
	assert_int_equal(r, -EBUSY);
	assert_non_null(strstr(sp_error_text(r), pid));
	pid_t child = fork();
	if (child == 0) {
		r = refused(path);
		_exit(r == -EBUSY && strstr(sp_error_text(r), pid) != NULL ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	sp_store_close(made_store(path, &(struct sp_store_options){.read_only = true})); /* a reader may */
	sp_store_close(s);
	assert_int_equal(refused(path), 0);
	made_directory_gone(path);
}

/* A store with one window, closed. */
static char *small_store(void)
{
	struct made m = {.n_files = 5, .n_funcs = 20, .n_stacks = 20, .n_keys = 5, .n_rows = 20, .n_values = 1};
	struct sp_profile *p = made_profile();
	char *path = made_directory();
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	uint64_t seed = 3;

	made_things(p, &m, &seed);
	made_rows(p, &m, &seed);
	made_add(s, T0, p, "cpu");
	sp_store_close(s);
	sp_profile_free(p);
	return path;
}

static void a_newer_version_is_left_alone(void **state)
{
	char *path = small_store(), *name = in(path, sp_day_of(T0, SP_RES_1M).name), before[128], after[128];
	int fd = open(name, O_RDWR);

	sqlite3 *db;
	assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE format SET version = 2", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(pwrite(fd, "\0\0\0\2", 4, 60), 4); /* user_version, as SQLite's header has it */
	assert_int_equal(pread(fd, before, sizeof(before), 0), sizeof(before));
	int r = refused(path);
	assert_int_equal(r, -EPROTONOSUPPORT);
	assert_non_null(strstr(sp_error_text(r), "version 2"));
	assert_int_equal(pread(fd, after, sizeof(after), 0), sizeof(after));
	assert_memory_equal(before, after, sizeof(before));
	close(fd);
	free(name);
	made_directory_gone(path);
}

/* Only the header has another version: a flipped bit. */
static void a_turned_version_is_damage(void **state)
{
	char *path = small_store(), *name = in(path, sp_day_of(T0, SP_RES_10S).name);
	struct sp_store_options o = {.read_only = true};
	struct sp_store_stats stats;
	int fd = open(name, O_RDWR);

	struct sums wanted = sums_new(1), got = sums_new(1);
	struct sp_store *s = made_store(path, &o);
	assert_int_equal(sums_of_store(&got, s, SP_RES_10S, false), 1);
	sp_store_close(s);
	assert_int_equal(pwrite(fd, "\0\0\0\3", 4, 60), 4);
	sp_store_close(made_store(path, &o));                /* a reader salvages it */
	s = made_store(path, &(struct sp_store_options){0}); /* a writer replaces it */
	assert_int_equal(sums_of_store(&wanted, s, SP_RES_10S, false), 1);
	assert_int_equal(sp_store_stats(s, &stats), 0);
	assert_int_equal(stats.n_damaged_files, 1);
	sums_equal(&got, &wanted);
	sums_done(&got);
	sums_done(&wanted);
	sp_store_close(s);
	close(fd);
	free(name);
	made_directory_gone(path);
}

/* As an error's number would be -2 taken: the day would not be there. */
static void a_day_below_zero_is_damage(void **state)
{
	char *path = small_store(), *name = in(path, sp_day_of(T0, SP_RES_10S).name);
	struct sp_day day = sp_day_of(T0, SP_RES_10S);
	struct sums got = sums_new(1);
	struct sp_day_file f;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE about SET day_s = -2", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	struct sp_store *s = made_store(path, &(struct sp_store_options){.read_only = true});
	assert_int_equal(sp_file_open(&s->directory, &day, false, &f), -EBADMSG);
	sp_error_clear();
	assert_int_equal(sums_of_store(&got, s, SP_RES_10S, false), 1); /* salvaged */
	sums_done(&got);
	sp_store_close(s);
	free(name);
	made_directory_gone(path);
}

static void take_note(void *arg, const char *text)
{
	assert_non_null(strstr(text, ".10s.db is damaged: 1 windows of it are salvaged"));
	++*(int *)arg;
}

static void count_note(void *arg, const char *text)
{
	assert_non_null(strstr(text, "for their dictionary are used up"));
	++*(int *)arg;
}

/* Full dictionaries are all counted, and logged once a day. */
static void dictionaries_are_outgrown(void **state)
{
	char *path = made_directory();
	struct made m = {.n_files = 5, .n_funcs = 20, .n_stacks = 20, .n_keys = 5, .n_rows = 20, .n_values = 1};
	struct sp_profile *p = made_profile();
	int n_notes = 0;
	struct sp_store_options o = {.max_memory_bytes = 1, .note = count_note, .note_arg = &n_notes};
	struct sp_store_stats stats;
	struct sp_store *s = made_store(path, &o);
	uint64_t seed = 3;

	made_things(p, &m, &seed);
	made_rows(p, &m, &seed);
	for (uint64_t i = 0; i < 5; i++)
		made_add(s, T0 + i * 10 * SP_NS_PER_S, p, "cpu");
	assert_int_equal(sp_store_stats(s, &stats), 0);
	assert_int_equal(stats.n_outgrown, 4);
	assert_int_equal(n_notes, 1);
	for (uint64_t i = 0; i < 5; i++)
		made_add(s, T0 + (i * 10 + SP_DAY_S) * SP_NS_PER_S, p, "cpu");
	assert_int_equal(sp_store_stats(s, &stats), 0);
	assert_int_equal(stats.n_outgrown, 8);
	assert_int_equal(n_notes, 2);
	sp_store_close(s);
	sp_profile_free(p);
	made_directory_gone(path);
}

/* A damaged file of a past day is replaced while the writer goes on, and only once. */
static void an_old_file_is_mended(void **state)
{
	char *path = small_store(), *name = in(path, sp_day_of(T0, SP_RES_10S).name), *aside = NULL;
	struct made m = {.n_files = 5, .n_funcs = 20, .n_stacks = 20, .n_keys = 5, .n_rows = 20, .n_values = 1};
	struct sp_profile *p = made_profile();
	int n_notes = 0, fd = open(name, O_RDWR);
	struct sp_store *s = made_store(path, &(struct sp_store_options){.note = take_note, .note_arg = &n_notes});
	uint64_t seed = 3, next = (T0 / (SP_DAY_S * SP_NS_PER_S) + 1) * SP_DAY_S * SP_NS_PER_S;

	made_things(p, &m, &seed);
	made_rows(p, &m, &seed);
	made_add(s, next, p, "cpu");
	assert_int_equal(pwrite(fd, "no such file", 12, 0), 12);
	close(fd);
	for (uint64_t i = 1; i < 100; i++)
		made_add(s, next + i * 10 * SP_NS_PER_S, p, "cpu");
	assert_int_equal(n_notes, 1);
	assert_true(asprintf(&aside, "%s.damaged", name) > 0);
	assert_int_equal(access(aside, F_OK), 0);
	struct sums sums = sums_new(1);
	assert_int_equal(sums_of_store(&sums, s, SP_RES_10S, false), 101);
	sums_done(&sums);
	sp_store_close(s);
	sp_profile_free(p);
	free(aside);
	free(name);
	made_directory_gone(path);
}

static void planted_links_are_refused(void **state)
{
	char *path = made_directory(), *store = in(path, "store"), *elsewhere = made_directory();
	struct sp_day day = sp_day_of(T0, SP_RES_10S);
	struct sp_profile *p = made_profile();
	struct sp_store_window w = {.wall_ns = T0, .duration_ns = SP_NS_PER_S, .source = "cpu"};

	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	assert_int_equal(symlink(elsewhere, store), 0);
	assert_true(refused(store) < 0);
	assert_int_equal(unlink(store), 0);
	free(store);
	store = in(path, day.name);
	char *target = in(elsewhere, "target");
	assert_int_equal(symlink(target, store), 0);
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	assert_true(sp_store_add(s, &w, p) < 0);
	assert_true(access(target, F_OK) < 0); /* nothing was created at the link's target */
	assert_int_equal(unlink(store), 0);
	assert_int_equal(sp_store_add(s, &w, p), 0); /* and it recovers by itself */
	sp_store_close(s);
	free(store), free(target);
	sp_profile_free(p);
	made_directory_gone(elsewhere);
	made_directory_gone(path);
}

static void others_directories_are_refused(void **state)
{
	char *path = made_directory(), *other = in(path, "passwd"), *found = in(path, "lost+found");
	FILE *f = fopen(other, "w");

	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(refused(path), -ENOTEMPTY);
	char *lock = in(path, "lock");
	assert_true(access(lock, F_OK) < 0);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(mkdir(found, 0700), 0); /* a file system of its own */
	sp_store_close(made_store(path, &(struct sp_store_options){0}));
	assert_int_equal(rmdir(found), 0);
	free(other), free(found), free(lock);
	made_directory_gone(path);
}

/* --- retention --- */
static void old_days_go(void **state)
{
	struct made m = {.n_files = 5, .n_funcs = 50, .n_stacks = 50, .n_keys = 5, .n_rows = 50, .n_values = 1};
	struct sp_store_options o = {.retain_s = {SP_DAY_S, 2 * SP_DAY_S, 3 * SP_DAY_S}};
	struct sp_profile *p = made_profile();
	char *path = made_directory();
	struct sp_store *s = made_store(path, &o);
	struct sums sums = sums_new(1);
	uint64_t seed = 3;

	made_things(p, &m, &seed);
	for (uint64_t day = 0; day < 6; day++)
		for (uint64_t i = 0; i < 6; i++) { /* an hour ends, its day is summed, then retention runs */
			sp_profile_clear_rows(p);
			made_rows(p, &m, &seed);
			made_add(s, T0 + (day * SP_DAY_S + i * 1830) * SP_NS_PER_S, p, "cpu");
		}
	assert_int_equal(sums_of_store(&sums, s, SP_RES_10S, true), 2 * 6);
	size_t n = sums_of_store(&sums, s, SP_RES_1M, true);
	assert_true((print_message("%zu minutes\n", n),
		     n >= 3 * 6 - 3 && n <= 3 * 6)); /* the last minutes are not rolled up yet */
	sp_store_close(s);
	o = (struct sp_store_options){.max_disk_bytes = 1};
	s = made_store(path, &o);
	struct sp_store_stats stats;
	assert_int_equal(sp_store_stats(s, &stats), 0);
	assert_int_equal(stats.n_windows, 2 * 6);
	assert_int_equal(stats.first_ns, T0 + 2 * SP_DAY_S * SP_NS_PER_S); /* only its hours are left */
	assert_int_equal(stats.last_ns, T0 + (5 * SP_DAY_S + 5 * 1830) * SP_NS_PER_S);
	for (uint64_t i = 0; i < 4; i++)
		made_add(s, T0 + (6 * SP_DAY_S + i * 30) * SP_NS_PER_S, p, "cpu");
	assert_true(sums_of_store(&sums, s, SP_RES_1H, true) <= 2); /* today's */
	assert_true(sums_of_store(&sums, s, SP_RES_10S, true) <= 2);
	sp_store_close(s);
	sums_done(&sums);
	sp_profile_free(p);
	made_directory_gone(path);
}

/* A killed writer is distinguished from a closed one, with the time when it was last alive. */
static void killed_writers_are_known(void **state)
{
	char *path = made_directory();
	struct sp_store_stats stats;
	struct timespec then;
	struct stat st;

	for (int killed = 0; killed < 3; killed++) {
		int how;
		pid_t pid = fork();
		if (pid == 0) {
			struct sp_store *s = made_store(path, &(struct sp_store_options){0});
			sp_store_alive(s);
			if (killed == 0)
				sp_store_close(s);
			_exit(0);
		}
		assert_true(waitpid(pid, &how, 0) == pid && how == 0);
		char *lock = in(path, "lock");
		if (killed == 2) /* one of an older version does not record it */
			assert_int_equal(truncate(lock, 0), 0);
		assert_int_equal(stat(lock, &st), 0);
		then = st.st_mtim;
		struct sp_store *s = made_store(path, &(struct sp_store_options){0});
		assert_int_equal(sp_store_stats(s, &stats), 0);
		assert_int_equal(stats.was_killed, killed == 1);
		if (killed == 1)
			assert_int_equal(stats.alive_ns, (uint64_t)then.tv_sec * SP_NS_PER_S + (uint64_t)then.tv_nsec);
		sp_store_close(s);
		free(lock);
	}
	made_directory_gone(path);
}

/* --- events
 * --------------------------------------------------------------------------------------------------------------- */
static int count_event(void *arg, const struct sp_store_event *e)
{
	int *n = arg;

	assert_string_equal(e->kind, "gap");
	assert_string_equal(e->data, "a=b");
	return ++*n < 0;
}

static void events_are_kept_once(void **state)
{
	char *path = made_directory();
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	struct sp_store_event e = {T0, T0 + 5, "gap", "stopped", "the agent did not run", "a=b"};
	int n = 0;

	for (int i = 0; i < 3; i++)
		assert_int_equal(sp_store_event_add(s, &e), 0);
	e.from_ns += 1;
	assert_int_equal(sp_store_event_add(s, &e), 0);
	assert_int_equal(sp_store_events(s, T0 + 3, T0 + 9, count_event, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(sp_store_events(s, T0 + 6, T0 + 9, count_event, &n), 0);
	assert_int_equal(n, 2);
	sp_store_close(s);
	made_directory_gone(path);
}

/* --- a reader that asks often --- */
static void fill_hour(const char *path, uint64_t at_s, uint64_t n)
{
	struct made m = {.n_files = 4, .n_funcs = 20, .n_stacks = 20, .n_keys = 4, .n_rows = 8, .n_values = 2};
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	struct sp_profile *p = made_profile();
	uint64_t seed = 3;

	made_things(p, &m, &seed);
	made_rows(p, &m, &seed);
	for (uint64_t i = 0; i < n; i++)
		made_add(s, T0 + (at_s + 10 * i) * SP_NS_PER_S, p, "cpu");
	sp_profile_free(p);
	sp_store_close(s);
}

static void a_closed_file_stays_open(void **state)
{
	char *path = made_directory(), *other = made_directory(), *from = NULL, *to = NULL;
	struct sp_day day = sp_day_of(T0, SP_RES_10S);
	struct sp_day_file f, g;
	struct sums sums = sums_new(2);

	fill_hour(path, 0, 6);
	fill_hour(other, 0, 12);
	struct sp_store *s = made_store(path, &(struct sp_store_options){.read_only = true});
	assert_int_equal(sp_file_open(&s->directory, &day, false, &f), 0);
	sqlite3 *db = f.db;
	assert_int_equal(sp_file_open(&s->directory, &day, false, &g), 0); /* at the same time */
	assert_ptr_not_equal(g.db, db);
	sp_file_close(&f);
	sp_file_close(&g);
	assert_int_equal(sp_file_open(&s->directory, &day, false, &f), 0);
	assert_ptr_equal(f.db, db);
	sp_file_close(&f);
	assert_int_equal(sums_of_store(&sums, s, SP_RES_10S, false), 6);
	assert_true(asprintf(&from, "%s/%s", other, day.name) > 0 && asprintf(&to, "%s/%s", path, day.name) > 0);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(sums_of_store(&sums, s, SP_RES_10S, false), 12);
	sp_store_close(s);
	sums_done(&sums);
	free(from), free(to);
	made_directory_gone(path);
	made_directory_gone(other);
}

/* What a question reads of its hour beside its range does not make it look through files. */
static void only_the_range_lacks_windows(void **state)
{
	struct sp_store_query q = {.to_ns = T0 + 1860 * SP_NS_PER_S, .all_users = true};
	struct sp_store_answer answer;
	char *path = made_directory();

	fill_hour(path, 1800, 12);
	for (int lacks = 0; lacks < 2; lacks++) {
		struct sp_store *s = made_store(path, &(struct sp_store_options){.read_only = true});
		struct sp_profile *p = made_profile();
		q.from_ns = T0 + (lacks ? 1700 : 1800) * SP_NS_PER_S;
		assert_int_equal(sp_store_query(s, &q, p, &answer), 0);
		assert_int_equal(answer.n_windows, 6);
		assert_int_equal(s->n_intact_files > 0, lacks);
		sp_profile_free(p);
		sp_store_close(s);
	}
	made_directory_gone(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_goes_in_comes_out),
	    cmocka_unit_test(totals_are_exact),
	    cmocka_unit_test(one_writer),
	    cmocka_unit_test(a_newer_version_is_left_alone),
	    cmocka_unit_test(a_turned_version_is_damage),
	    cmocka_unit_test(a_day_below_zero_is_damage),
	    cmocka_unit_test(dictionaries_are_outgrown),
	    cmocka_unit_test(an_old_file_is_mended),
	    cmocka_unit_test(planted_links_are_refused),
	    cmocka_unit_test(others_directories_are_refused),
	    cmocka_unit_test(old_days_go),
	    cmocka_unit_test(killed_writers_are_known),
	    cmocka_unit_test(events_are_kept_once),
	    cmocka_unit_test(a_closed_file_stays_open),
	    cmocka_unit_test(only_the_range_lacks_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
