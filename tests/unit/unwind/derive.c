/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Derived rows: at every instruction of code without unwind information the caller is the one that a shadow stack of
 * single-stepped calls knows; and code that has FDEs, followed as if it had none, gets the rows that these say.
 *   unwind-derive                    the tests
 *   unwind-derive PROGRAM ARGS...    steps through a program, a while here and a while there, through its busy
 *                                    threads by turns (tests/full/derive.sh)
 */
#include "base/mem.h"
#include "stopped.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void called(void);
void derive_pushes(called *f);
void derive_pointer(called *f);
void derive_aligned(called *f);
void derive_aligned_leaf(called *f);
void derive_drap(called *f);
void derive_dynamic(called *f);
void derive_enter(called *f);
void derive_table(called *f, long which);
void derive_tail(called *f);
void derive_loop(called *f);
void derive_entries(called *f);
void derive_unnamed(called *f);
void derive_passes(called *f);
void derive_goes_on(called *f);
void derive_round(called *f);
void derive_endless(called *f);

enum { DEPTH = 4096, N_PLACES = 1 << 20, SAME_PLACE = 4, CALL_BYTES = 15, ROUNDS = 24, ROUND_STEPS = 40000 };

struct shadow { /* return addresses, and where they lie */
	uint64_t slot[DEPTH], ra[DEPTH];
	uint32_t n;
};
struct tally {
	uint64_t n_steps, n_checked, n_derived, n_wrong, n_refused, n_underived;
};
static uint8_t n_visits[N_PLACES];
static struct shadow shadow;

static struct user_regs_struct regs_of(const struct victim *v)
{
	struct user_regs_struct u;

	assert_int_equal(ptrace(PTRACE_GETREGS, v->tid, NULL, &u), 0);
	return u;
}

/* One instruction later: the address behind the last one was pushed, and control is elsewhere. */
static void shadow_update(const struct victim *v, uint64_t ip, uint64_t sp, const struct user_regs_struct *u)
{
	uint64_t word;

	while (shadow.n && shadow.slot[shadow.n - 1] < u->rsp)
		shadow.n--;
	if (u->rsp != sp - 8 || stopped_memory(v, u->rsp, &word, sizeof(word)) != sizeof(word) || word <= ip ||
	    word - ip > CALL_BYTES || word == u->rip)
		return;
	assert_true(shadow.n < DEPTH);
	shadow.slot[shadow.n] = u->rsp;
	shadow.ra[shadow.n++] = word;
}

static void place_show(const struct victim *v, uint64_t ip, uint64_t ra)
{
	const struct sp_map *m = stopped_map_at(v, ip), *k = stopped_map_at(v, ra);

	print_message("at %s+%#llx: the caller is not %s+%#llx\n", m ? v->path[m - v->maps] : "?",
		      (unsigned long long)(m ? ip + m->shift_by : ip), k ? v->path[k - v->maps] : "?",
		      (unsigned long long)(k ? ra + k->shift_by : ra));
}

static void place_check(struct victim *v, uint64_t ip, struct tally *t)
{
	const struct sp_message_pending *r = v->r;
	uint64_t ra = shadow.ra[shadow.n - 1];
	const struct sp_map *m = stopped_map_at(v, ra - 1);
	bool derived, same;

	stopped_unwind_ours(v);
	t->n_checked++;
	t->n_underived += r->n_frames < 2 || (r->frames[1] & SP_FRAME_GUESSED);
	derived = r->n_frames > 1 && r->frames[1] & SP_FRAME_DERIVED;
	if (!derived || !m)
		return;
	t->n_derived++;
	same = (r->frames[1] & ~(SP_FRAME_DERIVED | SP_FRAME_GUESSED)) ==
	       (m->word | ((ra - 1 + m->shift_by) & SP_FRAME_OFFSET_MASK));
	if (!same && t->n_wrong++ < 5)
		place_show(v, ip, ra);
}

/* Steps n instructions. False: it has ended. */
static bool steps_take(struct victim *v, uint64_t n, struct tally *t)
{
	struct user_regs_struct u = regs_of(v), before;
	int status;

	shadow.n = 0;
	for (uint64_t i = 0; i < n; i++, t->n_steps++) {
		uint8_t *visits = &n_visits[(u.rip ^ u.rip >> 20) % N_PLACES];

		if (shadow.n && *visits < SAME_PLACE) {
			++*visits;
			if (!stopped_map_at(v, u.rip))
				stopped_maps_renew(v);
			place_check(v, u.rip, t);
		}
		before = u;
		if (ptrace(PTRACE_SINGLESTEP, v->tid, NULL, NULL) || waitpid(v->tid, &status, __WALL) != v->tid ||
		    !WIFSTOPPED(status))
			return false;
		u = regs_of(v);
		shadow_update(v, before.rip, before.rsp, &u);
	}
	return true;
}

/* False: it has ended. */
static bool seize(struct victim *v, pid_t tid)
{
	int status;

	v->tid = tid;
	if (ptrace(PTRACE_SEIZE, v->tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, v->tid, NULL, NULL) ||
	    waitpid(v->tid, &status, __WALL) != v->tid || !WIFSTOPPED(status))
		return false;
	stopped_maps_renew(v);
	return true;
}

/* --- our own assembly --- */
static void nothing(void)
{
}

static const char child_ready[] = "ready";

static int child(void)
{
	called *f = nothing;

	prctl(PR_SET_NAME, child_ready);
	for (;;) {
		derive_pushes(f);
		derive_pointer(f);
		derive_aligned(f);
		derive_aligned_leaf(f);
		derive_drap(f);
		derive_dynamic(f);
		derive_enter(f);
		for (long i = 0; i < 3; i++)
			derive_table(f, i);
		derive_tail(f);
		derive_loop(f);
		derive_entries(f);
		derive_unnamed(f);
		derive_passes(f);
		derive_goes_on(f);
		derive_round(f);
		derive_endless(f);
	}
	return 0;
}

/* Its start is over, which takes its time on a busy machine. */
static void wait_ready(pid_t pid)
{
	char path[64], name[32] = "";
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	for (int i = 0; i < 6000 && strcmp(name, child_ready) != 0; i++) {
		stopped_pause_ns(10000000);
		SP_FCLOSE FILE *f = fopen(path, "re");
		assert_non_null(f);
		assert_int_equal(fscanf(f, "%31s", name), 1);
	}
	assert_string_equal(name, child_ready);
}

static void every_frame_of_assembly(void **state)
{
	char self[MAX_PATH] = "";
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	const char *args[] = {self, "--child", NULL};
	struct victim v = {.name = "assembly", .pid = stopped_start(args), .r = malloc(sizeof(*v.r))};
	struct tally t = {0};

	wait_ready(v.pid);
	assert_true(seize(&v, v.pid) && steps_take(&v, 4000, &t));
	stopped_done(&v);
	print_message("%llu steps, %llu checked, %llu by derived rows: %llu wrong; %llu guessed or cut\n",
		      (unsigned long long)t.n_steps, (unsigned long long)t.n_checked, (unsigned long long)t.n_derived,
		      (unsigned long long)t.n_wrong, (unsigned long long)t.n_underived);
	assert_int_equal(t.n_wrong, 0);
	assert_int_equal(t.n_underived, 0);
	assert_true(t.n_derived >= 300);
}

/* --- against .eh_frame --- */
static void equals_eh_frame(void **state)
{
#define LIBRARY "/usr/lib/x86_64-linux-gnu/"
	const char *args[] = {SP_BUILD_ROOT "/tests/unit/unwind/table-derive",
			      "--compare",
			      LIBRARY "libm.so.6",
			      LIBRARY "libz.so.1",
			      LIBRARY "libelf.so.1",
			      LIBRARY "libdw.so.1",
			      LIBRARY "libbpf.so.1",
			      NULL};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execv(args[0], (char *const *)args);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --- any program --- */
static int step_program(const char *const *args)
{
	struct victim v = {.name = args[0], .pid = stopped_start(args), .r = malloc(sizeof(*v.r))};
	struct tally t = {0};

	for (unsigned i = 0; v.r && i < ROUNDS; i++) { /* a thread may end, and others go on */
		stopped_pause_ns((long)i * 3000000);
		pid_t tid = stopped_busy_thread(v.pid, i);

		if (!tid)
			break;
		if (seize(&v, tid) && steps_take(&v, ROUND_STEPS, &t))
			ptrace(PTRACE_DETACH, v.tid, NULL, NULL);
	}
	print_message("%s: %llu steps, %llu places checked, %llu by derived rows: %llu wrong; %llu guessed or cut\n",
		      v.name, (unsigned long long)t.n_steps, (unsigned long long)t.n_checked,
		      (unsigned long long)t.n_derived, (unsigned long long)t.n_wrong,
		      (unsigned long long)t.n_underived);
	stopped_done(&v);
	return t.n_wrong || !t.n_derived;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_frame_of_assembly),
	    cmocka_unit_test(equals_eh_frame),
	};
	if (argc == 2 && !strcmp(argv[1], "--child"))
		return child();
	if (argc == 1)
		return cmocka_run_group_tests(tests, stopped_tables_make, stopped_tables_drop);
	return stopped_tables_make(NULL) || step_program((const char *const *)argv + 1);
}
