/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * days.c: a store of made-up days, by the store's own writer: `days DIRECTORY DAYS [WINDOWS [FIRST-DAY [MIB]]]`;
 * with - for the directory it only counts.
 *
 * A day is 8640 windows of 10,000 samples (1,000 a second): 150 processes that live, and each window some that do not
 * live on; about 3,150 rows a window, 27 million rows and 1.1 million stacks a day, 25 frames deep, over 3.7 million
 * nodes of a call tree. Stacks are walks through a call graph of 500 libraries with 40 functions each; most of a stack
 * is that of an older one, and its top is its own. Which stack is sampled goes by Mandelbrot's law. WINDOWS: fewer of
 * them, from the day's beginning. FIRST-DAY: in days since 1970. MIB: the memory of the agent whose store this is; else
 * what it has by itself on a machine that gives so many samples. Prints name=value lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/daemon/limits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/search.h"
#include "base/time.h"
#include "profile/profile.h"
#include "profile/window.h"
#include "store/store.h"

enum {
	N_LIBRARIES = 500,
	N_FUNCTIONS_EACH = 40,
	N_FUNCTIONS = N_LIBRARIES * N_FUNCTIONS_EACH,
	N_KERNEL = 1500, /* functions */
	N_KERNEL_STACKS = 400,
	N_PROGRAMS = 60, /* the first libraries */
	N_LIVE = 150,
	N_SHORT = 12, /* processes of one window */
	N_STACKS = 1500000,
	N_SAMPLES = 10000,
	DEPTH = 25,
	WINDOWS_A_DAY = 8640,
	N_CPUS = 52, /* at 19 Hz */
};

#define PROCESS_Q 1.5
#define PROCESS_S 1.82
#define STACK_Q 0.3
#define STACK_S 1.24

/* --- chance --- */
static uint64_t seed = 88172645463325252ULL;

static uint64_t draw(void) /* xorshift64*, Vigna 2016 */
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 2685821657736338717ULL >> 11;
}

static double draw_share(void)
{
	return (double)draw() / 9007199254740992.0;
}

static uint32_t draw_below(uint32_t n)
{
	return (uint32_t)(draw() % n);
}

static uint32_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a * 0x9e3779b97f4a7c15ULL) ^ (b + 0x632be59bd9b4e019ULL);

	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ULL;
	return (uint32_t)(x >> 32);
}

/* Zipf and Mandelbrot: the k-th of n has a weight of (k + q)^-s. */
static uint32_t draw_rank(uint32_t n, double q, double s)
{
	double e = 1 - s, top = pow((n + q) / q, e);
	double k = q * (pow(1 - draw_share() * (1 - top), 1 / e) - 1);

	return SP_MIN((uint32_t)k, n - 1);
}

/* --- stacks --- */
/* A call tree: a stack is one of its nodes. */
struct node {
	uint32_t parent;
	uint16_t func, depth;
};
static struct node *nodes;
static uint32_t n_nodes, *stacks[N_PROGRAMS], n_stacks[N_PROGRAMS];

static uint32_t add_node(uint32_t parent, uint32_t func)
{
	nodes[n_nodes] = (struct node){parent, (uint16_t)func, (uint16_t)(n_nodes == 0 ? 0 : nodes[parent].depth + 1)};
	return n_nodes++;
}

/* Whom a function calls: mostly its own library, else one of those that everybody uses. */
static uint32_t callee(uint32_t func)
{
	uint32_t k = 0;

	while (k < 9 && draw_below(100) < 55)
		k++;
	uint32_t h = mix(func, k), library = func / N_FUNCTIONS_EACH;
	if (h % 100 < 30)
		library = N_PROGRAMS + (h >> 8) % (h % 100 < 20 ? 40 : N_LIBRARIES - N_PROGRAMS);
	return library * N_FUNCTIONS_EACH + (h >> 20) % N_FUNCTIONS_EACH;
}

static uint32_t walk(uint32_t node, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		node = add_node(node, callee(nodes[node].func));
	return node;
}

static uint32_t tail_length(void)
{
	uint32_t n = 1;

	while (n < 14 && draw_below(100) < 69)
		n++;
	return n;
}

static uint32_t grow_stack(uint32_t program)
{
	uint32_t base = stacks[program][draw_below(n_stacks[program])], tail = tail_length();
	uint32_t wanted = DEPTH - 10 + draw_below(21) - tail;

	while (nodes[base].depth > SP_MAX(wanted, 2U))
		base = nodes[base].parent;
	return walk(base, tail);
}

/* How many of the stacks a program has: as its processes are sampled. */
static uint32_t share_of(uint32_t program)
{
	double all = 0, mine = 0;

	for (uint32_t i = 0; i < N_LIVE; i++) {
		double weight = pow(i + PROCESS_Q, -PROCESS_S);
		all += weight;
		mine += i % N_PROGRAMS == program ? weight : 0;
	}
	return (uint32_t)(mine / all * N_STACKS);
}

static void stacks_make(void)
{
	nodes = calloc((size_t)N_STACKS * 14, sizeof(*nodes));
	if (nodes == NULL)
		exit(1);
	add_node(0, 0);
	for (uint32_t p = 0; p < N_PROGRAMS; p++) {
		uint32_t root = add_node(0, p * N_FUNCTIONS_EACH), n = share_of(p);
		stacks[p] = calloc((size_t)n + 20, sizeof(uint32_t));
		if (stacks[p] == NULL)
			exit(1);
		for (uint32_t i = 0; i < 20; i++)
			stacks[p][n_stacks[p]++] = walk(root, DEPTH + 10);
		while (n_stacks[p] < n)
			stacks[p][n_stacks[p]++] = grow_stack(p);
	}
}

/* --- the profile --- */
static struct sp_profile *profile;
static uint32_t frames[N_FUNCTIONS], kernel_frames[N_KERNEL], kernel_stacks[N_KERNEL_STACKS], exes[N_PROGRAMS], recipe;
static uint32_t *known; /* by node: its stack in the profile, 0 = not yet */

static uint32_t must(int64_t number)
{
	if (number >= 0)
		return (uint32_t)number;
	fprintf(stderr, "days: %s\n", sp_error_text((int)number));
	exit(1);
}

static uint32_t string(const char *format, uint32_t a, uint32_t b)
{
	char text[128];

	snprintf(text, sizeof(text), format, a, b); /* NOLINT: our own formats */
	return must(sp_profile_add_string(profile, text));
}

static uint32_t add_frame(uint32_t file, uint32_t i, uint32_t name, uint32_t flags)
{
	struct sp_func func = {.name = name, .file = file, .start = 0x1000 + 0x400 * i, .size = 0x400};
	func.vaddr = func.start;
	func.linkage_name = name;
	func.is_range = flags == 0 && i % 8 == 7;
	struct sp_frame frame = {.offset = func.start + 16, .file = file, .flags = flags};
	uint32_t number = must(sp_profile_add_frame(profile, &frame));

	sp_profile_frame(profile, number)->func = must(sp_profile_add_func(profile, &func));
	return number;
}

static void libraries_make(void)
{
	for (uint32_t i = 0; i < N_LIBRARIES; i++) {
		struct sp_file file = {.kind = SP_FILE_ELF, .build_id_len = 20, .tag = i + 1};
		for (uint32_t b = 0; b < 20; b++)
			file.build_id[b] = (uint8_t)mix(i, b);
		file.name = string(i < N_PROGRAMS ? "program%u" : "liblibrary%u.so.%u", i, i % 7);
		file.path = string(i < N_PROGRAMS ? "/usr/bin/program%u" : "/usr/lib/liblibrary%u.so.%u", i, i % 7);
		uint32_t number = must(sp_profile_add_file(profile, &file));
		if (i < N_PROGRAMS)
			exes[i] = number;
		for (uint32_t f = 0; f < N_FUNCTIONS_EACH; f++)
			frames[i * N_FUNCTIONS_EACH + f] =
			    add_frame(number, f, string("function_%u_of_library_%u", f, i), 0);
	}
}

static void kernel_make(void)
{
	struct sp_file file = {.kind = SP_FILE_KERNEL, .name = string("[kernel]", 0, 0), .tag = 1};
	uint32_t number = must(sp_profile_add_file(profile, &file));

	for (uint32_t i = 0; i < N_KERNEL; i++)
		kernel_frames[i] = add_frame(number, i, string("kernel_function_%u", i, 0), SP_FRAMEF_KERNEL);
}

static void kernel_stacks_make(void)
{
	for (uint32_t i = 0; i < N_KERNEL_STACKS; i++) {
		uint32_t numbers[12], n = 4 + mix(i, 1) % 8;
		for (uint32_t k = 0; k < n; k++)
			numbers[n - 1 - k] = kernel_frames[mix(k < 3 ? i % 20 : i, k) % N_KERNEL];
		struct sp_stack stack = {.n_frames = n, .frames = numbers};
		kernel_stacks[i] = must(sp_profile_add_stack(profile, &stack));
	}
}

static void profile_begin(void)
{
	must(sp_profile_new(&profile));
	must(sp_profile_add_value_type(profile, "samples", "count"));
	must(sp_profile_add_value_type(profile, "cpu", "nanoseconds"));
	recipe = string("cpu", 0, 0);
	libraries_make();
	kernel_make();
	kernel_stacks_make();
}

static uint64_t memory_bytes = UINT64_C(N_CPUS * 5) << 20; /* of the agent */

/* As the agent does when its profile has grown too large: these names never take half of it, and are kept for an hour.
 */
static void profile_renew(uint64_t window)
{
	static uint64_t names_since;

	memset(known, 0, n_nodes * sizeof(*known));
	if (profile != NULL && window - names_since < WINDOWS_A_DAY / 24) {
		must(sp_profile_renew(profile));
		kernel_stacks_make();
		return;
	}
	sp_profile_free(profile);
	profile_begin();
	names_since = window;
}

static uint32_t stack_of(uint32_t node)
{
	uint32_t numbers[DEPTH * 4], n = 0;

	if (known[node] != 0)
		return known[node];
	for (uint32_t at = node; at != 0 && n < SP_COUNT(numbers); at = nodes[at].parent)
		numbers[n++] = frames[nodes[at].func];
	struct sp_stack stack = {.n_frames = n, .frames = numbers};
	return known[node] = must(sp_profile_add_stack(profile, &stack));
}

static uint32_t key_of(uint32_t pid, uint32_t program)
{
	struct sp_process process = {.pid = pid,
				     .ns_pid = pid,
				     .uid = program % 5 * 1000,
				     .exe = exes[program],
				     .start_ns = pid * UINT64_C(10000000),
				     .exec_id = pid};
	process.comm = string("program%u", program, 0);
	process.cgroup_path = string("/system.slice/unit%u.service", program % 23, 0);
	struct sp_key key = {.process = must(sp_profile_add_process(profile, &process)), .recipe = recipe};
	key.comm = string(pid % 3 == 0 ? "worker/%u" : "program%u", pid % 3 == 0 ? pid % 4 : program, 0);
	return must(sp_profile_add_key(profile, &key));
}

/* --- windows --- */
/* Processes of a window: the first N_LIVE live on, the others begin in it. */
static uint32_t process_pid(uint32_t process, uint64_t window)
{
	return process < N_LIVE ? 1000 + process : (uint32_t)(2000 + window * N_SHORT % 4000000 + process - N_LIVE);
}

static uint32_t process_program(uint32_t process, uint64_t window)
{
	return process < N_LIVE ? process % N_PROGRAMS : mix(window, process) % N_PROGRAMS;
}

static void draw_samples(uint64_t window, uint64_t *samples)
{
	for (uint32_t i = 0; i < N_SAMPLES; i++) {
		uint32_t process =
		    draw_below(100) < 3 ? N_LIVE + draw_below(N_SHORT) : draw_rank(N_LIVE, PROCESS_Q, PROCESS_S);
		uint32_t program = process_program(process, window), k = draw_rank(n_stacks[program], STACK_Q, STACK_S);
		samples[i] = (uint64_t)process << 32 | stacks[program][k];
	}
	qsort(samples, N_SAMPLES, sizeof(*samples), sp_compare_u64);
}

static uint64_t n_rows, n_samples, n_used_stacks, n_used_nodes;
static uint8_t *used; /* by node: in a stack that was sampled; 2: a stack itself */
static bool dry;

static void count_nodes(uint32_t node)
{
	n_used_stacks += used[node] != 2;
	n_used_nodes += used[node] == 0;
	used[node] = 2;
	for (node = nodes[node].parent; node != 0 && used[node] == 0; node = nodes[node].parent) {
		used[node] = 1;
		n_used_nodes++;
	}
}

static void add_row(uint64_t window, uint64_t sample, int64_t n)
{
	n_rows++;
	n_samples += (uint64_t)n;
	count_nodes((uint32_t)sample);
	if (dry)
		return;
	uint32_t process = (uint32_t)(sample >> 32), node = (uint32_t)sample, h = mix(node, 77);
	uint32_t kernel = h % 5 == 0 ? kernel_stacks[(h >> 8) % N_KERNEL_STACKS] : 0;
	int64_t values[2] = {n, n * 52631579};

	must(sp_profile_add(profile, key_of(process_pid(process, window), process_program(process, window)),
			    stack_of(node), kernel, values));
}

static void window_fill(uint64_t window)
{
	static uint64_t samples[N_SAMPLES];
	int64_t n = 0;

	draw_samples(window, samples);
	for (uint32_t i = 0; i < N_SAMPLES; i++) {
		n++;
		if (i + 1 == N_SAMPLES || samples[i + 1] != samples[i]) {
			add_row(window, samples[i], n);
			n = 0;
		}
	}
}

static uint64_t first_of_day(int64_t first_day, uint64_t day)
{
	return ((uint64_t)first_day + day) * 86400 * SP_NS_PER_S;
}

static int windows_add(struct sp_store *store, uint64_t from_ns, uint64_t n_windows, uint64_t *n_window)
{
	int r = 0;

	for (uint64_t i = 0; i < n_windows && r == 0; i++, ++*n_window) {
		struct sp_store_window w = {.wall_ns = from_ns + i * 10 * SP_NS_PER_S,
					    .boot_ns = (*n_window + 100) * 10 * SP_NS_PER_S,
					    .duration_ns = 10 * SP_NS_PER_S,
					    .rate_millihertz = 19000,
					    .n_cpus = N_CPUS,
					    .source = "cpu"};
		if (dry) {
			window_fill(*n_window);
			continue;
		}
		if (profile == NULL || sp_profile_memory_bytes(profile) > sp_limits_profile_bytes(memory_bytes))
			profile_renew(*n_window);
		window_fill(*n_window);
		r = sp_store_add(store, &w, profile);
		sp_profile_clear_rows(profile);
	}
	return r;
}

int main(int argc, char **argv)
{
	uint64_t n_days = 0, n_windows = WINDOWS_A_DAY, n_window = 0, first_day = 20770, mib = memory_bytes >> 20;
	struct sp_store_options o = {0};
	struct sp_store_stats stats;
	struct sp_store *store;

	if (argc < 3 || argc > 6 || sp_parse_number(argv[2], 1, 100, &n_days) < 0 ||
	    (argc > 3 && sp_parse_number(argv[3], 1, WINDOWS_A_DAY, &n_windows) < 0) ||
	    (argc > 4 && sp_parse_number(argv[4], 1, 70000, &first_day) < 0) ||
	    (argc > 5 && sp_parse_number(argv[5], 32, 1 << 16, &mib) < 0)) {
		fprintf(stderr, "days DIRECTORY DAYS [WINDOWS [FIRST-DAY [MIB]]]\n");
		return 2;
	}
	memory_bytes = mib << 20;
	o.max_memory_bytes = sp_limits_dictionary_bytes(memory_bytes);
	stacks_make();
	known = calloc(n_nodes, sizeof(*known));
	used = calloc(n_nodes, sizeof(*used));
	must(known == NULL || used == NULL ? -ENOMEM : 0);
	dry = strcmp(argv[1], "-") == 0;
	if (!dry)
		must(sp_store_open(argv[1], &o, &store));
	for (uint64_t day = 0; day < n_days; day++)
		must(windows_add(store, first_of_day((int64_t)first_day, day), n_windows, &n_window));
	printf("stacks=%" PRIu64 "\nnodes=%" PRIu64 "\n", n_used_stacks, n_used_nodes);
	if (dry)
		return printf("windows=%" PRIu64 "\nrows=%" PRIu64 "\n", n_window, n_rows) < 0;
	must(sp_store_stats(store, &stats));
	printf("windows=%" PRIu64 "\nrows=%" PRIu64 "\nsamples=%" PRIu64 "\nmean_ms=%.3f\nworst_ms=%.3f\nbytes=%" PRIu64
	       "\nmemory_bytes=%" PRIu64 "\n",
	       n_window, n_rows, n_samples, (double)stats.add_cpu_ns / (double)n_window / 1e6,
	       (double)stats.add_worst_ns / 1e6, stats.bytes, stats.memory_bytes);
	sp_store_close(store);
	return 0;
}
