/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_value.h: what a register or a word of the stack is known to hold, in 32 bits.
 *
 * Values are relative to the canonical frame address (CFA), to the stack pointer as an alignment left it, or are the
 * caller's frame pointer; anything else is unknown, and so is what lies too far away. Numbers: nothing is owned,
 * nothing fails. Private to the deriver.
 */
#ifndef SP_UNWIND_DERIVE_VALUE_H
#define SP_UNWIND_DERIVE_VALUE_H

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

#endif
