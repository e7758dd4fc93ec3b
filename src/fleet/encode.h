/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * encode.h: turns windows into rows of a fleet's tables, and tells which stacks and names were sent before.
 *
 * Rows are gathered until they are many, and are sent then (`send`). A row of a table that names something is hashed,
 * and that is its id; it is sent once a day, as far as `sent` remembers: a table of hashes of a fixed size, in a file,
 * in which a new one may replace another. What it has forgotten is sent again, which the server takes for the same row.
 * Processes of one program, user and cgroup are one there, so the rows of a window are added up first.
 * 0 or a negative errno. An encoder whose call failed is only good to be freed. Not thread-safe.
 */
#ifndef SP_FLEET_ENCODE_H
#define SP_FLEET_ENCODE_H

#include "fleet/schema.h"

struct sp_profile;

/* --- what was sent --- */
struct sp_sent;
/* path: a file; NULL = only this process remembers. A file of another fleet (key) is begun anew. */
int sp_sent_open(const char *path, uint64_t key, struct sp_sent **ret_sent);
void sp_sent_close(struct sp_sent *s);
/* Whether it was not known; from then on it is. */
bool sp_sent_add(struct sp_sent *s, uint64_t id);
/* The server has taken what was added: it goes into the file. */
int sp_sent_keep(struct sp_sent *s);

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
	const struct sp_fleet_window *all;
	uint32_t n;
	uint64_t host;
	uint32_t run;
	const char *source, *name; /* name: the host's */
	const char *const *labels; /* "NAME=VALUE" */
	size_t n_labels;
};
/*
 * Adds the rows of a profile: those whose key has slice n are of window n - 1, those without a slice of the first.
 * -EOPNOTSUPP: a source with more than one value.
 */
int sp_fleet_encode(const struct sp_profile *p, const struct sp_fleet_windows *w, uint64_t seed, struct sp_sent *sent,
		    struct sp_fleet_rows *into);
void sp_fleet_rows_clear(struct sp_fleet_rows *rows);
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
