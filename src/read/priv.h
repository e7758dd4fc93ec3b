/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the readers share: how the files, functions and frames that foreign profiles name are put into a
 * profile.
 *
 * A frame's identity is its place, but foreign profiles have several functions at one place (inlined ones) and
 * functions without any place (folded text), which lie at offset 0: see sp_profile_add_frame_apart(). A file's tag is a
 * hash of what it is called, so that one library is one file in two profiles. Functions return numbers of the profile,
 * or a negative errno. No state.
 */
#ifndef SP_READ_PRIV_H
#define SP_READ_PRIV_H

#include "read/read.h"

#include <stddef.h>

struct sp_input;
struct sp_frame;
struct sp_profile;

enum {
	SP_READ_REASON_UNKNOWN = UINT16_MAX, /* why a stack is cut, where the input does not say */
};

/* result->bytes, and what keep_going passed over in the input itself. */
void sp_input_tell(const struct sp_input *in, struct sp_read_result *result);
/* Whether it ended before its end, as keep_going wants it of broken compression: counted already. */
bool sp_input_is_cut(const struct sp_input *in);

/* --- names.c ------------------------------------------------------------------------------------------------------ */
/*
 * The file that is called so (a path, a soname, "[kernel.kallsyms]", "[vdso]", "[anon:PID]" ...), its kind told from
 * that. build_id: its bytes, or none. "" is file 0. "PATH (deleted)" is another file than PATH; only if its build id is
 * not known, its name ends so, too.
 */
int64_t sp_read_file(struct sp_profile *p, const char *path, const uint8_t *build_id, size_t build_id_len);
/* The same of a pprof's mapping, by strings of the profile; a build id that is no hex digits is kept as it is. */
int64_t sp_read_mapping(struct sp_profile *p, uint32_t path, uint32_t build_id);
/* Whether this is a module of the kernel: "[ext4]", ".../ext4.ko.xz". */
bool sp_read_is_module(const char *path);
/* The length of LIBRARY if name is LIBRARY+0xHEX, as functions are called that nothing but their range is known of. */
size_t sp_read_range(const char *name, uint64_t *ret_offset);
/* The frame of a place, or of a function of its file (or of 0, no file) that is known by its name only. */
int64_t sp_read_frame(struct sp_profile *p, const struct sp_frame *frame, bool has_place);
/*
 * Undoes \xNN (enum sp_encoding) in text of len bytes, if writing the result anew would give the same text: else it was
 * meant as it stands. A new string, ended by a NUL; NULL: out of memory.
 */
char *sp_read_decoded(int encoding, const char *text, size_t len);

#endif
