/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_value.h: what a register or stack word is known to hold, in 32 bits, and the state of all at one position.
 *
 * A value is relative to the canonical frame address (CFA) or to the stack pointer after an alignment, or it is the
 * caller's frame pointer. All else, and what is too far away, is unknown. States are compared and copied as bytes.
 * Registers have their numbers in instructions. No memory, no errors.
 */
#ifndef SP_UNWIND_DERIVE_VALUE_H
#define SP_UNWIND_DERIVE_VALUE_H

#include "bpf/wire.h"
#include <stdbool.h>
#include <stdint.h>

enum sp_val_kind { SP_VAL_UNKNOWN, SP_VAL_CFA, SP_VAL_ALIGNED, SP_VAL_FP };
typedef uint32_t sp_val; /* kind << 29 | offset + 2^28 (0: unknown) */
#define SP_VAL_BIAS (1 << 28)
static inline sp_val sp_val_make(enum sp_val_kind kind, int64_t off)
{
	if (kind == SP_VAL_UNKNOWN || off < -(SP_VAL_BIAS / 2) || off > SP_VAL_BIAS / 2)
		return 0;
	return (uint32_t)kind << 29 | (uint32_t)(off + SP_VAL_BIAS);
}
static inline enum sp_val_kind sp_val_kind(sp_val v)
{
	return v >> 29;
}
static inline int32_t sp_val_off(sp_val v)
{
	return (int32_t)(v & 0x1fffffff) - SP_VAL_BIAS;
}
static inline sp_val sp_val_add(sp_val v, int64_t n)
{
	enum sp_val_kind kind = sp_val_kind(v);
	if (n < -SP_VAL_BIAS || n > SP_VAL_BIAS || kind == SP_VAL_UNKNOWN || (kind == SP_VAL_FP && n))
		return 0;
	return sp_val_make(kind, sp_val_off(v) + n);
}

enum { SP_R_SP = 4, SP_R_FP = 5, SP_R_NONE = 0xff, SP_MAX_SLOTS = 16 };
struct sp_slot { /* 8 bytes of the stack whose content is known */
	sp_val at, value;
};
enum sp_thread { SP_THREAD_NO, SP_THREAD_MAYBE, SP_THREAD_BEGINS }; /* MAYBE: behind a `syscall` */
struct sp_state {
	sp_val reg[16];
	uint32_t aligned_at;       /* position + 1 of the instruction that SP_VAL_ALIGNED is relative to */
	uint32_t doubt;            /* position + 1 after the last call on this path, which may never return; or 0 */
	uint16_t saved, own, held; /* preserved registers: pushed; then set; not set since the last call */
	uint32_t since[16];        /* the doubt at the time when such a register was set */
	uint32_t thread;           /* enum sp_thread */
	uint32_t n_slots;
	struct sp_slot slot[SP_MAX_SLOTS]; /* in order of `at` */
};
void sp_state_enter(struct sp_state *s); /* sets the state at a function's first instruction */
/* The instruction at pos has aligned the stack pointer. */
void sp_state_align(struct sp_state *s, uint32_t pos);
/* Keeps what both states agree on. Returns whether *s has changed. */
bool sp_state_merge(struct sp_state *s, const struct sp_state *other);
/*
 * The rule; SP_CFA_NONE if the frame is not known. by_fp: from the frame pointer wherever possible, else only where
 * nothing else is.
 */
struct sp_rule sp_state_rule(const struct sp_state *s, bool by_fp);

#endif
