/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.h: the pprof reader's tables, between its parts.
 *
 * pprof.c streams over the fields of the profile message and parses each message by itself into these tables;
 * pprof_samples.c folds samples; pprof_resolve.c makes the profile when all has been read, because the string table,
 * mostly the last, gives everything its name. Offsets `at` are those of messages in the decompressed input, for errors.
 * Tables grow with what is distinct: samples with equal stacks and labels are one row. Private to the reader.
 * Functions return 0 or a negative errno; what is malformed goes through sp_input_bad_at().
 */
#ifndef SP_READ_PPROF_H
#define SP_READ_PPROF_H

#include "base/cursor.h"
#include "profile/profile.h"
#include "read/input.h"

struct sp_read_table;

/* A string is an index of the string table; one that does not fit into 32 bits is PPROF_NO_STRING, which no table has.
 */
#define PPROF_NO_STRING UINT32_MAX
enum { PPROF_MAX_TYPES = 64 };

struct pprof_type {
	uint32_t type, unit; /* strings */
	uint64_t at;
};
/* The first fields of these three are the same, for looking up. */
struct pprof_thing {
	uint64_t id, at;
};
struct pprof_mapping {
	uint64_t id, at, start, limit, offset;
	uint32_t filename, build_id; /* strings */
	uint32_t file;               /* of the profile, when resolved */
	uint32_t file_name;          /* string of the profile */
	bool is_kernel;
};
enum pprof_special { PPROF_FRAMES, PPROF_MISSED_KERNEL, PPROF_MISSED_USER, PPROF_NO_STACK };
struct pprof_location {
	uint64_t id, at, mapping, address;
	uint32_t first_line, n_lines; /* resolved: of frames */
	bool is_kernel;
	enum pprof_special special;
};
struct pprof_function {
	uint64_t id, at;
	uint32_t name, system_name, filename; /* strings */
	uint32_t start_line;
};
struct pprof_line {
	uint64_t function; /* its id; resolved: the frame */
	uint32_t line;     /* 0: none, or none that can be */
};
struct pprof_table {
	void *items;
	size_t capacity, n, item_bytes;
};
/* Samples with equal stacks and labels: what is known of them in r->rows, whose bytes are as in pprof_pending. */
struct pprof_row {
	uint64_t at; /* of the first one */
	uint64_t n_samples;
	int64_t values[]; /* r->stride */
};
/* A sample on its way into its row: a few at a time wait for memory together. */
enum { PPROF_MAX_PENDING = 16, PPROF_STACK_AT = sizeof(uint64_t) };
struct pprof_pending {
	/* How long the stack is (8 bytes), packed location ids, then labels: messages, each behind its length. */
	uint8_t *bytes;
	size_t capacity, n;
	uint64_t hash, at;
	int64_t values[SP_MAX_VALUES];
	size_t n_values;
};

struct pprof {
	struct sp_input *in;
	const struct sp_read_options *o;
	struct sp_read_result *result;
	struct sp_profile *p;
	struct pprof_type types[PPROF_MAX_TYPES], period_type;
	size_t n_types;
	struct pprof_table mappings, locations, functions;
	struct pprof_line *lines;
	size_t n_lines, lines_capacity;
	uint32_t *strings; /* of the profile, by index of the string table */
	size_t n_strings, strings_capacity;
	struct sp_read_table *rows; /* made with the first sample, which says how many values there are */
	size_t n_values, stride;    /* of every sample; kept of these */
	struct pprof_pending pending[PPROF_MAX_PENDING];
	size_t n_pending;
	uint8_t *labels; /* of the sample that is being parsed */
	size_t labels_n, labels_capacity;
	uint32_t *comments; /* strings */
	size_t n_comments, comments_capacity;
	int64_t time_ns, duration_ns, period;
	uint32_t default_type, drop_frames, keep_frames, doc_url; /* strings */
	uint64_t default_at, first_mapping;
};

/* --- wire format (pprof.c) --- */
struct pprof_field {
	uint32_t number, wire; /* wire type: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes */
	uint64_t value;        /* of a varint */
	struct sp_cursor bytes;
};
enum { PPROF_VARINT = 0, PPROF_FIXED64 = 1, PPROF_BYTES = 2, PPROF_FIXED32 = 5 };
/* The next field of the message; false at its end, or when it is broken (c->bad). */
bool pprof_next(struct sp_cursor *c, struct pprof_field *ret_field);
uint32_t pprof_string_index(uint64_t value);

/* --- samples (pprof_samples.c) --- */
int pprof_add_sample(struct pprof *r, struct sp_cursor c, uint64_t at);
/* Those that are still on their way. */
int pprof_fold_pending(struct pprof *r);

/* --- labels (pprof_labels.c) --- */
struct pprof_who {
	uint32_t key;
	int stack_class;  /* enum sp_stack_class, -1: not said */
	size_t n_dropped; /* labels of each sample that were not kept */
};
struct pprof_people; /* that were met */
int pprof_people_new(struct pprof *r, struct pprof_people **ret_people);
void pprof_people_free(struct pprof_people *x);
/* Who these labels are; at: of a sample that has them. */
int pprof_people_who(struct pprof_people *x, const uint8_t *labels, size_t n, uint64_t at, struct pprof_who *ret_who);

/* --- comments (pprof_comments.c) --- */
int pprof_add_comment(struct pprof *r, uint64_t string);
int pprof_add_comments(struct pprof *r, struct sp_cursor c);
/* When mappings have become files: what comments tell of them. Other comments are people's, and kept. */
int pprof_resolve_comments(struct pprof *r);

/* --- the end (pprof_resolve.c) --- */
int pprof_resolve(struct pprof *r);
/* The string of the profile; what is outside of the table is "" and counted, or -EBADMSG. */
int64_t pprof_string(struct pprof *r, uint32_t index, uint64_t at, const char *what);

#endif
