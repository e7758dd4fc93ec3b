/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.bpf.h: every difference between kernels, told by the existence of a field or function, never by a version.
 *
 * Reading kernel memory: bpf_rdonly_cast() (6.2 and later) turns an address into a pointer that the JIT loads through
 * with a fault check, about 2 ns a word, and is allowed under lockdown=confidentiality; without it (the user half looks
 * it up in the kernel's BTF and sets sp_config.has_cast) every load is a bpf_probe_read_kernel of about 27 ns.
 */
#ifndef SP_BPF_COMPAT_BPF_H
#define SP_BPF_COMPAT_BPF_H

#include "bpf/config.bpf.h"

extern void *bpf_rdonly_cast(const void *obj, sp_u32 btf_id) __ksym __weak;

/* The 8 bytes at a kernel address; 0 where they cannot be read. */
static __always_inline sp_u64 sp_kload(sp_u64 addr)
{
	sp_u64 v = 0;

	if (sp_config.has_cast) {
		struct timespec64 *word = bpf_rdonly_cast((void *)addr, bpf_core_type_id_kernel(struct timespec64));
		return word->tv_sec;
	}
	bpf_probe_read_kernel(&v, sizeof(v), (void *)addr);
	return v;
}

static __always_inline sp_u32 sp_kload32(sp_u64 addr)
{
	return (sp_u32)sp_kload(addr);
}

#define sp_kfield(addr, type, field) sp_kload((addr) + bpf_core_field_offset(type, field))
#define sp_kfield32(addr, type, field) sp_kload32((addr) + bpf_core_field_offset(type, field))

/* 6.13 and later: two plain fields; 6.7: __i_mtime; before: i_mtime. */
struct inode___sec {
	sp_s64 i_mtime_sec;
	sp_u32 i_mtime_nsec;
} SP_CORE;
struct inode___hidden {
	struct timespec64 __i_mtime;
} SP_CORE;
struct inode___plain {
	struct timespec64 i_mtime;
} SP_CORE;

static __always_inline sp_u64 sp_inode_mtime_ns(sp_u64 inode)
{
	struct inode___sec *with_sec = 0;
	struct inode___hidden *hidden = 0;
	sp_u64 at;

	if (bpf_core_field_exists(with_sec->i_mtime_sec))
		return sp_kfield(inode, struct inode___sec, i_mtime_sec) * 1000000000ULL +
		       sp_kfield32(inode, struct inode___sec, i_mtime_nsec);
	if (bpf_core_field_exists(hidden->__i_mtime))
		at = inode + bpf_core_field_offset(struct inode___hidden, __i_mtime);
	else
		at = inode + bpf_core_field_offset(struct inode___plain, i_mtime);
	return sp_kload(at) * 1000000000ULL + sp_kload(at + 8);
}

#endif
