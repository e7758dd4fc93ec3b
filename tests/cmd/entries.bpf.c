/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * entries.bpf.c: counts entries of functions, by where they return to. A jump to a function from inside of its library
 * (a tail call, a loop) enters it, too, and is no call from outside: those jumps have probes of their own, which take
 * back what the function's probe will add.
 */
#include "entries.h"

#include <linux/bpf.h>

#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum { AT_BASE = 7, AUXV_PAIRS = 24 };

struct mm_struct {
	unsigned long saved_auxv[2 * AUXV_PAIRS];
} __attribute__((preserve_access_index));

struct task_struct {
	struct mm_struct *mm;
} __attribute__((preserve_access_index));

const volatile __u64 library_bytes, linker_bytes;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_PROBES);
	__type(key, __u32);
	__type(value, struct counts);
} all_counts SEC(".maps");

/* Where the kernel has put ld.so. */
static __u64 linker_base(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	unsigned long auxv[2 * AUXV_PAIRS];

	if (bpf_probe_read_kernel(auxv, sizeof(auxv), &BPF_CORE_READ(task, mm)->saved_auxv))
		return 0;
	for (int i = 0; i < AUXV_PAIRS; i++)
		if (auxv[2 * i] == AT_BASE)
			return auxv[2 * i + 1];
	return 0;
}

/* call rel32, or call *WORD(%rip): by a linkage table. */
static int is_by_table(__u64 return_address)
{
	__u8 code[6] = {};

	bpf_probe_read_user(code, sizeof(code), (void *)(return_address - sizeof(code)));
	return code[1] == 0xe8 || (code[0] == 0xff && code[1] == 0x15);
}

static enum from from_where(__u64 base, __u64 return_address)
{
	if (return_address - base < library_bytes)
		return FROM_INSIDE;
	if (return_address - linker_base() < linker_bytes)
		return FROM_LINKER;
	return is_by_table(return_address) ? FROM_TABLE : FROM_POINTER;
}

/* Of the 16 conditions that jumps have, each odd one is the opposite of the one before. */
static int is_taken(__u64 flags, __u32 condition)
{
	int carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1, sign = flags >> 7 & 1,
	    overflow = flags >> 11 & 1;
	const int holds[8] = {
	    overflow, carry, zero, carry | zero, sign, parity, sign ^ overflow, zero | (sign ^ overflow)};

	return holds[condition >> 1 & 7] != (int)(condition & 1);
}

SEC("uprobe")
int entry(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs), return_address = 0;
	__u32 index = COOKIE_INDEX(cookie), how = COOKIE_HOW(cookie);
	struct counts *c = bpf_map_lookup_elem(&all_counts, &index);

	if (!c || (how < HOW_JUMP && !is_taken(regs->eflags, how)))
		return 0;
	if (bpf_probe_read_user(&return_address, sizeof(return_address), (void *)regs->rsp)) {
		__sync_fetch_and_add(&c->n_unread, 1);
		return 0;
	}
	enum from from = from_where(regs->rip - COOKIE_VADDR(cookie), return_address);
	__sync_fetch_and_add(&c->n[from & 3], how == HOW_ENTRY ? 1 : -1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
