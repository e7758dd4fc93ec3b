/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sigreturn.h: recognises the code that signal handlers return to, by its instructions.
 *
 * It is mov $15, %eax (or %rax); syscall: the kernel's ABI, by which debuggers recognise it, too. glibc has an FDE for
 * it, marked as a signal frame; musl and others' assembly have none; Go has its own. A handler returns to its first
 * byte, and a return address is looked up one byte before; so the byte before belongs to it. No state; offsets are the
 * file's.
 */
#ifndef SP_ELF_SIGRETURN_H
#define SP_ELF_SIGRETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_SIGRETURN_NAME "__restore_rt" /* its name in glibc and musl, used for all */
#define SP_SIGRETURN_TAIL "\x0f\0\0\0\x0f\x05"
enum { SP_SIGRETURN_TAIL_BYTES = sizeof(SP_SIGRETURN_TAIL) - 1, SP_SIGRETURN_MAX_BYTES = 9 };

/* The length of this code if it ends at the end of the n bytes at `code`; else 0. */
size_t sp_sigreturn_before(const uint8_t *code, size_t n);

struct sp_elf;
struct sp_sigreturn_window { /* the last bytes read, since neighbouring functions are looked up one after the other */
	struct sp_elf *elf;
	uint64_t start;
	size_t n; /* 0 at first */
	uint8_t bytes[4096];
};
/* Whether an offset is in this code or at the byte before it; start and size of both. False if it cannot be read. */
bool sp_sigreturn_at(struct sp_sigreturn_window *w, uint64_t offset, uint64_t *ret_start, uint64_t *ret_size);

#endif
