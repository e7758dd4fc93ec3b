/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window_queue.h: between sampling and the store: what the store does not take now waits, and is tried again.
 *
 * A window waits as the rows of its profile (profile/window.h), in order, at most SP_QUEUE_WINDOWS and SP_QUEUE_BYTES
 * of a source; then the oldest is dropped. Of what was dropped one event "drop" is made when the store takes something
 * again. A window that the store refuses for another reason than want of room or a failing disk is tried
 * SP_QUEUE_TRIES times, and then dropped. Events wait, too, at most SP_QUEUE_EVENTS; the oldest is dropped and counted.
 * A failure is in `error` until the store takes something. Listeners are told of each window once, before the store has
 * it or though it does not take it, and of each event as it is added. The profile is the caller's, and stays until
 * sp_window_queue_release(). One thread.
 */
#ifndef SP_AGENT_DAEMON_WINDOW_QUEUE_H
#define SP_AGENT_DAEMON_WINDOW_QUEUE_H

#include "profile/window.h"
#include "store/store.h"
#include <stdbool.h>

struct sp_listeners;

enum { SP_QUEUE_WINDOWS = 360, SP_QUEUE_EVENTS = 256, SP_QUEUE_TRIES = 3 };
#define SP_QUEUE_BYTES (4U << 20)

struct sp_queued_window {
	struct sp_store_window window;
	struct sp_profile_rows rows;
	unsigned n_tries;
	bool is_told;
};
/* Of one source. */
struct sp_window_queue {
	struct sp_store *store;
	const struct sp_listeners *listeners; /* NULL: none */
	struct sp_queued_window *windows;
	size_t n, capacity, bytes;
	uint64_t n_pushed, n_stored, n_dropped;
	uint64_t gone_n, gone_from_ns, gone_to_ns; /* dropped, and not told yet: wall clock */
	char error[256];
};
struct sp_queued_event {
	struct sp_store_event event;
	char *text; /* its strings, one behind the other */
};
struct sp_event_queue {
	struct sp_store *store;
	const struct sp_listeners *listeners; /* NULL: none */
	struct sp_queued_event *events;
	size_t n, capacity;
	uint64_t n_stored, n_dropped;
};

/* The profile's rows are this window, and are taken. What cannot even wait is dropped. */
void sp_window_queue_push(struct sp_window_queue *k, struct sp_profile *p, const struct sp_store_window *w);
/* All that waits into the store, in order; the profile's rows stay as they are. 0: nothing waits; or why it does. */
int sp_window_queue_flush(struct sp_window_queue *k, struct sp_event_queue *e, struct sp_profile *p);
/* The profile is about to go: what still waits of it is dropped. */
void sp_window_queue_release(struct sp_window_queue *k);
void sp_window_queue_done(struct sp_window_queue *k);

/* Strings are copied. */
void sp_event_queue_add(struct sp_event_queue *e, const struct sp_store_event *event);
void sp_event_queue_flush(struct sp_event_queue *e);
void sp_event_queue_done(struct sp_event_queue *e);

#endif
