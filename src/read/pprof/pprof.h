/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.h: the tables of the pprof reader, shared by its parts. Private to the reader.
 *
 * pprof.c streams over the fields of the profile message and parses each message into these tables; pprof_samples.c
 * merges equal samples; pprof_resolve.c builds the profile when all has been read, because names are in the string
 * table, which is usually last. Fields `at` are offsets of messages in the decompressed input, for errors. Tables
 * grow with what is distinct: samples with equal stacks and labels are one row. Functions return 0 or a negative
 * errno; malformed parts are reported with sp_input_bad_at().
 */
#ifndef SP_READ_PPROF_H
#define SP_READ_PPROF_H

#include "base/cursor.h"
#include "profile/profile.h"
#include "read/input.h"

struct sp_read_table;

/* A string is an index of the string table; one beyond 32 bits becomes PPROF_NO_STRING, which no table has. */
#define PPROF_NO_STRING UINT32_MAX
enum { PPROF_MAX_TYPES = 64 };

struct pprof_type {
	uint32_t type, unit; /* strings */
	uint64_t at;
};
/* The common first fields of mappings, locations and functions, for look-ups. */
struct pprof_entity {
	uint64_t id, at;
};
struct pprof_mapping {
	uint64_t id, at, start, limit, offset;
	uint32_t filename, build_id; /* strings */
	uint32_t file;               /* of the profile; when resolved */
	uint32_t file_name;          /* string of the profile */
	bool is_kernel;
};
enum pprof_special { PPROF_FRAMES, PPROF_MISSED_KERNEL, PPROF_MISSED_USER, PPROF_NO_STACK };
struct pprof_location {
	uint64_t id, at, mapping, address;
	uint32_t first_line, n_lines; /* when resolved: frames */
	bool is_kernel;
	enum pprof_special special;
};
struct pprof_function {
	uint64_t id, at;
	uint32_t name, system_name, filename; /* strings */
	uint32_t start_line;
};
struct pprof_line {
	uint64_t function; /* its id; when resolved: the frame */
	uint32_t line;     /* 0: none, or an impossible one */
};
struct pprof_table {
	void *items;
	size_t capacity, n, item_bytes;
};
/* Samples with equal stacks and labels: the extra bytes in r->rows, whose keys are the bytes of pprof_pending. */
struct pprof_row {
	uint64_t at; /* of the first one */
	uint64_t n_samples;
	int64_t values[]; /* r->stride */
};
/* A parsed sample that is not in its row yet: several are looked up together, so that their cache misses overlap. */
enum { PPROF_MAX_PENDING = 16, PPROF_STACK_AT = sizeof(uint64_t) };
struct pprof_pending {
	/* Length of the stack (8 bytes), packed location ids, then labels: messages, each after its length. */
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
	struct sp_read_table *rows; /* made with the first sample, which has the number of values */
	size_t n_values, stride;    /* values of each sample; values kept */
	struct pprof_pending pending[PPROF_MAX_PENDING];
	size_t n_pending;
	uint8_t *labels; /* of the sample being parsed */
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
/* The next field of the message; false: its end, or broken (c->bad). */
bool pprof_next(struct sp_cursor *c, struct pprof_field *ret_field);
uint32_t pprof_string_index(uint64_t value);

/* --- samples (pprof_samples.c) --- */
int pprof_add_sample(struct pprof *r, struct sp_cursor c, uint64_t at);
/* Adds the pending samples to their rows. */
int pprof_flush_pending(struct pprof *r);

/* --- labels (pprof_labels.c) --- */
struct pprof_who {
	uint32_t key;
	int stack_class;  /* enum sp_stack_class, -1: not known */
	size_t n_dropped; /* labels of each sample beyond the limits */
};
struct pprof_people; /* keys and processes, by labels */
int pprof_people_new(struct pprof *r, struct pprof_people **ret_people);
void pprof_people_free(struct pprof_people *x);
/* The key that these labels make. at: of a sample that has them. */
int pprof_people_who(struct pprof_people *x, const uint8_t *labels, size_t n, uint64_t at, struct pprof_who *ret_who);

/* --- comments (pprof_comments.c) --- */
int pprof_add_comment(struct pprof *r, uint64_t string);
int pprof_add_comments(struct pprof *r, struct sp_cursor c);
/* Sets packages of files from soprof's own comments, once mappings are files. Other comments are kept. */
int pprof_resolve_comments(struct pprof *r);

/* --- the end (pprof_resolve.c) --- */
int pprof_resolve(struct pprof *r);

#endif
