/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How an object's code uses words of its own: every place that could be the displacement of an operand relative to the
 * next instruction is looked at, at every byte, without decoding. What is no such operand and looks like one makes
 * a word "address taken", which leaves it alone or gives it the common trampoline: never wrong, at worst not counted.
 */
#include "audit/audit.h"

static void note_use(struct sp_range words, uint64_t address, uint8_t use, uint8_t *uses)
{
	if (address >= words.low && address < words.high && address % sizeof(uint64_t) == 0)
		uses[(address - words.low) / sizeof(uint64_t)] |= use;
}

static void scan_range(struct sp_range code, struct sp_range words, uint8_t *uses)
{
	const uint8_t *p = (const uint8_t *)code.low + 1, *end = (const uint8_t *)code.high - 4;
	uint64_t span = words.high - words.low + 8;

	for (; p < end; p++) {
		if ((*p & 0xc7) != 0x05) /* ModRM: rip + 32 bits */
			continue;
		uint64_t next = (uint64_t)p + 5 + (uint64_t)(int64_t) * (const int32_t *)(p + 1);
		if (next - words.low + 8 > span) /* below by more than an immediate's size, or above */
			continue;
		if (p[-1] == 0xff && (*p == 0x15 || *p == 0x25)) { /* call, jmp */
			note_use(words, next, SP_USED_CALL, uses);
			continue;
		}
		note_use(words, next, SP_USED_ADDRESS, uses);
		for (unsigned immediate = 1; immediate <= 4; immediate *= 2)
			note_use(words, next + immediate, SP_USED_ADDRESS, uses);
	}
}

void sp_scan(const struct sp_object *o, struct sp_range words, uint8_t *ret_uses)
{
	for (uint32_t i = 0; i < o->n_code; i++)
		if (o->code[i].high - o->code[i].low > 8)
			scan_range(o->code[i], words, ret_uses);
}
