/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/priv.h"
#include "store/sums.h"

/* One source's totals of a day, under way. */
struct day_sum {
	struct sp_digest digest;
	struct sp_head head;
	uint64_t source, up_to_ms; /* windows up to there are in it */
	bool begun;
	size_t n_new;
};

static int begin(struct day_sum *sum, uint32_t n_values)
{
	if (sum->begun)
		return 0;
	sum->begun = true;
	return sp_digest_init(&sum->digest, n_values);
}

/* What the day's row has so far: its head's last "chunk" is the time of the last window in it. */
static int add_day(void *arg, const struct sp_scan_totals *t)
{
	struct day_sum *sum = arg;
	struct sp_sums sums = {
	    .totals = (struct sp_scan_total *)t->totals, .n = t->n_totals, .n_values = t->window.n_values};
	int r = begin(sum, t->window.n_values);

	return r < 0 ? r : sp_digest_add(&sum->digest, t->dict, &sums);
}

static int add_hour(void *arg, const struct sp_scan_totals *t)
{
	struct day_sum *sum = arg;
	const struct sp_store_window *w = &t->window.w;
	struct sp_head *h = &sum->head;
	int r = add_day(arg, t);

	if (h->duration_ns == 0)
		h->wall_ns = w->wall_ns, h->boot_ns = w->boot_ns;
	uint64_t begin_ns = SP_MIN(h->wall_ns, w->wall_ns), end = SP_MAX(h->wall_ns + h->length_ns, t->window.end_ns);
	h->wall_ns = begin_ns;
	h->length_ns = end - begin_ns;
	h->duration_ns += w->duration_ns;
	h->n_lost += w->n_lost;
	h->rate_mhz = w->rate_mhz;
	h->n_cpus = SP_MAX(h->n_cpus, w->n_cpus);
	sum->n_new++;
	return r;
}

static int read_head(struct sp_day_file *f, struct day_sum *sum)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, "SELECT head FROM day WHERE source = ?1", &s);

	if (r < 0)
		return r;
	SP_BIND(s, sum->source);
	int code = sqlite3_step(s);
	if (code == SQLITE_DONE)
		return 0;
	if (code != SQLITE_ROW)
		return sp_file_error(f, code, "read");
	r = sp_head_unpack(sp_day_id(f->day.day_s, sum->source), sqlite3_column_blob(s, 0),
			   (size_t)sqlite3_column_bytes(s, 0), &sum->head);
	if (r == 0)
		sum->up_to_ms = sum->head.last_chunk;
	return r == -EBADMSG ? 0 : r; /* then it is made anew, of all hours */
}

static int put_day(struct sp_writer *w, struct sp_day_file *f, const struct day_sum *sum)
{
	struct sp_window_id id = sp_day_id(f->day.day_s, sum->source);
	uint8_t head[SP_HEAD_MAX];
	const void *record;
	sqlite3_stmt *s;
	size_t len;

	sp_packer_begin(w->packer);
	sp_chunk_pack(&sum->digest.chunk, w->packer, true);
	sp_sums_pack(&sum->digest.sums, w->packer);
	int r = sp_packer_end(w->packer, SP_RECORD_DAY, (uint64_t[]){id.t_ms, id.generation}, &record, &len);
	r = r < 0 ? r : sp_file_prepare(f, "INSERT OR REPLACE INTO day VALUES(?1, ?2, ?3)", &s);
	if (r < 0)
		return r;
	SP_BIND(s, sum->source);
	(void)sqlite3_bind_blob64(s, 2, head, sp_head_pack(&sum->head, id, head), SQLITE_STATIC);
	(void)sqlite3_bind_blob64(s, 3, record, len, SQLITE_STATIC);
	return sp_writer_run(f, s);
}

/* The last window of the hour file that is of this source: what a day's row made now has. */
static int last_hour(struct sp_day_file *f, uint64_t source, uint64_t *ret_t_ms)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, "SELECT max(t) FROM window WHERE source = ?1", &s);

	if (r < 0)
		return r;
	SP_BIND(s, source);
	int code = sqlite3_step(s);
	*ret_t_ms = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
	return code == SQLITE_ROW ? 0 : sp_file_error(f, code, "read");
}

int sp_writer_sum_day(struct sp_store *s, uint64_t source)
{
	struct sp_day_file *f = &s->writer->files[SP_RES_1H];
	struct day_sum sum = {.source = source};
	uint64_t last_ms;
	int r = last_hour(f, source, &last_ms);

	r = r < 0 ? r : read_head(f, &sum);
	if (r < 0 || last_ms <= sum.up_to_ms)
		return r;
	if (sum.up_to_ms > 0)
		r = sp_scan_file_totals(s, f, source, 0, true, add_day, &sum);
	if (!sum.begun) { /* it was not there, or could not be read */
		sum.head = (struct sp_head){0};
		sum.up_to_ms = 0;
	}
	r = r < 0 ? r : sp_scan_file_totals(s, f, source, sum.up_to_ms, false, add_hour, &sum);
	sum.head.last_chunk = last_ms;
	if (r == 0 && sum.n_new > 0)
		r = put_day(s->writer, f, &sum);
	if (r == 0 && sum.n_new > 0)
		r = sp_writer_grow_day(s, f, source, last_ms);
	if (sum.begun)
		sp_digest_done(&sum.digest);
	return r;
}
