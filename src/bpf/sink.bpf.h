/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sink.bpf.h: where the fronts' events end (event/slot.h): one program for each type of front, since a program goes on
 * only into one of its own type. The stacks are walked here, so that the unwinder is loaded once, however many attach
 * points a session has.
 */
#ifndef SP_BPF_SINK_BPF_H
#define SP_BPF_SINK_BPF_H

#include "bpf/sample.bpf.h"

/* The scratch in which the front has left its event. It runs in the same context: nobody else's has this address. */
static __always_inline struct sp_scratch *sp_scratch_of(void *ctx)
{
	sp_u32 i;

	for (i = 0; i < SP_N_SCRATCH; i++) {
		struct sp_scratch *s = sp_scratch_at(i);

		if (s && s->ctx == (sp_u64)ctx)
			return s;
	}
	return 0;
}

static __always_inline void sp_event_count(struct sp_scratch *s, void *ctx, struct task_struct *task, sp_u64 now)
{
	struct sp_hit *e = &s->hit;

	if (!sp_is_wanted(task))
		return;
	sp_sample_begin(s, task, now, e->recipe, e->value);
	if (sp_config.kernel && e->flags & SP_SLOT_KERNEL)
		sp_kernel_stack(s, ctx, 1);
	if (!sp_config.user || !(e->flags & SP_SLOT_USER) || sp_user_stack(s, ctx, task, 1))
		sp_count(s);
}

SEC("raw_tp")
int sp_sink_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct sp_scratch *s = sp_scratch_of(ctx);
	sp_u64 now = bpf_ktime_get_ns();

	if (!s)
		return 0;
	sp_event_count(s, ctx, bpf_get_current_task_btf(), now);
	sp_scratch_give(s);
	if (sp_config.time_own)
		sp_tally(SP_N_OWN_NS, bpf_ktime_get_ns() - now);
	return 0;
}

#endif
