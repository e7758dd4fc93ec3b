/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_registers.h: the registers of a sample of perf_event_open().
 *
 * The kernel writes those that SP_PERF_REGS has a bit for in the order of enum perf_event_x86_regs; the unwinder wants
 * them by their DWARF numbers. No state.
 */
#ifndef SP_CAPTURE_X86_64_PERF_REGISTERS_H
#define SP_CAPTURE_X86_64_PERF_REGISTERS_H

#include "base/mem.h"
#include "bpf/wire.h"
#include <stdbool.h>

#define SP_PERF_REGS 0xff0fffULL /* all but the segment registers */

/* Indexes of registers in the kernel's order. */
enum { SP_PERF_AX, SP_PERF_BX, SP_PERF_CX, SP_PERF_DX, SP_PERF_SI, SP_PERF_DI, SP_PERF_BP, SP_PERF_SP, SP_PERF_IP };
enum { SP_PERF_FLAGS = SP_PERF_IP + 1, SP_PERF_CS, SP_PERF_SS, SP_PERF_R8, SP_PERF_N_REGS = SP_PERF_R8 + 8 };

static inline void sp_perf_regs_put(const uint64_t *r, struct sp_regs *to)
{
	static const uint8_t dwarf[] = {SP_PERF_AX, SP_PERF_DX, SP_PERF_CX, SP_PERF_BX,
					SP_PERF_SI, SP_PERF_DI, SP_PERF_BP, SP_PERF_SP};
	size_t i;

	for (i = 0; i < SP_COUNT(dwarf); i++) {
		to->r[i] = r[dwarf[i]];
		to->r[8 + i] = r[SP_PERF_R8 + i];
	}
	to->ip = r[SP_PERF_IP];
	to->sp = r[SP_PERF_SP];
	to->fp = r[SP_PERF_BP];
}

static inline bool sp_perf_is_32_bit(const uint64_t *r)
{
	return r[SP_PERF_CS] == 0x23;
}

/*
 * Whether a system call was made: `syscall` leaves the address behind it in rcx and the flags in r11, an interrupt
 * neither.
 */
static inline bool sp_perf_is_call(const uint64_t *r)
{
	return r[SP_PERF_CX] == r[SP_PERF_IP] && r[SP_PERF_R8 + 3] == r[SP_PERF_FLAGS];
}

#endif
