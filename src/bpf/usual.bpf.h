/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * usual.bpf.h: a cache of the user stack in which each thread waited last, since most wait in the same one again.
 *
 * A walk by rules that count from the stack pointer and the frame pointer alone depends on the registers that the
 * thread saved and the words that it reads of the stack, some 20. If these are those of the thread's last wait, so is
 * the stack, and the walk is left out. An entry is good for a second at most, and not over a drain, with which numbers
 * of files may change. The words are kept while the stack is walked, in that part of the scratch which only stacks
 * deeper than SP_NEAR_FRAMES use. Threads that share an entry evict each other.
 */
#ifndef SP_BPF_USUAL_BPF_H
#define SP_BPF_USUAL_BPF_H

#include "bpf/sample.bpf.h"

enum { SP_USUAL_BITS = 8, SP_USUAL_TURNS = 8 };
#define SP_USUAL_NS 1000000000ULL

struct sp_usual {
	sp_u32 is_taken; /* by a program on some CPU */
	sp_u32 n_words;
	sp_u64 task; /* its address; 0: none */
	sp_u64 until_ns;
	sp_u64 ip, sp, fp;
	sp_u32 how, drain;
	struct sp_process_key process;
	sp_u64 user_stack;
	struct sp_word word[SP_USUAL_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << SP_USUAL_BITS);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_usual));
} usual SEC(".maps");

/* The thread's entry, which nobody else has until it is given back; NULL: another program is at it. */
static __always_inline struct sp_usual *sp_usual_of(sp_u64 task)
{
	sp_u32 slot = task * 0x9e3779b97f4a7c15ULL >> (64 - SP_USUAL_BITS);
	struct sp_usual *k = bpf_map_lookup_elem(&usual, &slot);

	return k && !__sync_lock_test_and_set(&k->is_taken, 1) ? k : 0;
}

static __always_inline void sp_usual_give(struct sp_usual *k)
{
	*(volatile sp_u32 *)&k->is_taken = 0;
}

static __always_inline int sp_usual_begins_so(const struct sp_usual *k, const struct sp_scratch *s, sp_u64 task,
					      sp_u64 now)
{
	return k->task == task && k->ip == s->regs.ip && k->sp == s->regs.sp && k->fp == s->regs.fp &&
	       k->how == s->how && k->until_ns > now && k->drain == sp_drain_number &&
	       k->process.start_ns == s->key.process.start_ns && k->process.tgid == s->key.process.tgid &&
	       k->process.exec_id == s->key.process.exec_id;
}

/* Compares a part of the words, those from `from` on. 0: they are on the stack. */
__noinline int sp_usual_differs(struct sp_scratch *s, struct sp_usual *k, sp_u32 from)
{
	sp_u32 i, at;
	sp_u64 value;

	if (!s || !k)
		return 1;
	for (i = 0; i < SP_USUAL_TURNS; i++) {
		at = from + i;
		if (at >= k->n_words)
			return 0;
		sp_opaque(at);
		at &= SP_USUAL_WORDS - 1;
		if (sp_env_stack(s, k->word[at].addr, &value) || value != k->word[at].value)
			return 1;
	}
	return 0;
}

static __always_inline int sp_usual_holds(struct sp_scratch *s, struct sp_usual *k, sp_u64 task, sp_u64 now)
{
	sp_u32 from;

	if (!sp_usual_begins_so(k, s, task, now))
		return 0;
	for (from = 0; from < SP_USUAL_WORDS && from < k->n_words; from += SP_USUAL_TURNS)
		if (sp_usual_differs(s, k, from))
			return 0;
	return 1;
}

/* The current thread's stack, if it is its usual one, whose frames need not be sent again. 1: the key has it. */
__noinline int sp_usual_take(struct sp_scratch *s, sp_u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sp_usual *k;
	sp_u64 id = 0;

	/* Kernels before 6.8 verify a function that nothing calls, too, and the map is not there where it is not asked
	 * for. */
	if (!sp_config.usual || !s)
		return 0;
	if (sp_user_begin(s, task) != SP_STEP_NEXT || sp_user_regs(s, 0, task, 1) != SP_STEP_NEXT)
		return 0;
	k = sp_usual_of(bpf_get_current_task());
	if (!k)
		return 0;
	if (sp_usual_holds(s, k, bpf_get_current_task(), now))
		id = k->user_stack;
	sp_usual_give(k);
	if (!id || !bpf_map_lookup_elem(&stacks, &id))
		return 0;
	s->key.user_stack = id;
	s->is_usual = 1;
	return 1;
}

/* Remembers the stack that was walked, if its words say all about it. */
__noinline int sp_usual_put(struct sp_scratch *s, sp_u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	sp_u32 how, n = s ? s->n_words : 0;
	struct sp_usual *k;

	if (!sp_config.usual || !s)
		return 0;
	if (!sp_stop_is_whole(s->stop) || s->n_frames != s->n_noted + 1 || n > SP_USUAL_WORDS)
		return 0;
	if (sp_user_begin(s, task) != SP_STEP_NEXT || sp_user_regs(s, 0, task, 1) != SP_STEP_NEXT)
		return 0;
	k = sp_usual_of(bpf_get_current_task());
	if (!k)
		return 0;
	how = s->how;
	k->task = bpf_get_current_task();
	k->until_ns = now + SP_USUAL_NS;
	k->ip = s->regs.ip;
	k->sp = s->regs.sp;
	k->fp = s->regs.fp;
	k->how = how;
	k->drain = sp_drain_number;
	k->process = s->key.process;
	k->user_stack = s->key.user_stack;
	k->n_words = n;
	bpf_probe_read_kernel(k->word, sizeof(k->word), s->frames + SP_USUAL_AT);
	sp_usual_give(k);
	return 0;
}

#endif
