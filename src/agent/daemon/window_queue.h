/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window_queue.h: windows and events that the store has not taken yet.
 *
 * A window is queued as the rows of its profile (profile/window.h). A source has at most SP_QUEUE_WINDOWS and
 * SP_QUEUE_BYTES; beyond that the oldest is dropped. When the store takes windows again, one event "drop" reports all
 * dropped ones. A window that the store refuses for a reason other than disk, directory or memory is tried
 * SP_QUEUE_TRIES times and then dropped. Events are queued, too, at most SP_QUEUE_EVENTS; the oldest is dropped and
 * counted. `error` has the last failure until the store takes something. Listeners get each window at most once, at a
 * flush, with names, whether the store takes it or not; not one that was dropped before (no memory, a full queue). They
 * get each event as it is added. The profile is the caller's, and must live until sp_window_queue_release(). One
 * thread.
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
	bool is_announced;
};
/* Of one source. */
struct sp_window_queue {
	struct sp_store *store;
	const struct sp_listeners *listeners; /* NULL: none */
	struct sp_queued_window *windows;
	size_t n, capacity, bytes;
	uint64_t n_pushed, n_stored, n_dropped;
	uint64_t n_unreported, dropped_from_ns, dropped_to_ns; /* dropped, and not reported yet: wall clock */
	char error[256];
};
struct sp_queued_event {
	struct sp_store_event event;
	char *text; /* its strings, one after the other */
};
struct sp_event_queue {
	struct sp_store *store;
	const struct sp_listeners *listeners; /* NULL: none */
	struct sp_queued_event *events;
	size_t n, capacity;
	uint64_t n_stored, n_dropped;
};

/* Takes the profile's rows, which are this window. Without memory the window is dropped. */
void sp_window_queue_push(struct sp_window_queue *q, struct sp_profile *p, const struct sp_store_window *w);
/* Hands all windows to listeners and store, in order. 0: the queue is empty; or the store's error. */
int sp_window_queue_flush(struct sp_window_queue *q, struct sp_event_queue *e, const struct sp_profile *p);
/* To be called before the profile goes: drops all windows. */
void sp_window_queue_release(struct sp_window_queue *q);
void sp_window_queue_done(struct sp_window_queue *q);

/* Copies the strings. */
void sp_event_queue_add(struct sp_event_queue *e, const struct sp_store_event *event);
void sp_event_queue_flush(struct sp_event_queue *e);
void sp_event_queue_done(struct sp_event_queue *e);

#endif
