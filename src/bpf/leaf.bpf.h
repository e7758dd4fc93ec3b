/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * leaf.bpf.h: finds the return address of a leaf that has no unwind row, by the code around it, as
 * unwind/x86_64/leaf.h, v8.h and hotspot.h do. Their loops, of which the verifier would follow each turn, are
 * bpf_loop() here.
 *
 * Included by unwind.bpf.h, behind sp_env_around().
 */
#ifndef SP_BPF_LEAF_BPF_H
#define SP_BPF_LEAF_BPF_H

struct sp_leaf_loop {
	struct sp_scratch *s;
	sp_s32 leaf;
};

static long sp_leaf_next(sp_u32 i, struct sp_leaf_loop *loop)
{
	if (!loop->s || i >= SP_LEAF_AHEAD)
		return 1;
	loop->leaf = sp_leaf_place(loop->s->code + SP_CODE_BEFORE + i);
	return loop->leaf != SP_LEAF_UNKNOWN;
}

/* As sp_leaf() in the user half. */
static __always_inline sp_s32 sp_leaf_ahead(struct sp_scratch *s)
{
	struct sp_leaf_loop loop = {.s = s, .leaf = sp_leaf_here(s->code + SP_CODE_BEFORE)};

	if (loop.leaf == SP_LEAF_UNKNOWN)
		bpf_loop(SP_LEAF_AHEAD, sp_leaf_next, &loop, 0);
	return loop.leaf;
}

/* The code around a leaf may end in a page that was never touched: what is before that may tell. */
__noinline sp_s32 sp_leaf_of(struct sp_scratch *s)
{
	sp_u64 at, n;
	int is_part;
	sp_s32 off;

	if (!s)
		return SP_LEAF_UNREAD;
	at = s->regs.ip - SP_CODE_BEFORE;
	is_part = sp_env_around(s, s->regs.ip);
	if (is_part) {
		n = SP_CODE_PAGE - at % SP_CODE_PAGE;
		sp_opaque(n);
		if (n <= SP_CODE_BEFORE || n > SP_CODE_BYTES)
			return SP_LEAF_UNREAD;
		__builtin_memset(s->code, SP_CODE_NOP, SP_CODE_BYTES);
		if (bpf_probe_read_user(s->code, n, (void *)at))
			return SP_LEAF_UNREAD;
	}
	off = sp_leaf_ahead(s);
	return is_part && off == SP_LEAF_UNKNOWN ? SP_LEAF_UNREAD : off;
}

struct sp_ahead_loop {
	const sp_u8 *code;
	sp_u64 n;
	sp_u32 at;
};

static long sp_ahead_next(sp_u32 i, struct sp_ahead_loop *loop)
{
	if (i >= SP_V8_FAR)
		return 1;
	if (sp_v8_makes_frame(loop->code + i))
		loop->at = i;
	return loop->at < SP_V8_FAR || sp_v8_ends(loop->code + i);
}

/* As sp_v8_ahead() in the user half. */
__noinline sp_u32 sp_env_ahead(struct sp_scratch *s)
{
	struct sp_ahead_loop loop = {.at = SP_V8_FAR};

	if (!s)
		return SP_V8_FAR;
	loop.code = s->code + SP_CODE_BEFORE;
	bpf_loop(SP_V8_FAR, sp_ahead_next, &loop, 0);
	return loop.at;
}

static long sp_hotspot_next(sp_u32 i, struct sp_ahead_loop *loop)
{
	if (i >= SP_HOTSPOT_AHEAD || i >= loop->n)
		return 1;
	loop->at = sp_hotspot_makes_room(loop->code + i);
	return loop->at;
}

static __always_inline sp_u32 sp_env_hotspot_ahead(const sp_u8 *code, sp_u64 n)
{
	struct sp_ahead_loop loop = {.code = code, .n = n};

	bpf_loop(SP_HOTSPOT_AHEAD, sp_hotspot_next, &loop, 0);
	return loop.at;
}

#endif
