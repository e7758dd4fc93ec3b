/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/send.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "fleet/encode.h"
#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* READ_S: so much is read at once, if an interval is no longer, and has at most READ_ROWS: more would cost memory, less
 * the time of the day's dictionary. BATCH_BYTES: so much goes into a request for each table; more wait for none.
 * KEEP_NAMES: so many that the server has wait to be written, which is the less work the more they are.
 */
enum {
	KEEP_NAMES = 4096,
	BATCH_BYTES = 256 << 10,
	PART_BYTES = 64 << 10,
	BATCH_WINDOWS = 60,
	READ_S = 600,
	READ_INTERVALS = 60,
	READ_ROWS = 5000
};

struct sender {
	struct sp_fleet *f;
	const struct sp_fleet_send *s;
	struct sp_store *store;
	struct sp_store_span span;
	struct sp_sent *sent;
	struct sp_fleet_rows rows;
	struct sp_fleet_sent *result, batch;
	uint64_t seed, host, length_ns;
	uint32_t run;
	struct sp_store_interval intervals[READ_INTERVALS];
	struct sp_fleet_window windows[READ_INTERVALS];
};

/* --- a batch --- */
static int table_send(struct sender *s, enum sp_fleet_table table)
{
	struct sp_bytes sql = {0};
	int r;

	if (!s->rows.tables[table].n)
		return 0;
	sp_fleet_insert_write(table, &sql);
	r = sql.failed ? -ENOMEM : sp_fleet_insert(s->f, sql.bytes, &s->rows.tables[table]);
	sp_bytes_done(&sql);
	if (r < 0)
		return sp_fail(r, "send %s%s", sp_fleet_table_name(table),
			       r == -ENOENT ? " (soprof fleet init makes it)" : "");
	s->batch.n_rows += table == SP_FLEET_SAMPLE ? s->rows.n_rows[table] : 0;
	sp_fleet_rows_clear(&s->rows, table);
	return 0;
}

/* In the midst of windows: all names; of the rest what is worth a part of a table. */
static int rows_send(void *sender)
{
	struct sender *s = sender;
	int r = 0;

	for (int i = 0; r == 0 && i < SP_FLEET_WINDOW; i++)
		if (i < SP_FLEET_SAMPLE || s->rows.tables[i].n >= PART_BYTES)
			r = table_send(s, (enum sp_fleet_table)i);
	return r < 0 ? r : sp_sent_keep(s->sent, KEEP_NAMES);
}

static int batch_send(struct sender *s)
{
	struct sp_fleet_sent *all = s->result;
	int r = 0;

	if (!s->batch.n_windows)
		return 0;
	for (int i = 0; r == 0 && i < SP_FLEET_N_TABLES; i++)
		r = table_send(s, (enum sp_fleet_table)i);
	if (r == 0)
		r = sp_sent_keep(s->sent, 1);
	if (r < 0)
		return r;
	all->n_windows += s->batch.n_windows;
	all->n_samples += s->batch.n_samples;
	all->n_rows += s->batch.n_rows;
	all->n_left_out += s->batch.n_left_out;
	all->to_ns = SP_MAX(all->to_ns, s->batch.to_ns);
	s->batch = (struct sp_fleet_sent){0};
	return 0;
}

/* --- intervals --- */
static uint64_t begin_of(const struct sender *s, const struct sp_store_query *q, uint32_t i)
{
	return (q->from_ns / s->length_ns + i) * s->length_ns;
}

/* Intervals in which nothing was sampled are no windows. */
static void windows_fill(struct sender *s, const struct sp_store_query *q, uint64_t n_left_out, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_store_interval *interval = &s->intervals[i];
		struct sp_fleet_window *w = &s->windows[i];
		uint64_t end = begin_of(s, q, i) + s->length_ns;

		w->covered_ns = interval->covered_ns;
		w->n_lost = interval->n_lost;
		w->n_left_out = n_left_out;
		if (!interval->n_windows)
			continue;
		w->seconds = (uint32_t)((end - w->from_ns) / SP_NS_PER_S);
		s->batch.n_windows++;
		s->batch.to_ns = SP_MAX(s->batch.to_ns, end);
	}
}

/* A number for what is sent from now on, which counts only as far as rows of windows have it, too. */
static int run_draw(struct sender *s)
{
	if (getrandom(&s->run, sizeof(s->run), 0) != sizeof(s->run))
		return sp_fail(-EIO, "draw a number");
	return 0;
}

/* 1: windows of several intervals are damaged. */
static int intervals_read(struct sender *s, const struct sp_store_query *q, struct sp_fleet_encoder *e, size_t *ret_n)
{
	struct sp_stored_reader reader = sp_fleet_encoder_reader(e);
	struct sp_store_answer answer;
	uint64_t n_samples = 0;
	int r;

	reader.max_rows = READ_ROWS;
	r = sp_stored_intervals(s->store, q, s->length_ns, &reader, s->intervals, ret_n, &answer);
	if (r < 0 || !answer.n_windows)
		return r;
	if (answer.n_damaged && *ret_n > 1)
		return 1;
	windows_fill(s, q, answer.n_damaged, (uint32_t)*ret_n);
	s->batch.n_left_out += answer.n_damaged;
	r = sp_fleet_encoder_end(e, &n_samples);
	s->batch.n_samples += n_samples;
	return r;
}

/*
 * 1: windows of several intervals are damaged: each interval is to be read alone, to know in which they are. What was
 * sent of them counts nothing. *ret_end_ns: where to go on.
 */
static int intervals_add(struct sender *s, const char *source, uint64_t from_ns, uint64_t to_ns, uint64_t *ret_end_ns)
{
	struct sp_store_query q = sp_store_query_of_all(source, from_ns, to_ns);
	struct sp_fleet_windows w = {.all = s->windows,
				     .n = (uint32_t)sp_store_n_intervals(&q, s->length_ns),
				     .host = s->host,
				     .run = s->run,
				     .source = source,
				     .name = s->s->host,
				     .labels = s->s->labels,
				     .n_labels = s->s->n_labels};
	struct sp_fleet_encoder *e = NULL;
	size_t n = w.n;
	int r;

	for (uint32_t i = 0; i < w.n; i++)
		s->windows[i] = (struct sp_fleet_window){.from_ns = SP_MAX(begin_of(s, &q, i), from_ns)};
	r = sp_fleet_encoder_new(&w, s->seed, s->sent, &s->rows, &e);
	if (r == 0)
		r = intervals_read(s, &q, e, &n);
	sp_fleet_encoder_free(e);
	*ret_end_ns = n < w.n ? begin_of(s, &q, (uint32_t)n) : to_ns;
	if (r > 0)
		return run_draw(s) < 0 ? -EIO : 1;
	if (r == 0 && (s->batch.n_windows >= BATCH_WINDOWS || sp_fleet_rows_bytes(&s->rows) >= BATCH_BYTES))
		r = batch_send(s);
	return r;
}

/* --- a source --- */
/* The end of what the server has of it, in seconds; 0: nothing. What a wrong clock dated after now does not count. */
static int cursor_ask(struct sender *s, const char *source, uint64_t *ret_s)
{
	struct sp_bytes sql = {0}, answer = {0};
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&sql,
		       "SELECT toUInt64(max(toUInt32(ts) + seconds)) FROM windows WHERE host = %llu AND source = ",
		       (unsigned long long)s->host);
	sp_fleet_quote(&sql, source);
	sp_fleet_print(&sql, " AND ts <= toDateTime(%llu) FORMAT RowBinary",
		       (unsigned long long)(sp_time_ns(CLOCK_REALTIME) / SP_NS_PER_S));
	sp_bytes_put_u8(&sql, '\0');
	r = sql.failed ? -ENOMEM : sp_fleet_ask(s->f, sql.bytes, false, &answer);
	row = sp_bytes_rows(&answer);
	if (r == 0) {
		*ret_s = sp_row_u64(&row);
		r = row.bad ? sp_fail_said(-EIO, "%s does not answer as ClickHouse does", sp_fleet_name(s->f)) : 0;
	}
	sp_bytes_done(&sql);
	sp_bytes_done(&answer);
	return r;
}

/*
 * An interval ends at a multiple of its length, also where the length was another one before. A reading ends at a
 * multiple of its own length, so it has no two days.
 */
static int range_send(struct sender *s, const char *source, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t length = s->length_ns, n = READ_S * SP_NS_PER_S / length, alone_until_ns = 0;
	uint64_t read = length * SP_MIN(SP_MAX(n, UINT64_C(1)), (uint64_t)READ_INTERVALS);
	int r = 0;

	for (uint64_t at = from_ns, next; r == 0 && at < to_ns; at = next) {
		uint64_t each = at < alone_until_ns ? length : read;

		r = intervals_add(s, source, at, SP_MIN((at / each + 1) * each, to_ns), &next);
		if (r <= 0)
			continue;
		alone_until_ns = next;
		next = at;
		r = 0;
	}
	return r == 0 ? batch_send(s) : r;
}

/* `samples` has no sources: those of two are told apart by their runs. */
static int source_send(struct sender *s, const char *source)
{
	uint64_t length = s->length_ns, at = 0, end = s->span.last_ns;
	int r = cursor_ask(s, source, &at);

	if (r == 0)
		r = run_draw(s);
	if (r < 0)
		return r;
	at *= SP_NS_PER_S;
	s->result->to_ns = SP_MAX(s->result->to_ns, at);
	if (!at)
		at = SP_MAX(s->span.first_ns, s->s->begin_ns) / length * length;
	if (s->s->is_whole)
		end = s->span.last_end_ns + length - 1;
	/* a server that speaks of times before the store's would have us look at each of them */
	return range_send(s, source, SP_MAX(at, s->span.first_ns / length * length), end / length * length);
}

/* --- all --- */
static int send_begin(struct sender *s)
{
	struct sp_store_options o = {.read_only = true};
	int r = sp_fleet_meta(s->f, &s->seed);

	s->host = sp_fleet_host(s->seed, s->s->host, s->s->machine);
	if (r == 0)
		r = sp_sent_open(s->s->sent_file, s->seed ^ s->host, &s->sent);
	if (r == 0)
		r = sp_store_open(s->s->store, &o, &s->store);
	s->length_ns = s->s->resolution_s * SP_NS_PER_S;
	return r < 0 ? r : sp_store_span(s->store, &s->span);
}

int sp_fleet_send(struct sp_fleet *f, const struct sp_fleet_send *job, struct sp_fleet_sent *ret_sent)
{
	struct sender s = {.f = f, .s = job, .result = ret_sent};
	int r;

	s.rows.send = rows_send;
	s.rows.arg = &s;
	s.rows.most = BATCH_BYTES;
	r = send_begin(&s);

	for (size_t i = 0; r == 0 && i < job->n_sources; i++)
		r = source_send(&s, job->sources[i]);
	ret_sent->n_bytes = sp_fleet_sent_bytes(f);
	if (s.store)
		sp_store_close(s.store);
	sp_sent_close(s.sent);
	sp_fleet_rows_done(&s.rows);
	return r;
}
