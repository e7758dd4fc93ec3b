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
static void dropped(struct sp_window_queue *k, const struct sp_store_window *w)
{
	k->n_dropped++;
	k->gone_from_ns = k->gone_n++ ? SP_MIN(k->gone_from_ns, w->wall_ns) : w->wall_ns;
	k->gone_to_ns = SP_MAX(k->gone_to_ns, w->wall_ns + w->duration_ns);
}

static void drop_first(struct sp_window_queue *k)
{
	struct sp_queued_window *first = &k->windows[0];

	dropped(k, &first->window);
	k->bytes -= first->rows.bytes;
	sp_profile_rows_done(&first->rows);
	k->n--;
	memmove(k->windows, k->windows + 1, k->n * sizeof(*k->windows));
}

static void stored_first(struct sp_window_queue *k)
{
	k->bytes -= k->windows[0].rows.bytes;
	sp_profile_rows_done(&k->windows[0].rows);
	k->n--;
	memmove(k->windows, k->windows + 1, k->n * sizeof(*k->windows));
}

static void tell_of_dropped(struct sp_window_queue *k, struct sp_event_queue *e, const char *source)
{
	char text[160], data[64];
	struct sp_store_event event = {.from_ns = k->gone_from_ns,
				       .to_ns = k->gone_to_ns,
				       .kind = "drop",
				       .subject = source,
				       .text = text,
				       .data = data};

	if (!k->gone_n)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " windows were dropped: the store did not take them", k->gone_n);
	snprintf(data, sizeof(data), "windows=%" PRIu64, k->gone_n);
	sp_event_queue_add(e, &event);
	k->gone_n = k->gone_from_ns = k->gone_to_ns = 0;
}

/*
 * The whole disk's trouble, which goes by, or the directory's, which somebody mends: any other refusal is about this
 * window.
 */
static bool is_passing(int r)
{
	static const int passing[] = {-ENOSPC,  -EDQUOT, -EIO,       -EROFS,  -ENOMEM,         -EMFILE, -ENFILE,
				      -EAGAIN,  -EBUSY,  -EINTR,     -EACCES, -EPERM,          -ENOENT, -ESTALE,
				      -ENOTDIR, -ELOOP,  -ENOTEMPTY, -EEXIST, -EPROTONOSUPPORT};
	size_t i;

	for (i = 0; i < SP_COUNT(passing); i++)
		if (r == passing[i])
			return true;
	return false;
}

static int failed(struct sp_window_queue *k, int r)
{
	snprintf(k->error, sizeof(k->error), "%s", sp_error_text(r));
	sp_error_clear();
	return r;
}

static int store(struct sp_window_queue *k, const struct sp_store_window *w, const struct sp_profile *p)
{
	int r = sp_store_add(k->store, w, p);

	if (r < 0)
		return failed(k, r);
	k->n_stored++;
	k->error[0] = 0;
	return 0;
}

static int bring_back(const struct sp_queued_window *w, struct sp_profile *p)
{
	sp_profile_clear_rows(p);
	return sp_profile_put_rows(p, &w->rows);
}

/* The profile's rows are the window's. */
static void tell(const struct sp_window_queue *k, struct sp_queued_window *w, const struct sp_profile *p)
{
	const struct sp_listeners *l = k->listeners;

	for (size_t i = 0; l && !w->is_told && i < l->n; i++)
		if (l->all[i].window)
			l->all[i].window(l->all[i].arg, p, &w->window);
	w->is_told = true;
}

/* Of those that have to wait. */
static void tell_all(const struct sp_window_queue *k, struct sp_profile *p)
{
	for (size_t i = 0; i < k->n; i++)
		if (!k->windows[i].is_told && bring_back(&k->windows[i], p) >= 0)
			tell(k, &k->windows[i], p);
}

/* Leaves the profile without rows. */
static int store_all(struct sp_window_queue *k, struct sp_profile *p)
{
	int r = 0;

	while (k->n) {
		struct sp_queued_window *first = &k->windows[0];

		r = bring_back(first, p);
		if (r >= 0)
			tell(k, first, p);
		r = r < 0 ? r : store(k, &first->window, p);
		if (r >= 0)
			stored_first(k);
		else if (!is_passing(r) && ++first->n_tries >= SP_QUEUE_TRIES)
			drop_first(k);
		else
			break;
	}
	tell_all(k, p);
	sp_profile_clear_rows(p);
	return k->n ? r : 0;
}

void sp_window_queue_push(struct sp_window_queue *k, struct sp_profile *p, const struct sp_store_window *w)
{
	struct sp_queued_window kept = {.window = *w};
	int r = sp_grow(&k->windows, &k->capacity, k->n + 1, sizeof(*k->windows));

	if (r >= 0)
		r = sp_profile_keep_rows(p, &kept.rows);
	sp_profile_clear_rows(p);
	k->n_pushed++;
	if (r < 0) {
		dropped(k, w);
		return;
	}
	k->windows[k->n++] = kept;
	k->bytes += kept.rows.bytes;
	while (k->n > SP_QUEUE_WINDOWS || (k->n > 1 && k->bytes > SP_QUEUE_BYTES))
		drop_first(k);
}

int sp_window_queue_flush(struct sp_window_queue *k, struct sp_event_queue *e, struct sp_profile *p)
{
	const char *source = k->n ? k->windows[0].window.source : NULL;
	struct sp_profile_rows rows = {0};
	int r = k->n ? sp_profile_keep_rows(p, &rows) : 0, back;

	if (!k->n || r < 0)
		return r;
	r = store_all(k, p);
	back = sp_profile_put_rows(p, &rows);
	sp_profile_rows_done(&rows);
	if (!k->n)
		tell_of_dropped(k, e, source);
	return r < 0 ? r : back;
}

void sp_window_queue_release(struct sp_window_queue *k)
{
	while (k->n)
		drop_first(k);
}

void sp_window_queue_done(struct sp_window_queue *k)
{
	sp_window_queue_release(k);
	free(sp_take_ptr(k->windows));
}

/* --- events --- */
static void event_first_done(struct sp_event_queue *e)
{
	free(e->events[0].text);
	e->n--;
	memmove(e->events, e->events + 1, e->n * sizeof(*e->events));
}

static char *string_put(char **at, const char *s)
{
	size_t len = strlen(s) + 1;
	char *to = *at;

	memcpy(to, s, len);
	*at += len;
	return to;
}

static bool event_copy(const struct sp_store_event *event, struct sp_queued_event *ret)
{
	char *at = malloc(strlen(event->kind) + strlen(event->subject) + strlen(event->text) + strlen(event->data) + 4);

	if (!at)
		return false;
	*ret = (struct sp_queued_event){.event = *event, .text = at};
	ret->event.kind = string_put(&at, event->kind);
	ret->event.subject = string_put(&at, event->subject);
	ret->event.text = string_put(&at, event->text);
	ret->event.data = string_put(&at, event->data);
	return true;
}

void sp_event_queue_add(struct sp_event_queue *e, const struct sp_store_event *event)
{
	const struct sp_listeners *l = e->listeners;

	for (size_t i = 0; l && i < l->n; i++)
		if (l->all[i].event)
			l->all[i].event(l->all[i].arg, event);
	if (e->n >= SP_QUEUE_EVENTS) {
		event_first_done(e);
		e->n_dropped++;
	}
	if (sp_grow(&e->events, &e->capacity, e->n + 1, sizeof(*e->events)) < 0 || !event_copy(event, &e->events[e->n]))
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
		if (r < 0 && is_passing(r))
			return;
		e->n_stored += r >= 0;
		e->n_dropped += r < 0;
		event_first_done(e);
	}
}

void sp_event_queue_done(struct sp_event_queue *e)
{
	while (e->n)
		event_first_done(e);
	free(sp_take_ptr(e->events));
}
