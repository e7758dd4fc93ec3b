/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upgrade.c: detection by program, comparison of a real store's windows, and the process that compares. */
#include "agent/upgrade/upgrade.h"
#include "agent/config.h"
#include "agent/daemon/window_queue.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "profile/profile.h"
#include "test.h"
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define S UINT64_C(1000000000)
/* A full hour, so that windows and slices are the same in every run. */
#define UPGRADE (UINT64_C(1700006400) * S)
enum { WINDOWS = 60, MAX_EVENTS = 16 };

/* --- profiles --- */
static uint32_t string(struct sp_profile *p, const char *s)
{
	return (uint32_t)sp_profile_add_string(p, s);
}

static uint32_t file(struct sp_profile *p, const char *path, const char *name, uint8_t id)
{
	struct sp_file f = {.kind = SP_FILE_ELF, .build_id_len = 20, .tag = 1 + id, .path = string(p, path)};

	f.name = string(p, name);
	f.package_version = string(p, id == 2 ? "1.3" : "1.2");
	memset(f.build_id, id, f.build_id_len);
	return (uint32_t)sp_profile_add_file(p, &f);
}

static uint32_t frame(struct sp_profile *p, uint32_t of, const char *name)
{
	struct sp_func f = {.name = string(p, name), .file = of, .start = 64, .size = 32, .vaddr = 64};
	struct sp_frame frame = {.offset = 64, .file = of, .func = (uint32_t)sp_profile_add_func(p, &f)};

	return (uint32_t)sp_profile_add_frame(p, &frame);
}

static uint32_t uid; /* of all programs */

/* `own` samples in the program's own code, `lib` in its library of build id `id`. */
static void program_add(struct sp_profile *p, const char *path, const char *container, uint8_t exe_id, uint8_t id,
			int64_t own, int64_t lib)
{
	uint32_t exe = file(p, path, strrchr(path, '/') + 1, exe_id), so = file(p, "/lib/libz.so", "libz.so.1", id);
	struct sp_process process = {
	    .pid = 100U + exe_id, .exe = exe, .comm = string(p, "work"), .start_ns = 5, .uid = uid};
	uint32_t frames[2] = {frame(p, so, "inflate"), frame(p, exe, "main")}, key, stacks[2];
	int64_t values[2][2] = {{own, own * 10000000}, {lib, lib * 10000000}};

	process.container = string(p, container);
	key = (uint32_t)sp_profile_add_key(
	    p, &(struct sp_key){.process = (uint32_t)sp_profile_add_process(p, &process), .recipe = string(p, "cpu")});
	stacks[0] = (uint32_t)sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 1, .frames = &frames[1]});
	stacks[1] = (uint32_t)sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 2, .frames = frames});
	for (int i = 0; i < 2; i++)
		if (values[i][0])
			assert_int_equal(sp_profile_add(p, key, stacks[i], 0, values[i]), 0);
}

static struct sp_profile *profile(void)
{
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(p, "cpu", "nanoseconds"), 0);
	return p;
}

/* --- detection --- */
static int look(struct sp_upgrades *u, const char *path, const char *container, uint8_t id, uint64_t wall_ns)
{
	struct sp_profile *p = profile();
	int n;

	program_add(p, path, container, 99, id, 1, 1);
	n = sp_upgrades_check_window(u, p, wall_ns);
	sp_profile_free(p);
	return n;
}

static void another_build_in_the_same_program_is_noticed(void **state)
{
	struct sp_upgrades u;

	assert_int_equal(sp_upgrades_init(&u), 0);
	assert_int_equal(look(&u, "/bin/a", "", 1, 10 * S), 0);
	assert_int_equal(look(&u, "/bin/b", "", 2, 20 * S), 0); /* had no other build before */
	assert_int_equal(look(&u, "/bin/a", "c1", 2, 20 * S), 0);
	assert_int_equal(u.n_jobs, 0);
	assert_int_equal(look(&u, "/bin/a", "", 2, 30 * S), 1);
	assert_int_equal(look(&u, "/bin/a", "", 1, 40 * S), 0); /* an old process still runs */
	assert_int_equal(look(&u, "/bin/a", "", 2, 50 * S), 0);
	assert_int_equal(u.n_jobs, 1);
	assert_int_equal(look(&u, "/bin/b", "", 1, 100 * S), 1); /* the same run of the package manager */
	assert_int_equal(u.n_jobs, 1);
	assert_int_equal(u.jobs[0].from_ns, 20 * S);
	assert_int_equal(u.jobs[0].to_ns, 110 * S);
	assert_int_equal(look(&u, "/bin/a", "", 3, 5000 * S), 1);
	assert_int_equal(u.n_jobs, 2);
	for (uint8_t i = 4; i < 40; i++)
		assert_int_equal(look(&u, "/bin/a", "", i, i * 5000 * S), 1);
	assert_int_equal(u.n_jobs, SP_UPGRADE_JOBS);
	assert_int_equal(u.n_given_up, 38 - SP_UPGRADE_JOBS);
	sp_upgrades_done(&u);
}

/* Who runs another build at all times fills the list with his own, and not with what others wait for. */
static void builds_without_end_leave_others_their_places(void **state)
{
	struct sp_upgrades u;

	assert_int_equal(sp_upgrades_init(&u), 0);
	assert_int_equal(look(&u, "/bin/a", "", 1, 10 * S), 0);
	assert_int_equal(look(&u, "/bin/a", "", 2, 5000 * S), 1);
	uid = 12345;
	assert_int_equal(look(&u, "/bin/mine", "", 1, 5000 * S), 0);
	assert_int_equal(look(&u, "/bin/mine", "", 2, 5010 * S), 1); /* both at once */
	for (uint8_t i = 3; i < 40; i++)
		assert_int_equal(look(&u, "/bin/mine", "", i, i * 5000 * S), 1);
	uid = 0;
	assert_int_equal(look(&u, "/bin/a", "", 3, 39 * 5000 * S + 700 * S), 1);
	assert_int_equal(u.n_jobs, SP_UPGRADE_JOBS);
	assert_int_equal(u.jobs[0].from_ns, 4990 * S);
	assert_int_equal(u.jobs[0].uid, SP_UPGRADE_SEVERAL);
	assert_int_equal(u.jobs[1].uid, 12345);
	assert_int_equal(u.jobs[SP_UPGRADE_JOBS - 1].uid, 0);
	sp_upgrades_done(&u);
}

/* --- comparison --- */
struct found {
	char text[MAX_EVENTS][512];
	size_t n;
};

static int take(void *arg, const struct sp_store_event *e)
{
	struct found *f = arg;

	assert_true(f->n < MAX_EVENTS);
	snprintf(f->text[f->n++], sizeof(f->text[0]), "%s|%s|%s", e->kind, e->subject, e->text);
	return 0;
}

/* Noise of a third in both sides' windows; slow's library needs half as much again after its upgrade. */
static void window_add(struct sp_store *s, int i)
{
	struct sp_profile *p = profile();
	struct sp_store_window w = {.wall_ns = UPGRADE + (uint64_t)(int64_t)i * 10 * S,
				    .boot_ns = (uint64_t)(i + 1000) * 10 * S,
				    .duration_ns = 10 * S + S / 500, /* it ends when that is seen */
				    .rate_millihertz = 19000,
				    .n_cpus = 2,
				    .source = "cpu"};
	bool after = i >= 0;
	int noise = (i & 7) % 3;

	program_add(p, "/bin/slow", "", 11, after ? 2 : 1, 100 + noise, (after ? 60 : 40) + noise);
	if (i < 9 && after) /* a process from before still runs */
		program_add(p, "/bin/same", "", 12, 1, 100, 40);
	program_add(p, "/bin/same", "", 12, after ? 2 : 1, 100 + noise, 40 + noise);
	program_add(p, "/opt/same", "", 14, after ? 2 : 1, 100, 40);           /* a program of the same name */
	program_add(p, "/bin/other", "", 13, 1, 100 + noise, after ? 90 : 10); /* not upgraded */
	assert_int_equal(sp_store_add(s, &w, p), 0);
	sp_profile_free(p);
}

static struct sp_store *store_make(char *dir)
{
	struct sp_store *s;

	assert_non_null(mkdtemp(dir));
	if (sp_store_open(dir, &(struct sp_store_options){.retain_s = {1 << 30, 1 << 30, 1 << 30}}, &s) < 0)
		fail_msg("%s", sp_error_text(-1));
	for (int i = -WINDOWS; i < WINDOWS; i++)
		window_add(s, i);
	return s;
}

static void dir_remove(char *dir)
{
	char *argv[] = {"rm", "-rf", dir, NULL};
	pid_t pid;

	assert_int_equal(posix_spawnp(&pid, "rm", NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_change_of_cost_is_found_where_it_is(void **state)
{
	char dir[] = "/tmp/sp-upgrade-XXXXXX";
	struct sp_store *s = store_make(dir);
	struct sp_upgrade_comparison q = {
	    .from_ns = UPGRADE, .to_ns = UPGRADE, .span_ns = (uint64_t)WINDOWS * 10 * S, .source = "cpu"};
	struct found f = {.n = 0};

	if (sp_upgrade_compare(s, &q, take, &f) < 0)
		fail_msg("%s", sp_error_text(-1));
	assert_int_equal(f.n, 2);
	assert_non_null(strstr(f.text[0], "change|libz.so.1 in /bin/slow|libz.so.1 took 28."));
	assert_non_null(strstr(f.text[0], "takes 37."));
	assert_non_null(strstr(f.text[0], "workload may have changed"));
	assert_non_null(strstr(f.text[1], "upgrade|libz.so.1|libz.so.1: 1.2 (build id 010101010101) -> "
					  "1.3 (build id 020202020202), in same, slow"));
	q.from_ns = q.to_ns = UPGRADE - 300 * S; /* no upgrade then, only in windows after it */
	q.span_ns = 290 * S;
	f.n = 0;
	assert_int_equal(sp_upgrade_compare(s, &q, take, &f), 0);
	assert_int_equal(f.n, 0);
	sp_store_close(s);
	dir_remove(dir);
}

/* --- the process --- */
static size_t events_until(struct sp_upgrades *u, const struct sp_agent_config *c, struct sp_event_queue *e, size_t n,
			   uint64_t now_ns)
{
	uint64_t end = sp_time_ns(CLOCK_MONOTONIC) + 30 * S;

	do {
		struct pollfd fd = {.fd = u->pipe[0], .events = POLLIN};

		sp_upgrades_run(u, c, e, now_ns);
		if (u->pid)
			poll(&fd, 1, 50);
	} while ((u->pid || e->n < n) && sp_time_ns(CLOCK_MONOTONIC) < end);
	return e->n;
}

static void a_process_looks_when_it_is_time(void **state)
{
	char dir[] = "/tmp/sp-upgrade-XXXXXX";
	struct sp_store *s = store_make(dir);
	struct sp_agent_config c = {.store = dir, .query_timeout_ns = 20 * S, .query_memory_bytes = UINT64_C(4) << 30};
	struct sp_upgrades u;
	struct sp_event_queue e = {0};

	sp_store_close(s);
	assert_int_equal(sp_upgrades_init(&u), 0);
	close(u.self);
	u.self = open(SP_BUILD_ROOT "/soprof", O_PATH | O_CLOEXEC);
	assert_true(u.self >= 0);
	sp_upgrades_start(&u, UPGRADE, UPGRADE);
	sp_upgrades_run(&u, &c, &e, UPGRADE + 59 * S);
	assert_int_equal(u.pid, 0);
	assert_int_equal(u.jobs[0].n_comparisons, 0);
	assert_int_equal(events_until(&u, &c, &e, 2, UPGRADE + 61 * S), 2); /* both at the first comparison */
	assert_string_equal(e.events[0].event.kind, "change");
	assert_string_equal(e.events[1].event.kind, "upgrade");
	assert_int_equal(e.events[1].event.from_ns, UPGRADE);
	for (int i = 1; i < SP_UPGRADE_COMPARISONS; i++)
		events_until(&u, &c, &e, 0, UPGRADE + 90000 * S);
	assert_int_equal(u.n_jobs, 0);
	sp_upgrades_done(&u);
	sp_event_queue_done(&e);
	dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(another_build_in_the_same_program_is_noticed),
	    cmocka_unit_test(builds_without_end_leave_others_their_places),
	    cmocka_unit_test(a_change_of_cost_is_found_where_it_is),
	    cmocka_unit_test(a_process_looks_when_it_is_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
