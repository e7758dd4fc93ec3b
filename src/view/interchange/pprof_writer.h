/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_writer.h: a pprof file while it is written, between the view's parts.
 *
 * pprof.c writes samples, strings and the profile's own fields; pprof_places.c mappings, locations and functions.
 * Returned numbers are those of the output: strings from 0, all else from 1. The first error is kept in `error`, and
 * the work goes on. otlp.c takes the same tables, which it writes as its own format has them. Private to these two
 * views.
 */
#ifndef SP_VIEW_INTERCHANGE_PPROF_WRITER_H
#define SP_VIEW_INTERCHANGE_PPROF_WRITER_H

#include "profile/profile.h"
#include "view/interchange/pbuf.h"

struct sp_intern;
struct sp_view_options;

/* The keys of tables, without padding. */
struct sp_pprof_line {
	uint32_t function, line;
};
struct sp_pprof_location {
	uint64_t address;
	uint32_t mapping, n_lines;
	struct sp_pprof_line lines[]; /* the innermost first */
};
struct sp_pprof_function {
	uint32_t name, system_name, filename, start_line; /* strings of the output */
};
struct sp_pprof_mapping {
	uint32_t file;   /* number; the table's first element is "none" */
	uint32_t id;     /* in the output; 0 = none */
	uint32_t seen;   /* 1 + the last row whose weight was added */
	bool kernel;     /* frames without addresses */
	bool has_ranges; /* at least one function without a symbol */
	bool lacks_files, lacks_lines, has_inlined;
	uint64_t weight, extent, start;
};
struct sp_pprof {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	struct sp_gzip_writer gzip;
	struct sp_pbuf message, part; /* a field of the profile, and what is inside it */
	struct sp_intern *strings, *functions, *locations;
	struct sp_pprof_mapping *mappings; /* by file */
	uint32_t *order;                   /* files by the id of their mapping, from 1 */
	uint32_t n_mappings;
	uint32_t *location_of;              /* by frame with nothing inlined into it, 0 = not yet */
	struct sp_pprof_location *location; /* the current one */
	size_t location_capacity;
	int error;
};
/* What the struct holds, for the profile in it. */
int sp_pprof_tables_make(struct sp_pprof *w);
void sp_pprof_tables_free(struct sp_pprof *w);

uint32_t sp_pprof_intern(struct sp_pprof *w, struct sp_intern *table, const void *bytes, size_t len);
uint32_t sp_pprof_text(struct sp_pprof *w, const char *text);
uint32_t sp_pprof_string(struct sp_pprof *w, uint32_t number); /* of the profile */
/* Writes the message as this field of the profile, and empties it. */
void sp_pprof_emit(struct sp_pprof *w, uint32_t field);
/* Adds the locations of a row's stacks to `part`, the kernel's first: the leaf is the first, and there is at least one.
 */
void sp_pprof_put_stacks(struct sp_pprof *w, const struct sp_row *row);

/* Goes through all rows, and places the files. */
void sp_pprof_place(struct sp_pprof *w);
/* The location of n frames, all but the last of which are inlined; and that of a pseudo-frame. */
uint32_t sp_pprof_location(struct sp_pprof *w, const uint32_t *frames, uint32_t n);
uint32_t sp_pprof_said(struct sp_pprof *w, const char *words);
/* The number of frames, from the first, that are one location: inlined frames and the function around them. */
uint32_t sp_pprof_n_at_place(const struct sp_profile *p, const uint32_t *frames, uint32_t n);
void sp_pprof_put_places(struct sp_pprof *w);
uint32_t sp_pprof_mapping_name(struct sp_pprof *w, uint32_t file);
void sp_pprof_build_id(const struct sp_file *f, char hex[2 * SP_BUILD_ID_MAX + 1]);

#endif
