/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_join.c: joins two profiles into one, in which frames, functions and stacks are distinct by name only. */
#include "base/error.h"
#include "base/mem.h"
#include "profile/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One side while it is copied. Each map: number in the side's profile to number in the joined one, 0 = not yet. */
struct side {
	const struct sp_profile *p;
	const struct sp_identity *same;
	const uint32_t *class_of;
	const bool *upgraded;
	const uint32_t *file_of_class;
	struct sp_profile *joined;
	uint32_t value, which;
	bool value_counts; /* the value is a count, and there is no other value for samples */
	uint32_t *frames, *stacks, *keys;
	uint32_t *scratch;
	size_t scratch_capacity;
};

static int64_t copy_string(const struct side *s, uint32_t string)
{
	return sp_profile_add_string(s->joined, sp_profile_string(s->p, string));
}

/* --- files --- */
/*
 * A class is named like its first file, on the new side if it is there. Only labels that hold for both sides are
 * kept: no process, no bias.
 */
static int64_t class_file_add(const struct side *s, uint32_t class, uint32_t number)
{
	const struct sp_file *from = sp_profile_file(s->p, number);
	struct sp_file file = {
	    .kind = from->kind, .tag = class, .build_id_len = from->build_id_len, .deleted = from->deleted};
	int64_t name = copy_string(s, from->name), path = copy_string(s, from->path),
		package = copy_string(s, from->package), version = copy_string(s, from->package_version),
		note = copy_string(s, from->note);

	if (name < 0 || path < 0 || package < 0 || version < 0 || note < 0)
		return -ENOMEM;
	memcpy(file.build_id, from->build_id, sizeof(file.build_id));
	file.name = (uint32_t)name;
	file.path = (uint32_t)path;
	file.package = (uint32_t)package;
	file.package_version = (uint32_t)version;
	file.note = (uint32_t)note;
	return sp_profile_add_file(s->joined, &file);
}

static int class_files_add(const struct side *s, uint32_t *file_of_class)
{
	for (uint32_t i = 1; i < sp_profile_n_files(s->p); i++) {
		uint32_t class = s->class_of[i];
		if (class == 0 || file_of_class[class] != 0)
			continue;
		int64_t n = class_file_add(s, class, i);
		if (n < 0)
			return (int)n;
		file_of_class[class] = (uint32_t)n;
	}
	return 0;
}

static uint32_t joined_file(const struct side *s, uint32_t file)
{
	return s->file_of_class[s->class_of[file]];
}

/* --- functions, frames, stacks --- */
/* Named by its range only. A foreign text profile has no such flag: there the name's form decides. */
static bool is_range(const struct sp_profile *p, const struct sp_func *func)
{
	const char *name = sp_profile_string(p, func->name), *plus = strstr(name, "+0x");

	return func->is_range ||
	       (plus && plus != name && plus[3] != '\0' && plus[3 + strspn(plus + 3, "0123456789abcdef")] == '\0');
}

static int64_t unnamed_func(const struct side *s, uint32_t file)
{
	const char *library = sp_profile_string(s->joined, sp_profile_file(s->joined, file)->name);
	SP_FREE char *name = NULL;

	if (asprintf(&name, "unnamed functions of %s", library) < 0)
		return -ENOMEM;
	int64_t string = sp_profile_add_string(s->joined, name);
	if (string < 0)
		return string;
	return sp_profile_add_func(s->joined, &(struct sp_func){.name = (uint32_t)string, .file = file});
}

static int64_t joined_func(const struct side *s, const struct sp_frame *frame)
{
	uint32_t number = s->same->funcs[frame->func];
	const struct sp_func *from = sp_profile_func(s->p, number);
	uint32_t from_file = number != 0 && from->file != 0 ? from->file : frame->file,
		 file = joined_file(s, from_file);

	if (s->upgraded[s->class_of[from_file]] && (number == 0 || is_range(s->p, from)))
		return unnamed_func(s, file);
	if (number == 0)
		return 0;
	struct sp_func func = {.file = file, .is_range = is_range(s->p, from)};
	int64_t name = copy_string(s, from->name);
	if (name < 0)
		return name;
	func.name = (uint32_t)name;
	return sp_profile_add_func(s->joined, &func);
}

/* Frames of one function become one frame. */
static int64_t joined_frame(const struct side *s, uint32_t number)
{
	const struct sp_frame *from = sp_profile_frame(s->p, number);

	if (s->frames[number] != 0)
		return s->frames[number];
	int64_t func = joined_func(s, from);
	if (func < 0)
		return func;
	struct sp_frame frame = {.offset = (uint64_t)func,
				 .file = joined_file(s, from->file),
				 .func = (uint32_t)func,
				 .flags = from->flags & SP_FRAMEF_KERNEL};
	int64_t n = sp_profile_add_frame(s->joined, &frame);
	if (n >= 0)
		s->frames[number] = (uint32_t)n;
	return n;
}

/* Joins stacks that differ only in being guessed, or in why they were cut. */
static int64_t joined_stack(struct side *s, uint32_t number)
{
	if (number == 0 || s->stacks[number] != 0)
		return s->stacks[number];
	struct sp_stack stack = sp_profile_stack(s->p, number);
	int r = sp_grow(&s->scratch, &s->scratch_capacity, stack.n_frames, sizeof(*s->scratch));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < stack.n_frames; i++) {
		int64_t frame = joined_frame(s, stack.frames[i]);
		if (frame < 0)
			return frame;
		s->scratch[i] = (uint32_t)frame;
	}
	stack.frames = s->scratch;
	stack.stack_class = stack.stack_class == SP_CLASS_GUESSED ? SP_CLASS_COMPLETE : stack.stack_class;
	stack.reason = 0;
	int64_t n = sp_profile_add_stack(s->joined, &stack);
	if (n >= 0)
		s->stacks[number] = (uint32_t)n;
	return n;
}

static int64_t joined_key(const struct side *s, uint32_t number)
{
	const struct sp_key *from = sp_profile_key(s->p, number);

	if (s->keys[number] != 0)
		return s->keys[number];
	int64_t comm = copy_string(s, from->comm != 0 ? from->comm : sp_profile_process(s->p, from->process)->comm);
	if (comm < 0)
		return comm;
	int64_t n = sp_profile_add_key(s->joined, &(struct sp_key){.comm = (uint32_t)comm, .slice = from->slice});
	if (n >= 0)
		s->keys[number] = (uint32_t)n;
	return n;
}

/* --- rows --- */
static int joined_row_add(struct side *s, const struct sp_row *row)
{
	int64_t key = joined_key(s, row->key), user = joined_stack(s, row->user), kernel = joined_stack(s, row->kernel);
	int64_t values[SP_MAX_VALUES] = {0};

	if (key < 0 || user < 0 || kernel < 0)
		return (int)(key < 0 ? key : user < 0 ? user : kernel);
	values[SP_DIFF_OLD + s->which] = row->values[s->value];
	values[SP_DIFF_OLD_SAMPLES + s->which] =
	    s->value_counts ? row->values[s->value] : sp_identity_samples_with(s->same, row, s->value);
	return sp_profile_add(s->joined, (uint32_t)key, (uint32_t)user, (uint32_t)kernel, values);
}

static int joined_rows_add(struct side *s)
{
	const char *unit = sp_profile_string(s->p, sp_profile_value_type(s->p, s->value)->unit);
	int r = 0;

	s->value_counts = s->same->samples == UINT32_MAX && strcmp(unit, "count") == 0;
	s->frames = calloc(sp_profile_n_frames(s->p), sizeof(*s->frames));
	s->stacks = calloc(sp_profile_n_stacks(s->p), sizeof(*s->stacks));
	s->keys = calloc(sp_profile_n_keys(s->p), sizeof(*s->keys));
	if (!s->frames || !s->stacks || !s->keys)
		r = -ENOMEM;
	for (uint32_t i = 0; i < sp_profile_n_rows(s->p) && r == 0; i++)
		r = joined_row_add(s, sp_profile_row(s->p, i));
	free(s->frames);
	free(s->stacks);
	free(s->keys);
	free(s->scratch);
	return r;
}

/* --- upgrades --- */
/* The builds of a class on one side. A file without a build id is not one. */
static int list_builds(const struct side *s, uint32_t class, uint32_t **ret_files, uint32_t *ret_n)
{
	size_t capacity = 0;
	uint32_t n = 0;

	for (uint32_t i = 1; i < sp_profile_n_files(s->p); i++) {
		if (s->class_of[i] != class || s->same->files[i] != i || sp_profile_file(s->p, i)->build_id_len == 0)
			continue;
		if (sp_grow(ret_files, &capacity, (size_t)n + 1, sizeof(**ret_files)) < 0)
			return -ENOMEM;
		(*ret_files)[n++] = i;
		*ret_n = n;
	}
	return 0;
}

/* Kernel modules are upgraded together with their kernel. */
static int list_upgrades(const struct side s[2], uint32_t n_classes, struct sp_diff *d)
{
	struct sp_identity same;
	size_t capacity = 0;
	int r = sp_identity_new(d->joined, &same);

	for (uint32_t class = 1; class <= n_classes && r == 0; class ++) {
		uint32_t file = s[0].file_of_class[class];
		if (!s[0].upgraded[class] || sp_identity_library(d->joined, &same, file) != file)
			continue;
		r = sp_grow(&d->upgrades, &capacity, (size_t)d->n_upgrades + 1, sizeof(*d->upgrades));
		if (r < 0)
			break;
		struct sp_upgrade *u = &d->upgrades[d->n_upgrades++];
		*u = (struct sp_upgrade){.file = file};
		r = list_builds(&s[0], class, &u->old_files, &u->n_old);
		if (r == 0)
			r = list_builds(&s[1], class, &u->new_files, &u->n_new);
	}
	sp_identity_done(&same);
	return r;
}

/* --- the whole --- */
bool sp_diff_is_same_value(const struct sp_profile *old_profile, uint32_t old_value,
			   const struct sp_profile *new_profile, uint32_t new_value)
{
	const struct sp_value_type *a = sp_profile_value_type(old_profile, old_value);
	const struct sp_value_type *b = sp_profile_value_type(new_profile, new_value);

	return strcmp(sp_profile_string(old_profile, a->name), sp_profile_string(new_profile, b->name)) == 0 &&
	       strcmp(sp_profile_string(old_profile, a->unit), sp_profile_string(new_profile, b->unit)) == 0;
}

static int add_value_types(const struct sp_profile *const p[2], const struct sp_diff_options *o,
			   struct sp_profile *joined)
{
	const struct sp_value_type *a = sp_profile_value_type(p[0], o->old_value);
	const struct sp_value_type *b = sp_profile_value_type(p[1], o->new_value);
	const char *unit = sp_profile_string(p[0], a->unit), *new_unit = sp_profile_string(p[1], b->unit);

	if (!sp_diff_is_same_value(p[0], o->old_value, p[1], o->new_value))
		return sp_fail_said(-EINVAL, "cannot compare %s in %s with %s in %s", sp_profile_string(p[0], a->name),
				    unit, sp_profile_string(p[1], b->name), new_unit);
	if (sp_profile_add_value_type(joined, "old", unit) < 0 || sp_profile_add_value_type(joined, "new", unit) < 0 ||
	    sp_profile_add_value_type(joined, "old samples", "count") < 0 ||
	    sp_profile_add_value_type(joined, "new samples", "count") < 0)
		return -ENOMEM;
	return 0;
}

static int profiles_join(const struct sp_profile *const p[2], const struct sp_diff_options *o,
			 const struct sp_identity same[2], const struct sp_pairs *pairs, struct sp_diff *d)
{
	SP_FREE uint32_t *file_of_class = calloc(pairs->n_classes + 1, sizeof(*file_of_class));
	struct side s[2];
	int r = sp_profile_new(&d->joined);

	if (r < 0 || !file_of_class)
		return -ENOMEM;
	for (uint32_t i = 0; i < 2; i++)
		s[i] = (struct side){.p = p[i],
				     .same = &same[i],
				     .class_of = pairs->class_of[i],
				     .upgraded = pairs->upgraded,
				     .file_of_class = file_of_class,
				     .joined = d->joined,
				     .value = i == 0 ? o->old_value : o->new_value,
				     .which = i};
	r = add_value_types(p, o, d->joined);
	for (uint32_t i = 2; i-- > 0 && r == 0;) /* the new side's names come first */
		r = class_files_add(&s[i], file_of_class);
	for (uint32_t i = 0; i < 2 && r == 0; i++)
		r = joined_rows_add(&s[i]);
	return r == 0 ? list_upgrades(s, pairs->n_classes, d) : r;
}

int sp_diff_join(const struct sp_profile *const p[2], const struct sp_diff_options *o, struct sp_diff *d)
{
	struct sp_identity same[2] = {0};
	struct sp_pairs pairs = {0};
	int r = sp_identity_new(p[0], &same[0]);

	if (r == 0)
		r = sp_identity_new(p[1], &same[1]);
	if (r == 0)
		r = sp_pairs_new(p, same, &pairs);
	if (r == 0)
		r = profiles_join(p, o, same, &pairs, d);
	sp_pairs_done(&pairs);
	sp_identity_done(&same[0]);
	sp_identity_done(&same[1]);
	return r;
}
