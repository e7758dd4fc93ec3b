/* SPDX-License-Identifier: GPL-2.0-only */
/* mark.bpf.h: reads the arguments of a mark (event/mark.h), by the place that was hit. */
#ifndef SP_BPF_MARK_BPF_H
#define SP_BPF_MARK_BPF_H

#include "bpf/core.bpf.h"
#include "event/mark.h"

/* By a place's cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SP_MARKS);
	__uint(key_size, sizeof(sp_u64));
	__uint(value_size, sizeof(struct sp_mark_place));
} marks SEC(".maps");

static __always_inline sp_u64 sp_mark_register(void *ctx, sp_u32 at)
{
	sp_u64 value = 0;

	if (at != SP_MARK_NO_REGISTER)
		bpf_probe_read_kernel(&value, sizeof(value), ctx + at);
	return value;
}

/* 0: it is in memory that cannot be read. */
static __noinline int sp_mark_argument_read(void *ctx, const struct sp_mark_argument *a, sp_u64 *ret_value)
{
	sp_u64 value = a->add + sp_mark_register(ctx, a->base) + (sp_mark_register(ctx, a->index) << (a->scale & 3));
	sp_u64 bytes = a->bits / 8, address = value;
	sp_u32 by = (64 - a->bits) & 63;

	if (a->flags & SP_MARK_IN_MEMORY) {
		value = 0;
		asm volatile("" : "+r"(bytes)); /* what the verifier is to see is the next line */
		if (bytes > sizeof(value) || bpf_probe_read_user(&value, bytes, (void *)address))
			return 0;
	}
	value = value >> (a->from & 63) << by;
	*ret_value = a->flags & SP_MARK_SIGNED ? (sp_u64)((sp_s64)value >> by) : value >> by;
	return 1;
}

#endif
