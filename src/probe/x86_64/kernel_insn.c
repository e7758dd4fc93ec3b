/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/x86_64/kernel_insn.h"
#include "probe/point.h"
#include <string.h>

enum { REFUSED_PREFIX = -1 - SP_PROBE_PREFIX, REFUSED_OPCODE = -1 - SP_PROBE_OPCODE, REX_B_PUSH = 0x41, PAGE = 4096 };

static bool has_prefix(const ZydisDecodedInstruction *z, uint8_t prefix)
{
	for (unsigned i = 0; i < z->raw.prefix_count; i++)
		if (z->raw.prefixes[i].value == prefix)
			return true;
	return false;
}

static bool has_bad_prefix(const ZydisDecodedInstruction *z)
{
	static const uint8_t bad[] = {0xf0, 0x26, 0x2e, 0x36, 0x3e}; /* fs: and gs: are good */
	for (size_t i = 0; i < sizeof(bad); i++)
		if (has_prefix(z, bad[i]))
			return true;
	return false;
}

/* The table good_insns_64, which is also asked for the opcode behind a VEX or EVEX prefix, where it means other things.
 */
static bool is_good_opcode(uint8_t opcode)
{
	static const uint8_t bad[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37,
				      0x3f, 0x60, 0x61, 0x62, 0x6c, 0x6d, 0x6e, 0x6f, 0x82, 0x9a,
				      0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4, 0xe5, 0xe6,
				      0xe7, 0xea, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf4, 0xfa, 0xfb};
	return !memchr(bad, opcode, sizeof(bad));
}

static bool enters_kernel(const struct sp_insn *i)
{
	return i->z.meta.category == ZYDIS_CATEGORY_SYSCALL || i->z.meta.category == ZYDIS_CATEGORY_SYSRET ||
	       i->z.meta.category == ZYDIS_CATEGORY_INTERRUPT;
}

/* Not to be stepped: it holds back the exception of the step behind it, or aborts. */
static bool masks_exception(const struct sp_insn *i)
{
	bool loads_ss = i->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && i->op[0].reg.value == ZYDIS_REGISTER_SS;
	return loads_ss || i->z.mnemonic == ZYDIS_MNEMONIC_XBEGIN || i->flow == SP_FLOW_STOP;
}

static bool is_near_branch(const ZydisDecodedInstruction *z)
{
	uint8_t op = z->opcode;
	if (z->opcode_map == ZYDIS_OPCODE_MAP_0F)
		return (op & 0xf0) == 0x80;
	return z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       (op == 0xe8 || op == 0xe9 || op == 0xeb || (op & 0xf0) == 0x70);
}

static bool is_emulated(const ZydisDecodedInstruction *z, const uint8_t *bytes)
{
	if (is_near_branch(z))
		return true;
	if (z->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
		return false;
	if (z->opcode == 0x90) /* behind any prefix */
		return true;
	return (z->opcode & 0xf8) == 0x50 && (z->length == 1 || (z->length == 2 && bytes[0] == REX_B_PUSH));
}

/* It becomes a call, written at once, so it must not cross a page. */
static bool is_nop5(const uint8_t *bytes, unsigned length, uint64_t vaddr)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	return length == sizeof(nop5) && memcmp(bytes, nop5, sizeof(nop5)) == 0 && vaddr % PAGE + sizeof(nop5) <= PAGE;
}

int sp_kernel_insn_cost(const struct sp_insn *i, const uint8_t *bytes, uint64_t vaddr)
{
	const ZydisDecodedInstruction *z = &i->z;
	bool is_legacy = z->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
	bool is_plain = is_legacy && z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
	bool is_xchg = is_plain && z->opcode == 0x90 && z->raw.rex.B;

	if (has_bad_prefix(z))
		return REFUSED_PREFIX;
	if ((!is_legacy && z->encoding != ZYDIS_INSTRUCTION_ENCODING_VEX) || is_xchg || enters_kernel(i) ||
	    masks_exception(i))
		return REFUSED_OPCODE;
	if ((is_plain || !is_legacy) && !is_good_opcode(z->opcode))
		return REFUSED_OPCODE;
	if (!is_legacy)
		return SP_PROBE_STEPPED;
	if (is_near_branch(z) && has_prefix(z, 0x66))
		return REFUSED_OPCODE;
	if (is_emulated(z, bytes))
		return SP_PROBE_EMULATED;
	return is_nop5(bytes, z->length, vaddr) ? SP_PROBE_NOP5 : SP_PROBE_STEPPED;
}
