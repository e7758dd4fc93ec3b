/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forget.c: forgets files that were not in use for long, and moves those that are kept to a fresh profile.
 *
 * A file is in use when a sample went through it: then the kernel half writes the drain's number into its table.
 * Whether it is still mapped somewhere need not be known: it is announced again when it is met again. Memory without a
 * file is always forgotten: its numbers name process records, which begin anew.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "capture/lasting.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct aged {
	uint32_t id, used;
};

static int by_use(const void *a, const void *b)
{
	const struct aged *x = a, *y = b;

	return SP_FALLING(x->used, y->used);
}

/* Whether the kernel half gives this file another number by now, or none: nothing asks for this one any more. */
static bool is_replaced(const struct sp_capture *c, uint32_t id)
{
	sp_u64 known = 0;

	return bpf_map_lookup_elem(c->files_fd, &c->seen[id].key, &known) || known != id;
}

/* The drain of the file's last use. 0: it is forgotten even if there is room for it. */
static uint32_t use_of(const struct sp_capture *c, uint32_t id)
{
	const struct sp_table *t = sp_tables_get(c->tables, id);

	if (c->seen[id].key.dev == SP_DEV_ANON || is_replaced(c, id))
		return 0;
	return SP_MAX(SP_MAX(t->used, c->seen[id].loaded), 1);
}

static void forget(struct sp_capture *c, uint32_t id)
{
	if (!is_replaced(c, id))
		bpf_map_delete_elem(c->files_fd, &c->seen[id].key);
	sp_tables_forget(c->tables, id);
	sp_files_not_later(c, id);
	c->seen[id].state = SP_SEEN_FREE;
	c->seen[id].birth = 0;
	c->n_forgotten++;
}

/* Files that are still being opened or built stay. */
static size_t choose(const struct sp_capture *c, struct aged *all)
{
	size_t n = 0;
	uint32_t id;

	for (id = 1; id < c->n_seen; id++)
		if (c->seen[id].number && (c->seen[id].state == SP_SEEN_DONE || c->seen[id].state == SP_SEEN_LATER))
			all[n++] = (struct aged){.id = id, .used = use_of(c, id)};
	qsort(all, n, sizeof(*all), by_use);
	return n;
}

/* Empties the rule cache: no rule of a number's former file may be left in it. */
static int rules_forget(const struct sp_capture *c)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info), zero = 0;
	int n_cpus = libbpf_num_possible_cpus();
	SP_FREE void *nothing = NULL;

	if (bpf_obj_get_info_by_fd(c->rule_cache_fd, &info, &size))
		return -errno;
	nothing = calloc((size_t)SP_MAX(n_cpus, 1), (info.value_size + 7) & ~7U);
	if (!nothing)
		return -ENOMEM;
	return bpf_map_update_elem(c->rule_cache_fd, &zero, nothing, BPF_ANY) ? -errno : 0;
}

/* Gives the kernel half as many free numbers as its map has room for; the others follow the next time. */
static void numbers_give(struct sp_capture *c)
{
	uint32_t id;

	for (id = 1; id < c->n_seen; id++) {
		if (c->seen[id].state != SP_SEEN_FREE)
			continue;
		if (bpf_map_update_elem(c->free_files_fd, NULL, &id, BPF_ANY))
			return;
		c->seen[id].state = SP_SEEN_GIVEN;
	}
}

int sp_files_forget(struct sp_capture *c, const struct sp_capture_keep *keep)
{
	SP_FREE struct aged *all = calloc(c->n_seen + 1, sizeof(*all));
	sp_u32 now = *c->shared.drain;
	size_t n, i;
	int r;

	if (!all)
		return -ENOMEM;
	n = choose(c, all);
	for (i = 0; i < n; i++)
		if (!all[i].used || i >= keep->max_files || now - all[i].used > keep->n_drains)
			forget(c, all[i].id);
	r = rules_forget(c);
	if (r < 0)
		return sp_fail(r, "empty the kept rules");
	numbers_give(c);
	return 0;
}

/* --- into a fresh profile --- */
static int string_move(struct sp_capture *c, const struct sp_profile *from, uint32_t *string)
{
	int64_t number = sp_profile_add_string(c->profile, sp_profile_string(from, *string));

	*string = number < 0 ? 0 : (uint32_t)number;
	return number < 0 ? (int)number : 0;
}

static int64_t file_add(struct sp_capture *c, const struct sp_profile *from, uint32_t number)
{
	struct sp_file file = *sp_profile_file(from, number);
	uint32_t *strings[] = {&file.name, &file.path, &file.package, &file.package_version, &file.note};
	size_t i;
	int r = 0;

	for (i = 0; !r && i < SP_COUNT(strings); i++)
		r = string_move(c, from, strings[i]);
	return r < 0 ? r : sp_profile_add_file(c->profile, &file);
}

/* Two numbers of the kernel half may stand for one file. */
static int file_move(struct sp_capture *c, const struct sp_profile *from, struct sp_seen_file *seen,
		     struct sp_known_file *known)
{
	int64_t number = sp_numbers_find(&c->file_keys, &seen->key, sizeof(seen->key));
	int r;

	if (number) {
		seen->number = (uint32_t)number;
		return 0;
	}
	number = file_add(c, from, seen->number);
	if (number < 0)
		return (int)number;
	r = sp_grow(&c->known, &c->n_known, (size_t)number + 1, sizeof(*c->known));
	if (r >= 0)
		r = sp_numbers_set(&c->file_keys, &seen->key, sizeof(seen->key), (uint32_t)number);
	if (r < 0)
		return r;
	c->known[number] = *known;
	known->fd = -1;
	known->jit_dump_fd = known->memory_fd = 0;
	seen->number = (uint32_t)number;
	return 0;
}

int sp_files_move(struct sp_capture *c, const struct sp_profile *from, struct sp_known_file *known, size_t n_known)
{
	size_t i;
	int r = 0;

	for (i = 1; i < c->n_seen; i++) {
		struct sp_seen_file *seen = &c->seen[i];

		if (seen->state == SP_SEEN_FREE || seen->state == SP_SEEN_GIVEN)
			seen->number = 0;
		else if (!r && seen->number)
			r = file_move(c, from, seen, &known[seen->number]);
	}
	for (i = 1; i < n_known; i++)
		sp_known_file_done(&known[i]);
	return r;
}
