/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_switch.h: how Go's systemstack, up to Go 1.20, finds the way back to the stack that it was called on.
 *
 * It leaves no frame behind: the caller's stack pointer is in the goroutine, to which three words lead from the one
 * that the thread's stack belongs to: its thread, that one's goroutine, and where that one's stack pointer is saved.
 * Go 1.17 and later keep the latter's address in r14. The offsets differ between versions of Go, so they are read off
 * the instructions behind the call, by which the function itself goes back. (Source of the method: Go's
 * runtime/asm_amd64.s.) A pure function of the file's bytes, which may be hostile; it reads at most SP_GO_SWITCH_BYTES.
 */
#ifndef SP_UNWIND_GO_SWITCH_H
#define SP_UNWIND_GO_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

enum { SP_GO_SWITCH_BYTES = 512, SP_GO_REG = 14 }; /* SP_GO_REG: the goroutine's address, by DWARF's number */

struct sp_elf;
struct sp_rule;
struct sp_go_switch {
	uint64_t from, to; /* virtual addresses: here the stack is another one */
	int32_t chain;     /* `off` of SP_CFA_CHAIN, which leads back from SP_GO_REG */
};
/* False: the code at [start, end) does not go back in this way. */
bool sp_go_switch_find(struct sp_elf *e, uint64_t start, uint64_t end, struct sp_go_switch *ret_switch);

/*
 * The register, by DWARF's number, in which the return address is in [start, end): `pop` stands before it, and in it no
 * more than the system call and `push` (Go's syscall/asm_linux_amd64.s, rawVforkSyscall). Negative: it is other code.
 */
int sp_go_popped_into(struct sp_elf *e, uint64_t start, uint64_t end);

#endif
