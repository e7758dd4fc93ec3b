/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/rollup/day.h"

#include "base/mem.h"
#include "store/format/sums.h"
#include "store/rollup/overview.h"

#include <errno.h>
#include <stdlib.h>

struct sp_day_sum {
	struct sp_day_tree tree;
	struct sp_day_totals totals;
	struct sp_head head;
	uint64_t source, up_to_ms; /* last window included */
	uint64_t last_ms;          /* last window of the file */
	bool begun;
	size_t n_new, step;
};

int sp_day_sum_new(uint64_t source, struct sp_day_sum **ret_day)
{
	struct sp_day_sum *day = calloc(1, sizeof(*day));

	if (!day)
		return -ENOMEM;
	day->source = source;
	*ret_day = day;
	return 0;
}

void sp_day_sum_free(struct sp_day_sum *day)
{
	if (!day)
		return;
	sp_day_tree_done(&day->tree);
	if (day->begun)
		sp_day_totals_done(&day->totals);
	free(day);
}

static int init_totals(struct sp_day_sum *sum, uint32_t n_values)
{
	if (sum->begun)
		return 0;
	sum->begun = true;
	return sp_day_totals_init(&sum->totals, n_values);
}

/* Adds the totals of the day's row, or of an hour. In a day's head, last_chunk is the t of the last hour included. */
static int add_totals(void *arg, const struct sp_scan_totals *t)
{
	struct sp_day_sum *sum = arg;
	int r = init_totals(sum, t->window.n_values);

	return r < 0 ? r : sp_day_totals_add(&sum->totals, t->dict, t->sums);
}

static int add_hour(void *arg, const struct sp_scan_totals *t)
{
	struct sp_day_sum *sum = arg;
	const struct sp_store_window *w = &t->window.w;
	struct sp_head *h = &sum->head;
	int r = add_totals(arg, t);

	if (h->duration_ns == 0)
		h->wall_ns = w->wall_ns, h->boot_ns = w->boot_ns;
	uint64_t begin_ns = SP_MIN(h->wall_ns, w->wall_ns), end = SP_MAX(h->wall_ns + h->length_ns, t->window.end_ns);
	h->wall_ns = begin_ns;
	h->length_ns = end - begin_ns;
	h->duration_ns += w->duration_ns;
	h->n_lost += w->n_lost;
	h->rate_millihertz = w->rate_millihertz;
	h->n_cpus = SP_MAX(h->n_cpus, w->n_cpus);
	sum->n_new++;
	return r;
}

static int read_head(struct sp_day_file *f, struct sp_day_sum *sum)
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
	return r == -EBADMSG ? 0 : r; /* it is made again from all hours */
}

static int insert_day(struct sp_writer *w, struct sp_day_file *f, const struct sp_day_sum *sum)
{
	struct sp_window_id id = sp_day_id(f->day.day_s, sum->source);
	uint8_t head[SP_HEAD_MAX];
	const void *record;
	sqlite3_stmt *s;
	size_t len;

	sp_packer_begin(w->packer);
	sp_chunk_pack(&sum->totals.chunk, w->packer, true);
	sp_sums_pack(&sum->totals.sums, w->packer);
	int r = sp_packer_end(w->packer, SP_RECORD_DAY, (uint64_t[]){id.t_ms, id.generation}, &record, &len);
	r = r < 0 ? r : sp_file_prepare(f, "INSERT OR REPLACE INTO day VALUES(?1, ?2, ?3)", &s);
	if (r < 0)
		return r;
	SP_BIND(s, sum->source);
	(void)sqlite3_bind_blob64(s, 2, head, sp_head_pack(&sum->head, id, head), SQLITE_STATIC);
	(void)sqlite3_bind_blob64(s, 3, record, len, SQLITE_STATIC);
	return sp_writer_run_and_finalize(f, s);
}

/* The last hour of the source. */
static int find_last_hour(struct sp_day_file *f, uint64_t source, uint64_t *ret_t_ms)
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

/* --- steps: 1: call the next one; 0: done --- */
static int find_new_hours(struct sp_store *s, struct sp_day_file *f, struct sp_day_sum *sum)
{
	int r = find_last_hour(f, sum->source, &sum->last_ms);

	(void)s;
	r = r < 0 ? r : read_head(f, sum);
	return r < 0 ? r : sum->last_ms > sum->up_to_ms;
}

static int read_tree(struct sp_store *s, struct sp_day_file *f, struct sp_day_sum *sum)
{
	int r = sp_day_tree_read(s, f, sum->source, &sum->tree);

	if (r == -ENODATA)
		sp_day_tree_done(&sum->tree);
	return r < 0 && r != -ENODATA ? r : 1;
}

static int write_tree(struct sp_store *s, struct sp_day_file *f, struct sp_day_sum *sum)
{
	int r = sp_day_tree_write(s, f, sum->source, &sum->tree, sum->last_ms);

	sp_day_tree_done(&sum->tree); /* before the totals, which take as much memory */
	return r < 0 ? r : 1;
}

static int add_day_row(struct sp_store *s, struct sp_day_file *f, struct sp_day_sum *sum)
{
	int r = sum->up_to_ms > 0 ? sp_scan_file_totals(s, f, sum->source, 0, true, add_totals, sum) : 0;

	if (!sum->begun) { /* the row is missing or damaged: begin with the first hour */
		sum->head = (struct sp_head){0};
		sum->up_to_ms = 0;
	}
	return r < 0 ? r : 1;
}

static int add_hours(struct sp_store *s, struct sp_day_file *f, struct sp_day_sum *sum)
{
	int r = sp_scan_file_totals(s, f, sum->source, sum->up_to_ms, false, add_hour, sum);

	sum->head.last_chunk = sum->last_ms;
	return r < 0 ? r : sum->n_new > 0;
}

static int write_day(struct sp_store *s, struct sp_day_file *f, struct sp_day_sum *sum)
{
	return insert_day(s->writer, f, sum);
}

int sp_day_sum_step(struct sp_store *s, struct sp_day_sum *day)
{
	static int (*const steps[])(struct sp_store * s, struct sp_day_file * f, struct sp_day_sum * sum) = {
	    find_new_hours, read_tree, write_tree, add_day_row, add_hours, write_day};
	int r = sp_writer_check_time(s);

	return r < 0 ? r : steps[day->step++](s, &s->writer->files[SP_RES_1H], day);
}

int sp_writer_sum_day(struct sp_store *s, uint64_t source)
{
	struct sp_day_sum *day = NULL;
	int r = sp_day_sum_new(source, &day);

	while (r == 0 && (r = sp_day_sum_step(s, day)) == 1)
		r = 0;
	sp_day_sum_free(day);
	return r;
}
