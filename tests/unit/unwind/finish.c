/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder in the user half says what elfutils' libdw says, of programs stopped by ptrace at random moments: the
 * same registers, the same memory, every frame compared. Victims (tests/victim) and real programs of Debian.
 *
 * Where the two differ, the difference is printed with the address in question and counts as a failure, but for what
 * `excused()` names. The kernel's copy of a stack is 16 KiB; here it is renewed when the walk comes to its end, so that
 * deep stacks are compared to their root.
 */
#include "unwind/finish.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/build.h"
#include "unwind/tables.h"
#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define GCC "/usr/lib/gcc/x86_64-linux-gnu/12/"
#define VICTIMS SP_BUILD_ROOT "/tests/victim/"
enum { MAX_MAPS = SP_PENDING_MAPS - 1, MAX_KNOWN = 256, MAX_FRAMES = SP_MAX_FRAMES + 8, MAX_PATH = 512, WINDOWS = 24 };
enum { RED_ZONE = 128 }; /* a leaf's own, below the stack pointer; psABI 3.2.2 */

/* --- the tables of all files that were met, kept for the whole test ------------------------------------------------
 */
struct known {
	dev_t dev;
	ino_t ino;
};
static struct known known[MAX_KNOWN];
static uint32_t n_known = 1;
static struct sp_tables *tables;

static void load_elf(uint32_t file, struct sp_elf *e)
{
	SP_FREE struct sp_blob *b = NULL;

	assert_int_equal(sp_blob_build(e, &b), 0);
	sp_elf_close(e);
	if (b->flags & SP_BLOB_NO_EH_FRAME || !b->n_groups)
		sp_tables_set_fp(tables, file);
	else
		assert_int_equal(sp_tables_load(tables, file, b), 0);
}

static void load_path(uint32_t file, const char *path)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sp_elf *e = NULL;

	if (fd < 0 || sp_elf_open_fd(fd, &e) < 0)
		sp_tables_set_fp(tables, file);
	else
		load_elf(file, e);
}

static void load_vdso(uint32_t file)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR); /* ours is everyone's */
	struct sp_elf *e = NULL;

	assert_non_null(image);
	assert_int_equal(sp_elf_open_bytes(image, 8192, &e), 0);
	load_elf(file, e);
}

static uint32_t file_of(dev_t dev, ino_t ino, const char *path)
{
	uint32_t file;

	for (file = 1; file < n_known; file++)
		if (known[file].dev == dev && known[file].ino == ino)
			return file;
	assert_true(n_known < MAX_KNOWN);
	known[n_known++] = (struct known){.dev = dev, .ino = ino};
	if (!strcmp(path, "[vdso]"))
		load_vdso(file);
	else if (ino)
		load_path(file, path);
	else
		sp_tables_set_fp(tables, file);
	return file;
}

/* --- a stopped thread ----------------------------------------------------------------------------------------------
 */
struct frame {
	uint64_t pc; /* as libdw gives it: a caller's is its return address */
};
struct victim {
	const char *name;
	pid_t pid, tid;
	struct sp_map maps[MAX_MAPS];
	char path[MAX_MAPS][MAX_PATH];
	uint32_t n_maps;
	char *maps_text;
	Dwfl *dwfl;
	struct sp_record_pending *r;
	uint32_t stop;
	struct frame frames[MAX_FRAMES];
	uint32_t n_frames;
	int libdw; /* what dwfl_getthread_frames returned */
	char libdw_error[128];
};
struct tally {
	uint64_t n_stops, n_frames, n_complete, n_guessed, n_cut, n_excused, deepest;
	uint64_t n_different;
};

static char *text_of(pid_t pid, const char *what)
{
	char path[64];
	size_t capacity = 0, n = 0;
	char *text = NULL;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	do {
		assert_int_equal(sp_grow(&text, &capacity, n + 65537, 1), 0);
		got = read(fd, text + n, 65536);
		n += (size_t)SP_MAX(got, 0);
	} while (got > 0);
	text[n] = 0;
	return text;
}

static void map_add(struct victim *v, char *line)
{
	unsigned long start, end, offset, major, minor, inode;
	char flags[8], path[MAX_PATH] = "";

	if (sscanf(line, "%lx-%lx %7s %lx %lx:%lx %lu %511[^\n]", &start, &end, flags, &offset, &major, &minor, &inode,
		   path) < 7 ||
	    flags[2] != 'x' || start >= 1UL << 47)
		return;
	bool vdso = !strcmp(path, "[vdso]");
	uint32_t file = file_of(major << 20 | minor, vdso ? 1 : inode, path);
	struct sp_map *m = &v->maps[v->n_maps];

	assert_true(v->n_maps < MAX_MAPS);
	*m = (struct sp_map){.start = start, .end = end, .shift_by = vdso ? -start : offset - start};
	m->word = (inode || vdso ? SP_FRAME_FILE : SP_FRAME_ANON) << SP_FRAME_KIND_SHIFT | (uint64_t)file
											       << SP_FRAME_ID_SHIFT;
	if (!inode && !vdso)
		m->shift_by = 0;
	snprintf(v->path[v->n_maps++], MAX_PATH, "%s", path);
}

static const struct sp_map *map_at(const struct victim *v, uint64_t addr)
{
	for (uint32_t i = 0; i < v->n_maps; i++)
		if (addr >= v->maps[i].start && addr < v->maps[i].end)
			return &v->maps[i];
	return NULL;
}

/* --- libdw ---------------------------------------------------------------------------------------------------------
 */
static void dwfl_open(struct victim *v)
{
	static char *no_path;
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo,
						 .debuginfo_path = &no_path};

	if (v->dwfl)
		dwfl_end(v->dwfl);
	v->dwfl = dwfl_begin(&callbacks);
	assert_non_null(v->dwfl);
	assert_int_equal(dwfl_linux_proc_report(v->dwfl, v->pid), 0);
	assert_int_equal(dwfl_report_end(v->dwfl, NULL, NULL), 0);
	assert_int_equal(dwfl_linux_proc_attach(v->dwfl, v->pid, true), 0);
}

static int frame_take(Dwfl_Frame *state, void *arg)
{
	struct victim *v = arg;
	Dwarf_Addr pc;

	if (v->n_frames == MAX_FRAMES || !dwfl_frame_pc(state, &pc, NULL))
		return DWARF_CB_ABORT;
	v->frames[v->n_frames++].pc = pc;
	return DWARF_CB_OK;
}

static void unwind_libdw(struct victim *v)
{
	v->n_frames = 0;
	dwfl_errno();
	v->libdw = dwfl_getthread_frames(v->dwfl, v->tid, frame_take, v);
	snprintf(v->libdw_error, sizeof(v->libdw_error), "%s", v->libdw < 0 ? dwfl_errmsg(-1) : "no error");
}

/* --- ours ----------------------------------------------------------------------------------------------------------
 */
static size_t memory_of(const struct victim *v, uint64_t addr, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size}, remote[SP_PENDING_STACK / 4096 + 1];
	unsigned n = 0;
	ssize_t got;

	for (size_t done = 0; done < size; n++) { /* page by page: a hole ends the copy and does not prevent it */
		size_t some = SP_MIN(4096 - ((addr + done) & 4095), size - done);

		remote[n] = (struct iovec){.iov_base = (void *)(addr + done), .iov_len = some};
		done += some;
	}
	got = process_vm_readv(v->pid, &local, 1, remote, n, 0);
	return got < 0 ? 0 : (size_t)got;
}

static void regs_take(struct victim *v)
{
	struct user_regs_struct u;
	struct sp_record_pending *r = v->r;

	assert_int_equal(ptrace(PTRACE_GETREGS, v->tid, NULL, &u), 0);
	r->regs = (struct sp_regs){
	    .ip = u.rip,
	    .sp = u.rsp,
	    .fp = u.rbp,
	    .r = {u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9, u.r10, u.r11, u.r12, u.r13, u.r14,
		  u.r15},
	};
	r->how = SP_HOW_EXACT | SP_HOW_REGS;
	r->n_frames = r->guessed = 0;
	r->n_maps = v->n_maps;
	memcpy(r->maps, v->maps, v->n_maps * sizeof(*v->maps));
}

static void unwind_ours(struct victim *v)
{
	struct sp_record_pending *r = v->r;
	uint64_t sp = 0;

	regs_take(v);
	for (uint32_t window = 0;; window++) { /* beyond the first: above a frame that is larger than a copy */
		r->stack_at = r->regs.sp - RED_ZONE + window * (SP_PENDING_STACK - 64UL);
		r->stack_bytes = (sp_u32)memory_of(v, r->stack_at, r->stack, SP_PENDING_STACK);
		sp = r->regs.sp;
		assert_int_equal(sp_finish(tables, r, SP_UNWIND_AUTO, &v->stop), 0);
		if (v->stop != SP_STOP_READ || window == WINDOWS)
			return;
		if (r->regs.sp != sp)
			window = UINT32_MAX; /* it got on: the next copy begins at the stack pointer */
		r->n_frames--;               /* the one that is tried again */
	}
}

/* --- comparison ----------------------------------------------------------------------------------------------------
 */
/* Whether this is in a signal trampoline (mov $15, %rax; syscall): what it returns to was interrupted. */
static bool is_trampoline(const struct victim *v, uint64_t pc)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint8_t at[sizeof(code)];

	for (uint64_t start = pc - 7; start <= pc; start += 7) /* at either instruction */
		if (memory_of(v, start, at, sizeof(at)) == sizeof(at) && !memcmp(at, code, sizeof(code)))
			return true;
	return false;
}

static uint64_t word_expected(const struct victim *v, uint32_t i)
{
	bool exact = !i || is_trampoline(v, v->frames[i - 1].pc);
	uint64_t addr = v->frames[i].pc - !exact;
	const struct sp_map *m = map_at(v, addr);

	return m ? m->word | ((addr + m->shift_by) & SP_FRAME_OFFSET_MASK) : UINT64_MAX;
}

static void where(const struct victim *v, uint64_t pc)
{
	const struct sp_map *m = map_at(v, pc);

	print_message(" %#llx", (unsigned long long)pc);
	if (m)
		print_message(" (%s+%#llx)", v->path[m - v->maps], (unsigned long long)(pc + m->shift_by));
}

static void show(const struct victim *v, uint32_t same, const char *what)
{
	const struct sp_record_pending *r = v->r;

	print_message("%s: %s; %u frames agree, ours: %u, stop %u, flags %#x; libdw: %u, %s\n", v->name, what, same,
		      r->n_frames, v->stop, r->guessed, v->n_frames, v->libdw_error);
	for (uint32_t i = same > 2 ? same - 2 : 0; i < same + 3; i++) {
		print_message("  #%u", i);
		if (i < r->n_frames)
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
	const struct sp_map *m = map_at(v, v->frames[frame].pc);

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
	/*
	 * Lazy binding's CFA is counted from rbx. libdw loses rbx where the callee (_dl_fixup's first instructions) has
	 * not saved it yet, and ends the stack without an error; gdb goes on, to the caller that we find.
	 */
	if (v->stop == SP_STOP_COMPLETE && same && same == v->n_frames && !v->libdw && is_in(v, same - 1, "/ld-linux-"))
		return true;
	if (v->stop != SP_STOP_UNMAPPED || same != v->r->n_frames)
		return false;
	return v->n_frames == same ? v->r->regs.ip == 0 : v->n_frames == same + 1 && !map_at(v, v->frames[same].pc - 1);
}

static void compare(struct victim *v, struct tally *t)
{
	const struct sp_record_pending *r = v->r;
	uint32_t same = 0, both = SP_MIN(r->n_frames, v->n_frames);

	while (same < both && (r->frames[same] & ~SP_FRAME_GUESSED) == word_expected(v, same))
		same++;
	t->n_stops++;
	t->n_frames += same;
	t->deepest = SP_MAX(t->deepest, same);
	t->n_complete += v->stop == SP_STOP_COMPLETE && !r->guessed;
	t->n_guessed += v->stop == SP_STOP_COMPLETE && r->guessed;
	t->n_cut += v->stop != SP_STOP_COMPLETE;
	if (same == r->n_frames && same == v->n_frames && (v->stop == SP_STOP_COMPLETE || v->libdw < 0))
		return;
	if (same == r->n_frames && v->stop == SP_STOP_DEEP)
		return;
	if (excused(v, same)) {
		t->n_excused++;
		return;
	}
	t->n_different++;
	if (t->n_different <= 3)
		show(v, same, same < both ? "another caller" : r->n_frames > v->n_frames ? "we go on" : "we stop");
}

/* --- running programs ----------------------------------------------------------------------------------------------
 */
static pid_t start(const char *const *args)
{
	int alive[2];
	char byte;

	assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(open("/dev/null", O_RDWR), STDIN_FILENO);
		dup2(STDIN_FILENO, STDOUT_FILENO);
		dup2(STDIN_FILENO, STDERR_FILENO);
		execv(args[0], (char *const *)args);
		_exit(127);
	}
	assert_true(pid > 0);
	close(alive[1]);
	assert_int_equal(read(alive[0], &byte, 1), 0); /* until it has become the program */
	close(alive[0]);
	return pid;
}

static pid_t youngest_thread(pid_t pid)
{
	char path[64];
	struct dirent *e;
	pid_t tid = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((e = readdir(dir)))
		tid = SP_MAX(tid, (pid_t)strtol(e->d_name, NULL, 10));
	closedir(dir);
	return tid;
}

static void pause_ns(long ns)
{
	struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

static void maps_renew(struct victim *v)
{
	char *text = text_of(v->pid, "maps"), *save = NULL, *old = v->maps_text;

	if (old && !strcmp(old, text)) {
		free(text);
		return;
	}
	v->maps_text = strdup(text);
	v->n_maps = 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		map_add(v, line);
	free(text);
	free(old);
	dwfl_open(v);
}

/* Stops its youngest thread, compares, lets it go on. A signal that stopped it first is passed on. False: it is gone.
 */
static bool stop_once(struct victim *v, struct tally *t)
{
	int status, signal = 0;

	v->tid = youngest_thread(v->pid);
	if (ptrace(PTRACE_SEIZE, v->tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, v->tid, NULL, NULL) ||
	    waitpid(v->tid, &status, __WALL) != v->tid || !WIFSTOPPED(status))
		return false;
	if (status >> 16 != PTRACE_EVENT_STOP)
		signal = WSTOPSIG(status);
	maps_renew(v);
	unwind_libdw(v);
	unwind_ours(v);
	compare(v, t);
	assert_int_equal(ptrace(PTRACE_DETACH, v->tid, NULL, signal), 0);
	return true;
}

static void run(const char *name, const char *const *args, unsigned n_stops, struct tally *ret_tally)
{
	struct victim v = {.name = name, .pid = start(args)};
	struct tally t = {0};

	v.r = malloc(sizeof(*v.r));
	assert_non_null(v.r);
	pause_ns(50000000);
	for (unsigned n_gone = 0; t.n_stops < n_stops && n_gone < 20; n_gone = stop_once(&v, &t) ? 0 : n_gone + 1)
		pause_ns(random() % 2000000);
	kill(v.pid, SIGKILL);
	waitpid(v.pid, NULL, __WALL);
	dwfl_end(v.dwfl);
	free(v.maps_text);
	free(v.r);
	print_message(
	    "%-22s %4llu stops, %6llu frames, deepest %3llu; %llu complete, %llu guessed, %llu cut; %llu excused, "
	    "%llu different\n",
	    name, (unsigned long long)t.n_stops, (unsigned long long)t.n_frames, (unsigned long long)t.deepest,
	    (unsigned long long)t.n_complete, (unsigned long long)t.n_guessed, (unsigned long long)t.n_cut,
	    (unsigned long long)t.n_excused, (unsigned long long)t.n_different);
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
		run(slash + 1, programs[i].args, programs[i].n_stops, &t);
		n_different += t.n_different;
		assert_true(t.n_stops >= 20 && t.n_complete + t.n_guessed + t.n_cut == t.n_stops);
	}
	assert_true(n_missing <= n / 2); /* compilers and languages that are not installed */
	return n_different;
}

static void victims(void **state)
{
	static const struct program programs[] = {
	    {{VICTIMS "plain/recursion", "600", "100"}, 300},
	    {{VICTIMS "plain/callback", "600"}, 300},
	    {{VICTIMS "plain/signals", "600"}, 300},
	    {{VICTIMS "plain/frames", "600"}, 300},
	    {{VICTIMS "plain/vdso", "600"}, 300},
	    {{VICTIMS "plain/threads", "600"}, 100},
	    {{VICTIMS "plain/assembly", "600"}, 300},
	    {{VICTIMS "plain/kernel", "600"}, 300},
	    {{VICTIMS "plain/plt", "600"}, 300},
	    {{VICTIMS "plain/lazy", "600"}, 300},
	    {{VICTIMS "plain/exception", "600"}, 300},
	    {{VICTIMS "plain/cxx", "600"}, 300},
	    {{VICTIMS "plain/rusty", "600"}, 300},
	    {{VICTIMS "plain/coroutine", "600"}, 300},
	    {{VICTIMS "plain/jit", "600"}, 100},
	    {{VICTIMS "plain/noeh", "600"}, 100},
	    {{VICTIMS "stripped/recursion", "600", "300"}, 100},
	    {{VICTIMS "static/signals", "600"}, 300},
	    {{VICTIMS "staticpie/signals", "600"}, 300},
	};
	(void)state;
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
	(void)state;
	assert_int_equal(run_all(programs, SP_COUNT(programs)), 0);
}

static int tables_make(void **state)
{
	(void)state;
	return sp_tables_new(-1, -1, 64ULL << 20, &tables);
}

static int tables_drop(void **state)
{
	(void)state;
	sp_tables_free(tables);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(victims),
	    cmocka_unit_test(real_programs),
	};
	return cmocka_run_group_tests(tests, tables_make, tables_drop);
}
