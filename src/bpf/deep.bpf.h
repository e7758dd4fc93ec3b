/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * deep.bpf.h: stacks that are deeper than the scratch, which has room for SP_NEAR_FRAMES.
 *
 * Up to SP_MAX_FRAMES frames are all kept. Of a deeper stack those next to the leaf are kept, and in a ring behind them
 * the last ones walked, which in the end are those next to the root (sp_frame_slot). To walk 100,000 frames takes
 * milliseconds, in an interrupt, so it is not done at each sample: the frame at which a walk has ended is remembered
 * for the thread (an anchor), and the next sample continues there if the stack still has the same return address at
 * that place. So one sample walks at most SP_WALK_FRAMES, some samples together find the root of any stack, and from
 * then on a sample walks SP_MAX_FRAMES and some 1,000 more.
 */
#ifndef SP_BPF_DEEP_BPF_H
#define SP_BPF_DEEP_BPF_H

#include "bpf/unwind.bpf.h"

/*
 * Keeps the word of a frame that the scratch has no room for. It uses the per-CPU buffer `pending`, which otherwise
 * holds samples that wait for a table; so deep stacks need no memory of their own.
 */
__noinline int sp_deep_put(struct sp_scratch *s, sp_u64 word)
{
	struct sp_message_pending *r = s ? sp_pending_own(s) : 0;
	sp_u32 slot;

	if (!s || !r)
		return -1;
	if (s->n_frames == SP_NEAR_FRAMES)
		bpf_probe_read_kernel(r->frames, sizeof(s->frames), s->frames);
	slot = sp_frame_slot(s->n_frames);
	sp_opaque(slot);
	r->frames[slot & (SP_MAX_FRAMES - 1)] = word;
	return 0;
}

/* Marks the frame that was kept last. */
__noinline int sp_deep_mark(struct sp_scratch *s)
{
	struct sp_message_pending *r = s ? sp_pending_own(s) : 0;
	sp_u32 slot;

	if (!s || !r)
		return -1;
	slot = sp_frame_slot(s->n_frames - 1);
	sp_opaque(slot);
	r->frames[slot & (SP_MAX_FRAMES - 1)] |= SP_FRAME_GUESSED;
	return 0;
}

struct sp_deep_walk { /* small: 6.1 sums up the stacks of nested calls to 512 bytes */
	struct sp_scratch *s;
};

static long sp_deep_next(sp_u32 i, struct sp_deep_walk *walk)
{
	struct sp_scratch *s = walk->s;

	if (!(i & (SP_ROOT_FRAMES - 1))) {
		s->older = s->newer;
		s->newer.ip = s->regs.ip;
		s->newer.sp = s->regs.sp;
		s->newer.fp = s->regs.fp;
		s->newer.how = s->how & ~SP_HOW_REGS;
	}
	s->stop = sp_step(s);
	return s->stop != SP_STEP_NEXT;
}

/* Continues from the anchor if it belongs to this thread and is still on its stack. 0 or -1. */
static __always_inline int sp_anchor_take(struct sp_scratch *s, const struct sp_anchor *a, sp_u32 tid)
{
	sp_u64 word;

	if (a->tid != tid || a->mm != s->mm || a->point.sp <= s->regs.sp ||
	    bpf_probe_read_user(&word, sizeof(word), (void *)(a->point.sp - 8)) || word != a->point.ip)
		return -1;
	s->regs.ip = a->point.ip;
	s->regs.sp = a->point.sp;
	s->regs.fp = a->point.fp;
	s->how = a->point.how;
	return 0;
}

/*
 * Walks on when SP_MAX_FRAMES are walked. The anchor that it leaves below a root is at least SP_ROOT_FRAMES frames away
 * from it, so that the next walk has all of these.
 */
static __always_inline void sp_deeper(struct sp_scratch *s, struct sp_deep_walk *walk, struct sp_anchor *a)
{
	sp_u32 tid = bpf_get_current_pid_tgid();
	int jumped = !sp_anchor_take(s, a, tid);

	s->older.ip = s->newer.ip = 0;
	bpf_loop(SP_WALK_FRAMES, sp_deep_next, walk, 0);
	a->tid = 0;
	if (s->stop == SP_STEP_NEXT || (sp_stop_is_whole(s->stop) && s->older.ip)) {
		a->point = s->stop == SP_STEP_NEXT ? s->newer : s->older;
		a->mm = s->mm;
		a->tid = tid;
	} else if (jumped) { /* some of the last frames may lie before the anchor */
		s->n_frames = SP_MAX_FRAMES - SP_ROOT_FRAMES;
		s->stop = SP_STOP_DEEP;
	}
	if (s->stop == SP_STEP_NEXT)
		s->stop = SP_STOP_DEEP;
}

/* The rest of a stack that was not walked to its end at once. */
__noinline int sp_deep_unwind(struct sp_scratch *s)
{
	struct sp_deep_walk walk = {.s = s};

	if (!s)
		return -1;
	bpf_loop(SP_MAX_FRAMES - s->n_frames, sp_deep_next, &walk, 0);
	if (s->stop == SP_STEP_NEXT)
		sp_deeper(s, &walk, &s->anchors[bpf_get_current_pid_tgid() & (SP_N_ANCHORS - 1)]);
	return 0;
}

#endif
