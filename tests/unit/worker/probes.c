/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of probes by a parser: the same as those found here; a parser that has read no other file; one that crashes or
 * hangs costs its own file; and what one that was taken over may say is refused.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "hooked_parser.h"
#include "tool.h"
#include "worker/jobs_probes.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define MADE SP_BUILD_ROOT "/tests/unit/probe/made.so"
#define MARKS SP_BUILD_ROOT "/tests/unit/probe/marks.so"

static struct sp_broker *broker;

static struct sp_workers *workers(unsigned deadline_ms)
{
	struct sp_workers *w;
	struct sp_workers_options o = {.broker = broker, .n_parsers = 1, .deadline_ms = deadline_ms};
	assert_int_equal(sp_workers_new(&o, &w), 0);
	return w;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int file_with(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
	return fd;
}

struct answer {
	int n, r;
	char error[400];
	struct sp_probe_set set;
	struct sp_usdts marks;
};

static void note(struct answer *a, int r)
{
	a->n++;
	a->r = r;
	snprintf(a->error, sizeof(a->error), "%s", r < 0 ? sp_error_text(r) : "");
}

static void pointed(void *arg, int r, struct sp_probe_set *set)
{
	struct answer *a = arg;
	note(a, r);
	assert_true((r == 0) == (set != NULL));
	if (set)
		a->set = *set;
	if (set)
		*set = (struct sp_probe_set){0};
}

static void marked(void *arg, int r, struct sp_usdts *marks)
{
	struct answer *a = arg;
	note(a, r);
	assert_true((r == 0) == (marks != NULL));
	if (marks)
		a->marks = *marks;
	if (marks)
		*marks = (struct sp_usdts){0};
}

static void identified(void *arg, struct sp_identify_result *id)
{
	note(arg, id->r);
	free(id->soname);
}

static void answer_done(struct answer *a)
{
	sp_probe_set_done(&a->set);
	sp_usdts_done(&a->marks);
	*a = (struct answer){0};
}

static void wait_for(struct sp_workers *w)
{
	assert_int_equal(sp_workers_wait(w, 60000), 0);
}

/* --- as here --- */
static void compare_points(const struct sp_probe_set *a, const struct sp_probe_set *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->n_functions, b->n_functions);
	assert_int_equal(a->n_aliases, b->n_aliases);
	assert_int_equal(a->n_ifuncs, b->n_ifuncs);
	assert_int_equal(a->n_ifuncs_unsure, b->n_ifuncs_unsure);
	assert_int_equal(a->n_moved, b->n_moved);
	assert_int_equal(a->n_loops, b->n_loops);
	assert_int_equal(a->is_go, b->is_go);
	assert_memory_equal(a->refused, b->refused, sizeof(a->refused));
	assert_memory_equal(a->n_cost, b->n_cost, sizeof(a->n_cost));
	for (size_t i = 0; i < a->n; i++) {
		const struct sp_probe_point *p = &a->points[i], *q = &b->points[i];
		assert_true(p->offset == q->offset && p->function == q->function && p->address == q->address &&
			    p->cost == q->cost && p->pushed == q->pushed && p->loops == q->loops);
		assert_int_equal(p->n_names, q->n_names);
		assert_true(p->name == (p->n_names ? p->names[0] : NULL));
		for (size_t k = 0; k < p->n_names; k++)
			assert_string_equal(p->names[k], q->names[k]);
	}
}

static void check(struct sp_workers *w, const char *path, const struct sp_probe_what *what, bool is_there)
{
	int fd = open_file(path);
	struct sp_elf *e;
	struct sp_probe_set here = {0};
	struct answer a = {0};
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_int_equal(sp_workers_points(w, fd, what, pointed, &a), 0);
	wait_for(w);
	sp_error_clear();
	int r = sp_probe_points(e, what, &here);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.r, r);
	assert_int_equal(r == 0, is_there);
	assert_string_equal(a.error, r < 0 ? sp_error_text(r) : "");
	compare_points(&a.set, &here);
	sp_error_clear();
	sp_probe_set_done(&here);
	answer_done(&a);
	sp_elf_close(e);
	close(fd);
}

static void points_as_here(void **state)
{
	static const char *const files[] = {MADE, "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libz.so.1"};
	static const char *const some[] = {"*e*", "a*"}, *const none[] = {"*", "no_such_functoin"};
	static const uint64_t nowhere[] = {1};
	struct sp_workers *w = workers(0);
	for (size_t i = 0; i < SP_COUNT(files); i++) {
		check(w, files[i], &(struct sp_probe_what){.n_globs = 0}, true);
		check(w, files[i], &(struct sp_probe_what){.inner = true, .arguments = 3}, true);
		check(w, files[i], &(struct sp_probe_what){.globs = some, .n_globs = 1, .returns = true}, true);
		check(w, files[i], &(struct sp_probe_what){.globs = none, .n_globs = 2, .inner = true}, false);
		check(w, files[i], &(struct sp_probe_what){.addresses = nowhere, .n_addresses = 1}, false);
	}
	check(w, "/proc/self/exe", &(struct sp_probe_what){.or_inner = true, .nop5_is_fast = true}, true);
	sp_workers_free(w);
}

/* A symbol's address, as a user gives it. */
static void points_by_address(void **state)
{
	struct sp_workers *w = workers(0);
	const struct sp_probe_what all = {.inner = true};
	int fd = open_file("/lib/x86_64-linux-gnu/libz.so.1");
	struct answer a = {0}, b = {0};
	assert_int_equal(sp_workers_points(w, fd, &all, pointed, &a), 0);
	wait_for(w);
	assert_true(a.set.n > 10);
	const struct sp_probe_point *last = &a.set.points[a.set.n - 1];
	const struct sp_probe_what one = {.addresses = &last->address, .n_addresses = 1};
	assert_int_equal(sp_workers_points(w, fd, &one, pointed, &b), 0);
	wait_for(w);
	assert_int_equal(b.r, 0);
	assert_int_equal(b.set.n, 1);
	assert_int_equal(b.set.points[0].function, last->function);
	answer_done(&a);
	answer_done(&b);
	close(fd);
	sp_workers_free(w);
}

static void marks_as_here(void **state)
{
	struct sp_workers *w = workers(0);
	int fd = open_file(MARKS);
	struct sp_elf *e;
	struct sp_usdts here;
	struct answer a = {0};
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_int_equal(sp_usdt_find(e, &here), 0);
	assert_int_equal(sp_workers_marks(w, fd, NULL, "*", marked, &a), 0);
	wait_for(w);
	assert_int_equal(a.r, 0);
	assert_int_equal(a.marks.n, here.n);
	assert_int_equal(a.marks.n_bad, here.n_bad);
	for (size_t i = 0; i < here.n; i++) {
		const struct sp_usdt *x = &a.marks.at[i], *y = &here.at[i];
		assert_true(x->offset == y->offset && x->semaphore == y->semaphore);
		assert_string_equal(x->provider, y->provider);
		assert_string_equal(x->name, y->name);
		assert_string_equal(x->arguments, y->arguments);
	}
	answer_done(&a);
	assert_int_equal(sp_workers_marks(w, fd, "another", "m*", marked, &a), 0);
	wait_for(w);
	assert_int_equal(a.marks.n, 1);
	assert_int_equal(a.marks.at[0].offset, here.at[0].offset);
	answer_done(&a);
	assert_int_equal(sp_workers_marks(w, fd, NULL, "plan", marked, &a), 0);
	wait_for(w);
	assert_int_equal(a.r, -ENOENT);
	assert_string_equal(a.error, "there is no USDT probe 'plan'; did you mean plain?");
	answer_done(&a);
	sp_usdts_done(&here);
	sp_elf_close(e);
	close(fd);
	sp_workers_free(w);
}

/* --- a parser of its own, and what goes wrong in it --- */
/* The only one there may be; one that has been killed may still be there. */
static pid_t parser_of(const struct sp_workers *w)
{
	for (const struct sp_worker *p = w->pools[SP_ROLE_PARSER].processes; p; p = p->next)
		if (p->socket >= 0)
			return p->pid;
	return 0;
}

static void own_parser(void **state)
{
	struct sp_workers *w = workers(0);
	const struct sp_probe_what all = {.inner = true};
	int fd = open_file(MADE);
	struct answer a = {0};
	pid_t pids[4];
	for (unsigned i = 0; i < 4; i++) {
		if (i % 2 == 0)
			assert_int_equal(sp_workers_identify(w, fd, identified, &a), 0);
		else
			assert_int_equal(sp_workers_points(w, fd, &all, pointed, &a), 0);
		wait_for(w);
		assert_int_equal(a.r, 0);
		answer_done(&a);
		pids[i] = parser_of(w);
		assert_true(pids[i] > 0);
	}
	assert_true(pids[1] != pids[0] && pids[2] == pids[1] && pids[3] != pids[1] && pids[3] != pids[0]);
	close(fd);
	sp_workers_free(w);
}

/* Who has nothing to do is gone when it is told to rest; the next request starts another. */
static void rests(void **state)
{
	struct sp_workers *w = workers(0);
	const struct sp_probe_what all = {.inner = true};
	int fd = open_file(MADE);
	for (unsigned i = 0; i < 2; i++) {
		struct answer a = {0};
		assert_int_equal(sp_workers_points(w, fd, &all, pointed, &a), 0);
		sp_workers_rest(w); /* not one that has work */
		wait_for(w);
		assert_int_equal(a.r, 0);
		answer_done(&a);
		sp_workers_rest(w);
		while (w->pools[SP_ROLE_PARSER].processes) {
			poll(&(struct pollfd){sp_workers_fd(w), POLLIN, 0}, 1, 10000);
			assert_int_equal(sp_workers_dispatch(w), 0);
		}
	}
	close(fd);
	sp_workers_free(w);
}

static void harm(const char *word, int r, const char *error)
{
	struct sp_workers *w = workers(r == -ETIMEDOUT ? 300 : 0);
	const struct sp_probe_what all = {.inner = true};
	int bad = file_with(word), good = open_file(MADE);
	struct answer a = {0}, b = {0}, c = {0};
	assert_int_equal(sp_workers_points(w, bad, &all, pointed, &a), 0);
	assert_int_equal(sp_workers_marks(w, bad, NULL, "*", marked, &b), 0);
	assert_int_equal(sp_workers_points(w, good, &all, pointed, &c), 0);
	wait_for(w);
	assert_int_equal(a.r, r);
	assert_int_equal(b.r, r);
	assert_string_equal(a.error, error);
	assert_int_equal(c.r, 0);
	assert_true(c.set.n > 0);
	answer_done(&a);
	answer_done(&b);
	answer_done(&c);
	close(bad);
	close(good);
	sp_workers_free(w);
}

static void harmful_files(void **state)
{
	harm("crash", -EIO, "parser crashed (signal 11)");
	harm("hang", -ETIMEDOUT, "parser took over 300 ms");
}

/* --- answers of one that was taken over --- */
enum { FILE_BYTES = 0x2000 };
struct said {
	struct sp_packed_points head;
	struct sp_packed_point first;
	char first_names[8]; /* "one\0uno" */
	struct sp_packed_point second;
	char second_name[4];
} __attribute__((packed));
static const struct said good = {
    .head = {.n = 2, .n_names = 3, .n_functions = 5, .n_ifuncs = 1, .refused = {1, 2}},
    .first =
	{.offset = 0x1004, .function = 0x1000, .address = 0x401000, .n_names = 2, .cost = 1, .pushed = 8, .length = 1},
    .first_names = "one\0uno",
    .second = {.offset = 0x1fff, .function = 0x1fff, .address = 0x401fff, .n_names = 1, .loops = 1, .length = 15},
    .second_name = "two",
};

static int say(enum sp_job_kind kind, uint64_t flags, const void *bytes, size_t n, uint64_t n_said, struct answer *a)
{
	struct sp_answer_message m = {.bytes = n_said};
	struct sp_job *j = calloc(1, sizeof(*j));
	assert_non_null(j);
	j->kind = kind;
	j->fd = j->debug_fd = j->table_fd = j->opened.fd = -1;
	j->file_bytes = FILE_BYTES;
	j->n_offsets = 3;
	j->offsets = calloc(3, sizeof(*j->offsets));
	assert_non_null(j->offsets);
	j->offsets[2] = flags;
	if (kind == SP_JOB_POINTS)
		j->done.points = pointed;
	else
		j->done.marks = marked;
	j->arg = a;
	j->memfd = file_with("");
	assert_int_equal(pwrite(j->memfd, bytes, n, 0), n);
	int r = sp_job_take(j, &m, -1);
	if (r < 0)
		sp_job_fail(j, r, NULL);
	sp_job_call(j);
	sp_error_clear();
	return r;
}

static int say_points(const struct said *said)
{
	struct answer a = {0};
	int r = say(SP_JOB_POINTS, 0, said, sizeof(*said), sizeof(*said), &a);
	assert_int_equal(a.r, r);
	answer_done(&a);
	return r;
}

static void good_answer(void **state)
{
	struct answer a = {0};
	assert_int_equal(say(SP_JOB_POINTS, 0, &good, sizeof(good), sizeof(good), &a), 0);
	assert_int_equal(a.set.n, 2);
	assert_int_equal(a.set.n_functions, 5);
	assert_int_equal(a.set.n_aliases, 1);
	assert_int_equal(a.set.points[0].pushed, 8);
	assert_string_equal(a.set.points[0].names[1], "uno");
	assert_string_equal(a.set.points[1].name, "two");
	assert_true(a.set.points[1].loops && a.set.n_moved == 1 && a.set.n_cost[1] == 1);
	answer_done(&a);
}

static void bad_points(void **state)
{
#define REFUSED(change)                                                                                                \
	do {                                                                                                           \
		struct said s = good;                                                                                  \
		change;                                                                                                \
		assert_int_equal(say_points(&s), -EBADMSG);                                                            \
	} while (0)
	REFUSED(s.second.offset = FILE_BYTES);
	REFUSED(s.second.offset = UINT64_MAX; s.second.function = UINT64_MAX - 1);
	REFUSED(s.second.offset = 0x1004);                             /* twice */
	REFUSED(s.second.offset = 0x1003; s.second.function = 0x1001); /* not in order */
	REFUSED(s.second.function = 0x1000);                           /* one function, two places */
	REFUSED(s.first.function = 0x1005);                            /* before its function */
	REFUSED(s.first.function = 0x1004 - SP_POINT_REACH);
	REFUSED(s.first.cost = SP_PROBE_N_COSTS);
	REFUSED(s.first.loops = 2);
	REFUSED(s.first.length = 0);
	REFUSED(s.first.length = 16);
	REFUSED(s.first.zero[3] = 1);
	REFUSED(s.first.n_names = 3);
	REFUSED(s.first.n_names = UINT32_MAX);
	REFUSED(s.second.n_names = 0);
	REFUSED(s.first_names[0] = '\0'); /* a name without letters */
	REFUSED(s.second_name[3] = 'x');  /* without an end */
	REFUSED(s.head.n = 0);
	REFUSED(s.head.n = 1);
	REFUSED(s.head.n = 3);
	REFUSED(s.head.n = UINT64_MAX);
	REFUSED(s.head.n_names = 4);
	REFUSED(s.head.n_names = UINT64_MAX / 8 + 2);
	REFUSED(s.head.n_functions = 4);
	REFUSED(s.head.refused[3] = 1);
	REFUSED(s.head.refused[3] = UINT64_MAX; s.head.refused[4] = 1);
	REFUSED(s.head.n_ifuncs_unsure = 2);
	REFUSED(s.head.n_ifuncs = UINT64_MAX);
	REFUSED(s.head.is_go = 2);
#undef REFUSED
}

static void bad_lengths(void **state)
{
	struct answer a = {0};
	for (size_t n = 0; n < sizeof(good); n++)
		assert_int_equal(say(SP_JOB_POINTS, 0, &good, sizeof(good), n, &a), -EBADMSG);
	assert_int_equal(say(SP_JOB_POINTS, 0, &good, sizeof(good), sizeof(good) + 1, &a), -EBADMSG);
	assert_int_equal(say(SP_JOB_POINTS, 0, &good, sizeof(good), UINT64_MAX, &a), -EBADMSG);
	/* asked for return probes: the return address must be where the stack pointer is */
	assert_int_equal(say(SP_JOB_POINTS, 4, &good, sizeof(good), sizeof(good), &a), -EBADMSG);
}

struct said_mark {
	uint64_t n, n_bad, offset, semaphore;
	char texts[8]; /* "p\0nm\0ab" */
};

static int say_mark(struct said_mark m, size_t n)
{
	struct answer a = {0};
	int r = say(SP_JOB_MARKS, 0, &m, sizeof(m), n, &a);
	answer_done(&a);
	return r;
}

static void bad_marks(void **state)
{
	const struct said_mark well = {1, 3, 0x1fff, 0x1000, "p\0nm\0ab"};
	struct said_mark m;
	assert_int_equal(say_mark(well, sizeof(well)), 0);
	m = well, m.offset = FILE_BYTES;
	assert_int_equal(say_mark(m, sizeof(m)), -EBADMSG);
	m = well, m.semaphore = FILE_BYTES;
	assert_int_equal(say_mark(m, sizeof(m)), -EBADMSG);
	m = well, m.n = 2;
	assert_int_equal(say_mark(m, sizeof(m)), -EBADMSG);
	m = well, m.n = UINT64_MAX;
	assert_int_equal(say_mark(m, sizeof(m)), -EBADMSG);
	m = well, m.n_bad = UINT64_MAX;
	assert_int_equal(say_mark(m, sizeof(m)), -EBADMSG);
	m = well, m.texts[0] = '\0';
	assert_int_equal(say_mark(m, sizeof(m)), -EBADMSG);
	for (size_t n = 0; n < sizeof(well); n++)
		assert_int_equal(say_mark(well, n), -EBADMSG);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	const struct CMUnitTest tests[] = {
	    CLEAN_TEST(points_as_here),
	    CLEAN_TEST(points_by_address),
	    CLEAN_TEST(marks_as_here),
	    CLEAN_TEST(own_parser),
	    CLEAN_TEST(rests),
	    CLEAN_TEST(harmful_files),
	    cmocka_unit_test(good_answer),
	    cmocka_unit_test(bad_points),
	    cmocka_unit_test(bad_lengths),
	    cmocka_unit_test(bad_marks),
	};
	broker = start_broker();
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	sp_broker_free(broker);
	return r;
}
