/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes on a copy of this program, counted by a BPF program of a few instructions, against how often the copy says
 * that it has called its functions: by links and by events of tracefs, at beginnings and ends, in one process and in
 * all; a place that the kernel refuses costs no other; nothing is left of a maker that was killed.
 */
#include "probe/attach.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "probe/attach_priv.h"
#include "test.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBED static __attribute__((noinline, noclone, used, noipa))
PROBED int first_called(int n)
{
	return n + 1;
}

PROBED int second_called(int n)
{
	return n * 3;
}

/* The kernel takes no breakpoint at an instruction with this prefix. */
PROBED __attribute__((naked)) void refused_called(void)
{
	__asm__("lock; incl -4(%rsp)\n ret");
}

/* --- the copy --- */
static char copy[64];

static int copy_run(int argc, char **argv)
{
	int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0, sum = 0;
	char go;

	if (read(STDIN_FILENO, &go, 1) != 1)
		return 1;
	for (int i = 0; i < n; i++)
		sum += first_called(i) + second_called(i);
	return sum == 1;
}

/* Waits until the process has mapped the copy. */
static void executed_wait(pid_t pid)
{
	char link[64], path[128];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	do {
		usleep(1000);
		n = readlink(link, path, sizeof(path));
	} while (n != (ssize_t)strlen(copy) || memcmp(path, copy, (size_t)n) != 0);
}

/* A process that calls both functions n times once a byte is written to *ret_go. */
static pid_t caller_begin(int n, int *ret_go)
{
	char number[16];
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	snprintf(number, sizeof(number), "%d", n);
	pid = fork();
	if (!pid) {
		dup2(ends[0], STDIN_FILENO);
		execl(copy, copy, "call", number, NULL);
		_exit(127);
	}
	close(ends[0]);
	*ret_go = ends[1];
	return pid;
}

static void caller_end(pid_t pid, int go)
{
	int status;

	assert_int_equal(write(go, "", 1), 1);
	close(go);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void call(int n)
{
	int go;
	pid_t pid = caller_begin(n, &go);

	caller_end(pid, go);
}

/* The offset of one of our functions in our file, by the mapping that it lies in. */
static uint64_t offset_of(const void *function)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset, at = (unsigned long)function;
	char line[4096];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && at >= start && at < end) {
			fclose(f);
			return at - start + offset;
		}
	fail();
	return 0;
}

/* --- a program that counts --- */
struct counting {
	int map;
	struct sp_probe_program program;
};

static struct counting counting_new(enum sp_probe_kind kind, bool by_link)
{
	struct counting c = {.map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "counts", 4, 8, 1, NULL), .program.kind = kind};
	const struct bpf_insn code[] = {
	    {.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4}, /* key = 0 */
	    {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
	    {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4},
	    {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = c.map},
	    {0},
	    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
	    {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 2},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1},
	    {.code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 0, .src_reg = 1, .imm = BPF_ADD},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o,
		    .expected_attach_type = (enum bpf_attach_type)(by_link ? sp_probe_attach_type(kind) : 0));

	assert_true(c.map >= 0);
	c.program.fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "count", "GPL", code, SP_COUNT(code), &o);
	assert_true(c.program.fd >= 0);
	return c;
}

static uint64_t counted(const struct counting *c)
{
	uint32_t key = 0;
	uint64_t n = 0;

	assert_int_equal(bpf_map_lookup_elem(c->map, &key, &n), 0);
	return n;
}

static void counting_done(const struct counting *c)
{
	close(c->map);
	close(c->program.fd);
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skip: needs root\n");
	skip();
}

static void need_links(void)
{
	need_root();
	if (sp_probe_has(SP_PROBE_ENTRY))
		return;
	print_message("skip: this kernel has no such links\n");
	skip();
}

static int copy_open(void)
{
	int fd = open(copy, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* --- by links --- */
static void count_kind(enum sp_probe_kind kind, uint64_t want)
{
	struct counting c = counting_new(kind, true);
	uint64_t offsets[] = {offset_of((void *)first_called), offset_of((void *)second_called)};
	struct sp_probe_at at = {.offsets = offsets, .n = 2};
	struct sp_probe_link link;
	int fd = copy_open();

	assert_int_equal(sp_probe_attach(&c.program, fd, &at, 0, &link), 0);
	assert_int_equal(link.n_fds, 1);
	close(fd);
	call(1000);
	assert_int_equal(counted(&c), want);
	sp_probe_detach(&link);
	call(1000);
	assert_int_equal(counted(&c), want);
	counting_done(&c);
}

static void links_count_calls(void **state)
{
	need_links();
	count_kind(SP_PROBE_ENTRY, 2000);
	count_kind(SP_PROBE_RETURN, 2000);
	if (sp_probe_has(SP_PROBE_SESSION))
		count_kind(SP_PROBE_SESSION, 4000);
}

/* Two processes are there already, of which one is asked for; a third comes later. */
/* Who makes many files with a name that is probed does not have us wait for each of them when we end. */
static void many_are_detached_at_once(void **state)
{
	enum { SOME = 2, MANY = 48 };
	struct sp_probe_link links[SOME + MANY], *all[MANY];
	struct counting c;
	uint64_t offset = offset_of((void *)first_called), began_ns, one_ns, many_ns;
	const struct sp_probe_at at = {.offsets = &offset, .n = 1};
	int fd;

	need_links();
	c = counting_new(SP_PROBE_ENTRY, true);
	fd = copy_open();
	for (size_t i = 0; i < SOME + MANY; i++)
		assert_int_equal(sp_probe_attach(&c.program, fd, &at, 0, &links[i]), 0);
	began_ns = sp_time_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < SOME; i++)
		sp_probe_detach(&links[i]);
	one_ns = (sp_time_ns(CLOCK_MONOTONIC) - began_ns) / SOME;
	for (size_t i = 0; i < MANY; i++)
		all[i] = &links[SOME + i];
	began_ns = sp_time_ns(CLOCK_MONOTONIC);
	sp_probe_detach_some(all, MANY);
	many_ns = sp_time_ns(CLOCK_MONOTONIC) - began_ns;
	print_message("one: %.1f ms, %d: %.1f ms\n", (double)one_ns / 1e6, (int)MANY, (double)many_ns / 1e6);
	assert_true(many_ns < one_ns * MANY / 2);
	call(100);
	assert_int_equal(counted(&c), 0);
	close(fd);
	counting_done(&c);
}

static void one_process_alone(void **state)
{
	uint64_t offset = offset_of((void *)first_called);
	struct sp_probe_at at = {.offsets = &offset, .n = 1};
	struct sp_probe_link link;
	struct counting c;
	int fd, go[2];
	pid_t pids[2];

	need_links();
	c = counting_new(SP_PROBE_ENTRY, true);
	fd = copy_open();
	pids[0] = caller_begin(700, &go[0]);
	pids[1] = caller_begin(90, &go[1]);
	executed_wait(pids[0]);
	executed_wait(pids[1]);
	assert_int_equal(sp_probe_attach(&c.program, fd, &at, pids[0], &link), 0);
	caller_end(pids[0], go[0]);
	caller_end(pids[1], go[1]);
	call(8);
	assert_int_equal(counted(&c), 700);
	sp_probe_detach(&link);
	close(fd);
	counting_done(&c);
}

/* A process maps the file, so that the kernel has to look at each place at once. */
static void a_bad_place_costs_no_other(void **state)
{
	uint64_t offsets[] = {offset_of((void *)first_called), offset_of((void *)refused_called),
			      offset_of((void *)second_called)};
	struct sp_probe_at at = {.offsets = offsets, .n = 3};
	struct sp_probe_link link;
	struct counting c;
	pid_t pid;
	int fd, go;

	need_links();
	c = counting_new(SP_PROBE_ENTRY, true);
	fd = copy_open();
	pid = caller_begin(50, &go);
	executed_wait(pid);
	assert_int_equal(sp_probe_attach(&c.program, fd, &at, 0, &link), 0);
	assert_int_equal(link.n_refused, 1);
	assert_int_equal(link.refused_place, 1);
	caller_end(pid, go);
	assert_int_equal(counted(&c), 100);
	sp_probe_detach(&link);
	close(fd);
	counting_done(&c);
}

/* --- by events of tracefs --- */
static bool has_event(const char *name)
{
	SP_FREE char *list = NULL;

	return sp_text_read("/sys/kernel/tracing/uprobe_events", 1 << 20, &list, NULL) >= 0 && strstr(list, name);
}

static void need_tracefs(void)
{
	need_root();
	if (!access("/sys/kernel/tracing/uprobe_events", W_OK))
		return;
	print_message("skip: tracefs is not mounted, or not ours to write\n");
	skip();
}

static void event_attach(const struct counting *c, struct sp_probe_link *ret_link)
{
	uint64_t offsets[] = {offset_of((void *)first_called), offset_of((void *)second_called)};
	struct sp_probe_at at = {.offsets = offsets, .n = 2};
	struct sp_probe_want w = {.program = &c->program};
	int fd = copy_open();

	*ret_link = (struct sp_probe_link){.n_fds = 0};
	snprintf(w.path, sizeof(w.path), "/proc/self/fd/%d", fd);
	assert_int_equal(sp_probe_event_attach(&w, &at, ret_link), 0);
	close(fd);
}

static void one_event_counts_all_places(void **state)
{
	const enum sp_probe_kind kinds[] = {SP_PROBE_ENTRY, SP_PROBE_RETURN};

	need_tracefs();
	for (size_t i = 0; i < SP_COUNT(kinds); i++) {
		struct counting c = counting_new(kinds[i], false);
		struct sp_probe_link link;
		char name[64];

		event_attach(&c, &link);
		assert_int_equal(link.n_fds, 1);
		snprintf(name, sizeof(name), "%s", link.events[0]);
		assert_true(has_event(name));
		call(1000);
		assert_int_equal(counted(&c), 2000);
		sp_probe_detach(&link);
		assert_false(has_event(name));
		counting_done(&c);
	}
}

/* A living maker's event stays; a killed one's goes. */
static void what_the_dead_left_is_removed(void **state)
{
	struct sp_probe_link link, childs;
	struct counting c;
	char mine[64], word[32];
	int status;
	size_t n;
	pid_t pid;

	need_tracefs();
	c = counting_new(SP_PROBE_ENTRY, false);
	event_attach(&c, &link);
	snprintf(mine, sizeof(mine), "%s", link.events[0]);
	pid = fork();
	if (!pid) {
		event_attach(&c, &childs);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	snprintf(word, sizeof(word), "/p%d_", (int)pid);
	assert_true(has_event(word));
	n = 0;
	for (int i = 0; has_event(word) && i < 100; i++) { /* its descriptors are closed a little later */
		assert_int_equal(sp_probe_clean(&n), 0);
		usleep(10000);
	}
	assert_false(has_event(word));
	assert_true(has_event(mine));
	sp_probe_detach(&link);
	counting_done(&c);
}

static int shell(const char *command)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int copy_make(void **state)
{
	char command[160];

	snprintf(copy, sizeof(copy), "/tmp/soprof-attach-%d", (int)getpid());
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), copy);
	return shell(command);
}

static int copy_remove(void **state)
{
	return unlink(copy);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(links_count_calls),           cmocka_unit_test(many_are_detached_at_once),
	    cmocka_unit_test(one_process_alone),           cmocka_unit_test(a_bad_place_costs_no_other),
	    cmocka_unit_test(one_event_counts_all_places), cmocka_unit_test(what_the_dead_left_is_removed),
	};

	if (argc > 1 && !strcmp(argv[1], "call"))
		return copy_run(argc, argv);
	return cmocka_run_group_tests(tests, copy_make, copy_remove);
}
