/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core.bpf.h: the kernel's types, as far as the kernel half uses them.
 *
 * Only the named fields exist here; their offsets come from the running kernel's BTF at load time (CO-RE). What differs
 * between kernels is told apart in compat.bpf.h by the existence of a field or type. Offsets that are used as numbers
 * (objects reached through addresses, not through BTF pointers) come from bpf_core_field_offset() of these types.
 */
#ifndef SP_BPF_CORE_BPF_H
#define SP_BPF_CORE_BPF_H

#include <linux/types.h>

#include <linux/bpf.h>

#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/wire.h"

#define SP_CORE __attribute__((preserve_access_index))

enum { SP_VM_EXEC = 0x4, SP_AT_BASE = 7, SP_AUXV_PAIRS = 20 };

typedef struct {
	void *vdso;
} SP_CORE mm_context_t;

struct maple_tree {
	void *ma_root;
} SP_CORE;

struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
} SP_CORE;

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
} SP_CORE;

/* Both are named by way of this one: the loader searches the kernel's types for each type here, at 1.5 ms a search. */
struct maple_node {
	union {
		struct maple_range_64 mr64;
		struct maple_arange_64 ma64;
	};
} SP_CORE;

struct xol_area {
	unsigned long vaddr; /* a return probe's trampoline is the first thing there */
} SP_CORE;

struct uprobes_state {
	struct xol_area *xol_area;
} SP_CORE;

struct mm_struct {
	struct maple_tree mm_mt;
	unsigned long saved_auxv[1]; /* pairs */
	unsigned long start_code;
	unsigned long start_brk, brk, start_stack;
	unsigned long stack_vm; /* pages */
	mm_context_t context;
	struct uprobes_state uprobes_state;
} SP_CORE;

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
} SP_CORE;

struct super_block {
	sp_u32 s_dev;
} SP_CORE;

struct timespec64 {
	sp_s64 tv_sec;
	long tv_nsec;
};

/*
 * With the names that the time of the last change has had: 6.13 and later i_mtime_sec, 6.7 __i_mtime, before i_mtime.
 * One type for all, because of the searches.
 */
struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	sp_s64 i_size;
	sp_u32 i_generation;
	sp_s64 i_mtime_sec;
	sp_u32 i_mtime_nsec;
	struct timespec64 __i_mtime;
	struct timespec64 i_mtime;
} SP_CORE;

struct qstr {
	const unsigned char *name;
} SP_CORE;

struct dentry {
	struct qstr d_name;
	struct inode *d_inode;
} SP_CORE;

struct vfsmount {
	struct dentry *mnt_root;
} SP_CORE;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} SP_CORE;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} SP_CORE;

struct fs_struct {
	struct path root;
} SP_CORE;

struct file {
	struct inode *f_inode;
	struct path f_path;
} SP_CORE;

struct upid { /* the same since namespaces came */
	int nr;
	void *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
} SP_CORE;

struct sched_entity {
	sp_u64 sum_exec_runtime;
} SP_CORE;

typedef struct {
	unsigned int val;
} SP_CORE kuid_t;

struct cred {
	kuid_t uid;
} SP_CORE;

struct kernfs_node {
	sp_u64 id;
} SP_CORE;

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[1];
} SP_CORE;

struct css_set {
	struct cgroup *dfl_cgrp;
} SP_CORE;

struct raw_spinlock { /* of what it is made we do not ask: its first 4 bytes are 0 while nobody has it */
	unsigned int first;
} SP_CORE;

struct return_instance {     /* of a return probe, for a call that has not returned */
	unsigned long stack; /* where the return address was, in place of which the trampoline's stands */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} SP_CORE;

struct uprobe_task {
	struct return_instance *return_instances;
} SP_CORE;

struct thread_struct {
	unsigned long fsbase;
} SP_CORE;

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	struct raw_spinlock pi_lock; /* of who wakes the task, or changes its priority or its CPUs */
	int exit_state;
	unsigned int in_execve : 1;
	int pid, tgid;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	sp_u64 start_boottime;
	sp_u64 self_exec_id;
	char comm[16];
	struct sched_entity se;
	const struct cred *cred;
	unsigned long nvcsw, nivcsw;
	struct css_set *cgroups;
	struct uprobe_task *utask;
	struct thread_struct thread;
} SP_CORE;

struct linux_binprm {
	unsigned int secureexec : 1;
} SP_CORE;

/* The verifier's enumeration of functions that it knows; only to see whether this one is among them. */
enum special_kfunc_type { KF_bpf_rdonly_cast = 10 };

struct bpf_iter_meta {
	struct seq_file *seq;
} SP_CORE;

/* The contexts of iter/task and iter/task_vma: user space ABI, pointers. */
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};
struct bpf_iter__task_vma {
	void *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

#endif
