/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query.c: sp_fleet_query(): choose hosts and windows, add up at the server, make a profile of it. */
#include "fleet/query.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/time.h"
#include "fleet/names.h"
#include "fleet/question.h"
#include "profile/profile.h"
#include "store/filter.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Up to so many stacks come whole; of more, those that cost the most: of the others the leaf and what is at the root.
 */
enum { MANY_STACKS = 100000, ROOT_FRAMES = 16 };

struct query {
	struct sp_fleet_question ask;
	struct sp_fleet_names *names;
	struct sp_profile *p;
	struct sp_fleet_answer *result;
	int64_t announced, fetched; /* samples */
	int64_t counted;            /* all that the server has, where filters have it leave out some */
	bool is_narrowed;
	bool is_pruned; /* stacks that cost no more than `least` are shortened */
	int64_t least;
	bool has_leaves; /* alone, */
	bool has_who;    /* and with or without whose they are */
	uint64_t slices_from_s;
};

static int value_types_add(struct query *q, struct sp_row_reader *row)
{
	SP_FREE char *name = sp_fleet_row_copy(row), *unit = sp_fleet_row_copy(row);
	int r = name && unit ? sp_profile_add_value_type(q->p, "samples", "count") : -ENOMEM;

	if (r >= 0 && strcmp(name, "samples") != 0)
		r = sp_profile_add_value_type(q->p, name, unit);
	return r;
}

/* As a store's answer has them: they begin with its first window, and none has a part of a window. */
static void slices_set(struct query *q)
{
	static const uint32_t lengths_s[] = {10, 60, 3600};
	const uint32_t length = lengths_s[q->result->all.resolution];
	const uint64_t first = q->result->all.from_ns / SP_NS_PER_S;

	q->slices_from_s = first - first % length;
	q->ask.slice_s = (q->ask.slice_s + length - 1) / length * length;
	q->result->all.slice_ns = q->ask.slice_s * SP_NS_PER_S;
}

static int windows_read(struct query *q)
{
	struct sp_store_answer *all = &q->result->all;
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&q->ask.sql,
		       "SELECT cost_name, cost_unit, count(), uniqExact(host), toUInt64(min(toUInt32(ts))), "
		       "toUInt64(max(toUInt32(ts) + seconds)), sum(covered), sum(lost), sum(left_out), "
		       "sum(samples), toUInt64(max(seconds)) FROM windows");
	sp_fleet_print(&q->ask.sql, " WHERE ");
	sp_fleet_put_text(&q->ask.sql, &q->ask.range);
	sp_fleet_put_chosen(&q->ask, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, " AND source = ");
	sp_fleet_quote(&q->ask.sql, q->ask.q->source ? q->ask.q->source : "cpu");
	sp_fleet_print(&q->ask.sql, " GROUP BY cost_name, cost_unit");
	r = sp_fleet_question_ask(&q->ask, &row);
	if (r < 0 || !sp_row_is_there(&row))
		return r < 0 ? r : sp_fleet_nothing_found(&q->ask);
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
	slices_set(q);
	if (r >= 0 && sp_row_is_there(&row))
		return sp_fail_said(-EINVAL, "these hosts measure it by different values; --host or --label chooses");
	return r < 0 ? r : sp_fleet_row_check(&q->ask, &row);
}

/* Whether the tables lack something is asked by itself, since not all of it comes. */
static int samples_count(struct query *q)
{
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&q->ask.sql, "SELECT toInt64(sum(samples)) FROM samples");
	sp_fleet_put_samples_where(&q->ask, &q->ask.sql);
	sp_fleet_put_chosen(&q->ask, &q->ask.sql);
	r = sp_fleet_question_ask(&q->ask, &row);
	q->counted = (int64_t)sp_row_u64(&row);
	return r < 0 ? r : sp_fleet_row_check(&q->ask, &row);
}

static int filters_tell(struct query *q)
{
	const struct sp_store_query *asked = q->ask.q;
	int r;

	q->is_narrowed = asked->library || asked->function || asked->process || asked->cgroup;
	if (!q->is_narrowed)
		return 0;
	r = samples_count(q);
	return r < 0 ? r : sp_fleet_question_narrow(&q->ask);
}

/* --- which stacks --- */
/* " AND stack GLOBAL [NOT] IN (...)", where not all come whole. */
static void kept_put(const struct query *q, const char *column, bool kept, struct sp_bytes *sql)
{
	if (!q->is_pruned)
		return;
	sp_fleet_print(sql, " AND %s GLOBAL %sIN (SELECT stack FROM samples", column, kept ? "" : "NOT ");
	sp_fleet_put_samples_where(&q->ask, sql);
	sp_fleet_put_chosen(&q->ask, sql);
	sp_fleet_print(sql, " GROUP BY stack HAVING sum(cost) > %" PRIi64 ")", q->least);
}

/* Whether there may be more than come whole, to some per cent: if the days have no more, the rows need not be looked
 * at. The same stack is there once for each host that sent it until the server has merged its parts. */
static int days_count(struct query *q, uint64_t *ret_n)
{
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&q->ask.sql, "SELECT uniq(id) FROM stacks WHERE ");
	sp_fleet_put_days(&q->ask, &q->ask.sql);
	r = sp_fleet_question_ask(&q->ask, &row);
	*ret_n = sp_row_u64(&row);
	return r < 0 ? r : sp_fleet_row_check(&q->ask, &row);
}

/* What is filtered here needs all of its stack. */
static int stacks_choose(struct query *q)
{
	struct sp_row_reader row;
	uint64_t n = 0;
	int r;

	q->has_who = true;
	if (q->ask.q->exact || q->ask.q->library || q->ask.q->function)
		return 0;
	if (q->ask.filter->leaves_only) {
		q->has_leaves = true;
		q->has_who = q->ask.q->process || q->ask.q->cgroup || !q->ask.q->all_users;
		return 0;
	}
	r = days_count(q, &n);
	if (r < 0 || n <= MANY_STACKS)
		return r;
	sp_fleet_print(&q->ask.sql, "SELECT count(), min(c) FROM (SELECT sum(cost) AS c FROM samples");
	sp_fleet_put_samples_where(&q->ask, &q->ask.sql);
	sp_fleet_put_chosen(&q->ask, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, " GROUP BY stack ORDER BY c DESC LIMIT %d) AS most", MANY_STACKS + 1);
	r = sp_fleet_question_ask(&q->ask, &row);
	if (r < 0)
		return r;
	n = sp_row_u64(&row);
	q->least = (int64_t)sp_row_u64(&row);
	q->is_pruned = n > MANY_STACKS;
	return sp_fleet_row_check(&q->ask, &row);
}

/* --- names --- */
static void stacks_where_put(const struct query *q, struct sp_bytes *sql)
{
	sp_fleet_print(sql, " WHERE ");
	sp_fleet_put_days(&q->ask, sql);
	kept_put(q, "id", true, sql);
	if (q->is_pruned)
		return;
	sp_fleet_print(sql, " AND id GLOBAL IN (SELECT stack FROM samples");
	sp_fleet_put_samples_where(&q->ask, sql);
	sp_fleet_print(sql, ")");
}

static int names_read(struct query *q, int (*take)(struct sp_fleet_names *names, struct sp_row_reader *row))
{
	struct sp_row_reader row;
	int r = sp_fleet_question_ask(&q->ask, &row);

	while (r == 0 && sp_row_is_there(&row)) {
		r = take(q->names, &row);
		if (r == 0)
			r = sp_fleet_row_check(&q->ask, &row);
	}
	return r;
}

static int files_read(struct query *q)
{
	sp_fleet_print(&q->ask.sql, "SELECT id, any(kind), any(build_id), any(build_id_text), any(name), any(path), "
				    "any(package), any(version), any(deleted) FROM files WHERE ");
	sp_fleet_put_days(&q->ask, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, " GROUP BY id");
	return names_read(q, sp_fleet_names_file);
}

static int frames_read(struct query *q)
{
	sp_fleet_print(&q->ask.sql,
		       "SELECT id, any(file), any(of), any(name), any(linkage), any(source), any(line), "
		       "any(is_range), any(start), any(size), any(vaddr), any(offset), any(flags) FROM frames WHERE ");
	sp_fleet_put_days(&q->ask, &q->ask.sql);
	if (!q->is_pruned) { /* of so many stacks nearly all would be wanted */
		sp_fleet_print(&q->ask.sql, " AND id GLOBAL IN (SELECT %s FROM stacks",
			       q->has_leaves ? "frames[1]" : "arrayJoin(frames)");
		stacks_where_put(q, &q->ask.sql);
		sp_fleet_print(&q->ask.sql, ")");
	}
	sp_fleet_print(&q->ask.sql, " GROUP BY id");
	return names_read(q, sp_fleet_names_frame);
}

static int stacks_read(struct query *q)
{
	sp_fleet_print(&q->ask.sql,
		       "SELECT id, any(class), any(reason), any(kernel_class), any(kernel_reason), any(kernel), "
		       "any(frames) FROM stacks");
	stacks_where_put(q, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, " GROUP BY id");
	return names_read(q, sp_fleet_names_stack);
}

static int who_read(struct query *q)
{
	if (!q->has_who)
		return 0;
	sp_fleet_print(&q->ask.sql,
		       "SELECT id, any(exe), any(process), any(thread), any(uid), any(cgroup), any(container), "
		       "any(root) FROM who WHERE ");
	sp_fleet_put_days(&q->ask, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, " AND id GLOBAL IN (SELECT who FROM samples");
	sp_fleet_put_samples_where(&q->ask, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, ") GROUP BY id");
	return names_read(q, sp_fleet_names_who);
}

static int hosts_read(struct query *q)
{
	if (!q->ask.filter->by_host)
		return 0;
	sp_fleet_print(&q->ask.sql, "SELECT host, any(name) FROM windows WHERE ");
	sp_fleet_put_text(&q->ask.sql, &q->ask.range);
	sp_fleet_print(&q->ask.sql, " GROUP BY host");
	return names_read(q, sp_fleet_names_host);
}

/* --- rows --- */
struct part {
	uint32_t slice;
	uint64_t host;
};

static int rows_take(struct query *q, int (*take)(struct query *q, struct sp_row_reader *row))
{
	struct sp_row_reader row;
	uint64_t n = 0;
	int r;

	sp_fleet_print(&q->ask.sql, " LIMIT %d", SP_FLEET_MAX_ROWS + 1);
	r = sp_fleet_question_ask(&q->ask, &row);
	while (r == 0 && sp_row_is_there(&row)) {
		r = take(q, &row);
		if (r == 0 && ++n > SP_FLEET_MAX_ROWS)
			r = sp_fail_said(-E2BIG,
					 "the answer has more than %d rows: a shorter time, or fewer hosts (host, "
					 "label), would make it smaller",
					 SP_FLEET_MAX_ROWS);
	}
	return r;
}

/* Which slice, and which host. */
static void part_put(const struct query *q, struct sp_bytes *sql)
{
	if (q->ask.slice_s)
		sp_fleet_print(sql, "toUInt32(intDiv(toUInt32(ts) - %" PRIu64 ", %u) + 1) AS slice", q->slices_from_s,
			       q->ask.slice_s);
	else
		sp_fleet_print(sql, "toUInt32(0) AS slice");
	sp_fleet_print(sql, ", %s AS machine", q->ask.filter->by_host ? "host" : "toUInt64(0)");
}

static struct part part_read(const struct query *q, struct sp_row_reader *row)
{
	struct part part = {.slice = sp_row_u32(row)};

	row->bad |= part.slice > q->ask.q->n_slices + 1; /* the first may begin before the range */
	part.host = sp_row_u64(row);
	return part;
}

static int values_add(struct query *q, struct sp_row_reader *row, uint64_t who, struct part part,
		      const struct sp_fleet_stacks *stacks)
{
	int64_t values[2], key;

	values[0] = (int64_t)sp_row_u64(row);
	values[1] = (int64_t)sp_row_u64(row);
	sp_saturating_add(&q->fetched, values[0]);
	key = row->bad ? sp_fleet_row_check(&q->ask, row) : sp_fleet_names_key(q->names, who, part.slice, part.host);
	return key < 0 ? (int)key : sp_profile_add(q->p, (uint32_t)key, stacks->user, stacks->kernel, values);
}

static int row_add(struct query *q, struct sp_row_reader *row)
{
	uint64_t who = sp_row_u64(row), stack = sp_row_u64(row);
	struct part part = part_read(q, row);
	struct sp_fleet_stacks stacks = sp_fleet_names_stacks(q->names, stack);

	return values_add(q, row, who, part, &stacks);
}

static int rows_read(struct query *q)
{
	sp_fleet_print(&q->ask.sql, "SELECT who, stack, ");
	part_put(q, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, ", sum(samples), sum(cost) FROM samples");
	sp_fleet_put_samples_where(&q->ask, &q->ask.sql);
	sp_fleet_put_chosen(&q->ask, &q->ask.sql);
	kept_put(q, "stack", true, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, " GROUP BY who, stack, slice, machine");
	return rows_take(q, row_add);
}

static int rare_add(struct query *q, struct sp_row_reader *row)
{
	struct sp_fleet_rare rare = {0};
	struct sp_fleet_stacks stacks;
	uint64_t who = sp_row_u64(row);
	int64_t before = q->fetched;
	struct part part = part_read(q, row);
	int r;

	rare.stack_class = sp_row_u16(row);
	rare.reason = sp_row_u16(row);
	rare.in_kernel = sp_row_u8(row);
	rare.is_cut = sp_row_u8(row);
	rare.n_above_kernel = sp_row_u32(row);
	rare.leaf = sp_row_u64(row);
	r = sp_fleet_names_rare(q->names, &rare, row, &stacks);
	r = row->bad ? sp_fleet_row_check(&q->ask, row) : r;
	if (r == 0)
		r = values_add(q, row, who, part, &stacks);
	if (rare.is_cut)
		q->result->all.n_shortened += (uint64_t)q->fetched - (uint64_t)before;
	return r;
}

/* The rest, added up by leaf and frames at the root, so that what each function costs itself stays exact. */
static int rare_read(struct query *q)
{
	if (!q->is_pruned)
		return 0;
	sp_fleet_print(
	    &q->ask.sql,
	    "SELECT who, slice, machine, class, reason, toUInt8(k > 0) AS in_kernel, toUInt8(length(f) > %d) AS cut, "
	    "toUInt32(if(length(f) > %d, greatest(toInt64(k) - toInt64(length(f)) + %d, 0), "
	    "greatest(toInt64(k) - 1, 0))) AS above_kernel, f[1] AS leaf, "
	    "if(length(f) > %d, arraySlice(f, -%d), arraySlice(f, 2)) AS above, sum(n), sum(c) FROM "
	    "(SELECT who, stack, ",
	    ROOT_FRAMES + 1, ROOT_FRAMES + 1, ROOT_FRAMES, ROOT_FRAMES + 1, ROOT_FRAMES);
	part_put(q, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, ", sum(samples) AS n, sum(cost) AS c FROM samples");
	sp_fleet_put_samples_where(&q->ask, &q->ask.sql);
	sp_fleet_put_chosen(&q->ask, &q->ask.sql);
	kept_put(q, "stack", false, &q->ask.sql);
	sp_fleet_print(
	    &q->ask.sql,
	    " GROUP BY who, stack, slice, machine) AS rare ANY LEFT JOIN (SELECT id AS stack, any(frames) AS f, "
	    "any(kernel) AS k, any(class) AS class, any(reason) AS reason FROM stacks WHERE ");
	sp_fleet_put_days(&q->ask, &q->ask.sql);
	sp_fleet_print(
	    &q->ask.sql,
	    " GROUP BY id) AS whole USING (stack) GROUP BY who, slice, machine, class, reason, in_kernel, cut, "
	    "above_kernel, leaf, above");
	return rows_take(q, rare_add);
}

/* What leaves cost, and nothing else of the stacks. */
static int leaf_add(struct query *q, struct sp_row_reader *row)
{
	static const char nothing[1] = {0}; /* an empty array */
	struct sp_row_reader above = {.at = nothing, .end = nothing + 1};
	struct sp_fleet_rare rare = {0};
	struct sp_fleet_stacks stacks;
	uint64_t who = sp_row_u64(row);
	struct part part = part_read(q, row);
	int r;

	rare.in_kernel = sp_row_u8(row);
	rare.leaf = sp_row_u64(row);
	r = sp_fleet_names_rare(q->names, &rare, &above, &stacks);
	return r == 0 ? values_add(q, row, who, part, &stacks) : r;
}

static int leaves_read(struct query *q)
{
	sp_fleet_print(
	    &q->ask.sql,
	    "SELECT whose, slice, machine, toUInt8(k > 0) AS in_kernel, leaf, sum(n), sum(c) FROM (SELECT %s AS "
	    "whose, stack, ",
	    q->has_who ? "who" : "toUInt64(0)");
	part_put(q, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, ", sum(samples) AS n, sum(cost) AS c FROM samples");
	sp_fleet_put_samples_where(&q->ask, &q->ask.sql);
	sp_fleet_put_chosen(&q->ask, &q->ask.sql);
	sp_fleet_print(&q->ask.sql, " GROUP BY whose, stack, slice, machine) AS one ANY LEFT JOIN (SELECT id AS stack, "
				    "any(frames[1]) AS leaf, any(kernel) AS k FROM stacks WHERE ");
	sp_fleet_put_days(&q->ask, &q->ask.sql);
	sp_fleet_print(&q->ask.sql,
		       " GROUP BY id) AS whole USING (stack) GROUP BY whose, slice, machine, in_kernel, leaf");
	return rows_take(q, leaf_add);
}

static int rows_fill(struct query *q)
{
	int r = q->has_leaves ? leaves_read(q) : rows_read(q);

	return r == 0 ? rare_read(q) : r;
}

/* --- all --- */
static int profile_fill(struct query *q)
{
	int r = stacks_choose(q);

	if (r == 0)
		r = files_read(q);
	if (r == 0)
		r = frames_read(q);
	if (r == 0 && !q->has_leaves)
		r = stacks_read(q);
	if (r == 0)
		r = who_read(q);
	if (r == 0)
		r = hosts_read(q);
	return r == 0 ? rows_fill(q) : r;
}

static int query_run(struct query *q)
{
	int r = sp_fleet_question_begin(&q->ask);

	if (r == 0)
		r = windows_read(q);
	if (r == 0)
		r = filters_tell(q);
	if (r == 0)
		r = sp_fleet_names_new(q->p, q->ask.q->source ? q->ask.q->source : "cpu", &q->names);
	return r == 0 ? profile_fill(q) : r;
}

int sp_fleet_query(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *asked,
		   struct sp_profile **ret_profile, struct sp_fleet_answer *ret_answer)
{
	struct query q = {.ask = {.f = f, .filter = filter, .q = asked}, .result = ret_answer};
	int r = sp_profile_new(&q.p);

	*ret_answer = (struct sp_fleet_answer){0};
	if (r == 0)
		r = query_run(&q);
	if (r == 0) {
		if (__builtin_sub_overflow(q.announced, q.is_narrowed ? q.counted : q.fetched, &ret_answer->n_missing))
			ret_answer->n_missing = q.announced; /* of numbers that cannot be */
		ret_answer->n_unknown = sp_fleet_names_unknown(q.names);
		r = sp_store_filter(q.ask.q, &q.p);
	}
	if (r >= 0) {
		struct sp_profile_info *info = sp_profile_info(q.p);
		info->time_ns = ret_answer->all.from_ns;
		info->duration_ns = ret_answer->all.covered_ns;
		*ret_profile = sp_take_ptr(q.p);
	}
	sp_fleet_names_free(q.names);
	sp_profile_free(q.p);
	sp_fleet_question_done(&q.ask);
	return r < 0 ? r : 0;
}
