/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fields.h: what expressions may name: the fields of a tracepoint, by its `format` in tracefs, and those that all
 * events have.
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

enum sp_field_from {
	SP_FIELD_NOWHERE,  /* programs cannot read it: `why_not` */
	SP_FIELD_RECORD,   /* of the tracepoint, at an offset */
	SP_FIELD_DYNAMIC,  /* text whose place in the record is at an offset: 16 bits of offset, 16 of length */
	SP_FIELD_ARGUMENT, /* of the raw tracepoint: `offset` is its number */
	SP_FIELD_BUILTIN,  /* `offset` is an enum sp_builtin */
};
struct sp_field {
	char name[64], type[64]; /* as the kernel writes them */
	enum sp_field_from from;
	uint32_t offset, size; /* in bytes */
	bool is_signed, is_text;
	const char *why_not;
};
struct sp_fields {
	struct sp_field *list;
	size_t n, capacity;
	uint32_t id; /* of the tracepoint, by which perf_event_open knows it */
};

/* The fields of SYSTEM:EVENT. -EACCES, -ENOENT ...: its format cannot be read. */
int sp_fields_read(const char *tracepoint, struct sp_fields *ret_fields);
/* Reads a format. -EINVAL: it is none. */
int sp_fields_parse(const char *format, struct sp_fields *ret_fields);
/* The arguments of a raw tracepoint, as C declares them: "bool a, struct b *c". */
int sp_fields_of_arguments(const char *declarations, struct sp_fields *ret_fields);
/* Only names and types of such. */
int sp_fields_declared(const char *declarations, struct sp_fields *ret_fields);
/* Makes those of a single system call out of its format's. is_enter: of its beginning. */
void sp_fields_of_call(struct sp_fields *fields, bool is_enter);
void sp_fields_done(struct sp_fields *fields);

/* What all events have; NULL behind the last. */
const struct sp_field *sp_builtin_at(size_t i);

#endif
