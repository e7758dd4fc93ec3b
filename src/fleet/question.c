/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/question.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/time.h"
#include "base/when.h"
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

void sp_fleet_near_offer(struct sp_fleet_near *n, const char *name)
{
	sp_suggest_offer(&n->suggest, name);
	if (n->suggest.best != name)
		return;
	free(n->kept);
	n->kept = strdup(name);
	n->suggest.best = n->kept;
}

/* Those that match, and what is near to a filter that none does. */
struct choosing {
	size_t n_read, n_host, n_matching; /* n_host: of such a name */
	struct sp_fleet_near host, label;
};

/* Of "canary" a label's name is what may be near, of "canary=y" the whole. */
static void label_offer(struct choosing *c, char *label)
{
	char *end = strchr(c->label.suggest.word, '=') ? NULL : strchr(label, '=');

	if (end)
		*end = '\0';
	sp_fleet_near_offer(&c->label, label);
}

static int host_read(struct sp_fleet_question *q, struct sp_row_reader *row, struct choosing *c)
{
	uint64_t host = sp_row_u64(row), labels = sp_row_u64(row);
	SP_FREE char *name = sp_fleet_row_copy(row);
	bool is_host = name && (!q->filter->host || sp_glob_matches(q->filter->host, name));
	bool matches = !q->filter->label;

	for (size_t n = sp_row_length(row, 1); n > 0 && !row->bad; n--) {
		SP_FREE char *label = sp_fleet_row_copy(row);
		matches = matches || (label && sp_fleet_label_matches(q->filter->label, label));
		if (!matches && label)
			label_offer(c, label);
	}
	if (row->bad || !name)
		return name ? sp_fleet_row_check(q, row) : -ENOMEM;
	c->n_read++;
	c->n_host += is_host;
	if (!is_host)
		sp_fleet_near_offer(&c->host, name);
	if (!matches || !is_host)
		return 0;
	sp_fleet_print(&q->hosts, "%s(%" PRIu64 ",%" PRIu64 ")", c->n_matching ? "," : "", host, labels);
	sp_fleet_print(&q->host_ids, "%s%" PRIu64, c->n_matching++ ? "," : "", host);
	return 0;
}

static int no_host(struct sp_fleet_question *q, const struct choosing *c)
{
	const char *near = c->n_host ? c->label.kept : c->host.kept;

	if (!c->n_read)
		return sp_fleet_nothing_found(q);
	return sp_fail_said(-ENODATA, "no host%s%s%s%s sent anything of that time%s%s%s", q->filter->host ? " " : "",
			    q->filter->host ? q->filter->host : "", q->filter->label ? " with the label " : "",
			    q->filter->label ? q->filter->label : "", near ? "; did you mean '" : "", near ? near : "",
			    near ? "'?" : "");
}

/* By number, so that no name of a host, nor a label, is ever in a statement. */
static int hosts_choose(struct sp_fleet_question *q)
{
	static const char of[] = "cityHash64(arrayStringConcat(labels, '\\n'))";
	struct choosing c = {.host.suggest.word = q->filter->host ? q->filter->host : "",
			     .label.suggest.word = q->filter->label ? q->filter->label : ""};
	struct sp_row_reader row;
	int r;

	if (!q->filter->host && !q->filter->label)
		return 0;
	sp_fleet_print(&q->sql, "SELECT DISTINCT host, %s, name, labels FROM windows WHERE ", of);
	sp_fleet_put_text(&q->sql, &q->range);
	r = sp_fleet_question_ask(q, &row);
	sp_fleet_print(&q->hosts, " AND (host, %s) IN (", of);
	sp_fleet_print(&q->host_ids, " AND host IN (");
	while (r == 0 && sp_row_is_there(&row))
		r = host_read(q, &row, &c);
	sp_fleet_print(&q->hosts, ")");
	sp_fleet_print(&q->host_ids, ")");
	if (r == 0 && !c.n_matching)
		r = no_host(q, &c);
	if (r == 0 && q->hosts.n + q->host_ids.n > HOSTS_SQL)
		r = sp_fail_said(-E2BIG, "%zu hosts match: ask for all, or for fewer", c.n_matching);
	free(c.host.kept);
	free(c.label.kept);
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

/* "SOURCE, SOURCE", or of the source that is asked for its times. */
struct there {
	const char *wanted;
	char names[200];
	size_t n;
	uint64_t from_s, to_s; /* 0 = it is not there */
};

static int there_read(struct there *t, struct sp_row_reader *row)
{
	SP_FREE char *name = sp_fleet_row_copy(row);
	uint64_t from_s = sp_row_u64(row), to_s = sp_row_u64(row);
	size_t room = sizeof(t->names) - t->n;
	int n;

	if (!name || row->bad)
		return name ? -EBADMSG : -ENOMEM;
	if (!strcmp(name, t->wanted)) {
		t->from_s = from_s;
		t->to_s = to_s;
	}
	n = snprintf(t->names + t->n, room, "%s%s", t->n ? ", " : "", name);
	if (n > 0 && (size_t)n < room)
		t->n += (size_t)n;
	t->names[t->n] = '\0';
	return 0;
}

/* What it has instead is asked for, if it answers that. */
int sp_fleet_nothing_found(struct sp_fleet_question *q)
{
	struct there t = {.wanted = q->q->source ? q->q->source : "cpu"};
	const char *name = sp_fleet_name(q->f);
	char from[SP_WHEN_TEXT], to[SP_WHEN_TEXT];
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&q->sql, "SELECT source, toUInt64(min(toUInt32(ts))), toUInt64(max(toUInt32(ts) + seconds)) "
				"FROM windows GROUP BY source ORDER BY source");
	r = sp_fleet_question_ask(q, &row);
	while (r == 0 && sp_row_is_there(&row))
		r = there_read(&t, &row);
	sp_error_clear();
	if (r == 0 && t.to_s)
		return sp_fail_said(-ENODATA, "%s has nothing of %s from that time: what it has is from %s to %s", name,
				    t.wanted, sp_when_text(t.from_s * SP_NS_PER_S, from),
				    sp_when_text(t.to_s * SP_NS_PER_S, to));
	if (r == 0 && t.n)
		return sp_fail_said(-ENODATA, "%s has nothing of %s; its hosts sample %s", name, t.wanted, t.names);
	return sp_fail_said(-ENODATA, "%s has nothing of %s%s", name, t.wanted,
			    r == 0 ? ": no host has sent anything yet" : " from that time");
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
