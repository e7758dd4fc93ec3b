/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The half of the audit library that writes records (audit/share.c, audit/index.c), by several processes at once into
 * one file, and killed in the midst of it; what the user half reads must be what they added.
 */
#include "audit/audit.h"
#include "base/error.h"
#include "made.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { N_PROCESSES = 4, N_FUNCTIONS = 700, N_SITES = 30000 / SP_FEWER, N_ADDS = 60000 / SP_FEWER };

struct sum { /* of what was added, by all */
	uint64_t by_function[N_FUNCTIONS], all;
};

static uint32_t add_object(unsigned number)
{
	struct sp_calls_object o = {.build_id_len = 20, .flags = SP_CALLS_OBJECT_TARGET};

	memcpy(o.build_id, &number, sizeof(number));
	snprintf(o.path, sizeof(o.path), "/lib/lib%u.so", number);
	uint32_t id = sp_shared_object(&o);
	if (id != 0)
		return id;
	sp_shared_prepare(); /* more room is made only when asked for */
	return sp_shared_object(&o);
}

/* One call of the function by the site. False: there was no room. */
static bool add_call_now(uint32_t object, unsigned function, unsigned site)
{
	char name[32];

	snprintf(name, sizeof(name), "function_%u", function);
	uint32_t id = object != 0 ? sp_shared_function(object, 16 * function, name, 0) : 0;
	const struct sp_calls_row row = {
	    .function = id, .caller = object, .site_object = object, .site_offset = 0x1000 + 4ULL * site};
	uint32_t at = id != 0 ? sp_shared_row(&row) : 0;
	uint64_t counters = at != 0 ? sp_shared_counters(at) : 0;
	if (counters != 0)
		sp_add((uint64_t *)(counters - SP_CALLS_PAGE), 1);
	return counters != 0;
}

static bool add_call(uint32_t object, unsigned function, unsigned site)
{
	bool added = add_call_now(object, function, site);

	if (!added) {
		sp_shared_prepare();
		added = add_call_now(object, function, site);
	}
	return added;
}

/* The room that was made others may use up first. */
static bool add_call_among_others(uint32_t object, unsigned function, unsigned site)
{
	bool added = false;

	for (unsigned tries = 0; !added && tries < 50; tries++)
		added = add_call(object, function, site);
	return added;
}

static void add_all(struct sum *sum, unsigned seed)
{
	for (unsigned i = 0; i < N_ADDS; i++) {
		unsigned function = (unsigned)rand_r(&seed) % N_FUNCTIONS;
		if (!add_call_among_others(add_object(function % 60), function, (unsigned)rand_r(&seed) % N_SITES))
			_exit(1);
		sp_add(&sum->by_function[function], 1);
		sp_add(&sum->all, 1);
	}
}

static pid_t start(struct sum *sum, unsigned seed)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		add_all(sum, seed);
		_exit(0);
	}
	return child;
}

static struct sum *shared_sum(void)
{
	void *sum = mmap(NULL, sizeof(struct sum), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(sum, MAP_FAILED);
	return sum;
}

static uint64_t calls_of(const struct sp_calls_snapshot *s, uint64_t by_function[N_FUNCTIONS])
{
	uint64_t all = 0;

	for (size_t i = 0; i < s->n_arcs; i++) {
		const struct sp_calls_callee *c = &s->callees[s->arcs[i].callee];
		unsigned function = (unsigned)(c->offset / 16);
		char path[32];
		assert_true(function < N_FUNCTIONS);
		snprintf(path, sizeof(path), "/lib/lib%u.so", function % 60);
		assert_string_equal(s->libraries[c->library].path, path);
		by_function[function] += s->arcs[i].n_calls;
		all += s->arcs[i].n_calls;
	}
	return all;
}

static void test_at_once(void **state)
{
	static uint64_t by_function[N_FUNCTIONS];
	struct sum *sum = shared_sum();
	struct sp_calls_snapshot s;
	struct made m;

	assert_true(made_open(&m));
	assert_true(sp_shared_open(m.path, geteuid()));
	for (unsigned i = 0; i < N_PROCESSES; i++)
		start(sum, i + 1);
	for (unsigned i = 0; i < N_PROCESSES; i++) {
		int status;
		assert_int_equal(sp_calls_read(m.path, &s), 0); /* at any time */
		sp_calls_done(&s);
		assert_true(wait(&status) > 0 && status == 0);
	}
	assert_int_equal(sp_calls_read(m.path, &s), 0);
	assert_int_equal(s.n_libraries, 60);
	assert_int_equal(s.n_callees, N_FUNCTIONS);
	assert_true(calls_of(&s, by_function) == sum->all && sum->all == (uint64_t)N_PROCESSES * N_ADDS);
	assert_memory_equal(by_function, sum->by_function, sizeof(by_function));
	sp_calls_done(&s);
	made_close(&m);
}

static void test_killed(void **state)
{
	static uint64_t by_function[N_FUNCTIONS];
	struct sum *sum = shared_sum();
	struct sp_calls_snapshot s;
	struct made m;
	unsigned n_killed = 0;

	assert_true(made_open(&m));
	assert_true(sp_shared_open(m.path, geteuid()));
	for (unsigned i = 0; i < 40; i++) {
		uint64_t before = sp_load(&sum->all);
		pid_t child = start(sum, i + 1);
		int status;
		while (sp_load(&sum->all) < before + 50 * i && waitpid(child, &status, WNOHANG) == 0)
			;
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		n_killed += WIFSIGNALED(status);
		assert_int_equal(sp_calls_read(m.path, &s), 0);
		uint64_t all = calls_of(&s, by_function);
		assert_true(all >= sum->all && all <= sum->all + n_killed); /* one for each that was just between */
		sp_calls_done(&s);
	}
	made_close(&m);
}

/* More than fits: said, and what was there stays right. */
static void test_full(void **state)
{
	struct sp_calls_snapshot s;
	struct made m;
	uint64_t n_added = 0, n_refused = 0;

	assert_true(made_open(&m));
	assert_true(sp_shared_open(m.path, geteuid()));
	uint32_t object = add_object(0);
	for (unsigned i = 0; i < 100000000 && n_refused < 1000; i++) {
		bool added = add_call(object, 0, i);
		n_added += added;
		n_refused += !added;
	}
	assert_true(n_added > 50000 && n_refused == 1000);
	assert_true(m.header->counters[SP_CALLS_N_NO_BLOCK] > 0);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(add_call(object, 0, i));
	assert_int_equal(sp_calls_read(m.path, &s), 0);
	assert_true(calls_of(&s, (uint64_t[N_FUNCTIONS]){0}) == n_added + 1000);
	sp_calls_done(&s);
	made_close(&m);
}

/* A disk that fills up while a program adds rows: no SIGBUS, and what was added is there. */
static void test_disk(void **state)
{
	char directory[] = "/tmp/soprof-disk-XXXXXX", path[64];
	const struct sp_calls_what what = {
	    .libraries = (const char *const[]){"libmade.so"}, .n_libraries = 1, .depth = SP_CALLS_BY_SITE};
	struct sp_calls_snapshot s;
	uint64_t n_added = 0, n_refused = 0;
	bool made;

	assert_non_null(mkdtemp(directory));
	if (mount("none", directory, "tmpfs", 0, "size=3m") < 0) {
		rmdir(directory);
		print_message("skip: mount needs root\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/a.profile", directory);
	int r = sp_calls_prepare(path, &what, &made);
	if (r == -ENOSPC) {
		umount2(directory, MNT_DETACH);
		print_message("skip: so many CPUs that the file does not fit\n");
		skip();
	}
	assert_int_equal(r, 0);
	assert_true(sp_shared_open(path, geteuid()));
	sp_shared_prepare();
	uint32_t object = add_object(0);
	for (unsigned i = 0; i < 300000 && n_refused < 1000; i++) {
		bool added = add_call(object, 0, i);
		n_added += added;
		n_refused += !added;
	}
	assert_true(n_added > 5000 && n_refused == 1000);
	assert_int_equal(sp_calls_read(path, &s), 0);
	assert_true(calls_of(&s, (uint64_t[N_FUNCTIONS]){0}) == n_added);
	sp_calls_done(&s);
	umount2(directory, MNT_DETACH);
	rmdir(directory);
}

/* A file that is not ours, or does not look right, is not used. */
static void test_refused(void **state)
{
	struct made m;
	char other[112];

	assert_true(made_open(&m));
	snprintf(other, sizeof(other), "%s/link", m.directory);
	assert_int_equal(symlink(m.path, other), 0);
	assert_false(sp_shared_open(other, geteuid()));
	unlink(other);
	assert_false(sp_shared_open(other, geteuid()));
	assert_false(sp_shared_open("/dev/null", geteuid()));
	assert_false(sp_shared_open(m.path, geteuid() + 1));
	m.header->version++;
	assert_false(sp_shared_open(m.path, geteuid()));
	m.header->version--;
	m.header->size_bytes--;
	assert_false(sp_shared_open(m.path, geteuid()));
	m.header->size_bytes++;
	assert_true(sp_shared_open(m.path, geteuid()));
	made_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_at_once), cmocka_unit_test(test_killed),  cmocka_unit_test(test_full),
	    cmocka_unit_test(test_disk),    cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
