/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scratch.bpf.h: what every program of a session has: the configuration, the counters, and the scratch of a sample.
 *
 * Programs nest: the clock's interrupt comes within a tracepoint's program, and a program of a probe may be preempted
 * by a thread whose probe runs on the same CPU. So where a session has more than one program that samples
 * (sp_config.nests), a CPU has SP_N_SCRATCH scratches, and who finds one free takes it by an atomic exchange. Whatever
 * else a CPU has one of (kept rules, the record of a sample that waits) belongs to who has the first of them.
 */
#ifndef SP_BPF_SCRATCH_BPF_H
#define SP_BPF_SCRATCH_BPF_H

#include "bpf/core.bpf.h"
#include "event/slot.h"

const volatile struct sp_config sp_config = {};

/* One element of them all, so that a sample touches one or two lines of cache for its counters. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8 * SP_N_COUNTERS);
} counters SEC(".maps");

static __always_inline void sp_tally(sp_u32 counter, sp_u64 n)
{
	sp_u32 zero = 0;
	sp_u64 *v = bpf_map_lookup_elem(&counters, &zero);

	if (v && sp_config.nests)
		__sync_fetch_and_add(&v[counter], n);
	else if (v)
		v[counter] += n;
}

/* A mapping that this sample has met, with what its file's table says. */
struct sp_seen {
	sp_u64 start, end;
	sp_u64 shift_by; /* offset in the file (or region) = address + shift_by, modulo 2^64 */
	sp_u64 word;     /* kind and id of its frame words */
	sp_u32 state;    /* enum sp_table_state */
	sp_u32 index, rows, rules;
	sp_u32 first, n_groups, shift;
	sp_u32 file;
};

enum { SP_N_SCRATCH = 4 };
enum { SP_N_SEEN = 4, SP_STACK_COPY_BYTES = 2048, SP_N_ANCHORS = 8 };

struct sp_walk_point { /* a machine state among callers; ip 0: none */
	sp_u64 ip, sp, fp;
	sp_u32 how, pad;
};

struct sp_anchor { /* a frame near the root of a thread's deep stack, from an earlier sample (deep.bpf.h) */
	struct sp_walk_point point;
	sp_u64 mm;
	sp_u32 tid; /* 0: none */
	sp_u32 pad;
};

struct sp_vma_view { /* where a file was seen */
	sp_u64 start, end, pgoff, file;
	sp_u32 tgid;
	sp_u32 pad;
};

enum { SP_BEHIND_UNKNOWN, SP_BEHIND_CALL, SP_BEHIND_NO_CALL };
struct sp_cached_rule {
	sp_u64 word;   /* 0: empty */
	sp_u64 behind; /* whether its code stands behind a call: SP_BEHIND_ */
	struct sp_rule rule;
};

/* A stack walk needs more than the 512 bytes of BPF's own stack. */
struct sp_scratch {
	sp_u32 is_taken;
	sp_u32 number;  /* which of this CPU's */
	sp_u64 ticket;  /* what a row names in place of a stack that is finished later; 0: the sample itself goes to the
			   user half */
	sp_u64 ctx;     /* of a front, until its sink has found it: no two that run have the same */
	sp_u32 how;     /* SP_HOW_* of regs */
	sp_u32 guessed; /* SP_STACK_HAS_GUESS, once a frame was */
	sp_u32 may_be_unread; /* code that cannot be read may be behind a call */
	sp_u32 stop;          /* enum sp_stop, with SP_STACK_HAS_GUESS */
	sp_u32 n_frames;
	sp_u32 n_walks;
	sp_u32 waits_for;
	sp_u32 n_seen;
	sp_u32 last_seen;
	sp_u64 hash;
	sp_u64 maple_root; /* of the mappings */
	sp_u64 mm;
	sp_u64 vdso;
	sp_u64 tick_ns;     /* when the last tick was */
	sp_u32 tick_change; /* that it has seen */
	sp_u32 tick_pad;
	struct sp_regs regs;
	struct sp_seen seen[SP_N_SEEN];
	struct sp_vma_view view; /* here, because 6.1 sums up the stacks of nested calls to 512 bytes */
	struct sp_fsroot_key fsroot;
	struct sp_rule rule;       /* likewise */
	sp_u8 code[SP_CODE_BYTES]; /* around a leaf's instruction pointer */
	struct sp_hotspot_blob_info blob_info;
	sp_u64 node[32];
	sp_u64 stack_copy_at; /* user address of stack_copy[0]; 0 = nothing read */
	sp_u32 stack_copy_bytes;
	sp_u32 n_again; /* frames at the end that the user half walks again */
	sp_u8 stack_copy[SP_STACK_COPY_BYTES];
	struct sp_count_key key;
	struct sp_count value;
	struct sp_message_stack message; /* header of frames[] */
	sp_u64 frames[SP_NEAR_FRAMES];
	struct sp_message_stack kernel_message;
	sp_u64 kernel_frames[SP_MAX_KERNEL_FRAMES];
	struct sp_walk_point older, newer; /* noted in a deep stack: newer 0 to 511 frames ago, older 512 before that */
	struct sp_anchor anchors[SP_N_ANCHORS]; /* by thread number */
	struct sp_cached_rule not_kept;         /* of who is not the first */
	struct sp_hit hit;                      /* of a sink, as the front has found it */
	struct sp_episode episode;              /* that it begins */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* SP_N_SCRATCH of a session that nests */
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_scratch));
} scratch SEC(".maps");

static __always_inline struct sp_scratch *sp_scratch_at(sp_u32 number)
{
	return bpf_map_lookup_elem(&scratch, &number);
}

/* One that nobody on this CPU has; NULL, which is counted: all are taken. */
static __always_inline struct sp_scratch *sp_scratch_take(void)
{
	struct sp_scratch *s;
	sp_u32 i;

	for (i = 0; i < (sp_config.nests ? SP_N_SCRATCH : 1); i++) {
		s = sp_scratch_at(i);
		if (!s)
			break;
		if (!sp_config.nests ? !s->is_taken : !__sync_val_compare_and_swap(&s->is_taken, 0, 1)) {
			s->is_taken = 1;
			s->number = i;
			return s;
		}
	}
	sp_tally(SP_N_LOST_NESTED, 1);
	return 0;
}

static __always_inline void sp_scratch_give(struct sp_scratch *s)
{
	s->ctx = 0;
	*(volatile sp_u32 *)&s->is_taken = 0;
}

/* The first of a CPU's has what there is one of. */
static __always_inline int sp_scratch_is_first(const struct sp_scratch *s)
{
	return !sp_config.nests || !s->number;
}

#endif
