/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A store whose directory or files are removed, renamed or replaced while it is open for writing: each window is
 * complete in the store that was in place when it was added. A window that was refused is accepted later.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "made.h"
#include "store/priv.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define T0 (UINT64_C(1763722800) * SP_NS_PER_S) /* the beginning of an hour */

struct fixture {
	char *base, *place, *aside; /* the store's directory; another name in the same parent */
	struct sp_profile *p;
	struct sp_store *s;
	uint64_t n_added;
	unsigned n_notes;
	char note[512];
};

static void take_note(void *arg, const char *text)
{
	struct fixture *f = arg;

	f->n_notes++;
	(void)snprintf(f->note, sizeof(f->note), "%s", text);
}

static char *in(const char *directory, const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	return path;
}

static int add_to(struct fixture *f, struct sp_store *s)
{
	const struct sp_store_window w = {.wall_ns = T0 + f->n_added * 10 * SP_NS_PER_S,
					  .duration_ns = 9 * SP_NS_PER_S,
					  .rate_millihertz = 19000,
					  .n_cpus = 2,
					  .source = "cpu"};
	int r = sp_store_add(s, &w, f->p);

	f->n_added += r == 0;
	return r;
}

/* Adds the next window. */
static void add(struct fixture *f)
{
	int r = add_to(f, f->s);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
}

static struct sp_store *open_at(struct fixture *f, const char *place)
{
	return made_store(place, &(struct sp_store_options){.note = take_note, .note_arg = f});
}

/* A store with two windows. */
static struct fixture begin(void)
{
	struct made m = {.n_files = 5, .n_funcs = 20, .n_stacks = 20, .n_keys = 5, .n_rows = 20, .n_values = 2};
	struct fixture f = {.base = made_directory(), .p = made_profile()};
	uint64_t seed = 3;

	f.place = in(f.base, "store");
	f.aside = in(f.base, "aside");
	made_things(f.p, &m, &seed);
	made_rows(f.p, &m, &seed);
	return f;
}

static void begin_store(struct fixture *f)
{
	f->s = open_at(f, f->place);
	add(f);
	add(f);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void gone(const char *path)
{
	assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void end(struct fixture *f)
{
	if (f->s != NULL)
		sp_store_close(f->s);
	sp_profile_free(f->p);
	gone(f->base);
	free(f->aside);
	free(f->place);
	free(f->base);
}

/* A reader finds exactly these windows, unchanged. */
static void holds(const struct fixture *f, const char *place, size_t n_wanted)
{
	struct sp_store *s = made_store(place, &(struct sp_store_options){.read_only = true});
	struct sums in = sums_new(2), out = sums_new(2);

	for (size_t i = 0; i < n_wanted; i++)
		sums_of_profile(&in, f->p, false);
	assert_int_equal(sums_of_store(&out, s, SP_RES_10S, false), n_wanted);
	sums_equal(&in, &out);
	sums_done(&in);
	sums_done(&out);
	sp_store_close(s);
}

static void has_told(const struct fixture *f, const char *what)
{
	struct sp_store_stats stats;

	assert_int_equal(f->n_notes, 1);
	assert_non_null(strstr(f->note, what));
	assert_int_equal(sp_store_stats(f->s, &stats), 0);
	assert_int_equal(stats.n_moved, 1);
}

static int is_that(void *arg, const struct sp_store_event *e)
{
	*(unsigned *)arg += strcmp(e->kind, "gap") == 0;
	return 0;
}

static void a_removed_directory_is_made_anew(void **state)
{
	struct fixture f = begin();
	const struct sp_store_event e = {T0, T0 + SP_NS_PER_S, "gap", "test", "a gap", ""};
	unsigned n_events = 0;

	begin_store(&f);
	gone(f.place);
	assert_int_equal(sp_store_event_add(f.s, &e), 0); /* whichever comes first */
	has_told(&f, f.place);
	add(&f);
	add(&f);
	has_told(&f, f.place);
	holds(&f, f.place, 2);
	struct sp_store *s = made_store(f.place, &(struct sp_store_options){.read_only = true});
	assert_int_equal(sp_store_events(s, 0, INT64_MAX, is_that, &n_events), 0);
	assert_int_equal(n_events, 1);
	sp_store_close(s);
	sp_store_close(f.s);
	f.s = open_at(&f, f.place); /* and after the end of the period */
	holds(&f, f.place, 2);
	end(&f);
}

static void what_is_killed_afterwards_has_stored(void **state)
{
	struct fixture f = begin();
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		begin_store(&f);
		gone(f.place);
		add(&f);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	holds(&f, f.place, 1);
	f.s = open_at(&f, f.place);
	holds(&f, f.place, 1);
	end(&f);
}

static void a_moved_directory_keeps_what_it_has(void **state)
{
	struct fixture f = begin();

	begin_store(&f);
	assert_int_equal(rename(f.place, f.aside), 0);
	add(&f);
	has_told(&f, f.place);
	holds(&f, f.place, 1);
	holds(&f, f.aside, 2);
	/* moved back over the new one: writes go to the old one */
	gone(f.place);
	assert_int_equal(rename(f.aside, f.place), 0);
	add(&f);
	assert_int_equal(f.n_notes, 2);
	holds(&f, f.place, 3);
	/* moved away and back in between: not noticed */
	assert_int_equal(rename(f.place, f.aside), 0);
	assert_int_equal(rename(f.aside, f.place), 0);
	add(&f);
	assert_int_equal(f.n_notes, 2);
	holds(&f, f.place, 4);
	end(&f);
}

/* The journal of another store with the same file names is not touched. */
static void another_store_in_its_place_is_gone_on_with(void **state)
{
	struct fixture f = begin();
	char *third = in(f.base, "third");
	int status;
	pid_t pid = fork();

	if (pid == 0) { /* its writer was killed: the last windows are only in the journal */
		struct sp_store *s = open_at(&f, f.aside);
		if (add_to(&f, s) == 0 && add_to(&f, s) == 0 && add_to(&f, s) == 0)
			(void)raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	f.n_added = 10;
	begin_store(&f);
	assert_int_equal(rename(f.place, third), 0);
	assert_int_equal(rename(f.aside, f.place), 0);
	add(&f);
	has_told(&f, f.place);
	holds(&f, f.place, 4);
	holds(&f, third, 2);
	free(third);
	end(&f);
}

static void what_is_in_the_way_is_waited_for(void **state)
{
	struct fixture f = begin();
	int fd, r;

	begin_store(&f);
	assert_int_equal(rename(f.place, f.aside), 0);
	fd = open(f.place, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < 3; i++) {
		r = add_to(&f, f.s);
		assert_true(r == -ENOTDIR || r == -EEXIST);
		assert_non_null(strstr(sp_error_text(r), f.place));
		sp_error_clear();
	}
	assert_int_equal(sp_store_event_add(f.s, &(struct sp_store_event){T0, T0, "gap", "test", "a gap", ""}), r);
	sp_error_clear();
	assert_int_equal(f.n_notes, 0);
	assert_int_equal(unlink(f.place), 0);
	assert_int_equal(rename(f.aside, f.place), 0);
	add(&f);
	holds(&f, f.place, 3);
	end(&f);
}

static void other_files_and_writers_are_left_alone(void **state)
{
	struct fixture f = begin();
	char *other = in(f.place, "somebody's");
	int fd, go[2];
	char c;

	begin_store(&f);
	assert_int_equal(rename(f.place, f.aside), 0);
	assert_int_equal(mkdir(f.place, 0750), 0);
	fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(add_to(&f, f.s), -ENOTEMPTY);
	sp_error_clear();
	assert_int_equal(unlink(other), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct sp_store *s = open_at(&f, f.place);
		(void)!write(go[1], s != NULL ? "y" : "n", 1);
		(void)pause();
	}
	assert_int_equal(read(go[0], &c, 1), 1);
	int r = add_to(&f, f.s);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(r, -EBUSY);
	sp_error_clear();
	add(&f);
	holds(&f, f.place, 1);
	close(go[0]);
	close(go[1]);
	free(other);
	end(&f);
}

static void a_day_file_that_is_gone_is_begun_anew(void **state)
{
	for (int resolution = 0; resolution < SP_N_RESOLUTIONS; resolution++) {
		struct fixture f = begin();
		const char *day = sp_day_of(T0, resolution).name;
		char *name = in(f.place, day), *renamed = in(f.base, "kept.db");

		begin_store(&f);
		assert_int_equal(rename(name, renamed), 0);
		add(&f);
		has_told(&f, day);
		holds(&f, f.place, resolution == SP_RES_10S ? 1 : 3);
		if (resolution == SP_RES_10S)
			holds(&f, renamed, 2); /* the journal was checkpointed into it */
		assert_int_equal(unlink(name), 0);
		add(&f);
		assert_int_equal(f.n_notes, 2);
		holds(&f, f.place, resolution == SP_RES_10S ? 1 : 4);
		free(renamed);
		free(name);
		end(&f);
	}
}

/* Without the lock file another agent could not notice this one. */
static void a_removed_lock_is_taken_again(void **state)
{
	struct fixture f = begin();
	char *name = in(f.place, "lock");
	int status;

	begin_store(&f);
	assert_int_equal(unlink(name), 0);
	add(&f);
	has_told(&f, f.place);
	pid_t pid = fork();
	if (pid == 0) {
		struct sp_store *s;
		_exit(sp_store_open(f.place, &(struct sp_store_options){0}, &s) == -EBUSY ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	holds(&f, f.place, 3);
	free(name);
	end(&f);
}

/* While the day before is being finished: that continues when its file is opened again. */
static void a_day_that_is_left_is_let_go_of(void **state)
{
	struct fixture f = begin();
	char *third = in(f.base, "third");

	begin_store(&f);
	f.n_added = SP_DAY_S / 10;
	add(&f);
	assert_non_null(f.s->closing);
	assert_int_equal(rename(f.place, f.aside), 0);
	add(&f);
	assert_null(f.s->closing);
	holds(&f, f.place, 1);
	holds(&f, f.aside, 3);
	/* closing does not write to moved files either */
	assert_int_equal(rename(f.place, third), 0);
	sp_store_close(f.s);
	f.s = open_at(&f, f.aside);
	holds(&f, f.aside, 3);
	free(third);
	end(&f);
}

/* --- a reader, which keeps the file that it read last open --- */
static uint64_t n_windows(struct sp_store *s)
{
	struct sums out = sums_new(2);
	uint64_t n = sums_of_store(&out, s, SP_RES_10S, false);

	sums_done(&out);
	return n;
}

/* A store of one window takes the place of the day's file. */
static void replace_day(struct fixture *f, const struct sp_day *day)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	struct sp_store *other = open_at(f, f->aside);
	char *from = in(f->aside, day->name), *to = in(f->place, day->name), *beside;

	assert_int_equal(add_to(f, other), 0);
	sp_store_close(other);
	for (size_t i = 0; i < SP_COUNT(ends); i++) {
		assert_true(asprintf(&beside, "%s%s", to, ends[i]) > 0);
		(void)unlink(beside);
		free(beside);
	}
	assert_int_equal(rename(from, to), 0);
	free(from);
	free(to);
}

static void a_reader_reads_on_in_the_file_that_is_there(void **state)
{
	struct fixture f = begin();
	struct sp_day day = sp_day_of(T0, SP_RES_10S);
	int status;

	begin_store(&f);
	struct sp_store *s = made_store(f.place, &(struct sp_store_options){.read_only = true});
	assert_int_equal(n_windows(s), 2);
	const struct sp_kept_file *kept = &s->directory.kept[SP_RES_10S];
	const sqlite3 *db = kept->db;
	assert_non_null(db);
	add(&f);
	assert_int_equal(n_windows(s), 3); /* by the same connection */
	assert_ptr_equal(kept->db, db);
	pid_t pid = fork();
	if (pid == 0) {
		bool own = n_windows(s) == 3 && kept->db != db && kept->pid == getpid();
		sp_store_close(s);
		_exit(own ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(n_windows(s), 3);
	sp_store_close(f.s);
	f.s = NULL;
	replace_day(&f, &day);
	assert_int_equal(n_windows(s), 1);
	sp_store_close(s);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_removed_directory_is_made_anew),
	    cmocka_unit_test(a_reader_reads_on_in_the_file_that_is_there),
	    cmocka_unit_test(what_is_killed_afterwards_has_stored),
	    cmocka_unit_test(a_moved_directory_keeps_what_it_has),
	    cmocka_unit_test(another_store_in_its_place_is_gone_on_with),
	    cmocka_unit_test(what_is_in_the_way_is_waited_for),
	    cmocka_unit_test(other_files_and_writers_are_left_alone),
	    cmocka_unit_test(a_day_file_that_is_gone_is_begun_anew),
	    cmocka_unit_test(a_removed_lock_is_taken_again),
	    cmocka_unit_test(a_day_that_is_left_is_let_go_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
