/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * day_close.c: finishes the day before while windows of the next one are written, one step with each window, so that
 * none takes long: its last minute, its last hour in parts, its totals, its journals.
 *
 * A crash, or an error (no space), needs no record: days with a journal are finished when the store is opened.
 */
#include "store/priv.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

enum { HOUR_MS = 3600000 };

/* Roll-ups work on s->writer: puts another writer there, and returns the one before. */
static struct sp_writer *switch_writer(struct sp_store *s, struct sp_writer *w)
{
	struct sp_writer *before = s->writer;

	s->writer = w;
	return before;
}

static void finish_closing_day(struct sp_store *s)
{
	struct sp_writer *day = s->closing, *now = switch_writer(s, day);

	sp_writer_finish_day(s);
	switch_writer(s, now);
	s->closing = NULL;
	free(day);
}

void sp_writer_finish_closing(struct sp_store *s)
{
	if (s->closing)
		finish_closing_day(s);
}

void sp_writer_close_day(struct sp_store *s)
{
	struct sp_writer *w = s->writer, *day = w->dict_builder ? calloc(1, sizeof(*day)) : NULL;

	sp_writer_finish_closing(s);
	if (!day) {
		sp_writer_finish_day(s);
		return;
	}
	sp_writer_forget_rolling(w); /* its parts point to the files, which are moved */
	sp_writer_move_day(day, w);
	s->closing = day;
}

/* 1: something was done; 0: nothing is left. */
static int roll_source(struct sp_store *s, uint64_t number)
{
	struct sp_store_source *source = &s->writer->sources[number - 1];
	uint64_t end_ms = (source->last_t_ms / HOUR_MS + 1) * HOUR_MS, minutes = source->rolled_to_ms[SP_RES_1M],
		 hours = source->rolled_to_ms[SP_RES_1H];
	int r;

	if (source->last_t_ms == 0)
		return 0;
	bool is_new = source->hour_is_new;
	r = sp_writer_roll(s, number, end_ms);
	if (r < 0)
		return r;
	return is_new || sp_writer_is_rolling(s->writer, number) || source->rolled_to_ms[SP_RES_1M] != minutes ||
	       source->rolled_to_ms[SP_RES_1H] != hours;
}

static int roll_next_step(struct sp_store *s)
{
	const struct sp_writer *w = s->writer;
	int r = 0;

	for (uint64_t i = 1; i <= w->n_sources && r == 0; i++)
		r = roll_source(s, i);
	return r;
}

void sp_writer_close_day_step(struct sp_store *s)
{
	if (!s->closing)
		return;
	struct sp_writer *now = switch_writer(s, s->closing);
	int r = roll_next_step(s);

	switch_writer(s, now);
	if (r <= 0)
		finish_closing_day(s);
	if (r < 0)
		sp_error_clear();
}

struct sp_day_file *sp_writer_file(struct sp_store *s, const struct sp_day *day)
{
	struct sp_writer *const both[] = {s->writer, s->closing};

	for (size_t i = 0; i < SP_COUNT(both); i++)
		if (both[i] && both[i]->files[day->resolution].db && both[i]->day_s == day->day_s)
			return &both[i]->files[day->resolution];
	return NULL;
}

bool sp_writer_has_day(const struct sp_store *s, uint64_t day_s)
{
	return s->writer->day_s == day_s || (s->closing && s->closing->day_s == day_s);
}
