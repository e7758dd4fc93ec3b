/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stopped.c: see stopped.h. */
#include "stopped.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include "unwind/build.h"
#include "unwind/priv.h"
#include "unwind/tables.h"
#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

enum { MAX_KNOWN = MAX_MAPS, WINDOWS = 96, MAX_THREADS = 256 };
enum { RED_ZONE = 128 }; /* a leaf's own, below the stack pointer; psABI 3.2.2 */

/* --- the tables of all files that were met, kept for the whole test --- */
struct known {
	dev_t dev;
	ino_t ino;
};
static struct known known[MAX_KNOWN];
static uint32_t n_known = 1;
static struct sp_tables *tables;
bool stopped_derives = true;

static void forget_derived(struct sp_blob *b)
{
	const struct sp_rule *rules = sp_blob_rules(b);
	uint32_t *rows = (uint32_t *)sp_blob_rows(b);

	for (uint32_t i = 0; i < b->n_rows; i++)
		if (rules[rows[i] >> 16].ra & SP_RULE_DERIVED)
			rows[i] &= 0xffff;
	b->check = sp_blob_hash(b);
}

static void load_elf(uint32_t file, struct sp_elf *e)
{
	SP_FREE struct sp_blob *b = NULL;

	assert_int_equal(sp_blob_build(e, &b), 0);
	sp_elf_close(e);
	if (!stopped_derives)
		forget_derived(b);
	if (!b->n_groups)
		sp_tables_set_code(tables, file, SP_TABLE_FP);
	else
		assert_int_equal(sp_tables_load(tables, file, b), 0);
}

static void load_path(uint32_t file, const char *path)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sp_elf *e = NULL;

	if (fd < 0 || sp_elf_open_fd(fd, &e) < 0)
		sp_tables_set_code(tables, file, SP_TABLE_FP);
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
		sp_tables_set_code(tables, file, SP_TABLE_FP);
	return file;
}

/* --- a stopped thread --- */
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

const struct sp_map *stopped_map_at(const struct victim *v, uint64_t addr)
{
	for (uint32_t i = 0; i < v->n_maps; i++)
		if (addr >= v->maps[i].start && addr < v->maps[i].end)
			return &v->maps[i];
	return NULL;
}

/* --- libdw --- */
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

void stopped_unwind_libdw(struct victim *v)
{
	v->n_frames = 0;
	dwfl_errno();
	v->libdw = dwfl_getthread_frames(v->dwfl, v->tid, frame_take, v);
	snprintf(v->libdw_error, sizeof(v->libdw_error), "%s", v->libdw < 0 ? dwfl_errmsg(-1) : "no error");
}

/* --- ours --- */
size_t stopped_memory(const struct victim *v, uint64_t addr, void *to, size_t size)
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
	struct sp_message_pending *r = v->r;

	assert_int_equal(ptrace(PTRACE_GETREGS, v->tid, NULL, &u), 0);
	r->regs = (struct sp_regs){
	    .ip = u.rip,
	    .sp = u.rsp,
	    .fp = u.rbp,
	    .r = {u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9, u.r10, u.r11, u.r12, u.r13, u.r14,
		  u.r15},
	};
	r->how = SP_HOW_EXACT | SP_HOW_FIRST | SP_HOW_REGS;
	r->n_frames = r->guessed = 0;
	r->code_bytes = stopped_memory(v, u.rip - SP_CODE_BEFORE, r->code, sizeof(r->code)) == sizeof(r->code)
			    ? sizeof(r->code)
			    : 0;
}

static void unwind_ours(struct victim *v, uint64_t below)
{
	struct sp_finish_memory memory = {.maps = v->maps, .n_maps = v->n_maps, .has_all_maps = true};
	struct sp_message_pending *r = v->r;
	static uint8_t stack[SP_PENDING_STACK];
	uint64_t sp = 0;

	regs_take(v);
	for (uint32_t window = 0;; window++) { /* beyond the first: above a frame that is larger than a copy */
		memory.stack = stack;
		memory.stack_at = r->regs.sp - below + window * (SP_PENDING_STACK - 64UL);
		memory.stack_bytes = stopped_memory(v, memory.stack_at, stack, SP_PENDING_STACK);
		sp = r->regs.sp;
		assert_int_equal(sp_finish(tables, r, &memory, SP_UNWIND_AUTO, &v->stop), 0);
		if ((v->stop != SP_STOP_READ && v->stop != SP_STOP_COPY) || window == WINDOWS)
			return;
		if (r->regs.sp != sp)
			window = UINT32_MAX; /* it got on: the next copy begins at the stack pointer */
		r->n_frames--;               /* the one that is tried again */
	}
}

void stopped_unwind_ours(struct victim *v)
{
	unwind_ours(v, RED_ZONE);
}

void stopped_unwind_above(struct victim *v)
{
	unwind_ours(v, 0);
}

/* --- running programs --- */
pid_t stopped_start(const char *const *args)
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

pid_t stopped_youngest_thread(pid_t pid)
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

struct thread {
	pid_t tid;
	unsigned long long cpu_ns;
};

static struct thread thread_of(pid_t pid, const char *tid)
{
	struct thread t = {.tid = (pid_t)strtol(tid, NULL, 10)};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat", pid, tid);
	SP_FCLOSE FILE *f = fopen(path, "re");
	if (!f || fscanf(f, "%llu", &t.cpu_ns) != 1)
		t.cpu_ns = 0;
	return t;
}

static int busier(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->cpu_ns < y->cpu_ns) - (x->cpu_ns > y->cpu_ns);
}

pid_t stopped_busy_thread(pid_t pid, unsigned number)
{
	struct thread threads[MAX_THREADS];
	char path[64];
	struct dirent *e;
	unsigned n = 0, n_busy = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && n < MAX_THREADS && (e = readdir(dir)))
		if (*e->d_name != '.')
			threads[n++] = thread_of(pid, e->d_name);
	if (dir)
		closedir(dir);
	if (!n)
		return 0;
	qsort(threads, n, sizeof(*threads), busier);
	while (n_busy < n && threads[n_busy].cpu_ns >= threads[0].cpu_ns / 8)
		n_busy++;
	return threads[number % n_busy].tid;
}

void stopped_pause_ns(long ns)
{
	struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

void stopped_maps_renew(struct victim *v)
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

int stopped_tables_make(void **state)
{
	(void)state;
	n_known = 1;
	return sp_tables_new(NULL, -1, 256ULL << 20, &tables);
}

int stopped_tables_drop(void **state)
{
	(void)state;
	sp_tables_free(tables);
	return 0;
}

void stopped_done(struct victim *v)
{
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, __WALL);
	dwfl_end(v->dwfl);
	free(v->maps_text);
	free(v->r);
}
