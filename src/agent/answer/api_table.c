/* SPDX-License-Identifier: GPL-2.0-or-later */
/* api_table.c: tables by library, function, process ..., and the caller matrix. */
#include "agent/answer/api_priv.h"
#include "agent/answer/api_sums.h"
#include "agent/answer/long_totals.h"
#include "agent/answer/tree_columns.h"
#include "profile/matrix.h"
#include "profile/totals.h"
#include <errno.h>
#include <pwd.h>
#include <string.h>

/* Shares are of these sums. */
static void put_whole(const struct sp_profile *p, uint32_t value, int64_t whole, int64_t n_samples, struct sp_json *j)
{
	const struct sp_value_type *type = sp_profile_value_type(p, value);

	sp_json_string(j, "value", sp_profile_string(p, type->name));
	sp_json_string(j, "unit", sp_profile_string(p, type->unit));
	sp_json_ints(j, {"whole", whole}, {"samples", n_samples});
	sp_json_line(j);
}

static void put_library(const struct sp_profile *p, const struct sp_total *row, struct sp_json *j)
{
	const struct sp_file *f = sp_profile_file(p, row->none ? 0 : row->id);

	sp_json_string(j, "path", sp_profile_string(p, f->path));
	sp_json_hex(j, "build_id", f->build_id, f->build_id_len);
	sp_json_int(j, "functions", row->n_functions);
}

static void put_process(const struct sp_profile *p, const struct sp_total *row, struct sp_json *j)
{
	const struct sp_process *process = sp_profile_process(p, row->none ? 0 : row->id);

	sp_json_ints(j, {"pid", process->pid}, {"uid", process->uid});
	sp_json_string(j, "cgroup", sp_profile_string(p, process->cgroup_path));
}

/* Each host of a fleet has its own. */
static void put_user(const struct sp_api *a, const struct sp_total *row, struct sp_json *j)
{
	struct passwd entry, *found = NULL;
	char room[4096];

	sp_json_int(j, "uid", row->id);
	if (!a->fleet && getpwuid_r(row->id, &entry, room, sizeof(room), &found) == 0 && found)
		sp_json_string(j, "user", found->pw_name);
}

static void put_name(const struct sp_api *a, const struct sp_profile *p, int by, const struct sp_total *row,
		     struct sp_json *j)
{
	const char *name = sp_total_name(p, (enum sp_total_by)by, row);

	if (by == SP_TOTAL_BY_LIBRARY)
		name = sp_api_library_name(p, row->none ? 0 : row->id);
	if (by == SP_TOTAL_BY_FUNCTION && (row->none || row->id == 0))
		name = "[unknown]";
	sp_json_string(j, "name", name);
	if (by == SP_TOTAL_BY_FUNCTION)
		sp_json_string(j, "library", sp_api_library_name(p, row->none ? 0 : row->file));
	else if (by == SP_TOTAL_BY_LIBRARY)
		put_library(p, row, j);
	else if (by == SP_TOTAL_BY_PROCESS)
		put_process(p, row, j);
	else if (by == SP_TOTAL_BY_USER)
		put_user(a, row, j);
}

static void put_row(const struct sp_api *a, const struct sp_profile *p, int by, const struct sp_total *row,
		    struct sp_json *j)
{
	sp_json_object(j, NULL);
	put_name(a, p, by, row, j);
	sp_json_ints(j, {"self", row->self}, {"total", row->total}, {"samples", row->n_samples});
	sp_json_end(j);
}

static void begin_rows(size_t n, struct sp_json *j)
{
	sp_json_int(j, "n_rows", (int64_t)n);
	sp_json_array(j, "rows");
	sp_json_lines(j);
}

static void end_rows(struct sp_json *j)
{
	sp_json_end(j);
	sp_json_line(j);
}

static void put_rows(const struct sp_api *a, const struct sp_profile *p, int by, const struct sp_totals *t,
		     uint32_t limit, struct sp_json *j)
{
	begin_rows(t->n_rows, j);
	for (size_t i = 0; i < t->n_rows && i < limit; i++)
		put_row(a, p, by, &t->rows[i], j);
	end_rows(j);
}

/* --- long ranges by library: the store's own sums --- */
static int64_t samples_of(const struct sp_api_sum *s, uint32_t file)
{
	for (uint32_t i = 0; i < s->chart->n_libraries; i++)
		if (s->files[i] == file)
			return s->chart->libraries[i].total;
	return 0;
}

static void put_exact_rows(const struct sp_api *a, const struct sp_profile *p, const struct sp_api_sums *sums,
			   uint32_t limit, struct sp_json *j)
{
	const struct sp_api_sum *s = &sums->of[0], *samples = &sums->of[sums->n - 1];
	uint32_t n = s->chart->n_libraries;

	put_whole(p, 0, s->whole, samples->whole, j);
	begin_rows(n, j);
	for (uint32_t i = 0; i < n && i < limit; i++) {
		const struct sp_store_chart_library *l = &s->chart->libraries[i];
		struct sp_total row = {.id = s->files[i], .none = s->files[i] == 0, .self = l->self, .total = l->total};
		row.n_samples = samples_of(samples, s->files[i]);
		put_row(a, p, SP_TOTAL_BY_LIBRARY, &row, j);
	}
	end_rows(j);
}

/* -ENODATA: there are no such sums. */
static int exact_table(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	struct sp_api_sums sums = {0};
	struct sp_profile *p = NULL;
	int r = sp_profile_new(&p);

	if (r == 0)
		r = sp_api_sums_new(a, ask, p, &sums);
	if (r == 0 && sums.n == 0)
		r = -ENODATA;
	if (r == 0)
		r = sp_profile_add_value_type(p, sums.of[0].chart->value, sums.of[0].chart->unit);
	if (r == 0) {
		sp_api_put_answer(ask, &sums.answer, j);
		put_exact_rows(a, p, &sums, ask->limit, j);
	}
	sp_api_sums_done(&sums);
	sp_profile_free(p);
	return r;
}

static int store_totals(void *arg, const struct sp_store_query *q, bool by_function,
			int (*each)(void *each_arg, const struct sp_store_total *t), void *each_arg,
			struct sp_store_answer *ret_answer)
{
	return sp_store_totals(arg, q, by_function, each, each_arg, ret_answer);
}

static int functions_table(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	struct sp_long_totals_from from = {.totals = store_totals, .value = sp_api_value, .arg = a->store};
	struct sp_store_answer answer = {0};
	struct sp_profile *p = NULL;
	struct sp_totals t = {0};
	uint32_t value = 0;
	int r = sp_long_totals(&from, &ask->q, SP_TOTAL_BY_FUNCTION, ask->value, &p, &t, &answer);

	if (r < 0)
		return r;
	sp_api_value(p, ask->value, &value);
	sp_api_put_answer(ask, &answer, j);
	put_whole(p, value, t.value, t.n_samples, j);
	put_rows(a, p, SP_TOTAL_BY_FUNCTION, &t, ask->limit, j);
	sp_totals_done(&t);
	sp_profile_free(p);
	return 0;
}

/* By what the store has sums of. -ENODATA: there are none. */
static int table_of_sums(const struct sp_api *a, const struct sp_api_ask *ask, int by, struct sp_json *j)
{
	if (!sp_api_sums_wanted(a, &ask->q) || by > SP_TOTAL_BY_FUNCTION)
		return -ENODATA;
	if (by == SP_TOTAL_BY_LIBRARY)
		return exact_table(a, ask, j);
	return ask->q.to_ns - ask->q.from_ns >= SP_STORE_LONG_NS ? functions_table(a, ask, j) : -ENODATA;
}

int sp_api_table(const struct sp_api *a, const struct sp_api_ask *ask, int by, struct sp_json *j)
{
	struct sp_store_answer answer = {0};
	struct sp_profile *p = NULL;
	struct sp_totals t = {0};
	struct sp_store_query q = ask->q;
	uint32_t value = 0;
	int r = table_of_sums(a, ask, by, j);

	if (r != -ENODATA)
		return r;
	q.who = by <= SP_TOTAL_BY_FUNCTION ? SP_WHO_NOTHING : SP_WHO_WHOLE;
	r = sp_api_profile(a, &q, &p, &answer);
	if (r == 0)
		r = sp_api_value(p, ask->value, &value);
	if (r == 0)
		r = sp_totals_by(p, (enum sp_total_by)by, value, &t);
	if (r == 0) {
		sp_api_put_answer(ask, &answer, j);
		put_whole(p, value, t.value, t.n_samples, j);
		put_rows(a, p, by, &t, ask->limit, j);
		sp_totals_done(&t);
	}
	sp_profile_free(p);
	return r;
}

/* --- the caller matrix --- */
static bool is_library(const struct sp_profile *p, const char *wanted, uint32_t file)
{
	return !wanted || !strcmp(wanted, sp_api_library_name(p, file));
}

static void put_cell(const struct sp_profile *p, const struct sp_cell *c, bool entries, struct sp_json *j)
{
	sp_json_object(j, NULL);
	sp_json_string(j, "library", sp_api_library_name(p, c->library));
	sp_json_string(j, "caller", c->caller ? sp_api_library_name(p, c->caller) : "[no other library]");
	if (entries)
		sp_json_string(j, "entry",
			       c->entry ? sp_profile_string(p, sp_profile_func(p, c->entry)->name) : "[unknown]");
	sp_json_ints(j, {"self", c->self}, {"total", c->total}, {"samples", c->n_samples});
	sp_json_end(j);
}

/* With `called` or `caller`: the functions of one cell, through which the library is entered. */
int sp_api_matrix(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	struct sp_store_answer answer = {0};
	struct sp_profile *p = NULL;
	struct sp_matrix m = {0};
	bool entries = ask->called || ask->caller;
	const char *caller = ask->caller && !strcmp(ask->caller, "[no other library]") ? "[no library]" : ask->caller;
	struct sp_store_query q = ask->q;
	uint32_t value = 0, n = 0;
	int r;

	q.who = SP_WHO_NOTHING;
	q.rough = sp_api_sums_wanted(a, &q) && q.to_ns - q.from_ns >= SP_STORE_LONG_NS;
	r = sp_api_profile(a, &q, &p, &answer);

	if (r == 0)
		r = sp_api_value(p, ask->value, &value);
	if (r == 0)
		r = sp_matrix_new(p, value, entries, &m);
	if (r == 0) {
		sp_api_put_answer(ask, &answer, j);
		put_whole(p, value, m.value, m.n_samples, j);
		sp_json_array(j, "rows");
		sp_json_lines(j);
		for (size_t i = 0; i < m.n_cells && n < ask->limit; i++) {
			if (!is_library(p, ask->called, m.cells[i].library) ||
			    !is_library(p, caller, m.cells[i].caller))
				continue;
			put_cell(p, &m.cells[i], entries, j);
			n++;
		}
		sp_json_end(j);
		sp_json_int(j, "n_cells", (int64_t)m.n_cells);
		sp_json_line(j);
		sp_matrix_done(&m);
	}
	sp_profile_free(p);
	return r;
}
