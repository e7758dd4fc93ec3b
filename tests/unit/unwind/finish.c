/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder in the user half says what elfutils' libdw says, of programs stopped by ptrace at random moments: the
 * same registers, the same memory, every frame compared. Victims (tests/victim) and real programs of Debian.
 *
 * Where the two differ, the difference is printed with the address in question and counts as a failure, but for what
 * `excused()` names. The kernel's copy of a stack is 64 KiB; here it is renewed when the walk comes to its end, so that
 * deep stacks are compared to their root.
 */
#include "base/mem.h"
#include "stopped.h"
#include "test.h"
#include "unwind/step_types.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define GCC "/usr/lib/gcc/x86_64-linux-gnu/12/"
#define VICTIMS SP_VICTIMS "/"

struct tally {
	uint64_t n_stops, n_frames, n_complete, n_guessed, n_cut, n_excused, deepest;
	uint64_t n_different;
	uint64_t n_cut_above; /* without the red zone */
};

/* --- comparison --- */
/* Whether this is in a signal trampoline (mov $15, %rax; syscall): what it returns to was interrupted. */
static bool is_trampoline(const struct victim *v, uint64_t pc)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint8_t at[sizeof(code)];

	for (uint64_t start = pc - 7; start <= pc; start += 7) /* at either instruction */
		if (stopped_memory(v, start, at, sizeof(at)) == sizeof(at) && !memcmp(at, code, sizeof(code)))
			return true;
	return false;
}

static uint64_t word_expected(const struct victim *v, uint32_t i)
{
	bool exact = !i || is_trampoline(v, v->frames[i - 1].pc);
	uint64_t addr = v->frames[i].pc - !exact;
	const struct sp_map *m = stopped_map_at(v, addr);

	return m ? m->word | ((addr + m->shift_by) & SP_FRAME_OFFSET_MASK) : UINT64_MAX;
}

static void where(const struct victim *v, uint64_t pc)
{
	const struct sp_map *m = stopped_map_at(v, pc);

	print_message(" %#llx", (unsigned long long)pc);
	if (m)
		print_message(" (%s+%#llx)", v->path[m - v->maps], (unsigned long long)(pc + m->shift_by));
}

static void show(const struct victim *v, uint32_t same, const char *what)
{
	const struct sp_message_pending *r = v->r;

	print_message("%s: %s; %u frames agree, ours: %u, stop %u, flags %#x; libdw: %u, %s\n", v->name, what, same,
		      r->n_frames, v->stop, r->guessed, v->n_frames, v->libdw_error);
	for (uint32_t i = same > 2 ? same - 2 : 0; i < same + 3; i++) {
		print_message("  #%u", i);
		if (i < SP_MIN(r->n_frames, SP_MAX_FRAMES))
			print_message(" ours: file %u %+lld",
				      (unsigned)(r->frames[i] >> SP_FRAME_ID_SHIFT & SP_FRAME_ID_MASK),
				      (long long)(r->frames[i] & SP_FRAME_OFFSET_MASK));
		if (i < v->n_frames) {
			print_message(" libdw:");
			where(v, v->frames[i].pc);
		}
		print_message("\n");
	}
}

static bool is_in(const struct victim *v, uint32_t frame, const char *name)
{
	const struct sp_map *m = stopped_map_at(v, v->frames[frame].pc);

	return m && strstr(v->path[m - v->maps], name);
}

/*
 * What libdw may say otherwise. Where the return address lies in no mapping the stack is cut here; libdw counts it as a
 * frame, and takes 0 for the proper end. Both were met in the last instruction of _Unwind_RaiseException and
 * _Unwind_Resume (libgcc_s of Debian's gcc 12.2.0-14), `jmp *%rcx`: it goes to a landing pad and not back behind a
 * call, so the byte before it, by which a return address is looked up, may have another row. Either unwinder then reads
 * a word that is no address.
 */
static bool excused(const struct victim *v, uint32_t same)
{
	/* Code without unwind information (.init): libdw stops there, and says so; we guess, and say so. */
	if (v->r->guessed && v->libdw < 0 && same == v->n_frames)
		return true;
	/* So where we have derived rows, and say so. */
	if (same && same < v->r->n_frames && v->r->frames[same] & SP_FRAME_DERIVED && v->libdw < 0 &&
	    same == v->n_frames)
		return true;
	/* Or libdw takes the frame pointer in a prologue of such code, and skips the caller. */
	if (same == 1 && v->r->frames[same] & SP_FRAME_DERIVED && v->r->n_frames == v->n_frames + 1)
		return true;
	/* A guess in a leaf's prologue: libdw takes the frame pointer, which is its caller's still, and skips that. */
	if (v->r->guessed && same == 1 && v->r->n_frames == v->n_frames + 1)
		return true;
	/*
	 * Lazy binding's CFA is counted from rbx. libdw loses rbx where the callee (_dl_fixup's first instructions) has
	 * not saved it yet, and ends the stack without an error; gdb goes on, to the caller that we find.
	 */
	if (sp_stop_is_whole(v->stop) && same && same == v->n_frames && !v->libdw && is_in(v, same - 1, "/ld-linux-"))
		return true;
	if (v->stop != SP_STOP_UNMAPPED || same != v->r->n_frames)
		return false;
	return v->n_frames == same ? v->r->regs.ip == 0
				   : v->n_frames == same + 1 && !stopped_map_at(v, v->frames[same].pc - 1);
}

static void compare(struct victim *v, struct tally *t)
{
	const struct sp_message_pending *r = v->r;
	uint32_t same = 0, both = SP_MIN(r->n_frames, v->n_frames);
	bool is_deep = r->n_frames > SP_MAX_FRAMES && v->n_frames == MAX_FRAMES;

	if (is_deep) /* what is left out of ours begins here */
		both = SP_MAX_FRAMES - SP_ROOT_FRAMES;

	while (same < both && (r->frames[same] & ~(SP_FRAME_GUESSED | SP_FRAME_DERIVED)) == word_expected(v, same))
		same++;
	t->n_stops++;
	t->n_frames += same;
	t->deepest = SP_MAX(t->deepest, same);
	t->n_complete += sp_stop_is_whole(v->stop) && !r->guessed;
	t->n_guessed += sp_stop_is_whole(v->stop) && r->guessed;
	t->n_cut += !sp_stop_is_whole(v->stop);
	if (same == r->n_frames && same == v->n_frames && (sp_stop_is_whole(v->stop) || v->libdw < 0))
		return;
	if (same == both && is_deep)
		return;
	if (excused(v, same)) {
		t->n_excused++;
		return;
	}
	t->n_different++;
	if (t->n_different <= 3)
		show(v, same, same < both ? "another caller" : r->n_frames > v->n_frames ? "we go on" : "we stop");
}

/*
 * Without the red zone the walk is the same, or is cut where a register's value is not to be had: never another. A leaf
 * that has popped its registers is where the two could differ.
 */
static void compare_above(struct victim *v, struct tally *t)
{
	static sp_u64 frames[SP_MAX_FRAMES];
	uint32_t n = v->r->n_frames, kept = SP_MIN(n, SP_MAX_FRAMES), stop = v->stop;

	memcpy(frames, v->r->frames, kept * sizeof(*frames));
	stopped_unwind_above(v);
	if (v->stop == stop && v->r->n_frames == n && !memcmp(frames, v->r->frames, kept * sizeof(*frames)))
		return;
	if ((v->stop == SP_STOP_COPY || v->stop == SP_STOP_REGISTER) && v->r->n_frames <= n &&
	    !memcmp(frames, v->r->frames, SP_MIN(v->r->n_frames, SP_MAX_FRAMES) * sizeof(*frames))) {
		t->n_cut_above++;
		return;
	}
	t->n_different++;
	print_message("%s: without the red zone stop %u after %u frames, not %u after %u\n", v->name, v->stop,
		      v->r->n_frames, stop, n);
}

/* --- stopping again and again --- */
/* Stops its youngest thread, compares, lets it go on. A signal that stopped it first is passed on. False: it is gone.
 */
static bool stop_once(struct victim *v, struct tally *t)
{
	int status, signal = 0;

	v->tid = stopped_youngest_thread(v->pid);
	if (ptrace(PTRACE_SEIZE, v->tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, v->tid, NULL, NULL) ||
	    waitpid(v->tid, &status, __WALL) != v->tid || !WIFSTOPPED(status))
		return false;
	if (status >> 16 != PTRACE_EVENT_STOP)
		signal = WSTOPSIG(status);
	stopped_maps_renew(v);
	stopped_unwind_libdw(v);
	stopped_unwind_ours(v);
	compare(v, t);
	compare_above(v, t);
	assert_int_equal(ptrace(PTRACE_DETACH, v->tid, NULL, signal), 0);
	return true;
}

static void run(const char *name, const char *const *args, unsigned n_stops, struct tally *ret_tally)
{
	struct victim v = {.name = name, .pid = stopped_start(args)};
	struct tally t = {0};

	v.r = malloc(sizeof(*v.r));
	assert_non_null(v.r);
	stopped_pause_ns(50000000);
	for (unsigned n_gone = 0; t.n_stops < n_stops && n_gone < 20; n_gone = stop_once(&v, &t) ? 0 : n_gone + 1)
		stopped_pause_ns(random() % 2000000);
	stopped_done(&v);
	print_message(
	    "%-22s %4llu stops, %6llu frames, deepest %3llu; %llu complete, %llu guessed, %llu cut; %llu excused, "
	    "%llu different, %llu cut without red zone\n",
	    name, (unsigned long long)t.n_stops, (unsigned long long)t.n_frames, (unsigned long long)t.deepest,
	    (unsigned long long)t.n_complete, (unsigned long long)t.n_guessed, (unsigned long long)t.n_cut,
	    (unsigned long long)t.n_excused, (unsigned long long)t.n_different, (unsigned long long)t.n_cut_above);
	*ret_tally = t;
}

struct program {
	const char *args[12];
	unsigned n_stops;
};

static uint64_t run_all(const struct program *programs, size_t n)
{
	uint64_t n_different = 0;
	size_t n_missing = 0;

	for (size_t i = 0; i < n; i++) {
		const char *slash = strrchr(programs[i].args[0], '/');
		struct tally t;

		if (access(programs[i].args[0], X_OK)) {
			print_message("%s is not here\n", programs[i].args[0]);
			n_missing++;
			continue;
		}
		run(slash + 1, programs[i].args, SP_MAX(programs[i].n_stops / SP_FEWER, 20), &t);
		n_different += t.n_different;
		assert_true(t.n_cut_above * 20 <= t.n_stops);
		assert_true(t.n_stops >= 20 && t.n_complete + t.n_guessed + t.n_cut == t.n_stops);
	}
	assert_true(n_missing <= n / 2); /* compilers and languages that are not installed */
	return n_different;
}

static void victims(void **state)
{
	static const struct program programs[] = {
	    {{VICTIMS "plain/recursion", "600", "100"}, 150},
	    {{VICTIMS "plain/callback", "600"}, 150},
	    {{VICTIMS "plain/signals", "600"}, 150},
	    {{VICTIMS "plain/frames", "600"}, 150},
	    {{VICTIMS "plain/vdso", "600"}, 150},
	    {{VICTIMS "plain/threads", "600"}, 100},
	    {{VICTIMS "plain/assembly", "600"}, 150},
	    {{VICTIMS "plain/kernel", "600"}, 150},
	    {{VICTIMS "plain/plt", "600"}, 150},
	    {{VICTIMS "plain/lazy", "600"}, 150},
	    {{VICTIMS "plain/exception", "600"}, 150},
	    {{VICTIMS "plain/cxx", "600"}, 150},
	    {{VICTIMS "plain/rusty", "600"}, 150},
	    {{VICTIMS "plain/coroutine", "600"}, 150},
	    {{VICTIMS "plain/jit", "600"}, 100},
	    {{VICTIMS "plain/noeh", "600"}, 100},
	    {{VICTIMS "stripped/recursion", "600", "300"}, 100},
	    {{VICTIMS "static/signals", "600"}, 150},
	    {{VICTIMS "staticpie/signals", "600"}, 150},
	};
	assert_int_equal(run_all(programs, SP_COUNT(programs)), 0);
}

static void real_programs(void **state)
{
	static const struct program programs[] = {
	    {{"/usr/bin/python3", "-c", "import json\nwhile 1: json.loads(json.dumps({'a': [sorted(range(50))] * 9}))"},
	     150},
	    {{"/usr/bin/xz", "-9kc", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"}, 60},
	    {{"/usr/bin/sqlite3", ":memory:",
	      "with recursive t(x) as (select 1 union all select x + 1 from t limit 90000000) "
	      "select count(*), sum(length(hex(x))) from t order by 1"},
	     150},
	    {{"/usr/bin/openssl", "speed", "-seconds", "60", "sha256"}, 100},
	    {{"/usr/bin/openssl", "speed", "-seconds", "60", "-evp", "aes-256-gcm"}, 100},
	    {{"/usr/bin/openssl", "speed", "-seconds", "60", "rsa2048"}, 100},
	    {{GCC "cc1", "-quiet", "-O3", "-D_GNU_SOURCE", "-imultiarch", "x86_64-linux-gnu",
	      "-I" SP_SOURCE_ROOT "/src", SP_SOURCE_ROOT "/src/profile/profile.c", "-o", "/dev/null"},
	     60},
	    {{GCC "cc1plus", "-quiet", "-O3", "-D_GNU_SOURCE", "-imultiarch", "x86_64-linux-gnu",
	      SP_SOURCE_ROOT "/tests/victim/cxx.cc", "-o", "/dev/null"},
	     60},
	    {{"/usr/bin/perl", "-e", "while (1) { $h{$_} = join ',', sort map { $_ * 7 } 1 .. 99 for 1 .. 99 }"}, 100},
	    {{"/bin/bash", "-c", "while :; do for ((i = 0; i < 999; i++)); do x=${x/a/b}$i; done; x=; done"}, 100},
	    {{"/usr/bin/gzip", "-9c", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"}, 50},
	};
	assert_int_equal(run_all(programs, SP_COUNT(programs)), 0);
}

/* --- guesses: every instruction of functions that have frame pointers and no unwind information --- */
enum { MAX_STEPS = 1000000, MAX_CODE = 4096, SAME_PLACE = 3 };
struct stepped {
	const char *function;
	uint32_t n_frames, n_places; /* n_frames: of a stack that begins in it */
};

static struct stepped *stepped_in(const struct victim *v, uint64_t ip, struct stepped *functions, size_t n)
{
	Dwfl_Module *module = dwfl_addrmodule(v->dwfl, ip);
	const char *name = module ? dwfl_module_addrname(module, ip) : NULL;

	for (size_t i = 0; name && i < n; i++)
		if (!strcmp(functions[i].function, name))
			return &functions[i];
	return NULL;
}

static void place_check(struct victim *v, uint64_t ip, struct stepped *f)
{
	stopped_unwind_ours(v);
	if (!sp_stop_is_whole(v->stop) || (f->n_places && v->r->n_frames != f->n_frames)) {
		print_message("%s at %#llx: %u frames, not %u; stop %u\n", f->function, (unsigned long long)ip,
			      v->r->n_frames, f->n_frames, v->stop);
		fail();
	}
	f->n_frames = v->r->n_frames;
	f->n_places++;
}

/* Neither a prologue nor a `ret` makes a guess skip the caller. */
static void guesses_at_every_instruction(void **state)
{
	const char *args[] = {VICTIMS "plain/noeh", "600", NULL};
	struct victim v = {.name = "noeh", .pid = stopped_start(args), .r = malloc(sizeof(*v.r))};
	struct stepped functions[] = {{.function = "noeh_outer"}, {.function = "noeh_inner"}};
	static uint8_t n_visits[MAX_CODE];
	int status;

	assert_int_equal(stopped_tables_drop(NULL), 0);
	stopped_derives = false;
	assert_int_equal(stopped_tables_make(NULL), 0);
	v.tid = v.pid;
	stopped_pause_ns(50000000);
	assert_int_equal(ptrace(PTRACE_SEIZE, v.tid, NULL, NULL) | ptrace(PTRACE_INTERRUPT, v.tid, NULL, NULL), 0);
	assert_int_equal(waitpid(v.tid, &status, __WALL), v.tid);
	stopped_maps_renew(&v);
	for (unsigned i = 0; i < MAX_STEPS && functions[0].n_places < 20; i++) {
		struct user_regs_struct u;

		assert_int_equal(ptrace(PTRACE_GETREGS, v.tid, NULL, &u), 0);
		const struct sp_map *m = stopped_map_at(&v, u.rip);
		if (m && strstr(v.path[m - v.maps], "libnoeh") && n_visits[u.rip % MAX_CODE]++ < SAME_PLACE) {
			struct stepped *f = stepped_in(&v, u.rip, functions, SP_COUNT(functions));

			if (f)
				place_check(&v, u.rip, f);
		}
		n_visits[u.rip % MAX_CODE] = SP_MIN(n_visits[u.rip % MAX_CODE], SAME_PLACE);
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, v.tid, NULL, NULL), 0);
		assert_int_equal(waitpid(v.tid, &status, __WALL), v.tid);
		assert_true(WIFSTOPPED(status));
	}
	print_message("%u places of noeh_outer, %u of noeh_inner\n", functions[0].n_places, functions[1].n_places);
	assert_true(functions[0].n_places >= 20 && functions[1].n_places >= 20);
	assert_int_equal(functions[1].n_frames, functions[0].n_frames + 1);
	stopped_done(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(victims),
	    cmocka_unit_test(real_programs),
	    cmocka_unit_test(guesses_at_every_instruction),
	};
	return cmocka_run_group_tests(tests, stopped_tables_make, stopped_tables_drop);
}
