/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/names.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/parse.h"
#include "profile/profile.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* From ids to numbers of the profile. */
struct ids {
	struct sp_intern *ids;
	uint32_t *numbers;
	size_t capacity;
};

struct sp_fleet_names {
	struct sp_profile *p;
	uint32_t source;
	struct ids files, frames, processes;
	struct ids hosts;  /* to sets of labels */
	struct ids stacks; /* to elements of pairs[] */
	struct sp_fleet_stacks *pairs;
	size_t n_pairs, pairs_capacity;
	uint32_t *threads; /* by index of `processes`: string */
	size_t threads_capacity;
	struct sp_intern *same_files, *same_processes;
	uint32_t *stack;
	size_t stack_capacity;
	uint64_t n_unknown;
};

/* --- ids --- */
static int ids_put(struct ids *ids, uint64_t id, uint32_t number)
{
	int64_t at =
	    sp_intern_add_to(ids->ids, &id, sizeof(id), &ids->numbers, &ids->capacity, sizeof(*ids->numbers), NULL);

	if (at < 0)
		return (int)at;
	ids->numbers[at] = number;
	return 0;
}

/* Id 0 is none; -ENOENT: not given. */
static int64_t ids_find(struct sp_fleet_names *n, const struct ids *ids, uint64_t id)
{
	int64_t at = sp_intern_find(ids->ids, &id, sizeof(id));

	if (at >= 0)
		return ids->numbers[at];
	n->n_unknown += id != 0;
	return id != 0 ? -ENOENT : 0;
}

/* What is not known is none. */
static uint32_t number_of(struct sp_fleet_names *n, const struct ids *ids, uint64_t id)
{
	int64_t number = ids_find(n, ids, id);

	return number < 0 ? 0 : (uint32_t)number;
}

uint64_t sp_fleet_names_unknown(const struct sp_fleet_names *n)
{
	return n->n_unknown;
}

/* --- begin and end --- */
int sp_fleet_names_new(struct sp_profile *p, const char *source, struct sp_fleet_names **ret_names)
{
	struct sp_fleet_names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	struct sp_intern **tables[] = {&n->files.ids, &n->frames.ids, &n->processes.ids, &n->stacks.ids,
				       &n->hosts.ids, &n->same_files, &n->same_processes};
	int64_t string = sp_profile_add_string(p, source);
	int r = string < 0 ? (int)string : 0;

	for (size_t i = 0; r == 0 && i < SP_COUNT(tables); i++)
		r = sp_intern_new_bare(tables[i]);
	if (r < 0) {
		sp_fleet_names_free(n);
		return r;
	}
	n->p = p;
	n->source = (uint32_t)string;
	*ret_names = n;
	return 0;
}

static void ids_done(struct ids *ids)
{
	sp_intern_free(ids->ids);
	free(ids->numbers);
}

void sp_fleet_names_free(struct sp_fleet_names *n)
{
	if (!n)
		return;
	ids_done(&n->files);
	ids_done(&n->frames);
	ids_done(&n->processes);
	ids_done(&n->stacks);
	ids_done(&n->hosts);
	sp_intern_free(n->same_files);
	sp_intern_free(n->same_processes);
	free(n->pairs);
	free(n->threads);
	free(n->stack);
	free(n);
}

/* --- files --- */
/* -ENOMEM is remembered in *r, so that a row is read to its end. */
static uint32_t read_string(struct sp_fleet_names *n, struct sp_row_reader *row, int *r)
{
	size_t len;
	const char *text = sp_row_text(row, &len);
	int64_t string = sp_profile_add_bytes(n->p, text, len);

	*r = string < 0 ? (int)string : *r;
	return string < 0 ? 0 : (uint32_t)string;
}

static void read_build_id(struct sp_row_reader *row, struct sp_file *f)
{
	size_t len, i;
	const char *hex = sp_row_text(row, &len);

	for (i = 0; i < len / 2 && i < SP_BUILD_ID_MAX; i++) {
		int high = sp_hex_digit(hex[2 * i]), low = sp_hex_digit(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			break;
		f->build_id[i] = (uint8_t)(high << 4 | low);
	}
	f->build_id_len = (uint8_t)i;
}

/* As the store's answers have it: the tag is the index of the identity. */
static int64_t file_add(struct sp_fleet_names *n, struct sp_file *f)
{
	struct sp_file same;

	memset(&same, 0, sizeof(same)); /* padding is hashed, too */
	same.kind = f->kind;
	same.build_id_len = f->build_id_len;
	memcpy(same.build_id, f->build_id, f->build_id_len);
	same.build_id_text = f->build_id_text;
	same.name = f->name;
	same.path = f->path;
	int64_t tag = sp_intern_add(n->same_files, &same, sizeof(same));
	f->tag = (uint64_t)tag;
	return tag < 0 ? tag : sp_profile_add_file(n->p, f);
}

int sp_fleet_names_file(struct sp_fleet_names *n, struct sp_row_reader *row)
{
	uint64_t id = sp_row_u64(row);
	struct sp_file f = {.kind = sp_row_u8(row)};
	int r = 0;

	read_build_id(row, &f);
	f.build_id_text = read_string(n, row, &r);
	f.name = read_string(n, row, &r);
	f.path = read_string(n, row, &r);
	f.package = read_string(n, row, &r);
	f.package_version = read_string(n, row, &r);
	f.deleted = sp_row_u8(row);
	f.owner_known = f.package != 0;
	if (r < 0 || row->bad)
		return r;
	int64_t number = file_add(n, &f);

	return number < 0 ? (int)number : ids_put(&n->files, id, (uint32_t)number);
}

/* --- frames --- */
static int64_t frame_add(struct sp_fleet_names *n, const struct sp_func *func, struct sp_frame *f)
{
	if (func->name || func->file) {
		int64_t number = sp_profile_add_func(n->p, func);
		if (number < 0)
			return number;
		f->func = (uint32_t)number;
		f->offset = func->start;
	}
	return sp_profile_add_frame_variant(n->p, f, f->offset != 0 || !f->func);
}

int sp_fleet_names_frame(struct sp_fleet_names *n, struct sp_row_reader *row)
{
	uint64_t id = sp_row_u64(row);
	struct sp_frame f = {0};
	struct sp_func func = {0};
	int r = 0;

	f.file = number_of(n, &n->files, sp_row_u64(row));
	func.file = number_of(n, &n->files, sp_row_u64(row));
	func.name = read_string(n, row, &r);
	func.linkage_name = read_string(n, row, &r);
	func.source = read_string(n, row, &r);
	func.source_line = sp_row_u32(row);
	func.is_range = sp_row_u8(row);
	func.start = sp_row_u64(row);
	func.size = sp_row_u64(row);
	func.vaddr = sp_row_u64(row);
	f.offset = sp_row_u64(row);
	f.flags = sp_row_u32(row) & ((1U << SP_FRAME_VARIANT_SHIFT) - 1);
	if (r < 0 || row->bad)
		return r;
	int64_t number = frame_add(n, &func, &f);

	return number < 0 ? (int)number : ids_put(&n->frames, id, (uint32_t)number);
}

/* --- stacks --- */
static int stack_pair_put(struct sp_fleet_names *n, uint64_t id, const struct sp_stack *user,
			  const struct sp_stack *kernel)
{
	int64_t u = sp_profile_add_stack(n->p, user), k = sp_profile_add_stack(n->p, kernel);
	int r = u < 0 || k < 0 ? -ENOMEM : sp_grow(&n->pairs, &n->pairs_capacity, n->n_pairs + 1, sizeof(*n->pairs));

	if (r < 0)
		return r;
	n->pairs[n->n_pairs] = (struct sp_fleet_stacks){(uint32_t)u, (uint32_t)k};
	return ids_put(&n->stacks, id, (uint32_t)n->n_pairs++);
}

int sp_fleet_names_stack(struct sp_fleet_names *n, struct sp_row_reader *row)
{
	uint64_t id = sp_row_u64(row);
	struct sp_stack user = {0}, kernel = {0};
	size_t n_frames, n_kernel;

	user.stack_class = sp_row_u16(row);
	user.reason = sp_row_u16(row);
	kernel.stack_class = sp_row_u16(row);
	kernel.reason = sp_row_u16(row);
	n_kernel = sp_row_u32(row);
	n_frames = sp_row_length(row, sizeof(uint64_t));
	row->bad = row->bad || n_kernel > n_frames || n_frames > UINT32_MAX;
	int r = row->bad ? 0 : sp_grow(&n->stack, &n->stack_capacity, n_frames + 1, sizeof(*n->stack));

	if (row->bad || r < 0)
		return r;
	for (size_t i = 0; i < n_frames; i++)
		n->stack[i] = number_of(n, &n->frames, sp_row_u64(row));
	kernel.frames = n->stack;
	kernel.n_frames = (uint32_t)n_kernel;
	user.frames = n->stack + n_kernel;
	user.n_frames = (uint32_t)(n_frames - n_kernel);
	return stack_pair_put(n, id, &user, &kernel);
}

struct sp_fleet_stacks sp_fleet_names_stacks(struct sp_fleet_names *n, uint64_t id)
{
	int64_t at = ids_find(n, &n->stacks, id);

	return at < 0 || !id ? (struct sp_fleet_stacks){0} : n->pairs[at];
}

static int64_t shortened_add(struct sp_fleet_names *n, uint32_t leaf)
{
	const struct sp_frame *of = sp_profile_frame(n->p, leaf);
	int64_t name = sp_profile_add_string(n->p, SP_SHORTENED), func;
	struct sp_frame f = {.file = of->file, .flags = of->flags & SP_FRAMEF_KERNEL};

	if (name < 0)
		return name;
	func = sp_profile_add_func(
	    n->p, &(struct sp_func){.name = (uint32_t)name, .file = sp_profile_func(n->p, of->func)->file});
	f.func = (uint32_t)func;
	return func < 0 ? func : sp_profile_add_frame_variant(n->p, &f, false);
}

int sp_fleet_names_rare(struct sp_fleet_names *n, const struct sp_fleet_rare *rare, struct sp_row_reader *above,
			struct sp_fleet_stacks *ret_stacks)
{
	struct sp_stack user = {.stack_class = rare->stack_class, .reason = rare->reason}, kernel = {0};
	size_t n_above = sp_row_length(above, sizeof(uint64_t)), n_frames = 0;
	int r = above->bad ? -EIO : sp_grow(&n->stack, &n->stack_capacity, n_above + 2, sizeof(*n->stack));
	uint32_t leaf = number_of(n, &n->frames, rare->leaf);
	int64_t shortened = r < 0 ? r : rare->is_cut ? shortened_add(n, leaf) : 0, u, k;

	if (shortened < 0)
		return (int)shortened;
	if (rare->leaf)
		n->stack[n_frames++] = leaf;
	if (rare->is_cut)
		n->stack[n_frames++] = (uint32_t)shortened;
	kernel.n_frames = rare->in_kernel ? (uint32_t)n_frames + SP_MIN(rare->n_above_kernel, (uint32_t)n_above) : 0;
	for (size_t i = 0; i < n_above; i++)
		n->stack[n_frames++] = number_of(n, &n->frames, sp_row_u64(above));
	kernel.frames = n->stack;
	user.frames = n->stack + kernel.n_frames;
	user.n_frames = (uint32_t)n_frames - kernel.n_frames;
	u = sp_profile_add_stack(n->p, &user);
	k = sp_profile_add_stack(n->p, &kernel);
	if (u < 0 || k < 0)
		return -ENOMEM;
	*ret_stacks = (struct sp_fleet_stacks){(uint32_t)u, (uint32_t)k};
	return 0;
}

/* --- who --- */
/* They have no pid: what else is known tells them apart. */
static int64_t process_add(struct sp_fleet_names *n, struct sp_process *process)
{
	const uint32_t words[] = {process->exe,         process->uid,       process->comm,
				  process->cgroup_path, process->container, process->root};
	int64_t same = sp_intern_add(n->same_processes, words, sizeof(words));

	if (!process->exe && !process->comm && !process->cgroup_path)
		return 0;
	process->exec_id = (uint32_t)same + 1;
	return same < 0 ? same : sp_profile_add_process(n->p, process);
}

int sp_fleet_names_who(struct sp_fleet_names *n, struct sp_row_reader *row)
{
	uint64_t id = sp_row_u64(row);
	struct sp_process process = {0};
	uint32_t thread;
	int r = 0;

	process.exe = number_of(n, &n->files, sp_row_u64(row));
	process.comm = read_string(n, row, &r);
	thread = read_string(n, row, &r);
	process.uid = sp_row_u32(row);
	process.cgroup_path = read_string(n, row, &r);
	process.container = read_string(n, row, &r);
	process.root = read_string(n, row, &r);
	if (r < 0 || row->bad)
		return r;
	int64_t number = process_add(n, &process);

	r = number < 0 ? (int)number : ids_put(&n->processes, id, (uint32_t)number);
	if (r == 0)
		r = sp_grow(&n->threads, &n->threads_capacity, sp_intern_count(n->processes.ids), sizeof(*n->threads));
	if (r == 0)
		n->threads[sp_intern_find(n->processes.ids, &id, sizeof(id))] = thread;
	return r;
}

int sp_fleet_names_host(struct sp_fleet_names *n, struct sp_row_reader *row)
{
	uint64_t id = sp_row_u64(row);
	int r = 0;
	struct sp_label label = {.word = read_string(n, row, &r)};
	int64_t name = sp_profile_add_string(n->p, "host"), set;

	if (r < 0 || row->bad || name < 0)
		return r < 0 || row->bad ? r : (int)name;
	label.name = (uint32_t)name;
	set = sp_profile_add_labels(n->p, &label, 1);
	return set < 0 ? (int)set : ids_put(&n->hosts, id, (uint32_t)set);
}

int64_t sp_fleet_names_key(struct sp_fleet_names *n, uint64_t id, uint32_t slice, uint64_t host)
{
	struct sp_key key = {.recipe = n->source, .slice = slice, .labels = number_of(n, &n->hosts, host)};
	int64_t at = sp_intern_find(n->processes.ids, &id, sizeof(id));

	if (at >= 0) {
		key.process = n->processes.numbers[at];
		key.comm = n->threads[at];
	} else {
		n->n_unknown += id != 0;
	}
	return sp_profile_add_key(n->p, &key);
}
