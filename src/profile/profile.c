/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/profile.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "profile/frames.h"
#include "profile/window.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLOTS_MIN = 64,
	MAX_VARIANTS = 1 << 16, /* numbers tried for a frame; so many in a row are taken only when nearly all are */
};

/* Items with an identity and further fields. An item and its interned identity have the same number. */
struct table {
	struct sp_intern *identities;
	void *items;
	size_t capacity, item_bytes;
};

struct sp_profile {
	uint64_t serial, names_serial;
	struct sp_profile_info info;
	struct sp_value_type value_types[SP_MAX_VALUES];
	uint32_t n_value_types;
	struct sp_intern *strings, *stacks, *labels, *keys; /* nothing but identity */
	struct table files, funcs, frames, processes;
	uint64_t *scratch; /* a stack or a set of labels, while it is looked up */
	size_t scratch_capacity;
	bool has_words; /* files of that kind */
	char *rows;     /* struct sp_row with its values, row_bytes each */
	size_t n_rows, row_capacity, row_bytes;
	struct row_slot *slots; /* open addressing */
	size_t n_slots;         /* a power of two */
};
/* The hash is kept so that few rows are compared. */
struct row_slot {
	uint32_t hash, row; /* row + 1, 0 = free */
};

/* Identities must have no padding. A stack's frames follow its head. */
struct file_identity {
	uint64_t kind, tag;
};
struct func_identity {
	uint32_t name, linkage_name, file, is_range, source, source_line;
	uint64_t start, size, vaddr;
};
struct frame_identity {
	uint64_t offset;
	uint32_t file, flags;
};
struct process_identity {
	uint32_t pid, exec_id;
	uint64_t start_ns;
};
struct stack_head {
	uint32_t stack_class, reason;
};
_Static_assert(sizeof(struct sp_key) == 24, "a key is its own identity: no padding");
_Static_assert(sizeof(struct sp_label) == 24, "a label is its own identity: no padding");

static int64_t table_add(struct table *t, const void *identity, size_t len, const void *item)
{
	bool is_new;
	int64_t number =
	    sp_intern_add_to(t->identities, identity, len, &t->items, &t->capacity, t->item_bytes, &is_new);

	if (is_new)
		memcpy((char *)t->items + (size_t)number * t->item_bytes, item, t->item_bytes);
	return number;
}

static int table_new(struct table *t, size_t item_bytes)
{
	t->item_bytes = item_bytes;
	return sp_intern_new_bare(&t->identities);
}

static void table_free(struct table *t)
{
	sp_intern_free(t->identities);
	free(t->items);
}

/* Makes the tables that a renewal keeps, with number 0 of each: strings, files, functions, frames. */
static int name_tables_make(struct sp_profile *p)
{
	if (sp_intern_new(&p->strings) < 0 || table_new(&p->files, sizeof(struct sp_file)) < 0 ||
	    table_new(&p->funcs, sizeof(struct sp_func)) < 0 || table_new(&p->frames, sizeof(struct sp_frame)) < 0 ||
	    sp_profile_add_string(p, "") < 0 || sp_profile_add_file(p, &(struct sp_file){0}) < 0 ||
	    sp_profile_add_func(p, &(struct sp_func){0}) < 0 || sp_profile_add_frame(p, &(struct sp_frame){0}) < 0)
		return -ENOMEM;
	return 0;
}

/* Makes the tables that a renewal empties, with number 0 of each: stacks, labels, keys, processes, rows. */
static int row_tables_make(struct sp_profile *p)
{
	p->n_slots = SLOTS_MIN;
	p->slots = calloc(p->n_slots, sizeof(*p->slots));
	if (!p->slots || sp_intern_new_bare(&p->stacks) < 0 || sp_intern_new_bare(&p->labels) < 0 ||
	    sp_intern_new_bare(&p->keys) < 0 || table_new(&p->processes, sizeof(struct sp_process)) < 0 ||
	    sp_profile_add_stack(p, &(struct sp_stack){0}) < 0 ||
	    sp_profile_add_process(p, &(struct sp_process){0}) < 0 || sp_profile_add_labels(p, NULL, 0) < 0 ||
	    sp_profile_add_key(p, &(struct sp_key){0}) < 0)
		return -ENOMEM;
	return 0;
}

static void row_tables_free(struct sp_profile *p)
{
	sp_intern_free(p->stacks);
	sp_intern_free(p->labels);
	sp_intern_free(p->keys);
	table_free(&p->processes);
	free(p->scratch);
	free(p->rows);
	free(p->slots);
}

static uint64_t new_serial(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add(&last, 1) + 1;
}

int sp_profile_new(struct sp_profile **ret_profile)
{
	struct sp_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->serial = p->names_serial = new_serial();
	if (name_tables_make(p) < 0 || row_tables_make(p) < 0) {
		sp_profile_free(p);
		return -ENOMEM;
	}
	*ret_profile = p;
	return 0;
}

void sp_profile_free(struct sp_profile *p)
{
	if (!p)
		return;
	sp_intern_free(p->strings);
	table_free(&p->files);
	table_free(&p->funcs);
	table_free(&p->frames);
	row_tables_free(p);
	free(p);
}

uint64_t sp_profile_serial(const struct sp_profile *p)
{
	return p->serial;
}

struct sp_profile_info *sp_profile_info(const struct sp_profile *p)
{
	return (struct sp_profile_info *)&p->info; /* mutable like items: readers of a profile may add labels */
}

int sp_profile_add_value_type(struct sp_profile *p, const char *name, const char *unit)
{
	if (p->n_rows > 0)
		return -EINVAL;
	if (p->n_value_types == SP_MAX_VALUES)
		return -E2BIG;
	int64_t n = sp_profile_add_string(p, name), u = sp_profile_add_string(p, unit);
	if (n < 0 || u < 0)
		return -ENOMEM;
	p->value_types[p->n_value_types++] = (struct sp_value_type){.name = (uint32_t)n, .unit = (uint32_t)u};
	return 0;
}

uint32_t sp_profile_n_value_types(const struct sp_profile *p)
{
	return p->n_value_types;
}

const struct sp_value_type *sp_profile_value_type(const struct sp_profile *p, uint32_t i)
{
	return &p->value_types[i];
}

int64_t sp_profile_add_string(struct sp_profile *p, const char *s)
{
	return sp_intern_add(p->strings, s, strlen(s));
}

int64_t sp_profile_add_bytes(struct sp_profile *p, const void *s, size_t len)
{
	return sp_intern_add(p->strings, s, len > 0 ? strnlen(s, len) : 0);
}

const char *sp_profile_string(const struct sp_profile *p, uint32_t string)
{
	return sp_intern_get(p->strings, string, NULL);
}

static bool is_string(const struct sp_profile *p, uint32_t number)
{
	return number < sp_intern_count(p->strings);
}

/* File 0 is valid before it has been added. */
static bool is_file(const struct sp_profile *p, uint32_t number)
{
	return number == 0 || number < sp_profile_n_files(p);
}

int64_t sp_profile_add_file(struct sp_profile *p, const struct sp_file *file)
{
	struct file_identity identity = {.kind = file->kind, .tag = file->tag};

	if (!is_string(p, file->name) || !is_string(p, file->path) || !is_string(p, file->package) ||
	    !is_string(p, file->package_version) || !is_string(p, file->note) || !is_string(p, file->build_id_text) ||
	    file->build_id_len > SP_BUILD_ID_MAX || (file->process != 0 && file->process >= sp_profile_n_processes(p)))
		return -EINVAL;
	p->has_words |= file->kind == SP_FILE_WORDS;
	return table_add(&p->files, &identity, sizeof(identity), file);
}

int64_t sp_profile_add_func(struct sp_profile *p, const struct sp_func *func)
{
	struct func_identity identity = {.name = func->name,
					 .linkage_name = func->linkage_name,
					 .file = func->file,
					 .is_range = func->is_range,
					 .source = func->source,
					 .source_line = func->source_line,
					 .start = func->start,
					 .size = func->size,
					 .vaddr = func->vaddr};

	if (!is_string(p, func->name) || !is_string(p, func->linkage_name) || !is_string(p, func->source) ||
	    !is_file(p, func->file))
		return -EINVAL;
	return table_add(&p->funcs, &identity, sizeof(identity), func);
}

int64_t sp_profile_add_frame(struct sp_profile *p, const struct sp_frame *frame)
{
	struct frame_identity identity = {.offset = frame->offset, .file = frame->file, .flags = frame->flags};

	if (!is_file(p, frame->file) || (frame->func != 0 && frame->func >= sp_profile_n_funcs(p)))
		return -EINVAL;
	return table_add(&p->frames, &identity, sizeof(identity), frame);
}

static uint64_t hash_string(const struct sp_profile *p, uint32_t string, uint64_t seed)
{
	const char *s = sp_profile_string(p, string);

	return sp_hash_bytes(s, strlen(s), seed);
}

/*
 * The frame's flags with a variant number (from 1) made of a hash of function and line, so that few frames try the
 * same.
 */
static uint32_t frame_variant(const struct sp_profile *p, const struct sp_frame *frame, uint32_t nth)
{
	const struct sp_func *func = sp_profile_func(p, frame->func);
	uint64_t hash = hash_string(p, func->name, func->start + frame->line);
	uint32_t n = SP_FRAME_MAX_VARIANT;

	hash = hash_string(p, func->source, hash_string(p, func->linkage_name, hash + func->source_line));
	hash = hash_string(p, sp_profile_file(p, func->file)->name, hash);
	return frame->flags | (((uint32_t)(hash % n) + nth) % n + 1) << SP_FRAME_VARIANT_SHIFT;
}

int64_t sp_profile_add_frame_variant(struct sp_profile *p, const struct sp_frame *frame, bool has_address)
{
	struct sp_frame f = *frame;

	if (f.flags >> SP_FRAME_VARIANT_SHIFT != 0 || (f.func != 0 && f.func >= sp_profile_n_funcs(p)))
		return -EINVAL;
	for (uint32_t nth = 0; nth < MAX_VARIANTS; nth++) {
		if (!has_address || nth > 0)
			f.flags = frame_variant(p, frame, nth);
		int64_t n = sp_profile_add_frame(p, &f);
		const struct sp_frame *there = n < 0 ? NULL : sp_profile_frame(p, (uint32_t)n);
		if (!there || (there->func == f.func && there->line == f.line))
			return n;
	}
	return -E2BIG;
}

int64_t sp_profile_add_process(struct sp_profile *p, const struct sp_process *process)
{
	struct process_identity identity = {
	    .pid = process->pid, .exec_id = process->exec_id, .start_ns = process->start_ns};

	if (!is_file(p, process->exe) || !is_string(p, process->comm) || !is_string(p, process->cgroup_path) ||
	    !is_string(p, process->container) || !is_string(p, process->root))
		return -EINVAL;
	return table_add(&p->processes, &identity, sizeof(identity), process);
}

int64_t sp_profile_add_stack(struct sp_profile *p, const struct sp_stack *stack)
{
	struct stack_head head = {.stack_class = stack->stack_class, .reason = stack->reason};
	size_t frame_bytes = (size_t)stack->n_frames * sizeof(*stack->frames), bytes = sizeof(head) + frame_bytes;
	uint32_t n_frames = sp_profile_n_frames(p);

	for (uint32_t i = 0; i < stack->n_frames; i++)
		if (stack->frames[i] >= n_frames)
			return -EINVAL;
	int r = sp_grow(&p->scratch, &p->scratch_capacity, (bytes + 7) / 8, sizeof(*p->scratch));
	if (r < 0)
		return r;
	memcpy(p->scratch, &head, sizeof(head));
	if (frame_bytes > 0)
		memcpy(p->scratch + sizeof(head) / 8, stack->frames, frame_bytes);
	return sp_intern_add(p->stacks, p->scratch, bytes);
}

static int compare_label_names(const void *x, const void *y)
{
	const struct sp_label *a = x, *b = y;

	return SP_RISING(a->name, b->name) ?: SP_RISING(a->unused, b->unused); /* in the order given */
}

int64_t sp_profile_add_labels(struct sp_profile *p, const struct sp_label *labels, size_t n)
{
	size_t words = sizeof(*labels) / sizeof(*p->scratch);
	int r =
	    n > UINT32_MAX / sizeof(*labels) ? -E2BIG : sp_grow(&p->scratch, &p->scratch_capacity, n * words + 1, 8);

	if (r < 0)
		return r;
	struct sp_label *sorted = (struct sp_label *)(void *)p->scratch;
	for (size_t i = 0; i < n; i++) {
		const struct sp_label *l = &labels[i];
		if (!is_string(p, l->name) || !is_string(p, l->word) || !is_string(p, l->unit))
			return -EINVAL;
		sorted[i] = *l;
		sorted[i].unused = (uint32_t)i;
	}
	qsort(sorted, n, sizeof(*sorted), compare_label_names);
	for (size_t i = 0; i < n; i++)
		sorted[i].unused = 0;
	return sp_intern_add(p->labels, sorted, n * sizeof(*sorted));
}

int64_t sp_profile_add_key(struct sp_profile *p, const struct sp_key *key)
{
	if (key->process >= sp_profile_n_processes(p) || !is_string(p, key->comm) || !is_string(p, key->recipe) ||
	    key->labels >= sp_profile_n_label_sets(p))
		return -EINVAL;
	return sp_intern_add(p->keys, key, sizeof(*key));
}

static uint32_t hash_of_row(uint32_t key, uint32_t user, uint32_t kernel)
{
	uint32_t words[] = {key, user, kernel};

	return (uint32_t)sp_hash_bytes(words, sizeof(words), 0);
}

static struct sp_row *row_at(const struct sp_profile *p, size_t row)
{
	return (struct sp_row *)(void *)(p->rows + row * p->row_bytes);
}

static int profile_slots_grow(struct sp_profile *p)
{
	size_t n = p->n_slots * 2;
	struct row_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_slots; i++) {
		size_t at = p->slots[i].hash & (n - 1);
		if (p->slots[i].row == 0)
			continue;
		while (slots[at].row != 0)
			at = (at + 1) & (n - 1);
		slots[at] = p->slots[i];
	}
	free(p->slots);
	p->slots = slots;
	p->n_slots = n;
	return 0;
}

/* The row of this key and these stacks, added with values of 0 if there is none; NULL: out of memory. */
static struct sp_row *row_find_or_add(struct sp_profile *p, uint32_t key, uint32_t user, uint32_t kernel)
{
	p->row_bytes = sizeof(struct sp_row) + SP_MAX(p->n_value_types, 1U) * sizeof(int64_t);
	if (p->n_rows >= UINT32_MAX - 1 || (p->n_rows * 2 >= p->n_slots && profile_slots_grow(p) < 0) ||
	    sp_grow(&p->rows, &p->row_capacity, p->n_rows + 1, p->row_bytes) < 0)
		return NULL;
	uint32_t hash = hash_of_row(key, user, kernel);
	size_t mask = p->n_slots - 1, at = hash & mask;
	for (; p->slots[at].row != 0; at = (at + 1) & mask) {
		struct sp_row *row = row_at(p, p->slots[at].row - 1);
		if (p->slots[at].hash == hash && row->key == key && row->user == user && row->kernel == kernel)
			return row;
	}
	struct sp_row *row = row_at(p, p->n_rows++);
	memset(row, 0, p->row_bytes);
	row->key = key, row->user = user, row->kernel = kernel;
	p->slots[at] = (struct row_slot){.hash = hash, .row = (uint32_t)p->n_rows};
	return row;
}

int sp_profile_add(struct sp_profile *p, uint32_t key, uint32_t user, uint32_t kernel, const int64_t *values)
{
	if (key >= sp_profile_n_keys(p) || user >= sp_profile_n_stacks(p) || kernel >= sp_profile_n_stacks(p))
		return -EINVAL;
	struct sp_row *row = row_find_or_add(p, key, user, kernel);
	if (!row)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_value_types; i++)
		sp_saturating_add(&row->values[i], values[i]); /* foreign profiles may hold any number */
	return 0;
}

uint32_t sp_profile_n_files(const struct sp_profile *p)
{
	return sp_intern_count(p->files.identities);
}

uint32_t sp_profile_n_funcs(const struct sp_profile *p)
{
	return sp_intern_count(p->funcs.identities);
}

uint32_t sp_profile_n_frames(const struct sp_profile *p)
{
	return sp_intern_count(p->frames.identities);
}

uint32_t sp_profile_n_stacks(const struct sp_profile *p)
{
	return sp_intern_count(p->stacks);
}

uint32_t sp_profile_n_processes(const struct sp_profile *p)
{
	return sp_intern_count(p->processes.identities);
}

uint32_t sp_profile_n_label_sets(const struct sp_profile *p)
{
	return sp_intern_count(p->labels);
}

uint32_t sp_profile_n_keys(const struct sp_profile *p)
{
	return sp_intern_count(p->keys);
}

uint32_t sp_profile_n_rows(const struct sp_profile *p)
{
	return (uint32_t)p->n_rows;
}

struct sp_file *sp_profile_file(const struct sp_profile *p, uint32_t file)
{
	return (struct sp_file *)p->files.items + file;
}

const struct sp_func *sp_profile_func(const struct sp_profile *p, uint32_t func)
{
	return (const struct sp_func *)p->funcs.items + func;
}

struct sp_frame *sp_profile_frame(const struct sp_profile *p, uint32_t frame)
{
	return (struct sp_frame *)p->frames.items + frame;
}

struct sp_process *sp_profile_process(const struct sp_profile *p, uint32_t process)
{
	return (struct sp_process *)p->processes.items + process;
}

struct sp_stack sp_profile_stack(const struct sp_profile *p, uint32_t stack)
{
	size_t len;
	const char *bytes = sp_intern_get(p->stacks, stack, &len);
	struct stack_head head;

	memcpy(&head, bytes, sizeof(head));
	return (struct sp_stack){.stack_class = (uint16_t)head.stack_class,
				 .reason = (uint16_t)head.reason,
				 .n_frames = (uint32_t)((len - sizeof(head)) / sizeof(uint32_t)),
				 .frames = (const uint32_t *)(const void *)(bytes + sizeof(head))};
}

bool sp_profile_has_words(const struct sp_profile *p)
{
	return p->has_words;
}

const struct sp_label *sp_profile_labels(const struct sp_profile *p, uint32_t set, size_t *ret_n)
{
	const struct sp_label *labels = sp_intern_get(p->labels, set, ret_n);

	*ret_n /= sizeof(*labels);
	return labels;
}

const struct sp_key *sp_profile_key(const struct sp_profile *p, uint32_t key)
{
	return sp_intern_get(p->keys, key, NULL);
}

const struct sp_row *sp_profile_row(const struct sp_profile *p, uint32_t row)
{
	return row_at(p, row);
}

/* --- window.h --- */
void sp_profile_clear_rows(struct sp_profile *p)
{
	p->n_rows = 0;
	memset(p->slots, 0, p->n_slots * sizeof(*p->slots));
}

struct sp_profile_rows sp_profile_take_rows(struct sp_profile *p)
{
	struct sp_profile_rows taken = {.rows = p->rows, .n = p->n_rows, .bytes = p->n_rows * p->row_bytes};
	void *shrunk = p->n_rows ? realloc(taken.rows, taken.bytes) : NULL;

	taken.rows = shrunk ? shrunk : taken.rows;
	p->rows = NULL, p->row_capacity = 0;
	sp_profile_clear_rows(p);
	return taken;
}

int sp_profile_with_rows(const struct sp_profile *p, const struct sp_profile_rows *rows, struct sp_profile **ret_view)
{
	struct sp_profile *view = malloc(sizeof(*view));

	if (view == NULL)
		return -ENOMEM;
	*view = *p;
	view->rows = rows->rows;
	view->n_rows = rows->n;
	view->row_bytes = rows->n > 0 ? rows->bytes / rows->n : 0;
	*ret_view = view;
	return 0;
}

int sp_profile_renew(struct sp_profile *p)
{
	struct sp_profile fresh = *p;

	fresh.stacks = fresh.labels = fresh.keys = NULL;
	fresh.processes = (struct table){0};
	fresh.scratch = NULL, fresh.rows = NULL, fresh.slots = NULL;
	fresh.scratch_capacity = fresh.n_rows = fresh.row_capacity = 0;
	fresh.info.comments = 0;
	if (row_tables_make(&fresh) < 0) {
		row_tables_free(&fresh);
		return -ENOMEM;
	}
	row_tables_free(p);
	fresh.serial = new_serial();
	*p = fresh;
	for (uint32_t i = 1; i < sp_profile_n_files(p); i++)
		sp_profile_file(p, i)->process = 0;
	return 0;
}

uint64_t sp_profile_names_serial(const struct sp_profile *p)
{
	return p->names_serial;
}

static size_t table_bytes(const struct table *t)
{
	return sp_intern_memory_bytes(t->identities) + t->capacity * t->item_bytes;
}

size_t sp_profile_memory_bytes(const struct sp_profile *p)
{
	return sizeof(*p) + sp_intern_memory_bytes(p->strings) + sp_intern_memory_bytes(p->stacks) +
	       sp_intern_memory_bytes(p->labels) + sp_intern_memory_bytes(p->keys) + table_bytes(&p->files) +
	       table_bytes(&p->funcs) + table_bytes(&p->frames) + table_bytes(&p->processes) +
	       p->row_capacity * p->row_bytes + p->n_slots * sizeof(*p->slots) + p->scratch_capacity * 8;
}
