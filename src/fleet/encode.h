/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * encode.h: turns windows into rows of a fleet's tables, and tells which stacks and names were sent before.
 *
 * Rows are gathered until they are many, and are sent then (`send`). A row of a table that names something is hashed,
 * and that is its id; it is sent once a day, as far as `sent` remembers: a table of hashes of a fixed size, in a file,
 * in which a new one may replace another. What it has forgotten is sent again, which the server takes for the same row.
 * Processes of one program, user and cgroup are one there, so the rows of an interval are added up first. Nothing is
 * kept of an interval when the next one begins but the ids of names.
 * 0 or a negative errno. An encoder whose call failed is only good to be freed. Not thread-safe.
 */
#ifndef SP_FLEET_ENCODE_H
#define SP_FLEET_ENCODE_H

#include "fleet/schema.h"
#include "store/stored.h"

/* --- what was sent --- */
struct sp_sent;
/* path: a file; NULL = only this process remembers. A file of another fleet (key) is begun anew. */
int sp_sent_open(const char *path, uint64_t key, struct sp_sent **ret_sent);
void sp_sent_close(struct sp_sent *s);
/* Whether it is not known, as far as what was added since sp_sent_keep() does not count; or -ENOMEM. */
int sp_sent_add(struct sp_sent *s, uint64_t id);
/* The server has taken what was added: if that is so many, it is known from now on, and goes into the file. */
int sp_sent_keep(struct sp_sent *s, size_t least);

/* --- rows --- */
struct sp_fleet_rows {
	struct sp_bytes tables[SP_FLEET_N_TABLES];
	uint64_t n_rows[SP_FLEET_N_TABLES];
	/* Called once more than `most` bytes are there, in the midst of windows, whose own rows come last; NULL =
	 * never. */
	int (*send)(void *arg);
	void *arg;
	size_t most;
};

struct sp_fleet_window {
	uint64_t from_ns;
	uint32_t seconds;                        /* 0: nothing was sampled: it is none */
	uint64_t covered_ns, n_lost, n_left_out; /* left out: windows that the store could not read */
};
struct sp_fleet_windows { /* of one day */
	struct sp_fleet_window *all;
	uint32_t n;
	uint64_t host;
	uint32_t run;
	const char *source, *name; /* name: the host's */
	const char *const *labels; /* "NAME=VALUE" */
	size_t n_labels;
};
struct sp_fleet_encoder;
/* w, whose windows need only from_ns yet, and the rest must be there as long as the encoder. */
int sp_fleet_encoder_new(const struct sp_fleet_windows *w, uint64_t seed, struct sp_sent *sent,
			 struct sp_fleet_rows *into, struct sp_fleet_encoder **ret_encoder);
void sp_fleet_encoder_free(struct sp_fleet_encoder *e);
/* What is read adds its rows: an interval is a window. -EOPNOTSUPP: a source with more than one value. */
struct sp_stored_reader sp_fleet_encoder_reader(struct sp_fleet_encoder *e);
/* After all rows: adds those of the windows. *ret_n_samples: the sum of theirs. */
int sp_fleet_encoder_end(struct sp_fleet_encoder *e, uint64_t *ret_n_samples);
void sp_fleet_rows_clear(struct sp_fleet_rows *rows, enum sp_fleet_table table);
void sp_fleet_rows_done(struct sp_fleet_rows *rows);
size_t sp_fleet_rows_bytes(const struct sp_fleet_rows *rows);

/*
 * A build of a library, wherever it lies: by name and build id (hexadecimal); without a build id by name and path. It
 * has one number on all hosts.
 */
uint64_t sp_fleet_library(uint64_t seed, const char *name, const char *build_id, const char *path);

/* A host is known by its name and, if it has one, its machine id: two machines of one name are two. */
uint64_t sp_fleet_host(uint64_t seed, const char *name, const char *machine);

#endif
