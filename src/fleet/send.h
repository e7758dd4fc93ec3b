/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * send.h: sends what a store has, and the fleet has not.
 *
 * Where to go on is asked of the server, which knows what it has acknowledged: nothing about it is kept here, so
 * nothing can disagree. Intervals of the resolution are read from the store and sent in order, each when the store has
 * a window behind it. Those of ten minutes are read at once, as a reading decodes the day's dictionary, or fewer where
 * these have many rows; a batch is several of them, at most some MiB. The rows that say that they count go last
 * (schema.h), so a failure at any moment costs nothing but that the batch is sent again.
 * A host's time is its own: where its clock was set back behind what was sent, intervals that were there before are not
 * sent again. 0 or a negative errno with sp_error_text(), as client.h and store.h have them; what was acknowledged
 * until then stays, and is in *ret_sent. Not thread-safe.
 */
#ifndef SP_FLEET_SEND_H
#define SP_FLEET_SEND_H

#include "fleet/client.h"

struct sp_fleet_send {
	const char *store;          /* its directory, or a file of one */
	const char *host, *machine; /* machine: its id, "" = none */
	const char *const *labels;  /* "NAME=VALUE" */
	size_t n_labels;
	const char *const *sources;
	size_t n_sources;
	uint32_t resolution_s; /* 10, 60 or 3600 */
	uint64_t begin_ns;     /* of a host that the fleet does not know: not what is older; 0 = all */
	bool is_whole;         /* nothing is added to the store: the last interval, too */
	const char *sent_file; /* encode.h; NULL = none */
};
struct sp_fleet_sent {
	uint64_t n_windows, n_rows, n_samples, n_bytes; /* bytes: compressed, all tables */
	uint64_t to_ns;                                 /* the end of the last interval that the server has; 0 = none */
	uint64_t n_left_out;                            /* windows of the store that could not be read */
};
int sp_fleet_send(struct sp_fleet *f, const struct sp_fleet_send *s, struct sp_fleet_sent *ret_sent);

#endif
