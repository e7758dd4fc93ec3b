/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * insn.h: one instruction: what it is, where it leads, what it does to the frame.
 *
 * Over Zydis. Addresses are whatever the caller counts in: virtual ones, or file offsets, as distances within a segment
 * are the same. The bytes may be hostile. No state but the decoder's, which is constant after sp_insn_init(); no
 * memory; no errors but "no instruction".
 */
#ifndef SP_UNWIND_INSN_H
#define SP_UNWIND_INSN_H

#include "unwind/x86_64/derive_value.h"
#include <Zydis/Zydis.h>

enum sp_flow { SP_FLOW_NEXT, SP_FLOW_CALL, SP_FLOW_JUMP, SP_FLOW_BRANCH, SP_FLOW_RETURN, SP_FLOW_STOP };
struct sp_insn {
	ZydisDecodedInstruction z;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uint8_t length;
	uint8_t flow;     /* enum sp_flow */
	bool has_target;  /* of a call, jump or branch: it is direct */
	bool has_address; /* an address of code may be taken: `lea`, or an absolute immediate */
	bool is_padding;
	uint64_t target, address;
};
void sp_insn_init(ZydisDecoder *decoder);
/* False: no instruction. */
bool sp_insn_decode(const ZydisDecoder *d, const uint8_t *bytes, size_t size, uint64_t vaddr, struct sp_insn *ret);
/* Decodes only what code it leads to or takes the address of, which costs much less. */
struct sp_reference {
	uint8_t length;
	uint8_t flow;      /* enum sp_flow */
	bool any, is_call; /* any: there is a target */
	bool is_open;      /* a computed jump, but for one by way of the GOT */
	bool is_odd;       /* hardly ever in a program, but often in what is none: ports, text, zeros */
	uint64_t target;
};
bool sp_insn_refers(const ZydisDecoder *d, const uint8_t *bytes, size_t size, uint64_t vaddr, struct sp_reference *ret);
/* A bit for each register that it writes, by DWARF numbers; all of them if it enters the kernel. */
uint16_t sp_insn_writes(const struct sp_insn *i);
uint8_t sp_reg_dwarf(unsigned reg);
/* Its effect on what is known; pos is any number of the instruction. */
void sp_insn_apply(const struct sp_insn *i, uint32_t pos, struct sp_state *s);

#endif
