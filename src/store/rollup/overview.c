/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/rollup/overview.h"

#include "store/format/chart.h"
#include "store/format/pruned_tree.h"
#include "store/format/sums.h"
#include "store/priv.h"

#include <errno.h>
#include <stdlib.h>

static int insert_record(struct sp_day_file *f, const char *sql, uint64_t row, const void *record, size_t len)
{
	sqlite3_stmt *s;
	int r = sp_file_prepare(f, sql, &s);

	if (r < 0)
		return r;
	SP_BIND(s, row);
	(void)sqlite3_bind_blob64(s, 2, record, len, SQLITE_STATIC);
	return sp_writer_run_and_finalize(f, s);
}

/* --- the tree --- */
static int write_tree(struct sp_writer *w, const struct sp_overview *o, const struct sp_dict *names)
{
	struct sp_tree_merge merge = {0};
	const void *record;
	size_t len;
	int r = sp_tree_merge_init(&merge);

	r = r < 0 ? r : sp_tree_merge_add(&merge, names, o->pruned);
	if (r == 0) {
		sp_packer_begin(w->packer);
		sp_tree_merge_pack(&merge, 0, w->packer);
		r = sp_packer_end(w->packer, SP_RECORD_TREE, (uint64_t[]){o->t_ms, o->generation}, &record, &len);
	}
	sp_tree_merge_done(&merge);
	return r < 0 ? r : insert_record(o->to, "INSERT OR REPLACE INTO tree VALUES(?1, ?2)", o->t_ms, record, len);
}

/* --- the chart --- */
/* Adds the totals of a minute to its slice. */
static int add_minute(struct sp_chart_writer *c, sqlite3_stmt *s, uint64_t generation)
{
	struct sp_window_id id = {(uint64_t)sqlite3_column_int64(s, 0), generation};
	struct sp_sums sums = {0};
	struct sp_unpacker u;
	struct sp_head h;
	int r = sp_head_unpack(id, sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), &h);

	r = r < 0 ? r
		  : sp_unpack_begin(&u, SP_RECORD_TOTALS, (uint64_t[]){id.t_ms, id.generation},
				    sqlite3_column_blob(s, 2), (size_t)sqlite3_column_bytes(s, 2));
	if (r < 0)
		return r;
	r = sp_sums_unpack(&sums, &u);
	sp_unpack_done(&u);
	r = r < 0 ? r : sp_chart_writer_add(c, id.t_ms, h.duration_ns, &sums);
	sp_sums_done(&sums);
	return r;
}

static int add_minutes(const struct sp_overview *o, struct sp_chart_writer *c)
{
	SP_STATEMENT *s = NULL;
	int code = SQLITE_DONE;
	int r = sp_file_prepare(o->from,
				"SELECT t, head, totals.record FROM window JOIN totals USING(t) "
				"WHERE t >= ?1 AND t < ?2 AND source = ?3 AND generation = ?4 ORDER BY t",
				&s);

	if (r < 0)
		return r;
	SP_BIND(s, o->begin_ms, o->end_ms, o->source, o->generation);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		r = add_minute(c, s, o->generation);
		r = r == -EBADMSG ? 0 : r; /* the chart lacks this minute */
	}
	return r == 0 && code != SQLITE_DONE ? sp_file_error(o->from, code, "read") : r;
}

static int write_chart(struct sp_writer *w, const struct sp_overview *o, const struct sp_dict *names)
{
	struct sp_chart_writer c;
	const void *record;
	size_t len;
	int r = sp_chart_writer_init(&c, o->n_values);

	r = r < 0 ? r : add_minutes(o, &c);
	if (r == 0) {
		sp_packer_begin(w->packer);
		r = sp_chart_writer_pack(&c, names, w->packer);
	}
	r = r < 0 ? r : sp_packer_end(w->packer, SP_RECORD_CHART, (uint64_t[]){o->t_ms, o->generation}, &record, &len);
	sp_chart_writer_done(&c);
	return r < 0 ? r : insert_record(o->to, "INSERT OR REPLACE INTO chart VALUES(?1, ?2)", o->t_ms, record, len);
}

int sp_writer_write_overview(struct sp_store *s, const struct sp_overview *o)
{
	struct sp_dict_arrays *names = NULL;
	uint64_t from = 0;
	int r = sp_dict_new(o->to->day.day_s, o->generation, &names);

	if (r == 0) {
		names->skip_nodes = true;
		r = sp_dict_load(s, o->to, names, &from, o->last_chunk);
	}
	r = r < 0 ? r : write_tree(s->writer, o, &names->dict);
	r = r < 0 ? r : write_chart(s->writer, o, &names->dict);
	sp_dict_free(names);
	return r;
}

/* --- the day's tree --- */
static int add_tree(void *arg, const struct sp_scan_window *w, uint64_t up_to_ms)
{
	struct sp_window_rows rows = {.who = (uint32_t *)w->who,
				      .node = (uint32_t *)w->node,
				      .n = w->n_rows,
				      .n_values = w->n_values,
				      .capacity = w->n_rows};
	struct sp_day_tree *t = arg;

	for (uint32_t v = 0; v < w->n_values; v++)
		rows.values[v] = (int64_t *)w->values[v];
	t->up_to_ms = up_to_ms;
	t->n++;
	return sp_tree_merge_add_record(&t->merge, w->dict, &rows);
}

int sp_day_tree_read(struct sp_store *s, struct sp_day_file *f, uint64_t source, struct sp_day_tree *t)
{
	int r = sp_tree_merge_init(&t->merge);

	r = r < 0 ? r : sp_scan_file_trees(s, f, source, 0, true, add_tree, t);
	t->before_ms = t->up_to_ms;
	return r < 0 ? r : sp_scan_file_trees(s, f, source, t->before_ms, false, add_tree, t);
}

int sp_day_tree_write(struct sp_store *s, struct sp_day_file *f, uint64_t source, struct sp_day_tree *t,
		      uint64_t up_to_ms)
{
	struct sp_window_id id = sp_day_id(f->day.day_s, source);
	struct sp_packer *p = s->writer->packer;
	struct sp_tree_merge pruned;
	const void *record;
	size_t len;

	if (t->n == 0 || t->before_ms >= up_to_ms)
		return 0;
	int r = sp_tree_merge_prune(&t->merge, &pruned);
	if (r < 0)
		return r;
	sp_packer_begin(p);
	sp_tree_merge_pack(&pruned, up_to_ms, p);
	r = sp_packer_end(p, SP_RECORD_TREE, (uint64_t[]){id.t_ms, id.generation}, &record, &len);
	r = r < 0 ? r : insert_record(f, "INSERT OR REPLACE INTO day_tree VALUES(?1, ?2)", source, record, len);
	sp_tree_merge_done(&pruned);
	return r;
}

void sp_day_tree_done(struct sp_day_tree *t)
{
	sp_tree_merge_done(&t->merge);
	*t = (struct sp_day_tree){0};
}
