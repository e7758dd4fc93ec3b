/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * target.bpf.h: whether a task is one of those that are asked for: by the number of its process or thread
 * (targets.bpf.h), and by its cgroup.
 *
 * Sinks and the program of perf events ask for each sample; a front asks before it takes a scratch, since most events
 * of a busy machine are others'.
 */
#ifndef SP_BPF_TARGET_BPF_H
#define SP_BPF_TARGET_BPF_H

#include "bpf/scratch.bpf.h"
#include "bpf/targets.bpf.h"

static __always_inline int sp_are_numbers_wanted(sp_u32 tgid, sp_u32 tid)
{
	return !sp_config.filter || sp_is_target(sp_config.filter == SP_TARGETS_TID ? tid : tgid);
}

/* Of the current task. */
static __always_inline int sp_is_cgroup_wanted(void)
{
	return !sp_config.cgroup || bpf_get_current_ancestor_cgroup_id(sp_config.cgroup_level) == sp_config.cgroup;
}

#endif
