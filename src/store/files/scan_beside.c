/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan_beside.c: what is stored with windows: totals, pruned trees, charts. */
#include "store/files/scan_priv.h"

#include "store/format/chart.h"
#include "store/format/sums.h"

#include <errno.h>
#include <stdlib.h>

/* --- totals --- */
static int read_day_dict(struct sp_scan *scan, struct sp_unpacker *u, struct sp_dict_arrays **ret_dict)
{
	static const uint32_t first[SP_N_DICT_KINDS];
	struct sp_chunk c = {0};
	struct sp_dict_arrays *d = NULL;
	int r = sp_dict_new(scan->file.day.day_s, 0, &d);

	sp_chunk_clear(&c, first);
	r = r < 0 ? r : sp_chunk_unpack(&c, u);
	r = r < 0 ? r : sp_dict_apply(d, &c);
	sp_chunk_done(&c);
	if (r < 0)
		sp_dict_free(d);
	else
		*ret_dict = d;
	return r;
}

/* Replaces numbers that the dictionary does not have by 0. */
static void check_sums(struct sp_sums *s, const struct sp_dict *d)
{
	for (size_t i = 0; i < s->n; i++) {
		s->accounts[i].file = s->accounts[i].file < d->n_files ? s->accounts[i].file : 0;
		s->accounts[i].func = s->accounts[i].func < d->n_funcs ? s->accounts[i].func : 0;
	}
}

static int read_sums(struct sp_scan *scan, struct sp_unpacker *u, struct sp_scan_totals *t, struct sp_sums *sums,
		     struct sp_dict_arrays **own)
{
	struct sp_dict *d = NULL;
	int r =
	    scan->of_days ? read_day_dict(scan, u, own) : sp_scan_dict(scan, scan->id.generation, scan->last_chunk, &d);

	r = r < 0 ? r : sp_sums_unpack(sums, u);
	if (r < 0 || sums->n_values != t->window.n_values)
		return r < 0 ? r : -EBADMSG;
	t->dict = scan->of_days ? &(*own)->dict : d;
	check_sums(sums, t->dict);
	t->sums = sums;
	return 0;
}

static int report_totals(struct sp_scan *scan, struct sp_scan_totals *t,
			 int (*each)(void *arg, const struct sp_scan_totals *t), void *arg)
{
	struct sp_unpacker u;
	struct sp_sums sums = {0};
	struct sp_dict_arrays *own = NULL;
	int r = sp_unpack_begin(&u, scan->of_days ? SP_RECORD_DAY : SP_RECORD_TOTALS,
				(uint64_t[]){scan->id.t_ms, scan->id.generation}, sqlite3_column_blob(scan->windows, 4),
				(size_t)sqlite3_column_bytes(scan->windows, 4));

	if (r == 0) {
		r = read_sums(scan, &u, t, &sums, &own);
		sp_unpack_done(&u);
	}
	if (r == -EBADMSG) {
		scan->n_damaged++;
		r = 0;
	} else if (r == 0) {
		r = each(arg, t);
	}
	sp_sums_done(&sums);
	sp_dict_free(own);
	return r;
}

static int report_all_totals(struct sp_scan *scan, int (*each)(void *arg, const struct sp_scan_totals *t), void *arg)
{
	struct sp_scan_totals t = {0};
	int r;

	while ((r = sp_scan_next(scan, &t.window)) == 1 && (r = report_totals(scan, &t, each, arg)) == 0)
		t = (struct sp_scan_totals){0};
	sp_scan_close(scan);
	return r;
}

int sp_scan_totals(struct sp_store *s, const struct sp_scan_options *o,
		   int (*each)(void *arg, const struct sp_scan_totals *t), void *arg)
{
	struct sp_scan_options windows = *o;
	struct sp_scan *scan;

	windows.no_rows = true;
	int r = o->resolution < SP_RES_1M ? -EINVAL : sp_scan_open(s, &windows, &scan);
	if (r < 0)
		return r;
	scan->totals = true;
	return report_all_totals(scan, each, arg);
}

/* A scan of one source in a file that the caller keeps open. */
static int open_on_file(struct sp_store *s, struct sp_day_file *f, uint64_t source, uint64_t after_ms, bool days,
			bool trees, struct sp_scan **ret_scan)
{
	struct sp_scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return -ENOMEM;
	*scan = (struct sp_scan){
	    .store = s,
	    .options = {.to_ns = UINT64_MAX, .resolution = SP_RES_1H, .no_rows = !trees, .trees = trees},
	    .file = *f,
	    .borrows_file = true,
	    .totals = !trees,
	    .of_days = days,
	    .only_source = source,
	    .after_ms = after_ms};
	scan->dict_scan = scan;
	int r = sp_scan_begin(scan);
	if (r < 0)
		sp_scan_close(scan);
	else
		*ret_scan = scan;
	return r;
}

int sp_scan_file_trees(struct sp_store *s, struct sp_day_file *f, uint64_t source, uint64_t after_ms, bool days,
		       int (*each)(void *arg, const struct sp_scan_window *w, uint64_t up_to_ms), void *arg)
{
	struct sp_scan_window w = {0};
	struct sp_scan *scan;
	int r = open_on_file(s, f, source, after_ms, days, true, &scan);

	if (r < 0)
		return r;
	scan->only_trees = true;
	while (r == 0 && (r = sp_scan_next(scan, &w)) == 1) {
		r = w.dict && w.dict->is_tree ? each(arg, &w, scan->up_to_ms) : -ENODATA;
		w = (struct sp_scan_window){0};
	}
	sp_scan_close(scan);
	return r;
}

int sp_scan_file_totals(struct sp_store *s, struct sp_day_file *f, uint64_t source, uint64_t after_ms, bool days,
			int (*each)(void *arg, const struct sp_scan_totals *t), void *arg)
{
	struct sp_scan *scan;
	int r = open_on_file(s, f, source, after_ms, days, false, &scan);

	return r < 0 ? r : report_all_totals(scan, each, arg);
}

static int report_chart(struct sp_scan *scan, const struct sp_scan_window *w,
			int (*each)(void *arg, const struct sp_scan_window *w, const struct sp_chart_read *c),
			void *arg)
{
	struct sp_chart_read c = {0};
	struct sp_unpacker u;
	int r = sp_unpack_begin(&u, SP_RECORD_CHART, (uint64_t[]){scan->id.t_ms, scan->id.generation},
				sqlite3_column_blob(scan->windows, 4), (size_t)sqlite3_column_bytes(scan->windows, 4));

	if (r == 0) {
		r = sp_chart_unpack(&u, scan->file.day.day_s, &c);
		sp_unpack_done(&u);
	}
	if (r == 0 && c.sums.n_values != w->n_values)
		r = -EBADMSG;
	r = r == 0 ? each(arg, w, &c) : r == -EBADMSG ? 0 : r; /* the caller will use the totals of minutes */
	sp_chart_read_done(&c);
	return r;
}

int sp_scan_charts(struct sp_store *s, const struct sp_scan_options *o,
		   int (*each)(void *arg, const struct sp_scan_window *w, const struct sp_chart_read *c), void *arg)
{
	struct sp_scan_options hours = *o;
	struct sp_scan_window w = {0};
	struct sp_scan *scan;

	hours.no_rows = true;
	hours.resolution = SP_RES_1H;
	int r = sp_scan_open(s, &hours, &scan);
	if (r < 0)
		return r;
	scan->charts = true;
	while ((r = sp_scan_next(scan, &w)) == 1 && (r = report_chart(scan, &w, each, arg)) == 0)
		w = (struct sp_scan_window){0};
	sp_scan_close(scan);
	return r;
}
