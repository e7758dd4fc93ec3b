/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/merge.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* State of a merge. Each map: number in `from` to number in `into`, 0 = not translated yet, or none. */
struct merge {
	struct sp_profile *into;
	const struct sp_profile *from;
	uint32_t *files, *funcs, *frames, *stacks, *processes, *labels, *keys;
	uint32_t values[SP_MAX_VALUES]; /* index in `from` to index in `into` */
	struct sp_intern *identities;   /* of files of `into` that have a build id */
	uint32_t *identity_files;       /* by identity: the file */
	size_t identity_capacity;
	const struct sp_inlined *by_frame; /* to be put before the frames of `from` */
	size_t n_by_frame;
	const uint32_t *inlined;
	const struct sp_leaves *leaves; /* NULL: none */
	uint32_t callee;                /* the file in `from` whose frames at leaves are left out; 0: none */
	bool is_of_nobody;              /* rows without who they are of */
	uint32_t *scratch;              /* the frames of a stack */
	size_t scratch_capacity;
	struct sp_label *set;
	size_t set_capacity;
};

static int64_t merge_string(struct merge *m, uint32_t string)
{
	return string == 0 ? 0 : sp_profile_add_string(m->into, sp_profile_string(m->from, string));
}

/* Replaces a number of `from` by that in `into`. */
static int translate_string(struct merge *m, uint32_t *string)
{
	int64_t n = merge_string(m, *string);

	if (n < 0)
		return (int)n;
	*string = (uint32_t)n;
	return 0;
}

/* --- files --- */
struct file_identity {
	uint32_t kind, build_id_len;
	uint8_t build_id[SP_BUILD_ID_MAX];
};

static struct file_identity file_identity_of(const struct sp_file *file)
{
	struct file_identity w = {.kind = file->kind, .build_id_len = file->build_id_len};

	memcpy(w.build_id, file->build_id, file->build_id_len);
	return w;
}

static int merge_file_index(struct merge *m, uint32_t number)
{
	struct file_identity w = file_identity_of(sp_profile_file(m->into, number));
	bool is_new;

	if (w.build_id_len == 0)
		return 0;
	int64_t at = sp_intern_add_to(m->identities, &w, sizeof(w), &m->identity_files, &m->identity_capacity,
				      sizeof(*m->identity_files), &is_new);
	if (is_new)
		m->identity_files[at] = number;
	return at < 0 ? (int)at : 0;
}

/* Whether two files of one kind and tag can be the same file. All numbers are those of `into`. */
static bool files_agree(const struct sp_file *a, const struct sp_file *b)
{
	if (a->build_id_len > 0 && b->build_id_len > 0)
		return a->build_id_len == b->build_id_len && memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
	return a->build_id_text == b->build_id_text && a->name == b->name && a->path == b->path &&
	       a->process == b->process && a->bias == b->bias;
}

static void number_fill_in(uint32_t *number, uint32_t from)
{
	if (*number == 0)
		*number = from;
}

static void file_fill_in(struct sp_file *into, const struct sp_file *from)
{
	if (into->build_id_len == 0) {
		into->build_id_len = from->build_id_len;
		memcpy(into->build_id, from->build_id, sizeof(into->build_id));
	}
	number_fill_in(&into->name, from->name);
	number_fill_in(&into->path, from->path);
	if (into->package == 0) { /* name and version from the same file */
		into->package = from->package;
		into->package_version = from->package_version;
	}
	into->owner_known |= from->owner_known;
	number_fill_in(&into->note, from->note);
	number_fill_in(&into->build_id_text, from->build_id_text);
	into->deleted |= from->deleted;
}

/*
 * Adds a file whose numbers are those of `into`. A tag that another file has there is changed, in a deterministic
 * way.
 */
static int64_t merged_file_add(struct merge *m, struct sp_file file)
{
	struct file_identity w = file_identity_of(&file);
	const char *path = sp_profile_string(m->into, file.path), *name = sp_profile_string(m->into, file.name);

	for (;;) {
		uint32_t n_before = sp_profile_n_files(m->into);
		int64_t n = sp_profile_add_file(m->into, &file);
		if (n < 0)
			return n;
		if (n == n_before) {
			int r = merge_file_index(m, (uint32_t)n);
			return r < 0 ? r : n;
		}
		struct sp_file *there = sp_profile_file(m->into, (uint32_t)n);
		if (files_agree(there, &file)) {
			file_fill_in(there, &file);
			return n;
		}
		file.tag = sp_hash_bytes(&w, sizeof(w), file.tag ^ sp_hash_bytes(name, strlen(name), file.process)) ^
			   sp_hash_bytes(path, strlen(path), 0);
	}
}

static int64_t merge_process(struct merge *m, uint32_t process);

static int64_t merge_file(struct merge *m, uint32_t number)
{
	if (number == 0 || m->files[number] != 0)
		return m->files[number];
	struct sp_file file = *sp_profile_file(m->from, number);
	int64_t process = file.kind == SP_FILE_ANON ? merge_process(m, file.process) : 0;
	if (process < 0)
		return process;
	file.process = (uint32_t)process;
	if (translate_string(m, &file.name) < 0 || translate_string(m, &file.path) < 0 ||
	    translate_string(m, &file.package) < 0 || translate_string(m, &file.package_version) < 0 ||
	    translate_string(m, &file.note) < 0 || translate_string(m, &file.build_id_text) < 0)
		return -ENOMEM;
	struct file_identity w = file_identity_of(&file);
	int64_t at = file.build_id_len > 0 ? sp_intern_find(m->identities, &w, sizeof(w)) : -ENOENT, n;
	if (at >= 0) {
		n = m->identity_files[at];
		file_fill_in(sp_profile_file(m->into, (uint32_t)n), &file);
	} else {
		n = merged_file_add(m, file);
	}
	if (n >= 0)
		m->files[number] = (uint32_t)n;
	return n;
}

/* --- processes and keys --- */
static int64_t merge_process(struct merge *m, uint32_t number)
{
	if (number == 0 || m->processes[number] != 0)
		return m->processes[number];
	struct sp_process process = *sp_profile_process(m->from, number);
	/* memory without a file is never an executable; to translate it would lead back to its process, endlessly */
	bool is_anon = sp_profile_file(m->from, process.exe)->kind == SP_FILE_ANON;
	int64_t exe = is_anon ? 0 : merge_file(m, process.exe);
	if (exe < 0)
		return exe;
	process.exe = (uint32_t)exe;
	if (translate_string(m, &process.comm) < 0 || translate_string(m, &process.cgroup_path) < 0 ||
	    translate_string(m, &process.container) < 0 || translate_string(m, &process.root) < 0)
		return -ENOMEM;
	int64_t n = sp_profile_add_process(m->into, &process);
	if (n < 0)
		return n;
	struct sp_process *there = sp_profile_process(m->into, (uint32_t)n);
	number_fill_in(&there->exe, process.exe);
	number_fill_in(&there->comm, process.comm);
	if (!there->cgroup_path)
		there->container = process.container;
	number_fill_in(&there->cgroup_path, process.cgroup_path);
	number_fill_in(&there->root, process.root);
	m->processes[number] = (uint32_t)n;
	return n;
}

static int64_t merge_labels(struct merge *m, uint32_t number)
{
	size_t n;
	const struct sp_label *labels = sp_profile_labels(m->from, number, &n);

	if (number == 0 || m->labels[number] != 0)
		return m->labels[number];
	int r = sp_grow(&m->set, &m->set_capacity, n, sizeof(*m->set));
	for (size_t i = 0; i < n && r >= 0; i++) {
		m->set[i] = labels[i];
		if (translate_string(m, &m->set[i].name) < 0 || translate_string(m, &m->set[i].word) < 0 ||
		    translate_string(m, &m->set[i].unit) < 0)
			r = -ENOMEM;
	}
	int64_t set = r < 0 ? r : sp_profile_add_labels(m->into, m->set, n);
	if (set >= 0)
		m->labels[number] = (uint32_t)set;
	return set;
}

static int64_t merge_key(struct merge *m, uint32_t number)
{
	if (number == 0 || m->keys[number] != 0)
		return m->keys[number];
	struct sp_key key = *sp_profile_key(m->from, number);
	int64_t process = merge_process(m, key.process), labels = merge_labels(m, key.labels);
	if (process < 0 || labels < 0)
		return process < 0 ? process : labels;
	key.process = (uint32_t)process;
	key.labels = (uint32_t)labels;
	if (translate_string(m, &key.comm) < 0 || translate_string(m, &key.recipe) < 0)
		return -ENOMEM;
	int64_t n = sp_profile_add_key(m->into, &key);
	if (n >= 0)
		m->keys[number] = (uint32_t)n;
	return n;
}

static int64_t merge_who(struct merge *m, uint32_t key)
{
	static const struct sp_key nobody = {.flags = SP_KEYF_LABELS_ARE_ALL};

	return m->is_of_nobody ? sp_profile_add_key(m->into, &nobody) : merge_key(m, key);
}

/* --- functions, frames, stacks --- */
/*
 * A range's name contains the file's: "python3+0x1c0", "[python3]". It is renamed if the file is called python3.11 in
 * `into`.
 */
static int64_t merged_range_name(struct merge *m, const struct sp_func *func, uint32_t file)
{
	const char *name = sp_profile_string(m->from, func->name),
		   *was = sp_profile_string(m->from, sp_profile_file(m->from, func->file)->name),
		   *is = sp_profile_string(m->into, sp_profile_file(m->into, file)->name);
	size_t bracket = *name == '[', len = strlen(was);
	SP_FREE char *text = NULL;

	if (!func->is_range || len == 0 || *is == '\0' || strcmp(was, is) == 0 ||
	    strncmp(name + bracket, was, len) != 0 || name[bracket + len] != (bracket ? ']' : '+'))
		return merge_string(m, func->name);
	if (asprintf(&text, "%.*s%s%s", (int)bracket, name, is, name + bracket + len) < 0)
		return -ENOMEM;
	return sp_profile_add_string(m->into, text);
}

static int64_t merge_func(struct merge *m, uint32_t number)
{
	if (number == 0 || m->funcs[number] != 0)
		return m->funcs[number];
	struct sp_func func = *sp_profile_func(m->from, number);
	int64_t file = merge_file(m, func.file);
	if (file < 0)
		return file;
	int64_t name = merged_range_name(m, &func, (uint32_t)file);
	if (name < 0)
		return name;
	func.name = (uint32_t)name;
	func.file = (uint32_t)file;
	if (translate_string(m, &func.linkage_name) < 0 || translate_string(m, &func.source) < 0)
		return -ENOMEM;
	int64_t n = sp_profile_add_func(m->into, &func);
	if (n >= 0)
		m->funcs[number] = (uint32_t)n;
	return n;
}

/*
 * Whether two frames cannot be one. All numbers are those of `into`. A range's name contradicts no other: it is only
 * less exact.
 */
static bool frames_contradict(const struct sp_profile *p, const struct sp_frame *a, const struct sp_frame *b)
{
	const struct sp_func *x = sp_profile_func(p, a->func), *y = sp_profile_func(p, b->func);

	if (a->func == 0 || b->func == 0 || x->is_range || y->is_range)
		return false;
	return x->name != y->name || x->file != y->file ||
	       (x->source != 0 && y->source != 0 && x->source != y->source) ||
	       (a->line != 0 && b->line != 0 && a->line != b->line);
}

/* Of two copies of a file one may have symbols, or source lines, where the other has none. */
static void frame_fill_in(const struct sp_profile *p, struct sp_frame *into, const struct sp_frame *from)
{
	const struct sp_func *there = sp_profile_func(p, into->func), *here = sp_profile_func(p, from->func);

	if (into->func == 0 || (from->func != 0 && there->is_range && !here->is_range) ||
	    (from->func != 0 && !here->is_range && there->source == 0 && here->source != 0))
		into->func = from->func;
	number_fill_in(&into->line, from->line);
}

/*
 * All numbers are those of `into`. A frame that contradicts one at the same address there becomes a frame of its own.
 */
static int64_t merged_frame_add(struct merge *m, struct sp_frame frame)
{
	uint32_t flags = frame.flags & ((1U << SP_FRAME_VARIANT_SHIFT) - 1);
	bool has_place = flags == frame.flags;

	frame.flags = flags;
	if (!has_place)
		return sp_profile_add_frame_variant(m->into, &frame, false);
	int64_t n = sp_profile_add_frame(m->into, &frame);
	if (n < 0)
		return n;
	struct sp_frame *there = sp_profile_frame(m->into, (uint32_t)n);
	if (frames_contradict(m->into, there, &frame))
		return sp_profile_add_frame_variant(m->into, &frame, false);
	frame_fill_in(m->into, there, &frame);
	return n;
}

static int64_t merge_frame(struct merge *m, uint32_t number)
{
	if (number == 0 || m->frames[number] != 0)
		return m->frames[number];
	struct sp_frame frame = *sp_profile_frame(m->from, number);
	int64_t file = merge_file(m, frame.file), func = merge_func(m, frame.func);
	if (file < 0 || func < 0)
		return file < 0 ? file : func;
	frame.file = (uint32_t)file;
	frame.func = (uint32_t)func;
	int64_t n = merged_frame_add(m, frame);
	if (n < 0)
		return n;
	m->frames[number] = (uint32_t)n;
	return n;
}

/* Appends to the n_frames in the scratch: the frames inlined at a frame, and the frame. */
static int merge_frames_at(struct merge *m, uint32_t number, uint32_t *n_frames)
{
	struct sp_inlined in = number < m->n_by_frame ? m->by_frame[number] : (struct sp_inlined){0};
	int r = sp_grow(&m->scratch, &m->scratch_capacity, (size_t)*n_frames + in.n + 1, sizeof(*m->scratch));

	for (uint32_t i = 0; i <= in.n && r == 0; i++) {
		int64_t frame = merge_frame(m, i < in.n ? m->inlined[in.first + i] : number);
		r = frame < 0 ? (int)frame : 0;
		m->scratch[(*n_frames)++] = (uint32_t)frame;
	}
	return r;
}

static int64_t merge_stack(struct merge *m, uint32_t number)
{
	if (number == 0 || m->stacks[number] != 0)
		return m->stacks[number];
	struct sp_stack stack = sp_profile_stack(m->from, number);
	uint32_t n_frames = 0, first = 0;
	while (m->callee != 0 && first + 1 < stack.n_frames &&
	       sp_profile_frame(m->from, stack.frames[first])->file == m->callee)
		first++;
	for (uint32_t i = first; i < stack.n_frames; i++) {
		int r = merge_frames_at(m, stack.frames[i], &n_frames);
		if (r < 0)
			return r;
	}
	stack.n_frames = n_frames;
	stack.frames = m->scratch;
	int64_t n = sp_profile_add_stack(m->into, &stack);
	if (n >= 0)
		m->stacks[number] = (uint32_t)n;
	return n;
}

/* Replaces a stack of `into` by one that has this leaf. */
static int leaf_put(struct merge *m, uint32_t leaf, int64_t *stack)
{
	struct sp_stack with = sp_profile_stack(m->into, (uint32_t)*stack);
	int r = sp_grow(&m->scratch, &m->scratch_capacity, (size_t)with.n_frames + 1, sizeof(*m->scratch));

	if (r < 0)
		return r;
	m->scratch[0] = leaf;
	if (with.n_frames)
		memcpy(m->scratch + 1, with.frames, with.n_frames * sizeof(*with.frames));
	with.frames = m->scratch;
	with.n_frames++;
	*stack = sp_profile_add_stack(m->into, &with);
	return (int)SP_MIN(*stack, 0);
}

static bool has_frames(const struct merge *m, int64_t stack)
{
	return sp_profile_stack(m->into, (uint32_t)stack).n_frames != 0;
}

static int merge_leaf(struct merge *m, const struct sp_row *row, int64_t *user, int64_t *kernel)
{
	int64_t leaf = m->leaves->leaf(m->into, m->from, row, m->leaves->arg);
	bool is_kernels = has_frames(m, *kernel) || !has_frames(m, *user);

	if (leaf <= 0)
		return (int)leaf;
	return leaf_put(m, (uint32_t)leaf, is_kernels && !m->leaves->on_user ? kernel : user);
}

/* --- rows --- */
static int merge_row(struct merge *m, const struct sp_row *row)
{
	int64_t key = merge_who(m, row->key), user = merge_stack(m, row->user), kernel = merge_stack(m, row->kernel);
	int64_t values[SP_MAX_VALUES] = {0};
	int r = 0;

	if (key < 0 || user < 0 || kernel < 0)
		return (int)(key < 0 ? key : user < 0 ? user : kernel);
	if (m->leaves)
		r = merge_leaf(m, row, &user, &kernel);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < sp_profile_n_value_types(m->from); i++)
		values[m->values[i]] = row->values[i];
	return sp_profile_add(m->into, (uint32_t)key, (uint32_t)user, (uint32_t)kernel, values);
}

static int merge_value_types_copy(struct merge *m)
{
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_value_types(m->from) && r == 0; i++) {
		const struct sp_value_type *type = sp_profile_value_type(m->from, i);
		r = sp_profile_add_value_type(m->into, sp_profile_string(m->from, type->name),
					      sp_profile_string(m->from, type->unit));
	}
	return r;
}

static bool value_types_equal(const struct merge *m, uint32_t from, uint32_t into)
{
	const struct sp_value_type *a = sp_profile_value_type(m->from, from);
	const struct sp_value_type *b = sp_profile_value_type(m->into, into);

	return strcmp(sp_profile_string(m->from, a->name), sp_profile_string(m->into, b->name)) == 0 &&
	       strcmp(sp_profile_string(m->from, a->unit), sp_profile_string(m->into, b->unit)) == 0;
}

static int merge_value_types_match(struct merge *m)
{
	int r = 0;

	if (sp_profile_n_value_types(m->into) == 0 && sp_profile_n_rows(m->into) == 0)
		r = merge_value_types_copy(m);
	for (uint32_t i = 0; i < sp_profile_n_value_types(m->from) && r == 0; i++) {
		uint32_t k = 0, n = sp_profile_n_value_types(m->into);
		while (k < n && !value_types_equal(m, i, k))
			k++;
		if (k == n)
			return sp_fail_said(-EINVAL, "cannot merge profiles: only one of them counts %s in %s",
					    sp_profile_string(m->from, sp_profile_value_type(m->from, i)->name),
					    sp_profile_string(m->from, sp_profile_value_type(m->from, i)->unit));
		m->values[i] = k;
	}
	return r;
}

static int merge_info(struct merge *m)
{
	struct sp_profile_info *into = sp_profile_info(m->into), info = *sp_profile_info(m->from);

	if (sp_profile_n_rows(m->into)) /* slices of two recordings are not of one time */
		into->slice_ns = info.slice_ns = 0;
	if (into->duration_ns != 0 || into->time_ns != 0 || into->period != 0)
		return 0;
	int64_t comments = merge_labels(m, info.comments);
	if (comments < 0 || translate_string(m, &info.period_type.name) < 0 ||
	    translate_string(m, &info.period_type.unit) < 0 || translate_string(m, &info.default_type) < 0 ||
	    translate_string(m, &info.drop_frames) < 0 || translate_string(m, &info.keep_frames) < 0 ||
	    translate_string(m, &info.doc_url) < 0)
		return -ENOMEM;
	info.comments = (uint32_t)comments;
	info.default_type = into->default_type ? into->default_type : info.default_type;
	*into = info;
	return 0;
}

static uint32_t *map_new(uint32_t n)
{
	return calloc(n, sizeof(uint32_t));
}

static int open_merge(struct merge *m)
{
	m->files = map_new(sp_profile_n_files(m->from));
	m->funcs = map_new(sp_profile_n_funcs(m->from));
	m->frames = map_new(sp_profile_n_frames(m->from));
	m->stacks = map_new(sp_profile_n_stacks(m->from));
	m->processes = map_new(sp_profile_n_processes(m->from));
	m->labels = map_new(sp_profile_n_label_sets(m->from));
	m->keys = map_new(sp_profile_n_keys(m->from));
	if (!m->files || !m->funcs || !m->frames || !m->stacks || !m->processes || !m->labels || !m->keys ||
	    sp_intern_new(&m->identities) < 0)
		return -ENOMEM;
	int r = 0;
	for (uint32_t i = 1; i < sp_profile_n_files(m->into) && r == 0; i++)
		r = merge_file_index(m, i);
	return r;
}

static void close_merge(struct merge *m)
{
	free(m->files);
	free(m->funcs);
	free(m->frames);
	free(m->stacks);
	free(m->processes);
	free(m->labels);
	free(m->keys);
	free(m->identity_files);
	free(m->scratch);
	free(m->set);
	sp_intern_free(m->identities);
}

static int merge_all(struct merge *m, bool (*wants)(const struct sp_profile *from, const struct sp_row *row, void *arg),
		     void *arg)
{
	int r = open_merge(m);

	if (r == 0)
		r = merge_value_types_match(m);
	if (r == 0)
		r = merge_info(m);
	for (uint32_t i = 0; i < sp_profile_n_rows(m->from) && r == 0; i++) {
		const struct sp_row *row = sp_profile_row(m->from, i);
		if (!wants || wants(m->from, row, arg))
			r = merge_row(m, row);
	}
	close_merge(m);
	return r;
}

int sp_profile_merge_some(struct sp_profile *into, const struct sp_profile *from,
			  bool (*wants)(const struct sp_profile *from, const struct sp_row *row, void *arg), void *arg)
{
	return merge_all(&(struct merge){.into = into, .from = from}, wants, arg);
}

int sp_profile_merge_stacks(struct sp_profile *into, const struct sp_profile *from,
			    bool (*wants)(const struct sp_profile *from, const struct sp_row *row, void *arg),
			    void *arg)
{
	return merge_all(&(struct merge){.into = into, .from = from, .is_of_nobody = true}, wants, arg);
}

int sp_profile_merge_inlined(struct sp_profile *into, const struct sp_profile *from, const struct sp_inlined *by_frame,
			     size_t n_by_frame, const uint32_t *inlined)
{
	struct merge m = {
	    .into = into, .from = from, .by_frame = by_frame, .n_by_frame = n_by_frame, .inlined = inlined};

	return merge_all(&m, NULL, NULL);
}

int sp_profile_merge_leaves(struct sp_profile *into, const struct sp_profile *from, const struct sp_leaves *leaves)
{
	return merge_all(&(struct merge){.into = into, .from = from, .leaves = leaves}, NULL, NULL);
}

static bool is_anything(const struct sp_profile *from, const struct sp_row *row, void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < sp_profile_n_value_types(from); i++)
		if (row->values[i] != 0)
			return true;
	return false;
}

int sp_profile_merge_callers(struct sp_profile *into, const struct sp_profile *from, uint32_t callee)
{
	return merge_all(&(struct merge){.into = into, .from = from, .callee = callee}, is_anything, NULL);
}

int sp_profile_merge(struct sp_profile *into, const struct sp_profile *from)
{
	return sp_profile_merge_some(into, from, NULL, NULL);
}
