/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sink.bpf.h: the programs in which the fronts end (event/slot.h), one for each type of front, because a program can
 * tail-call only into one of its own type. The stacks are walked here, so that the unwinder is loaded once, however
 * many attach points a session has.
 */
#ifndef SP_BPF_SINK_BPF_H
#define SP_BPF_SINK_BPF_H

#include "bpf/guard_cap.bpf.h"
#include "bpf/object.bpf.h"
#include "bpf/sample.bpf.h"

/*
 * The scratch in which the front has left its event. The sink has the front's context, whose address no other program
 * has.
 */
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

/*
 * Walks the stacks of the current task. 1: done; 0: the user half finishes the user stack; -1: the task is not wanted.
 */
static __always_inline int sp_hit_sample(struct sp_scratch *s, void *ctx, struct task_struct *task, sp_u64 now)
{
	struct sp_hit *hit = &s->hit;

	if (!sp_slot_takes(hit->flags, task->flags) || !sp_is_wanted(task) ||
	    !sp_guard_allows(hit->recipe, now, hit->times))
		return -1;
	sp_sample_begin(s, task, now, hit->recipe, hit->value * hit->times);
	s->key.state = hit->state;
	if (sp_config.objects && hit->flags & SP_SLOT_LOCK)
		s->key.object = sp_lock_object(s, task, hit->object);
	s->ticket = 1; /* not 0: where the user half has to finish the stack, the row names a ticket */
	if (sp_config.kernel && hit->flags & SP_SLOT_KERNEL)
		sp_kernel_stack(s, ctx, !(hit->flags & SP_SLOT_RECORD)); /* a record's begins at the event */
	if (!sp_config.user || !(hit->flags & SP_SLOT_USER))
		return 1;
	return sp_user_stack(s, ctx, task, 1);
}

/*
 * Counts an episode up to now, unless it is too short or too long for that. Its end and a flush may run at the same
 * time: whoever exchanges the time second counts from where the other has counted to.
 */
static __always_inline void sp_episode_count(struct sp_scratch *s, struct sp_episode *e, sp_u64 now)
{
	sp_u64 since = e->since_ns;

	if (now <= since || !sp_episode_counts(e, now - since))
		return;
	since = __sync_lock_test_and_set(&e->since_ns, now);
	if (now <= since)
		return;
	s->key = e->key;
	s->value.n = !__sync_lock_test_and_set(&e->is_counted, 1);
	s->value.weight = (now - since) * e->times;
	if (s->value.n)
		sp_tally(SP_N_SAMPLES, 1);
	if (!sp_count_known(s, &s->key))
		sp_count_new(s, 1);
}

/*
 * An episode is open when the same thread begins the next, or ends: its end was missed, because the kernel did not run
 * our program then. If all of the thread's waits are episodes, it has waited since for as long as it has not run; but
 * some are not, once the guard has left any out. 0; -1: there is none.
 */
static __always_inline int sp_episode_end_missed(struct sp_scratch *s, const struct sp_episode_key *at,
						 struct task_struct *task, sp_u64 now)
{
	struct sp_episode *episode = bpf_map_lookup_elem(&episodes, at);

	if (!episode)
		return -1;
	/* At its end a thread's books may lag behind by a tick. */
	if (s->hit.flags & SP_SLOT_ALL_WAITS && sp_guard_is_gapless(s->hit.recipe))
		sp_episode_count(s, episode, now - (task->se.sum_exec_runtime - episode->ran_ns));
	else
		sp_tally(SP_N_LOST_ENDS, 1);
	return 0;
}

/* Opens an episode. What its row will name is sent now, since the episode may end in another task. */
static __always_inline void sp_episode_begin(struct sp_scratch *s, struct task_struct *task, sp_u64 now, int has_stack)
{
	struct sp_episode_key at = {.match = s->hit.match, .recipe = s->hit.recipe};

	if (has_stack)
		sp_key_send(s);
	s->episode.since_ns = now;
	s->episode.min_ns = s->hit.min_ns;
	s->episode.max_ns = s->hit.max_ns;
	s->episode.is_counted = 0;
	s->episode.times = s->hit.times;
	s->episode.ran_ns = task->se.sum_exec_runtime;
	s->episode.key = s->key;
	if (!bpf_map_update_elem(&episodes, &at, &s->episode, BPF_NOEXIST))
		return;
	if (sp_episode_end_missed(s, &at, task, now) < 0 || bpf_map_update_elem(&episodes, &at, &s->episode, BPF_ANY))
		sp_tally(SP_N_LOST_EPISODES, 1);
}

static __always_inline void sp_episode_end(struct sp_scratch *s, sp_u64 now)
{
	struct sp_episode_key at = {.match = s->hit.match, .recipe = s->hit.recipe};
	struct sp_episode *episode = bpf_map_lookup_elem(&episodes, &at);

	if (!episode)
		return;
	sp_episode_count(s, episode, now);
	bpf_map_delete_elem(&episodes, &at);
}

struct sp_flush_loop {
	struct sp_scratch *s;
	sp_u64 now;
};

static long sp_flush_next(void *map, const void *key, struct sp_episode *e, struct sp_flush_loop *loop)
{
	(void)map;
	(void)key;
	if (loop->s)
		sp_episode_count(loop->s, e, loop->now);
	return 0;
}

/* Counts the episodes that are still open up to now. Run by the user half, before it exchanges the tables of counts. */
SEC("raw_tp")
int sp_flush(void *ctx)
{
	struct sp_flush_loop loop = {.s = sp_scratch_take(), .now = bpf_ktime_get_ns()};

	(void)ctx;
	if (!loop.s)
		return 0;
	bpf_for_each_map_elem(&episodes, sp_flush_next, &loop, 0);
	sp_scratch_give(loop.s);
	return 0;
}

static __always_inline void sp_hit_take(struct sp_scratch *s, void *ctx, sp_u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	int has_stack;

	if (s->hit.role == SP_ROLE_END) {
		sp_episode_end(s, now);
		return;
	}
	if (s->hit.role == SP_ROLE_FORGET) {
		struct sp_episode_key at = {.match = s->hit.match, .recipe = s->hit.recipe};

		if (!sp_episode_end_missed(s, &at, task, now))
			bpf_map_delete_elem(&episodes, &at);
		return;
	}
	has_stack = sp_hit_sample(s, ctx, task, now);
	if (has_stack < 0)
		return;
	if (!has_stack)
		s->key.user_stack = s->ticket;
	if (s->hit.role == SP_ROLE_BEGIN) {
		sp_episode_begin(s, task, now, has_stack);
		return;
	}
	sp_tally(SP_N_SAMPLES, 1);
	if (!sp_count_known(s, &s->key))
		sp_count_new(s, !has_stack);
}

/* Of a classic tracepoint, 1 lets perf's own events have the hit, too; a raw one's result means nothing. */
SEC("raw_tp")
int sp_sink_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct sp_scratch *s = sp_scratch_of(ctx);
	sp_u64 now = bpf_ktime_get_ns();

	if (!s)
		return 1;
	sp_hit_take(s, ctx, now);
	sp_scratch_give(s);
	if (sp_config.time_own)
		sp_tally(SP_N_OWN_NS, bpf_ktime_get_ns() - now);
	return 1;
}

#endif
