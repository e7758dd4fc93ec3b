/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upgrade_seen.c: remembers which program runs which build of a library.
 *
 * Two builds are remembered for each pair, because old and new processes may run side by side.
 */
#include "agent/upgrade/upgrade_priv.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "profile/profile.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 8192 };

static bool is_library(const struct sp_file *f)
{
	return f->kind == SP_FILE_ELF && f->build_id_len && f->name;
}

/*
 * The key contains what is the same after a restart: no process, and no file name of the library, which may have a
 * version.
 */
static int64_t pair_number(struct sp_upgrades *u, const struct sp_profile *p, const struct sp_process *process,
			   const struct sp_file *f)
{
	char name[MAX_NAME];
	const struct sp_file *exe = sp_profile_file(p, process->exe);
	const char *path = sp_profile_string(p, f->path);
	int n = snprintf(name, sizeof(name), "%s%c%s%c%s%c%.*s",
			 sp_profile_string(p, exe->path ? exe->path : exe->name), 1, sp_upgrades_root(p, process), 1,
			 sp_profile_string(p, f->name), 1, (int)sp_upgrades_directory(path), path);

	return sp_intern_add(u->names, name, SP_MIN((size_t)n, sizeof(name) - 1));
}

/* 1: the build is new, and there was another before. */
static int update_pair(struct sp_upgrades *u, uint32_t number, const struct sp_file *f)
{
	uint64_t hash = sp_hash_bytes(f->build_id, f->build_id_len, 1) | 1;
	struct sp_upgrade_pair *pair;
	int r = sp_grow(&u->pairs, &u->n_pairs, (size_t)number + 1, sizeof(*u->pairs));

	if (r < 0)
		return r;
	pair = &u->pairs[number];
	if (pair->now == hash)
		return 0;
	if (pair->before == hash) {
		pair->before = pair->now;
		pair->now = hash;
		return 0;
	}
	pair->before = pair->now;
	pair->now = hash;
	return pair->before != 0;
}

static int clear_pairs(struct sp_upgrades *u)
{
	sp_intern_free(sp_take_ptr(u->names));
	free(sp_take_ptr(u->pairs));
	u->n_pairs = 0;
	return sp_intern_new(&u->names);
}

/* done[]: a bit for each file of this program that was handled. */
static int update_stack(struct sp_upgrades *u, const struct sp_profile *p, const struct sp_process *process,
			uint32_t stack, uint8_t *done)
{
	struct sp_stack s = sp_profile_stack(p, stack);
	int n = 0;

	for (uint32_t i = 0; i < s.n_frames; i++) {
		uint32_t file = sp_profile_frame(p, s.frames[i])->file;
		int64_t number;
		int r;

		if (done[file / 8] & 1U << file % 8)
			continue;
		done[file / 8] |= (uint8_t)(1U << file % 8);
		if (file == process->exe || !is_library(sp_profile_file(p, file)))
			continue;
		number = pair_number(u, p, process, sp_profile_file(p, file));
		r = number < 0 ? (int)number : update_pair(u, (uint32_t)number, sp_profile_file(p, file));
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}

struct process_stack { /* a row by its process, so that each process's files are handled together */
	uint32_t process, stack;
};

static int compare_stacks(const void *a, const void *b)
{
	const struct process_stack *x = a, *y = b;

	return SP_RISING(x->process, y->process) ?: SP_RISING(x->stack, y->stack);
}

static int update_stacks(struct sp_upgrades *u, const struct sp_profile *p, const struct process_stack *stacks,
			 size_t n)
{
	size_t bytes = sp_profile_n_files(p) / 8 + 1, i;
	SP_FREE uint8_t *done = malloc(bytes);
	int sum = 0, r;

	if (!done)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct sp_process *process = sp_profile_process(p, stacks[i].process);

		if (!i || stacks[i].process != stacks[i - 1].process)
			memset(done, 0, bytes);
		else if (stacks[i].stack == stacks[i - 1].stack)
			continue;
		if (!process->exe)
			continue;
		r = update_stack(u, p, process, stacks[i].stack, done);
		if (r < 0)
			return r;
		if (r > 0)
			u->uid = !sum || u->uid == process->uid ? process->uid : SP_UPGRADE_SEVERAL;
		sum += r;
	}
	return sum;
}

int sp_upgrades_update(struct sp_upgrades *u, const struct sp_profile *p)
{
	uint32_t n = sp_profile_n_rows(p), i;
	SP_FREE struct process_stack *stacks = calloc(n + 1, sizeof(*stacks));
	int r = stacks ? 0 : -ENOMEM;

	if (r >= 0 && sp_intern_count(u->names) > SP_UPGRADE_SEEN)
		r = clear_pairs(u);
	if (r < 0)
		return r;
	for (i = 0; i < n; i++) {
		const struct sp_row *row = sp_profile_row(p, i);

		stacks[i] = (struct process_stack){.process = sp_profile_key(p, row->key)->process, .stack = row->user};
	}
	qsort(stacks, n, sizeof(*stacks), compare_stacks);
	return update_stacks(u, p, stacks, n);
}
