/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.bpf.h: every difference between kernels, told by the existence of a field or function, never by a version.
 *
 * Reading kernel memory: bpf_rdonly_cast() (6.2 and later) turns an address into a pointer that the JIT loads through
 * with a fault check. That takes about 2 ns a word, and is allowed under lockdown=confidentiality. Where the verifier
 * does not know it, every load is a bpf_probe_read_kernel() of about 27 ns.
 *
 * The verifier removes the branches that are not taken, one by one, at 0.2 ms each for a program as large as these. So
 * a load is a function of its own, and code in which its call would count asks once for all of its loads (by_cast).
 */
#ifndef SP_BPF_COMPAT_BPF_H
#define SP_BPF_COMPAT_BPF_H

#include "bpf/core.bpf.h"

extern void *bpf_rdonly_cast(const void *obj, sp_u32 btf_id) __ksym __weak;

#define sp_has_cast() bpf_core_enum_value_exists(enum special_kfunc_type, KF_bpf_rdonly_cast)

/*
 * The 8 bytes at a kernel address; 0 where they cannot be read. The type of the cast is any that the kernel knows and
 * that has a plain word in it: only the word is read, whatever the address is of.
 */
static __always_inline sp_u64 sp_kload_by(int by_cast, sp_u64 addr)
{
	sp_u64 v = 0;

	if (by_cast) {
		struct inode *around;

		addr -= bpf_core_field_offset(struct inode, i_ino);
		around = bpf_rdonly_cast((void *)addr, bpf_core_type_id_kernel(struct inode));
		return around->i_ino;
	}
	bpf_probe_read_kernel(&v, sizeof(v), (void *)addr);
	return v;
}

__noinline sp_u64 sp_kload_apart(sp_u64 addr)
{
	return sp_has_cast() ? sp_kload_by(1, addr) : sp_kload_by(0, addr);
}

/* A function gets no pointers of the kernel's: negated twice, it is a number to the verifier. */
static __always_inline sp_u64 sp_number(sp_u64 addr)
{
	asm volatile("%0 = -%0; %0 = -%0" : "+r"(addr));
	return addr;
}

static __always_inline sp_u64 sp_kload(sp_u64 addr)
{
	return sp_kload_apart(sp_number(addr));
}

static __always_inline sp_u32 sp_kload32(sp_u64 addr)
{
	return (sp_u32)sp_kload(addr);
}

#define sp_kfield(addr, type, field) sp_kload((addr) + bpf_core_field_offset(type, field))
#define sp_kfield32(addr, type, field) sp_kload32((addr) + bpf_core_field_offset(type, field))
#define sp_kfield_by(by_cast, addr, type, field) sp_kload_by(by_cast, (addr) + bpf_core_field_offset(type, field))

/* A bit field of an object, which lies in the 8 bytes from some byte of it on: BPF_CORE_READ_BITFIELD() has more
 * branches. */
#define sp_kbits(addr, type, field)                                                                                    \
	(sp_kload((addr) + __CORE_RELO((type *)0, field, BYTE_OFFSET)) << __CORE_RELO((type *)0, field, LSHIFT_U64) >> \
	 __CORE_RELO((type *)0, field, RSHIFT_U64))

static __always_inline sp_u64 sp_inode_mtime_ns(int by_cast, sp_u64 inode)
{
	struct inode *i = 0;
	sp_u64 at;

	if (bpf_core_field_exists(i->i_mtime_sec))
		return sp_kfield_by(by_cast, inode, struct inode, i_mtime_sec) * 1000000000ULL +
		       (sp_u32)sp_kfield_by(by_cast, inode, struct inode, i_mtime_nsec);
	if (bpf_core_field_exists(i->__i_mtime))
		at = inode + bpf_core_field_offset(struct inode, __i_mtime);
	else
		at = inode + bpf_core_field_offset(struct inode, i_mtime);
	return sp_kload_by(by_cast, at) * 1000000000ULL + sp_kload_by(by_cast, at + 8);
}

#endif
