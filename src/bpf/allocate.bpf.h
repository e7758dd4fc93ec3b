/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * allocate.bpf.h: calls of malloc and its like, by probes at both of their ends (SP_ROLE_ASK, SP_ROLE_GIVEN): which of
 * them are sampled, what was asked for until it is known where it is, and the blocks that are held (live.bpf.h).
 *
 * Drawn is each call by itself: a block is sampled with the probability size / thin, and stands for thin bytes then;
 * one of thin bytes and more always, and stands for itself. (Or, by calls: each with the same probability.) So all sums
 * are right in the mean, whatever a program does, and no thread has to count bytes. One function calls another in some
 * libraries, or goes on in it: of a thread's calls that lie in each other the outermost counts. That is known by its
 * place on the stack, by which its end is known, too.
 */
#ifndef SP_BPF_ALLOCATE_BPF_H
#define SP_BPF_ALLOCATE_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/scratch.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536); /* sp_capture_options.live_entries */
	__uint(key_size, sizeof(struct sp_live_key));
	__uint(value_size, sizeof(struct sp_live));
} live SEC(".maps");

struct sp_call {      /* the outermost that a thread is in */
	sp_u64 stack; /* where its return address is; 0: it is in none */
	sp_u64 back;  /* that address, where the kernel leaves it there, since the end is seen at the `ret`; else 0 */
	sp_u64 released;    /* what it has let go last, by a function that may call another to do so */
	sp_u64 bytes, n;    /* what its block stands for; 0: it is not sampled */
	sp_u64 where;       /* the block's address will stand there; 0: it is returned */
	sp_u64 old_address; /* of a sampled block that was let go, and comes back if the call fails; 0: none */
	struct sp_live old;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sp_call);
} calls SEC(".maps");

enum { SP_N_ERRORS = 4095 /* the last addresses are the kernel's errors */ };

static __always_inline struct sp_live *sp_live_find(sp_u64 address)
{
	struct sp_live_key at = {.address = address, .tgid = bpf_get_current_pid_tgid() >> 32};

	return bpf_map_lookup_elem(&live, &at);
}

static __always_inline void sp_call_draw(struct sp_call *c, sp_u64 size, sp_u64 thin, sp_u64 one_in)
{
	sp_u64 random;

	c->bytes = size;
	c->n = 1;
	if (one_in) {
		c->bytes = bpf_get_prandom_u32() % one_in ? 0 : size * one_in;
		c->n = one_in;
		return;
	}
	if (size >= thin)
		return;
	random = (sp_u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	if (random >= ~0ULL / thin * size) {
		c->bytes = 0;
		return;
	}
	c->bytes = thin;
	c->n = thin / size + (bpf_get_prandom_u32() % size < thin % size); /* right in the mean, too */
}

/*
 * Whether a call has not ended where another one begins: its return address is the trampoline's still. Otherwise its
 * end was missed: a signal's handler has jumped out of it, or the kernel had no more room for its end's probe.
 */
static __always_inline int sp_call_is_open(const struct sp_call *c, sp_u64 stack)
{
	sp_u64 area, mm, address = 0;

	if (stack > c->stack || bpf_probe_read_user(&address, sizeof(address), (void *)c->stack))
		return 0;
	if (c->back)
		return address == c->back;
	mm = sp_kfield(bpf_get_current_task(), struct task_struct, mm);
	area = sp_kfield(mm, struct mm_struct, uprobes_state.xol_area);
	return address == sp_kfield(area, struct xol_area, vaddr);
}

/* A call begins. NULL: it is within another one. by_ret: as sp_call.back. */
static __always_inline struct sp_call *sp_call_begin(sp_u64 stack, int by_ret)
{
	struct sp_call *c = bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!c) {
		sp_tally(SP_N_LOST_LIVE, 1);
		return 0;
	}
	if (c->stack && sp_call_is_open(c, stack))
		return 0;
	if (c->stack)
		sp_tally(SP_N_LOST_CALLS, 1);
	c->stack = stack;
	c->back = 0;
	if (by_ret)
		bpf_probe_read_user(&c->back, sizeof(c->back), (void *)stack);
	c->old_address = 0;
	return c;
}

/* The call that ends, whose return address was there. NULL: it was within another one, or began before the probes. */
static __always_inline struct sp_call *sp_call_end(sp_u64 stack)
{
	struct sp_call *c = bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, 0);

	if (!c || c->stack != stack)
		return 0;
	c->stack = 0;
	return c;
}

/* A block goes that is not held. Where all are sampled it is from before; a call may let go what it has let go itself.
 */
static __always_inline void sp_call_frees_unseen(sp_u64 address)
{
	struct sp_call *c = address ? bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, 0) : 0;

	if (!address || (c && c->stack))
		return;
	if (c && c->released == address)
		c->released = 0;
	else
		sp_tally(SP_N_FREED_UNSEEN, 1);
}

static __always_inline void sp_call_releases(sp_u64 address)
{
	struct sp_call *c = bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (c)
		c->released = address;
}

/* Where the block is; 0: there is none. */
static __always_inline sp_u64 sp_call_address(const struct sp_call *c, sp_u64 returned)
{
	sp_u64 address = returned;

	if (c->where && ((sp_u32)returned || bpf_probe_read_user(&address, sizeof(address), (void *)c->where)))
		return 0;
	return address < (sp_u64)-SP_N_ERRORS ? address : 0;
}

#endif
