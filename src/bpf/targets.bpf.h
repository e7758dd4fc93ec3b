/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * targets.bpf.h: the processes, or threads, that are asked for, by number.
 *
 * The user half fills the map, and the programs that follow a command add what it starts (follow.bpf.h). Whether a
 * session has targets at all stands in the configuration of its object.
 */
#ifndef SP_BPF_TARGETS_BPF_H
#define SP_BPF_TARGETS_BPF_H

#include "bpf/core.bpf.h"
#include "bpf/wire.h"

#define SP_TARGET_MAP                                                                                                  \
	__uint(type, BPF_MAP_TYPE_HASH);                                                                               \
	__uint(map_flags, BPF_F_NO_PREALLOC);                                                                          \
	__uint(max_entries, SP_MAX_TARGETS);                                                                           \
	__uint(key_size, 4);                                                                                           \
	__uint(value_size, 4)

struct {
	SP_TARGET_MAP;
} targets SEC(".maps");

static __always_inline int sp_is_target(sp_u32 number)
{
	sp_u32 *state = bpf_map_lookup_elem(&targets, &number);

	return state && *state == SP_TARGET_WANTED;
}

#endif
