/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scratch.bpf.h: what every program of a session has: the configuration, the counters, and the scratch of a sample.
 *
 * Programs nest: the clock's interrupt may come within a tracepoint's program, and a probe's program may be preempted
 * by a thread whose probe runs on the same CPU. So where a session has more than one program that samples
 * (sp_config.nests), each CPU has SP_N_SCRATCH scratches, and a program takes a free one by an atomic exchange. What a
 * CPU has only one of (kept rules, the record of a sample that waits) belongs to the program that has its first
 * scratch.
 */
#ifndef SP_BPF_SCRATCH_BPF_H
#define SP_BPF_SCRATCH_BPF_H

#include "bpf/core.bpf.h"
#include "event/live.h"
#include "event/slot.h"

const volatile struct sp_config sp_config = {};

/* One element of them all, so that a sample touches one or two lines of cache for its counters. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8 * SP_N_COUNTERS);
} counters SEC(".maps");

static __always_inline void sp_tally_add(sp_u64 *v, sp_u64 n)
{
	if (sp_config.nests)
		__sync_fetch_and_add(v, n);
	else
		*v += n;
}

/* A function of its own: the verifier takes the half of sp_tally_add() that is not wanted out of each place, and that
 * takes its time. */
__noinline int sp_tally(sp_u32 counter, sp_u64 n)
{
	sp_u32 zero = 0;
	sp_u64 *v = bpf_map_lookup_elem(&counters, &zero);

	if (v && counter < SP_N_COUNTERS)
		sp_tally_add(&v[counter], n);
	return 0;
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

struct sp_other {    /* the thread that a sample is of, where that is not the current one */
	sp_u64 task; /* its address; 0: it is the current one */
	sp_u64 cgroup;
	sp_u32 uid, pad;
};

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
	sp_u64 start, end, pgoff, file, mm, flags;
	sp_u32 tgid;
	sp_u32 pad;
};

struct sp_word { /* of the stack */
	sp_u64 addr, value;
};
/* Words of the stack are noted where the last frames that have room would be (usual.bpf.h). */
enum { SP_USUAL_WORDS = 64, SP_USUAL_AT = SP_NEAR_FRAMES - 2 * SP_USUAL_WORDS };

enum { SP_AFTER_UNKNOWN, SP_AFTER_CALL, SP_AFTER_OTHER };
struct sp_cached_rule {
	sp_u64 word;  /* 0: empty */
	sp_u64 after; /* whether its code comes right after a call: SP_AFTER_ */
	struct sp_rule rule;
};

/* A stack walk needs more than the 512 bytes of BPF's own stack. */
struct sp_scratch {
	sp_u32 is_taken;
	sp_u32 number; /* which of this CPU's */
	sp_u64 ticket; /* the sample's ticket, made when its stack has to wait; 0: it has none, and its count is sent
			  with it */
	sp_u64 ctx; /* the front's context, until its sink has found the scratch by it: no two running programs have the
		       same */
	sp_u32 how; /* SP_HOW_* of regs */
	sp_u32 guessed;       /* SP_STACK_HAS_GUESS, once a frame was */
	sp_u32 may_be_unread; /* code that cannot be read counts as a call in front of a return address */
	sp_u32 stop;          /* enum sp_stop, with SP_STACK_HAS_GUESS */
	sp_u32 n_frames;
	sp_u32 n_walks;
	sp_u32 waits_for;
	sp_u32 n_seen;
	sp_u32 last_seen;
	sp_u32 n_words; /* of the stack that were noted */
	sp_u32 n_noted; /* steps that follow from these */
	sp_u64 hash;
	sp_u64 maple_root; /* of the mappings */
	sp_u64 mm;
	sp_u64 vdso;
	sp_u64 tick_ns;     /* CLOCK_MONOTONIC of the last tick */
	sp_u32 tick_change; /* sp_ticks.change as of that tick */
	sp_u32 is_usual;    /* the user stack was not walked, and is known */
	struct sp_other other;
	struct sp_regs regs;
	struct sp_seen seen[SP_N_SEEN];
	struct sp_vma_view view; /* here, because 6.1 sums up the stacks of nested calls to 512 bytes */
	struct sp_fsroot_key fsroot;
	struct sp_rule rule;       /* likewise */
	sp_u8 code[SP_CODE_BYTES]; /* around a leaf's instruction pointer */
	struct sp_hotspot_blob_info blob_info;
	sp_u64 image; /* address at which the file's image begins that `view` shows a part of */
	sp_u64 node[32];
	sp_u64 stack_copy_at; /* user address of stack_copy[0]; 0 = nothing read */
	sp_u32 stack_copy_bytes;
	sp_u32 n_again; /* frames at the end that the user half walks again */
	sp_u8 stack_copy[SP_STACK_COPY_BYTES];
	struct sp_count_key key;
	struct sp_count value;
	struct sp_live_key live_at; /* here for the same reason */
	struct sp_live live;
	struct sp_message_stack message; /* header of frames[] */
	sp_u64 frames[SP_NEAR_FRAMES];
	struct sp_message_stack kernel_message;
	sp_u64 kernel_frames[SP_MAX_KERNEL_FRAMES];
	struct sp_walk_point older, newer; /* in a deep stack: newer is 0 to 511 frames back, older 512 before that */
	struct sp_anchor anchors[SP_N_ANCHORS]; /* by thread number */
	struct sp_cached_rule not_kept; /* in place of the CPU's kept rules, for a program without the first scratch */
	struct sp_hit hit;              /* from the front to its sink */
	struct sp_episode episode;      /* that the hit begins */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* SP_N_SCRATCH in a session that nests */
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_scratch));
} scratch SEC(".maps");

static __always_inline struct sp_scratch *sp_scratch_at(sp_u32 number)
{
	return bpf_map_lookup_elem(&scratch, &number);
}

/* Takes a free scratch of this CPU. NULL: all are taken, which is counted. */
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

/* Whether the program has what a CPU has only one of. */
static __always_inline int sp_scratch_is_first(const struct sp_scratch *s)
{
	return !sp_config.nests || !s->number;
}

#endif
