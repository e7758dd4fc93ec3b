/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu.bpf.c: the cpu recipe's kernel half: a sample of whoever runs, at a timed interval, on every CPU.
 *
 * Runs in the timer's interrupt (cpu-clock) or in an NMI (hardware events). Values: 1 sample, and what it stands for:
 * the event's period.
 */
#include "bpf/check.bpf.h"
#include "bpf/follow.bpf.h"
#include "bpf/pending.bpf.h"
#include "bpf/seek.bpf.h"
#include "bpf/x86_64/registers.bpf.h"

char LICENSE[] SEC("license") = "GPL";

volatile struct sp_ticks sp_ticks;

/*
 * The kernel tells the period that a clock's event was opened with, whatever it was changed to since: the user half
 * says what it is. A change cuts a period short, and comes to one CPU after the other. So a CPU's ticks while it goes
 * on, and its first one after it, stand for the time since the tick before, and none of it is lost or counted twice.
 */
static __always_inline sp_u64 sp_weight(struct sp_scratch *s, struct bpf_perf_event_data *ctx, sp_u64 now)
{
	sp_u64 since, period = sp_ticks.period_ns;
	sp_u32 change = sp_ticks.change;

	if (!period)
		return ctx->sample_period;
	since = now - s->tick_ns;
	s->tick_ns = now;
	if (change == s->tick_change && !(change & 1))
		return period;
	s->tick_change = change;
	return since <= sp_ticks.longest_ns ? since : period;
}

static __always_inline int sp_is_wanted(struct task_struct *task)
{
	sp_u32 number = sp_config.filter == SP_TARGETS_TID ? task->pid : task->tgid;

	if (!task->pid && !sp_config.idle) {
		sp_tally(SP_N_IDLE, 1);
		return 0;
	}
	if ((sp_config.filter && !sp_is_target(number)) ||
	    (sp_config.cgroup && bpf_get_current_ancestor_cgroup_id(sp_config.cgroup_level) != sp_config.cgroup)) {
		sp_tally(SP_N_FILTERED, 1);
		return 0;
	}
	return 1;
}

/* Sets the scratch up for a user stack that begins at s->regs. SP_STEP_NEXT, or the reason why there is none. */
static __always_inline sp_u32 sp_user_begin(struct sp_scratch *s, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	int i;

	s->n_frames = 0;
	s->hash = 1;
	s->guessed = 0;
	s->how = SP_HOW_EXACT | SP_HOW_FIRST | SP_HOW_REGS;
	s->n_again = 0;
	s->n_seen = 0;
	s->last_seen = 0;
	s->n_walks = 0;
	s->stack_copy_bytes = 0;
	s->stack_copy_at = 0;
	for (i = 0; i < SP_N_SEEN; i++) {
		s->seen[i].start = 1;
		s->seen[i].end = 1;
	}
	if (task->flags & SP_PF_KTHREAD)
		return SP_STOP_NONE;
	if (!mm)
		return SP_STOP_GONE;
	s->mm = (sp_u64)mm;
	s->maple_root = (sp_u64)mm->mm_mt.ma_root;
	s->vdso = (sp_u64)mm->context.vdso;
	return SP_STEP_NEXT;
}

/* The user registers; those of a sample in kernel mode were saved at the entry. SP_STEP_NEXT or a stop. */
static __always_inline sp_u32 sp_user_regs(struct sp_scratch *s, struct bpf_perf_event_data *ctx,
					   struct task_struct *task, int in_kernel)
{
	int is_call = 0;
	sp_u64 cs = in_kernel ? sp_regs_saved(&s->regs, task, &is_call) : sp_regs_of_sample(&s->regs, ctx);

	if (is_call)
		s->how &= ~SP_HOW_EXACT;
	if (!s->regs.ip || (in_kernel && BPF_CORE_READ_BITFIELD(task, in_execve)))
		return SP_STOP_GONE;
	return cs == SP_USER_CS ? SP_STEP_NEXT : SP_STOP_BITS;
}

static __always_inline void sp_user_walk(struct sp_scratch *s, int in_kernel)
{
	sp_unwind(s);
	/* Inside execve or exit the saved registers speak of a program that is no more. */
	if (in_kernel && !s->n_frames && (s->stop == SP_STOP_UNMAPPED || s->stop == SP_STOP_READ))
		s->stop = SP_STOP_GONE;
}

/*
 * Of a deep stack that met a file without table, so that the user half gets it from its beginning: what was walked of
 * it lies where the record is made up.
 */
static __always_inline void sp_user_again(struct sp_scratch *s, struct bpf_perf_event_data *ctx,
					  struct task_struct *task, int in_kernel)
{
	if (s->n_frames > SP_NEAR_FRAMES && sp_user_begin(s, task) == SP_STEP_NEXT)
		sp_user_regs(s, ctx, task, in_kernel);
}

static __always_inline void sp_sample(struct sp_scratch *s, struct bpf_perf_event_data *ctx, struct task_struct *task,
				      sp_u64 now, sp_u64 weight)
{
	int in_kernel = sp_in_kernel_mode((const struct pt_regs *)&ctx->regs);
	sp_u32 r = sp_user_begin(s, task);

	s->key.user_stack = 0;
	s->key.kernel_stack = 0;
	s->key.slice_unit = sp_slice_unit(&sp_slicing, now);
	s->key.process.start_ns = task->group_leader->start_boottime;
	s->key.process.tgid = task->tgid;
	s->key.process.exec_id = task->self_exec_id;
	bpf_get_current_comm(s->key.comm, sizeof(s->key.comm));
	s->value.n = 1;
	s->value.weight = weight;
	sp_tally(SP_N_SAMPLES, 1);
	if (in_kernel)
		sp_tally(SP_N_KERNEL, 1);
	if (sp_config.kernel && in_kernel)
		sp_kernel_stack(s, ctx);
	if (sp_config.user) {
		if (r == SP_STEP_NEXT)
			r = sp_user_regs(s, ctx, task, in_kernel);
		s->stop = r;
		if (r == SP_STEP_NEXT)
			sp_user_walk(s, in_kernel);
		sp_tally(SP_N_USER_FRAMES, s->n_frames);
		sp_tally(SP_N_VMA_WALKS, s->n_walks);
		if (s->stop == SP_STOP_PENDING) {
			sp_user_again(s, ctx, task, in_kernel);
			if (!sp_pending_send(s))
				return;
			s->stop = s->n_again ? SP_STOP_NO_UNWIND : SP_STOP_TABLE;
		}
		sp_user_stack_close(s);
	}
	sp_count(s);
}

static __always_inline void sp_take(struct bpf_perf_event_data *ctx, sp_u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sp_scratch *s;
	sp_u32 zero = 0;
	sp_u64 weight;

	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return;
	weight = sp_weight(s, ctx, now);
	if (!sp_is_wanted(task))
		return;
	if (s->busy) {
		sp_tally(SP_N_LOST_NESTED, 1);
		return;
	}
	s->busy = 1;
	sp_sample(s, ctx, task, now, weight);
	s->busy = 0;
}

SEC("perf_event")
int sp_cpu(struct bpf_perf_event_data *ctx)
{
	sp_u64 began = bpf_ktime_get_ns();

	sp_take(ctx, began);
	if (sp_config.time_own)
		sp_tally(SP_N_OWN_NS, bpf_ktime_get_ns() - began);
	return 0;
}
