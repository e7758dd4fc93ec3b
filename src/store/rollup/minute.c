/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/rollup/minute.h"

#include "base/mem.h"
#include "base/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MINUTE_MS = 60000, MAX_ROWS = 1 << 15 };

/* --- a minute --- */
void sp_minute_drop_rows(struct sp_minute *m)
{
	sp_packed_rows_done(&m->rows);
	m->n_with_rows = 0;
}

void sp_minute_reset(struct sp_minute *m)
{
	sp_minute_drop_rows(m);
	if (m->accounts.n > 0)
		memset(m->accounts.data, 0, m->accounts.n * sizeof(int64_t));
	m->accounts.n = m->n_windows = 0;
	m->begin_ms = 0;
}

void sp_minute_done(struct sp_minute *m)
{
	sp_minute_drop_rows(m);
	free(m->accounts.data);
	*m = (struct sp_minute){0};
}

int sp_minute_add(struct sp_minute *m, uint64_t t_ms, struct sp_dict_builder *n, const struct sp_profile *p)
{
	uint64_t begin_ms = t_ms / MINUTE_MS * MINUTE_MS;

	if (m->begin_ms != begin_ms || m->n_values != sp_profile_n_value_types(p))
		sp_minute_reset(m);
	m->begin_ms = begin_ms;
	m->n_values = sp_profile_n_value_types(p);
	int r = sp_dict_builder_sum_libraries(n, p, &m->accounts);
	if (r < 0)
		sp_minute_reset(m); /* n_windows no longer matches the file */
	else
		m->n_windows++;
	return r;
}

int sp_minute_sums(const struct sp_minute *m, uint64_t begin_ms, size_t n_windows, struct sp_sums *s)
{
	if (m->n_windows == 0 || m->n_windows != n_windows || m->begin_ms != begin_ms / MINUTE_MS * MINUTE_MS)
		return -ENODATA;
	return sp_sums_of_libraries(m->accounts.data, (uint32_t)(m->accounts.n / 2 / m->n_values), m->n_values, s);
}

int sp_minute_add_rows(struct sp_minute *m, uint64_t t_ms, const struct sp_head *h, const struct sp_window_rows *rows,
		       const uint32_t *group_of)
{
	int r = m->n_windows != m->n_with_rows + 1 ? -ENODATA
		: m->rows.n + rows->n > MAX_ROWS   ? -ERANGE
						   : sp_packed_rows_add(&m->rows, rows, group_of);

	if (r < 0) {
		sp_minute_drop_rows(m);
		return r;
	}
	sp_head_add(&m->head, h, m->n_with_rows == 0);
	m->sum_ms = (m->n_with_rows == 0 ? 0 : m->sum_ms) + t_ms;
	m->n_with_rows++;
	return 0;
}

int sp_minute_rows(struct sp_minute *m, size_t n_windows, uint64_t sum_ms, struct sp_head *ret_head,
		   struct sp_window_rows *ret_rows)
{
	if (m->n_with_rows == 0 || m->n_with_rows != n_windows || m->sum_ms != sum_ms || m->rows.n == 0)
		return -ENODATA;
	*ret_head = m->head;
	return sp_packed_rows_unpack(&m->rows, ret_rows);
}

/* --- an hour --- */
static int add_sums(const struct sp_minutes *m, const struct sp_sums *sums, int64_t *accounts)
{
	if (sums->n_values != m->n_values)
		return -ENODATA;
	for (size_t i = 0; i < sums->n; i++) {
		struct sp_account account = sums->accounts[i];
		const int64_t *values = sp_sums_at(sums, i);
		if (account.func != 0 || account.file >= m->n_files)
			return -ENODATA;
		for (uint32_t v = 0; v < 2 * m->n_values; v++)
			sp_saturating_add(&accounts[2 * (size_t)account.file * m->n_values + v], values[v]);
	}
	return 0;
}

static int add_minute(const struct sp_minutes *m, sqlite3_stmt *s, int64_t *accounts)
{
	uint64_t id[2] = {(uint64_t)sqlite3_column_int64(s, 0), m->generation};
	struct sp_sums sums = {0};
	struct sp_unpacker u;
	int r =
	    sp_unpack_begin(&u, SP_RECORD_TOTALS, id, sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1));

	if (r < 0)
		return r == -EBADMSG ? -ENODATA : r;
	r = sp_sums_unpack(&sums, &u);
	sp_unpack_done(&u);
	r = r < 0 ? r : add_sums(m, &sums, accounts);
	sp_sums_done(&sums);
	return r == -EBADMSG ? -ENODATA : r;
}

int sp_minutes_sums(const struct sp_minutes *m, struct sp_sums *s)
{
	SP_FREE int64_t *accounts = calloc(2 * (size_t)m->n_files * m->n_values + 1, sizeof(*accounts));
	SP_STATEMENT *minutes = NULL;
	int code = SQLITE_DONE;
	size_t n = 0;
	int r = !accounts ? -ENOMEM
			  : sp_file_prepare(m->file,
					    "SELECT t, totals.record FROM window JOIN totals USING(t) "
					    "WHERE t >= ?1 AND t < ?2 AND source = ?3 AND generation = ?4",
					    &minutes);

	if (r < 0)
		return r;
	SP_BIND(minutes, m->begin_ms, m->end_ms, m->source, m->generation);
	for (; r == 0 && (code = sqlite3_step(minutes)) == SQLITE_ROW; n++)
		r = add_minute(m, minutes, accounts);
	if (r == 0 && code != SQLITE_DONE)
		r = sp_file_error(m->file, code, "read");
	if (r == 0 && n != m->n_windows)
		r = -ENODATA;
	return r < 0 ? r : sp_sums_of_libraries(accounts, m->n_files, m->n_values, s);
}
