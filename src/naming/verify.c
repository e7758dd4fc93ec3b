/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "naming/verify.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "naming/naming.h"
#include "profile/frames.h"
#include "profile/profile.h"
#include "profile/window.h"
#include "unwind/verify.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct verification {
	struct sp_profile *profile;
	uint32_t n_frames, n_stacks; /* at first */
	uint8_t *asked, *verified;   /* by frame: whether its caller was found; 1 << is_unread */
	uint32_t *stacks;            /* by stack: what it is now, 0 = as it was */
	uint32_t *frames;            /* of one stack */
	size_t frames_capacity;
};

struct place {
	uint32_t file, frame;
	uint64_t place; /* sp_verify_place() */
};

/* --- what is asked --- */
static bool is_guessed(const struct sp_profile *p, uint32_t frame)
{
	return sp_profile_frame(p, frame)->flags & SP_FRAMEF_GUESSED;
}

/* Where a leaf is marked itself, its code could not be read when it was walked: what that says now does not count. */
static bool is_unread(const struct sp_profile *p, const struct sp_stack *s, uint32_t i)
{
	return !i && is_guessed(p, s->frames[0]);
}

/* Without those of a waker, which stand the other way round. */
static struct sp_stack own_frames(const struct sp_profile *p, struct sp_stack s)
{
	uint32_t n = sp_profile_n_beside(p, &s);

	s.frames += n;
	s.n_frames -= n;
	return s;
}

/* A guessed frame was reached from the one that it called. */
static void stack_look(struct verification *v, uint32_t number)
{
	struct sp_stack s = own_frames(v->profile, sp_profile_stack(v->profile, number));

	for (uint32_t i = 1; s.stack_class == SP_CLASS_GUESSED && i < s.n_frames; i++) {
		const struct sp_frame *callee = sp_profile_frame(v->profile, s.frames[i - 1]);

		if (is_guessed(v->profile, s.frames[i]) &&
		    sp_profile_file(v->profile, callee->file)->kind == SP_FILE_ELF)
			v->asked[s.frames[i - 1]] |= 1 << is_unread(v->profile, &s, i - 1);
	}
}

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return SP_RISING(x->file, y->file) ?: SP_RISING(x->place, y->place);
}

static size_t places_find(const struct verification *v, struct place *places)
{
	size_t n = 0;

	for (uint32_t i = 1; i < v->n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(v->profile, i);

		for (unsigned unread = 0; unread < 2; unread++)
			if (v->asked[i] >> unread & 1)
				places[n++] = (struct place){f->file, i, sp_verify_place(f->offset, unread)};
	}
	if (n)
		qsort(places, n, sizeof(*places), place_compare);
	return n;
}

/* The same place may be of two frames, with other marks. */
static int file_ask(struct verification *v, struct sp_naming *n, const struct place *places, size_t n_places)
{
	SP_FREE uint64_t *verified = calloc(n_places, sizeof(*verified));
	size_t n_verified = 0;

	if (!verified)
		return -ENOMEM;
	for (size_t i = 0; i < n_places; i++)
		if (!i || places[i].place != places[i - 1].place)
			verified[n_verified++] = places[i].place;
	if (sp_naming_verify(n, places->file, verified, &n_verified) < 0) {
		sp_error_clear();
		return 0;
	}
	for (size_t i = 0, k = 0; i < n_places && k < n_verified; i++) {
		k += verified[k] < places[i].place;
		if (k < n_verified && verified[k] == places[i].place)
			v->verified[places[i].frame] |= 1 << (verified[k] & 1);
	}
	return 0;
}

static int files_ask(struct verification *v, struct sp_naming *n)
{
	SP_FREE struct place *places = calloc(v->n_frames, 2 * sizeof(*places));
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
static int64_t frame_verified(struct sp_profile *p, uint32_t number, uint32_t mark)
{
	struct sp_frame frame = *sp_profile_frame(p, number);

	frame.flags = (frame.flags & ~(uint32_t)SP_FRAMEF_GUESSED) | mark;
	return sp_profile_add_frame(p, &frame);
}

/* Whether the step to this guessed frame is; that of an unread leaf is not to itself, but from it. */
static bool is_verified(const struct verification *v, const struct sp_stack *s, uint32_t i)
{
	const uint32_t callee = i ? i - 1 : 0;

	return v->verified[s->frames[callee]] >> is_unread(v->profile, s, callee) & 1;
}

/* Its frames into v->frames. 1: it is another one now. */
static int frames_verify(struct verification *v, struct sp_stack *s)
{
	struct sp_stack own = own_frames(v->profile, *s);
	uint32_t *frames;
	bool is_changed = false, has_guess = false;
	int r = sp_grow(&v->frames, &v->frames_capacity, s->n_frames, sizeof(*v->frames));

	if (r < 0)
		return r;
	memcpy(v->frames, s->frames, s->n_frames * sizeof(*v->frames));
	s->frames = v->frames;
	own.frames = frames = v->frames + (s->n_frames - own.n_frames);
	for (uint32_t i = own.n_frames; i-- > 0;) {
		int64_t frame;

		if (!is_guessed(v->profile, frames[i]))
			continue;
		if (!is_verified(v, &own, i)) {
			has_guess = true;
			continue;
		}
		frame = frame_verified(v->profile, frames[i], i ? SP_FRAMEF_DERIVED : 0);
		if (frame < 0)
			return (int)frame;
		frames[i] = (uint32_t)frame;
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
		any |= v->verified[i];
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

	v.asked = calloc(v.n_frames, sizeof(*v.asked));
	v.verified = calloc(v.n_frames, sizeof(*v.verified));
	v.stacks = calloc(v.n_stacks, sizeof(*v.stacks));
	if (v.asked && v.verified && v.stacks)
		r = verification_run(&v, n);
	free(v.asked);
	free(v.verified);
	free(v.stacks);
	free(v.frames);
	return r < 0 ? r : 0;
}
