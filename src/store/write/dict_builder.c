/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/write/dict_builder_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "profile/window.h"

enum { CHUNK_KEPT = 1 << 20, SOON = 12 };

/* --- life --- */
static void items_free(struct sp_items *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(all[i]->data);
		*all[i] = (struct sp_items){0};
	}
}

/* A profile that was renewed: what it names keeps its numbers. */
static void memo_renew(struct sp_memo *m)
{
	struct sp_items *all[] = {&m->keys, &m->stacks, &m->libraries};

	items_free(all, SP_COUNT(all));
	memset(m->kernels, 0, sizeof(m->kernels));
}

static void memo_clear(struct sp_memo *m)
{
	struct sp_items *all[] = {&m->strings, &m->funcs, &m->files, &m->frames, &m->unnamed};

	items_free(all, SP_COUNT(all));
	memo_renew(m);
}

static int make_tables(struct sp_dict_builder *n)
{
	int r = 0;

	for (size_t i = 0; i < SP_N_DICT_KINDS && r == 0; i++) {
		n->n[i] = 1;
		r = i == SP_NODES ? 0 : sp_id_map_init(&n->seen[i]);
	}
	r = r < 0 ? r : sp_dict_builder_make_tree(n);
	r = r < 0 ? r : sp_dict_builder_make_paths(n);
	if (r < 0 || sp_items_room(&n->n_after, 1, sizeof(uint32_t)) < 0 ||
	    sp_items_room(&n->places, 1, sizeof(struct sp_frame_owner)) < 0 ||
	    sp_items_room(&n->groups, 1, sizeof(uint32_t)) < 0 || sp_items_room(&n->file_of, 1, sizeof(uint32_t)) < 0 ||
	    sp_items_room(&n->kernels, 1, 1) < 0)
		return -ENOMEM;
	sp_chunk_clear(&n->pending, n->n);
	return 0;
}

int sp_dict_builder_new(struct sp_dict_builder **ret_numbering)
{
	struct sp_dict_builder *n = calloc(1, sizeof(*n));
	int r = n == NULL ? -ENOMEM : make_tables(n);

	if (r < 0) {
		sp_dict_builder_free(n);
		return r;
	}
	*ret_numbering = n;
	return 0;
}

void sp_dict_builder_free(struct sp_dict_builder *n)
{
	if (n == NULL)
		return;
	struct sp_items *all[] = {&n->n_after, &n->places, &n->groups, &n->file_of, &n->kernels};

	for (size_t i = 0; i < SP_COUNT(all); i++)
		free(all[i]->data);
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		sp_id_map_done(&n->seen[i]);
	sp_chunk_done(&n->pending);
	sp_dict_builder_done_paths(n);
	sp_dict_builder_done_sums(n);
	memo_clear(&n->memo);
	free(n->nodes);
	free(n->slots);
	free(n->pairs);
	free(n);
}

struct sp_chunk *sp_dict_builder_pending(struct sp_dict_builder *n)
{
	return &n->pending;
}

void sp_dict_builder_written(struct sp_dict_builder *n)
{
	if (sp_chunk_memory(&n->pending) > CHUNK_KEPT) /* the first windows' */
		sp_chunk_done(&n->pending);
	sp_chunk_clear(&n->pending, n->n);
}

const uint32_t *sp_dict_builder_counts(const struct sp_dict_builder *n)
{
	return n->n;
}

struct sp_dict_view sp_dict_builder_view(const struct sp_dict_builder *n)
{
	return (struct sp_dict_view){.nodes = n->nodes,
				     .owners = n->places.data,
				     .group_of = n->groups.data,
				     .file_of = n->file_of.data,
				     .n_nodes = n->n[SP_NODES],
				     .n_frames = n->n[SP_FRAMES],
				     .n_keys = n->n[SP_KEYS],
				     .n_groups = n->n[SP_GROUPS],
				     .n_files = n->n[SP_FILES],
				     .n_funcs = n->n[SP_FUNCS]};
}

size_t sp_dict_builder_memory(const struct sp_dict_builder *n)
{
	const struct sp_memo *m = &n->memo;
	size_t bytes = sizeof(*n) + sp_chunk_memory(&n->pending) + n->n_slots * sizeof(*n->slots) +
		       n->n[SP_NODES] * sizeof(*n->nodes) + n->n_pair_slots * sizeof(*n->pairs);

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		bytes += sp_id_map_memory(&n->seen[i]);
	bytes +=
	    sizeof(uint32_t) * (n->n_after.capacity + n->groups.capacity + n->file_of.capacity + m->strings.capacity +
				m->funcs.capacity + m->keys.capacity + m->libraries.capacity + m->unnamed.capacity);
	bytes += n->places.capacity * sizeof(struct sp_frame_owner) + n->kernels.capacity;
	bytes += m->files.capacity * sizeof(struct sp_memo_file) + m->frames.capacity * sizeof(struct sp_memo_frame);
	return bytes + m->stacks.capacity * sizeof(struct sp_memo_stack) + sp_dict_builder_paths_memory(n);
}

/* --- things by their identity --- */
/* The number of the thing with this identity; a new one gets the item. */
static int64_t number_of(struct sp_dict_builder *n, enum sp_dict_kind kind, const void *identity, size_t len,
			 const void *item)
{
	uint32_t *number;
	int r = sp_id_map_find(&n->seen[kind], identity, len, &number);

	if (r < 0 || *number != 0)
		return r < 0 ? r : (int64_t)*number;
	r = kind == SP_STRINGS ? sp_chunk_add_string(&n->pending, item, len) : sp_chunk_add(&n->pending, kind, item);
	if (r < 0)
		return r;
	*number = n->n[kind]++;
	sp_id_map_added(&n->seen[kind]);
	return *number;
}

static int64_t string_number(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t string)
{
	if (string == 0)
		return 0;
	if (sp_items_room(&n->memo.strings, (size_t)string + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	uint32_t *memo = &sp_words(&n->memo.strings)[string];
	if (*memo == 0) {
		const char *s = sp_profile_string(p, string);
		int64_t number = number_of(n, SP_STRINGS, s, strlen(s), s);
		if (number < 0)
			return number;
		*memo = (uint32_t)number;
	}
	return *memo;
}

/* Replaces a number of the profile's strings; the error, if any, stays. */
static void translate(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t *string, int *error)
{
	int64_t number = *error < 0 ? 0 : string_number(n, p, *string);

	if (number < 0)
		*error = (int)number;
	else
		*string = (uint32_t)number;
}

static bool is_nowhere(const struct sp_file *f)
{
	return f->kind == SP_FILE_ANON || f->kind == SP_FILE_KERNEL;
}

/* Paths are labels, where there is a build id: the first one that was met is kept. */
static int64_t new_file(struct sp_dict_builder *n, const struct sp_profile *p, const struct sp_file *from)
{
	struct sp_file file, identity;
	int error = 0;

	memset(&file, 0, sizeof(file)); /* its bytes are hashed */
	file.kind = from->kind;
	file.build_id_len = from->build_id_len;
	memcpy(file.build_id, from->build_id, SP_MIN(from->build_id_len, sizeof(file.build_id)));
	file.name = from->name, file.build_id_text = from->build_id_text, file.path = from->path;
	translate(n, p, &file.name, &error);
	translate(n, p, &file.path, &error);
	translate(n, p, &file.build_id_text, &error);
	memcpy(&identity, &file, sizeof(identity));
	if (file.build_id_len > 0)
		identity.path = 0;
	file.package = from->package, file.package_version = from->package_version, file.note = from->note;
	file.deleted = from->deleted, file.owner_known = from->owner_known;
	translate(n, p, &file.package, &error);
	translate(n, p, &file.package_version, &error);
	translate(n, p, &file.note, &error);
	if (error < 0 || sp_items_room(&n->kernels, (size_t)n->n[SP_FILES] + 1, 1) < 0)
		return error < 0 ? error : -ENOMEM;
	int64_t number = number_of(n, SP_FILES, &identity, sizeof(identity), &file);
	if (number > 0 && file.kind == SP_FILE_KERNEL) {
		((uint8_t *)n->kernels.data)[number] = 1;
		if (n->kernel == 0 || strcmp(sp_profile_string(p, from->name), "[kernel]") == 0)
			n->kernel = (uint32_t)number;
	}
	return number;
}

static int64_t file_number(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t file)
{
	if (file == 0)
		return 0;
	if (sp_items_room(&n->memo.files, (size_t)file + 1, sizeof(struct sp_memo_file)) < 0)
		return -ENOMEM;
	struct sp_memo_file *memo = (struct sp_memo_file *)n->memo.files.data + file;
	if (memo->file == 0) {
		const struct sp_file *from = sp_profile_file(p, file);
		int64_t number = new_file(n, p, from);
		if (number < 0)
			return number;
		memcpy(&memo->as, from, sizeof(memo->as));
		memo->file = (uint32_t)number;
	}
	return memo->file;
}

static int64_t new_func(struct sp_dict_builder *n, const struct sp_profile *p, const struct sp_func *from)
{
	int64_t file = file_number(n, p, from->file);
	struct sp_func func;
	int error = file < 0 ? (int)file : 0;

	memset(&func, 0, sizeof(func));
	func.name = from->name, func.linkage_name = from->linkage_name, func.source = from->source;
	translate(n, p, &func.name, &error);
	translate(n, p, &func.linkage_name, &error);
	translate(n, p, &func.source, &error);
	func.file = (uint32_t)file, func.is_range = from->is_range, func.source_line = from->source_line;
	if (!is_nowhere(sp_profile_file(p, from->file)))
		func.start = from->start, func.size = from->size, func.vaddr = from->vaddr;
	if (error < 0 || sp_items_room(&n->file_of, (size_t)n->n[SP_FUNCS] + 1, sizeof(uint32_t)) < 0)
		return error < 0 ? error : -ENOMEM;
	int64_t number = number_of(n, SP_FUNCS, &func, sizeof(func), &func);
	if (number > 0)
		sp_words(&n->file_of)[number] = func.file;
	return number;
}

static int64_t func_number(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t func)
{
	if (func == 0)
		return 0;
	if (sp_items_room(&n->memo.funcs, (size_t)func + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	uint32_t *memo = &sp_words(&n->memo.funcs)[func];
	if (*memo == 0) {
		int64_t number = new_func(n, p, sp_profile_func(p, func));
		if (number < 0)
			return number;
		*memo = (uint32_t)number;
	}
	return *memo;
}

/* As identity.h has it: where the function lies, and the kernel is one library with its modules. */
static uint32_t library_of(const struct sp_dict_builder *n, const struct sp_dict_frame *f)
{
	if (f->mark != SP_MARK_NONE)
		return SP_NO_LIBRARY;
	uint32_t file = f->file != 0 || f->func == 0 ? f->file : sp_words(&n->file_of)[f->func];

	return ((const uint8_t *)n->kernels.data)[file] != 0 ? n->kernel : file;
}

int64_t sp_dict_builder_add_frame(struct sp_dict_builder *n, const struct sp_dict_frame *f)
{
	size_t most = (size_t)n->n[SP_FRAMES] + 1;

	if (sp_items_room(&n->places, most, sizeof(struct sp_frame_owner)) < 0 ||
	    sp_items_room(&n->n_after, most, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	int64_t number = number_of(n, SP_FRAMES, f, sizeof(*f), f);
	if (number > 0)
		((struct sp_frame_owner *)n->places.data)[number] = (struct sp_frame_owner){f->func, library_of(n, f)};
	return number;
}

static int remember_unnamed(struct sp_dict_builder *n, uint32_t frame)
{
	struct sp_items *unnamed = &n->memo.unnamed;

	if (sp_items_room(unnamed, unnamed->n + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	sp_words(unnamed)[unnamed->n - 1] = frame;
	return 0;
}

static int64_t new_frame(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t frame)
{
	const struct sp_frame *from = sp_profile_frame(p, frame);
	int64_t func = func_number(n, p, from->func), file = file_number(n, p, from->file);

	if (func < 0 || file < 0 || (from->func == 0 && remember_unnamed(n, frame) < 0))
		return -ENOMEM;
	struct sp_dict_frame f = {.func = (uint32_t)func, .file = (uint32_t)file, .flags = from->flags & 0xff};
	if (func == 0 && !is_nowhere(sp_profile_file(p, from->file)))
		f.offset = from->offset;
	return sp_dict_builder_add_frame(n, &f);
}

int sp_dict_builder_frame(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t frame,
			  struct sp_memo_frame *ret_memo)
{
	if (sp_items_room(&n->memo.frames, (size_t)frame + 1, sizeof(struct sp_memo_frame)) < 0)
		return -ENOMEM;
	struct sp_memo_frame *memo = (struct sp_memo_frame *)n->memo.frames.data + frame;
	if (memo->frame == 0) {
		int64_t number = new_frame(n, p, frame);
		if (number < 0)
			return (int)number;
		bool of_kernel = (sp_profile_frame(p, frame)->flags & SP_FRAMEF_KERNEL) != 0;
		memo->frame = (uint32_t)number | (of_kernel ? SP_OF_KERNEL : 0);
		memo->library = ((const struct sp_frame_owner *)n->places.data)[number].library;
	}
	*ret_memo = *memo;
	return 0;
}

static int64_t key_number(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t key)
{
	const struct sp_key *from = sp_profile_key(p, key);
	const struct sp_process *process = sp_profile_process(p, from->process);
	int64_t exe = file_number(n, p, process->exe);
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

	translate(n, p, &g.comm, &error);
	translate(n, p, &g.cgroup_path, &error);
	translate(n, p, &g.container, &error);
	translate(n, p, &g.root, &error);
	translate(n, p, &k.thread, &error);
	int64_t group = error < 0 ? error : number_of(n, SP_GROUPS, &g, sizeof(g), &g);
	if (group < 0)
		return group;
	k.group = (uint32_t)group;
	if (sp_items_room(&n->groups, (size_t)n->n[SP_KEYS] + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	int64_t number = number_of(n, SP_KEYS, &k, sizeof(k), &k);
	if (number > 0)
		sp_words(&n->groups)[number] = k.group;
	return number;
}

/* --- rows --- */
static void forget(struct sp_items *items, size_t each)
{
	if (items->n > 0)
		memset(items->data, 0, items->n * each);
}

/* Those that have a function by now. */
static bool forget_named_frames(struct sp_memo *m, const struct sp_profile *p)
{
	struct sp_memo_frame *frames = m->frames.data;
	uint32_t *unnamed = sp_words(&m->unnamed), n = 0;
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

/* What was named, or files that got another name, since they were numbered. */
static void forget_what_changed(struct sp_dict_builder *n, const struct sp_profile *p)
{
	struct sp_memo *m = &n->memo;
	bool renamed = false;

	for (uint32_t i = 1; i < m->files.n; i++) {
		struct sp_memo_file *f = (struct sp_memo_file *)m->files.data + i;
		if (f->file == 0 || memcmp(&f->as, sp_profile_file(p, i), sizeof(f->as)) == 0)
			continue;
		uint32_t before = f->file;
		f->file = 0;
		renamed |= file_number(n, p, i) != before;
	}
	if (renamed) {
		forget(&m->funcs, sizeof(uint32_t));
		forget(&m->frames, sizeof(struct sp_memo_frame));
		m->unnamed.n = 0;
	}
	renamed |= forget_named_frames(m, p);
	if (renamed) {
		forget(&m->stacks, sizeof(struct sp_memo_stack));
		memset(m->kernels, 0, sizeof(m->kernels));
		m->libraries.n = 0;
	}
}

/* Threads of one name in a process come after each other often, and labels of processes may change until the window is
 * over: keys are remembered for one window only. */
static int64_t key_of_row(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t key)
{
	if (sp_items_room(&n->memo.keys, (size_t)key + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	if (sp_words(&n->memo.keys)[key] != 0)
		return sp_words(&n->memo.keys)[key];
	int64_t number = key_number(n, p, key);
	if (number > 0)
		sp_words(&n->memo.keys)[key] = (uint32_t)number;
	return number;
}

static int number_row(struct sp_dict_builder *n, const struct sp_profile *p, const struct sp_row *row,
		      struct sp_window_rows *rows)
{
	int64_t key = key_of_row(n, p, row->key), node = sp_dict_builder_node(n, p, row->user, row->kernel);

	if (key < 0 || node < 0)
		return (int)(key < 0 ? key : node);
	rows->who[rows->n] = (uint32_t)key;
	rows->node[rows->n] = (uint32_t)node;
	for (uint32_t i = 0; i < rows->n_values; i++)
		rows->values[i][rows->n] = row->values[i];
	rows->n++;
	sp_dict_builder_sum_row(n, row, rows->n_values);
	return 0;
}

/* What is remembered of a row that comes a little later. */
static void ask_for_memo(const struct sp_dict_builder *n, const struct sp_profile *p, uint32_t row)
{
	const struct sp_memo_stack *stacks = n->memo.stacks.data;
	uint32_t user = sp_profile_row(p, row)->user;

	if (user < n->memo.stacks.n)
		__builtin_prefetch(&stacks[user]);
}

/* The user stacks of the next rows, as many as are looked at together: up to *row then. */
static int expect_stacks(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t *row, uint32_t n_rows)
{
	uint32_t stacks[SP_PATHS];
	size_t n_stacks = 0;

	for (; *row < n_rows && n_stacks < SP_PATHS; ++*row) {
		const struct sp_row *next = sp_profile_row(p, *row);
		uint32_t stack = next->user, node = sp_memo_of_stack(n, stack).node;
		if (*row + SOON < n_rows)
			ask_for_memo(n, p, *row + SOON);
		if (node != 0)
			sp_dict_builder_prefetch_row(n, next);
		if (node == 0 && (n_stacks == 0 || stacks[n_stacks - 1] != stack))
			stacks[n_stacks++] = stack;
	}
	return sp_dict_builder_expect(n, p, stacks, n_stacks);
}

int sp_dict_builder_rows(struct sp_dict_builder *n, const struct sp_profile *p, struct sp_window_rows *ret_rows)
{
	uint32_t n_rows = sp_profile_n_rows(p);

	if (n->memo.names != sp_profile_names_serial(p))
		memo_clear(&n->memo);
	else if (n->memo.profile != sp_profile_serial(p))
		memo_renew(&n->memo);
	n->memo.names = sp_profile_names_serial(p);
	n->memo.profile = sp_profile_serial(p);
	forget_what_changed(n, p);
	forget(&n->memo.keys, sizeof(uint32_t));
	ret_rows->n = 0;
	ret_rows->n_values = sp_profile_n_value_types(p);
	int r = sp_window_rows_reserve(ret_rows, n_rows);
	sp_dict_builder_begin_sums(n);
	for (uint32_t i = 0, ready = 0; i < n_rows && r == 0; i++) {
		if (i == ready)
			r = expect_stacks(n, p, &ready, n_rows);
		r = r < 0 ? r : number_row(n, p, sp_profile_row(p, i), ret_rows);
	}
	r = r < 0 ? r : sp_window_rows_sort(ret_rows);
	return r < 0 ? sp_fail(r, "number the window's rows") : 0;
}
