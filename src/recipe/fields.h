/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fields.h: what expressions may name: the fields of a tracepoint, by its `format` in tracefs, or its arguments, by the
 * kernel's types (types.h), and what all events have.
 *
 * A tracepoint's record is what its classic programs get. Single system calls have no program of their own: their
 * fields are the call's arguments and result. Needs the right to read tracefs; where it is not mounted it is opened
 * without a place, which needs CAP_SYS_ADMIN. Errors are negative errnos with sp_error_text(). No state.
 */
#ifndef SP_RECIPE_FIELDS_H
#define SP_RECIPE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;
struct sp_types;

enum sp_field_from {
	SP_FIELD_NOWHERE,  /* programs cannot read it: `why_not` */
	SP_FIELD_RECORD,   /* of the tracepoint, at an offset */
	SP_FIELD_DYNAMIC,  /* text whose place in the record is at an offset: 16 bits of offset, 16 of length */
	SP_FIELD_ARGUMENT, /* of the raw tracepoint: `offset` is its number */
	SP_FIELD_BUILTIN,  /* `offset` is an enum sp_builtin */
	SP_FIELD_PLACE,    /* in the kernel's memory, at an offset from what another part of the expression gives */
};
enum { SP_FIELD_ARGUMENTS = 12 /* programs read no more */, SP_FIELD_RETURNED = 6 /* of a probe: the call's value */ };
struct sp_field {
	char name[64], type[64]; /* as the kernel writes them */
	enum sp_field_from from;
	uint32_t offset, size; /* in bytes */
	bool is_signed, is_text;
	bool is_string; /* the address of text */
	bool is_narrow; /* an argument whose bits above its size may be anything */
	const char *why_not;
	uint32_t type_id;    /* in the kernel's types; 0: by the words of `type`, if at all */
	uint16_t base;       /* of a place: the number of that part */
	uint8_t bit, n_bits; /* of a bit-field: where it begins in the bytes, and its length; else 0 */
};

struct sp_fields {
	struct sp_field *list;
	size_t n, capacity;
	uint32_t id;            /* of the tracepoint, by which perf_event_open knows it */
	struct sp_types *types; /* NULL: without members of structures, and constants */
	const struct btf *btf;  /* of them, where the fields' types are; NULL: the kernel's */
};

static inline uint32_t sp_field_bits(const struct sp_field *f)
{
	return f->n_bits ? f->n_bits : 8 * f->size;
}

/* The fields of SYSTEM:EVENT. -EACCES, -ENOENT ...: its format cannot be read. types: for typedefs, or NULL. */
int sp_fields_read(const char *tracepoint, struct sp_types *types, struct sp_fields *ret_fields);
/* Reads a format. -EINVAL: it is none. */
int sp_fields_parse(const char *format, struct sp_fields *ret_fields);
/* The arguments of a raw tracepoint, as C declares them: "bool a, struct b *c". */
int sp_fields_of_arguments(const char *declarations, struct sp_fields *ret_fields);
/* Only names and types of such. */
int sp_fields_declared(const char *declarations, struct sp_fields *ret_fields);
/* Makes those of a single system call out of its format's. is_enter: of its beginning. */
void sp_fields_of_call(struct sp_fields *fields, bool is_enter);
/* One of the event's, else one that all events have; NULL: none. */
const struct sp_field *sp_fields_find(const struct sp_fields *fields, const char *name, size_t n);
void sp_fields_done(struct sp_fields *fields);

/* What all events have; NULL after the last. */
const struct sp_field *sp_builtin_at(size_t i);

#endif
