/* SPDX-License-Identifier: GPL-2.0-only */
/* tables.bpf.h: the files' unwind tables: a head for each file, and segments of memory that are made on demand. */
#ifndef SP_BPF_TABLES_BPF_H
#define SP_BPF_TABLES_BPF_H

#include "bpf/vma.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SP_MAX_FILES);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_table));
} tables SEC(".maps");

/* key_size and value_size, not types: 6.1 refuses inner maps made without BTF where the template has typed ones. */
struct sp_segment_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, SP_SEG_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SP_MAX_SEGS);
	__uint(key_size, 4);
	__array(values, struct sp_segment_map);
} segments SEC(".maps");

struct sp_segment;

static __always_inline const struct sp_segment *sp_env_segment(struct sp_scratch *s, sp_u32 word)
{
	sp_u32 number = word >> SP_SEG_SHIFT, zero = 0;
	void *map = bpf_map_lookup_elem(&segments, &number);

	(void)s;
	return map ? bpf_map_lookup_elem(map, &zero) : 0;
}

#endif
