/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug.h: what an ELF file has of names and debug information, and where it says that the rest is.
 *
 * Sources: GDB's manual, "Debugging Information in Separate Files" (.gnu_debuglink: a file name, padding to 4 bytes,
 * the CRC-32 of the whole debug file; build ids) and "MiniDebugInfo" (.gnu_debugdata: an ELF file with a .symtab,
 * compressed by xz). A link's name that is empty, ".." or has a slash in it is none: it would lead somewhere else.
 * Unpacked debug data is at most SP_DEBUGDATA_MAX bytes, and unpacking takes at most 96 MiB beside it (xz -9 takes 65);
 * nothing is taken whose checksums do not hold. Errors: -ENOENT for what the file does not have, -EBADMSG for what is
 * broken, -EFBIG over a cap. Pure: no state.
 */
#ifndef SP_ELF_DEBUG_H
#define SP_ELF_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_DEBUGLINK_MAX = 256, SP_DEBUGDATA_MAX = 64 << 20 };

struct sp_elf;

struct sp_elf_debug {
	uint8_t has_symtab, has_debugdata, has_dwarf; /* 0 or not */
	uint8_t build_id_len;                         /* 0 = none */
	uint8_t build_id[32];
	uint32_t link_crc;
	char link[SP_DEBUGLINK_MAX]; /* "" = none */
};

/* What there is. Fails for -ENOMEM only: what cannot be read is not there. */
int sp_elf_debug_look(struct sp_elf *e, struct sp_elf_debug *ret_debug);

/* The file inside .gnu_debugdata into a new buffer (free it). */
int sp_elf_debugdata(struct sp_elf *e, void **ret_bytes, size_t *ret_size);

/* The CRC-32 that a .gnu_debuglink tells of a file, of all bytes of this one. */
int sp_elf_crc(int fd, uint32_t *ret_crc);

/* Whether a debug link's text, which anybody may have written, is a name and no path. */
bool sp_debuglink_is_name(const char *name);

#endif
