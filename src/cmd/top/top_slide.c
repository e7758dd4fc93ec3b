/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/top_slide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "profile/merge.h"
#include "profile/profile.h"

static void window_done(struct sp_slide_window *w)
{
	sp_profile_rows_done(&w->rows);
	sp_profile_free(sp_take_ptr(w->settled));
}

static void time_add(struct sp_slide_time *sum, const struct sp_slide_time *time)
{
	sum->duration_ns += time->duration_ns;
	sum->n_lost += time->n_lost;
	sum->own_ns += time->own_ns;
}

static void time_take(struct sp_slide_time *sum, const struct sp_slide_time *time)
{
	sum->duration_ns -= time->duration_ns;
	sum->n_lost -= time->n_lost;
	sum->own_ns -= time->own_ns;
}

/* The oldest goes when the others reach over the span without it. */
static void expire(struct sp_slide *s)
{
	size_t n_old = 0;

	while (n_old + 1 < s->n && s->sum.duration_ns - s->windows[n_old].time.duration_ns >= s->span_ns) {
		time_take(&s->sum, &s->windows[n_old].time);
		window_done(&s->windows[n_old++]);
	}
	s->n -= n_old;
	if (n_old)
		memmove(s->windows, s->windows + n_old, s->n * sizeof(*s->windows));
}

int sp_slide_push(struct sp_slide *s, struct sp_profile *p, const struct sp_slide_time *time)
{
	struct sp_slide_window w = {.time = *time};
	int r = sp_grow(&s->windows, &s->capacity, s->n + 1, sizeof(*s->windows));

	if (r < 0)
		return r;
	w.rows = sp_profile_take_rows(p);
	s->windows[s->n++] = w;
	time_add(&s->sum, time);
	expire(s);
	return 0;
}

/* Those of a window. */
static int rows_add(struct sp_profile *into, const struct sp_profile *p, const struct sp_profile_rows *rows)
{
	SP_FREE struct sp_profile *view = NULL;
	int r = sp_profile_with_rows(p, rows, &view);

	return r < 0 ? r : sp_profile_merge(into, view);
}

/* All that are still of the profile, one behind the other: each of its names is looked at once. */
static int rows_join(const struct sp_slide *s, struct sp_profile_rows *ret_rows)
{
	struct sp_profile_rows all = {0};
	size_t i;

	for (i = 0; i < s->n; i++)
		all.bytes += s->windows[i].rows.bytes;
	all.rows = malloc(all.bytes + 1);
	if (!all.rows)
		return -ENOMEM;
	for (i = 0, all.bytes = 0; i < s->n; i++) {
		const struct sp_profile_rows *rows = &s->windows[i].rows;

		if (rows->n)
			memcpy((char *)all.rows + all.bytes, rows->rows, rows->bytes);
		all.bytes += rows->bytes;
		all.n += rows->n;
	}
	*ret_rows = all;
	return 0;
}

/* What is of the profile, and what was put beside it before. */
int sp_slide_sum(const struct sp_slide *s, const struct sp_profile *p, struct sp_profile **ret_sum)
{
	struct sp_profile_rows all = {0};
	struct sp_profile *sum = NULL;
	int r = sp_profile_new(&sum);
	size_t i;

	if (r >= 0)
		r = rows_join(s, &all);
	if (r >= 0)
		r = rows_add(sum, p, &all);
	for (i = 0; r >= 0 && i < s->n; i++)
		if (s->windows[i].settled)
			r = sp_profile_merge(sum, s->windows[i].settled);
	sp_profile_rows_done(&all);
	if (r < 0)
		sp_profile_free(sum);
	else
		*ret_sum = sum;
	return r;
}

static int window_settle(struct sp_slide_window *w, const struct sp_profile *p)
{
	struct sp_profile *own = NULL;
	int r = sp_profile_new(&own);

	if (r >= 0)
		r = rows_add(own, p, &w->rows);
	if (r < 0) {
		sp_profile_free(own);
		return r;
	}
	sp_profile_rows_done(&w->rows);
	w->settled = own;
	return 0;
}

int sp_slide_settle(struct sp_slide *s, const struct sp_profile *p)
{
	int r = 0;
	size_t i;

	for (i = 0; r >= 0 && i < s->n; i++)
		if (!s->windows[i].settled)
			r = window_settle(&s->windows[i], p);
	return r;
}

void sp_slide_done(struct sp_slide *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		window_done(&s->windows[i]);
	free(sp_take_ptr(s->windows));
	s->n = s->capacity = 0;
}
