/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * follow.bpf.h: for `-- CMD`: all processes that one of `targets` starts are targets, too.
 *
 * sp_fork, sp_exec and sp_exit are loaded only when a command is followed. The command itself is a target only from its
 * exec on (enum sp_target): until then it is soprof's own child.
 */
#ifndef SP_BPF_FOLLOW_BPF_H
#define SP_BPF_FOLLOW_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/target.bpf.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(sp_fork, struct task_struct *parent, struct task_struct *child)
{
	sp_u32 tgid = parent->tgid, new_tgid = child->tgid, wanted = SP_TARGET_WANTED;

	if (new_tgid != tgid && sp_is_target(tgid) && bpf_map_update_elem(&targets, &new_tgid, &wanted, BPF_ANY))
		sp_tally(SP_N_LOST_TARGETS, 1);
	return 0;
}

/* Whether the program has no dynamic linker: then the kernel has passed it 0 as AT_BASE. */
static __always_inline int sp_is_static(sp_u64 mm)
{
	sp_u64 pair = mm + bpf_core_field_offset(struct mm_struct, saved_auxv);

	for (int i = 0; i < SP_AUXV_PAIRS; i++, pair += 16)
		if (sp_kload(pair) == SP_AT_BASE)
			return !sp_kload(pair + 8);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sp_exec, struct task_struct *task, int old_pid, struct linux_binprm *program)
{
	sp_u32 tgid = task->tgid, *state = bpf_map_lookup_elem(&targets, &tgid);
	sp_u64 mm;

	if (!state)
		return 0;
	*state = SP_TARGET_WANTED;
	sp_tally(SP_N_PROGRAMS, 1);
	mm = sp_kfield((sp_u64)task, struct task_struct, mm);
	if (sp_kbits((sp_u64)program, struct linux_binprm, secureexec))
		sp_tally(SP_N_PROGRAMS_SECURE, 1);
	else if (mm && sp_is_static(mm))
		sp_tally(SP_N_PROGRAMS_STATIC, 1);
	return 0;
}

/*
 * Takes the number of a process that is gone out of `targets`, so that a later process with this number is not sampled.
 * Not at sched_process_exit: threads may outlive the leader.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(sp_exit, struct task_struct *task)
{
	sp_u32 tgid = task->tgid;

	if (task->pid == task->tgid)
		bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

#endif
