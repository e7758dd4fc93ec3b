/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/meaning.h"
#include "store/priv.h"
#include "store/sums.h"

enum { ROWS_MIN = 1 << 17, MAX_SERIES = 4096 };

static const uint64_t period_ms[SP_N_RESOLUTIONS] = {10000, 60000, 3600000};

/* --- one period
 * -------------------------------------------------------------------------------------------------------- */
/* Windows of one source and generation, of the file `from`, to be one of the file `to`. */
struct roll {
	struct sp_day_file *from, *to;
	uint64_t source, generation, begin_ms, end_ms;
	struct sp_head head;
	struct sp_window_rows rows;
	size_t n_windows; /* that were read */
	struct sp_meaning *meaning;
};

/* From `at` on: keys become groups; numbers that are none become 0. */
static void to_groups(struct roll *roll, uint32_t at)
{
	const struct sp_shape *shape = &roll->meaning->shape;
	bool keys = roll->from->day.resolution == SP_RES_10S;

	for (uint32_t i = at; i < roll->rows.n; i++) {
		uint32_t *who = &roll->rows.who[i], *node = &roll->rows.node[i];
		*who = *who >= (keys ? shape->n_keys : shape->n_groups) ? 0 : keys ? shape->group_of[*who] : *who;
		*node = *node < shape->n_nodes ? *node : 0;
	}
}

static void add_head(struct sp_head *sum, const struct sp_head *h, bool first)
{
	if (first) {
		*sum = *h;
		return;
	}
	sum->duration_ns += h->duration_ns;
	sum->length_ns = SP_MAX(sum->length_ns, h->wall_ns + h->length_ns - sum->wall_ns);
	sum->n_lost += h->n_lost;
	sum->rate_mhz = h->rate_mhz;
	sum->n_cpus = SP_MAX(sum->n_cpus, h->n_cpus);
	sum->last_chunk = SP_MAX(sum->last_chunk, h->last_chunk);
}

/* -EBADMSG: it is damaged, and left out. */
static int add_window(struct roll *roll, sqlite3_stmt *s, bool first)
{
	struct sp_window_id id = {(uint64_t)sqlite3_column_int64(s, 0), roll->generation};
	struct sp_head h;
	uint32_t at = roll->rows.n;
	int r = sp_head_unpack(id, sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), &h);

	r = r < 0
		? r
		: sp_window_rows_unpack(&roll->rows, id, sqlite3_column_blob(s, 2), (size_t)sqlite3_column_bytes(s, 2));
	if (r < 0)
		return r;
	to_groups(roll, at);
	add_head(&roll->head, &h, first);
	return 0;
}

/* Those from from_ms up to to_ms, behind what there is. */
static int read_windows(struct sp_store *store, struct roll *roll, uint64_t from_ms, uint64_t to_ms)
{
	SP_STATEMENT *s = NULL;
	size_t sort_at = SP_MAX((size_t)ROWS_MIN, (size_t)roll->rows.n * 2);
	int code = SQLITE_DONE;
	int r = sp_file_prepare(
	    roll->from,
	    "SELECT t, head, record FROM window WHERE t >= ?1 AND t < ?2 AND source = ?3 AND generation = ?4 "
	    "ORDER BY t",
	    &s);

	if (r < 0)
		return r;
	SP_BIND(s, from_ms, to_ms, roll->source, roll->generation);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		r = add_window(roll, s, roll->n_windows == 0);
		store->n_damaged_windows += r == -EBADMSG;
		roll->n_windows += r == 0;
		r = r == -EBADMSG ? 0 : r;
		if (r == 0 && roll->rows.n > sort_at) { /* so that an hour's rows need not all be there at once */
			r = sp_window_rows_sort(&roll->rows);
			sort_at = SP_MAX((size_t)ROWS_MIN, (size_t)roll->rows.n * 2);
		}
	}
	if (r == 0 && code != SQLITE_DONE)
		r = sp_file_error(roll->from, code, "read");
	return r < 0 ? r : sp_window_rows_sort(&roll->rows);
}

/* --- chunks
 * -------------------------------------------------------------------------------------------------------------- */
static int last_chunk_in(struct sp_day_file *f, uint64_t generation, uint64_t *ret_seq)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, "SELECT max(id) FROM chunk WHERE id BETWEEN ?1 AND ?2", &s);

	if (r < 0)
		return r;
	SP_BIND(s, sp_chunk_id(generation, 0), sp_chunk_id(generation, UINT32_MAX));
	int code = sqlite3_step(s);
	if (code != SQLITE_ROW)
		return sp_file_error(f, code, "read");
	*ret_seq = (uint64_t)sqlite3_column_int64(s, 0) & UINT32_MAX;
	return 0;
}

/* Chunks that follow each other become one; where one is missing, another begins. */
static int join_chunk(struct sp_store *store, struct roll *roll, sqlite3_stmt *s, struct sp_chunk *sum, uint64_t *seq)
{
	static const uint32_t first[SP_N_THINGS];
	uint64_t id = (uint64_t)sqlite3_column_int64(s, 0);
	int r = sp_dict_read_chunk(id, s, 1, sum);

	if (r == -EBADMSG && !sp_chunk_is_empty(sum)) {
		r = sp_writer_put_chunk(store->writer, roll->to, roll->generation, *seq, sum);
		sp_chunk_clear(sum, first);
		r = r < 0 ? r : sp_dict_read_chunk(id, s, 1, sum);
	}
	if (r == -EBADMSG) { /* readers take it from another file, if there is one */
		sp_chunk_clear(sum, first);
		store->n_damaged_windows++;
		return 0;
	}
	*seq = id & UINT32_MAX;
	return r;
}

static int copy_chunks(struct sp_store *store, struct roll *roll)
{
	static const uint32_t first[SP_N_THINGS];
	struct sp_chunk sum = {0};
	SP_STATEMENT *s = NULL;
	uint64_t done = 0, seq = 0;
	int code = SQLITE_DONE, r = last_chunk_in(roll->to, roll->generation, &done);

	r = r < 0 ? r
		  : sp_file_prepare(roll->from, "SELECT id, record FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
				    &s);
	if (r < 0 || done >= roll->head.last_chunk)
		return r;
	SP_BIND(s, sp_chunk_id(roll->generation, done + 1), sp_chunk_id(roll->generation, roll->head.last_chunk));
	sp_chunk_clear(&sum, first);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW)
		r = join_chunk(store, roll, s, &sum, &seq);
	if (r == 0 && code != SQLITE_DONE)
		r = sp_file_error(roll->from, code, "read");
	if (r == 0 && !sp_chunk_is_empty(&sum))
		r = sp_writer_put_chunk(store->writer, roll->to, roll->generation, seq, &sum);
	sp_chunk_done(&sum);
	return r;
}

static int put_totals(struct sp_store *store, struct roll *roll, uint64_t t_ms, const struct sp_sums *sums)
{
	struct sp_packer *p = store->writer->packer;
	const void *record;
	sqlite3_stmt *s;
	size_t len;

	sp_packer_begin(p);
	sp_sums_pack(sums, p);
	int r = sp_packer_end(p, SP_RECORD_TOTALS, (uint64_t[]){t_ms, roll->generation}, &record, &len);
	r = r < 0 ? r : sp_file_prepare(roll->to, "INSERT OR REPLACE INTO totals VALUES(?1, ?2)", &s);
	if (r < 0)
		return r;
	SP_BIND(s, t_ms);
	(void)sqlite3_bind_blob64(s, 2, record, len, SQLITE_STATIC);
	return sp_writer_run(roll->to, s);
}

static int put_overview(struct sp_store *s, const struct roll *roll)
{
	uint64_t t_ms;
	int r = sp_writer_find_place(roll->to, roll->source, roll->generation, &roll->head, &t_ms);

	if (r < 0)
		return r;
	struct sp_overview o = {.from = roll->from,
				.to = roll->to,
				.source = roll->source,
				.generation = roll->generation,
				.begin_ms = roll->begin_ms,
				.end_ms = roll->end_ms,
				.t_ms = t_ms,
				.last_chunk = roll->head.last_chunk,
				.rows = &roll->rows,
				.shape = &roll->meaning->shape};

	return sp_writer_put_overview(s, &o);
}

/* The coarser window; what stands beside it in a table that it is found by comes first. */
static int put_window(struct sp_store *s, struct roll *roll, const struct sp_sums *sums)
{
	uint64_t t_ms;

	roll->head.n_rows = roll->rows.n;
	int r =
	    sp_writer_put_window(s->writer, roll->to, roll->source, roll->generation, &roll->head, &roll->rows, &t_ms);
	r = r < 0 ? r : put_totals(s, roll, t_ms, sums);
	if (r == 0 && roll->to->day.resolution == SP_RES_1H && roll->source <= s->writer->n_sources)
		s->writer->sources[roll->source - 1].hour_is_new = true;
	return r;
}

static int put_period(struct sp_store *s, struct roll *roll, const struct sp_sums *sums)
{
	int r = sp_file_exec(roll->to, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	r = copy_chunks(s, roll);
	if (r == 0 && roll->to->day.resolution == SP_RES_1H)
		r = put_overview(s, roll);
	r = r < 0 ? r : put_window(s, roll, sums);
	return sp_writer_end(roll->to, r);
}

static int roll_period(struct sp_store *s, struct roll *roll)
{
	struct sp_sums sums = {0};
	int r = sp_meaning_of(s, roll->from, roll->generation, roll->meaning);

	roll->rows.n = 0;
	roll->n_windows = 0;
	r = r < 0 ? r : read_windows(s, roll, roll->begin_ms, roll->end_ms);
	if (r < 0 || roll->n_windows == 0)
		return r;
	r = sp_sums_make(
	    &roll->rows, &roll->meaning->shape,
	    roll->to->day.resolution == SP_RES_1H ? SP_SUMS_LIBRARIES | SP_SUMS_FUNCTIONS : SP_SUMS_LIBRARIES, &sums);
	r = r < 0 ? r : put_period(s, roll, &sums);
	sp_sums_done(&sums);
	return r;
}

/* --- which periods
 * -------------------------------------------------------------------------------------------------------- */
/* The first window from there on; UINT64_MAX: none. */
static int first_from(const struct roll *roll, uint64_t from_ms, uint64_t *ret_t_ms)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(
	    roll->from, "SELECT t FROM window WHERE t >= ?1 AND source = ?2 AND generation = ?3 ORDER BY t LIMIT 1",
	    &s);

	if (r < 0)
		return r;
	SP_BIND(s, from_ms, roll->source, roll->generation);
	int code = sqlite3_step(s);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return sp_file_error(roll->from, code, "read");
	*ret_t_ms = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s, 0) : UINT64_MAX;
	return 0;
}

/* All periods that begin at *from_ms or later and are over at to_ms; *from_ms goes up with each that is done. */
static int roll_until(struct sp_store *s, struct roll *roll, uint64_t *from_ms, uint64_t to_ms)
{
	uint64_t period = period_ms[roll->to->day.resolution], t_ms = 0;
	int r = 0;

	while (r == 0 && (r = first_from(roll, *from_ms, &t_ms)) == 0 && t_ms < to_ms) {
		roll->begin_ms = SP_MAX(t_ms / period * period, *from_ms);
		roll->end_ms = t_ms / period * period + period;
		if (roll->end_ms > to_ms)
			break;
		r = roll_period(s, roll);
		if (r == 0)
			*from_ms = roll->end_ms;
	}
	return r;
}

void sp_writer_begin_series(struct sp_source *source, uint64_t t_ms)
{
	for (int to = SP_RES_1M; to < SP_N_RESOLUTIONS; to++)
		source->rolled_to_ms[to] = t_ms / period_ms[to] * period_ms[to];
}

/* --- an hour of the generation that is written, a part with each window ----------------------------------------------
 * Nothing of it counts until its window is there, which is the last part: a crash, or whatever else ends the
 * generation, only means that it is begun again. The parts before may be in the file: they are replaced. */
enum part { PART_READ, PART_LIBRARIES, PART_FUNCTIONS, PART_CHUNKS, PART_OVERVIEW, PART_WINDOW };
struct sp_rolling {
	struct roll roll;
	struct sp_meaning meaning;
	struct sp_sums sums;
	enum part part;
	uint64_t read_ms; /* up to there */
};
enum { READ_MS = 10 * 60000, LATE_MS = 5 * 60000 };

void sp_writer_forget_rolling(struct sp_writer *w)
{
	if (w->rolling == NULL)
		return;
	sp_window_rows_done(&w->rolling->roll.rows);
	sp_sums_done(&w->rolling->sums);
	free(w->rolling);
	w->rolling = NULL;
}

static int begin_hour(struct sp_store *s, uint64_t source, uint64_t t_ms)
{
	struct sp_writer *w = s->writer;
	struct sp_rolling *h = calloc(1, sizeof(*h));
	uint64_t *rolled_to = &w->sources[source - 1].rolled_to_ms[SP_RES_1H], first;

	if (h == NULL)
		return -ENOMEM;
	w->rolling = h;
	h->roll = (struct roll){.from = &w->files[SP_RES_1M],
				.to = &w->files[SP_RES_1H],
				.source = source,
				.generation = w->generation,
				.meaning = &h->meaning};
	int r = first_from(&h->roll, *rolled_to, &first);
	uint64_t end = r < 0 || first == UINT64_MAX ? 0 : first / period_ms[SP_RES_1H] * period_ms[SP_RES_1H];
	h->roll.begin_ms = h->read_ms = SP_MAX(end, *rolled_to);
	h->roll.end_ms = end + period_ms[SP_RES_1H];
	if (r < 0 || first == UINT64_MAX || h->roll.end_ms > t_ms) /* there is none that is over */
		sp_writer_forget_rolling(w);
	return r;
}

/* A part that writes. */
static int put_part(struct sp_store *s, struct sp_rolling *h)
{
	int r = sp_file_exec(h->roll.to, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	if (h->part == PART_CHUNKS)
		r = copy_chunks(s, &h->roll);
	else
		r = h->part == PART_OVERVIEW ? put_overview(s, &h->roll) : put_window(s, &h->roll, &h->sums);
	r = sp_writer_end(h->roll.to, r);
	return r < 0 ? r : sp_file_checkpoint(h->roll.to);
}

static int do_part(struct sp_store *s, struct sp_rolling *h)
{
	uint64_t to_ms = SP_MIN(h->read_ms + READ_MS, h->roll.end_ms);
	int r = sp_meaning_of(s, h->roll.from, h->roll.generation, &h->meaning); /* it may have grown */

	if (r < 0)
		return r;
	if (h->part == PART_READ) {
		r = read_windows(s, &h->roll, h->read_ms, to_ms);
		h->read_ms = to_ms;
		h->part += r == 0 && to_ms == h->roll.end_ms;
		return r;
	}
	if (h->part <= PART_FUNCTIONS)
		r = sp_sums_make(&h->roll.rows, &h->meaning.shape,
				 h->part == PART_LIBRARIES ? SP_SUMS_LIBRARIES : SP_SUMS_FUNCTIONS, &h->sums);
	else
		r = put_part(s, h);
	h->part += r == 0;
	return r;
}

static int roll_hour(struct sp_store *s, uint64_t source, uint64_t t_ms)
{
	struct sp_writer *w = s->writer;
	int r = w->rolling == NULL ? begin_hour(s, source, t_ms) : 0;

	if (r < 0 || w->rolling == NULL || w->rolling->roll.source != source)
		return r;
	struct sp_rolling *h = w->rolling;
	r = do_part(s, h);
	bool is_over = h->part > PART_WINDOW || (h->part > PART_READ && h->roll.n_windows == 0);
	if (r == 0 && is_over)
		w->sources[source - 1].rolled_to_ms[SP_RES_1H] = h->roll.end_ms;
	if (r < 0 || is_over)
		sp_writer_forget_rolling(w);
	return r;
}

static bool is_due(const struct sp_source *of, int to, uint64_t t_ms)
{
	return of->rolled_to_ms[to] <= t_ms && t_ms - of->rolled_to_ms[to] >= period_ms[to];
}

/* All that is over at t_ms (UINT64_MAX: all that there is), at once. */
static int roll_level(struct sp_store *s, uint64_t source, int to, uint64_t t_ms)
{
	struct sp_writer *w = s->writer;
	struct sp_meaning meaning = {0};
	struct roll roll = {.from = &w->files[to - 1],
			    .to = &w->files[to],
			    .source = source,
			    .generation = w->generation,
			    .meaning = &meaning};
	int r = roll_until(s, &roll, &w->sources[source - 1].rolled_to_ms[to],
			   t_ms == UINT64_MAX ? t_ms : t_ms / period_ms[to] * period_ms[to]);

	sp_window_rows_done(&roll.rows);
	r = r < 0 ? r : sp_file_checkpoint(&w->files[to]);
	return r < 0 ? r : sp_file_checkpoint(&w->files[to - 1]);
}

int sp_writer_roll(struct sp_store *s, uint64_t source, uint64_t t_ms)
{
	const struct sp_source *of = &s->writer->sources[source - 1];
	bool all = t_ms == UINT64_MAX, minute = is_due(of, SP_RES_1M, t_ms), hour = is_due(of, SP_RES_1H, t_ms);
	/* where windows come too seldom, or an hour is long over, it is done in one go */
	bool late = hour && (all || t_ms - of->rolled_to_ms[SP_RES_1H] >= period_ms[SP_RES_1H] + LATE_MS);
	int r = minute ? roll_level(s, source, SP_RES_1M, t_ms) : 0;

	if (r == 0 && (late || all))
		sp_writer_forget_rolling(s->writer);
	if (r == 0 && late)
		return roll_level(s, source, SP_RES_1H, t_ms);
	return r < 0 || minute || !hour ? r : roll_hour(s, source, t_ms);
}

struct series {
	uint64_t source, generation;
};

static int list_series(struct sp_day_file *f, uint64_t current, struct series **ret_series, size_t *ret_n)
{
	SP_STATEMENT *s = NULL;
	size_t n = 0, capacity = 0;
	int code = SQLITE_DONE;
	int r = sp_file_prepare(
	    f, "SELECT DISTINCT source, generation FROM window WHERE generation != ?1 ORDER BY 2, 1", &s);

	if (r < 0)
		return r;
	SP_BIND(s, current);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		r = sp_grow(ret_series, &capacity, n + 1, sizeof(**ret_series));
		if (r == 0)
			(*ret_series)[n++] =
			    (struct series){(uint64_t)sqlite3_column_int64(s, 0), (uint64_t)sqlite3_column_int64(s, 1)};
	}
	*ret_n = n;
	return r == 0 && code != SQLITE_DONE ? sp_file_error(f, code, "read") : r;
}

/* Up to where the coarser file has windows of the series. */
static int rolled_to(const struct roll *roll, uint64_t *ret_ms)
{
	uint64_t period = period_ms[roll->to->day.resolution];
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(roll->to, "SELECT max(t) FROM window WHERE source = ?1 AND generation = ?2", &s);

	if (r < 0)
		return r;
	SP_BIND(s, roll->source, roll->generation);
	int code = sqlite3_step(s);
	if (code != SQLITE_ROW)
		return sp_file_error(roll->to, code, "read");
	uint64_t t_ms = (uint64_t)sqlite3_column_int64(s, 0);
	*ret_ms = t_ms == 0 ? 0 : t_ms / period * period + period;
	return 0;
}

static int catch_up_level(struct sp_store *s, int to, struct sp_meaning *meaning)
{
	struct sp_writer *w = s->writer;
	SP_FREE struct series *series = NULL;
	size_t n = 0;
	int r = list_series(&w->files[to - 1], w->generation, &series, &n);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct roll roll = {.from = &w->files[to - 1],
				    .to = &w->files[to],
				    .source = series[i].source,
				    .generation = series[i].generation,
				    .meaning = meaning};
		uint64_t from_ms;
		r = rolled_to(&roll, &from_ms);
		r = r < 0 ? r : roll_until(s, &roll, &from_ms, UINT64_MAX);
		sp_window_rows_done(&roll.rows);
	}
	return r < 0 ? r : sp_file_checkpoint(&w->files[to]);
}

static int sum_days(struct sp_store *s)
{
	int r = 0;

	for (uint64_t i = 1; i <= s->writer->n_sources && r == 0; i++)
		r = sp_writer_sum_day(s, i);
	return r;
}

int sp_writer_catch_up(struct sp_store *s)
{
	struct sp_writer *w = s->writer;
	struct sp_meaning meaning = {0};
	int r = 0;

	/* of the generation that ends now, as long as its tree is in memory */
	for (uint64_t i = 1; w->numbering != NULL && i <= w->n_sources && r == 0; i++)
		if (w->sources[i - 1].last_t_ms > 0)
			r = sp_writer_roll(s, i, UINT64_MAX);
	if (w->numbering != NULL)
		return r < 0 ? r : sum_days(s);
	for (int to = SP_RES_1M; to < SP_N_RESOLUTIONS && r == 0; to++)
		r = catch_up_level(s, to, &meaning);
	sp_meaning_done(&meaning);
	return r < 0 ? r : sum_days(s);
}
