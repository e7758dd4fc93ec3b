/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sigreturn.h: the code that signal handlers return to, by its instructions.
 *
 * mov $15, %eax (or %rax); syscall: the kernel asks for it, and debuggers know it by that. glibc has an FDE for it,
 * marked as a signal frame; musl and others' assembly have none; Go has its own. A handler's return address is its
 * first byte, and a caller is looked up one byte before: so that byte belongs to it. No state; offsets are the file's.
 */
#ifndef SP_ELF_SIGRETURN_H
#define SP_ELF_SIGRETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_SIGRETURN_NAME "__restore_rt" /* in glibc and musl; so it is called everywhere */
#define SP_SIGRETURN_TAIL "\x0f\0\0\0\x0f\x05"
enum { SP_SIGRETURN_TAIL_BYTES = sizeof(SP_SIGRETURN_TAIL) - 1, SP_SIGRETURN_MAX_BYTES = 9 };

/* How long it is, if it ends with the n bytes at `code`; 0: it does not. */
size_t sp_sigreturn_before(const uint8_t *code, size_t n);

struct sp_elf;
struct sp_sigreturn_window { /* the bytes read last, since a table's functions are asked for one after the other */
	struct sp_elf *elf;
	uint64_t start;
	size_t n; /* 0 at first */
	uint8_t bytes[4096];
};
/* Whether an offset is in it, or the byte before; what it all is. Code that cannot be read has none, nor have data. */
bool sp_sigreturn_at(struct sp_sigreturn_window *w, uint64_t offset, uint64_t *ret_start, uint64_t *ret_size);

#endif
