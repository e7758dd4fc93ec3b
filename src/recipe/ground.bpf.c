/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ground.bpf.c: the kernel half that all recipes share, as one object, of which a session loads the programs that it
 * needs.
 *
 * sp_cpu is the program of perf events. It runs in the timer's interrupt (cpu-clock), in an NMI (hardware events), or
 * where the kernel itself counts an event (page faults). Its values: 1 sample, and the event's period, for which the
 * sample stands. The programs of other events are fronts (front.bpf.c), which end in the sinks of this object.
 */
#include "bpf/blocked.bpf.h"
#include "bpf/check.bpf.h"
#include "bpf/follow.bpf.h"
#include "bpf/kernel_name.bpf.h"
#include "bpf/seek.bpf.h"
#include "bpf/sink.bpf.h"

char LICENSE[] SEC("license") = "GPL";

volatile struct sp_ticks sp_ticks;

/*
 * What a tick stands for. The context still has the period with which a clock event was opened, so the user half writes
 * the current one to sp_ticks. A change cuts a period short, and reaches one CPU after the other. So the ticks of a CPU
 * during a change, and its first one after it, stand for the time since the tick before: none of it is lost or counted
 * twice.
 */
static __always_inline sp_u64 sp_weight(struct sp_scratch *s, struct bpf_perf_event_data *ctx, sp_u64 now,
					sp_u32 recipe)
{
	sp_u64 since, period = sp_ticks.period_ns;
	sp_u32 change = sp_ticks.change;

	if (!period || recipe != sp_ticks.recipe)
		return ctx->sample_period;
	since = now - s->tick_ns;
	s->tick_ns = now;
	if (change == s->tick_change && !(change & 1))
		return period;
	s->tick_change = change;
	return since <= sp_ticks.longest_ns ? since : period;
}

/* Of a page fault: what was touched. Its row names a ticket where its stack has to wait, as rows of sinks do. */
static __always_inline void sp_touched(struct sp_scratch *s, struct bpf_perf_event_data *ctx, struct task_struct *task,
				       sp_u32 cookie)
{
	s->key.object = sp_memory_object(s, task, ctx->addr);
	if (s->key.object && cookie & SP_COOKIE_MAJOR)
		s->key.object |= SP_OBJECT_MAJOR;
	s->ticket = 1;
}

static __always_inline void sp_count_ticket(struct sp_scratch *s)
{
	s->key.user_stack = s->ticket;
	if (!sp_count_known(s, &s->key))
		sp_count_new(s, 1);
}

static __always_inline void sp_take(struct bpf_perf_event_data *ctx, sp_u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	int in_kernel = sp_in_kernel_mode((const struct pt_regs *)&ctx->regs);
	struct sp_scratch *s = sp_scratch_at(0);
	sp_u32 cookie = sp_config.n_recipes > 1 || sp_config.objects ? bpf_get_attach_cookie(ctx) : 0;
	sp_u32 recipe = cookie & SP_COOKIE_RECIPE;
	sp_u64 weight;
	sp_u32 times, is_tick;

	if (!s)
		return;
	weight = sp_weight(s, ctx, now, recipe);
	if (!task->pid && !sp_config.idle) {
		sp_tally(SP_N_IDLE, 1);
		return;
	}
	is_tick = sp_config.guards && sp_ticks.period_ns && recipe == sp_ticks.recipe;
	times = is_tick ? 1 : sp_guard_draw(recipe); /* a clock has a rate */
	if (!times || !sp_is_wanted(task) || (!is_tick && !sp_guard_allows(recipe, now, times)))
		return;
	s = sp_scratch_take();
	if (!s)
		return;
	sp_sample_begin(s, task, now, recipe, weight * times);
	sp_tally(SP_N_SAMPLES, 1);
	if (in_kernel)
		sp_tally(SP_N_KERNEL, 1);
	if (sp_config.kernel && in_kernel)
		sp_kernel_stack(s, ctx, 0);
	if (sp_config.objects && cookie & SP_COOKIE_MEMORY)
		sp_touched(s, ctx, task, cookie);
	if (!sp_config.user || sp_user_stack(s, ctx, task, in_kernel))
		sp_count_sample(s);
	else if (sp_config.objects && s->ticket)
		sp_count_ticket(s);
	sp_scratch_give(s);
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
