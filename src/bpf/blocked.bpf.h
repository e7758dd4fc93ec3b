/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * blocked.bpf.h: threads that do not run when the sampling begins, and whose waits nobody has seen begin.
 *
 * An iterator over all threads, read by the user half (capture/blocked.c). A thread that does not run has left its
 * registers on its kernel stack, and what its user stack holds stays as it is until the thread runs again: the user
 * half reads that memory, because this program must not sleep.
 */
#ifndef SP_BPF_BLOCKED_BPF_H
#define SP_BPF_BLOCKED_BPF_H

#include "bpf/object.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/stamp.bpf.h"

enum { SP_BLOCKED_WALKS = 1 << 18 /* mappings and holes: vm.max_map_count allows 65,530 */ };

struct sp_threads_asked sp_blocked_asked;

/* The process whose mappings were sent last, and the thread with which they were. */
sp_u64 sp_blocked_mm, sp_blocked_task;

static __always_inline int sp_task_is_wanted(struct task_struct *task, struct cgroup *cgroup)
{
	sp_u64 at;

	if (!sp_is_number_wanted(task))
		return 0;
	if (!sp_config.cgroup)
		return 1;
	if (cgroup->level < (int)sp_config.cgroup_level)
		return 0;
	at = sp_kload((sp_u64)cgroup + bpf_core_field_offset(struct cgroup, ancestors) + 8ULL * sp_config.cgroup_level);
	return sp_kfield(sp_kfield(at, struct cgroup, kn), struct kernfs_node, id) == sp_config.cgroup;
}

/* Where the thread has an episode, its next front is to end it; but not if it has left its CPU meanwhile. */
static __always_inline void sp_blocked_mark(struct task_struct *task)
{
	struct sp_episode_key at = {.match = (sp_u64)task};
	struct sp_episode *episode;
	struct sp_stamp *stamp;

	for (at.recipe = 0; at.recipe < SP_N_STAMPS && at.recipe < sp_config.n_recipes; at.recipe++) {
		episode = bpf_map_lookup_elem(&episodes, &at);
		if (!episode || !episode->since_ns)
			continue;
		stamp = sp_stamp_of(task, at.recipe, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!stamp)
			sp_tally(SP_N_LOST_EPISODES, 1);
		if (!stamp || __sync_val_compare_and_swap(&stamp->since_ns, 0, SP_STAMP_EPISODE) > SP_STAMP_EPISODE)
			bpf_map_delete_elem(&episodes, &at);
	}
}

/* Puts the stamp that is asked for into the head. 0: there is none. */
static __always_inline int sp_blocked_stamp(struct sp_message_blocked *head, struct task_struct *task, sp_u64 now)
{
	struct sp_stamp *stamp = sp_stamp_of(task, sp_blocked_asked.recipe, 0);
	sp_u64 since = stamp ? *(volatile sp_u64 *)&stamp->since_ns : 0;

	if (since <= SP_STAMP_EPISODE)
		return 0;
	head->since_ns = since;
	head->stamp_state = stamp->state;
	return sp_blocked_asked.how == SP_BLOCKED_TAKE ||
	       (now > since && sp_wait_counts(now - since, sp_blocked_asked.min_ns, sp_blocked_asked.max_ns));
}

static __always_inline void sp_blocked_head(struct sp_message_blocked *head, struct task_struct *task)
{
	sp_u64 pid = sp_pid_of((sp_u64)task);

	head->task = (sp_u64)task;
	head->n_switches = task->nvcsw + task->nivcsw;
	head->ran_ns = task->se.sum_exec_runtime;
	head->flags = task->flags;
	head->state = task->__state;
	head->tid = sp_own_level ? sp_pid_at(pid, sp_own_level, sp_own_ns) : task->pid;
}

/*
 * Takes the stamp that was sent, which is sent first because the kernel runs the program once more where there was no
 * room. If the thread took it before, that is sent, too.
 */
static __always_inline void sp_blocked_take(struct sp_message_blocked *head, struct task_struct *task,
					    struct seq_file *seq)
{
	struct sp_stamp *stamp = sp_stamp_of(task, sp_blocked_asked.recipe, 0);

	if (!stamp || __sync_lock_test_and_set(&stamp->since_ns, 0) == head->since_ns)
		return;
	head->since_ns = 0;
	bpf_seq_write(seq, head, sizeof(*head));
}

/* The kernel leaves out its scheduler's own functions, which are the leaves of a thread that stops while it is watched.
 */
static __always_inline void sp_blocked_kernel_stack(struct sp_scratch *s, struct task_struct *task)
{
	long bytes = bpf_get_task_stack(task, s->kernel_frames, 8 * (SP_MAX_KERNEL_FRAMES - 1), 0);

	sp_kernel_stack_close(s, bytes);
}

/* What the user half needs to walk the user stack, but for the stack itself. Returns the message's bytes. */
static __always_inline sp_u32 sp_blocked_user_stack(struct sp_scratch *s, struct sp_message_pending *r,
						    struct sp_message_blocked *head, struct task_struct *task)
{
	struct pt_regs *saved = (struct pt_regs *)bpf_task_pt_regs(task);
	sp_u32 stop = sp_user_begin(s, task);

	head->call = ~0ULL;
	if (stop == SP_STEP_NEXT)
		stop = sp_user_regs(s, 0, task, 1);
	head->stop = stop == SP_STEP_NEXT ? SP_N_STOPS : stop;
	if (stop != SP_STEP_NEXT)
		return 0;
	head->call = saved->cs == SP_USER_CS ? saved->orig_rax : ~0ULL;
	if (sp_config.objects && head->call != ~0ULL) /* the user half knows which calls have a lock there */
		s->key.object = sp_lock_object(s, task, sp_saved_argument(task));
	r->regs = s->regs;
	r->how = s->how;
	r->stack_at = s->regs.sp - SP_RED_ZONE;
	if (!sp_config.user)
		return 0;
	head->stack_bytes = sp_stack_room(s, r->stack_at, 0);
	head->has_maps = s->mm != sp_blocked_mm || s->other.task == sp_blocked_task;
	if (!head->has_maps)
		return 0;
	sp_pending_maps(s, r, SP_BLOCKED_WALKS);
	sp_blocked_mm = s->mm;
	sp_blocked_task = s->other.task;
	return r->n_maps * sizeof(struct sp_map);
}

static __always_inline void sp_blocked_who(struct sp_scratch *s, struct task_struct *task, struct cgroup *cgroup,
					   sp_u64 since)
{
	sp_sample_begin(s, task, since, 0, 0);
	bpf_probe_read_kernel(s->key.comm, sizeof(s->key.comm), task->comm);
	s->other.task = (sp_u64)task;
	s->other.uid = task->cred->uid.val;
	s->other.cgroup = cgroup->kn->id;
	s->ticket = sp_hash_mix(bpf_ktime_get_ns(), task->pid) | 1;
}

static __always_inline void sp_blocked_send(struct sp_scratch *s, struct sp_message_pending *r,
					    struct sp_message_blocked *head, struct seq_file *seq,
					    struct task_struct *task, struct cgroup *cgroup)
{
	sp_u32 bytes;

	r->n_maps = r->n_frames = 0;
	sp_blocked_head(head, task);
	sp_blocked_who(s, task, cgroup, head->since_ns ?: bpf_ktime_get_ns());
	if (sp_config.kernel)
		sp_blocked_kernel_stack(s, task);
	sp_key_send(s); /* before the mappings: those without a file are named by the process's record */
	bytes = sp_blocked_user_stack(s, r, head, task);
	r->key = s->key;
	r->key.user_stack = s->ticket;
	r->value.n = r->value.weight = 0; /* another sample's may stand there */
	bytes += __builtin_offsetof(struct sp_message_pending, sent);
	sp_opaque(bytes);
	if (bytes > __builtin_offsetof(struct sp_message_pending, sent) + SP_PENDING_MAPS * sizeof(struct sp_map))
		return;
	head->bytes = bytes;
	if (!bpf_seq_write(seq, head, sizeof(*head)))
		bpf_seq_write(seq, r, bytes);
}

SEC("iter/task")
int sp_blocked(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sp_message_blocked head = {};
	struct sp_message_pending *r;
	struct cgroup *cgroup;
	struct sp_scratch *s;

	if (!task || task->on_cpu || task->exit_state)
		return 0;
	if (sp_config.stamps && sp_blocked_asked.how >= SP_BLOCKED_STAMPS &&
	    !sp_blocked_stamp(&head, task, bpf_ktime_get_ns()))
		return 0;
	cgroup = task->cgroups->dfl_cgrp;
	if (!sp_task_is_wanted(task, cgroup))
		return 0;
	if (sp_config.stamps && sp_blocked_asked.how == SP_BLOCKED_CHECK) {
		sp_blocked_mark(task);
		if (*(volatile int *)&task->on_cpu) /* perhaps it was back before that */
			return 0;
	}
	if (sp_blocked_asked.how == SP_BLOCKED_CHECK || sp_blocked_asked.how == SP_BLOCKED_TAKE) {
		sp_blocked_head(&head, task);
		if (!bpf_seq_write(ctx->meta->seq, &head, sizeof(head)) && sp_config.stamps &&
		    sp_blocked_asked.how == SP_BLOCKED_TAKE)
			sp_blocked_take(&head, task, ctx->meta->seq);
		return 0;
	}
	s = sp_scratch_take();
	if (!s)
		return 0;
	r = sp_pending_own(s);
	if (r)
		sp_blocked_send(s, r, &head, ctx->meta->seq, task, cgroup);
	else
		sp_tally(SP_N_LOST_NESTED, 1);
	s->other.task = 0;
	sp_scratch_give(s);
	return 0;
}

#endif
