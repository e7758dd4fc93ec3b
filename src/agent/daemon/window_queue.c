/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/window_queue.h"
#include "agent/listener.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- windows --- */
static void count_dropped(struct sp_window_queue *q, const struct sp_store_window *w)
{
	q->n_dropped++;
	q->dropped_from_ns = q->n_unreported++ ? SP_MIN(q->dropped_from_ns, w->wall_ns) : w->wall_ns;
	q->dropped_to_ns = SP_MAX(q->dropped_to_ns, w->wall_ns + w->duration_ns);
}

static void drop_first(struct sp_window_queue *q)
{
	struct sp_queued_window *first = &q->windows[0];

	count_dropped(q, &first->window);
	q->bytes -= first->rows.bytes;
	sp_profile_rows_done(&first->rows);
	q->n--;
	memmove(q->windows, q->windows + 1, q->n * sizeof(*q->windows));
}

static void remove_stored(struct sp_window_queue *q)
{
	q->bytes -= q->windows[0].rows.bytes;
	sp_profile_rows_done(&q->windows[0].rows);
	q->n--;
	memmove(q->windows, q->windows + 1, q->n * sizeof(*q->windows));
}

static void report_dropped(struct sp_window_queue *q, struct sp_event_queue *e, const char *source)
{
	char text[160], data[64];
	struct sp_store_event event = {.from_ns = q->dropped_from_ns,
				       .to_ns = q->dropped_to_ns,
				       .kind = "drop",
				       .subject = source,
				       .text = text,
				       .data = data};

	if (!q->n_unreported)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " windows were dropped: the store did not take them", q->n_unreported);
	snprintf(data, sizeof(data), "windows=%" PRIu64, q->n_unreported);
	sp_event_queue_add(e, &event);
	q->n_unreported = q->dropped_from_ns = q->dropped_to_ns = 0;
}

/* Errors of the disk, the directory or memory, which may pass or be mended. Any other is about this window. */
static bool is_temporary(int r)
{
	static const int temporary[] = {-ENOSPC,  -EDQUOT, -EIO,       -EROFS,  -ENOMEM,         -EMFILE, -ENFILE,
					-EAGAIN,  -EBUSY,  -EINTR,     -EACCES, -EPERM,          -ENOENT, -ESTALE,
					-ENOTDIR, -ELOOP,  -ENOTEMPTY, -EEXIST, -EPROTONOSUPPORT};
	size_t i;

	for (i = 0; i < SP_COUNT(temporary); i++)
		if (r == temporary[i])
			return true;
	return false;
}

static int save_error(struct sp_window_queue *q, int r)
{
	snprintf(q->error, sizeof(q->error), "%s", sp_error_text(r));
	sp_error_clear();
	return r;
}

static int store_window(struct sp_window_queue *q, const struct sp_store_window *w, const struct sp_profile *p)
{
	int r = sp_store_add(q->store, w, p);

	if (r < 0)
		return save_error(q, r);
	q->n_stored++;
	q->error[0] = 0;
	return 0;
}

static void notify_listeners(const struct sp_window_queue *q, struct sp_queued_window *w, const struct sp_profile *p)
{
	const struct sp_listeners *l = q->listeners;

	for (size_t i = 0; l && !w->is_announced && i < l->n; i++)
		if (l->all[i].window)
			l->all[i].window(l->all[i].arg, p, &w->window);
	w->is_announced = true;
}

/* p: the whole profile. */
static int announce(const struct sp_window_queue *q, struct sp_queued_window *w, const struct sp_profile *p,
		    struct sp_profile **ret_view)
{
	int r = sp_profile_with_rows(p, &w->rows, ret_view);

	if (r >= 0)
		notify_listeners(q, w, *ret_view);
	return r;
}

/* Listeners get what has to stay queued, too. */
static int store_windows(struct sp_window_queue *q, const struct sp_profile *p)
{
	int r = 0;

	while (q->n) {
		struct sp_queued_window *first = &q->windows[0];
		struct sp_profile *view SP_FREE = NULL;

		r = announce(q, first, p, &view);
		r = r < 0 ? r : store_window(q, &first->window, view);
		if (r >= 0)
			remove_stored(q);
		else if (!is_temporary(r) && ++first->n_tries >= SP_QUEUE_TRIES)
			drop_first(q);
		else
			break;
	}
	for (size_t i = 0; i < q->n; i++) {
		struct sp_profile *view SP_FREE = NULL;

		if (!q->windows[i].is_announced)
			announce(q, &q->windows[i], p, &view);
	}
	return q->n ? r : 0;
}

void sp_window_queue_push(struct sp_window_queue *q, struct sp_profile *p, const struct sp_store_window *w)
{
	struct sp_queued_window queued = {.window = *w, .rows = sp_profile_take_rows(p)};

	q->n_pushed++;
	if (sp_grow(&q->windows, &q->capacity, q->n + 1, sizeof(*q->windows)) < 0) {
		sp_profile_rows_done(&queued.rows);
		count_dropped(q, w);
		return;
	}
	q->windows[q->n++] = queued;
	q->bytes += queued.rows.bytes;
	while (q->n > SP_QUEUE_WINDOWS || (q->n > 1 && q->bytes > SP_QUEUE_BYTES))
		drop_first(q);
}

int sp_window_queue_flush(struct sp_window_queue *q, struct sp_event_queue *e, const struct sp_profile *p)
{
	const char *source = q->n ? q->windows[0].window.source : NULL;
	int r = store_windows(q, p);

	if (source && !q->n)
		report_dropped(q, e, source);
	return r;
}

void sp_window_queue_release(struct sp_window_queue *q)
{
	while (q->n)
		drop_first(q);
}

void sp_window_queue_done(struct sp_window_queue *q)
{
	sp_window_queue_release(q);
	free(sp_take_ptr(q->windows));
}

/* --- events --- */
static void remove_first_event(struct sp_event_queue *e)
{
	free(e->events[0].text);
	e->n--;
	memmove(e->events, e->events + 1, e->n * sizeof(*e->events));
}

static char *append_string(char **at, const char *s)
{
	size_t len = strlen(s) + 1;
	char *to = *at;

	memcpy(to, s, len);
	*at += len;
	return to;
}

static bool copy_event(const struct sp_store_event *event, struct sp_queued_event *ret)
{
	char *at = malloc(strlen(event->kind) + strlen(event->subject) + strlen(event->text) + strlen(event->data) + 4);

	if (!at)
		return false;
	*ret = (struct sp_queued_event){.event = *event, .text = at};
	ret->event.kind = append_string(&at, event->kind);
	ret->event.subject = append_string(&at, event->subject);
	ret->event.text = append_string(&at, event->text);
	ret->event.data = append_string(&at, event->data);
	return true;
}

void sp_event_queue_add(struct sp_event_queue *e, const struct sp_store_event *event)
{
	const struct sp_listeners *l = e->listeners;

	for (size_t i = 0; l && i < l->n; i++)
		if (l->all[i].event)
			l->all[i].event(l->all[i].arg, event);
	if (e->n >= SP_QUEUE_EVENTS) {
		remove_first_event(e);
		e->n_dropped++;
	}
	if (sp_grow(&e->events, &e->capacity, e->n + 1, sizeof(*e->events)) < 0 || !copy_event(event, &e->events[e->n]))
		e->n_dropped++;
	else
		e->n++;
}

void sp_event_queue_flush(struct sp_event_queue *e)
{
	while (e->n) {
		int r = sp_store_event_add(e->store, &e->events[0].event);

		if (r < 0)
			sp_error_clear();
		if (r < 0 && is_temporary(r))
			return;
		e->n_stored += r >= 0;
		e->n_dropped += r < 0;
		remove_first_event(e);
	}
}

void sp_event_queue_done(struct sp_event_queue *e)
{
	while (e->n)
		remove_first_event(e);
	free(sp_take_ptr(e->events));
}
