/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug.h: which symbols and debug information an ELF file has, and where the rest is.
 *
 * Formats: GDB's manual, "Debugging Information in Separate Files" (.gnu_debuglink: a file name, padding to 4 bytes,
 * the CRC-32 of the debug file; build ids) and "MiniDebugInfo" (.gnu_debugdata: an ELF file with a .symtab,
 * compressed by xz). A link whose name is empty, ".." or has a slash is ignored, since it would lead elsewhere.
 * Unpacked debug data has at most SP_DEBUGDATA_MAX bytes, and unpacking needs at most 96 MiB more (xz -9 needs 65);
 * data with wrong checksums is not used. Errors: -ENOENT for what the file does not have, -EBADMSG for broken data,
 * -EFBIG over a limit. No state.
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

/* Only fails with -ENOMEM: what cannot be read counts as missing. */
int sp_elf_debug_look(struct sp_elf *e, struct sp_elf_debug *ret_debug);

/* Unpacks .gnu_debugdata into a new buffer (free it). */
int sp_elf_debugdata(struct sp_elf *e, void **ret_bytes, size_t *ret_size);

/* The CRC-32 of the whole file, as in .gnu_debuglink. */
int sp_elf_crc(int fd, uint32_t *ret_crc);

/* Whether the text of a debug link, which is untrusted, is a file name and not a path. */
bool sp_debuglink_is_name(const char *name);

#endif
