/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/rollup/roll.h"

#include "base/mem.h"
#include "store/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* JOINED_BYTES: no more is added to a chunk, which each reader must unpack whole. */
enum { ROWS_MIN = 1 << 20, LATE_MS = 30 * 60000, JOINED_BYTES = 256 << 10 };

static const uint64_t period_ms[SP_N_RESOLUTIONS] = {10000, 60000, 3600000};

uint64_t sp_roll_period_ms(int resolution)
{
	return period_ms[resolution];
}

/* --- one period --- */
/* Replaces keys by groups, and invalid numbers by 0, in rows from `at` on. */
static void to_groups(struct sp_roll *roll, uint32_t at)
{
	const struct sp_dict_view *view = &roll->decoded->view;
	bool keys = roll->from->day.resolution == SP_RES_10S;

	for (uint32_t i = at; i < roll->rows.n; i++) {
		uint32_t *who = &roll->rows.who[i], *node = &roll->rows.node[i];
		*who = *who >= (keys ? view->n_keys : view->n_groups) ? 0 : keys ? view->group_of[*who] : *who;
		*node = *node < view->n_nodes ? *node : 0;
	}
}

/* Packs the rows from `at` on, if possible. */
static int pack_rows(struct sp_roll *roll, uint32_t at)
{
	struct sp_window_rows *rows = &roll->rows, some = *rows;

	some.who += at, some.node += at, some.n -= at;
	for (uint32_t v = 0; v < some.n_values; v++)
		some.values[v] += at;
	int r = sp_packed_rows_add(&roll->packed, &some, NULL);
	if (r == 0)
		rows->n = at;
	return r == -ERANGE ? 0 : r;
}

static int append_rows(struct sp_window_rows *to, const struct sp_window_rows *from)
{
	int r = sp_window_rows_reserve(to, (size_t)to->n + from->n);

	if (r < 0)
		return r;
	memcpy(to->who + to->n, from->who, from->n * sizeof(*to->who));
	memcpy(to->node + to->n, from->node, from->n * sizeof(*to->node));
	for (uint32_t v = 0; v < to->n_values; v++)
		memcpy(to->values[v] + to->n, from->values[v], from->n * sizeof(*to->values[v]));
	to->n += from->n;
	return 0;
}

int sp_roll_sort(struct sp_roll *roll)
{
	bool both = roll->rows.n > 0 && roll->packed.n > 0;
	struct sp_window_rows some = {0};
	int r = roll->packed.n > 0 ? sp_packed_rows_unpack(&roll->packed, both ? &some : &roll->rows) : 0;

	if (r == 0 && both)
		r = append_rows(&roll->rows, &some);
	if (r == 0 && (both || roll->packed.n == 0))
		r = sp_window_rows_sort(&roll->rows);
	sp_window_rows_done(&some);
	roll->packed.n = 0;
	return r;
}

void sp_roll_done(struct sp_roll *roll)
{
	sp_window_rows_done(&roll->rows);
	sp_packed_rows_done(&roll->packed);
	sp_chunk_done(&roll->chunk);
}

/* -EBADMSG: it is damaged and was skipped. */
static int add_window(struct sp_roll *roll, sqlite3_stmt *s, bool first)
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
	if (roll->packed.n > 0 && roll->packed.n_values != roll->rows.n_values) {
		roll->rows.n = at;
		return -EBADMSG;
	}
	to_groups(roll, at);
	sp_head_add(&roll->head, &h, first);
	return pack_rows(roll, at);
}

int sp_roll_read(struct sp_store *store, struct sp_roll *roll, uint64_t from_ms, uint64_t to_ms)
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
		if (r == 0 && roll->rows.n + roll->packed.n > sort_at) { /* limits memory: sorting adds up equal rows */
			r = sp_roll_sort(roll);
			sort_at = SP_MAX((size_t)ROWS_MIN, (size_t)roll->rows.n * 2);
		}
	}
	return r == 0 && code != SQLITE_DONE ? sp_file_error(roll->from, code, "read") : r;
}

/* --- chunks --- */
static int last_chunk_in(struct sp_day_file *f, uint64_t generation, uint64_t *ret_seq)
{
	SP_CACHED_STATEMENT *s = NULL;
	int r = sp_file_statement(f, SP_LAST_CHUNK, &s);

	if (r < 0)
		return r;
	SP_BIND(s, sp_chunk_id(generation, 0), sp_chunk_id(generation, UINT32_MAX));
	int code = sqlite3_step(s);
	if (code != SQLITE_ROW)
		return sp_file_error(f, code, "read");
	*ret_seq = (uint64_t)sqlite3_column_int64(s, 0) & UINT32_MAX;
	return 0;
}

static int write_joined(struct sp_store *store, struct sp_roll *roll)
{
	static const uint32_t first[SP_N_DICT_KINDS];
	int r = sp_writer_insert_chunk(store->writer, roll->to, roll->generation, roll->last_seq, &roll->chunk);

	sp_chunk_clear(&roll->chunk, first);
	return r;
}

/* Appends a chunk to the joined one; writes that first if it is large, or if a chunk is missing in between. */
static int join_chunk(struct sp_store *store, struct sp_roll *roll, sqlite3_stmt *s)
{
	static const uint32_t first[SP_N_DICT_KINDS];
	uint64_t id = (uint64_t)sqlite3_column_int64(s, 0);
	int r = sp_chunk_bytes(&roll->chunk) >= JOINED_BYTES ? write_joined(store, roll) : 0;

	r = r < 0 ? r : sp_dict_read_chunk(id, s, 1, &roll->chunk);
	if (r == -EBADMSG && !sp_chunk_is_empty(&roll->chunk)) {
		r = write_joined(store, roll);
		r = r < 0 ? r : sp_dict_read_chunk(id, s, 1, &roll->chunk);
	}
	roll->copied_seq = id & UINT32_MAX;
	if (r == -EBADMSG) { /* readers find it in the other files */
		sp_chunk_clear(&roll->chunk, first);
		store->n_damaged_chunks++;
		return 0;
	}
	roll->last_seq = roll->copied_seq;
	return r;
}

/* 1: there are more. */
static int join_chunks(struct sp_store *store, struct sp_roll *roll, size_t n_bytes)
{
	SP_CACHED_STATEMENT *s = NULL;
	int code = SQLITE_DONE, r = sp_file_statement(roll->from, SP_CHUNKS, &s);

	if (r < 0)
		return r;
	SP_BIND(s, sp_chunk_id(roll->generation, roll->copied_seq + 1),
		sp_chunk_id(roll->generation, roll->head.last_chunk));
	for (size_t n = 0; r == 0 && n <= n_bytes && (code = sqlite3_step(s)) == SQLITE_ROW;) {
		n += (size_t)sqlite3_column_bytes(s, 1);
		r = join_chunk(store, roll, s);
	}
	if (r == 0 && code != SQLITE_DONE && code != SQLITE_ROW)
		r = sp_file_error(roll->from, code, "read");
	return r < 0 ? r : code == SQLITE_ROW;
}

int sp_roll_copy_chunks(struct sp_store *store, struct sp_roll *roll, size_t n_bytes)
{
	static const uint32_t first[SP_N_DICT_KINDS];
	int r = 0;

	if (!roll->copying) {
		roll->copying = true;
		sp_chunk_clear(&roll->chunk, first);
		r = last_chunk_in(roll->to, roll->generation, &roll->copied_seq);
	}
	r = r < 0 ? r : join_chunks(store, roll, n_bytes);
	if (r != 0)
		return r;
	if (!sp_chunk_is_empty(&roll->chunk))
		r = sp_writer_insert_chunk(store->writer, roll->to, roll->generation, roll->last_seq, &roll->chunk);
	sp_chunk_done(&roll->chunk);
	roll->copying = false;
	return r;
}

static int insert_totals(struct sp_store *store, struct sp_roll *roll, uint64_t t_ms, const struct sp_sums *sums)
{
	struct sp_packer *p = store->writer->packer;
	const void *record;
	sqlite3_stmt *s;
	size_t len;

	sp_packer_begin(p);
	sp_sums_pack(sums, p);
	int r = sp_packer_end(p, SP_RECORD_TOTALS, (uint64_t[]){t_ms, roll->generation}, &record, &len);
	r = r < 0 ? r : sp_file_statement(roll->to, SP_PUT_TOTALS, &s);
	if (r < 0)
		return r;
	SP_BIND(s, t_ms);
	(void)sqlite3_bind_blob64(s, 2, record, len, SQLITE_STATIC);
	return sp_file_run_statement(roll->to, s);
}

int sp_roll_write_window(struct sp_store *s, struct sp_roll *roll, const struct sp_sums *sums)
{
	uint64_t t_ms;

	roll->head.n_rows = roll->rows.n;
	int r = sp_writer_insert_window(s->writer, roll->to, roll->source, roll->generation, &roll->head, &roll->rows,
					&t_ms);
	r = r < 0 ? r : insert_totals(s, roll, t_ms, sums);
	if (r == 0 && roll->to->day.resolution == SP_RES_1H && roll->source <= s->writer->n_sources)
		s->writer->sources[roll->source - 1].hour_is_new = true;
	return r;
}

static int write_minute(struct sp_store *s, struct sp_roll *roll, const struct sp_sums *sums)
{
	int r = sp_file_begin(roll->to);

	if (r < 0)
		return r;
	r = sp_roll_copy_chunks(s, roll, SIZE_MAX);
	r = r < 0 ? r : sp_roll_write_window(s, roll, sums);
	return sp_file_end(roll->to, r);
}

/* The minute in memory; NULL: the roll-up is of another generation. */
static struct sp_minute *find_minute(struct sp_store *store, const struct sp_roll *roll)
{
	struct sp_writer *w = store->writer;

	if (!w->dict_builder || roll->generation != w->generation)
		return NULL;
	return &w->sources[roll->source - 1].minutes[roll->begin_ms / period_ms[SP_RES_1M] % 2];
}

/* Takes head and rows from memory; -ENODATA: they are not those of the file. */
static int use_minute_in_memory(struct sp_store *store, struct sp_roll *roll)
{
	struct sp_minute *minute = find_minute(store, roll);
	SP_CACHED_STATEMENT *s = NULL;
	int r = !minute ? -ENODATA : sp_file_statement(roll->from, SP_COUNT_WINDOWS, &s);

	if (r < 0)
		return r;
	SP_BIND(s, roll->begin_ms, roll->end_ms, roll->source, roll->generation);
	int code = sqlite3_step(s);
	if (code != SQLITE_ROW)
		return sp_file_error(roll->from, code, "read");
	size_t n_windows = (size_t)sqlite3_column_int64(s, 0);
	r = sp_minute_rows(minute, n_windows, (uint64_t)sqlite3_column_int64(s, 1), &roll->head, &roll->rows);
	if (r == 0)
		roll->n_windows = n_windows;
	return r;
}

/* From the sums in memory, else by walking the tree. */
static int sum_minute(struct sp_store *store, const struct sp_roll *roll, struct sp_sums *sums)
{
	const struct sp_minute *minute = find_minute(store, roll);
	int r = !minute ? -ENODATA : sp_minute_sums(minute, roll->begin_ms, roll->n_windows, sums);

	return r != -ENODATA ? r : sp_sums_of_rows(&roll->rows, &roll->decoded->view, SP_SUMS_LIBRARIES, sums);
}

static int roll_minute(struct sp_store *s, struct sp_roll *roll)
{
	struct sp_sums sums = {0};
	int r = sp_decoded_dict_get(s, roll->from, roll->generation, roll->decoded);

	roll->rows.n = 0;
	roll->packed.n = roll->n_windows = 0;
	r = r < 0 ? r : use_minute_in_memory(s, roll);
	if (r == -ENODATA) {
		r = sp_roll_read(s, roll, roll->begin_ms, roll->end_ms);
		r = r < 0 ? r : sp_roll_sort(roll);
	}
	if (r < 0 || roll->n_windows == 0)
		return r;
	r = sum_minute(s, roll, &sums);
	r = r < 0 ? r : write_minute(s, roll, &sums);
	sp_sums_done(&sums);
	if (r == 0 && find_minute(s, roll))
		sp_minute_drop_rows(find_minute(s, roll));
	return r;
}

/* --- which periods --- */
int sp_roll_find_first(const struct sp_roll *roll, uint64_t from_ms, uint64_t *ret_t_ms)
{
	SP_CACHED_STATEMENT *s = NULL;
	int r = sp_file_statement(roll->from, SP_FIRST_WINDOW, &s);

	if (r < 0)
		return r;
	SP_BIND(s, from_ms, roll->source, roll->generation);
	int code = sqlite3_step(s);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return sp_file_error(roll->from, code, "read");
	*ret_t_ms = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s, 0) : UINT64_MAX;
	return 0;
}

/* Rolls up all periods that begin at or after *from_ms and end by to_ms; advances *from_ms. */
static int roll_until(struct sp_store *s, struct sp_roll *roll, uint64_t *from_ms, uint64_t to_ms)
{
	uint64_t period = period_ms[roll->to->day.resolution], t_ms = 0;
	int r = 0;

	while (r == 0 && (r = sp_writer_check_time(s)) == 0 && (r = sp_roll_find_first(roll, *from_ms, &t_ms)) == 0 &&
	       t_ms < to_ms) {
		roll->begin_ms = SP_MAX(t_ms / period * period, *from_ms);
		roll->end_ms = t_ms / period * period + period;
		if (roll->end_ms > to_ms)
			break;
		r = roll->to->day.resolution == SP_RES_1H ? sp_roll_hour(s, roll) : roll_minute(s, roll);
		if (r == 0)
			*from_ms = roll->end_ms;
	}
	return r;
}

void sp_writer_begin_series(struct sp_store_source *source, uint64_t t_ms)
{
	for (int to = SP_RES_1M; to < SP_N_RESOLUTIONS; to++)
		source->rolled_to_ms[to] = t_ms / period_ms[to] * period_ms[to];
}

static bool is_due(const struct sp_store_source *state, int to, uint64_t t_ms)
{
	return state->rolled_to_ms[to] <= t_ms && t_ms - state->rolled_to_ms[to] >= period_ms[to];
}

/* Rolls up all periods that are over at t_ms; UINT64_MAX: all. */
static int roll_level(struct sp_store *s, uint64_t source, int to, uint64_t t_ms)
{
	struct sp_writer *w = s->writer;
	struct sp_decoded_dict decoded = {0};
	struct sp_roll roll = {.from = &w->files[to - 1],
			       .to = &w->files[to],
			       .source = source,
			       .generation = w->generation,
			       .decoded = &decoded};
	int r = roll_until(s, &roll, &w->sources[source - 1].rolled_to_ms[to],
			   t_ms == UINT64_MAX ? t_ms : t_ms / period_ms[to] * period_ms[to]);

	sp_roll_done(&roll);
	r = r < 0 ? r : sp_file_checkpoint(&w->files[to]);
	return r < 0 ? r : sp_file_checkpoint(&w->files[to - 1]);
}

bool sp_writer_minute_is_over(const struct sp_store_source *source, uint64_t t_ms)
{
	return is_due(source, SP_RES_1M, t_ms);
}

int sp_writer_roll(struct sp_store *s, uint64_t source, uint64_t t_ms)
{
	struct sp_writer *w = s->writer;
	const struct sp_store_source *state = &w->sources[source - 1];
	bool all = t_ms == UINT64_MAX, minute = is_due(state, SP_RES_1M, t_ms), hour = is_due(state, SP_RES_1H, t_ms);
	/* do all parts at once if windows are rare, or if the hour ended long ago */
	bool late = hour && (all || t_ms - state->rolled_to_ms[SP_RES_1H] >= period_ms[SP_RES_1H] + LATE_MS);
	int r = minute ? roll_level(s, source, SP_RES_1M, t_ms) : 0;

	if (r == 0 && all)
		sp_writer_forget_rolling(w);
	if (r < 0 || (minute && !late))
		return r;
	if (all)
		return late ? roll_level(s, source, SP_RES_1H, t_ms) : 0;
	return hour || state->hour_is_new ? sp_roll_hour_step(s, source, t_ms, late) : 0;
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

/* The end of the last window of this series in the coarser file; 0: none. */
static int find_rolled_to(const struct sp_roll *roll, uint64_t *ret_ms)
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

static int catch_up_level(struct sp_store *s, int to, struct sp_decoded_dict *decoded)
{
	struct sp_writer *w = s->writer;
	SP_FREE struct series *series = NULL;
	size_t n = 0;
	int r = list_series(&w->files[to - 1], w->generation, &series, &n);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_roll roll = {.from = &w->files[to - 1],
				       .to = &w->files[to],
				       .source = series[i].source,
				       .generation = series[i].generation,
				       .decoded = decoded};
		uint64_t from_ms;
		r = find_rolled_to(&roll, &from_ms);
		r = r < 0 ? r : roll_until(s, &roll, &from_ms, UINT64_MAX);
		sp_roll_done(&roll);
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
	struct sp_decoded_dict decoded = {0};
	int r = 0;

	/* the generation that ends now, while its tree is in memory */
	for (uint64_t i = 1; w->dict_builder && i <= w->n_sources && r == 0; i++)
		if (w->sources[i - 1].last_t_ms > 0)
			r = sp_writer_roll(s, i, UINT64_MAX);
	if (w->dict_builder) { /* frees it first: the day's totals need as much memory */
		sp_writer_forget_rolling(w);
		sp_dict_builder_free(w->dict_builder);
		w->dict_builder = NULL;
		return r < 0 ? r : sum_days(s);
	}
	for (int to = SP_RES_1M; to < SP_N_RESOLUTIONS && r == 0; to++)
		r = catch_up_level(s, to, &decoded);
	sp_decoded_dict_done(&decoded);
	return r < 0 ? r : sum_days(s);
}
