/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sink.bpf.h: the programs in which the fronts end (event/slot.h), one for each type of front, because a program can
 * tail-call only into one of its own type. The stacks are walked here, so that the unwinder is loaded once, however
 * many attach points a session has.
 */
#ifndef SP_BPF_SINK_BPF_H
#define SP_BPF_SINK_BPF_H

#include "bpf/guard_cap.bpf.h"
#include "bpf/live.bpf.h"
#include "bpf/object.bpf.h"
#include "bpf/usual.bpf.h"

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

static __always_inline int sp_hit_is_wanted(const struct sp_hit *hit, struct task_struct *task, sp_u64 now)
{
	if (sp_config.wakers && hit->role == SP_ROLE_WAKER) /* of a thread that is wanted, whoever it is itself */
		return 1;
	return sp_slot_takes(hit->flags, task->flags) && sp_is_wanted(task) &&
	       sp_guard_allows(hit->recipe, now, hit->times);
}

/*
 * The time from its waker on is a row of its own: then the thread waits for nothing but a CPU. s->value is the whole,
 * which becomes the rest.
 */
static __noinline int sp_episode_split(struct sp_scratch *s, sp_u64 woken, sp_u64 since, sp_u64 times)
{
	struct sp_count whole = s->value;
	sp_u64 before = (woken - since) * times;

	if (!woken)
		return 0;
	if (woken <= since) {
		s->key.state = SP_TASK_WOKEN;
		return 0;
	}
	if (before >= whole.weight)
		return 0;
	s->value.weight = before;
	if (!sp_count_known(s, &s->key))
		sp_count_new(s, 1);
	s->key.state = SP_TASK_WOKEN;
	s->value.n = 0;
	s->value.weight = whole.weight - before;
	return 0;
}

/* Counts what lies between two times of an episode whose key is in the scratch. */
static __always_inline void sp_episode_add(struct sp_scratch *s, struct sp_episode *e, sp_u64 since, sp_u64 now)
{
	s->value.n = !__sync_lock_test_and_set(&e->is_counted, 1);
	s->value.weight = (now - since) * e->times;
	if (s->value.n)
		sp_tally(SP_N_SAMPLES, 1);
	if (sp_config.wakers)
		sp_episode_split(s, e->woken_ns, since, e->times);
	if (!sp_count_known(s, &s->key))
		sp_count_new(s, 1);
}

/*
 * Counts an open episode up to now, unless it is too short or too long for that. Its end and the next one's beginning
 * may run meanwhile: then the time has changed, and who changed it has counted.
 */
static __always_inline void sp_episode_flush(struct sp_scratch *s, struct sp_episode *e, sp_u64 now)
{
	sp_u64 since = *(volatile sp_u64 *)&e->since_ns;

	if (!since || now <= since || !sp_episode_counts(e, now - since))
		return;
	s->key = e->key;
	if (__sync_val_compare_and_swap(&e->since_ns, since, now) == since)
		sp_episode_add(s, e, since, now);
}

/* Ends an episode. 0: it was open. A flush that was faster has counted a part of it. */
static __always_inline int sp_episode_close(struct sp_scratch *s, struct sp_episode *e, sp_u64 now)
{
	sp_u64 since = __sync_lock_test_and_set(&e->since_ns, 0);

	if (!since)
		return -1;
	if (now > since && sp_episode_counts(e, now - since)) {
		s->key = e->key;
		if (sp_config.wakers && !s->key.waker && s->key.state != SP_TASK_PREEMPTED)
			sp_tally(SP_N_LOST_WAKERS, 1);
		sp_episode_add(s, e, since, now);
	}
	return 0;
}

/*
 * An episode is open when the same thread begins the next, or ends: its end was missed, because the kernel did not run
 * our program then. If all of the thread's waits are episodes, it has waited since for as long as it has not run; but
 * some are not, once the guard has left any out.
 */
static __always_inline void sp_episode_end_missed(struct sp_scratch *s, struct sp_episode *episode,
						  struct task_struct *task, sp_u64 now)
{
	/* At its end a thread's books may lag behind by a tick. */
	if (s->hit.flags & SP_SLOT_ALL_WAITS && sp_guard_is_gapless(s->hit.recipe)) {
		sp_episode_close(s, episode, now - (task->se.sum_exec_runtime - episode->ran_ns));
	} else {
		episode->since_ns = 0;
		sp_tally(SP_N_LOST_ENDS, 1);
	}
}

/* Whether the thread's last episode has sent what this one's key names. */
static __always_inline int sp_episode_has_announced(const struct sp_episode *last, const struct sp_count_key *key)
{
	return last->is_announced && last->key.user_stack == key->user_stack &&
	       last->key.kernel_stack == key->kernel_stack && last->key.process.start_ns == key->process.start_ns &&
	       last->key.process.tgid == key->process.tgid && last->key.process.exec_id == key->process.exec_id;
}

static __always_inline void sp_episode_fill(struct sp_scratch *s, struct sp_episode *e, struct task_struct *task,
					    int is_announced)
{
	e->max_ns = s->hit.max_ns;
	e->is_counted = 0;
	e->times = s->hit.times;
	e->ran_ns = task->se.sum_exec_runtime;
	e->is_announced = is_announced;
	e->is_last = !!(task->flags & SP_PF_EXITING);
	if (sp_config.wakers) /* but for a waker, who may have come meanwhile */
		__builtin_memcpy(&e->key, &s->key, __builtin_offsetof(struct sp_count_key, waker));
	else
		e->key = s->key;
	*(volatile sp_u64 *)&e->min_ns = s->hit.min_ns; /* last: from now on an open one counts */
}

/*
 * A thread that is on its way to sleep can be woken already: its waker came before it left its CPU, and waits for that.
 * Not so one that came when the thread did not go to sleep in the end.
 */
static __always_inline int sp_waker_is_early(struct sp_scratch *s, const struct sp_episode *e, struct task_struct *task)
{
	sp_u32 lock = 0;

	if (!e->woken_ns || s->hit.state == SP_TASK_PREEMPTED)
		return 0;
	if (!task->__state || task->__state & SP_TASK_WAKING)
		return 1;
	bpf_probe_read_kernel(&lock, sizeof(lock), &task->pi_lock); /* a waker has it from its beginning on */
	return lock != 0;
}

/*
 * Opens an episode before its stacks are walked, since its waker may come meanwhile. It counts for nothing until it is
 * filled in.
 */
static __always_inline void sp_episode_open(struct sp_scratch *s, struct task_struct *task, sp_u64 now)
{
	struct sp_episode_key at = {.match = s->hit.match, .recipe = s->hit.recipe};
	struct sp_episode *e = bpf_map_lookup_elem(&episodes, &at);

	if (!e) {
		sp_episode_fill(s, &s->episode, task, 0);
		s->episode.min_ns = ~0ULL;
		s->episode.woken_ns = 0;
		s->episode.key.waker = 0;
		s->episode.key.state = s->hit.state;
		s->episode.since_ns = now;
		if (bpf_map_update_elem(&episodes, &at, &s->episode, BPF_ANY))
			sp_tally(SP_N_LOST_EPISODES, 1);
		return;
	}
	if (e->since_ns)
		sp_episode_end_missed(s, e, task, now);
	e->min_ns = ~0ULL;
	e->is_counted = 0;
	if (!sp_waker_is_early(s, e, task)) {
		e->woken_ns = 0;
		e->key.waker = 0;
	}
	e->key.state = s->hit.state;
	*(volatile sp_u64 *)&e->since_ns = now;
}

/* Begins an episode. What its row will name is sent now, since the episode may end in another task. */
static __always_inline void sp_episode_begin(struct sp_scratch *s, struct task_struct *task, sp_u64 now, int has_stack)
{
	struct sp_episode_key at = {.match = s->hit.match, .recipe = s->hit.recipe};
	struct sp_episode *last = bpf_map_lookup_elem(&episodes, &at);
	int is_announced = has_stack && last && sp_episode_has_announced(last, &s->key);

	if (has_stack && !is_announced) {
		sp_key_send(s);
		is_announced = sp_process_known(s) != 0;
	}
	if (sp_config.wakers) {
		if (last)
			sp_episode_fill(s, last, task, is_announced);
		return;
	}
	if (!last) {
		sp_episode_fill(s, &s->episode, task, is_announced);
		s->episode.since_ns = now;
		if (bpf_map_update_elem(&episodes, &at, &s->episode, BPF_ANY))
			sp_tally(SP_N_LOST_EPISODES, 1);
		return;
	}
	if (last->since_ns) {
		s->episode.key = s->key;
		sp_episode_end_missed(s, last, task, now);
		s->key = s->episode.key;
	}
	sp_episode_fill(s, last, task, is_announced);
	*(volatile sp_u64 *)&last->since_ns = now; /* last: a flush takes what stands there from now on */
}

static __always_inline void sp_episode_end(struct sp_scratch *s, sp_u64 now)
{
	struct sp_episode_key at = {.match = s->hit.match, .recipe = s->hit.recipe};
	struct sp_episode *episode = bpf_map_lookup_elem(&episodes, &at);

	if (!episode)
		return;
	sp_episode_close(s, episode, now);
	if (sp_config.wakers) { /* from now on another may come early */
		episode->woken_ns = 0;
		episode->key.waker = 0;
	}
	if (episode->is_last)
		bpf_map_delete_elem(&episodes, &at);
}

static __always_inline void sp_episode_forget(struct sp_scratch *s, struct task_struct *task, sp_u64 now)
{
	struct sp_episode_key at = {.match = s->hit.match, .recipe = s->hit.recipe};
	struct sp_episode *episode = bpf_map_lookup_elem(&episodes, &at);

	if (!episode)
		return;
	if (episode->since_ns)
		sp_episode_end_missed(s, episode, task, now);
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
		sp_episode_flush(loop->s, e, loop->now);
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

/* --- who ends an episode --- */
/* Sends who the sample is of, unless it was sent before. Returns its number, or 0: there was no room. */
static __noinline sp_u64 sp_waker_tell(struct sp_scratch *s)
{
	const sp_u64 *comm = (const sp_u64 *)s->key.comm;
	sp_u64 id = sp_hash_mix(sp_hash_mix(3, s->key.process.start_ns), s->key.process.tgid);
	struct sp_message_waker *r;
	sp_u32 one = 1;

	id = sp_hash_mix(sp_hash_mix(sp_hash_mix(id, s->key.process.exec_id), comm[0]), comm[1]);
	id = sp_hash_mix(sp_hash_mix(id, s->key.user_stack), s->key.kernel_stack) | 1;
	if (bpf_map_lookup_elem(&stacks, &id))
		return id;
	r = bpf_ringbuf_reserve(&samples, sizeof(*r), 0);
	if (!r)
		return 0;
	r->type = SP_MESSAGE_WAKER;
	r->pad = 0;
	r->id = id;
	r->process = s->key.process;
	__builtin_memcpy(r->comm, s->key.comm, sizeof(r->comm));
	r->user_stack = s->key.user_stack;
	r->kernel_stack = s->key.kernel_stack;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	bpf_map_update_elem(&stacks, &id, &one, BPF_ANY);
	return id;
}

/*
 * The episode of the thread that is woken, if it is open, or the thread may be on its way into it; or NULL. One that
 * was preempted on that way only will not go to sleep.
 */
static __always_inline struct sp_episode *sp_waker_asked(struct sp_scratch *s)
{
	struct sp_episode_key at = {.match = s->hit.match, .recipe = s->hit.recipe};
	struct sp_episode *e = bpf_map_lookup_elem(&episodes, &at);

	int on_cpu = 0;

	if (!e)
		return 0;
	if (e->since_ns)
		return e->key.state == SP_TASK_PREEMPTED ? 0 : e;
	bpf_probe_read_kernel(&on_cpu, sizeof(on_cpu), &((struct task_struct *)s->hit.match)->on_cpu);
	return on_cpu ? e : 0;
}

/* The last one counts: before it the thread was woken, but waits on. */
static __always_inline void sp_waker_note(struct sp_scratch *s, int has_stack, sp_u64 now)
{
	struct sp_episode *e;
	sp_u64 id;

	if (has_stack)
		sp_key_send(s);
	id = sp_waker_tell(s);
	e = sp_waker_asked(s);
	if (!e)
		return;
	e->key.waker = id;
	e->woken_ns = now;
}

/*
 * Walks the stacks of the current task. 1: done; 0: the user half finishes the user stack; -1: the task is not wanted.
 */
static __always_inline int sp_hit_sample(struct sp_scratch *s, void *ctx, struct task_struct *task, sp_u64 now)
{
	struct sp_hit *hit = &s->hit;
	int is_back = hit->role == SP_ROLE_RETURN;
	int may_be_usual = sp_config.usual && (hit->role == SP_ROLE_BEGIN || is_back), r;

	if (!sp_hit_is_wanted(hit, task, now))
		return -1;
	if (sp_config.wakers && hit->role == SP_ROLE_BEGIN)
		sp_episode_open(s, task, now);
	sp_sample_begin(s, task, is_back ? now - hit->value : now, hit->recipe, hit->value * hit->times);
	s->key.state = hit->state;
	if (hit->flags & SP_SLOT_NUMBERED)
		s->key.slice_unit = (sp_u32)hit->object;
	if (sp_config.objects && hit->flags & SP_SLOT_LOCK)
		s->key.object = sp_lock_object(s, task, hit->object);
	s->ticket = 1; /* not 0: where the user half has to finish the stack, the row names a ticket */
	if ((sp_config.kernel || (sp_config.wakers && hit->role == SP_ROLE_WAKER)) && hit->flags & SP_SLOT_KERNEL)
		/* a record's begins at the event, a kernel function's there */
		sp_kernel_stack(s, ctx, !(hit->flags & (SP_SLOT_RECORD | SP_SLOT_KPROBE)));
	if (!sp_config.user || !(hit->flags & SP_SLOT_USER))
		return 1;
	if (may_be_usual && sp_usual_take(s, now))
		return 1;
	r = sp_user_stack(s, ctx, task, sp_config.is_live && hit->flags & SP_SLOT_BY_RET ? SP_AT_RET : 1);
	if (may_be_usual && r)
		sp_usual_put(s, now);
	return r;
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
		sp_episode_forget(s, task, now);
		return;
	}
	if (sp_config.is_live && s->hit.role == SP_ROLE_FREE) {
		sp_live_free(s, task->tgid);
		return;
	}
	if (sp_config.is_live && s->hit.role == SP_ROLE_AGAIN) {
		sp_live_again(s, task->tgid);
		return;
	}
	if (sp_config.wakers && s->hit.role == SP_ROLE_WAKER && !sp_waker_asked(s))
		return;
	has_stack = sp_hit_sample(s, ctx, task, now);
	if (has_stack < 0)
		return;
	if (!has_stack)
		s->key.user_stack = s->ticket;
	if (sp_config.wakers && s->hit.role == SP_ROLE_WAKER) {
		sp_waker_note(s, has_stack, now);
		return;
	}
	if (s->hit.role == SP_ROLE_BEGIN) {
		sp_episode_begin(s, task, now, has_stack);
		return;
	}
	sp_tally(SP_N_SAMPLES, 1);
	if (sp_config.is_live && s->hit.role == SP_ROLE_ALLOC)
		sp_live_add(s, task->tgid, !has_stack);
	else if (!sp_count_known(s, &s->key))
		sp_count_new(s, !has_stack);
}

/* The result is the front's (front.bpf.c). */
SEC("raw_tp")
int sp_sink_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct sp_scratch *s = sp_scratch_of(ctx);
	sp_u64 now = bpf_ktime_get_ns();
	int result;

	if (!s)
		return 0;
	result = !!(s->hit.flags & SP_SLOT_RECORD);
	sp_hit_take(s, ctx, now);
	sp_scratch_give(s);
	if (sp_config.time_own)
		sp_tally(SP_N_OWN_NS, bpf_ktime_get_ns() - now);
	return result;
}

#endif
