/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h: struct sp_profile, which all layers of the user half read or write.
 *
 * A profile is a set of rows: (key, user stack, kernel stack) -> values. What a row refers to is interned in the
 * profile and has a 32-bit number: strings, files, functions, frames, stacks, processes, keys. Number 0 of each means
 * "none" ("" for strings). Numbers never change, and nothing is removed except by a renewal (window.h). The profile
 * owns all memory; pointers into it are valid until something of the same kind is added.
 * Functions return 0 or a negative errno; sp_profile_add_* return a number (>= 0) or a negative errno: -EINVAL for a
 * number that does not exist, -ENOMEM. Sums of values saturate. Not thread-safe. No limits but memory: whoever fills
 * a profile from outside limits what he adds.
 */
#ifndef SP_PROFILE_PROFILE_H
#define SP_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/key.h"

enum { SP_MAX_VALUES = 16, SP_BUILD_ID_MAX = 32 };
struct sp_profile;
/* --- values --- */
struct sp_value_type {
	uint32_t name; /* string: "samples", "cpu" ... */
	uint32_t unit; /* string: "count", "nanoseconds", "bytes" */
};

/* --- files --- */
enum sp_file_kind {
	SP_FILE_ELF = 1,
	SP_FILE_KERNEL, /* the kernel, and each module as a file of its own, named "[name]" */
	SP_FILE_VDSO,
	SP_FILE_ANON,  /* memory without a file: JIT code; belongs to one process */
	SP_FILE_OTHER, /* of foreign profiles: what they call a mapping */
	SP_FILE_WORDS, /* no file: its functions are words that stand on stacks, which are no code (frames.h) */
};
struct sp_file {
	uint8_t kind;
	uint8_t build_id_len;
	uint8_t build_id[SP_BUILD_ID_MAX];
	bool deleted;     /* its path no longer leads to it */
	bool owner_known; /* its package was looked up on the machine where it was sampled */
	uint32_t name;    /* string: for people: soname, or the last component of the path */
	uint32_t path;    /* string: may be "" */
	uint32_t package,
	    package_version;    /* strings: from the file's package note, or a package database when a view asks */
	uint32_t process;       /* ANON: the process whose memory it is */
	uint32_t build_id_text; /* string: in place of build_id, one from a foreign profile that is not in hex */
	uint32_t note; /* string: why it has no names, if something went wrong: "parser failed", "cannot open: ..." */
	uint64_t bias; /* ANON: address of offset 0 */
	uint64_t tag;  /* chosen by who adds the file: other tag, other file; not interpreted */
};
/* --- functions and frames --- */
/* Kernel frames are all in the file "[kernel]", but a module's functions in the module's: views show func.file. */
struct sp_func {
	uint32_t name;         /* string, demangled; or library+0xSTART */
	uint32_t linkage_name; /* string, as in the symbol table; "" for library+0xSTART */
	uint32_t file;
	bool is_range;        /* named by its range only: library+0xSTART */
	uint64_t start, size; /* file offsets */
	uint64_t vaddr;       /* of start, as in readelf: START of library+0xSTART; kernel, ANON: address */
	uint32_t source;      /* string: its source file, "" = not known */
	uint32_t source_line; /* its first line, 0 = not known */
};
#define SP_SHORTENED "[shortened]" /* name of the function in place of frames that were left out */
/*
 * The bits of a frame's flags from SP_FRAME_VARIANT_SHIFT up hold a variant number, which distinguishes frames that
 * have the same address or none: see sp_profile_add_frame_variant(). 0 in soprof's own recordings.
 */
enum { SP_FRAME_VARIANT_SHIFT = 8, SP_FRAME_MAX_VARIANT = (1 << (32 - SP_FRAME_VARIANT_SHIFT)) - 1 };
enum {
	SP_FRAMEF_GUESSED = 1,
	SP_FRAMEF_DERIVED = 2,
	SP_FRAMEF_KERNEL = 4,
	SP_FRAMEF_INLINED = 8, /* into its caller, the next frame of the stack, which has the same file and offset */
	SP_FRAMEF_ADDRESS_TAKEN = 16, /* counted calls: calls through the function's address are not counted */
	SP_FRAMEF_UNTIMED = 32,       /* counted calls: this function's are never timed */
	SP_FRAMEF_SHORTENED = 64,     /* in place of frames that were left out of a deep stack */
	SP_FRAMEF_RUNTIME = 128,      /* unwound by data of the language runtime */
};
struct sp_frame {
	uint64_t offset; /* FILE: byte offset in the file; KERNEL: address; ANON: relative to the file's bias */
	uint32_t file;
	uint32_t func; /* 0 until symbolized; not part of the frame's identity */
	uint32_t flags;
	uint32_t line; /* in func's source: of the instruction, or of the call it made; 0 = not known; set with func */
};
/* How complete a user stack is. The reasons of CUT are wire.h's enum sp_stop, kept as a number for the summary. */
enum sp_stack_class { SP_CLASS_COMPLETE, SP_CLASS_CUT, SP_CLASS_GUESSED, SP_CLASS_ABSENT };
struct sp_stack {
	uint16_t stack_class; /* enum sp_stack_class */
	uint16_t reason;      /* enum sp_stop */
	uint32_t n_frames;
	const uint32_t *frames; /* frame numbers, leaf first */
};
struct sp_row {
	uint32_t key, user, kernel; /* numbers of key and stacks; stack 0 = none */
	int64_t values[];           /* as many as the profile has value types, but at least one */
};
/* About the recording, for summaries. */
struct sp_profile_info {
	uint64_t duration_ns, time_ns, slice_ns; /* time_ns: of the start, since 1970; slice_ns: of each, 0 = unknown */
	uint64_t period;                         /* of period_type */
	struct sp_value_type period_type;
	uint32_t default_type, drop_frames, keep_frames, doc_url; /* strings: pprof's fields of these names */
	uint32_t comments;                                        /* pprof's, as a set of labels without names */
};

int sp_profile_new(struct sp_profile **ret_profile);
void sp_profile_free(struct sp_profile *p);
uint64_t sp_profile_serial(const struct sp_profile *p); /* from 1; different for each profile of this process */
struct sp_profile_info *sp_profile_info(const struct sp_profile *p); /* mutable */

int sp_profile_add_value_type(struct sp_profile *p, const char *name, const char *unit); /* before the first row */
uint32_t sp_profile_n_value_types(const struct sp_profile *p);
const struct sp_value_type *sp_profile_value_type(const struct sp_profile *p, uint32_t i);

int64_t sp_profile_add_string(struct sp_profile *p, const char *s);
int64_t sp_profile_add_bytes(struct sp_profile *p, const void *s, size_t len); /* cut at the first NUL */
const char *sp_profile_string(const struct sp_profile *p, uint32_t string);

/* Files are distinct by kind and tag: a file that is there already is returned, its other fields unchanged. */
int64_t sp_profile_add_file(struct sp_profile *p, const struct sp_file *file);
int64_t sp_profile_add_func(struct sp_profile *p, const struct sp_func *func);    /* distinct by all fields */
int64_t sp_profile_add_frame(struct sp_profile *p, const struct sp_frame *frame); /* distinct by offset, file, flags */
/*
 * Adds a frame that is distinct by func and line, too: for functions inlined at one address, or of foreign profiles
 * without addresses (both with has_address false). The variant number in the flags is made of a hash of function and
 * line, so that it is mostly the same in all profiles. -E2BIG: too many variants.
 */
int64_t sp_profile_add_frame_variant(struct sp_profile *p, const struct sp_frame *frame, bool has_address);
int64_t sp_profile_add_stack(struct sp_profile *p, const struct sp_stack *stack);
/* Adds the values to the row of this key and these stacks; makes the row if there is none. */
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
const struct sp_row *sp_profile_row(const struct sp_profile *p, uint32_t row); /* 0 .. n-1; 0 is a row like others */

#endif
