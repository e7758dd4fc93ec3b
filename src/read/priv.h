/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: shared by the readers: adding files, functions and frames of foreign profiles.
 *
 * A frame is identified by its address, but foreign profiles have several functions at one address (inlined ones) and
 * functions without addresses (folded text), which get offset 0: see sp_profile_add_frame_variant(). A file's tag is
 * a hash of its name, so that a library is one file in two profiles. Functions return numbers of the profile, or a
 * negative errno. No state.
 */
#ifndef SP_READ_PRIV_H
#define SP_READ_PRIV_H

#include "read/read.h"

#include <stddef.h>

struct sp_input;
struct sp_frame;
struct sp_profile;

enum {
	SP_READ_REASON_UNKNOWN = UINT16_MAX, /* of cut stacks, where the input does not say why */
};

/* Sets result->bytes, and adds what keep_going skipped in the input itself. */
/* 0; -EFBIG: what was read takes more memory than read.h allows. For who goes on when all was read. */
int sp_input_check_memory(const struct sp_input *in);
void sp_input_report(const struct sp_input *in, struct sp_read_result *result);
/* Whether keep_going ended the input early because of broken compression, which is counted already. */
bool sp_input_is_cut(const struct sp_input *in);

/* --- names.c --- */
#define SP_READ_WAKER "[waker]" /* no file: words beside the code, in our profiles of waits (profile/frames.h) */
/*
 * The file of this name (a path, a soname, "[kernel.kallsyms]", "[vdso]", "[anon:PID]" ...), which also decides its
 * kind. "" is file 0. "PATH (deleted)" is another file than PATH; its name ends in " (deleted)", too, if it has no
 * build id.
 */
int64_t sp_read_file(struct sp_profile *p, const char *path, const uint8_t *build_id, size_t build_id_len);
/* The same for a mapping of pprof, by strings of the profile; a build id that is not in hex is kept as text. */
int64_t sp_read_mapping(struct sp_profile *p, uint32_t path, uint32_t build_id);
/* Whether this is a kernel module: "[ext4]", ".../ext4.ko.xz". */
bool sp_read_is_module(const char *path);
/* The length of LIBRARY if name is LIBRARY+0xHEX, the name of a function known only by its range; else 0. */
size_t sp_read_range(const char *name, uint64_t *ret_offset);
/* A frame with an address, or of a function known by name only, in a file or none (0). */
int64_t sp_read_frame(struct sp_profile *p, const struct sp_frame *frame, bool has_address);
/*
 * Undoes \xNN (enum sp_encoding) in text of len bytes, if encoding the result gives the same text; else it is not ours,
 * and is copied unchanged. A new string; NULL: out of memory.
 */
char *sp_read_unescape(int encoding, const char *text, size_t len);

#endif
