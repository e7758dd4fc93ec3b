/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query.c: sp_fleet_query(): choose hosts and windows, add up at the server, make a profile of it. */
#include "fleet/query.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "fleet/names.h"
#include "fleet/schema.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A statement up to so many bytes is taken by a server as it is set up usually. */
enum { USUAL_SQL = 200000 };
/* Up to so many stacks come whole; of more, those that cost the most: of the others the leaf and what is at the root.
 */
enum { MANY_STACKS = 100000, ROOT_FRAMES = 16 };

struct query {
	struct sp_fleet *f;
	const struct sp_fleet_filter *filter;
	const struct sp_store_query *q;
	uint64_t from_s, to_s;
	uint32_t slice_s;
	struct sp_bytes range;    /* SQL: which rows of `samples` and `windows` are looked at */
	struct sp_bytes hosts;    /* which hosts with which labels: " AND (host, ...) IN (...)", or nothing */
	struct sp_bytes host_ids; /* the hosts alone */
	struct sp_bytes chosen;   /* which windows: "(SELECT host, ts, max(run) ...)" */
	struct sp_bytes sql, answer;
	struct sp_fleet_names *names;
	struct sp_profile *p;
	struct sp_fleet_answer *result;
	int64_t announced, found; /* samples */
	bool is_pruned;           /* stacks that cost no more than `least` are shortened */
	int64_t least;
};

/* --- statements --- */
static void day_put(struct sp_bytes *sql, uint64_t s)
{
	time_t t = (time_t)s;
	struct tm tm;

	gmtime_r(&t, &tm);
	sp_fleet_print(sql, "toDate('%04d-%02d-%02d')", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

static void days_put(const struct query *q, struct sp_bytes *sql)
{
	sp_fleet_print(sql, "day >= ");
	day_put(sql, q->from_s);
	sp_fleet_print(sql, " AND day <= ");
	day_put(sql, q->to_s);
}

static void text_put(struct sp_bytes *sql, const struct sp_bytes *text)
{
	sp_bytes_put(sql, text->bytes, text->n);
}

/* Asks what q->sql says; the answer is read from the row that is returned. */
static int ask(struct query *q, struct sp_row_reader *ret_row)
{
	int r;

	sp_fleet_print(&q->sql, " FORMAT RowBinary");
	sp_bytes_put_u8(&q->sql, '\0');
	q->answer.n = 0;
	r = q->sql.failed ? -ENOMEM : sp_fleet_ask(q->f, q->sql.bytes, false, &q->answer);
	*ret_row = (struct sp_row_reader){.at = q->answer.bytes, .end = q->answer.bytes + q->answer.n};
	q->sql.n = 0;
	if (r == -E2BIG)
		r = sp_fail_said(-E2BIG,
				 "that is too large a question: a shorter --from .. --to, or --host or --label, would "
				 "make it smaller: %s",
				 sp_error_text(r));
	return r;
}

static int row_check(const struct query *q, const struct sp_row_reader *row)
{
	return row->bad ? sp_fail_said(-EIO, "%s does not answer as ClickHouse does", sp_fleet_name(q->f)) : 0;
}

/* --- which windows --- */
static bool label_matches(const char *wanted, const char *label)
{
	size_t n = strcspn(wanted, "=");

	if (strncmp(wanted, label, n) != 0 || label[n] != '=')
		return false;
	return !wanted[n] || sp_glob_matches(wanted + n + 1, label + n + 1);
}

/* A copy, since rows have no NUL. */
static char *row_copy(struct sp_row_reader *row)
{
	size_t n;
	const char *text = sp_row_text(row, &n);

	return strndup(text, n);
}

static int host_read(struct query *q, struct sp_row_reader *row, size_t *n_matching)
{
	uint64_t host = sp_row_u64(row), labels = sp_row_u64(row);
	SP_FREE char *name = row_copy(row);
	bool matches = !q->filter->label && name;

	for (size_t n = sp_row_length(row, 1); n > 0 && !row->bad; n--) {
		SP_FREE char *label = row_copy(row);
		matches = matches || (label && label_matches(q->filter->label, label));
	}
	if (row->bad || !name)
		return name ? row_check(q, row) : -ENOMEM;
	if (!matches || (q->filter->host && !sp_glob_matches(q->filter->host, name)))
		return 0;
	sp_fleet_print(&q->hosts, "%s(%" PRIu64 ",%" PRIu64 ")", *n_matching ? "," : "", host, labels);
	sp_fleet_print(&q->host_ids, "%s%" PRIu64, (*n_matching)++ ? "," : "", host);
	return 0;
}

/* By number, so that no name of a host, nor a label, is ever in a statement. */
static int hosts_choose(struct query *q)
{
	static const char of[] = "cityHash64(arrayStringConcat(labels, '\\n'))";
	struct sp_row_reader row;
	size_t n_matching = 0;
	int r;

	if (!q->filter->host && !q->filter->label)
		return 0;
	sp_fleet_print(&q->sql, "SELECT DISTINCT host, %s, name, labels FROM windows WHERE ", of);
	text_put(&q->sql, &q->range);
	r = ask(q, &row);
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
	if (r == 0 && q->hosts.n + q->host_ids.n > USUAL_SQL)
		r = sp_fail_said(-E2BIG, "%zu hosts match: ask for all, or for fewer", n_matching);
	return r;
}

static void windows_choose(struct query *q)
{
	sp_fleet_print(&q->chosen, "(SELECT host, ts, max(run) FROM windows WHERE ");
	text_put(&q->chosen, &q->range);
	sp_fleet_print(&q->chosen, " AND source = ");
	sp_fleet_quote(&q->chosen, q->q->source ? q->q->source : "cpu");
	text_put(&q->chosen, &q->hosts);
	sp_fleet_print(&q->chosen, " GROUP BY host, ts)");
}

/* Which rows of `samples`: at least those that are asked for, which is enough for names. */
static void samples_where_put(const struct query *q, struct sp_bytes *sql)
{
	sp_fleet_print(sql, " WHERE ");
	text_put(sql, &q->range);
	sp_fleet_print(sql, " AND hour >= toDateTime(%" PRIu64 ") AND hour < toDateTime(%" PRIu64 ")",
		       q->from_s / 3600 * 3600, q->to_s);
	text_put(sql, &q->host_ids);
}

/* GLOBAL: the same windows on all shards. */
static void chosen_put(const struct query *q, struct sp_bytes *sql)
{
	sp_fleet_print(sql, " AND (host, ts, run) GLOBAL IN ");
	text_put(sql, &q->chosen);
}

static int nothing_found(const struct query *q)
{
	return sp_fail_said(-ENODATA, "%s has nothing of %s from that time", sp_fleet_name(q->f),
			    q->q->source ? q->q->source : "cpu");
}

static int value_types_add(struct query *q, struct sp_row_reader *row)
{
	SP_FREE char *name = row_copy(row), *unit = row_copy(row);
	int r = name && unit ? sp_profile_add_value_type(q->p, "samples", "count") : -ENOMEM;

	if (r >= 0 && strcmp(name, "samples") != 0)
		r = sp_profile_add_value_type(q->p, name, unit);
	return r;
}

static int windows_read(struct query *q)
{
	struct sp_store_answer *all = &q->result->all;
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&q->sql, "SELECT cost_name, cost_unit, count(), uniqExact(host), toUInt64(min(toUInt32(ts))), "
				"toUInt64(max(toUInt32(ts) + seconds)), sum(covered), sum(lost), sum(left_out), "
				"sum(samples), toUInt64(max(seconds)) FROM windows");
	sp_fleet_print(&q->sql, " WHERE ");
	text_put(&q->sql, &q->range);
	chosen_put(q, &q->sql);
	sp_fleet_print(&q->sql, " AND source = ");
	sp_fleet_quote(&q->sql, q->q->source ? q->q->source : "cpu");
	sp_fleet_print(&q->sql, " GROUP BY cost_name, cost_unit");
	r = ask(q, &row);
	if (r < 0 || !sp_row_is_there(&row))
		return r < 0 ? r : nothing_found(q);
	r = value_types_add(q, &row);
	all->n_windows = sp_row_u64(&row);
	q->result->n_hosts = sp_row_u64(&row);
	all->from_ns = sp_row_u64(&row) * SP_NS_PER_S;
	all->to_ns = sp_row_u64(&row) * SP_NS_PER_S;
	all->covered_ns = sp_row_u64(&row) / SP_MAX(q->result->n_hosts, UINT64_C(1));
	all->n_lost = sp_row_u64(&row);
	all->n_damaged = sp_row_u64(&row);
	q->announced = (int64_t)sp_row_u64(&row);
	uint64_t seconds = sp_row_u64(&row);
	all->resolution = seconds <= 10 ? SP_RES_10S : seconds <= 60 ? SP_RES_1M : SP_RES_1H;
	if (r >= 0 && sp_row_is_there(&row))
		return sp_fail_said(-EINVAL, "these hosts measure it by different values; --host or --label chooses");
	return r < 0 ? r : row_check(q, &row);
}

/* --- which stacks --- */
/* " AND stack GLOBAL [NOT] IN (...)", where not all come whole. */
static void kept_put(const struct query *q, const char *column, bool kept, struct sp_bytes *sql)
{
	if (!q->is_pruned)
		return;
	sp_fleet_print(sql, " AND %s GLOBAL %sIN (SELECT stack FROM samples", column, kept ? "" : "NOT ");
	samples_where_put(q, sql);
	chosen_put(q, sql);
	sp_fleet_print(sql, " GROUP BY stack HAVING sum(cost) > %" PRIi64 ")", q->least);
}

/* What is filtered here needs all of its stack. */
static int stacks_choose(struct query *q)
{
	struct sp_row_reader row;
	uint64_t n;
	int r;

	if (q->q->exact || q->q->library || q->q->function)
		return 0;
	sp_fleet_print(&q->sql, "SELECT count(), min(c) FROM (SELECT sum(cost) AS c FROM samples");
	samples_where_put(q, &q->sql);
	chosen_put(q, &q->sql);
	sp_fleet_print(&q->sql, " GROUP BY stack ORDER BY c DESC LIMIT %d) AS most", MANY_STACKS + 1);
	r = ask(q, &row);
	if (r < 0)
		return r;
	n = sp_row_u64(&row);
	q->least = (int64_t)sp_row_u64(&row);
	q->is_pruned = n > MANY_STACKS;
	return row_check(q, &row);
}

/* --- names --- */
static void stacks_where_put(const struct query *q, struct sp_bytes *sql)
{
	sp_fleet_print(sql, " WHERE ");
	days_put(q, sql);
	kept_put(q, "id", true, sql);
	if (q->is_pruned)
		return;
	sp_fleet_print(sql, " AND id GLOBAL IN (SELECT stack FROM samples");
	samples_where_put(q, sql);
	sp_fleet_print(sql, ")");
}

static int names_read(struct query *q, int (*take)(struct sp_fleet_names *names, struct sp_row_reader *row))
{
	struct sp_row_reader row;
	int r = ask(q, &row);

	while (r == 0 && sp_row_is_there(&row)) {
		r = take(q->names, &row);
		if (r == 0)
			r = row_check(q, &row);
	}
	return r;
}

static int files_read(struct query *q)
{
	sp_fleet_print(&q->sql, "SELECT id, any(kind), any(build_id), any(build_id_text), any(name), any(path), "
				"any(package), any(version), any(deleted) FROM files WHERE ");
	days_put(q, &q->sql);
	sp_fleet_print(&q->sql, " GROUP BY id");
	return names_read(q, sp_fleet_names_file);
}

static int frames_read(struct query *q)
{
	sp_fleet_print(&q->sql,
		       "SELECT id, any(file), any(of), any(name), any(linkage), any(source), any(line), "
		       "any(is_range), any(start), any(size), any(vaddr), any(offset), any(flags) FROM frames WHERE ");
	days_put(q, &q->sql);
	sp_fleet_print(&q->sql, " AND (id GLOBAL IN (SELECT arrayJoin(frames) FROM stacks");
	stacks_where_put(q, &q->sql);
	if (q->is_pruned) {
		sp_fleet_print(&q->sql,
			       ") OR id GLOBAL IN (SELECT arrayJoin(arrayPushBack(arraySlice(frames, -%d), frames[1])) "
			       "FROM stacks WHERE ",
			       ROOT_FRAMES);
		days_put(q, &q->sql);
	}
	sp_fleet_print(&q->sql, ")) GROUP BY id");
	return names_read(q, sp_fleet_names_frame);
}

static int stacks_read(struct query *q)
{
	sp_fleet_print(&q->sql,
		       "SELECT id, any(class), any(reason), any(kernel_class), any(kernel_reason), any(kernel), "
		       "any(frames) FROM stacks");
	stacks_where_put(q, &q->sql);
	sp_fleet_print(&q->sql, " GROUP BY id");
	return names_read(q, sp_fleet_names_stack);
}

static int who_read(struct query *q)
{
	sp_fleet_print(&q->sql,
		       "SELECT id, any(exe), any(process), any(thread), any(uid), any(cgroup), any(container), "
		       "any(root) FROM who WHERE ");
	days_put(q, &q->sql);
	sp_fleet_print(&q->sql, " AND id GLOBAL IN (SELECT who FROM samples");
	samples_where_put(q, &q->sql);
	sp_fleet_print(&q->sql, ") GROUP BY id");
	return names_read(q, sp_fleet_names_who);
}

/* --- rows --- */
static int rows_take(struct query *q, int (*take)(struct query *q, struct sp_row_reader *row))
{
	struct sp_row_reader row;
	uint64_t n = 0;
	int r;

	sp_fleet_print(&q->sql, " LIMIT %d", SP_FLEET_MAX_ROWS + 1);
	r = ask(q, &row);
	while (r == 0 && sp_row_is_there(&row)) {
		r = take(q, &row);
		if (r == 0 && ++n > SP_FLEET_MAX_ROWS)
			r = sp_fail_said(-E2BIG,
					 "the answer has more than %d rows: a shorter --from .. --to, or --host "
					 "or --label, would make it smaller",
					 SP_FLEET_MAX_ROWS);
	}
	return r;
}

static void slice_put(const struct query *q, struct sp_bytes *sql)
{
	if (q->slice_s)
		sp_fleet_print(sql, "toUInt32(intDiv(toUInt32(ts) - %" PRIu64 ", %u) + 1) AS slice", q->from_s,
			       q->slice_s);
	else
		sp_fleet_print(sql, "toUInt32(0) AS slice");
}

static int values_add(struct query *q, struct sp_row_reader *row, uint64_t who, uint32_t slice,
		      const struct sp_fleet_stacks *stacks)
{
	int64_t values[2], key;

	values[0] = (int64_t)sp_row_u64(row);
	values[1] = (int64_t)sp_row_u64(row);
	q->found += values[0];
	key = row->bad ? row_check(q, row) : sp_fleet_names_key(q->names, who, slice);
	return key < 0 ? (int)key : sp_profile_add(q->p, (uint32_t)key, stacks->user, stacks->kernel, values);
}

static int row_add(struct query *q, struct sp_row_reader *row)
{
	uint64_t who = sp_row_u64(row), stack = sp_row_u64(row);
	uint32_t slice = sp_row_u32(row);
	struct sp_fleet_stacks stacks = sp_fleet_names_stacks(q->names, stack);

	return values_add(q, row, who, slice, &stacks);
}

static int rows_read(struct query *q)
{
	sp_fleet_print(&q->sql, "SELECT who, stack, ");
	slice_put(q, &q->sql);
	sp_fleet_print(&q->sql, ", sum(samples), sum(cost) FROM samples");
	samples_where_put(q, &q->sql);
	chosen_put(q, &q->sql);
	kept_put(q, "stack", true, &q->sql);
	sp_fleet_print(&q->sql, " GROUP BY who, stack, slice");
	return rows_take(q, row_add);
}

static int rare_add(struct query *q, struct sp_row_reader *row)
{
	struct sp_fleet_rare rare = {0};
	struct sp_fleet_stacks stacks;
	uint64_t who = sp_row_u64(row);
	int64_t before = q->found;
	uint32_t slice = sp_row_u32(row);
	int r;

	rare.stack_class = sp_row_u16(row);
	rare.reason = sp_row_u16(row);
	rare.in_kernel = sp_row_u8(row);
	rare.is_cut = sp_row_u8(row);
	rare.n_above_kernel = sp_row_u32(row);
	rare.leaf = sp_row_u64(row);
	r = sp_fleet_names_rare(q->names, &rare, row, &stacks);
	if (r == 0)
		r = values_add(q, row, who, slice, &stacks);
	if (rare.is_cut)
		q->result->all.n_shortened += (uint64_t)(q->found - before);
	return r;
}

/* The rest, added up by leaf and frames at the root, so that what each function costs itself stays exact. */
static int rare_read(struct query *q)
{
	if (!q->is_pruned)
		return 0;
	sp_fleet_print(&q->sql,
		       "SELECT who, slice, class, reason, toUInt8(k > 0) AS in_kernel, toUInt8(length(f) > %d) AS cut, "
		       "toUInt32(if(length(f) > %d, greatest(toInt64(k) - toInt64(length(f)) + %d, 0), "
		       "greatest(toInt64(k) - 1, 0))) AS above_kernel, f[1] AS leaf, "
		       "if(length(f) > %d, arraySlice(f, -%d), arraySlice(f, 2)) AS above, sum(n), sum(c) FROM "
		       "(SELECT who, stack, ",
		       ROOT_FRAMES + 1, ROOT_FRAMES + 1, ROOT_FRAMES, ROOT_FRAMES + 1, ROOT_FRAMES);
	slice_put(q, &q->sql);
	sp_fleet_print(&q->sql, ", sum(samples) AS n, sum(cost) AS c FROM samples");
	samples_where_put(q, &q->sql);
	chosen_put(q, &q->sql);
	kept_put(q, "stack", false, &q->sql);
	sp_fleet_print(&q->sql,
		       " GROUP BY who, stack, slice) AS rare ANY LEFT JOIN (SELECT id AS stack, any(frames) AS f, "
		       "any(kernel) AS k, any(class) AS class, any(reason) AS reason FROM stacks WHERE ");
	days_put(q, &q->sql);
	sp_fleet_print(&q->sql,
		       " GROUP BY id) AS whole USING (stack) GROUP BY who, slice, class, reason, in_kernel, cut, "
		       "above_kernel, leaf, above");
	return rows_take(q, rare_add);
}

/* --- all --- */
static int range_set(struct query *q)
{
	const uint64_t from = sp_store_end(q->q, q->q->from_ns), to = sp_store_end(q->q, q->q->to_ns);

	q->from_s = from / SP_NS_PER_S + (from % SP_NS_PER_S != 0);
	q->to_s = to / SP_NS_PER_S + (to % SP_NS_PER_S != 0);
	if (q->to_s <= q->from_s || q->to_s > UINT32_MAX)
		return nothing_found(q);
	if (q->q->n_slices) {
		q->slice_s = (uint32_t)((q->to_s - q->from_s + q->q->n_slices - 1) / q->q->n_slices);
		q->result->all.slice_ns = q->slice_s * SP_NS_PER_S;
	}
	days_put(q, &q->range);
	sp_fleet_print(&q->range, " AND ts >= toDateTime(%" PRIu64 ") AND ts < toDateTime(%" PRIu64 ")", q->from_s,
		       q->to_s);
	return 0;
}

static int profile_fill(struct query *q)
{
	int r = stacks_choose(q);

	if (r == 0)
		r = files_read(q);
	if (r == 0)
		r = frames_read(q);
	if (r == 0)
		r = stacks_read(q);
	if (r == 0)
		r = who_read(q);
	if (r == 0)
		r = rows_read(q);
	return r == 0 ? rare_read(q) : r;
}

static int narrow(struct sp_profile **p, enum sp_filter_by by, const char *glob)
{
	struct sp_glob_filter f = {.by = by, .globs = &glob, .n_globs = 1};
	struct sp_filter_result result;
	struct sp_profile *kept = NULL;
	int r = glob ? sp_profile_filter_by(*p, &f, &kept, &result) : 0;

	if (kept) {
		sp_profile_free(*p);
		*p = kept;
	}
	return r;
}

static int filters_apply(struct query *q)
{
	int r = narrow(&q->p, SP_FILTER_LIBRARY, q->q->library);

	if (r >= 0)
		r = narrow(&q->p, SP_FILTER_FUNCTION, q->q->function);
	if (r >= 0)
		r = narrow(&q->p, SP_FILTER_PROCESS, q->q->process);
	return r < 0 ? r : narrow(&q->p, SP_FILTER_CGROUP, q->q->cgroup);
}

static int query_run(struct query *q)
{
	uint64_t seed;
	int r = sp_fleet_meta(q->f, &seed);

	if (r == 0)
		r = range_set(q);
	if (r == 0)
		r = hosts_choose(q);
	if (r == 0) {
		windows_choose(q);
		r = windows_read(q);
	}
	if (r == 0)
		r = sp_fleet_names_new(q->p, q->q->source ? q->q->source : "cpu", &q->names);
	return r == 0 ? profile_fill(q) : r;
}

int sp_fleet_query(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *asked,
		   struct sp_profile **ret_profile, struct sp_fleet_answer *ret_answer)
{
	struct query q = {.f = f, .filter = filter, .q = asked, .result = ret_answer};
	int r = sp_profile_new(&q.p);

	*ret_answer = (struct sp_fleet_answer){0};
	if (r == 0)
		r = query_run(&q);
	if (r == 0) {
		ret_answer->n_missing = q.announced - q.found;
		ret_answer->n_unknown = sp_fleet_names_unknown(q.names);
		r = filters_apply(&q);
	}
	if (r >= 0) {
		struct sp_profile_info *info = sp_profile_info(q.p);
		info->time_ns = ret_answer->all.from_ns;
		info->duration_ns = ret_answer->all.covered_ns;
		*ret_profile = sp_take_ptr(q.p);
	}
	sp_fleet_names_free(q.names);
	sp_profile_free(q.p);
	sp_bytes_done(&q.range);
	sp_bytes_done(&q.hosts);
	sp_bytes_done(&q.host_ids);
	sp_bytes_done(&q.chosen);
	sp_bytes_done(&q.sql);
	sp_bytes_done(&q.answer);
	return r < 0 ? r : 0;
}
