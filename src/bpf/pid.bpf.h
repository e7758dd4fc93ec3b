/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pid.bpf.h: process numbers as the user's own pid namespace has them.
 *
 * The kernel half calls a process by its number in the first namespace (task->tgid); events and filters use the same.
 * Where soprof runs in a namespace below that, sp_own_pid_ns tells the user half which namespace its /proc shows, and
 * from then on processes are announced by their number there; sp_tell_pids lists the numbers of all processes shown
 * there, so that the user half can translate the numbers that it was given. Both programs are loaded only in such a
 * namespace.
 */
#ifndef SP_BPF_PID_BPF_H
#define SP_BPF_PID_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"

sp_u32 sp_own_level; /* of the namespace whose numbers are shown; 0 = the first one */
sp_u64 sp_own_ns;

/*
 * The number of a struct pid in the namespace at level `level`, if that is `ns` (0 = any). 0: it has none there. A
 * function of its own, because 6.1 sums up the stacks of nested calls to 512 bytes, and every load takes some.
 */
__noinline sp_u32 sp_pid_at(sp_u64 pid, sp_u32 level, sp_u64 ns)
{
	sp_u64 at;

	if (!pid || sp_kfield32(pid, struct pid, level) < level)
		return 0;
	at = pid + bpf_core_field_offset(struct pid, numbers) + (sp_u64)level * sizeof(struct upid);
	if (ns && sp_kload(at + __builtin_offsetof(struct upid, ns)) != ns)
		return 0;
	return sp_kload32(at);
}

/* The address of a task's struct pid; both are numbers: 6.1 passes no pointers to a function. */
static __always_inline sp_u64 sp_pid_of(sp_u64 task)
{
	return sp_kfield(task, struct task_struct, thread_pid);
}

/* A process's number as soprof's /proc shows it; 0: it is not shown there. */
static __always_inline sp_u32 sp_pid_shown(struct task_struct *task)
{
	return sp_own_level ? sp_pid_at(sp_pid_of((sp_u64)task->group_leader), sp_own_level, sp_own_ns) : task->tgid;
}

/* The process of a sample; its tgid must be in the sample's key. */
static __always_inline sp_u32 sp_sample_pid_shown(const struct sp_scratch *s)
{
	sp_u64 task = s->other.task ? s->other.task : bpf_get_current_task();
	sp_u64 leader = sp_kfield(task, struct task_struct, group_leader);

	return sp_pid_at(sp_pid_of(leader), sp_own_level, sp_own_ns);
}

/* The process's number in its innermost namespace. */
static __always_inline sp_u32 sp_ns_tgid(sp_u64 leader)
{
	sp_u64 pid = sp_pid_of(leader);

	return pid ? sp_pid_at(pid, sp_kfield32(pid, struct pid, level), 0) : 0;
}

/*
 * Run in soprof's own context: its /proc is that of the namespace `ctx[0]` levels above its own. Returns that one's
 * level and 1; 0: there is no such namespace.
 */
SEC("raw_tp")
int sp_own_pid_ns(sp_u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	sp_u64 pid = sp_pid_of((sp_u64)task), up = ctx[0];
	sp_u32 level = sp_kfield32(pid, struct pid, level);

	if (up > level)
		return 0;
	level -= up;
	sp_own_ns = sp_kload(pid + bpf_core_field_offset(struct pid, numbers) + (sp_u64)level * sizeof(struct upid) +
			     __builtin_offsetof(struct upid, ns));
	sp_own_level = level;
	return level + 1;
}

SEC("iter/task")
int sp_tell_pids(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sp_pid_pair pair = {};

	if (!task)
		return 0;
	pair.number = task->pid;
	pair.shown = sp_pid_at(sp_pid_of((sp_u64)task), sp_own_level, sp_own_ns);
	if (pair.shown)
		bpf_seq_write(ctx->meta->seq, &pair, sizeof(pair));
	return 0;
}

#endif
