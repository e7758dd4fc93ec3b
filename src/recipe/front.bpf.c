/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * front.bpf.c: an attach point's own program, loaded once for each attach point. What it does is a list of ops in its
 * read-only data, from which the verifier removes all code but that of the ops in the list.
 */
#include "bpf/event.bpf.h"
#include "bpf/guard.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/stamp.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/x86_64/probe.bpf.h"
#ifdef SP_FRONT_LIVE
#include "bpf/allocate.bpf.h"
#endif
#ifdef SP_FRONT_SESSION
#include "bpf/own_stack.bpf.h"
#endif

char LICENSE[] SEC("license") = "GPL";

/* Its one element is the sink. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} sink SEC(".maps");

static __always_inline sp_u64 sp_result(const sp_u64 *r, sp_u32 number, sp_u64 none)
{
	return number < SP_N_OP_REGS ? r[number & (SP_N_OP_REGS - 1)] : none;
}

static __always_inline sp_u32 sp_state_of(const sp_u64 *r)
{
	if (sp_slot.state >= SP_N_OP_REGS)
		return SP_TASK_UNKNOWN;
	return sp_task_state_of(sp_result(r, sp_slot.state, 0));
}

/* Ends go on: an episode that was not drawn is not open. Who is back is drawn once it is known to have been away. */
static __always_inline sp_u32 sp_event_draw(void)
{
	return sp_slot.role == SP_ROLE_EVENT || sp_slot.role == SP_ROLE_BEGIN ? sp_guard_draw(sp_slot.recipe) : 1;
}

/* The thread leaves its CPU: that is all that is done about it, as yet. */
static __always_inline void sp_event_leaves(const sp_u64 *r)
{
	if (sp_guard_is_open(sp_slot.recipe))
		sp_stamp_put(sp_slot.recipe, sp_state_of(r));
}

/*
 * Of events that begin something, or stand alone: whether the current thread is asked for. The sink asks, too: it has
 * other events.
 */
static __always_inline int sp_event_is_wanted(void)
{
	sp_u64 numbers;

	if (sp_slot.role != SP_ROLE_EVENT && sp_slot.role != SP_ROLE_BEGIN && sp_slot.role != SP_ROLE_LEAVE)
		return 1;
	numbers = sp_config.filter ? bpf_get_current_pid_tgid() : 0;
	return sp_are_numbers_wanted(numbers >> 32, (sp_u32)numbers) && sp_is_cgroup_wanted();
}

/*
 * Whether an end has nothing to end, since its beginning was not taken, or a waker nobody to wake. Where all threads
 * are asked for, and without gaps, that is seldom, and not asked.
 */
static __always_inline int sp_event_is_over(const sp_u64 *r)
{
	struct sp_episode_key at = {.match = sp_result(r, sp_slot.match, 0), .recipe = sp_slot.recipe};
	int is_filtered = sp_config.filter || sp_config.cgroup;
	struct sp_episode *episode;

	if (sp_slot.role != SP_ROLE_END && sp_slot.role != SP_ROLE_WAKER && sp_slot.role != SP_ROLE_FORGET)
		return 0;
	if (!is_filtered && (sp_slot.role != SP_ROLE_END || sp_guard_is_gapless(sp_slot.recipe)))
		return 0;
	episode = bpf_map_lookup_elem(&episodes, &at);
	if (!episode)
		return 1;
	return sp_slot.role == SP_ROLE_END && !episode->since_ns && !sp_guard_is_gapless(sp_slot.recipe);
}

static __always_inline struct sp_scratch *sp_event_leave(void *ctx, const sp_u64 *r, sp_u32 times)
{
	struct sp_scratch *s = sp_scratch_take();

	if (!s)
		return 0;
	s->hit.role = sp_slot.role;
	s->hit.recipe = sp_slot.recipe;
	s->hit.flags = sp_slot.flags;
	s->hit.state = sp_state_of(r);
	s->hit.value = sp_result(r, sp_slot.value, 1);
	s->hit.match = sp_result(r, sp_slot.match, 0);
	s->hit.min_ns = sp_slot.min_ns;
	s->hit.max_ns = sp_slot.max_ns;
	s->hit.times = sp_result(r, sp_slot.times, times);
	s->hit.object = sp_slot.flags & SP_SLOT_LOCK ? sp_result(r, sp_slot.object, 0) : 0;
	s->ctx = (sp_u64)ctx;
	return s;
}

/* The thread is back. If it waited since before the sampling, this is the end of an episode. */
static __always_inline struct sp_scratch *sp_event_returns(void *ctx, const sp_u64 *r)
{
	sp_u32 state = 0, times;
	sp_u64 ns = sp_stamp_take(sp_slot.recipe, sp_slot.min_ns, sp_slot.max_ns, &state);
	struct sp_scratch *s;

	if (!ns)
		return 0;
	times = ns == SP_STAMP_EPISODE ? 1 : sp_guard_draw(sp_slot.recipe);
	s = times ? sp_event_leave(ctx, r, times) : 0;
	if (!s)
		return 0;
	s->hit.state = state;
	s->hit.value = ns;
	if (ns == SP_STAMP_EPISODE)
		s->hit.role = SP_ROLE_END;
	return s;
}

/* --- calls that allocate --- */
#ifdef SP_FRONT_LIVE
/* The stack pointer at a probe. */
static __always_inline sp_u64 sp_stack_read(void *ctx)
{
	sp_u64 stack;

	asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(stack) : "r"(ctx), "i"(SP_PROBE_STACK));
	return stack;
}

/* It begins. What it gets is known at its end; what it lets go, and is held, may be another's from now on. */
static __always_inline struct sp_scratch *sp_event_asks(void *ctx, const sp_u64 *r)
{
	sp_u64 size = sp_result(r, sp_slot.value, 0), old = sp_result(r, sp_slot.match, 0);
	struct sp_call *c = sp_call_begin(sp_stack_read(ctx), sp_slot.flags & SP_SLOT_BY_RET);
	struct sp_live *what;
	struct sp_scratch *s;

	if (!c)
		return 0;
	c->where = sp_result(r, sp_slot.object, 0);
	c->bytes = 0;
	if (size >= sp_slot.least && size <= sp_slot.most)
		sp_call_draw(c, size + !size, sp_slot.thin, sp_slot.one_in); /* one without a size is a block, too */
	what = old ? sp_live_find(old) : 0;
	if (old && !what && sp_slot.flags & SP_SLOT_UNSEEN)
		sp_tally(SP_N_FREED_UNSEEN, 1);
	s = what ? sp_event_leave(ctx, r, 1) : 0;
	if (!s)
		return 0;
	s->hit.role = SP_ROLE_FREE;
	c->old = *what;
	c->old_address = size ? old : 0;
	return s;
}

/* It returns. */
static __always_inline struct sp_scratch *sp_event_gives(void *ctx, const sp_u64 *r)
{
	sp_u64 taken = sp_slot.flags & SP_SLOT_BY_RET ? 0 : SP_PROBE_RETURN_BYTES;
	struct sp_call *c = sp_call_end(sp_stack_read(ctx) - taken);
	sp_u64 address = c ? sp_call_address(c, sp_result(r, sp_slot.match, 0)) : 0;
	struct sp_scratch *s = c && (address ? c->bytes : c->old_address) ? sp_event_leave(ctx, r, 1) : 0;

	if (!s)
		return 0;
	s->hit.role = address ? SP_ROLE_ALLOC : SP_ROLE_AGAIN;
	s->hit.match = address ? address : c->old_address;
	s->hit.value = c->bytes;
	s->hit.times = c->n;
	if (!address)
		s->live = c->old;
	return s;
}

/* Most blocks are not held. */
static __always_inline struct sp_scratch *sp_event_releases(void *ctx, const sp_u64 *r, sp_u32 times)
{
	sp_u64 address = sp_result(r, sp_slot.match, 0);

	if (sp_live_find(address)) {
		if (sp_slot.flags & SP_SLOT_BY_RET)
			sp_call_releases(address);
		return sp_event_leave(ctx, r, times);
	}
	if (sp_slot.flags & SP_SLOT_UNSEEN)
		sp_call_frees_unseen(address);
	return 0;
}

#endif

static __always_inline struct sp_scratch *sp_live_goes_on(void *ctx, const sp_u64 *r, sp_u32 times)
{
#ifdef SP_FRONT_LIVE
	switch (sp_slot.role) {
	case SP_ROLE_ASK:
		return sp_event_asks(ctx, r);
	case SP_ROLE_GIVEN:
		return sp_event_gives(ctx, r);
	case SP_ROLE_FREE:
		return sp_event_releases(ctx, r, times);
	}
#endif
	return sp_event_leave(ctx, r, times);
}

/* An argument that the event's expressions name, beside what the call returns: by then its register is another's. */
#ifdef SP_FRONT_SESSION
static __always_inline void sp_session_keep(void *ctx)
{
	sp_u64 *kept = bpf_session_cookie();
	struct sp_op_env env = {};

	if (!sp_slot.kept)
		return;
	sp_registers_read(&env, ctx);
	*kept = sp_env_argument(&env, sp_slot.kept - 1);
}
#endif

static __always_inline void sp_session_recall(struct sp_op_env *env)
{
#ifdef SP_FRONT_SESSION
	if (sp_slot.kept && sp_slot.kept <= SP_N_ARGUMENTS)
		env->argument[(sp_slot.kept - 1) & 15] = *bpf_session_cookie();
#endif
	(void)env;
}

/* A call begins. 1: the kernel leaves out its end, which is what the event is about. */
static __always_inline int sp_session_leaves_out(void *ctx)
{
#ifdef SP_FRONT_SESSION
	if (!sp_event_is_wanted())
		return 1;
	if (sp_is_on_own_stack(ctx)) {
		sp_session_keep(ctx);
		return 0;
	}
	sp_tally(SP_N_LOST_CALLS, 1);
#endif
	(void)ctx;
	return 1;
}

static __always_inline int sp_session_is_beginning(void)
{
#ifdef SP_FRONT_SESSION
	return !(char)bpf_session_is_return();
#else
	return 0;
#endif
}

static __always_inline struct sp_scratch *sp_event_goes_on(void *ctx, const sp_u64 *r, sp_u32 times)
{
	return sp_slot.role == SP_ROLE_RETURN ? sp_event_returns(ctx, r) : sp_live_goes_on(ctx, r, times);
}

/*
 * Loaded as a program of a raw or, with SP_SLOT_RECORD, of a classic tracepoint, or, with SP_SLOT_PROBE, of a probe. A
 * classic tracepoint's result says whether perf's own events, which may be others', get the hit: they do. A probe's is
 * 0: else the kernel could take the probe away.
 */
SEC("raw_tp")
int sp_front_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct sp_op_env env = {};
	sp_u64 r[SP_N_OP_REGS] = {};
	sp_u32 times;
	struct sp_scratch *s;
	int result = sp_slot.flags & SP_SLOT_RECORD ? 1 : 0;

	if (sp_session_is_beginning())
		return sp_session_leaves_out(ctx);
	if (!sp_event_is_wanted())
		return result;
	times = sp_event_draw();
	if (!times)
		return result;
	sp_event_read(&env, ctx);
	if (sp_slot.flags & SP_SLOT_MARK && env.is_unread) {
		sp_tally(SP_N_LOST_ARGUMENTS, 1);
		return result;
	}
	sp_session_recall(&env);
	if (!sp_ops_run(&env, sp_slot.ops, r) || sp_event_is_over(r))
		return result;
	if (sp_slot.role == SP_ROLE_LEAVE) {
		sp_event_leaves(r);
		return result;
	}
	s = sp_event_goes_on(ctx, r, times);
	if (!s)
		return result;
	bpf_tail_call(ctx, &sink, 0);
	sp_scratch_give(s); /* the sink could not be entered */
	sp_tally(SP_N_LOST_NESTED, 1);
	return result;
}
