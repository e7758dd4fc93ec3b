/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unwind.bpf.h: a user stack, walked in the kernel, from a sample's registers to frame words in the scratch.
 *
 * The steps are those of unwind/step.h. This file gives them what they work on: the table segments (an array of maps,
 * so that memory grows on demand), the mappings that this sample has met, and the stack, which is read 2 KiB at a time
 * because such a read costs about as much as that of a word. At a frame in a file whose table is absent, all that the
 * user half needs to finish the stack is sent to it (pending.bpf.h).
 */
#ifndef SP_BPF_UNWIND_BPF_H
#define SP_BPF_UNWIND_BPF_H

#include "bpf/tables.bpf.h"

#define SP_WALK struct sp_scratch

/* Reads the chunk that begins at addr; near the end of a mapping only the rest of the page. 0 or -1. */
__noinline int sp_window_read(struct sp_scratch *s, sp_u64 addr)
{
	sp_u32 n = 4096 - (addr & 4095);

	if (!s)
		return -1;
	s->stack_copy_at = addr;
	s->stack_copy_bytes = SP_STACK_COPY_BYTES;
	if (!bpf_probe_read_user(s->stack_copy, SP_STACK_COPY_BYTES, (void *)addr))
		return 0;
	if (n > SP_STACK_COPY_BYTES)
		n = SP_STACK_COPY_BYTES;
	s->stack_copy_bytes = n;
	if (n >= 8 && !bpf_probe_read_user(s->stack_copy, n, (void *)addr))
		return 0;
	s->stack_copy_bytes = 0;
	return -1;
}

static __always_inline int sp_env_stack(struct sp_scratch *s, sp_u64 addr, sp_u64 *ret)
{
	sp_u64 at = addr - s->stack_copy_at;
	const sp_u64 *word;

	if (at + 8 > s->stack_copy_bytes || at + 8 < 8) {
		if ((addr & 7) || sp_window_read(s, addr))
			return bpf_probe_read_user(ret, 8, (void *)addr) ? -1 : 0;
		at = 0;
	}
	sp_opaque(at);
	if (at > SP_STACK_COPY_BYTES - 8)
		return -1;
	word = (const sp_u64 *)&s->stack_copy[at]; /* a variable: else the compiler loads byte by byte */
	*ret = *word;
	return 0;
}

static __always_inline int sp_env_is_return(struct sp_scratch *s, sp_u64 addr);
static __always_inline int sp_env_code(struct sp_scratch *s, sp_u64 addr, sp_u8 *ret);
static __always_inline int sp_env_around(struct sp_scratch *s, sp_u64 ip);
sp_u32 sp_env_ahead(struct sp_scratch *s); /* leaf.bpf.h */
static __always_inline sp_u32 sp_env_hotspot_ahead(const sp_u8 *code, sp_u64 n);

static __always_inline int sp_env_read(struct sp_scratch *s, sp_u64 addr, void *ret, sp_u32 n)
{
	(void)s;
	return bpf_probe_read_user(ret, n, (void *)addr) ? -1 : 0;
}

#include "unwind/x86_64/hotspot.h"
#include "unwind/x86_64/v8.h"

/* Whether a call stands in front of this address; -1: its code cannot be read. A function, as its branches are many. */
__noinline int sp_call_is_before(sp_u64 addr)
{
	sp_u8 code[8];

	if (bpf_probe_read_user(code, 8, (void *)(addr - 8)))
		return -1;
	return sp_ends_in_call(code) || sp_ends_in_probed_call(code);
}

static __always_inline int sp_env_is_return(struct sp_scratch *s, sp_u64 addr)
{
	int r;

	if (addr < 4096 || addr >= SP_USER_END)
		return 0;
	r = sp_call_is_before(addr);
	return r < 0 ? s->may_be_unread : (sp_u32)r;
}

static __always_inline int sp_env_code(struct sp_scratch *s, sp_u64 addr, sp_u8 *ret)
{
	(void)s;
	return bpf_probe_read_user(ret, 8, (void *)addr) ? -1 : 0;
}

static __always_inline int sp_env_around(struct sp_scratch *s, sp_u64 ip)
{
	return bpf_probe_read_user(s->code, SP_CODE_BYTES, (void *)(ip - SP_CODE_BEFORE)) ? -1 : 0;
}

#include "bpf/leaf.bpf.h"
#include "bpf/note.bpf.h"
#include "bpf/probed.bpf.h"

/* Copies what the file's table says. is_used: the table counts as used since the last drain; else it is only looked at.
 */
static __always_inline void sp_seen_table(struct sp_seen *e, int is_used)
{
	sp_u32 id = e->file;
	struct sp_table *t = bpf_map_lookup_elem(&tables, &id);

	e->state = SP_TABLE_ABSENT;
	if (!t)
		return;
	/* State first: what is read after it belongs to this state, or to a later load (see unwind/tables.h). */
	e->state = *(volatile sp_u32 *)&t->state;
	e->index = t->index;
	e->rows = t->rows;
	e->rules = t->rules;
	e->first = t->first;
	e->n_groups = t->n_groups;
	e->shift = t->shift;
	if (is_used)
		t->used = sp_drain_number;
}

/* The number of this sample's process record: 0 if it was not announced yet (aggregate.bpf.h). */
static __always_inline sp_u32 sp_process_known(struct sp_scratch *s);
int sp_process_tell(struct sp_scratch *s);

/*
 * The process has to be announced before this step. That is not done here: 6.1 sums up the stacks of nested calls to
 * 512 bytes.
 */
#define SP_STEP_TELL 0xfffeu
/*
 * At the top of a fiber's stack: the address taken for a caller was put there by hand, not by a call. The stack ends
 * before it.
 */
#define SP_STEP_PLANTED 0xfffdu

/* Fills in the file (or anonymous region) of a mapping that was checked, without its table. 0 or a stop. */
static __always_inline sp_u32 sp_seen_identify(struct sp_scratch *s, struct sp_seen *e, sp_u64 addr)
{
	struct sp_vma_view *view = &s->view;
	struct sp_file_key key = {};

	view->tgid = sp_own_level ? sp_sample_pid_shown(s) : s->key.process.tgid;
	e->start = view->start;
	e->end = view->end;
	e->shift_by = view->pgoff - e->start;
	e->word = SP_FRAME_FILE << SP_FRAME_KIND_SHIFT;
	if (view->file) {
		sp_file_key_of(view->file, &key);
	} else if (e->start == s->vdso) {
		key.dev = SP_DEV_VDSO;
		e->shift_by = -e->start;
	} else {
		key.dev = SP_DEV_ANON;
		key.ino = sp_process_known(s);
		if (!key.ino) { /* without its process record its addresses would merge with another's */
			e->start = e->end = 1;
			return SP_STEP_TELL;
		}
		key.size = addr >> SP_FRAME_ID_SHIFT;
		e->shift_by = 0; /* the frame word's mask leaves the low 40 bits */
		e->word = SP_FRAME_ANON << SP_FRAME_KIND_SHIFT;
	}
	e->file = sp_file_id(&key, view);
	if (!e->file)
		return SP_STOP_FILES;
	e->word |= (sp_u64)e->file << SP_FRAME_ID_SHIFT;
	return 0;
}

/*
 * Looks an address up in the mapping tree, into seen[slot]. 0 or a stop. Slot SP_N_SEEN stands for slot 0 without
 * marking the table as used. With SP_SEEN_AS_MEMORY the mapping is taken as one without a file.
 */
#define SP_SEEN_AS_MEMORY 0x100
__noinline sp_u32 sp_seen_fill(struct sp_scratch *s, sp_u64 addr, sp_u32 slot)
{
	sp_u64 last = 0, vma;
	struct sp_seen *e;
	sp_u32 r;

	if (!s)
		return SP_STOP_UNMAPPED;
	e = &s->seen[slot & (SP_N_SEEN - 1)];
	e->start = e->end = 1; /* holds no address */
	s->n_walks++;
	vma = sp_vma_walk(s, addr, &last);
	if (!vma)
		return last ? SP_STOP_UNMAPPED : SP_STOP_BUSY;
	sp_vma_view_of(vma, &s->view);
	if (addr < s->view.start || addr >= s->view.end || s->view.mm != s->mm)
		return SP_STOP_BUSY;
	if (!(s->view.flags & SP_VM_EXEC))
		return SP_STOP_UNMAPPED;
	if (slot & SP_SEEN_AS_MEMORY)
		s->view.file = 0;
	r = sp_seen_identify(s, e, addr);
	if (!r)
		sp_seen_table(e, !(slot & SP_N_SEEN));
	return r;
}

/*
 * Looks a second time if the file is no ELF file (SP_TABLE_NO_FILE): its code, made at run time, belongs to the
 * process.
 */
static __always_inline sp_u32 sp_seen_look(struct sp_scratch *s, sp_u64 addr, sp_u32 slot)
{
	sp_u32 r = sp_seen_fill(s, addr, slot);

	if (r || s->seen[slot & (SP_N_SEEN - 1)].state != SP_TABLE_NO_FILE)
		return r;
	return sp_seen_fill(s, addr, slot | SP_SEEN_AS_MEMORY);
}

/* Finds the mapping of addr, among those met before or in the tree; its slot goes into s->last_seen. 0 or a stop. */
static __always_inline sp_u32 sp_seen_find(struct sp_scratch *s, sp_u64 addr)
{
	sp_u32 i = s->last_seen & (SP_N_SEEN - 1);

	if (addr - s->seen[i].start < s->seen[i].end - s->seen[i].start)
		return 0;
	for (i = 0; i < SP_N_SEEN; i++) {
		if (addr - s->seen[i].start < s->seen[i].end - s->seen[i].start) {
			s->last_seen = i;
			return 0;
		}
	}
	i = s->n_seen++ & (SP_N_SEEN - 1);
	s->last_seen = i;
	return sp_seen_look(s, addr, i);
}

static __always_inline sp_u32 sp_step_guessed(struct sp_scratch *s)
{
	if (sp_config.unwind == SP_UNWIND_DWARF)
		return SP_STOP_NO_UNWIND;
	s->guessed = SP_STACK_HAS_GUESS;
	return sp_step_guess(s, &s->regs, &s->how);
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SP_MAX_HOTSPOTS);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_hotspot));
} hotspots SEC(".maps");

__noinline sp_u32 sp_step_of_hotspot(struct sp_scratch *s, sp_u32 id, sp_u64 pc)
{
	struct sp_hotspot *h = bpf_map_lookup_elem(&hotspots, &id);
	sp_u32 r;

	if (!s)
		return SP_STOP_NO_UNWIND;
	r = h ? sp_step_hotspot(s, h, pc, &s->regs, &s->how) : sp_step_guess(s, &s->regs, &s->how);
	if (s->how & SP_HOW_GUESSED)
		s->guessed = SP_STACK_HAS_GUESS;
	return r;
}

/* A function of its own, so that it is verified once and not for each call. */
__noinline sp_u32 sp_step_of_v8(struct sp_scratch *s, sp_u32 off)
{
	sp_u32 r;

	if (!s)
		return SP_STOP_NO_UNWIND;
	r = sp_step_v8(s, &s->regs, &s->how, off);
	if (s->how & SP_HOW_GUESSED)
		s->guessed = SP_STACK_HAS_GUESS;
	return r;
}

/*
 * The rules that this CPU used last, by frame word. An entry is never stale, even when the file's table was evicted: a
 * file id stands for one content until the user half takes it back, and then it empties this map. An entry takes one
 * line of cache in place of three or four, and at 99 Hz cache misses, not instructions, are what a frame costs.
 */
enum { SP_RULE_CACHE_BITS = 9 };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_cached_rule) << SP_RULE_CACHE_BITS);
} rule_cache SEC(".maps");

static __always_inline struct sp_cached_rule *sp_rule_cached(struct sp_scratch *s, sp_u64 word)
{
	sp_u32 zero = 0, slot = word * 0x9e3779b97f4a7c15ULL >> (64 - SP_RULE_CACHE_BITS);
	struct sp_cached_rule *all;

	if (!sp_scratch_is_first(s)) {
		s->not_kept.word = 0;
		return &s->not_kept;
	}
	all = bpf_map_lookup_elem(&rule_cache, &zero);
	sp_opaque(slot);
	return all ? &all[slot & ((1 << SP_RULE_CACHE_BITS) - 1)] : 0;
}

/* Finds the rule at this offset in the file's table; SP_CFA_NONE in a gap. -1: the table changed while it was read. */
static __always_inline int sp_rule_look_up(struct sp_scratch *s, struct sp_seen *e, sp_u64 offset,
					   struct sp_rule *ret_rule)
{
	struct sp_table t = {.index = e->index,
			     .rows = e->rows,
			     .rules = e->rules,
			     .first = e->first,
			     .n_groups = e->n_groups,
			     .shift = e->shift};
	sp_u32 at = sp_rule_find(s, &t, offset);

	ret_rule->cfa = SP_CFA_NONE;
	return at ? sp_rule_get(s, at, ret_rule) : 0;
}

/*
 * Finds the rule of a frame word, in this CPU's cache or in the table. 0 or -1. An offset that is too large for a frame
 * word has no rule: cut to fit, it would stand for another place.
 */
static __always_inline int sp_rule_of(struct sp_scratch *s, struct sp_seen *e, sp_u64 offset,
				      struct sp_cached_rule *cached, struct sp_rule *ret_rule)
{
	sp_u64 word = e->word | offset;

	if (offset > SP_FRAME_OFFSET_MASK) {
		ret_rule->cfa = SP_CFA_NONE;
		return 0;
	}
	if (cached->word == word) {
		*ret_rule = cached->rule;
		return 0;
	}
	if (sp_rule_look_up(s, e, offset, ret_rule))
		return -1;
	cached->rule = *ret_rule;
	cached->after = SP_AFTER_UNKNOWN;
	cached->word = word;
	return 0;
}

/*
 * Whether no call stands in front of this caller's address: then the step that led here was wrong (a stale row of
 * .eh_frame). The cache keeps the answer with the rule of sp_rule_of(). Code that cannot be read makes no frame
 * suspect.
 */
static __always_inline int sp_is_suspect(struct sp_scratch *s, struct sp_cached_rule *cached)
{
	int r;

	if (cached->after == SP_AFTER_CALL || s->n_frames < 2 || s->how & SP_HOW_EXACT || s->rule.cfa == SP_CFA_ROOT ||
	    s->rule.ra & SP_RULE_SIGNAL)
		return 0;
	if (cached->after == SP_AFTER_UNKNOWN) {
		r = sp_call_is_before(s->regs.ip);
		if (r < 0)
			return 0;
		cached->after = r ? SP_AFTER_CALL : SP_AFTER_OTHER;
	}
	return cached->after == SP_AFTER_OTHER;
}

int sp_deep_put(struct sp_scratch *s, sp_u64 word); /* deep.bpf.h */
int sp_deep_mark(struct sp_scratch *s);
int sp_deep_unwind(struct sp_scratch *s);

/* Marks the last frame as guessed. The stack's hash does without the mark, which follows from the frame words. */
static __always_inline void sp_mark_last(struct sp_scratch *s)
{
	sp_u32 n = s->n_frames - 1;

	if (n < SP_NEAR_FRAMES)
		s->frames[n & (SP_NEAR_FRAMES - 1)] |= SP_FRAME_GUESSED;
	else
		sp_deep_mark(s);
	s->guessed = SP_STACK_HAS_GUESS;
}

/* Whether a leaf's caller was taken from the word at its stack pointer without its code bearing that out. */
static __always_inline int sp_is_bare_guess(struct sp_scratch *s, sp_u64 ip, sp_u64 sp, sp_u32 how)
{
	sp_u64 code = 0;

	if (!(how & (SP_HOW_EXACT | SP_HOW_FIRST)) || s->regs.sp != sp + 8)
		return 0;
	return !(how & SP_HOW_EXACT) || sp_env_code(s, ip, (sp_u8 *)&code) || sp_frameless((sp_u8 *)&code) < 0;
}

/*
 * Steps over JIT code of no known runtime. Where the frame pointer leads nowhere the user half is asked, since it may
 * be able to read the code. Nothing is asked for other code, so that nobody else pays for it.
 */
__noinline sp_u32 sp_step_jit(struct sp_scratch *s, sp_u32 id)
{
	sp_u32 how, guessed, r;
	sp_u64 ip, sp;

	if (!s)
		return SP_STOP_NO_UNWIND;
	ip = s->regs.ip;
	sp = s->regs.sp;
	how = s->how;
	guessed = s->guessed;
	r = sp_step_guessed(s);
	if (r != SP_STOP_NO_UNWIND && (r != SP_STEP_NEXT || !sp_is_bare_guess(s, ip, sp, how)))
		return r;
	s->regs.ip = ip; /* the guess has changed these; the frame pointer it has not */
	s->regs.sp = sp;
	s->how = how;
	s->guessed = guessed;
	s->waits_for = id;
	s->n_again = 1;
	return SP_STOP_PENDING;
}

__noinline int sp_leaf_step(struct sp_scratch *s)
{
	sp_s32 leaf = sp_leaf_of(s);
	int unsure, r;

	if (!s)
		return -1;
	r = sp_step_leaf(s, &s->regs, &s->how, leaf, &unsure);
	if (unsure) {
		sp_mark_last(s);
		s->hash = sp_hash_mix(s->hash, SP_FRAME_GUESSED);
	}
	if (!r && s->how & SP_HOW_GUESSED)
		s->guessed = SP_STACK_HAS_GUESS;
	return r;
}

/*
 * Guesses a step over a file's code. Above the leaf: a child of fork returns to code that its parent ran, in pages that
 * the child has not touched yet. That these cannot be read here does not stop the walk: the next step checks the
 * mapping.
 */
__noinline sp_u32 sp_step_file_guessed(struct sp_scratch *s)
{
	sp_u32 r;

	if (!s || sp_config.unwind == SP_UNWIND_DWARF)
		return SP_STOP_NO_UNWIND;
	if (s->how & SP_HOW_EXACT && !sp_leaf_step(s))
		return SP_STEP_NEXT;
	s->may_be_unread = !(s->how & (SP_HOW_EXACT | SP_HOW_FIRST));
	r = sp_step_guessed(s);
	s->may_be_unread = 0;
	return r;
}

/* By s->rule. Not inlined: the verifier looks at it once. */
__noinline int sp_step_switched(struct sp_scratch *s)
{
	return s ? sp_step_chain(s, &s->regs, &s->how, &s->rule) : -1;
}

static __always_inline sp_u32 sp_step_table(struct sp_scratch *s, struct sp_seen *e, sp_u64 offset)
{
	struct sp_cached_rule *cached = sp_rule_cached(s, e->word | offset);
	struct sp_rule *rule = &s->rule;
	sp_u32 r;

	if (!cached || sp_rule_of(s, e, offset, cached, rule))
		return SP_STOP_TABLE;
	if (s->how & SP_HOW_TOP && sp_is_suspect(s, cached))
		return SP_STEP_PLANTED;
	if (rule->cfa == SP_CFA_NONE)
		return sp_step_file_guessed(s);
	if (rule->cfa == SP_CFA_V8)
		return sp_step_of_v8(s, rule->off);
	if (sp_is_suspect(s, cached))
		sp_mark_last(s);
	if (rule->cfa == SP_CFA_CHAIN && !sp_step_switched(s))
		return SP_STEP_NEXT;
	r = sp_step_rule(s, &s->regs, &s->how, rule, sp_config.unwind != SP_UNWIND_DWARF);
	if (s->how & SP_HOW_GUESSED)
		s->guessed = SP_STACK_HAS_GUESS;
	if (sp_config.usual && r == SP_STEP_NEXT)
		sp_step_note(s, rule);
	return r;
}

/* Walks one frame: stores its word and replaces the registers by its caller's. SP_STEP_NEXT or a stop. */
__noinline sp_u32 sp_step(struct sp_scratch *s)
{
	sp_u64 addr, offset, word;
	struct sp_seen *e;
	sp_u64 hash;
	sp_u32 r, n;

	if (!s)
		return SP_STOP_UNMAPPED;
	addr = s->regs.ip - (s->how & SP_HOW_EXACT ? 0 : 1);
	if (addr >= SP_USER_END) /* where the trampoline lies if page tables have five levels */
		return s->how & SP_HOW_EXACT ? SP_STOP_UNMAPPED : sp_step_probed(s);
	r = sp_seen_find(s, addr);
	if (r)
		return r == SP_STOP_UNMAPPED && !(s->how & SP_HOW_EXACT) ? sp_step_probed(s) : r;
	e = &s->seen[s->last_seen & (SP_N_SEEN - 1)];
	offset = addr + e->shift_by;
	if (e->state != SP_TABLE_LOADED && s->how & SP_HOW_FIRST && (s->regs.ip & 4095) < SP_TRAMPOLINE_BYTES &&
	    sp_step_probed(s) == SP_STEP_NEXT)
		return SP_STEP_NEXT;
	if (e->state == SP_TABLE_ABSENT && sp_config.unwind != SP_UNWIND_FP) {
		s->waits_for = e->file;
		return SP_STOP_PENDING;
	}
	word = e->word | (offset & SP_FRAME_OFFSET_MASK) | sp_frame_marks(s->how);
	n = s->n_frames;
	if (n < SP_NEAR_FRAMES)
		s->frames[n & (SP_NEAR_FRAMES - 1)] = word;
	else if (sp_deep_put(s, word))
		return SP_STOP_DEEP;
	s->n_frames = n + 1;
	hash = s->hash;
	s->hash = sp_hash_mix(hash, word);
	if (e->state == SP_TABLE_LOADED && sp_config.unwind != SP_UNWIND_FP) {
		r = sp_step_table(s, e, offset);
		if (r != SP_STEP_PLANTED)
			return r;
		s->n_frames = n; /* the planted address is no frame */
		s->hash = hash;
		return SP_STOP_FIBER;
	}
	if (e->state == SP_TABLE_HOTSPOT)
		return sp_step_of_hotspot(s, e->file, addr);
	if (e->state == SP_TABLE_JIT && sp_config.unwind == SP_UNWIND_AUTO)
		return sp_step_jit(s, e->file);
	return e->state == SP_TABLE_V8 ? sp_step_of_v8(s, 0) : sp_step_guessed(s);
}

/* Of two loops, one within the other, the verifier follows 16 + 32 turns and not 512. */
enum { SP_UNWIND_TURNS = 16 };
__noinline sp_u32 sp_unwind_some(struct sp_scratch *s)
{
	sp_u32 i, r = SP_STEP_NEXT;

	if (!s)
		return SP_STOP_UNMAPPED;
	for (i = 0; i < SP_UNWIND_TURNS && r == SP_STEP_NEXT; i++)
		r = sp_step(s);
	return r;
}

/* Walks the stack that s->regs begins. The frames and the stop are left in s. */
static __always_inline void sp_unwind(struct sp_scratch *s)
{
	sp_u32 i, r = SP_STEP_NEXT;

	for (i = 0; i < SP_NEAR_FRAMES / SP_UNWIND_TURNS && r == SP_STEP_NEXT; i++)
		r = sp_unwind_some(s);
	s->stop = r;
	if (r == SP_STEP_TELL)
		sp_process_tell(s);
	if (r == SP_STEP_TELL || r == SP_STEP_NEXT)
		sp_deep_unwind(s);
	if (s->stop == SP_STEP_TELL) /* there was no room for the record */
		s->stop = SP_STOP_FILES;
}

#endif
