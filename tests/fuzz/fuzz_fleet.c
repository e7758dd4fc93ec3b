/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_fleet.c: any bytes as what a ClickHouse server answers to the questions about a fleet. In place of the client
 * that speaks HTTP stands one that gives these bytes.
 *
 * The first byte says what is asked: for a profile, libraries, how the hosts are, what each cost, or when they sampled;
 * the second by which filters. Then come the
 * answers, each behind two bytes of length, of which the highest bit says that the server fails instead. Nothing of an
 * answer is in a later statement but numbers; what comes of them is a profile that can be written and read again, with
 * the same sums, or an error that says what was wrong.
 */
#include "base/mem.h"
#include "base/time.h"
#include "fleet/client.h"
#include "fleet/query.h"
#include "read.h"
#include "view/view.h"

#include <ctype.h>

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

enum { FROM_S = 1795815000, N_SLICES = 8, FAILS = 0x8000 };
enum { BY_HOST = 1, HOST = 2, LABEL = 4, LIBRARY = 8, FUNCTION = 16, PROCESS = 32, CGROUP = 64, EXACT = 128 };
/* The last four are bits of the first byte. */
enum { QUERY, LIBRARIES, STATUS, N_QUESTIONS, SLICED = 4, LEAVES_ONLY = 8, HOSTS = 16, COVERED = 32 };

/* --- the client --- */
struct sp_fleet {
	const uint8_t *at, *end;
};

const char *sp_fleet_name(const struct sp_fleet *f)
{
	(void)f;
	return "http://server";
}

const char *sp_fleet_database(const struct sp_fleet *f)
{
	(void)f;
	return "soprof";
}

/* Between quotes are only our own words. */
static void check_statement(const char *sql)
{
	bool is_quoted = false;
	int depth = 0;

	for (; *sql; sql++) {
		require(*sql >= ' ' && *sql <= '~');
		if (*sql == '\'')
			is_quoted = !is_quoted;
		else if (is_quoted)
			require(isalnum((unsigned char)*sql) || strchr("-\\ ", *sql));
		else
			depth += *sql == '(' ? 1 : *sql == ')' ? -1 : 0;
		require(depth >= 0);
	}
	require(depth == 0 && !is_quoted);
}

int sp_fleet_ask(struct sp_fleet *f, const char *sql, bool outside, struct sp_bytes *into)
{
	static const int failures[] = {-EIO, -E2BIG, -ENOENT, -EACCES};
	size_t n = 0;

	require(!outside);
	check_statement(sql);
	if (f->end - f->at >= 2) {
		n = f->at[0] | (size_t)f->at[1] << 8;
		f->at += 2;
	}
	if (n & FAILS)
		return sp_fail_said(failures[n % 4], "the server fails");
	n = n < (size_t)(f->end - f->at) ? n : (size_t)(f->end - f->at);
	sp_bytes_put(into, f->at, n);
	f->at += n;
	return into->failed ? -ENOMEM : 0;
}

int sp_fleet_do(struct sp_fleet *f, const char *sql, bool outside)
{
	(void)f, (void)sql, (void)outside;
	require(!"a question changes nothing");
}

/* --- what comes of it --- */
/* Wrapping, so that the order does not matter; false: a sum of the reader may have stayed at the end of its range. */
static bool sum_up(const struct sp_profile *p, uint64_t sums[2])
{
	bool is_exact = true;

	sums[0] = sums[1] = 0;
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		for (uint32_t k = 0; k < sp_profile_n_value_types(p); k++) {
			int64_t value = sp_profile_row(p, i)->values[k];

			is_exact &= value > INT64_MIN / 4096 && value < INT64_MAX / 4096;
			sums[k] += (uint64_t)value;
		}
	return is_exact;
}

static void check_profile(const struct sp_profile *p)
{
	const struct sp_view_options o = {0};
	struct sp_read_result result;
	struct sp_profile *q = NULL;
	uint64_t before[2], after[2];
	char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);

	require(sp_profile_n_value_types(p) >= 1 && sp_profile_n_value_types(p) <= 2);
	require(out && sp_view_by_name("pprof")->write(p, &o, out) == 0 && fclose(out) == 0);
	require(read_as("pprof", "pprof: byte ", bytes, size, false, &q, &result) == 0);
	if (sum_up(p, before) && sum_up(q, after))
		require(memcmp(before, after, sizeof(before)) == 0);
	sp_profile_free(q);
	free(bytes);
}

static void check_failure(int r)
{
	static const int may[] = {-EIO, -E2BIG, -ENOENT, -EACCES, -ENODATA, -EINVAL, -EPROTONOSUPPORT};
	size_t i = 0;

	while (i < SP_COUNT(may) && may[i] != r)
		i++;
	require(i < SP_COUNT(may));
	if (r == -ENOENT)
		require(strstr(sp_error_text(r), "server") || strstr(sp_error_text(r), "no samples of a library"));
	else
		require(strstr(sp_error_text(r), "server") || r == -ENODATA || r == -EINVAL || r == -E2BIG);
	sp_error_clear();
}

static int library_tell(void *arg, const struct sp_fleet_library *l)
{
	(void)arg;
	require(l->name && l->path && l->build_id && l->package && l->version && l->host);
	return 0;
}

static int host_tell(void *arg, const struct sp_fleet_host_status *h)
{
	(void)arg;
	require(h->name && h->source && h->labels);
	return 0;
}

/* --- questions --- */
static int host_cost_tell(void *arg, const struct sp_fleet_host *h)
{
	(void)arg;
	require(h->name && h->labels);
	return 0;
}

static int hosts_ask(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q)
{
	struct sp_fleet_hosts what;
	int r = sp_fleet_hosts(f, filter, q, &what, host_cost_tell, NULL);

	require(strnlen(what.cost_name, sizeof(what.cost_name)) < sizeof(what.cost_name));
	require(strnlen(what.cost_unit, sizeof(what.cost_unit)) < sizeof(what.cost_unit));
	return r;
}

static int covered_ask(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q)
{
	const struct sp_fleet_slices slices = {q->from_ns, 3600 / N_SLICES * SP_NS_PER_S, N_SLICES};
	uint64_t covered_ns[N_SLICES];

	return sp_fleet_covered(f, filter, q, &slices, covered_ns);
}

static int profile_ask(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q)
{
	struct sp_fleet_answer answer;
	struct sp_profile *p = NULL;
	int r = sp_fleet_query(f, filter, q, &p, &answer);

	require((r == 0) == (p != NULL));
	if (p)
		check_profile(p);
	sp_profile_free(p);
	return r;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	static const char *const libraries[] = {"libz.so*"};
	const struct sp_fleet_globs globs = {libraries, 1};
	struct sp_fleet f = {data + 2, data + size};
	struct sp_fleet_status status;
	int r;

	if (size < 2)
		return 0;
	const struct sp_fleet_filter filter = {.host = data[1] & HOST ? "web*" : NULL,
					       .label = data[1] & LABEL ? "dc=a" : NULL,
					       .by_host = data[1] & BY_HOST,
					       .leaves_only = data[0] & LEAVES_ONLY};
	const struct sp_store_query q = {.from_ns = FROM_S * SP_NS_PER_S,
					 .to_ns = (FROM_S + 3600) * SP_NS_PER_S,
					 .all_users = true,
					 .resolution = -1,
					 .library = data[1] & LIBRARY ? "libz*" : NULL,
					 .function = data[1] & FUNCTION ? "inf*" : NULL,
					 .process = data[1] & PROCESS ? "a*p" : NULL,
					 .cgroup = data[1] & CGROUP ? "/app*" : NULL,
					 .exact = data[1] & EXACT,
					 .n_slices = data[0] & SLICED ? N_SLICES : 0};
	switch (data[0] & (HOSTS | COVERED) ? data[0] & (HOSTS | COVERED) : data[0] % SLICED % N_QUESTIONS) {
	case HOSTS:
		r = hosts_ask(&f, &filter, &q);
		break;
	case COVERED:
		r = covered_ask(&f, &filter, &q);
		break;
	case QUERY:
		r = profile_ask(&f, &filter, &q);
		break;
	case LIBRARIES:
		r = sp_fleet_libraries(&f, &filter, &q, &globs, library_tell, NULL);
		break;
	default:
		r = sp_fleet_status(&f, &status, host_tell, NULL);
	}
	if (r < 0)
		check_failure(r);
	return 0;
}
