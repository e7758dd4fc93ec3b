/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sample.bpf.h: a sample of the current task, taken by any of the programs: who it is, and its user stack.
 *
 * A program takes a scratch, fills in the key (sp_sample_begin), has the stacks walked that it wants, and counts the
 * sample (sp_count_sample) unless sp_user_stack() has sent it to the user half.
 */
#ifndef SP_BPF_SAMPLE_BPF_H
#define SP_BPF_SAMPLE_BPF_H

#include "bpf/follow.bpf.h"
#include "bpf/pending.bpf.h"
#include "bpf/x86_64/probe.bpf.h"
#include "bpf/x86_64/registers.bpf.h"

/* Whether a task is one of those asked for by number. */
static __always_inline int sp_is_number_wanted(struct task_struct *task)
{
	return sp_are_numbers_wanted(task->tgid, task->pid);
}

/* Whether the current task is one of those asked for. */
static __always_inline int sp_is_wanted(struct task_struct *task)
{
	if (!sp_is_number_wanted(task) || !sp_is_cgroup_wanted()) {
		sp_tally(SP_N_FILTERED, 1);
		return 0;
	}
	return 1;
}

/*
 * Prepares the scratch for a user stack that begins at s->regs. Returns SP_STEP_NEXT, or the reason why there is none.
 */
static __always_inline sp_u32 sp_user_begin(struct sp_scratch *s, struct task_struct *task)
{
	int i;

	s->n_frames = 0;
	s->hash = 1;
	s->guessed = 0;
	s->how = SP_HOW_EXACT | SP_HOW_FIRST | SP_HOW_REGS;
	s->n_again = 0;
	s->n_seen = 0;
	s->last_seen = 0;
	s->n_walks = 0;
	s->n_words = 0;
	s->n_noted = 0;
	s->is_usual = 0;
	s->stack_copy_bytes = 0;
	s->stack_copy_at = 0;
	for (i = 0; i < SP_N_SEEN; i++) {
		s->seen[i].start = 1;
		s->seen[i].end = 1;
	}
	if (task->flags & SP_PF_KTHREAD)
		return SP_STOP_NONE;
	if (!sp_mm_take(s, task))
		return SP_STOP_GONE;
	return SP_STEP_NEXT;
}

enum { SP_AT_RET = 2 /* in place of in_kernel: a probe of a `ret`, whose stack begins with the caller */ };

/*
 * Takes the user registers: in kernel mode those that were saved at the entry, else those in ctx, the context of a perf
 * event. SP_STEP_NEXT or a stop.
 */
static __always_inline sp_u32 sp_user_regs(struct sp_scratch *s, void *ctx, struct task_struct *task, int in_kernel)
{
	int is_call = 0;
	sp_u64 cs = in_kernel ? sp_regs_saved(&s->regs, task, &is_call) : sp_regs_of_sample(&s->regs, ctx);

	if (is_call)
		s->how &= ~SP_HOW_EXACT;
	if (in_kernel == SP_AT_RET && cs == SP_USER_CS) {
		s->how &= ~SP_HOW_EXACT;
		bpf_probe_read_user(&s->regs.ip, sizeof(s->regs.ip), (void *)s->regs.sp);
		s->regs.sp += SP_PROBE_RETURN_BYTES;
	}
	if (!s->regs.ip || (in_kernel && sp_kbits((sp_u64)task, struct task_struct, in_execve)))
		return SP_STOP_GONE;
	return cs == SP_USER_CS ? SP_STEP_NEXT : SP_STOP_BITS;
}

static __always_inline void sp_user_walk(struct sp_scratch *s, struct task_struct *task, int in_kernel)
{
	sp_unwind(s);
	/* Nothing has been called yet on the stack of a thread that is being made. */
	if (in_kernel && s->n_frames == 1 && s->stop == SP_STOP_UNMAPPED && sp_is_newborn(task))
		s->stop = SP_STOP_THREAD;
	/* Inside execve or exit the saved registers belong to a program that is gone. */
	if (in_kernel && !s->n_frames && (s->stop == SP_STOP_UNMAPPED || s->stop == SP_STOP_READ))
		s->stop = SP_STOP_GONE;
}

/*
 * Starts anew on a deep stack that met a file without table, so that the user half walks all of it: the frames walked
 * so far lie in the buffer in which the record will be put together, and would be overwritten.
 */
static __always_inline void sp_user_again(struct sp_scratch *s, void *ctx, struct task_struct *task, int in_kernel)
{
	if (s->n_frames > SP_NEAR_FRAMES && sp_user_begin(s, task) == SP_STEP_NEXT)
		sp_user_regs(s, ctx, task, in_kernel);
}

/* When the task's process began. */
static __always_inline sp_u64 sp_started_ns(struct task_struct *task)
{
	if (!sp_has_cast())
		return task->group_leader->start_boottime;
	return sp_kfield_by(1, sp_kfield_by(1, (sp_u64)task, struct task_struct, group_leader), struct task_struct,
			    start_boottime);
}

static __always_inline void sp_sample_begin(struct sp_scratch *s, struct task_struct *task, sp_u64 now, sp_u32 recipe,
					    sp_u64 weight)
{
	s->key.user_stack = 0;
	s->key.kernel_stack = 0;
	s->key.slice_unit = sp_slice_unit(&sp_slicing, now);
	s->key.recipe = recipe;
	s->key.state = 0;
	s->ticket = 0;
	if (sp_config.objects)
		s->key.object = 0;
	if (sp_config.wakers)
		s->key.waker = 0;
	s->key.process.start_ns = sp_started_ns(task);
	s->key.process.tgid = task->tgid;
	s->key.process.exec_id = task->self_exec_id;
	bpf_get_current_comm(s->key.comm, sizeof(s->key.comm));
	s->value.n = 1;
	s->value.weight = weight;
}

/* Walks the user stack. 0: the sample was sent to the user half, which finishes and counts it. */
static __always_inline int sp_user_stack(struct sp_scratch *s, void *ctx, struct task_struct *task, int in_kernel)
{
	sp_u32 r = sp_user_begin(s, task);

	if (r == SP_STEP_NEXT)
		r = sp_user_regs(s, ctx, task, in_kernel);
	s->stop = r;
	if (r == SP_STEP_NEXT)
		sp_user_walk(s, task, in_kernel);
	sp_tally(SP_N_USER_FRAMES, s->n_frames);
	sp_tally(SP_N_VMA_WALKS, s->n_walks);
	if (s->stop == SP_STOP_PENDING) {
		sp_user_again(s, ctx, task, in_kernel);
		if (!sp_pending_send(s))
			return 0;
		s->stop = s->n_again ? SP_STOP_NO_UNWIND : SP_STOP_TABLE;
	}
	sp_user_stack_close(s);
	return 1;
}

#endif
