/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h: struct sp_profile, the single currency between the layers.
 *
 * A profile is a set of rows: (key, user stack, kernel stack) -> values. Everything a row names is interned in the
 * profile and referred to by a 32-bit number: strings, files, functions, frames, stacks, processes, keys. Number 0 of
 * each is "none" ("" for strings). Numbers are stable; nothing is ever removed, but by window.h's renewal. The profile
 * owns all memory; pointers that it hands out are valid until the next call that adds something of the same kind.
 * Functions return 0 or a negative errno; sp_profile_add_* return the number (>= 0) or a negative errno: -EINVAL for a
 * number that does not exist, -ENOMEM. Sums of values stay at the ends of 64 bits instead of wrapping.
 * Not thread-safe. No limits but memory: who fills a profile from outside caps what he adds.
 */
#ifndef SP_PROFILE_PROFILE_H
#define SP_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/key.h"

enum { SP_MAX_VALUES = 8, SP_BUILD_ID_MAX = 32 };
struct sp_profile;
/* --- what a row's values are ---------------------------------------------------------------------------------- */
struct sp_value_type {
	uint32_t name; /* string: "samples", "cpu" ... */
	uint32_t unit; /* string: "count", "nanoseconds", "bytes" */
};

/* --- files ------------------------------------------------------------------------------------------------------ */
enum sp_file_kind {
	SP_FILE_ELF = 1,
	SP_FILE_KERNEL, /* the kernel itself; modules are files of their own, named "[name]" */
	SP_FILE_VDSO,
	SP_FILE_ANON,  /* memory without a file: JIT code; belongs to one process */
	SP_FILE_OTHER, /* foreign profiles: whatever they call a mapping */
};
struct sp_file {
	uint8_t kind;
	uint8_t build_id_len;
	uint8_t build_id[SP_BUILD_ID_MAX];
	bool deleted, owner_known; /* its path no longer leads to it; its package was looked for where it was seen */
	uint32_t name;             /* string: what a person calls it: soname, or the last component of the path */
	uint32_t path;             /* string: may be "" */
	uint32_t package, package_version; /* strings: as the file says, or from a database when a view asks for it */
	uint32_t process;                  /* ANON: whose memory */
	uint32_t build_id_text; /* string: in place of build_id, what a foreign profile has that is no bytes */
	uint32_t note; /* string: why it has no names, if something went wrong: "parser failed", "cannot open: ..." */
	uint64_t bias; /* ANON: address of offset 0 */
	uint64_t tag;  /* the adder's own identity of the file: unequal tags are unequal files; not interpreted */
};
/* --- functions and frames --------------------------------------------------------------------------------------- */
/*
 * func.file may differ from frame.file for kernel frames: these all lie in the file "[kernel]", and a function of a
 * module lies in the module's own file, so views show func.file where frame.file is of kind SP_FILE_KERNEL.
 */
struct sp_func {
	uint32_t name;         /* string, demangled; or library+0xSTART */
	uint32_t linkage_name; /* string, as in the symbol table; "" for library+0xSTART */
	uint32_t file;
	bool is_range;        /* named by its range only: library+0xSTART */
	uint64_t start, size; /* in the offsets of the file */
	uint64_t vaddr;       /* of start, as readelf prints it: START of library+0xSTART; kernel, anonymous: address */
	uint32_t source;      /* string: the source file that it is written in, "" = not known */
	uint32_t source_line; /* where it begins there, 0 = not known */
};
#define SP_SHORTENED "[shortened]" /* the function that stands for frames that were left out */
/*
 * The bits of a frame's flags from SP_FRAME_VARIANT_SHIFT up hold a number, 0 in our own recordings, that tells apart
 * what has no place of its own: see sp_profile_add_frame_apart(). It means nothing elsewhere.
 */
enum { SP_FRAME_VARIANT_SHIFT = 8, SP_FRAME_MAX_VARIANT = (1 << (32 - SP_FRAME_VARIANT_SHIFT)) - 1 };
enum {
	SP_FRAMEF_GUESSED = 1,
	SP_FRAMEF_DERIVED = 2,
	SP_FRAMEF_KERNEL = 4,
	SP_FRAMEF_INLINED = 8, /* into the next frame of the stack, its caller: at the same offset of the same file */
	SP_FRAMEF_ADDRESS_TAKEN = 16, /* counted calls: those by the function's address are not among them */
	SP_FRAMEF_UNTIMED = 32,       /* counted calls: those of this function are never timed */
	SP_FRAMEF_SHORTENED = 64,     /* stands for frames that were left out of a deep stack */
	SP_FRAMEF_RUNTIME = 128,      /* found by what a runtime tells of its own frames */
};
struct sp_frame {
	uint64_t offset; /* FILE: byte offset in the file; KERNEL: address; ANON: relative to the file's bias */
	uint32_t file;
	uint32_t func; /* 0 until named; not part of the frame's identity */
	uint32_t flags;
	uint32_t line; /* of func's source: where it was, or made the call; 0 = not known; set with func */
};
/* How whole a user stack is. The reasons of CUT are wire.h's enum sp_stop, kept as a number for the summary. */
enum sp_stack_class { SP_CLASS_COMPLETE, SP_CLASS_CUT, SP_CLASS_GUESSED, SP_CLASS_ABSENT };
struct sp_stack {
	uint16_t stack_class; /* enum sp_stack_class */
	uint16_t reason;      /* enum sp_stop */
	uint32_t n_frames;
	const uint32_t *frames; /* frame numbers, leaf first */
};
struct sp_row {
	uint32_t key, user, kernel; /* numbers of key and stacks; stack 0 = none */
	int64_t values[];           /* as many as the profile has value types; [0] is always there */
};
/* What the session that made it wants told beside it: shown in summaries, never interpreted. */
struct sp_profile_info {
	uint64_t duration_ns, time_ns; /* time: wall clock of the start, since 1970 */
	uint64_t period;               /* of period_type */
	struct sp_value_type period_type;
	uint32_t default_type, drop_frames, keep_frames, doc_url; /* strings: pprof's fields of these names */
	uint32_t comments;                                        /* pprof's, as a set of labels without names */
};

int sp_profile_new(struct sp_profile **ret_profile);
void sp_profile_free(struct sp_profile *p);
uint64_t sp_profile_serial(const struct sp_profile *p); /* from 1; distinct among all that this process ever makes */
struct sp_profile_info *sp_profile_info(const struct sp_profile *p); /* mutable */

int sp_profile_add_value_type(struct sp_profile *p, const char *name, const char *unit); /* before the first row */
uint32_t sp_profile_n_value_types(const struct sp_profile *p);
const struct sp_value_type *sp_profile_value_type(const struct sp_profile *p, uint32_t i);

int64_t sp_profile_add_string(struct sp_profile *p, const char *s);
int64_t sp_profile_add_bytes(struct sp_profile *p, const void *s, size_t len); /* cut at the first NUL */
const char *sp_profile_string(const struct sp_profile *p, uint32_t string);

/* Files are distinct by {kind, tag}; a file with both equal to an older one's is that file (fields not renewed). */
int64_t sp_profile_add_file(struct sp_profile *p, const struct sp_file *file);
int64_t sp_profile_add_func(struct sp_profile *p, const struct sp_func *func);    /* distinct by all fields */
int64_t sp_profile_add_frame(struct sp_profile *p, const struct sp_frame *frame); /* distinct by offset, file, flags */
/*
 * Distinct by func and line, too: of frames that are inlined at one place, or that foreign profiles name without a
 * place (at offset 0; has_place is false for both). A number in the flags tells those apart that would be the same: of
 * what the function is called and the line, so that it is mostly the same in all profiles. -E2BIG: there are too many.
 */
int64_t sp_profile_add_frame_apart(struct sp_profile *p, const struct sp_frame *frame, bool has_place);
int64_t sp_profile_add_stack(struct sp_profile *p, const struct sp_stack *stack);
/* Adds the values to the row with this key and these stacks, making it if need be. */
int sp_profile_add(struct sp_profile *p, uint32_t key, uint32_t user, uint32_t kernel, const int64_t *values);

/* Counts include number 0: valid numbers are 0 .. n-1. */
uint32_t sp_profile_n_files(const struct sp_profile *p);
uint32_t sp_profile_n_funcs(const struct sp_profile *p);
uint32_t sp_profile_n_frames(const struct sp_profile *p);
uint32_t sp_profile_n_stacks(const struct sp_profile *p);
uint32_t sp_profile_n_rows(const struct sp_profile *p);
struct sp_file *sp_profile_file(const struct sp_profile *p, uint32_t file); /* mutable: names are added late */
const struct sp_func *sp_profile_func(const struct sp_profile *p, uint32_t func);
struct sp_frame *sp_profile_frame(const struct sp_profile *p, uint32_t frame); /* mutable: func, line */
struct sp_stack sp_profile_stack(const struct sp_profile *p, uint32_t stack);
const struct sp_row *sp_profile_row(const struct sp_profile *p, uint32_t row); /* 0 .. n-1, all real */

#endif
