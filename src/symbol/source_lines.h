/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_lines.h: file offsets of one ELF file in, source lines and inlined functions out, where there is DWARF.
 *
 * By libdw, on the file itself or on its separate debug file: for each offset the functions that hold it, innermost
 * first; all but the last are inlined into the next. A line is where the offset lies or, of those that others are
 * inlined into, where they are. Runs in a worker: what broken DWARF makes of libdw costs one file's lines. Caps:
 * SP_SOURCE_LINES_MAX functions at one offset (the innermost are left out), SP_NAME_MAX - 1 bytes a name or path. Split
 * DWARF and supplementary files (dwz) are not followed: what is in them is missing. 0 or negative errno; -ENOENT: no
 * DWARF.
 */
#ifndef SP_SYMBOL_SOURCE_LINES_H
#define SP_SYMBOL_SOURCE_LINES_H

#include <stddef.h>
#include <stdint.h>

enum { SP_SOURCE_LINES_MAX = 64 };

struct sp_source_frame {
	char *name;                /* demangled; NULL = not told */
	char *source;              /* the file that it is written in; NULL = not told */
	uint32_t line, begin_line; /* 0 = not told */
};
struct sp_source_lines { /* of one offset; n 0 = nothing is known */
	struct sp_source_frame *frames;
	size_t n;
};

struct sp_elf;
struct sp_profile;

/* fd: of the file with the DWARF; e: the file that the offsets are of. Free with sp_source_lines_done(). */
int sp_source_lines_find(int fd, const struct sp_elf *e, const uint64_t *offsets, size_t n,
			 struct sp_source_lines *sources);
void sp_source_lines_done(struct sp_source_lines *sources, size_t n);

struct sp_source_resolver {
	void *arg;
	/* As struct sp_resolver's; sources[] is zeroed and n long. -ENOENT: there is none, which is no loss. */
	int (*resolve)(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_source_lines *sources);
};
/*
 * For a profile that has its names: frames get lines, functions their source, and in the new profile a frame becomes
 * those that are inlined at it and itself.
 */
int sp_symbol_inline(struct sp_profile *p, const struct sp_source_resolver *resolver, struct sp_profile **ret_profile);

#endif
