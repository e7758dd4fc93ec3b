/* SPDX-License-Identifier: GPL-2.0-or-later */
/* status.c: how the hosts of a fleet are, by what the server has of them; a part of query.h. */
#include "base/error.h"
#include "base/mem.h"
#include "fleet/query.h"
#include "fleet/schema.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A window that was sent twice is one. */
static const char hosts_sql[] =
    "SELECT any(n), source, arrayStringConcat(argMax(l, ts), '\\n'), toUInt64(max(toUInt32(ts) + s)), max(a), count(), "
    "toUInt64(max(toUInt32(ts) + s) - min(toUInt32(ts))), sum(s), sum(r), sum(o), sum(d) FROM (SELECT host, source, "
    "ts, "
    "any(name) AS n, any(labels) AS l, toUInt64(any(seconds)) AS s, max(rows) AS r, max(lost) AS o, max(left_out) AS "
    "d, "
    "max(toInt64(toUInt32(ts)) + toInt64(seconds) - toInt64(toUInt32(made))) AS a FROM windows WHERE day >= today() - "
    "1 "
    "GROUP BY host, source, ts) AS one GROUP BY host, source ORDER BY any(n), source FORMAT RowBinary";

static char *text_copy(struct sp_row_reader *row)
{
	size_t n;
	const char *text = sp_row_text(row, &n);

	return strndup(text, n);
}

static int host_tell(struct sp_row_reader *row, int (*each)(void *arg, const struct sp_fleet_host_status *h), void *arg)
{
	SP_FREE char *name = text_copy(row), *source = text_copy(row), *labels = text_copy(row);
	struct sp_fleet_host_status h = {.name = name, .source = source, .labels = labels};
	uint64_t span_s, sampled_s;

	h.last_s = sp_row_u64(row);
	h.ahead_s = (int64_t)sp_row_u64(row);
	h.n_windows = sp_row_u64(row);
	span_s = sp_row_u64(row);
	sampled_s = sp_row_u64(row);
	h.missing_s = span_s - SP_MIN(span_s, sampled_s);
	h.n_rows = sp_row_u64(row);
	h.n_lost = sp_row_u64(row);
	h.n_left_out = sp_row_u64(row);
	if (row->bad)
		return -EBADMSG;
	return name && source && labels ? each(arg, &h) : -ENOMEM;
}

static int sums_ask(struct sp_fleet *f, struct sp_fleet_status *ret_status)
{
	struct sp_bytes sql = {0}, answer = {0};
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&sql, "SELECT toUInt64(toUInt32(now())), toUInt64(sum(bytes_on_disk)), toUInt64(sum(rows)) FROM "
			     "system.parts WHERE active AND database = ");
	sp_fleet_quote(&sql, sp_fleet_database(f));
	sp_fleet_print(&sql, " FORMAT RowBinary");
	sp_bytes_put_u8(&sql, '\0');
	r = sql.failed ? -ENOMEM : sp_fleet_ask(f, sql.bytes, false, &answer);
	row = sp_bytes_rows(&answer);
	ret_status->now_s = sp_row_u64(&row);
	ret_status->bytes = sp_row_u64(&row);
	ret_status->n_rows = sp_row_u64(&row);
	sp_bytes_done(&sql);
	sp_bytes_done(&answer);
	return r == 0 && row.bad ? -EBADMSG : r;
}

int sp_fleet_status(struct sp_fleet *f, struct sp_fleet_status *ret_status,
		    int (*each)(void *arg, const struct sp_fleet_host_status *h), void *arg)
{
	struct sp_bytes answer = {0};
	uint64_t seed;
	int r = sp_fleet_meta(f, &seed);

	if (r == 0)
		r = sums_ask(f, ret_status);
	if (r == 0)
		r = sp_fleet_ask(f, hosts_sql, false, &answer);
	for (struct sp_row_reader row = sp_bytes_rows(&answer); r == 0 && sp_row_is_there(&row);)
		r = host_tell(&row, each, arg);
	sp_bytes_done(&answer);
	return r == -EBADMSG ? sp_fail_said(-EIO, "%s does not answer as ClickHouse does", sp_fleet_name(f)) : r;
}
