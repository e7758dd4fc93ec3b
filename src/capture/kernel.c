/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/kernel.h"
#include "base/aside.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/priv.h"
#include "proc/process.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SP_LOG_BYTES = 2048,
	SP_SEEK_PASSES = 8,
	SP_RING_BYTES = 2 << 20 /* for each CPU */,
	SP_MAX_RING_BYTES = 32 << 20
};

/* The end of libbpf's messages: the reason of a refusal is in it. Each thread that loads has its own. */
static _Thread_local char log_tail[SP_LOG_BYTES];
static _Thread_local size_t log_length;

static int log_keep(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[1024];
	int n;

	if (level == LIBBPF_DEBUG)
		return 0;
	n = vsnprintf(line, sizeof(line), format, args);
	if (n <= 0)
		return 0;
	n = SP_MIN(n, (int)sizeof(line) - 1);
	if (log_length + (size_t)n >= sizeof(log_tail))
		log_length = 0;
	memcpy(log_tail + log_length, line, (size_t)n + 1);
	log_length += (size_t)n;
	return 0;
}

/*
 * In place of libbpf's own, which it calls through the dynamic linker when the kernel itself lacks a type or a
 * function, to look for it in modules. To list BTF objects is for CAP_SYS_ADMIN, which the agent does not have, and
 * libbpf 1.1 takes that refusal for a reason to load nothing. What we lack on older kernels is in no module: the
 * list is empty then.
 */
__attribute__((visibility("default"))) int bpf_btf_get_next_id(uint32_t start_id, uint32_t *next_id)
{
	union bpf_attr a = {.start_id = start_id};

	if (!syscall(SYS_bpf, BPF_BTF_GET_NEXT_ID, &a, sizeof(a))) {
		*next_id = a.next_id;
		return 0;
	}
	if (errno == EPERM)
		errno = ENOENT;
	return -errno;
}

/* The first warning, without libbpf's prefix and newline. It is the cause; the warnings after it are consequences. */
static const char *log_cause(void)
{
	char *s = log_tail, *newline;

	if (!strncmp(s, "libbpf: ", 8))
		s += 8;
	newline = strchr(s, '\n');
	if (newline)
		*newline = 0;
	return s;
}

static void config_write(struct sp_capture *c)
{
	struct sp_config *g = c->recipe.config;

	g->unwind = c->o.unwind;
	g->filter = c->o.filter;
	g->user = c->o.user;
	g->kernel = c->o.kernel;
	g->idle = c->o.idle;
	g->time_own = c->o.time_own;
	g->seek_targets = sp_capture_knows_targets(&c->o);
	g->cgroup = c->o.cgroup;
	g->cgroup_level = c->o.cgroup_level;
	g->objects = c->o.objects;
	g->wakers = c->o.wakers != SP_NO_WAKERS;
}

enum {
	NEW_FILES = 128,     /* places for new files, of each CPU */
	MIN_FREE_FILES = 64, /* numbers that are free again where no file is forgotten: another CPU was faster */
};

static int files_sizes_write(struct bpf_object *object, bool forgets)
{
	struct bpf_map *new = bpf_object__find_map_by_name(object, "new_files");
	struct bpf_map *free_files = bpf_object__find_map_by_name(object, "free_files");
	uint32_t n = (uint32_t)SP_MAX(libbpf_num_possible_cpus(), 1) * NEW_FILES;

	if (bpf_map__set_max_entries(new, SP_MAX(n, bpf_map__max_entries(new))) ||
	    (!forgets && bpf_map__set_max_entries(free_files, MIN_FREE_FILES)))
		return sp_fail(-EINVAL, "make room for %u new files", n);
	return 0;
}

/*
 * The ring grows with the CPUs: samples that wait for a table are large, and come from all of them. Sizes are powers of
 * two.
 */
static int pending_size_write(struct bpf_object *object, uint32_t ring_bytes)
{
	uint32_t bytes = SP_RING_BYTES, n_cpus = (uint32_t)SP_MAX(libbpf_num_possible_cpus(), 1);

	while (bytes < SP_MAX_RING_BYTES && bytes < (uint64_t)n_cpus * SP_RING_BYTES)
		bytes *= 2;
	bytes = ring_bytes ? ring_bytes : bytes;
	if (bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "samples"), bytes) ||
	    bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "pending"), n_cpus))
		return sp_fail(-EINVAL, "make room for samples that wait, of %u CPUs", n_cpus);
	return 0;
}

static int sizes_write(struct sp_capture *c)
{
	struct bpf_object *object = c->recipe.object;
	const char *counts[] = {"counts_even", "counts_odd"};
	uint32_t key_bytes = (uint32_t)sp_drain_key_bytes(&c->o);
	size_t i;
	int r;

	for (i = 0; i < SP_COUNT(counts); i++)
		if (bpf_map__set_key_size(bpf_object__find_map_by_name(object, counts[i]), key_bytes))
			return sp_fail(-EINVAL, "set the size of keys to %u", key_bytes);
	for (i = 0; i < SP_COUNT(counts) && c->o.hash_entries; i++)
		if (bpf_map__set_max_entries(bpf_object__find_map_by_name(object, counts[i]), c->o.hash_entries))
			return sp_fail(-EINVAL, "set the number of counts to %u", c->o.hash_entries);
	if (c->o.stack_entries &&
	    bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "stacks"), c->o.stack_entries))
		return sp_fail(-EINVAL, "set the number of stacks to %u", c->o.stack_entries);
	if (c->o.filter == SP_TARGETS_ALL &&
	    bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "targets"), 1))
		return sp_fail(-EINVAL, "do without a table of targets");
	r = files_sizes_write(object, c->o.forgets);
	return r ? r : pending_size_write(object, c->o.ring_bytes);
}

static void follow_choose(struct sp_capture *c)
{
	const char *names[] = {"sp_fork", "sp_exec", "sp_exit"};
	size_t i;

	for (i = 0; i < SP_COUNT(names); i++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(c->recipe.object, names[i]), c->o.follow);
}

static bool is_confidential(void)
{
	SP_FCLOSE FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128];

	return f && fgets(line, sizeof(line), f) && strstr(line, "[confidentiality]");
}

/* Explains why the programs could not be loaded. Under lockdown the verifier refuses a helper as unknown. */
static int load_failed(int r)
{
	if (is_confidential())
		return sp_fail_said(-EPERM,
				    "cannot sample: this kernel is locked down (confidentiality), and lets no BPF "
				    "program read its memory; boot it with lockdown=integrity");
	if (r == -EPERM && sp_process_is_filtered())
		return sp_fail_said(r, "a seccomp filter refuses bpf(2): in a container its profile must allow bpf and "
				       "perf_event_open");
	return *log_tail ? sp_fail(r, "load the BPF programs: %s", log_cause()) : sp_fail(r, "load the BPF programs");
}

/* Before all else: what they wait for comes while the programs are loaded. */
static int segments_make(struct sp_capture *c)
{
	int r = sp_segments_begin(&c->segments, sp_capture_budget(c));

	if (!r && bpf_map__reuse_fd(bpf_object__find_map_by_name(c->recipe.object, "segments"), c->segments.maps_fd))
		r = sp_fail(-errno, "give the BPF object its unwind tables");
	return r;
}

/* --- the caller's own, loaded at the same time --- */
static int map_make(struct bpf_map *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = bpf_map__map_flags(map));
	SP_CLOSE int fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
					 bpf_map__value_size(map), bpf_map__max_entries(map), &o);

	return fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
}

/* What fronts of the caller's own share with the session (sp_ground_maps()). */
static int shared_maps_make(struct sp_capture *c)
{
	const char *const names[] = {"scratch", "counters", "targets"};
	int r = 0;

	for (size_t i = 0; i < SP_COUNT(names) && !r; i++)
		r = map_make(bpf_object__find_map_by_name(c->recipe.object, names[i]));
	return r ? sp_fail(r, "make the maps of the BPF object") : 0;
}

static void *besides_load(void *arg)
{
	struct sp_capture *c = arg;

	c->o.beside(c->o.numbered_arg, &c->recipe);
	return NULL;
}

static int programs_load(struct sp_capture *c)
{
	struct sp_aside aside = {0};
	int r = c->o.beside ? shared_maps_make(c) : 0;

	if (r < 0)
		return r;
	if (c->o.beside)
		sp_aside_begin(&aside, besides_load, c);
	r = c->o.recipes[0]->ground->load(&c->recipe, &c->o, &c->shared);
	sp_aside_wait(&aside);
	return r;
}

int sp_kernel_load(struct sp_capture *c)
{
	int r;

	libbpf_set_print(log_keep);
	log_length = 0;
	log_tail[0] = 0;
	r = c->o.recipes[0]->ground->open(&c->o, &c->recipe);
	if (r < 0)
		return r;
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return sp_fail_said(-EOPNOTSUPP, "this kernel has no type information (/sys/kernel/btf/vmlinux)");
	config_write(c);
	follow_choose(c);
	sp_pidns_choose(c);
	r = sizes_write(c);
	if (r < 0)
		return r;
	r = segments_make(c);
	if (r < 0)
		return load_failed(r);
	r = programs_load(c);
	if (r < 0)
		return load_failed(r);
	if (!c->o.time_own)
		c->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return 0;
}

/* The line of /proc/self/maps with this address. */
static bool own_map_find(uint64_t addr, struct sp_check *ret_map)
{
	SP_FCLOSE FILE *f = fopen("/proc/self/maps", "re");
	unsigned long long start, end, pgoff, ino;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx %*s %llx %*s %llu", &start, &end, &pgoff, &ino) != 4)
			continue;
		if (addr < start || addr >= end)
			continue;
		*ret_map = (struct sp_check){.start = start, .end = end, .pgoff = pgoff, .key.ino = ino};
		return true;
	}
	return false;
}

static bool check_one(struct sp_capture *c, int program, uint64_t addr)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	volatile struct sp_check *found = c->shared.check;
	struct sp_check map;

	memset((void *)found, 0, sizeof(*found));
	found->addr = addr;
	return own_map_find(addr, &map) && !bpf_prog_test_run_opts(program, &run) && found->is_own &&
	       found->start == map.start && found->end == map.end && found->pgoff == map.pgoff &&
	       found->key.ino == map.key.ino;
}

int sp_kernel_check(struct sp_capture *c)
{
	const void *own[] = {(const void *)sp_kernel_check, (const void *)bpf_object__open, (const void *)fopen};
	int program = bpf_program__fd(bpf_object__find_program_by_name(c->recipe.object, "sp_check_maps"));
	size_t i;

	for (i = 0; i < SP_COUNT(own); i++)
		if (!check_one(c, program, (uint64_t)own[i]))
			return sp_fail_said(-EOPNOTSUPP, "the self-test failed: on this kernel the file behind an "
							 "address cannot be found (its mapping tree is unknown)");
	c->own_fsroot = *(const struct sp_fsroot_key *)&c->shared.check->fsroot;
	return sp_pidns_check(c);
}

int sp_capture_kernel_name(struct sp_capture *c, uint64_t address, const char **ret_text)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct sp_kernel_name_ask *ask = c->shared.kernel_name;
	int program = ask ? bpf_program__fd(bpf_object__find_program_by_name(c->recipe.object, "sp_kernel_name")) : -1;

	if (program < 0)
		return -EOPNOTSUPP;
	ask->address = address;
	if (bpf_prog_test_run_opts(program, &run))
		return sp_fail(-errno, "ask the kernel for the name of an address");
	ask->text[sizeof(ask->text) - 1] = 0;
	*ret_text = ask->text;
	return 0;
}

static int seek_pass(struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	char nothing[64];
	ssize_t n;
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd >= 0) {
		do
			n = read(fd, nothing, sizeof(nothing));
		while (n > 0 || (n < 0 && errno == EAGAIN));
		close(fd);
	}
	bpf_link__destroy(link);
	return fd < 0 ? fd : 0;
}

void sp_kernel_counters(struct sp_capture *c)
{
	int n_cpus = libbpf_num_possible_cpus(), i, k;
	SP_FREE uint64_t *values = calloc((size_t)SP_MAX(n_cpus, 1) * SP_N_COUNTERS, sizeof(*values));
	uint32_t zero = 0;

	if (!values || n_cpus < 1 || bpf_map_lookup_elem(c->counters_fd, &zero, values))
		return;
	memset(c->stats.counter, 0, sizeof(c->stats.counter));
	for (i = 0; i < n_cpus; i++)
		for (k = 0; k < SP_N_COUNTERS; k++)
			c->stats.counter[k] += values[i * SP_N_COUNTERS + k];
	c->stats.counter[SP_N_LOST_ENDS] += c->n_given_up;
	c->stats.counter[SP_N_LOST_EPISODES] += c->n_without_room;
}

int sp_kernel_seek(struct sp_capture *c)
{
	struct bpf_program *program = bpf_object__find_program_by_name(c->recipe.object, "sp_seek");
	uint64_t lost = 0, before;
	int i, r;

	/* A pass that filled the ring is repeated when the ring has been read. */
	for (i = 0; i < SP_SEEK_PASSES; i++) {
		before = lost;
		r = seek_pass(program);
		if (r < 0)
			return sp_fail(r, "look for the files that are mapped now");
		r = sp_drain_ring(c->events);
		if (r < 0)
			return r;
		sp_kernel_counters(c);
		lost = c->stats.counter[SP_N_LOST_FILES];
		if (lost == before)
			break;
	}
	return 0;
}

static uint64_t memlock_of(int fd)
{
	char path[64], line[128];
	SP_FCLOSE FILE *f = NULL;
	unsigned long long bytes = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	return bytes;
}

/* How many bytes of BPF maps are part of our own resident memory. */
static uint64_t mapped_bytes(void)
{
	SP_FCLOSE FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long long kib, sum = 0;
	bool is_map = false;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
			is_map = strstr(line, "anon_inode:bpf-map") != NULL;
		else if (is_map && sscanf(line, "Rss: %llu kB", &kib) == 1)
			sum += kib;
	}
	return sum << 10;
}

/* Returns how often the kernel did not run it. */
static uint64_t run_add(struct sp_capture *c, int program)
{
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);

	if (program < 0 || bpf_obj_get_info_by_fd(program, &info, &size))
		return 0;
	c->stats.bpf_ns += c->o.time_own ? 0 : info.run_time_ns;
	c->stats.n_bpf_runs += info.run_cnt;
	return info.recursion_misses;
}

static void runs_add(struct sp_capture *c)
{
	const struct sp_ground *ground = c->o.recipes[0]->ground;
	struct bpf_program *program;
	unsigned recipe, trap_ns;
	int front;

	c->stats.bpf_ns = c->stats.counter[SP_N_OWN_NS];
	c->stats.n_bpf_runs = c->o.time_own;
	c->stats.n_missed = 0;
	bpf_object__for_each_program(program, c->recipe.object) run_add(c, bpf_program__fd(program));
	for (size_t i = 0; (front = ground->front(&c->recipe, i, &recipe, &trap_ns)) >= 0; i++)
		c->stats.n_missed += run_add(c, front);
}

void sp_kernel_stats(struct sp_capture *c)
{
	struct bpf_map *map;

	sp_kernel_counters(c);
	c->stats.bpf_bytes = sp_tables_stats(c->tables).bytes;
	bpf_object__for_each_map(map, c->recipe.object) if (bpf_map__fd(map) >= 0) c->stats.bpf_bytes +=
	    memlock_of(bpf_map__fd(map));
	c->stats.mapped_bytes = mapped_bytes();
	runs_add(c);
}
