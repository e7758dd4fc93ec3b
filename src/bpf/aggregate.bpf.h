/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * aggregate.bpf.h: counts in the kernel, and everything that is sent once: process records and the frames of stacks.
 *
 * A row is (process, thread name, user stack, kernel stack). The counts are kept in two tables that the user half
 * drains by turns (sp_drain_number's lowest bit says which one is in use). Only a row that is new since the last one
 * looks whether its process and its stacks were sent already; the others cost one look-up. Stacks are remembered in an
 * LRU table: one that was forgotten is sent again. Whatever does not fit is counted in `counters`.
 */
#ifndef SP_BPF_AGGREGATE_BPF_H
#define SP_BPF_AGGREGATE_BPF_H

#include "bpf/deep.bpf.h"

#define SP_COUNT_MAP                                                                                                   \
	__uint(type, BPF_MAP_TYPE_HASH);                                                                               \
	__uint(map_flags, BPF_F_NO_PREALLOC);                                                                          \
	__uint(max_entries, 40960);                                                                                    \
	__uint(key_size, sizeof(struct sp_count_key));                                                                 \
	__uint(value_size, sizeof(struct sp_count))

struct {
	SP_COUNT_MAP;
} counts_even SEC(".maps");

struct {
	SP_COUNT_MAP;
} counts_odd SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__uint(key_size, 8);
	__uint(value_size, 4);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SP_MAX_PROCESSES);
	__uint(key_size, sizeof(struct sp_process_key));
	__uint(value_size, 8);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 * 1024 * 1024); /* more where there are more than one CPU */
} samples SEC(".maps");

sp_u32 sp_last_process;

enum { SP_TOP_MOUNTS = 24 /* nested mounts, each in a directory of the next */ };

static __always_inline sp_u64 sp_mount_root(sp_u64 mount)
{
	return sp_kfield(mount, struct mount, mnt.mnt_root);
}

/*
 * Climbs from the mount of the task's root to the one mounted on /, as d_path() does for /proc. Stops at a mount whose
 * mountpoint is its parent's root, or that has no parent. A chroot is ignored: its paths are shown from above it.
 */
__noinline int sp_top_find(struct sp_scratch *s)
{
	sp_u64 task = bpf_get_current_task(), mount, parent, inode;
	int i;

	if (!s)
		return 0;
	if (s->other.task)
		task = s->other.task;
	s->fsroot.ino = 0;
	mount = sp_kfield(sp_kfield(task, struct task_struct, fs), struct fs_struct, root.mnt) -
		bpf_core_field_offset(struct mount, mnt);
	for (i = 0; i < SP_TOP_MOUNTS; i++) {
		parent = sp_kfield(mount, struct mount, mnt_parent);
		if (parent == mount || sp_kfield(mount, struct mount, mnt_mountpoint) == sp_mount_root(parent))
			break;
		mount = parent;
	}
	if (i == SP_TOP_MOUNTS)
		return 0;
	inode = sp_kfield(sp_mount_root(mount), struct dentry, d_inode);
	s->fsroot.ino = sp_kfield(inode, struct inode, i_ino);
	s->fsroot.generation = sp_kfield32(inode, struct inode, i_generation);
	s->fsroot.dev = sp_kfield32(sp_kfield(inode, struct inode, i_sb), struct super_block, s_dev);
	return 0;
}

/*
 * The file that the program was started from, found by the mapping of its code, so that its key is that of its
 * mappings.
 */
static __always_inline sp_u32 sp_exe_file(struct sp_scratch *s, sp_u64 task)
{
	sp_u64 last = 0, vma = 0, code;
	struct sp_vma_view *view = &s->view;
	struct sp_file_key key = {};

	s->mm = sp_kfield(task, struct task_struct, mm);
	if (!s->mm)
		return 0;
	s->maple_root = sp_kfield(s->mm, struct mm_struct, mm_mt.ma_root);
	code = sp_kfield(s->mm, struct mm_struct, start_code);
	if (code)
		vma = sp_vma_walk(s, code, &last);
	if (!vma)
		return 0;
	sp_vma_view_of(vma, view);
	if (view->mm != s->mm || !view->file)
		return 0;
	view->tgid = sp_own_level ? sp_sample_pid_shown(s) : s->key.process.tgid;
	sp_file_key_of(view->file, &key);
	return sp_file_id(&key, view);
}

__noinline sp_u32 sp_process_announce(struct sp_scratch *s, const struct sp_process_key *key)
{
	struct task_struct *current = bpf_get_current_task_btf();
	sp_u64 task = (sp_u64)current, leader;
	struct sp_process_key own;
	struct sp_message_process *r;
	sp_u32 exe;
	sp_u64 id;

	if (!s || !key)
		return 0;
	own = *key;
	if (s->other.task)
		task = s->other.task;
	leader = sp_kfield(task, struct task_struct, group_leader);
	sp_top_find(s);
	/* looked up first, so that the file's record comes before that of the process, which names it */
	exe = sp_kfield32(task, struct task_struct, flags) & SP_PF_KTHREAD ? 0 : sp_exe_file(s, task);
	id = __sync_fetch_and_add(&sp_last_process, 1) + 1;
	r = bpf_ringbuf_reserve(&events, sizeof(*r), 0);
	if (!r) {
		sp_tally(SP_N_LOST_PROCESSES, 1);
		return 0;
	}
	r->type = SP_MESSAGE_PROCESS;
	r->id = id;
	r->key = own;
	r->pid = sp_own_level ? sp_sample_pid_shown(s) ?: SP_PID_HIDDEN : 0;
	r->uid = s->other.task ? s->other.uid : bpf_get_current_uid_gid();
	r->cgroup = s->other.task ? s->other.cgroup : bpf_get_current_cgroup_id();
	r->ns_tgid = sp_ns_tgid(leader);
	r->exe = exe;
	r->fsroot = s->fsroot;
	bpf_probe_read_kernel(r->comm, sizeof(r->comm),
			      (void *)(leader + bpf_core_field_offset(struct task_struct, comm)));
	/* A process within execve has no file yet: it is not noted as announced, so that it is announced again. */
	if ((exe || s->other.task || !sp_kbits((sp_u64)current, struct task_struct, in_execve)) &&
	    bpf_map_update_elem(&processes, &own, &id, BPF_NOEXIST)) {
		sp_u64 *known = bpf_map_lookup_elem(&processes, &own);

		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		if (!known)
			sp_tally(SP_N_LOST_PROCESSES, 1);
		return known ? (sp_u32)*known : 0;
	}
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return id;
}

static __always_inline sp_u32 sp_process_known(struct sp_scratch *s)
{
	struct sp_process_key key = s->key.process;
	sp_u64 *id = bpf_map_lookup_elem(&processes, &key);

	return id ? (sp_u32)*id : 0;
}

/* Announces the sample's process, if it is new. */
__noinline int sp_process_tell(struct sp_scratch *s)
{
	struct sp_process_key key;

	if (!s)
		return -1;
	key = s->key.process;
	if (!sp_process_known(s))
		sp_process_announce(s, &key);
	return 0;
}

/* Sends the frames of a stack that was not sent yet, or has been forgotten since. -1: there was no room. */
static __always_inline int sp_stack_send(struct sp_message_stack *message, sp_u32 max_frames)
{
	sp_u64 id = message->id;
	sp_u32 one = 1, bytes;

	if (bpf_map_lookup_elem(&stacks, &id))
		return 0;
	bytes = message->n_frames;
	if (bytes > max_frames)
		bytes = max_frames;
	bytes = sizeof(*message) + 8 * bytes;
	sp_opaque(bytes);
	if (bytes > sizeof(*message) + 8 * max_frames)
		return -1;
	message->uid = bpf_get_current_uid_gid();
	if (bpf_ringbuf_output(&samples, message, bytes, BPF_RB_NO_WAKEUP))
		return -1;
	sp_tally(SP_N_STACKS_SENT, 1);
	bpf_map_update_elem(&stacks, &id, &one, BPF_ANY);
	return 0;
}

__noinline int sp_deep_send(struct sp_scratch *s)
{
	struct sp_message_pending *r = s ? sp_pending_own(s) : 0;

	if (!s || !r)
		return -1;
	r->deep = s->message;
	return sp_stack_send(&r->deep, SP_MAX_FRAMES);
}

static __always_inline int sp_user_stack_send(struct sp_scratch *s)
{
	if (s->is_usual)
		return 0;
	return s->message.n_frames > SP_NEAR_FRAMES ? sp_deep_send(s) : sp_stack_send(&s->message, SP_NEAR_FRAMES);
}

/* Two calls, because a map chosen at run time would hide its type from the verifier. */
static __always_inline void *sp_counts_lookup(sp_u32 odd, const struct sp_count_key *key)
{
	return odd ? bpf_map_lookup_elem(&counts_odd, key) : bpf_map_lookup_elem(&counts_even, key);
}

static __always_inline long sp_counts_add(sp_u32 odd, const struct sp_count_key *key, const struct sp_count *value)
{
	return odd ? bpf_map_update_elem(&counts_odd, key, value, BPF_NOEXIST)
		   : bpf_map_update_elem(&counts_even, key, value, BPF_NOEXIST);
}

static __always_inline int sp_count_known(struct sp_scratch *s, const struct sp_count_key *key)
{
	struct sp_count *known = sp_counts_lookup(sp_drain_number & 1, key);

	if (!known)
		return 0;
	__sync_fetch_and_add(&known->n, s->value.n);
	__sync_fetch_and_add(&known->weight, s->value.weight);
	return 1;
}

/* Sends what the key names, unless it was sent before. A stack for which there is no room is removed from the key. */
static __always_inline void sp_key_send(struct sp_scratch *s)
{
	sp_process_tell(s);
	if (s->key.user_stack && sp_user_stack_send(s)) {
		sp_tally(SP_N_LOST_STACKS, s->value.n);
		s->key.user_stack = 0;
	}
	if (s->key.kernel_stack && sp_stack_send(&s->kernel_message, SP_MAX_KERNEL_FRAMES - 1)) {
		sp_tally(SP_N_LOST_STACKS, s->value.n);
		s->key.kernel_stack = 0;
	}
}

/* Adds a row that is new since the last drain. is_announced: what its key names was sent before. -1: there is no room.
 */
__noinline int sp_count_new(struct sp_scratch *s, sp_u32 is_announced)
{
	struct sp_count_key key; /* a copy: 6.1 accepts no map key or value in memory that a function got as argument */
	struct sp_count value;

	if (!s)
		return 0;
	if (!is_announced)
		sp_key_send(s);
	key = s->key;
	value = s->value;
	/* The row may exist by now: another CPU was faster, or sp_key_send() removed a stack from the key. */
	if (!sp_counts_add(sp_drain_number & 1, &key, &value) || sp_count_known(s, &key))
		return 0;
	sp_tally(SP_N_LOST_COUNTS, (long long)value.n < 0 ? -value.n : value.n); /* below 0: of what was freed */
	return -1;
}

static __always_inline void sp_count_sample(struct sp_scratch *s)
{
	if (!sp_count_known(s, &s->key))
		sp_count_new(s, 0);
}

static __always_inline void sp_user_stack_close(struct sp_scratch *s)
{
	s->message.type = SP_MESSAGE_STACK;
	s->message.n_frames = s->n_frames < SP_MAX_FRAMES ? s->n_frames : SP_MAX_FRAMES;
	s->message.n_left_out = s->n_frames - s->message.n_frames;
	s->message.stop = s->stop | s->guessed;
	s->message.id = sp_hash_mix(s->hash, s->message.stop | 1ULL << 32) | 1;
	s->key.user_stack = s->message.id;
}

/* Turns the raw addresses from `from` on, below n, into frame words. A part of the loop, as sp_unwind_some() is. */
enum { SP_KERNEL_TURNS = 16 };
__noinline sp_u64 sp_kernel_words_some(struct sp_scratch *s, sp_u32 from, sp_u32 n, sp_u64 hash)
{
	sp_u32 i;

	if (!s)
		return 0;
	for (i = 0; i < SP_KERNEL_TURNS && from + i < n; i++) {
		sp_u32 at = from + i;
		sp_u64 word;

		sp_opaque(at);
		at &= SP_MAX_KERNEL_FRAMES - 1;
		word = (s->kernel_frames[at] - (-at >> 31)) & SP_FRAME_KERNEL_MASK; /* but for the first, 1 less */
		word |= SP_FRAME_KERNEL << SP_FRAME_KIND_SHIFT;
		s->kernel_frames[at] = word;
		hash = sp_hash_mix(hash, word);
	}
	return hash;
}

/* Turns n raw addresses into frame words. */
static __always_inline sp_u64 sp_kernel_words(struct sp_scratch *s, sp_u32 n)
{
	sp_u64 hash = 2;
	sp_u32 at;

	for (at = 0; at < SP_MAX_KERNEL_FRAMES && at < n; at += SP_KERNEL_TURNS)
		hash = sp_kernel_words_some(s, at, n, hash);
	return hash;
}

static __always_inline void sp_kernel_stack_close(struct sp_scratch *s, long bytes)
{
	if (bytes <= 0)
		return;
	s->kernel_message.type = SP_MESSAGE_STACK;
	s->kernel_message.n_frames = bytes / 8;
	s->kernel_message.stop = SP_STOP_COMPLETE;
	s->kernel_message.id = sp_kernel_words(s, bytes / 8) | 1;
	s->key.kernel_stack = s->kernel_message.id;
}

/* skip: frames to leave out, which is the program's own where no interrupt lies between it and the event. */
static __always_inline void sp_kernel_stack(struct sp_scratch *s, void *ctx, sp_u64 skip)
{
	sp_kernel_stack_close(s, bpf_get_stack(ctx, s->kernel_frames, 8 * (SP_MAX_KERNEL_FRAMES - 1), skip));
}

#endif
