/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.bpf.h: every difference between kernels, told by the existence of a field or function, never by a version.
 *
 * Reading kernel memory: bpf_rdonly_cast() (6.2 and later) turns an address into a pointer that the JIT loads through
 * with a fault check. That takes about 2 ns a word, and is allowed under lockdown=confidentiality. Where the verifier
 * does not know it, every load is a bpf_probe_read_kernel() of about 27 ns. The loader removes the branches that are
 * not taken.
 */
#ifndef SP_BPF_COMPAT_BPF_H
#define SP_BPF_COMPAT_BPF_H

#include "bpf/config.bpf.h"

extern void *bpf_rdonly_cast(const void *obj, sp_u32 btf_id) __ksym __weak;

#define sp_has_cast() bpf_core_enum_value_exists(enum special_kfunc_type, KF_bpf_rdonly_cast)

/*
 * The 8 bytes at a kernel address; 0 where they cannot be read. The type of the cast is any that the kernel knows and
 * that has a plain word in it: only the word is read, whatever the address is of.
 */
static __always_inline sp_u64 sp_kload(sp_u64 addr)
{
	sp_u64 v = 0;

	if (sp_has_cast()) {
		struct maple_range_64 *around;

		addr -= bpf_core_field_offset(struct maple_range_64, pivot);
		around = bpf_rdonly_cast((void *)addr, bpf_core_type_id_kernel(struct maple_range_64));
		return around->pivot[0];
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

static __always_inline sp_u64 sp_inode_mtime_ns(sp_u64 inode)
{
	struct inode *i = 0;
	sp_u64 at;

	if (bpf_core_field_exists(i->i_mtime_sec))
		return sp_kfield(inode, struct inode, i_mtime_sec) * 1000000000ULL +
		       sp_kfield32(inode, struct inode, i_mtime_nsec);
	if (bpf_core_field_exists(i->__i_mtime))
		at = inode + bpf_core_field_offset(struct inode, __i_mtime);
	else
		at = inode + bpf_core_field_offset(struct inode, i_mtime);
	return sp_kload(at) * 1000000000ULL + sp_kload(at + 8);
}

#endif
