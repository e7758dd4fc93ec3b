/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/question.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "fleet/schema.h"
#include "profile/filter.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A statement up to so many bytes is taken by a server as it is set up usually; and so many may be about hosts. */
enum { USUAL_SQL = 262144, HOSTS_SQL = 200000 };

/* --- statements --- */
static void day_put(struct sp_bytes *sql, uint64_t s)
{
	time_t t = (time_t)s;
	struct tm tm;

	gmtime_r(&t, &tm);
	sp_fleet_print(sql, "toDate('%04d-%02d-%02d')", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

void sp_fleet_put_days(const struct sp_fleet_question *q, struct sp_bytes *sql)
{
	sp_fleet_print(sql, "day >= ");
	day_put(sql, q->from_s);
	sp_fleet_print(sql, " AND day <= ");
	day_put(sql, q->to_s);
}

void sp_fleet_put_text(struct sp_bytes *sql, const struct sp_bytes *text)
{
	sp_bytes_put(sql, text->bytes, text->n);
}

/* Asks what q->sql says; the answer is read from the row that is returned. */
int sp_fleet_question_ask(struct sp_fleet_question *q, struct sp_row_reader *ret_row)
{
	int r;

	sp_fleet_print(&q->sql, " FORMAT RowBinary");
	sp_bytes_put_u8(&q->sql, '\0');
	q->answer.n = 0;
	r = q->sql.failed          ? -ENOMEM
	    : q->sql.n > USUAL_SQL ? sp_fail_said(-E2BIG, "the statement has %zu bytes", q->sql.n)
				   : sp_fleet_ask(q->f, q->sql.bytes, false, &q->answer);
	*ret_row = sp_bytes_rows(&q->answer);
	q->sql.n = 0;
	if (r == -E2BIG)
		r = sp_fail_said(-E2BIG,
				 "that is too large a question: a shorter time, or fewer hosts (host, label), would "
				 "make it smaller: %s",
				 sp_error_text(r));
	return r;
}

int sp_fleet_row_check(const struct sp_fleet_question *q, const struct sp_row_reader *row)
{
	return row->bad ? sp_fail_said(-EIO, "%s does not answer as ClickHouse does", sp_fleet_name(q->f)) : 0;
}

/* --- which windows --- */
bool sp_fleet_label_matches(const char *wanted, const char *label)
{
	size_t n = strcspn(wanted, "=");

	if (strncmp(wanted, label, n) != 0 || label[n] != '=')
		return false;
	return !wanted[n] || sp_glob_matches(wanted + n + 1, label + n + 1);
}

/* A copy, since rows have no NUL. */
char *sp_fleet_row_copy(struct sp_row_reader *row)
{
	size_t n;
	const char *text = sp_row_text(row, &n);

	return strndup(text, n);
}

static int host_read(struct sp_fleet_question *q, struct sp_row_reader *row, size_t *n_matching)
{
	uint64_t host = sp_row_u64(row), labels = sp_row_u64(row);
	SP_FREE char *name = sp_fleet_row_copy(row);
	bool matches = !q->filter->label && name;

	for (size_t n = sp_row_length(row, 1); n > 0 && !row->bad; n--) {
		SP_FREE char *label = sp_fleet_row_copy(row);
		matches = matches || (label && sp_fleet_label_matches(q->filter->label, label));
	}
	if (row->bad || !name)
		return name ? sp_fleet_row_check(q, row) : -ENOMEM;
	if (!matches || (q->filter->host && !sp_glob_matches(q->filter->host, name)))
		return 0;
	sp_fleet_print(&q->hosts, "%s(%" PRIu64 ",%" PRIu64 ")", *n_matching ? "," : "", host, labels);
	sp_fleet_print(&q->host_ids, "%s%" PRIu64, (*n_matching)++ ? "," : "", host);
	return 0;
}

/* By number, so that no name of a host, nor a label, is ever in a statement. */
static int hosts_choose(struct sp_fleet_question *q)
{
	static const char of[] = "cityHash64(arrayStringConcat(labels, '\\n'))";
	struct sp_row_reader row;
	size_t n_matching = 0;
	int r;

	if (!q->filter->host && !q->filter->label)
		return 0;
	sp_fleet_print(&q->sql, "SELECT DISTINCT host, %s, name, labels FROM windows WHERE ", of);
	sp_fleet_put_text(&q->sql, &q->range);
	r = sp_fleet_question_ask(q, &row);
	sp_fleet_print(&q->hosts, " AND (host, %s) IN (", of);
	sp_fleet_print(&q->host_ids, " AND host IN (");
	while (r == 0 && sp_row_is_there(&row))
		r = host_read(q, &row, &n_matching);
	sp_fleet_print(&q->hosts, ")");
	sp_fleet_print(&q->host_ids, ")");
	if (r == 0 && !n_matching)
		r = sp_fail_said(-ENODATA, "no host%s%s%s%s sent anything of that time", q->filter->host ? " " : "",
				 q->filter->host ? q->filter->host : "", q->filter->label ? " with the label " : "",
				 q->filter->label ? q->filter->label : "");
	if (r == 0 && q->hosts.n + q->host_ids.n > HOSTS_SQL)
		r = sp_fail_said(-E2BIG, "%zu hosts match: ask for all, or for fewer", n_matching);
	return r;
}

static void windows_choose(struct sp_fleet_question *q)
{
	sp_fleet_print(&q->chosen, "(SELECT host, ts, max(run) FROM windows WHERE ");
	sp_fleet_put_text(&q->chosen, &q->range);
	sp_fleet_print(&q->chosen, " AND source = ");
	sp_fleet_quote(&q->chosen, q->q->source ? q->q->source : "cpu");
	sp_fleet_put_text(&q->chosen, &q->hosts);
	sp_fleet_print(&q->chosen, " GROUP BY host, ts)");
}

/* Which rows of `samples`: at least those that are asked for, which is enough for names. */
void sp_fleet_put_samples_where(const struct sp_fleet_question *q, struct sp_bytes *sql)
{
	sp_fleet_print(sql, " WHERE ");
	sp_fleet_put_text(sql, &q->range);
	sp_fleet_print(sql, " AND hour >= toDateTime(%" PRIu64 ") AND hour < toDateTime(%" PRIu64 ")",
		       q->from_s / 3600 * 3600, q->to_s);
	sp_fleet_put_text(sql, &q->host_ids);
	sp_fleet_put_text(sql, &q->narrowed);
}

/* GLOBAL: the same windows on all shards. */
void sp_fleet_put_chosen(const struct sp_fleet_question *q, struct sp_bytes *sql)
{
	sp_fleet_print(sql, " AND (host, ts, run) GLOBAL IN ");
	sp_fleet_put_text(sql, &q->chosen);
}

int sp_fleet_nothing_found(const struct sp_fleet_question *q)
{
	return sp_fail_said(-ENODATA, "%s has nothing of %s from that time", sp_fleet_name(q->f),
			    q->q->source ? q->q->source : "cpu");
}

static int range_set(struct sp_fleet_question *q)
{
	const uint64_t from = sp_store_end(q->q, q->q->from_ns), to = sp_store_end(q->q, q->q->to_ns);

	q->from_s = from / SP_NS_PER_S + (from % SP_NS_PER_S != 0);
	q->to_s = to / SP_NS_PER_S + (to % SP_NS_PER_S != 0);
	if (q->to_s <= q->from_s || q->to_s > UINT32_MAX)
		return sp_fleet_nothing_found(q);
	if (q->q->n_slices) {
		q->slice_s = (uint32_t)((q->to_s - q->from_s + q->q->n_slices - 1) / q->q->n_slices);
	}
	sp_fleet_put_days(q, &q->range);
	sp_fleet_print(&q->range, " AND ts >= toDateTime(%" PRIu64 ") AND ts < toDateTime(%" PRIu64 ")", q->from_s,
		       q->to_s);
	return 0;
}

int sp_fleet_question_begin(struct sp_fleet_question *q)
{
	int r = sp_fleet_meta(q->f, &q->seed);

	if (r == 0)
		r = range_set(q);
	if (r == 0)
		r = hosts_choose(q);
	if (r == 0)
		windows_choose(q);
	return r;
}

void sp_fleet_question_done(struct sp_fleet_question *q)
{
	sp_bytes_done(&q->range);
	sp_bytes_done(&q->hosts);
	sp_bytes_done(&q->host_ids);
	sp_bytes_done(&q->chosen);
	sp_bytes_done(&q->narrowed);
	sp_bytes_done(&q->sql);
	sp_bytes_done(&q->answer);
}
