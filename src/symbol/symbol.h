/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol.h: symbolizes a profile: adds functions to the frames that were sampled, and only to those.
 *
 * Kernel frames are named by /proc/kallsyms, read once, with the module as the file of the function ("[ext4]", BPF
 * programs "[bpf]"); without permission to see addresses they are "[kernel]+0x...", and the file's note says why.
 * Frames in ELF files are resolved by the caller's resolver, with one request for each file and all its offsets,
 * because foreign files are parsed in a worker (worker/worker.h); a failure costs that file's names only and is
 * written to its note. A function without a name is LIBRARY+0xSTART by its range or gap, START being the virtual
 * address as in readelf; where the file could not be read, or no segment contains the frame, it is LIBRARY+0xOFFSET
 * of the frame. Anonymous memory is named by the resolver or, if that returns -ENOENT, [anon]+0xADDRESS; frames
 * without a file are [unknown]. Frames that have a function keep it. Afterwards every frame has one. Errors: 0 or a
 * negative errno. Not thread-safe.
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
 * kallsyms: a stream opened while the process could see addresses, read from its beginning; NULL = /proc/kallsyms. It
 * stays the caller's. Without a resolver frames in ELF files are library+0xOFFSET.
 */
int sp_symbol_apply(struct sp_profile *p, const struct sp_resolver *resolver, FILE *kallsyms);

/*
 * The same for a profile that grows and is symbolized repeatedly: only frames added since the last time are resolved,
 * and of these only those outside of the functions known so far (by from and to of struct sp_name). Its cost depends on
 * the number of new frames. Zero-initialize it; call sp_namer_done() before using it with another profile. Memory: 24
 * bytes for each function found, 4 for each frame not yet resolved.
 */
struct sp_known;
struct sp_namer {
	struct sp_known *known;
	uint32_t n_frames; /* frames seen so far */
	uint32_t *later;   /* those of them without a function yet, by file */
	size_t n_later, later_capacity;
	uint32_t n_later_files;
};
int sp_namer_apply(struct sp_namer *n, struct sp_profile *p, const struct sp_resolver *resolver);
void sp_namer_done(struct sp_namer *n);

#endif
