/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/write/dict_builder_priv.h"

#include "base/error.h"
#include "profile/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_KEPT = 1 << 20, PREFETCH_ROWS = 12 };

/* --- life --- */
static void free_items(struct sp_items *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(all[i]->data);
		*all[i] = (struct sp_items){0};
	}
}

/* For a renewed profile: its names keep their numbers. */
static void memo_renew(struct sp_memo *m)
{
	struct sp_items *all[] = {&m->keys, &m->stacks, &m->libraries};

	free_items(all, SP_COUNT(all));
	memset(m->kernel_nodes, 0, sizeof(m->kernel_nodes));
}

static void memo_clear(struct sp_memo *m)
{
	struct sp_items *all[] = {&m->strings, &m->funcs, &m->files, &m->frames, &m->unnamed};

	free_items(all, SP_COUNT(all));
	memo_renew(m);
}

static int init_tables(struct sp_dict_builder *builder)
{
	int r = 0;

	for (size_t i = 0; i < SP_N_DICT_KINDS && r == 0; i++) {
		builder->next[i] = 1;
		r = i == SP_NODES ? 0 : sp_id_map_init(&builder->ids[i]);
	}
	r = r < 0 ? r : sp_dict_builder_init_tree(builder);
	r = r < 0 ? r : sp_dict_builder_init_paths(builder);
	if (r < 0 || sp_items_reserve(&builder->n_successors, 1, sizeof(uint32_t)) < 0 ||
	    sp_items_reserve(&builder->owners, 1, sizeof(struct sp_frame_owner)) < 0 ||
	    sp_items_reserve(&builder->group_of, 1, sizeof(uint32_t)) < 0 ||
	    sp_items_reserve(&builder->file_of, 1, sizeof(uint32_t)) < 0 ||
	    sp_items_reserve(&builder->is_kernel, 1, 1) < 0)
		return -ENOMEM;
	sp_chunk_clear(&builder->pending, builder->next);
	return 0;
}

int sp_dict_builder_new(struct sp_dict_builder **ret_builder)
{
	struct sp_dict_builder *builder = calloc(1, sizeof(*builder));
	int r = !builder ? -ENOMEM : init_tables(builder);

	if (r < 0) {
		sp_dict_builder_free(builder);
		return r;
	}
	*ret_builder = builder;
	return 0;
}

void sp_dict_builder_free(struct sp_dict_builder *builder)
{
	if (!builder)
		return;
	struct sp_items *all[] = {&builder->n_successors, &builder->owners, &builder->group_of, &builder->file_of,
				  &builder->is_kernel};

	for (size_t i = 0; i < SP_COUNT(all); i++)
		free(all[i]->data);
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		sp_id_map_done(&builder->ids[i]);
	sp_chunk_done(&builder->pending);
	sp_dict_builder_done_paths(builder);
	sp_dict_builder_done_sums(builder);
	memo_clear(&builder->memo);
	free(builder->nodes);
	free(builder->slots);
	free(builder->pairs);
	free(builder);
}

struct sp_chunk *sp_dict_builder_pending(struct sp_dict_builder *builder)
{
	return &builder->pending;
}

void sp_dict_builder_commit(struct sp_dict_builder *builder)
{
	if (sp_chunk_memory(&builder->pending) > CHUNK_KEPT) /* only the first windows need as much */
		sp_chunk_done(&builder->pending);
	sp_chunk_clear(&builder->pending, builder->next);
}

struct sp_dict_view sp_dict_builder_view(const struct sp_dict_builder *builder)
{
	return (struct sp_dict_view){.nodes = builder->nodes,
				     .owners = builder->owners.data,
				     .group_of = builder->group_of.data,
				     .file_of = builder->file_of.data,
				     .n_nodes = builder->next[SP_NODES],
				     .n_frames = builder->next[SP_FRAMES],
				     .n_keys = builder->next[SP_KEYS],
				     .n_groups = builder->next[SP_GROUPS],
				     .n_files = builder->next[SP_FILES],
				     .n_funcs = builder->next[SP_FUNCS]};
}

size_t sp_dict_builder_memory(const struct sp_dict_builder *builder)
{
	const struct sp_memo *m = &builder->memo;
	size_t bytes = sizeof(*builder) + sp_chunk_memory(&builder->pending) +
		       builder->n_slots * sizeof(*builder->slots) + builder->next[SP_NODES] * sizeof(*builder->nodes) +
		       builder->n_pair_slots * sizeof(*builder->pairs);

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		bytes += sp_id_map_memory(&builder->ids[i]);
	bytes += sizeof(uint32_t) * (builder->n_successors.capacity + builder->group_of.capacity +
				     builder->file_of.capacity + m->strings.capacity + m->funcs.capacity +
				     m->keys.capacity + m->libraries.capacity + m->unnamed.capacity);
	bytes += builder->owners.capacity * sizeof(struct sp_frame_owner) + builder->is_kernel.capacity;
	bytes += m->files.capacity * sizeof(struct sp_memo_file) + m->frames.capacity * sizeof(struct sp_memo_frame);
	return bytes + m->stacks.capacity * sizeof(struct sp_memo_stack) + sp_dict_builder_paths_memory(builder);
}

/* --- items --- */
/* Finds the number of this identity, or adds the item. */
static int64_t dict_builder_intern(struct sp_dict_builder *builder, enum sp_dict_kind kind, const void *identity,
				   size_t len, const void *item)
{
	return sp_chunk_intern(&builder->pending, kind, &builder->ids[kind], &builder->next[kind], identity, len, item);
}

static int64_t find_string(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t string)
{
	if (string == 0)
		return 0;
	if (sp_items_reserve(&builder->memo.strings, (size_t)string + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	uint32_t *memo = &sp_items_words(&builder->memo.strings)[string];
	if (*memo == 0) {
		const char *s = sp_profile_string(p, string);
		int64_t number = dict_builder_intern(builder, SP_STRINGS, s, strlen(s), s);
		if (number < 0)
			return number;
		*memo = (uint32_t)number;
	}
	return *memo;
}

/* Replaces a string number of the profile by the dictionary's. Does nothing after an error. */
static void translate_string(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t *string, int *error)
{
	int64_t number = *error < 0 ? 0 : find_string(builder, p, *string);

	if (number < 0)
		*error = (int)number;
	else
		*string = (uint32_t)number;
}

static bool has_no_lasting_address(const struct sp_file *f)
{
	return f->kind == SP_FILE_ANON || f->kind == SP_FILE_KERNEL;
}

/* A path is no part of the identity if there is a build id: the first path met is kept. */
static int64_t add_file(struct sp_dict_builder *builder, const struct sp_profile *p, const struct sp_file *from)
{
	struct sp_file file, identity;
	int error = 0;

	memset(&file, 0, sizeof(file)); /* padding included, because the bytes are hashed */
	file.kind = from->kind;
	file.build_id_len = from->build_id_len;
	memcpy(file.build_id, from->build_id, SP_MIN(from->build_id_len, sizeof(file.build_id)));
	file.name = from->name, file.build_id_text = from->build_id_text, file.path = from->path;
	translate_string(builder, p, &file.name, &error);
	translate_string(builder, p, &file.path, &error);
	translate_string(builder, p, &file.build_id_text, &error);
	memcpy(&identity, &file, sizeof(identity));
	if (file.build_id_len > 0)
		identity.path = 0;
	file.package = from->package, file.package_version = from->package_version, file.note = from->note;
	file.deleted = from->deleted, file.owner_known = from->owner_known;
	translate_string(builder, p, &file.package, &error);
	translate_string(builder, p, &file.package_version, &error);
	translate_string(builder, p, &file.note, &error);
	if (error < 0 || sp_items_reserve(&builder->is_kernel, (size_t)builder->next[SP_FILES] + 1, 1) < 0)
		return error < 0 ? error : -ENOMEM;
	int64_t number = dict_builder_intern(builder, SP_FILES, &identity, sizeof(identity), &file);
	if (number > 0 && file.kind == SP_FILE_KERNEL) {
		((uint8_t *)builder->is_kernel.data)[number] = 1;
		if (builder->kernel_file == 0 || strcmp(sp_profile_string(p, from->name), "[kernel]") == 0)
			builder->kernel_file = (uint32_t)number;
	}
	return number;
}

static int64_t find_file(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t file)
{
	if (file == 0)
		return 0;
	if (sp_items_reserve(&builder->memo.files, (size_t)file + 1, sizeof(struct sp_memo_file)) < 0)
		return -ENOMEM;
	struct sp_memo_file *memo = (struct sp_memo_file *)builder->memo.files.data + file;
	if (memo->file == 0) {
		const struct sp_file *from = sp_profile_file(p, file);
		int64_t number = add_file(builder, p, from);
		if (number < 0)
			return number;
		memcpy(&memo->as, from, sizeof(memo->as));
		memo->file = (uint32_t)number;
	}
	return memo->file;
}

static int64_t add_func(struct sp_dict_builder *builder, const struct sp_profile *p, const struct sp_func *from)
{
	int64_t file = find_file(builder, p, from->file);
	struct sp_func func;
	int error = file < 0 ? (int)file : 0;

	memset(&func, 0, sizeof(func));
	func.name = from->name, func.linkage_name = from->linkage_name, func.source = from->source;
	translate_string(builder, p, &func.name, &error);
	translate_string(builder, p, &func.linkage_name, &error);
	translate_string(builder, p, &func.source, &error);
	func.file = (uint32_t)file, func.is_range = from->is_range, func.source_line = from->source_line;
	if (!has_no_lasting_address(sp_profile_file(p, from->file)))
		func.start = from->start, func.size = from->size, func.vaddr = from->vaddr;
	if (error < 0 || sp_items_reserve(&builder->file_of, (size_t)builder->next[SP_FUNCS] + 1, sizeof(uint32_t)) < 0)
		return error < 0 ? error : -ENOMEM;
	int64_t number = dict_builder_intern(builder, SP_FUNCS, &func, sizeof(func), &func);
	if (number > 0)
		sp_items_words(&builder->file_of)[number] = func.file;
	return number;
}

static int64_t find_func(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t func)
{
	if (func == 0)
		return 0;
	if (sp_items_reserve(&builder->memo.funcs, (size_t)func + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	uint32_t *memo = &sp_items_words(&builder->memo.funcs)[func];
	if (*memo == 0) {
		int64_t number = add_func(builder, p, sp_profile_func(p, func));
		if (number < 0)
			return number;
		*memo = (uint32_t)number;
	}
	return *memo;
}

/* As in profile/identity.h: the file of the function; the kernel and its modules are one library. */
static uint32_t library_of(const struct sp_dict_builder *builder, const struct sp_dict_frame *f)
{
	if (f->mark != SP_MARK_NONE)
		return SP_NO_LIBRARY;
	uint32_t file = f->file != 0 || f->func == 0 ? f->file : sp_items_words(&builder->file_of)[f->func];

	return ((const uint8_t *)builder->is_kernel.data)[file] != 0 ? builder->kernel_file : file;
}

int64_t sp_dict_builder_add_frame(struct sp_dict_builder *builder, const struct sp_dict_frame *f)
{
	size_t most = (size_t)builder->next[SP_FRAMES] + 1;

	if (sp_items_reserve(&builder->owners, most, sizeof(struct sp_frame_owner)) < 0 ||
	    sp_items_reserve(&builder->n_successors, most, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	int64_t number = dict_builder_intern(builder, SP_FRAMES, f, sizeof(*f), f);
	if (number > 0)
		((struct sp_frame_owner *)builder->owners.data)[number] =
		    (struct sp_frame_owner){f->func, library_of(builder, f)};
	return number;
}

static int remember_unnamed(struct sp_dict_builder *builder, uint32_t frame)
{
	struct sp_items *unnamed = &builder->memo.unnamed;

	if (sp_items_reserve(unnamed, unnamed->n + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	sp_items_words(unnamed)[unnamed->n - 1] = frame;
	return 0;
}

static int64_t add_frame(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t frame)
{
	const struct sp_frame *from = sp_profile_frame(p, frame);
	int64_t func = find_func(builder, p, from->func), file = find_file(builder, p, from->file);

	if (func < 0 || file < 0 || (from->func == 0 && remember_unnamed(builder, frame) < 0))
		return -ENOMEM;
	struct sp_dict_frame f = {.func = (uint32_t)func, .file = (uint32_t)file, .flags = from->flags & 0xff};
	if (func == 0 && !has_no_lasting_address(sp_profile_file(p, from->file)))
		f.offset = from->offset;
	return sp_dict_builder_add_frame(builder, &f);
}

int sp_dict_builder_find_frame(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t frame,
			       struct sp_memo_frame *ret_memo)
{
	if (sp_items_reserve(&builder->memo.frames, (size_t)frame + 1, sizeof(struct sp_memo_frame)) < 0)
		return -ENOMEM;
	struct sp_memo_frame *memo = (struct sp_memo_frame *)builder->memo.frames.data + frame;
	if (memo->frame == 0) {
		int64_t number = add_frame(builder, p, frame);
		if (number < 0)
			return (int)number;
		bool of_kernel = (sp_profile_frame(p, frame)->flags & SP_FRAMEF_KERNEL) != 0;
		memo->frame = (uint32_t)number | (of_kernel ? SP_FRAME_OF_KERNEL : 0);
		memo->library = ((const struct sp_frame_owner *)builder->owners.data)[number].library;
	}
	*ret_memo = *memo;
	return 0;
}

static int64_t add_key(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t key)
{
	const struct sp_key *from = sp_profile_key(p, key);
	const struct sp_process *process = sp_profile_process(p, from->process);
	int64_t exe = find_file(builder, p, process->exe);
	int error = exe < 0 ? (int)exe : 0;
	struct sp_dict_group g = {.exe = (uint32_t)exe,
				  .uid = process->uid,
				  .comm = process->comm,
				  .cgroup_path = process->cgroup_path,
				  .container = process->container,
				  .root = process->container == 0 ? process->root : 0};
	struct sp_dict_key k = {.pid = process->pid,
				.ns_pid = process->ns_pid,
				.exec_id = process->exec_id,
				.thread = from->comm,
				.start_ns = process->start_ns,
				.cgroup = process->cgroup};

	translate_string(builder, p, &g.comm, &error);
	translate_string(builder, p, &g.cgroup_path, &error);
	translate_string(builder, p, &g.container, &error);
	translate_string(builder, p, &g.root, &error);
	translate_string(builder, p, &k.thread, &error);
	int64_t group = error < 0 ? error : dict_builder_intern(builder, SP_GROUPS, &g, sizeof(g), &g);
	if (group < 0)
		return group;
	k.group = (uint32_t)group;
	if (sp_items_reserve(&builder->group_of, (size_t)builder->next[SP_KEYS] + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	int64_t number = dict_builder_intern(builder, SP_KEYS, &k, sizeof(k), &k);
	if (number > 0)
		sp_items_words(&builder->group_of)[number] = k.group;
	return number;
}

/* --- rows --- */
static void zero_items(struct sp_items *items, size_t each)
{
	if (items->n > 0)
		memset(items->data, 0, items->n * each);
}

/* Forgets the numbers of frames that have got a function since. Returns whether there are any. */
static bool forget_named_frames(struct sp_memo *m, const struct sp_profile *p)
{
	struct sp_memo_frame *frames = m->frames.data;
	uint32_t *unnamed = sp_items_words(&m->unnamed), n = 0;
	bool any = false;

	for (uint32_t i = 0; i < m->unnamed.n; i++) {
		if (sp_profile_frame(p, unnamed[i])->func == 0) {
			unnamed[n++] = unnamed[i];
			continue;
		}
		frames[unnamed[i]].frame = 0;
		any = true;
	}
	m->unnamed.n = n;
	return any;
}

/* Forgets the numbers of frames that were named, and of files that were renamed, since the last window. */
static void forget_renamed(struct sp_dict_builder *builder, const struct sp_profile *p)
{
	struct sp_memo *m = &builder->memo;
	bool renamed = false;

	for (uint32_t i = 1; i < m->files.n; i++) {
		struct sp_memo_file *f = (struct sp_memo_file *)m->files.data + i;
		if (f->file == 0 || memcmp(&f->as, sp_profile_file(p, i), sizeof(f->as)) == 0)
			continue;
		uint32_t before = f->file;
		f->file = 0;
		renamed |= find_file(builder, p, i) != before;
	}
	if (renamed) {
		zero_items(&m->funcs, sizeof(uint32_t));
		zero_items(&m->frames, sizeof(struct sp_memo_frame));
		m->unnamed.n = 0;
	}
	renamed |= forget_named_frames(m, p);
	if (renamed) {
		zero_items(&m->stacks, sizeof(struct sp_memo_stack));
		memset(m->kernel_nodes, 0, sizeof(m->kernel_nodes));
		m->libraries.n = 0;
	}
}

/* Keys are remembered for one window only, since the labels of processes may change. */
static int64_t find_key(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t key)
{
	if (sp_items_reserve(&builder->memo.keys, (size_t)key + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	if (sp_items_words(&builder->memo.keys)[key] != 0)
		return sp_items_words(&builder->memo.keys)[key];
	int64_t number = add_key(builder, p, key);
	if (number > 0)
		sp_items_words(&builder->memo.keys)[key] = (uint32_t)number;
	return number;
}

static int add_row(struct sp_dict_builder *builder, const struct sp_profile *p, const struct sp_row *row,
		   struct sp_window_rows *rows)
{
	int64_t key = find_key(builder, p, row->key),
		node = sp_dict_builder_find_node(builder, p, row->user, row->kernel);

	if (key < 0 || node < 0)
		return (int)(key < 0 ? key : node);
	rows->who[rows->n] = (uint32_t)key;
	rows->node[rows->n] = (uint32_t)node;
	for (uint32_t i = 0; i < rows->n_values; i++)
		rows->values[i][rows->n] = row->values[i];
	rows->n++;
	sp_dict_builder_sum_row(builder, row, rows->n_values);
	return 0;
}

static void prefetch_memo(const struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t row)
{
	const struct sp_memo_stack *stacks = builder->memo.stacks.data;
	uint32_t user = sp_profile_row(p, row)->user;

	if (user < builder->memo.stacks.n)
		__builtin_prefetch(&stacks[user]);
}

/* Prepares the user stacks of the next rows, up to *row. */
static int prepare_next_stacks(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t *row,
			       uint32_t n_rows)
{
	uint32_t stacks[SP_PATHS_AT_ONCE];
	size_t n_stacks = 0;

	for (; *row < n_rows && n_stacks < SP_PATHS_AT_ONCE; ++*row) {
		const struct sp_row *next = sp_profile_row(p, *row);
		uint32_t stack = next->user, node = sp_memo_of_stack(builder, stack).node;
		if (*row + PREFETCH_ROWS < n_rows)
			prefetch_memo(builder, p, *row + PREFETCH_ROWS);
		if (node != 0)
			sp_dict_builder_prefetch_row(builder, next);
		if (node == 0 && (n_stacks == 0 || stacks[n_stacks - 1] != stack))
			stacks[n_stacks++] = stack;
	}
	return sp_dict_builder_prepare_stacks(builder, p, stacks, n_stacks);
}

int sp_dict_builder_add_rows(struct sp_dict_builder *builder, const struct sp_profile *p,
			     struct sp_window_rows *ret_rows)
{
	uint32_t n_rows = sp_profile_n_rows(p);

	if (builder->memo.names != sp_profile_names_serial(p))
		memo_clear(&builder->memo);
	else if (builder->memo.profile != sp_profile_serial(p))
		memo_renew(&builder->memo);
	builder->memo.names = sp_profile_names_serial(p);
	builder->memo.profile = sp_profile_serial(p);
	forget_renamed(builder, p);
	zero_items(&builder->memo.keys, sizeof(uint32_t));
	ret_rows->n = 0;
	ret_rows->n_values = sp_profile_n_value_types(p);
	int r = sp_window_rows_reserve(ret_rows, n_rows);
	sp_dict_builder_begin_sums(builder);
	for (uint32_t i = 0, ready = 0; i < n_rows && r == 0; i++) {
		if (i == ready)
			r = prepare_next_stacks(builder, p, &ready, n_rows);
		r = r < 0 ? r : add_row(builder, p, sp_profile_row(p, i), ret_rows);
	}
	r = r < 0 ? r : sp_window_rows_sort(ret_rows);
	return r < 0 ? sp_fail(r, "number the window's rows") : 0;
}
