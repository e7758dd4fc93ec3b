/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "naming/verify.h"
#include "base/error.h"
#include "base/mem.h"
#include "naming/naming.h"
#include "profile/profile.h"
#include "profile/window.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct verification {
	struct sp_profile *profile;
	uint32_t n_frames, n_stacks;  /* at first */
	bool *is_asked, *is_verified; /* by frame: whether its frame pointer leads to its caller */
	uint32_t *stacks;             /* by stack: what it is now, 0 = as it was */
	uint32_t *frames;             /* of one stack */
	size_t frames_capacity;
};

struct place {
	uint32_t file, frame;
	uint64_t offset;
};

/* --- what is asked --- */
static bool is_guessed(const struct sp_profile *p, uint32_t frame)
{
	return sp_profile_frame(p, frame)->flags & SP_FRAMEF_GUESSED;
}

/* A guessed frame was reached from the one that it called. */
static void stack_look(struct verification *v, uint32_t number)
{
	struct sp_stack s = sp_profile_stack(v->profile, number);

	for (uint32_t i = 1; s.stack_class == SP_CLASS_GUESSED && i < s.n_frames; i++) {
		const struct sp_frame *callee = sp_profile_frame(v->profile, s.frames[i - 1]);

		if (is_guessed(v->profile, s.frames[i]) &&
		    sp_profile_file(v->profile, callee->file)->kind == SP_FILE_ELF)
			v->is_asked[s.frames[i - 1]] = true;
	}
}

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static size_t places_find(const struct verification *v, struct place *places)
{
	size_t n = 0;

	for (uint32_t i = 1; i < v->n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(v->profile, i);

		if (v->is_asked[i])
			places[n++] = (struct place){f->file, i, f->offset};
	}
	if (n)
		qsort(places, n, sizeof(*places), place_compare);
	return n;
}

/* The same place may be of two frames, with other marks. */
static int file_ask(struct verification *v, struct sp_naming *n, const struct place *places, size_t n_places)
{
	SP_FREE uint64_t *offsets = calloc(n_places, sizeof(*offsets));
	size_t n_verified = 0;

	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < n_places; i++)
		if (!i || places[i].offset != places[i - 1].offset)
			offsets[n_verified++] = places[i].offset;
	if (sp_naming_verify(n, places->file, offsets, &n_verified) < 0) {
		sp_error_clear();
		return 0;
	}
	for (size_t i = 0, k = 0; i < n_places && k < n_verified; i++) {
		k += offsets[k] < places[i].offset;
		v->is_verified[places[i].frame] = k < n_verified && offsets[k] == places[i].offset;
	}
	return 0;
}

static int files_ask(struct verification *v, struct sp_naming *n)
{
	SP_FREE struct place *places = calloc(v->n_frames, sizeof(*places));
	size_t n_places = places ? places_find(v, places) : 0;
	int r = places ? 0 : -ENOMEM;

	for (size_t i = 0, end; r >= 0 && i < n_places; i = end) {
		for (end = i + 1; end < n_places && places[end].file == places[i].file;)
			end++;
		r = file_ask(v, n, places + i, end - i);
	}
	return r;
}

/* --- what comes of it --- */
static int64_t frame_verified(struct sp_profile *p, uint32_t number)
{
	struct sp_frame frame = *sp_profile_frame(p, number);

	frame.flags = (frame.flags & ~(uint32_t)SP_FRAMEF_GUESSED) | SP_FRAMEF_DERIVED;
	return sp_profile_add_frame(p, &frame);
}

/* Where a leaf is marked itself, its code could not be read when it was walked: what that says now does not count. */
static bool is_verified(const struct verification *v, uint32_t callee)
{
	if (!v->is_verified[v->frames[callee]])
		return false;
	return callee || !is_guessed(v->profile, v->frames[callee]);
}

/* Its frames into v->frames. 1: it is another one now. */
static int frames_verify(struct verification *v, struct sp_stack *s)
{
	bool is_changed = false, has_guess = false;
	int r = sp_grow(&v->frames, &v->frames_capacity, s->n_frames, sizeof(*v->frames));

	if (r < 0)
		return r;
	memcpy(v->frames, s->frames, s->n_frames * sizeof(*v->frames));
	s->frames = v->frames;
	for (uint32_t i = s->n_frames; i-- > 0;) {
		int64_t frame = v->frames[i];

		if (!is_guessed(v->profile, v->frames[i]))
			continue;
		if (!i || !is_verified(v, i - 1)) {
			has_guess = true;
			continue;
		}
		frame = frame_verified(v->profile, v->frames[i]);
		if (frame < 0)
			return (int)frame;
		v->frames[i] = (uint32_t)frame;
		is_changed = true;
	}
	if (!has_guess)
		s->stack_class = SP_CLASS_COMPLETE;
	return is_changed;
}

static int stacks_verify(struct verification *v)
{
	int64_t number;
	int r = 0;

	for (uint32_t i = 1; r >= 0 && i < v->n_stacks; i++) {
		struct sp_stack s = sp_profile_stack(v->profile, i);

		r = s.stack_class == SP_CLASS_GUESSED && s.n_frames ? frames_verify(v, &s) : 0;
		if (r <= 0)
			continue;
		number = sp_profile_add_stack(v->profile, &s);
		v->stacks[i] = (uint32_t)SP_MAX(number, 0);
		r = (int)SP_MIN(number, 0);
	}
	return r;
}

static int rows_move(struct verification *v)
{
	struct sp_profile_rows rows = sp_profile_take_rows(v->profile);
	size_t row_bytes = rows.n ? rows.bytes / rows.n : 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < rows.n; i++) {
		const struct sp_row *row = (const void *)((const char *)rows.rows + i * row_bytes);
		uint32_t user = row->user < v->n_stacks && v->stacks[row->user] ? v->stacks[row->user] : row->user;

		r = sp_profile_add(v->profile, row->key, user, row->kernel, row->values);
	}
	sp_profile_rows_done(&rows);
	return r;
}

static int verification_run(struct verification *v, struct sp_naming *n)
{
	bool any = false;
	int r;

	for (uint32_t i = 1; i < v->n_stacks; i++)
		stack_look(v, i);
	r = files_ask(v, n);
	for (uint32_t i = 1; i < v->n_frames; i++)
		any |= v->is_verified[i];
	if (r >= 0 && any)
		r = stacks_verify(v);
	return r >= 0 && any ? rows_move(v) : r;
}

int sp_verify_stacks(struct sp_naming *n)
{
	struct verification v = {.profile = n->profile,
				 .n_frames = sp_profile_n_frames(n->profile),
				 .n_stacks = sp_profile_n_stacks(n->profile)};
	int r = -ENOMEM;

	v.is_asked = calloc(v.n_frames, sizeof(*v.is_asked));
	v.is_verified = calloc(v.n_frames, sizeof(*v.is_verified));
	v.stacks = calloc(v.n_stacks, sizeof(*v.stacks));
	if (v.is_asked && v.is_verified && v.stacks)
		r = verification_run(&v, n);
	free(v.is_asked);
	free(v.is_verified);
	free(v.stacks);
	free(v.frames);
	return r < 0 ? r : 0;
}
