/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol.h: a profile in, the same profile with names out. Works late: on the frames that were sampled, and only them.
 *
 * Kernel frames get their names from /proc/kallsyms, read once, with the module as the file of their function
 * ("[ext4]", BPF programs "[bpf]"); without permission to see addresses they stay "[kernel]+0x..." and the file's note
 * says why. Frames in ELF files are asked from the caller's resolver, one request a file with all its sampled offsets,
 * because foreign files are parsed in a worker (worker/worker.h); the resolver may fail, which costs that file's names
 * only and is written in its note. A function without a name is called LIBRARY+0xSTART by its range, or by the gap
 * between functions, with START as the virtual address that readelf prints; where the file could not be read, or no
 * segment of it holds the frame, LIBRARY+0xOFFSET of the frame itself in the file; anonymous memory is
 * named by the resolver, or, where that says -ENOENT, [anon]+0xADDRESS; frames without a file are [unknown]. Frames
 * that have a function already keep it. Afterwards every frame of the profile has a function.
 */
#ifndef SP_SYMBOL_SYMBOL_H
#define SP_SYMBOL_SYMBOL_H

#include "symbol/names.h"
#include <stdio.h>

struct sp_profile;

struct sp_resolver {
	void *arg;
	/*
	 * Names for the sorted offsets of file number `file`; names[] is zeroed and n long. 0 or negative errno with
	 * sp_error_text(). Called from sp_symbol_apply() only, which frees the names. -EAGAIN, from a namer's resolver:
	 * not now; the frames stay without a function, and are asked for again the next time.
	 */
	int (*resolve)(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names);
	/*
	 * The same for addresses in the kernel, in place of kallsyms: a name may be followed by a tab and its module.
	 * May be NULL.
	 */
	int (*kernel)(void *arg, const uint64_t *addresses, size_t n, struct sp_name *names);
};

/*
 * kallsyms: read from its beginning, opened by somebody who then was allowed to see addresses; NULL = /proc/kallsyms.
 * It stays the caller's. Without a resolver ELF files keep library+0xOFFSET.
 */
int sp_symbol_apply(struct sp_profile *p, const struct sp_resolver *resolver, FILE *kallsyms);

/*
 * The same for a profile that grows and is named again and again: looks at the frames that came since the last time,
 * and asks only for those that lie in no function that is known already, where the resolver has told how far its
 * answers hold (struct sp_name's from, to). What it costs follows the number of new frames. Zeroed at first; with
 * another profile, done and begun anew. Memory: 24 bytes for each function that was met, 4 for each frame that waits.
 */
struct sp_known;
struct sp_namer {
	struct sp_known *known;
	uint32_t n_frames; /* that were looked at */
	uint32_t *later;   /* of them those that have no function yet, by file */
	size_t n_later, later_capacity;
	uint32_t n_later_files;
};
int sp_namer_apply(struct sp_namer *n, struct sp_profile *p, const struct sp_resolver *resolver);
void sp_namer_done(struct sp_namer *n);

#endif
