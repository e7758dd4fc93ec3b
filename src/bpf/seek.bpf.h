/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * seek.bpf.h: announces every executable file that is mapped now, so that its table is there before it is sampled.
 *
 * An iterator over the mappings of all processes (or of the targets only); one read() of it is one pass. The keys of
 * files come from here because stat(2) shows other devices than the kernel uses on overlayfs and btrfs.
 */
#ifndef SP_BPF_SEEK_BPF_H
#define SP_BPF_SEEK_BPF_H

#include "bpf/follow.bpf.h"
#include "bpf/vma.bpf.h"

SEC("iter/task_vma")
int sp_seek(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct task_struct *task = ctx->task;
	struct sp_file_key key = {};
	struct sp_vma_view view = {};

	if (!task || !vma || !(vma->vm_flags & SP_VM_EXEC))
		return 0;
	if (sp_config.seek_targets && !sp_is_target(task->tgid))
		return 0;
	sp_vma_view_of((sp_u64)vma, &view);
	if (!view.file)
		return 0;
	view.tgid = sp_pid_shown(task);
	sp_file_key_of(view.file, &key);
	sp_file_id(&key, &view);
	return 0;
}

#endif
