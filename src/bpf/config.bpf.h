/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * config.bpf.h: what the user half decides before the programs are loaded (read-only afterwards, so that the verifier
 * removes what is not wanted), the scratch of a sample, and the counters.
 */
#ifndef SP_BPF_CONFIG_BPF_H
#define SP_BPF_CONFIG_BPF_H

#include "bpf/scratch.bpf.h"

volatile struct sp_slicing sp_slicing; /* changed by the user half */
volatile sp_u32 sp_drain_number; /* changed by the user half: picks the buffer of counts, stamps the use of tables */

/*
 * Each CPU has one, too. A sample that waits for a table is put together in it (pending.bpf.h); until then it holds the
 * frames of a stack that is deeper than the scratch. Not a per-CPU array, whose elements have at most 32 KiB.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as there are CPUs */
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_message_pending));
} pending SEC(".maps");

/* The CPU's buffer; NULL unless s is the CPU's first scratch, to which it belongs. */
static __always_inline struct sp_message_pending *sp_pending_own(const struct sp_scratch *s)
{
	sp_u32 cpu = bpf_get_smp_processor_id();

	return sp_scratch_is_first(s) ? bpf_map_lookup_elem(&pending, &cpu) : 0;
}

#endif
