/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep.h: between sampling and the store: what the store does not take now waits, and is tried again.
 *
 * A window waits as the rows of its profile (profile/window.h), in order, at most SP_KEEP_WINDOWS and SP_KEEP_BYTES of
 * a source; then the oldest is dropped. Of what was dropped one event "drop" is made when the store takes something
 * again. A window that the store refuses for another reason than want of room or a failing disk is tried
 * SP_KEEP_TRIES times, and then dropped. Events wait, too, at most SP_KEEP_EVENTS; the oldest is dropped and counted.
 * A failure is in `error` until the store takes something. Listeners are told of each window once, before the store has
 * it or though it does not take it, and of each event as it is added. The profile is the caller's, and stays until
 * sp_keep_release(). One thread.
 */
#ifndef SP_AGENT_KEEP_H
#define SP_AGENT_KEEP_H

#include "profile/window.h"
#include "store/store.h"
#include <stdbool.h>

struct sp_listeners;

enum { SP_KEEP_WINDOWS = 360, SP_KEEP_EVENTS = 256, SP_KEEP_TRIES = 3 };
#define SP_KEEP_BYTES (4U << 20)

struct sp_kept_window {
	struct sp_store_window window;
	struct sp_profile_rows rows;
	unsigned n_tries;
	bool is_told;
};
/* Of one source. */
struct sp_keep {
	struct sp_store *store;
	const struct sp_listeners *listeners; /* NULL: none */
	struct sp_kept_window *windows;
	size_t n, capacity, bytes;
	uint64_t n_pushed, n_stored, n_dropped;
	uint64_t gone_n, gone_from_ns, gone_to_ns; /* dropped, and not told yet: wall clock */
	char error[256];
};
struct sp_kept_event {
	struct sp_store_event event;
	char *text; /* its strings, one behind the other */
};
struct sp_events {
	struct sp_store *store;
	const struct sp_listeners *listeners; /* NULL: none */
	struct sp_kept_event *events;
	size_t n, capacity;
	uint64_t n_stored, n_dropped;
};

/* The profile's rows are this window, and are taken. What cannot even wait is dropped. */
void sp_keep_push(struct sp_keep *k, struct sp_profile *p, const struct sp_store_window *w);
/* All that waits into the store, in order; the profile's rows stay as they are. 0: nothing waits; or why it does. */
int sp_keep_flush(struct sp_keep *k, struct sp_events *e, struct sp_profile *p);
/* The profile is about to go: what still waits of it is dropped. */
void sp_keep_release(struct sp_keep *k);
void sp_keep_done(struct sp_keep *k);

/* Strings are copied. */
void sp_events_add(struct sp_events *e, const struct sp_store_event *event);
void sp_events_flush(struct sp_events *e);
void sp_events_done(struct sp_events *e);

#endif
