/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * config.bpf.h: what the user half decides before the programs are loaded (read-only afterwards, so that the verifier
 * removes what is not wanted), the scratch of a sample, and the counters.
 */
#ifndef SP_BPF_CONFIG_BPF_H
#define SP_BPF_CONFIG_BPF_H

#include "bpf/core.bpf.h"

const volatile struct sp_config sp_config = {};

volatile struct sp_slicing sp_slicing; /* changed by the user half */
volatile sp_u32 sp_drain_number; /* changed by the user half: picks the buffer of counts, stamps the use of tables */

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

	if (v)
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

/* One a CPU: a stack walk needs more than the 512 bytes of BPF's own stack. Its programs do not nest (see `busy`). */
struct sp_scratch {
	sp_u32 busy;
	sp_u32 how;           /* SP_HOW_* of regs */
	sp_u32 guessed;       /* SP_STACK_HAS_GUESS, once a frame was */
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
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_scratch));
} scratch SEC(".maps");

/*
 * One a CPU, too (an element of a per-CPU array may have 32 KiB at most): where a sample that waits for a table is made
 * up (pending.bpf.h), and until then the frames of a stack that is deeper than the scratch.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as there are CPUs */
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_message_pending));
} pending SEC(".maps");

static __always_inline struct sp_message_pending *sp_pending_own(void)
{
	sp_u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&pending, &cpu);
}

#endif
