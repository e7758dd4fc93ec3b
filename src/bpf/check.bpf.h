/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * check.bpf.h: the self-test of the mapping look-up, run once in the profiler's own context before anything is
 * attached.
 *
 * The user half puts an address of its own code into sp_check.addr, runs the program by BPF_PROG_TEST_RUN and compares
 * what was found with /proc/self/maps. So a kernel whose mapping tree is not as vma.bpf.h expects is found at once.
 */
#ifndef SP_BPF_CHECK_BPF_H
#define SP_BPF_CHECK_BPF_H

#include "bpf/aggregate.bpf.h"

struct sp_check sp_check = {};

SEC("raw_tp")
int sp_check_maps(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sp_vma_view view;
	sp_u64 last = 0, vma, mm;
	struct sp_scratch *s;
	sp_u32 zero = 0;

	(void)ctx;
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return 0;
	mm = sp_kfield((sp_u64)task, struct task_struct, mm);
	s->maple_root = sp_kfield(mm, struct mm_struct, mm_mt.ma_root);
	vma = sp_vma_walk(s, sp_check.addr, &last);
	if (!vma)
		return 0;
	sp_vma_view_of(vma, &view);
	sp_check.start = view.start;
	sp_check.end = view.end;
	sp_check.pgoff = view.pgoff;
	sp_check.is_own = view.mm == mm;
	if (!view.file)
		return 0;
	sp_file_key_of(view.file, &sp_check.key);
	sp_top_find(s);
	sp_check.fsroot = s->fsroot;
	return 0;
}

#endif
