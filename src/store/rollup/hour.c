/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hour.c: rolls up an hour of the generation being written, then adds it to its day; one part with each window.
 *
 * Why in parts, and not at once or by a process of its own: whoever writes windows is the loop that drains samples.
 * With 10,000 samples a window, the second hour of a day took 229 ms of CPU at once, and 48 ms in its largest part;
 * later hours are of more nodes. A process would have to read the day's dictionary again, which the writer has in
 * memory: in that hour 63 MB, as much as the whole agent may use on a small machine. An hour exists when its window is
 * written, in the last part. If a crash or the end of the generation comes before, all parts are done again and replace
 * what was written. A day's totals name the last hour that they include.
 */
#include "store/rollup/roll.h"

#include "base/mem.h"
#include "store/format/pruned_tree.h"
#include "store/rollup/day.h"
#include "store/rollup/overview.h"

#include <errno.h>
#include <stdlib.h>

/* Limits of a part: ms of minutes read; bytes of chunks; rows or nodes. */
enum { READ_MS = 10 * 60000, CHUNKS_BYTES = 1 << 19, STEP = 1 << 19 };

struct sp_rolling {
	struct sp_roll roll;
	struct sp_decoded_dict decoded;
	uint64_t read_ms; /* minutes are read up to here */
	struct sp_sums_steps *steps;
	struct sp_sums sums;
	struct sp_pruned_tree pruned;
	struct sp_day_sum *day;
	size_t part;
};

/* --- parts: 1: call it again; 0: done --- */
static int read_minutes(struct sp_store *s, struct sp_rolling *h)
{
	uint64_t to_ms = SP_MIN(h->read_ms + READ_MS, h->roll.end_ms);
	int r = sp_roll_read(s, &h->roll, h->read_ms, to_ms);

	h->read_ms = to_ms;
	return r < 0 ? r : to_ms < h->roll.end_ms;
}

static int sort_rows(struct sp_store *s, struct sp_rolling *h)
{
	(void)s;
	return sp_roll_sort(&h->roll);
}

static int sum_libraries(struct sp_store *s, struct sp_rolling *h)
{
	const struct sp_roll *roll = &h->roll;
	struct sp_minutes minutes = {.file = roll->from,
				     .source = roll->source,
				     .generation = roll->generation,
				     .begin_ms = roll->begin_ms,
				     .end_ms = roll->end_ms,
				     .n_windows = roll->n_windows,
				     .n_values = roll->rows.n_values,
				     .n_files = roll->decoded->view.n_files};
	int r = sp_minutes_sums(&minutes, &h->sums);

	(void)s;
	return r != -ENODATA ? r : sp_sums_of_rows(&roll->rows, &roll->decoded->view, SP_SUMS_LIBRARIES, &h->sums);
}

static int sum_functions(struct sp_store *s, struct sp_rolling *h)
{
	const struct sp_dict_view *view = &h->roll.decoded->view;
	int r = !h->steps ? sp_sums_steps_new(&h->roll.rows, view, SP_SUMS_FUNCTIONS, &h->steps) : 0;

	(void)s;
	return r < 0 ? r : sp_sums_steps_run(h->steps, &h->roll.rows, view, STEP);
}

static int prune_tree(struct sp_store *s, struct sp_rolling *h)
{
	int r = sp_sums_steps_end(h->steps, h->roll.decoded->view.file_of, &h->sums);

	(void)s;
	r = r < 0 ? r : sp_pruned_tree_make_from_sums(sp_sums_steps_subtree(h->steps), &h->roll.rows, &h->pruned);
	sp_sums_steps_free(h->steps);
	h->steps = NULL;
	return r;
}

static int write_chunks(struct sp_store *s, struct sp_rolling *h)
{
	return sp_roll_copy_chunks(s, &h->roll, CHUNKS_BYTES);
}

static int write_overview(struct sp_store *s, struct sp_rolling *h)
{
	const struct sp_roll *roll = &h->roll;
	struct sp_overview o = {.from = roll->from,
				.to = roll->to,
				.source = roll->source,
				.generation = roll->generation,
				.begin_ms = roll->begin_ms,
				.end_ms = roll->end_ms,
				.last_chunk = roll->head.last_chunk,
				.n_values = roll->rows.n_values,
				.pruned = &h->pruned};
	int r = sp_writer_find_place(roll->to, roll->source, roll->generation, &roll->head, &o.t_ms);

	return r < 0 ? r : sp_writer_write_overview(s, &o);
}

static int write_window(struct sp_store *s, struct sp_rolling *h)
{
	return sp_roll_write_window(s, &h->roll, &h->sums);
}

/* Frees what only the hour needs. */
static void hour_done(struct sp_rolling *h)
{
	sp_roll_done(&h->roll);
	sp_sums_steps_free(h->steps);
	h->steps = NULL;
	sp_sums_done(&h->sums);
	sp_pruned_tree_done(&h->pruned);
	sp_decoded_dict_done(&h->decoded);
}

static int sum_day(struct sp_store *s, struct sp_rolling *h)
{
	int r = 0;

	if (!h->day) {
		hour_done(h);
		r = sp_day_sum_new(h->roll.source, &h->day);
	}
	return r < 0 ? r : sp_day_sum_step(s, h->day);
}

static const struct part {
	int (*step)(struct sp_store *s, struct sp_rolling *h);
	bool writes; /* in a transaction of the hours' file */
} parts[] = {{read_minutes, false},  {sort_rows, false},   {sum_libraries, false},
	     {sum_functions, false}, {prune_tree, false},  {write_chunks, true},
	     {write_overview, true}, {write_window, true}, {sum_day, false}};
enum { PART_READ = 0, PART_DAY = SP_COUNT(parts) - 1 };

/* --- sequence --- */
static void rolling_done(struct sp_rolling *h)
{
	hour_done(h);
	sp_day_sum_free(h->day);
}

void sp_writer_forget_rolling(struct sp_writer *w)
{
	if (!w->rolling)
		return;
	rolling_done(w->rolling);
	free(w->rolling);
	w->rolling = NULL;
}

bool sp_writer_is_rolling(const struct sp_writer *w, uint64_t source)
{
	return w->rolling && w->rolling->roll.source == source;
}

static int write_part(struct sp_store *s, struct sp_rolling *h)
{
	int r = sp_file_begin(h->roll.to), again;

	if (r < 0)
		return r;
	again = parts[h->part].step(s, h);
	r = sp_file_end(h->roll.to, SP_MIN(again, 0));
	r = r < 0 ? r : sp_file_checkpoint(h->roll.to);
	return r < 0 ? r : again;
}

static int run_part(struct sp_store *s, struct sp_rolling *h)
{
	int r = sp_writer_check_time(s);

	if (r == 0 && h->part != PART_DAY)
		r = sp_decoded_dict_get(s, h->roll.from, h->roll.generation, h->roll.decoded);
	if (r < 0) /* the view may have moved */
		return r;
	r = parts[h->part].writes ? write_part(s, h) : parts[h->part].step(s, h);
	if (r == 0)
		h->part = h->part == PART_READ && h->roll.n_windows == 0 ? SP_COUNT(parts) : h->part + 1;
	return r;
}

int sp_roll_hour(struct sp_store *s, const struct sp_roll *roll)
{
	struct sp_rolling h = {.roll = *roll, .read_ms = roll->begin_ms};
	int r = 0;

	h.roll.rows = (struct sp_window_rows){0};
	h.roll.packed = (struct sp_packed_rows){0};
	h.roll.n_windows = 0;
	while (r >= 0 && h.part < PART_DAY)
		r = run_part(s, &h);
	rolling_done(&h);
	return r;
}

/* Sets w->rolling to the next hour, or to the day's sums; NULL: nothing is due. */
static int begin_hour(struct sp_store *s, uint64_t source, uint64_t t_ms)
{
	struct sp_writer *w = s->writer;
	const struct sp_store_source *state = &w->sources[source - 1];
	uint64_t period_ms = sp_roll_period_ms(SP_RES_1H), rolled_to_ms = state->rolled_to_ms[SP_RES_1H], first;
	struct sp_rolling *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	w->rolling = h;
	h->roll = (struct sp_roll){.from = &w->files[SP_RES_1M],
				   .to = &w->files[SP_RES_1H],
				   .source = source,
				   .generation = w->generation,
				   .decoded = &h->decoded};
	h->part = state->hour_is_new ? PART_DAY : PART_READ;
	if (state->hour_is_new)
		return 0;
	int r = sp_roll_find_first(&h->roll, rolled_to_ms, &first);
	uint64_t hour_ms = r < 0 || first == UINT64_MAX ? 0 : first / period_ms * period_ms;
	h->roll.begin_ms = h->read_ms = SP_MAX(hour_ms, rolled_to_ms);
	h->roll.end_ms = hour_ms + period_ms;
	if (r < 0 || first == UINT64_MAX || h->roll.end_ms > t_ms) /* no hour is over */
		sp_writer_forget_rolling(w);
	return r;
}

static int run_next_part(struct sp_store *s, struct sp_rolling *h)
{
	struct sp_store_source *state = &s->writer->sources[h->roll.source - 1];
	size_t part = h->part;
	int r = run_part(s, h);

	if (part < PART_DAY && h->part >= PART_DAY)
		state->rolled_to_ms[SP_RES_1H] = h->roll.end_ms;
	if (part != PART_DAY || r > 0)
		return r;
	state->hour_is_new = false; /* after an error the next hour adds this one, too */
	s->writer->check_age = true;
	return r;
}

int sp_roll_hour_step(struct sp_store *s, uint64_t source, uint64_t t_ms, bool at_once)
{
	struct sp_writer *w = s->writer;

	if (at_once && w->rolling && !sp_writer_is_rolling(w, source))
		sp_writer_forget_rolling(w);
	int r = !w->rolling ? begin_hour(s, source, t_ms) : 0;
	if (r < 0 || !sp_writer_is_rolling(w, source))
		return r;
	do
		r = run_next_part(s, w->rolling);
	while (r >= 0 && at_once && w->rolling->part < SP_COUNT(parts));
	if (r < 0 || w->rolling->part >= SP_COUNT(parts))
		sp_writer_forget_rolling(w);
	return SP_MIN(r, 0);
}
