/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pending.bpf.h: a sample that met a file whose table is not loaded yet goes to the user half, to be finished there.
 *
 * What is sent: the machine state at the frame that could not be stepped over, the frames walked before it, the
 * process's executable mappings, whose files are all announced by that, and 64 KiB of stack from that frame upwards. Up
 * to 2 MiB more of the stack go ahead of it in messages of their own.
 */
#ifndef SP_BPF_PENDING_BPF_H
#define SP_BPF_PENDING_BPF_H

#include "bpf/aggregate.bpf.h"

enum { SP_PENDING_WALKS = 2048 /* mappings and holes looked at in an interrupt */, SP_STACK_REACH = 16 << 20 };

/*
 * Adds the mapping at addr to the message if it is executable. Returns where to look next, 0 at the end. The count
 * stays in the message: with a count in a register the verifier would follow every way through the loop.
 */
__noinline sp_u64 sp_pending_map(struct sp_scratch *s, struct sp_message_pending *r, sp_u64 addr)
{
	sp_u64 last = 0, vma;
	sp_u32 at, stop = SP_STOP_UNMAPPED;

	if (!s || !r)
		return 0;
	vma = sp_vma_walk(s, addr, &last);
	at = sp_pending_stack_at(r);
	sp_opaque(at);
	if (!last || r->n_maps >= SP_PENDING_MAPS || at > SP_PENDING_SENT - SP_PENDING_STACK - sizeof(struct sp_map))
		return 0;
	if (vma && sp_kfield(vma, struct vm_area_struct, vm_flags) & SP_VM_EXEC)
		stop = sp_seen_look(s, addr, SP_N_SEEN);
	if (stop == SP_STOP_FILES)
		r->has_more_maps = 1;
	if (!stop) {
		struct sp_map *to = (struct sp_map *)&r->sent[at];
		struct sp_seen *e = &s->seen[0];

		to->start = e->start;
		to->end = e->end;
		to->shift_by = e->shift_by;
		to->word = e->word;
		r->n_maps++;
	}
	return last + 1;
}

struct sp_maps_loop {
	struct sp_scratch *s;
	struct sp_message_pending *r;
	sp_u64 addr;
};

static long sp_pending_next(sp_u32 i, struct sp_maps_loop *loop)
{
	(void)i;
	loop->addr = sp_pending_map(loop->s, loop->r, loop->addr);
	return !loop->addr || loop->addr >= SP_USER_END;
}

/* bpf_loop(), because the verifier follows each turn of a plain loop: 20,000 more instructions to check. */
static __always_inline void sp_pending_maps(struct sp_scratch *s, struct sp_message_pending *r, sp_u32 n_walks)
{
	struct sp_maps_loop loop = {.s = s, .r = r};

	r->n_maps = r->has_more_maps = 0;
	bpf_loop(n_walks, sp_pending_next, &loop, 0);
	if (r->n_maps >= SP_PENDING_MAPS || (loop.addr && loop.addr < SP_USER_END))
		r->has_more_maps = 1;
}

/*
 * Where the copy begins. After a leaf's last `pop` its rows still find the saved register below the stack pointer, in
 * the red zone (psABI 3.2.2), so that is copied as well, unless its page was never touched.
 */
static __always_inline sp_u64 sp_pending_base(sp_u64 sp)
{
	sp_u64 word;

	return bpf_probe_read_user(&word, sizeof(word), (void *)(sp - SP_RED_ZONE)) ? sp : sp - SP_RED_ZONE;
}

/*
 * Bytes from addr to the end of its mapping; `most` where that is not known. The stack pointer may lie below the
 * stack's mapping, which grows only when the new frame is written to: then the mapping above it counts.
 */
__noinline sp_u64 sp_stack_room(struct sp_scratch *s, sp_u64 addr, sp_u64 most)
{
	sp_u64 last = 0;

	if (!s)
		return most;
	if (sp_vma_walk(s, addr, &last))
		return last - addr + 1;
	return last && last - addr < SP_STACK_REACH && sp_vma_walk(s, last + 1, &last) ? last - addr + 1 : most;
}

/*
 * Copies the stack from sp upwards into sent[], from `to` on; page by page if it cannot be read at once, because pages
 * of it were never touched (those of large arrays). The results go into the message: with results in registers the
 * verifier would follow each way. 1: the stack continues above the copy.
 */
__noinline int sp_pending_stack(struct sp_scratch *s, struct sp_message_pending *r, sp_u64 sp, sp_u32 to)
{
	sp_u32 at = 0, step = 4096 - (sp & 4095), n, i;
	sp_u64 room;
	sp_u8 *stack;

	if (!s || !r)
		return 0;
	room = sp_stack_room(s, sp, SP_PENDING_STACK);
	n = room < SP_PENDING_STACK ? room : SP_PENDING_STACK;
	sp_opaque(n);
	if (n > SP_PENDING_STACK || to > SP_PENDING_SENT - SP_PENDING_STACK)
		return 0;
	stack =
	    &r->sent[to]; /* the verifier forgets the bounds of an index that the compiler spills, not a pointer's */
	sp_opaque(stack);
	r->holes = 0;
	r->stack_bytes = n;
	if (!bpf_probe_read_user(stack, n, (void *)sp))
		return n == SP_PENDING_STACK;
	r->stack_bytes = 0;
	for (i = 0; i <= SP_PENDING_STACK / 4096; i++) {
		if (at + step > n || at > SP_PENDING_STACK - 4096)
			break;
		if (bpf_probe_read_user(stack + at, step, (void *)(sp + at)))
			r->holes |= 1U << i;
		else
			r->stack_bytes = at + step;
		at += step;
		step = 4096;
	}
	return n == SP_PENDING_STACK;
}

struct sp_stack_above_loop {
	struct sp_scratch *s;
	sp_u64 at;
};

/* The other half of the ring is kept for the samples themselves. */
static __always_inline int sp_stack_above_has_room(void)
{
	return bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) < bpf_ringbuf_query(&samples, BPF_RB_RING_SIZE) / 2;
}

/*
 * Sends one part of the stack above the copy, put together where the sample's own copy is to be. 1: no more can be
 * sent.
 */
__noinline int sp_stack_above_send(struct sp_scratch *s, sp_u64 at)
{
	struct sp_message_pending *r = s ? sp_pending_own(s) : 0;
	struct sp_message_stack_above *part;
	sp_u32 bytes;
	int more;

	if (!s || !r || !sp_stack_above_has_room())
		return 1;
	part = (struct sp_message_stack_above *)r->sent;
	more = sp_pending_stack(s, r, at, sizeof(*part));
	bytes = r->stack_bytes;
	sp_opaque(bytes);
	if (bytes > SP_PENDING_STACK)
		return 1;
	part->type = SP_MESSAGE_STACK_ABOVE;
	part->bytes = bytes;
	part->id = r->above;
	part->at = at;
	part->holes = r->holes;
	return bpf_ringbuf_output(&samples, part, sizeof(*part) + bytes, BPF_RB_NO_WAKEUP) || !more;
}

static long sp_stack_above_next(sp_u32 i, struct sp_stack_above_loop *loop)
{
	(void)i;
	loop->at += SP_PENDING_STACK;
	return sp_stack_above_send(loop->s, loop->at) != 0;
}

/*
 * Sends the stack above the copy, up to the end of its mapping: now, because it will have changed by the time the table
 * is loaded. Nothing is sent if that end is further away than a thread's stack reaches: the mapping (Go's heap, say)
 * would hold other data.
 */
static __always_inline sp_u64 sp_stacks_above_send(struct sp_scratch *s, struct sp_message_pending *r)
{
	struct sp_stack_above_loop loop = {.s = s, .at = r->stack_at & ~(sp_u64)(SP_PENDING_STACK - 1)};
	sp_u64 room = sp_stack_room(s, r->stack_at, 0);

	r->above = 0;
	if (room <= SP_PENDING_STACK || room > SP_STACK_REACH)
		return 0;
	r->above = bpf_ktime_get_ns() << 8 | (bpf_get_smp_processor_id() & 255);
	return bpf_loop(SP_MAX_STACKS_ABOVE, sp_stack_above_next, &loop, 0);
}

enum { SP_TICKET_BYTES = 16384, SP_TICKET_STEP = 8 };

struct sp_ticket_loop {
	struct sp_message_pending *r;
	sp_u64 hash;
	sp_u32 from;
};

static long sp_ticket_next(sp_u32 i, struct sp_ticket_loop *loop)
{
	sp_u32 k, at = loop->from + i * 8 * SP_TICKET_STEP; /* from i: else the verifier would follow each turn */
	const sp_u64 *word;

	if (at > SP_TICKET_BYTES - 8 * SP_TICKET_STEP)
		return 1;
	word = (const sp_u64 *)&loop->r->sent[at]; /* a variable: else the compiler loads byte by byte */
	for (k = 0; k < SP_TICKET_STEP; k++)
		loop->hash = sp_hash_mix(loop->hash, word[k]);
	return at + 8 * SP_TICKET_STEP >= loop->r->stack_bytes;
}

/*
 * Makes the sample's ticket, a hash of its key, registers and stacks. Samples that are equal in these are sent once
 * until the table is loaded: a thread that waits in a loop would fill the ring with copies. 1: it was sent before.
 */
__noinline int sp_ticket_is_sent(struct sp_scratch *s, struct sp_message_pending *r)
{
	struct sp_ticket_loop loop = {.r = r};
	sp_u64 ticket;

	if (!s || !r)
		return 0;
	sp_pending_stack(s, r, r->stack_at, 0);
	if (r->stack_bytes >= SP_TICKET_BYTES) { /* hashing it would take longer than it may save */
		s->ticket = sp_hash_mix(bpf_ktime_get_ns(), bpf_get_current_pid_tgid()) | 1;
		return 0;
	}
	loop.hash = sp_hash_mix(s->hash, s->key.kernel_stack);
	loop.hash = sp_hash_mix(loop.hash, s->key.process.start_ns);
	loop.hash = sp_hash_mix(loop.hash, bpf_get_current_pid_tgid());
	loop.hash = sp_hash_mix(loop.hash, (sp_u64)s->key.recipe << 32 | s->key.state);
	loop.hash = sp_hash_mix(loop.hash, s->key.slice_unit);
	if (sp_config.objects)
		loop.hash = sp_hash_mix(loop.hash, s->key.object);
	loop.hash = sp_hash_mix(loop.hash, s->regs.sp);
	loop.hash = sp_hash_mix(loop.hash, s->regs.fp);
	/* A waiting thread uses nothing in its red zone: what is there by chance must not make a new ticket. */
	loop.from = r->stack_at < s->regs.sp ? SP_RED_ZONE : 0;
	bpf_loop(SP_TICKET_BYTES / (8 * SP_TICKET_STEP), sp_ticket_next, &loop, 0);
	ticket = s->ticket = loop.hash | 1;
	return bpf_map_lookup_elem(&stacks, &ticket) != 0;
}

static __always_inline long sp_pending_output(struct sp_message_pending *r)
{
	sp_u32 bytes = sp_pending_stack_at(r) + r->stack_bytes;

	sp_opaque(bytes);
	if (bytes > SP_PENDING_SENT)
		return -1;
	return bpf_ringbuf_output(&samples, r, sizeof(*r) - SP_PENDING_SENT + bytes, BPF_RB_FORCE_WAKEUP);
}

/* Sends the sample to the user half. 0: it is sent, or an equal one was (sp_ticket_is_sent). */
__noinline int sp_pending_send(struct sp_scratch *s)
{
	struct sp_message_pending *r = s ? sp_pending_own(s) : 0;
	sp_u64 ticket;
	sp_u32 one = 1;

	if (!s)
		return -1;
	if (!r) {
		sp_tally(SP_N_LOST_PENDING, 1);
		return -1;
	}
	r->stack_at = sp_pending_base(s->regs.sp);
	if (s->ticket && sp_ticket_is_sent(s, r))
		return 0;
	sp_key_send(s); /* first: the process and the kernel stack come before the sample that names them */
	r->type = SP_MESSAGE_PENDING;
	r->key = s->key;
	r->key.user_stack = s->ticket;
	r->value = s->ticket ? (struct sp_count){} : s->value;
	r->regs = s->regs;
	r->waits_for = s->waits_for;
	r->how = s->how;
	r->n_frames = s->n_frames - s->n_again;
	r->guessed = s->guessed;
	r->code_bytes =
	    bpf_probe_read_user(r->code, SP_CODE_BYTES, (void *)(s->regs.ip - SP_CODE_BEFORE)) ? 0 : SP_CODE_BYTES;
	sp_stacks_above_send(s, r);
	bpf_probe_read_kernel(r->frames, sizeof(s->frames), s->frames);
	sp_pending_maps(s, r, SP_PENDING_WALKS);
	sp_pending_stack(s, r, r->stack_at, sp_pending_stack_at(r));
	if (sp_pending_output(r)) {
		sp_tally(SP_N_LOST_PENDING, 1);
		return -1;
	}
	if (s->ticket) {
		ticket = s->ticket;
		bpf_map_update_elem(&stacks, &ticket, &one, BPF_ANY);
	}
	sp_tally(SP_N_PENDING, 1);
	return 0;
}

#endif
