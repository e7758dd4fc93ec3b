/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * types.h: the kernel's types (BTF): the arguments of raw tracepoints, members of structures, constants of
 * enumerations.
 *
 * Read at first use, which takes some 50 ms, and kept until sp_types_done(). The arguments of a module's tracepoint are
 * in the module's own BTF, which is read likewise. The caller owns a struct sp_types and everything in it; fields refer
 * to it, and must not outlive it. Errors are negative errnos with sp_error_text(): -EACCES: the kernel has no types, or
 * they cannot be read; -EINVAL: it does not have these.
 */
#ifndef SP_RECIPE_TYPES_H
#define SP_RECIPE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;
struct sp_field;
struct sp_fields;

enum { SP_TYPES_MODULES = 8 };

struct sp_types {
	struct btf *kernel; /* NULL: not read yet. Tests may put there what they have made */
	struct btf *modules[SP_TYPES_MODULES];
	size_t n_modules;
};
void sp_types_done(struct sp_types *types);

/* *ret_btf: the kernel's, which belongs to `types`. */
int sp_types_load(struct sp_types *types, struct btf **ret_btf);
/* The arguments of a raw tracepoint. */
int sp_types_arguments(struct sp_types *types, const char *tracepoint, struct sp_fields *ret_fields);

/* A function's arguments, or what it returns, as a kprobe has them. -ENOENT: it is not there (without an error text).
 */
int sp_types_function(struct sp_types *types, const char *function, bool returns, struct sp_fields *ret_fields);

/* Fills in what the type makes of a field: its words, size, sign, whether it is text; or why it is no number. */
void sp_type_describe(const struct btf *btf, uint32_t type, struct sp_field *field);
/* The type that a field's words name, as "struct page *"; 0: none. */
uint32_t sp_type_of_words(const struct btf *btf, const char *words);

struct sp_member {
	uint32_t type, bit; /* where it begins, from the beginning of the structure */
	uint32_t n_bits;    /* 0: it is no bit-field */
};
/* Also one of a structure without a name within it. -ENOENT: there is none (without an error text). */
int sp_type_member(const struct btf *btf, uint32_t structure, const char *name, size_t n, struct sp_member *ret_member);
/* Calls each with the names of all of them. */
void sp_type_members(const struct btf *btf, uint32_t structure, void (*each)(void *arg, const char *name), void *arg);

/* A constant of an enumeration. How many values it has: 0, 1, or 2 if it has different ones; the first two. */
int sp_type_constant(const struct btf *btf, const char *name, size_t n, uint64_t ret_values[2]);
void sp_type_constants(const struct btf *btf, void (*each)(void *arg, const char *name), void *arg);

#endif
