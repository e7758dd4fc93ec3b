/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/wakers.h"
#include "base/mem.h"
#include "capture/drain.h"
#include "capture/priv.h"
#include "profile/frames.h"
#include <errno.h>
#include <stdlib.h>

#define INTERRUPT "[interrupt]"

struct joined { /* the stacks of which one was made */
	uint32_t sleeper, user, kernel, name;
};
struct sp_wakers {
	struct sp_listed announced; /* struct sp_message_waker, by id */
	struct sp_numbers made;     /* by struct joined */
	struct sp_numbers names;
	uint32_t *frames; /* of the stack that is being made */
	size_t n_frames, frames_capacity;
};

int sp_wakers_open(struct sp_capture *c)
{
	struct sp_wakers *w = c->wakers = c->o.wakers ? calloc(1, sizeof(*w)) : NULL;
	int r;

	if (!w)
		return c->o.wakers ? -ENOMEM : 0;
	r = sp_listed_init(&w->announced, sizeof(struct sp_message_waker));
	if (r >= 0)
		r = sp_numbers_init(&w->made);
	return r < 0 ? r : sp_numbers_init(&w->names);
}

void sp_wakers_done(struct sp_capture *c)
{
	struct sp_wakers *w = c->wakers;

	if (!w)
		return;
	sp_listed_done(&w->announced);
	sp_numbers_done(&w->made);
	sp_numbers_done(&w->names);
	free(w->frames);
	free(sp_take_ptr(c->wakers));
}

int sp_wakers_take(struct sp_capture *c, const struct sp_message_waker *r)
{
	struct sp_wakers *w = c->wakers;

	if (!w)
		return -EBADMSG;
	return sp_listed_find(&w->announced, &r->id, sizeof(r->id))
		   ? 0
		   : sp_listed_add(&w->announced, &r->id, sizeof(r->id), r);
}

/* --- frames --- */
static int frame_put(struct sp_wakers *w, uint32_t frame)
{
	return SP_APPEND(w->frames, w->n_frames, w->frames_capacity, frame);
}

/* A frame that is a word: a thread's name, a separator. */
static int64_t word_frame(struct sp_capture *c, uint32_t word)
{
	uint32_t known = sp_numbers_find(&c->wakers->names, &word, sizeof(word));
	struct sp_file file = {.kind = SP_FILE_WORDS, .tag = UINT64_MAX};
	struct sp_func func = {.name = word};
	struct sp_frame frame = {0};
	int64_t number = known ? known : sp_profile_add_string(c->profile, "[waker]");
	int r;

	if (known || number < 0)
		return number;
	file.name = (uint32_t)number;
	number = sp_profile_add_file(c->profile, &file);
	frame.file = func.file = (uint32_t)SP_MAX(number, 0);
	if (number >= 0)
		number = sp_profile_add_func(c->profile, &func);
	frame.func = (uint32_t)SP_MAX(number, 0);
	if (number >= 0)
		number = sp_profile_add_frame_variant(c->profile, &frame, false);
	r = number < 0 ? (int)number : sp_numbers_set(&c->wakers->names, &word, sizeof(word), (uint32_t)number);
	return r < 0 ? r : number;
}

static int word_put(struct sp_capture *c, uint32_t word)
{
	int64_t frame = word_frame(c, word);

	return frame < 0 ? (int)frame : frame_put(c->wakers, (uint32_t)frame);
}

/* The frames from the root up to the leaf. */
static int frames_put_reversed(struct sp_capture *c, uint32_t stack, uint32_t n)
{
	int r = 0;

	for (uint32_t i = n; i-- > 0 && !r;)
		r = frame_put(c->wakers, sp_profile_stack(c->profile, stack).frames[i]);
	return r;
}

static int frames_put(struct sp_capture *c, uint32_t stack)
{
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_stack(c->profile, stack).n_frames && !r; i++)
		r = frame_put(c->wakers, sp_profile_stack(c->profile, stack).frames[i]);
	return r;
}

/* --- wakers --- */
struct waker {
	uint32_t name; /* a string */
	uint32_t process, user, kernel;
	uint32_t n_kernel; /* frames of the kernel's stack that are the waker's */
};

/* How many frames of a kernel stack an interrupt has put there; 0: there was none. */
static int interrupt_frames(struct sp_capture *c, uint32_t stack, uint32_t *ret_n)
{
	struct sp_stack s = sp_profile_stack(c->profile, stack);
	bool is_entry = false;
	int r = 0;

	for (uint32_t i = 0; i < s.n_frames && !is_entry && !r; i++) {
		r = sp_machinery_is_interrupt(c, sp_profile_frame(c->profile, s.frames[i])->offset, &is_entry);
		if (is_entry)
			*ret_n = i + 1;
	}
	return r;
}

static int waker_of(struct sp_capture *c, const struct sp_message_waker *m, struct waker *ret)
{
	struct waker k = {.process = sp_numbers_find(&c->process_keys, &m->process, sizeof(m->process)),
			  .user = sp_drain_stack_number(c, m->user_stack, 1),
			  .kernel = sp_drain_stack_number(c, m->kernel_stack, 1)};
	uint32_t n = 0;
	int r = interrupt_frames(c, k.kernel, &n);
	int64_t name = n ? sp_profile_add_string(c->profile, INTERRUPT)
			 : sp_profile_add_bytes(c->profile, m->comm, sizeof(m->comm));

	k.n_kernel = n ? n : sp_profile_stack(c->profile, k.kernel).n_frames;
	if (!c->o.kernel) /* it has served to tell interrupts */
		k.n_kernel = 0;
	if (n)
		k.user = k.process = 0;
	k.name = (uint32_t)SP_MAX(name, 0);
	*ret = k;
	return r < 0 ? r : (int)SP_MIN(name, 0);
}

static const struct sp_message_waker *message_of(const struct sp_capture *c, sp_u64 id)
{
	return c->wakers ? sp_listed_find(&c->wakers->announced, &id, sizeof(id)) : NULL;
}

/* The sleeper's stack below the waker's, as one. */
static int64_t stack_make(struct sp_capture *c, const struct waker *k, uint32_t sleeper)
{
	int64_t separator = sp_profile_add_string(c->profile, SP_WORD_WOKEN_BY);
	struct sp_stack s = sp_profile_stack(c->profile, sleeper);
	struct sp_wakers *w = c->wakers;
	int r = separator < 0 ? (int)separator : word_put(c, k->name);

	if (!r)
		r = frames_put_reversed(c, k->user, sp_profile_stack(c->profile, k->user).n_frames);
	if (!r)
		r = frames_put_reversed(c, k->kernel, k->n_kernel);
	if (!r)
		r = word_put(c, (uint32_t)separator);
	if (!r)
		r = frames_put(c, sleeper);
	if (r < 0)
		return r;
	s.n_frames = (uint32_t)w->n_frames;
	s.frames = w->frames;
	return sp_profile_add_stack(c->profile, &s);
}

static int joined_of(struct sp_capture *c, const struct waker *k, uint32_t *stack)
{
	struct joined at = {*stack, k->user, k->kernel, k->name};
	uint32_t known = sp_numbers_find(&c->wakers->made, &at, sizeof(at));
	int64_t number = known;

	c->wakers->n_frames = 0;
	if (!known)
		number = stack_make(c, k, *stack);
	if (number < 0)
		return (int)number;
	*stack = (uint32_t)number;
	return known ? 0 : sp_numbers_set(&c->wakers->made, &at, sizeof(at), (uint32_t)number);
}

/* The kernel's stack of the waker, with the sleeper's name as its leaf. */
static int target_put(struct sp_capture *c, const struct waker *k, uint32_t target, uint32_t *stack)
{
	struct sp_stack s = sp_profile_stack(c->profile, *stack);
	uint32_t n = *stack == k->kernel ? k->n_kernel : s.n_frames;
	int64_t number;
	int r;

	c->wakers->n_frames = 0;
	r = word_put(c, target);
	for (uint32_t i = 0; i < n && !r; i++)
		r = frame_put(c->wakers, sp_profile_stack(c->profile, *stack).frames[i]);
	if (r < 0)
		return r;
	s.n_frames = (uint32_t)c->wakers->n_frames;
	s.frames = c->wakers->frames;
	number = sp_profile_add_stack(c->profile, &s);
	*stack = (uint32_t)SP_MAX(number, 0);
	return (int)SP_MIN(number, 0);
}

/* The row becomes the waker's. */
static int alone_put(struct sp_capture *c, const struct waker *k, struct sp_key *key, uint32_t *user, uint32_t *kernel)
{
	uint32_t target = key->comm;

	key->process = k->process;
	key->comm = k->name;
	*user = k->user;
	*kernel = k->kernel;
	return target_put(c, k, target, c->o.kernel ? kernel : user);
}

int sp_wakers_join(struct sp_capture *c, sp_u64 id, struct sp_key *key, uint32_t *user, uint32_t *kernel)
{
	const struct sp_message_waker *m = message_of(c, id);
	struct waker k;
	int r;

	if (!m)
		return 0;
	r = waker_of(c, m, &k);
	if (r < 0)
		return r;
	if (c->o.wakers == SP_WAKERS_ALONE)
		return alone_put(c, &k, key, user, kernel);
	return joined_of(c, &k, c->o.kernel ? kernel : user);
}

int sp_wakers_label(struct sp_capture *c, sp_u64 id, struct sp_label *ret_label)
{
	const struct sp_message_waker *m = message_of(c, id);
	int64_t name = sp_profile_add_string(c->profile, "waker");
	struct waker k;
	int r = m ? waker_of(c, m, &k) : 0;

	if (!m || r < 0 || name < 0)
		return r < 0 ? r : (int)SP_MIN(name, 0);
	*ret_label = (struct sp_label){.name = (uint32_t)name, .word = k.name};
	return 1;
}
