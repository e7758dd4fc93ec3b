/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How an object's code uses words of its own: every place that could be the displacement of an operand relative to the
 * next instruction is looked at, at every byte, without decoding. What is no such operand and looks like one makes
 * a word "address taken", which leaves it alone: never wrong, at worst not counted. Code that reaches words from the
 * table's own address (the large and the medium model) may take any of them.
 */
#include "audit/audit.h"

static void note_use(struct sp_range words, uint64_t address, uint8_t use, uint8_t *uses)
{
	if (address >= words.low && address < words.high && address % sizeof(uint64_t) == 0)
		uses[(address - words.low) / sizeof(uint64_t)] |= use;
}

static void note_stub(uint64_t jump, struct sp_range *stubs)
{
	uint64_t from = (jump - 1) & ~7ULL; /* an endbr64 before it */

	if (stubs->high == 0 || from < stubs->low)
		stubs->low = from;
	if (jump + 8 > stubs->high)
		stubs->high = jump + 8;
}

/* lea TABLE(%rip), or lea of itself, from where the large model adds its way to the table. */
static bool is_table(const uint8_t *modrm, uint64_t next, uint64_t got)
{
	return modrm[-1] == 0x8d && ((got != 0 && next == got) || next == (uint64_t)modrm - 2);
}

/* False: any word may be taken. */
static bool scan_range(struct sp_range code, uint64_t got, struct sp_range words, uint8_t *uses, struct sp_range *stubs)
{
	const uint8_t *p = (const uint8_t *)code.low + 1, *end = (const uint8_t *)code.high - 4;
	uint64_t span = words.high - words.low + 8;

	for (; p < end; p++) {
		if ((*p & 0xc7) != 0x05) /* ModRM: rip + 32 bits */
			continue;
		uint64_t next = (uint64_t)p + 5 + (uint64_t)(int64_t) * (const int32_t *)(p + 1);
		if (is_table(p, next, got))
			return false;
		if (next - words.low + 8 > span) /* below by more than an immediate's size, or above */
			continue;
		if (p[-1] == 0xff && *p == 0x25 && sp_stub_is(p - 1)) {
			note_use(words, next, SP_USED_STUB, uses);
			note_stub((uint64_t)p - 1, stubs);
			continue;
		}
		if (p[-1] == 0xff && (*p == 0x15 || *p == 0x25)) { /* call, jmp */
			note_use(words, next, SP_USED_CALL, uses);
			continue;
		}
		note_use(words, next, SP_USED_ADDRESS, uses);
		for (unsigned immediate = 1; immediate <= 4; immediate *= 2)
			note_use(words, next + immediate, SP_USED_ADDRESS, uses);
	}
	return true;
}

void sp_scan_code(const struct sp_object *o, struct sp_range words, uint8_t *ret_uses, struct sp_range *ret_stubs)
{
	bool by_word = true;

	*ret_stubs = (struct sp_range){0, 0};
	for (uint32_t i = 0; i < o->n_code; i++)
		if (o->code[i].high - o->code[i].low > 8)
			by_word = scan_range(o->code[i], o->got, words, ret_uses, ret_stubs) && by_word;
	for (uint64_t i = 0; i < (words.high - words.low) / sizeof(uint64_t) && !by_word; i++)
		ret_uses[i] |= SP_USED_ADDRESS;
}
