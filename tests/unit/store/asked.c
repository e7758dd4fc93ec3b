/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "asked.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "store/store.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- pseudo-random numbers --- */
uint64_t seed;

uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % n;
}

/* --- windows --- */
uint32_t ok(int64_t r)
{
	if (r < 0)
		fail_msg("%s", sp_error_text((int)r));
	return (uint32_t)r;
}

static uint32_t string(struct sp_profile *p, const char *format, uint32_t n)
{
	char text[64];

	snprintf(text, sizeof(text), format, n); /* NOLINT */
	return ok(sp_profile_add_string(p, text));
}

/* Library 0 is the kernel, 1 one of its modules, 2 memory without a file, 3 has no build id. */
static uint32_t add_library(struct sp_profile *p, uint32_t n)
{
	struct sp_file f = {.kind = n < 2 ? SP_FILE_KERNEL : n == 2 ? SP_FILE_ANON : SP_FILE_ELF, .tag = n + 1};

	f.name = string(p, n == 0 ? "[kernel]" : n == 1 ? "[ext4]" : n == 2 ? "[anon]" : "liblib%u.so.1", n);
	f.path = n < 3 ? 0 : string(p, "/usr/lib/liblib%u.so.1.2", n);
	if (n > 3) {
		f.build_id_len = 20;
		memset(f.build_id, (int)n, 20);
	}
	return ok(sp_profile_add_file(p, &f));
}

static uint32_t add_frame(struct sp_profile *p, bool kernel)
{
	uint32_t n = kernel ? below(2) : 2 + below(N_LIBRARIES - 2), i = below(N_FUNCTIONS);
	uint32_t home = add_library(p, n);
	struct sp_func func = {.file = home, .is_range = i % 5 == 4};

	func.name = string(p, "function_%u", n * 100 + i);
	func.linkage_name = func.is_range ? 0 : string(p, "_Zfunction_%u", n * 100 + i);
	func.start = func.vaddr = kernel || n == 2 ? 0 : 0x1000 + 0x100 * i;
	func.size = kernel || n == 2 ? 0 : 0x100;
	struct sp_frame f = {.offset = 0x1000 + 0x100 * i + below(4), .file = kernel ? add_library(p, 0) : home};
	if (kernel)
		f.offset += n << 20;
	f.flags = (kernel ? SP_FRAMEF_KERNEL : 0) | (i == 3 ? SP_FRAMEF_GUESSED : 0) | (i == 5 ? SP_FRAMEF_DERIVED : 0);
	uint32_t number = ok(sp_profile_add_frame(p, &f));
	if (i != 7) /* memory without a file has no name */
		sp_profile_frame(p, number)->func = ok(sp_profile_add_func(p, &func));
	return number;
}

static uint32_t add_stack(struct sp_profile *p, bool kernel, uint32_t depth)
{
	uint32_t frames[64];
	struct sp_stack stack = {.n_frames = below(depth + 1), .frames = frames};

	if (below(4) == 0)
		return 0;
	for (uint32_t i = 0; i < stack.n_frames; i++)
		frames[i] = add_frame(p, kernel);
	if (below(4) == 0)
		stack.stack_class = (uint16_t)below(4);
	if (stack.stack_class != SP_CLASS_COMPLETE)
		stack.reason = (uint16_t)below(6);
	return ok(sp_profile_add_stack(p, &stack));
}

static uint32_t add_key(struct sp_profile *p)
{
	uint32_t n = below(N_PROCESSES), program = n / 2;
	struct sp_process process = {.pid = 100 + n, .ns_pid = n, .uid = n / 3 * 1000, .start_ns = 7 * n, .exec_id = n};

	process.exe = add_library(p, 4 + program);
	process.comm = string(p, "prog%u", program);
	process.cgroup_path = string(p, n % 2 != 0 ? "/system.slice/a%u.service/sub" : "/user.slice", n / 4);
	struct sp_key key = {.process = below(20) == 0 ? 0 : ok(sp_profile_add_process(p, &process))};
	key.comm = string(p, "thread%u", below(3));
	key.recipe = string(p, "cpu", 0);
	return ok(sp_profile_add_key(p, &key));
}

/* As in practice, most rows have one of a few stacks. */
struct sp_profile *window_make(uint32_t n_rows, uint32_t depth)
{
	struct sp_profile *p;

	ok(sp_profile_new(&p));
	ok(sp_profile_add_value_type(p, "samples", "count"));
	ok(sp_profile_add_value_type(p, "cpu", "nanoseconds"));
	for (uint32_t i = 0; i < n_rows; i++) {
		uint32_t key = add_key(p), user = add_stack(p, false, depth), kernel = add_stack(p, true, depth / 3);
		int64_t n = 1 + below(9), values[2] = {n, n * 10000000 + (below(5) == 0 ? below(1000) : 0)};
		ok(sp_profile_add(p, key, user, kernel, values));
	}
	return p;
}

/* --- rows as lines --- */
struct lines {
	struct sp_intern *texts;
	int64_t (*sums)[2];
	size_t capacity;
};

static void put_stack(FILE *out, const struct sp_profile *p, uint32_t number)
{
	struct sp_stack stack = sp_profile_stack(p, number);

	fprintf(out, " | %u.%u", stack.stack_class, stack.reason);
	for (uint32_t i = 0; i < stack.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(p, stack.frames[i]);
		const struct sp_func *func = sp_profile_func(p, f->func);
		fprintf(out, " %s:%s[%s]%x", sp_profile_string(p, sp_profile_file(p, f->file)->name),
			sp_profile_string(p, func->name), sp_profile_string(p, sp_profile_file(p, func->file)->name),
			f->flags & 0xff);
		if (f->func == 0 && sp_profile_file(p, f->file)->kind == SP_FILE_ELF) /* the others are shifted */
			fprintf(out, "+%" PRIx64, f->offset);
	}
}

static char *line_of(const struct sp_profile *p, const struct sp_row *row, bool by_group)
{
	const struct sp_key *key = sp_profile_key(p, row->key);
	const struct sp_process *process = sp_profile_process(p, key->process);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!by_group)
		fprintf(out, "%u %u %" PRIu64 " %s ", process->pid, process->exec_id, process->start_ns,
			sp_profile_string(p, key->comm));
	fprintf(out, "%u %s %s %s", process->uid, sp_profile_string(p, process->comm),
		sp_profile_string(p, process->cgroup_path),
		sp_profile_string(p, sp_profile_file(p, process->exe)->name));
	put_stack(out, p, row->user);
	put_stack(out, p, row->kernel);
	fclose(out);
	return text;
}

static void lines_make(const struct sp_profile *p, bool by_group, struct lines *l)
{
	ok(sp_intern_new(&l->texts));
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		SP_FREE char *text = line_of(p, row, by_group);
		uint32_t n = ok(sp_intern_add(l->texts, text, strlen(text)));
		ok(sp_grow(&l->sums, &l->capacity, (size_t)n + 1, sizeof(*l->sums)));
		l->sums[n][0] += row->values[0];
		l->sums[n][1] += row->values[1];
	}
}

static void lines_done(struct lines *l)
{
	sp_intern_free(l->texts);
	free(l->sums);
}

void assert_same(const struct sp_profile *got, const struct sp_profile *wanted, bool by_group)
{
	struct lines a = {0}, b = {0};

	lines_make(got, by_group, &a);
	lines_make(wanted, by_group, &b);
	for (uint32_t i = 0; i < sp_intern_count(b.texts); i++) {
		size_t len;
		const char *text = sp_intern_get(b.texts, i, &len);
		int64_t n = sp_intern_find(a.texts, text, len);
		if (n < 0)
			fail_msg("not in the answer: %s", text);
		if (a.sums[n][0] != b.sums[i][0] || a.sums[n][1] != b.sums[i][1])
			fail_msg("%" PRId64 " instead of %" PRId64 ": %s", a.sums[n][0], b.sums[i][0], text);
	}
	assert_int_equal(sp_intern_count(a.texts), sp_intern_count(b.texts));
	lines_done(&a);
	lines_done(&b);
}

/* --- stores --- */
void fixture_open(struct fixture *f, uint64_t max_memory_bytes)
{
	struct sp_store_options o = {.max_memory_bytes = max_memory_bytes};

	/* durability is not tested here, and fsync may be slow */
	snprintf(f->place, sizeof(f->place), "%s/soprof-query.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(f->place));
	ok(sp_store_open(f->place, &o, &f->store));
}

void fixture_done(struct fixture *f)
{
	DIR *d = opendir(f->place);

	sp_store_close(f->store);
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(f->place);
	for (size_t i = 0; i < f->n; i++)
		sp_profile_free(f->windows[i]);
	free(f->windows);
	free(f->times);
}

void fixture_add(struct fixture *f, uint64_t at_ns, const char *source, struct sp_profile *p)
{
	struct sp_store_window w = {.wall_ns = at_ns,
				    .boot_ns = at_ns - DAY + 1000 * S,
				    .duration_ns = 10 * S,
				    .rate_millihertz = 19000,
				    .n_cpus = 2,
				    .n_lost = 3,
				    .source = source};

	ok(sp_store_add(f->store, &w, p));
	if (strcmp(source, "cpu") != 0) {
		sp_profile_free(p);
		return;
	}
	ok(sp_grow(&f->windows, &f->capacity, f->n + 1, sizeof(struct sp_profile *)));
	ok(sp_grow(&f->times, &f->time_capacity, f->n + 1, sizeof(*f->times)));
	f->windows[f->n] = p;
	f->times[f->n++] = at_ns;
}
