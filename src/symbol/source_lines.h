/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_lines.h: source lines and inlined functions for file offsets of an ELF file with DWARF.
 *
 * Uses libdw, on the file or its separate debug file: for each offset the functions that contain it, innermost first;
 * all but the last are inlined into the next one. The line of the innermost is that of the offset, the line of the
 * others that of the inlined call. Runs in a worker process, so a crash of libdw on broken DWARF costs one file's lines
 * only. Limits: SP_SOURCE_LINES_MAX functions at an offset (the outermost beyond are left out), SP_NAME_MAX - 1 bytes
 * of a name or path. Split DWARF and supplementary files (dwz) are not followed: what is in them is missing. 0 or a
 * negative errno; -ENOENT: no DWARF. Reentrant.
 */
#ifndef SP_SYMBOL_SOURCE_LINES_H
#define SP_SYMBOL_SOURCE_LINES_H

#include <stddef.h>
#include <stdint.h>

enum { SP_SOURCE_LINES_MAX = 64 };

struct sp_source_frame {
	char *name;                /* demangled; NULL = not known */
	char *source;              /* source file; NULL = not known */
	uint32_t line, begin_line; /* begin_line: of the function; 0 = not known */
};
struct sp_source_lines { /* of one offset; n 0 = nothing known */
	struct sp_source_frame *frames;
	size_t n;
};

struct sp_elf;
struct sp_profile;

/* Loads libdw, before system calls are filtered that load libraries. -ELIBACC: it is not installed. */
int sp_source_lines_load(void);
/* fd: the file with the DWARF; e: the file of the offsets. Free with sp_source_lines_done(). */
int sp_source_lines_find(int fd, const struct sp_elf *e, const uint64_t *offsets, size_t n,
			 struct sp_source_lines *sources);
void sp_source_lines_done(struct sp_source_lines *sources, size_t n);

struct sp_source_resolver {
	void *arg;
	/* For sorted offsets of a file; sources[] is zeroed and n long. -ENOENT: there is none, which is no loss. */
	int (*resolve)(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_source_lines *sources);
};
/*
 * Makes a new profile of a symbolized one: frames have lines, functions their source files, and each frame is preceded
 * by the frames inlined at it.
 */
int sp_symbol_inline(struct sp_profile *p, const struct sp_source_resolver *resolver, struct sp_profile **ret_profile);

#endif
