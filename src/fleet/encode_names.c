/* SPDX-License-Identifier: GPL-2.0-or-later */
/* encode_names.c: files, frames, stacks, and who it was, of a store's dictionary as rows; a part of encode.h. */
#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "fleet/encode_priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_FLAGS = (1 << SP_FRAME_VARIANT_SHIFT) - 1 };

/* --- begin and end --- */
static void names_forget(struct sp_encode_names *n)
{
	free(n->file_of);
	free(n->frame_of);
	free(n->who_of);
	free(n->stack_of);
	n->file_of = n->frame_of = n->who_of = n->stack_of = NULL;
}

int sp_encode_names_begin(struct sp_encode_names *n, const struct sp_stored_window *w)
{
	const struct sp_dict *d = w->dict;

	names_forget(n);
	n->dict = d;
	n->by_group = w->by_group;
	n->n_who = w->by_group ? d->n_groups : d->n_keys;
	n->file_of = calloc((size_t)d->n_files + 1, sizeof(*n->file_of));
	n->frame_of = calloc((size_t)d->n_frames + 1, sizeof(*n->frame_of));
	n->who_of = calloc((size_t)n->n_who + 1, sizeof(*n->who_of));
	n->stack_of = calloc((size_t)w->n_ends + 1, sizeof(*n->stack_of));
	return n->file_of && n->frame_of && n->who_of && n->stack_of ? 0 : -ENOMEM;
}

void sp_encode_names_done(struct sp_encode_names *n)
{
	names_forget(n);
	sp_bytes_done(&n->row);
}

/* --- rows --- */
static void put_text(struct sp_encode_names *n, uint32_t string)
{
	sp_bytes_put_text(&n->row, sp_dict_string(n->dict, string));
}

/* Never 0, which is none. The same content has the same id wherever it is made, so this may never change. */
static uint64_t row_finish(struct sp_encode_names *n, enum sp_fleet_table table)
{
	uint64_t id = sp_hash_bytes(n->row.bytes, n->row.n, n->seed + (uint64_t)table);
	struct sp_bytes *to = &n->into->tables[table];
	int r;

	id += id == 0;
	r = n->row.failed ? -ENOMEM : sp_sent_add(n->sent, id ^ ((uint64_t)n->day << 48));
	if (r < 0)
		n->error = r;
	if (r > 0) {
		sp_bytes_put_u16(to, n->day);
		sp_bytes_put_u64(to, id);
		sp_bytes_put(to, n->row.bytes, n->row.n);
		n->into->n_rows[table]++;
	}
	n->row.n = 0;
	return id;
}

static uint64_t file_id(struct sp_encode_names *n, uint32_t number)
{
	const struct sp_file *f = &n->dict->files[number < n->dict->n_files ? number : 0];
	char build_id[2 * SP_BUILD_ID_MAX + 1];

	if (!number || number >= n->dict->n_files || n->file_of[number])
		return number < n->dict->n_files ? n->file_of[number] : 0;
	sp_hex(f->build_id, SP_MIN(f->build_id_len, (uint8_t)SP_BUILD_ID_MAX), build_id);
	sp_bytes_put_u8(&n->row, f->kind);
	sp_bytes_put_text(&n->row, build_id);
	put_text(n, f->build_id_text);
	put_text(n, f->name);
	put_text(n, f->path);
	put_text(n, f->package);
	put_text(n, f->package_version);
	sp_bytes_put_u8(&n->row, f->deleted);
	n->file_of[number] = row_finish(n, SP_FLEET_FILE);
	return n->file_of[number];
}

/* Files first: a row is made at a time. */
static uint64_t frame_id(struct sp_encode_names *n, uint32_t number)
{
	const struct sp_dict_frame *f = &n->dict->frames[number];
	const struct sp_func *func = &n->dict->funcs[f->func < n->dict->n_funcs ? f->func : 0];

	if (n->frame_of[number])
		return n->frame_of[number];
	uint64_t file = file_id(n, f->file), of = file_id(n, func->file);
	sp_bytes_put_u64(&n->row, file);
	sp_bytes_put_u64(&n->row, of);
	put_text(n, func->name);
	put_text(n, func->linkage_name);
	put_text(n, func->source);
	sp_bytes_put_u32(&n->row, func->source_line);
	sp_bytes_put_u8(&n->row, func->is_range);
	sp_bytes_put_u64(&n->row, func->start);
	sp_bytes_put_u64(&n->row, func->size);
	sp_bytes_put_u64(&n->row, func->vaddr);
	sp_bytes_put_u64(&n->row, f->func ? 0 : f->offset);
	sp_bytes_put_u32(&n->row, f->flags & FRAME_FLAGS);
	n->frame_of[number] = row_finish(n, SP_FLEET_FRAME);
	return n->frame_of[number];
}

/* A stack without a mark has lost its root; without a kernel's mark there is no kernel stack. */
static void put_marks(struct sp_encode_names *n, const struct sp_encode_path *path)
{
	sp_bytes_put_u16(&n->row, path->user ? path->user->stack_class : SP_CLASS_CUT);
	sp_bytes_put_u16(&n->row, path->user ? path->user->reason : 0);
	sp_bytes_put_u16(&n->row, path->kernel ? path->kernel->stack_class : 0);
	sp_bytes_put_u16(&n->row, path->kernel ? path->kernel->reason : 0);
}

uint64_t sp_encode_stack(struct sp_encode_names *n, uint32_t end, const struct sp_encode_path *path)
{
	if (n->stack_of[end])
		return n->stack_of[end];
	for (uint32_t i = 0; i < path->n; i++)
		frame_id(n, path->frames[i]);
	put_marks(n, path);
	sp_bytes_put_u32(&n->row, path->n_kernel);
	sp_bytes_put_length(&n->row, path->n);
	for (uint32_t i = 0; i < path->n; i++)
		sp_bytes_put_u64(&n->row, n->frame_of[path->frames[i]]);
	n->stack_of[end] = row_finish(n, SP_FLEET_STACK);
	return n->stack_of[end];
}

/* A group's thread is its process. */
uint64_t sp_encode_who(struct sp_encode_names *n, uint32_t who)
{
	const struct sp_dict *d = n->dict;
	uint32_t at = who < n->n_who ? who : 0;
	const struct sp_dict_key *key = n->by_group ? NULL : &d->keys[at];
	uint32_t group = key ? key->group : at;
	const struct sp_dict_group *g = &d->groups[group < d->n_groups ? group : 0];

	if (n->who_of[at])
		return n->who_of[at];
	uint64_t exe = file_id(n, g->exe);
	sp_bytes_put_u64(&n->row, exe);
	put_text(n, g->comm);
	put_text(n, key ? key->thread : g->comm);
	sp_bytes_put_u32(&n->row, g->uid);
	put_text(n, g->cgroup_path);
	put_text(n, g->container);
	put_text(n, g->root);
	n->who_of[at] = row_finish(n, SP_FLEET_WHO);
	return n->who_of[at];
}

/* --- paths --- */
/* One of which nothing is known is left out, as where a profile is made of the store. */
static bool is_frame(const struct sp_dict_frame *f, uint32_t number)
{
	return number && (f->func || f->file || f->offset || f->flags & FRAME_FLAGS);
}

int sp_encode_path_find(const struct sp_dict *d, uint32_t node, struct sp_encode_path *path)
{
	path->n = path->n_kernel = 0;
	path->user = path->kernel = NULL;
	for (; node; node = d->parent[node]) {
		uint32_t number = d->frame[node];
		const struct sp_dict_frame *f = &d->frames[number];
		if (f->mark == SP_MARK_KERNEL) {
			path->kernel = f;
			path->n_kernel = path->n;
		} else if (f->mark != SP_MARK_NONE) {
			path->user = f;
		} else if (is_frame(f, number)) {
			if (sp_grow(&path->frames, &path->capacity, (size_t)path->n + 1, sizeof(*path->frames)) < 0)
				return -ENOMEM;
			path->frames[path->n++] = number;
			if (f->flags & SP_FRAMEF_KERNEL && !path->kernel)
				path->n_kernel = path->n;
		}
	}
	return 0;
}
