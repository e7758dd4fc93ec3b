/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranges.c: all views of a time range must agree, and adjacent ranges must add up. A random store of 40 days with gaps,
 * restarts, kills and steps of the clock, whose finest windows are gone but for the last days and whose last roll-ups
 * are missing, is queried for random ranges of 10 s to 40 days in every view. Results are compared with the test's own
 * sums of what was stored, to the nanosecond and the sample.
 *
 * Which windows are in a range: of each window of 10 s the first record that has it must begin in the range: its own,
 * or, if the day's file of these is gone, that of its minute or its hour. From 20 hours on the range's ends are first
 * moved to the next full hour. So adjacent ranges add up exactly if all are below 20 hours, or all are longer, or have
 * full hours.
 *
 * SOPROF_TEST_SEED: another seed than those below. SOPROF_TEST_ROUNDS: how many seeds, from that one on.
 */
#include "past.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/answer/api.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "profile/profile.h"
#include "store/totals.h"

/* --- the store's functions --- */
static struct sp_store *store;
static char query_text[160]; /* what is compared, for messages of failures */

static void is(const char *what, int64_t got, int64_t wanted)
{
	if (got != wanted)
		fail_msg("%s: %s: %" PRId64 " instead of %" PRId64, query_text, what, got, wanted);
}

static void is_told(const char *view, const struct sp_store_answer *a, const struct sums *s)
{
	if (a->from_ns != s->from_ns || a->to_ns != s->to_ns || a->covered_ns != s->covered_ns ||
	    a->n_lost != s->n_lost)
		fail_msg("%s: %s: from %" PRIu64 " to %" PRIu64 ", %" PRIu64 " ns, lost %" PRIu64
			 " instead of from %" PRIu64 " to %" PRIu64 ", %" PRIu64 " ns, lost %" PRIu64,
			 query_text, view, a->from_ns, a->to_ns, a->covered_ns, a->n_lost, s->from_ns, s->to_ns,
			 s->covered_ns, s->n_lost);
	is(view, (int64_t)a->n_damaged, 0);
}

static void check_rows(const struct sp_store_query *q, const char *view, const struct sums *s)
{
	int64_t n[2] = {0}, of_process[N_PROCESSES] = {0};
	struct sp_store_answer a = {0};
	struct sp_profile *p = NULL;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_store_query(store, q, p, &a), 0);
	is_told(view, &a, s);
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		const char *comm =
		    sp_profile_string(p, sp_profile_process(p, sp_profile_key(p, row->key)->process)->comm);
		n[0] += row->values[0];
		n[1] += row->values[1];
		if (strncmp(comm, "prog", 4) == 0)
			of_process[strtoul(comm + 4, NULL, 10)] += row->values[0];
	}
	is(view, n[0], s->n);
	is(view, n[1], s->n * CPU_OF_SAMPLE);
	for (uint32_t i = 0; i < N_PROCESSES && q->who == SP_WHO_WHOLE; i++)
		is("a process", of_process[i], s->of_process[i]);
	sp_profile_free(p);
}

static int take_total(void *arg, const struct sp_store_total *t)
{
	struct sums *s = arg;
	uint32_t file = *t->file ? (uint32_t)strtoul(t->file + strlen("lib"), NULL, 10) : N_LIBRARIES;
	bool is_function = *t->function;
	uint32_t func = is_function ? (uint32_t)strtoul(t->function + strlen("function_"), NULL, 10) : 0;

	for (int which = 0; which < 2; which++) {
		int64_t n = which ? t->total[0] : t->self[0], ns = which ? t->total[1] : t->self[1];
		is("time of a sum", ns, n * CPU_OF_SAMPLE);
		if (is_function)
			s->function[which][func] += n;
		else
			s->library[which][file] += n;
	}
	s->n += is_function ? 0 : t->self[0];
	return 0;
}

static void check_totals(const struct sp_store_query *q, bool by_function, const struct sums *s)
{
	struct sp_store_answer a = {0};
	struct sums got = {0};

	assert_int_equal(sp_store_totals(store, q, by_function, take_total, &got, &a), 0);
	is_told("totals", &a, s);
	is("totals", got.n, s->n);
	for (int which = 0; which < 2; which++) {
		for (int i = 0; i <= N_LIBRARIES; i++)
			is("a library", got.library[which][i], s->library[which][i]);
		for (int i = 0; i < N_LIBRARIES * N_FUNCTIONS && by_function; i++)
			is("a function", got.function[which][i], s->function[which][i]);
	}
}

static void check_chart(const struct sp_store_query *q, uint64_t slice_ns, const struct sums *s)
{
	struct sp_store_chart *c = NULL;
	struct sp_store_answer a = {0};
	uint64_t covered = 0;
	int64_t n = 0;

	assert_int_equal(sp_store_chart(store, q, "samples", slice_ns, &c, &a), 0);
	is_told("chart", &a, s);
	for (uint32_t i = 0; i < c->n_slices; i++)
		covered += c->covered_ns[i];
	for (uint32_t i = 0; i < c->n_libraries; i++) {
		uint32_t file =
		    *c->libraries[i].name ? (uint32_t)strtoul(c->libraries[i].name + 3, NULL, 10) : N_LIBRARIES;
		int64_t self = 0;
		for (uint32_t k = 0; k < c->n_slices; k++)
			self += c->self[(size_t)k * c->n_libraries + i];
		is("a chart's library", self, s->library[0][file]);
		is("a chart's library", c->libraries[i].total, s->library[1][file]);
		n += self;
	}
	is("chart", n, s->n);
	is("time of a chart", (int64_t)covered, (int64_t)s->covered_ns);
	sp_store_chart_free(c);
}

/* --- the API --- */
static char *body;
static char first_range[256]; /* by the first view of a range */

static int ask(const char *path, const char *words)
{
	struct sp_api api = {.store = store, .now_ns = BEGIN + (N_DAYS + 2) * DAY};
	char query[256];
	size_t n = 0;
	int status = 0;
	bool is_file;

	free(body);
	body = NULL;
	FILE *out = open_memstream(&body, &n);
	assert_non_null(out);
	(void)snprintf(query, sizeof(query), "%s", words);
	assert_int_equal(sp_api_answer(&api, path, query, out, &status, &is_file), 0);
	fclose(out);
	return status;
}

static int64_t number_of(const char *name)
{
	const char *at = strstr(body, name);

	if (at == NULL)
		fail_msg("%s: %s is not in %.300s", query_text, name, body);
	return strtoll(at + strlen(name), NULL, 10);
}

/* The view has the same range as the one before. */
static void is_same_range(const char *path)
{
	const char *from = strstr(body, "\"found_from\""), *end = from ? strstr(from, ",\"shortened\"") : NULL;
	char text_of[sizeof(first_range)];

	assert_non_null(end);
	(void)snprintf(text_of, sizeof(text_of), "%.*s", (int)(end - from), from);
	if (*first_range && strcmp(first_range, text_of) != 0)
		fail_msg("%s: %s says %s instead of %s", query_text, path, text_of, first_range);
	memcpy(first_range, text_of, sizeof(first_range));
}

/* The sum of a column of the first tree's roots. */
static int64_t tree_sum(int column)
{
	char *at = strstr(body, "\"self\":[[");
	int64_t sum = 0;

	assert_non_null(at);
	for (at += strlen("\"self\":["); column > 0; column--)
		at = strstr(at + 1, "[");
	for (at++; *at != ']'; at += *at == ',')
		sum += strtoll(at, &at, 10);
	return sum;
}

static double chart_sum(void)
{
	double sum = 0;

	for (const char *at = body; (at = strstr(at, "],\"self\":")) != NULL;)
		sum += strtod(at += strlen("],\"self\":"), NULL);
	return sum;
}

static void check_views(uint64_t from_ns, uint64_t to_ns, const char *filter, int64_t n)
{
	static const char *const tables[] = {"libraries", "functions", "processes", "cgroups", "users", "matrix"};
	static const char *const trees[] = {"flame", "flame?direction=callers", "flame?fold=library"};
	char words[160], path[64];

	*first_range = '\0';
	for (size_t i = 0; i < SP_COUNT(tables) + SP_COUNT(trees) + 1; i++) {
		bool is_tree = i >= SP_COUNT(tables) && i < SP_COUNT(tables) + SP_COUNT(trees);
		const char *view = i < SP_COUNT(tables) ? tables[i]
				   : is_tree            ? trees[i - SP_COUNT(tables)]
							: "overview";
		const char *more = strchr(view, '?');
		(void)snprintf(path, sizeof(path), "/api/v1/%.*s", more ? (int)(more - view) : 32, view);
		(void)snprintf(words, sizeof(words),
			       "from=%" PRIu64 ".%09" PRIu64 "&to=%" PRIu64 ".%09" PRIu64 "%s%s%s", from_ns / S,
			       from_ns % S, to_ns / S, to_ns % S, more ? "&" : "", more ? more + 1 : "", filter);
		is(path, ask(path, words), 200);
		if (!*filter || strcmp(view, "overview") != 0) /* its points are minutes then */
			is_same_range(view);
		if (is_tree)
			is(view, n > 0 ? tree_sum(0) : 0, n * CPU_OF_SAMPLE);
		else if (i < SP_COUNT(tables))
			is(view, number_of("\"whole\":"), n * CPU_OF_SAMPLE);
		else if (fabs(chart_sum() - (double)n * (double)CPU_OF_SAMPLE / 1e9) > 1e-7 * (1 + (double)n))
			fail_msg("%s: overview: %.9g instead of %.9g s", query_text, chart_sum(),
				 (double)n * (double)CPU_OF_SAMPLE / 1e9);
	}
}

/* Two adjacent ranges have all of the whole where both together are below 20 h, or each is longer. */
static void check_diff(uint64_t from_ns, uint64_t middle_ns, uint64_t to_ns)
{
	struct sums all = sums_of(from_ns, to_ns), a = sums_of(from_ns, middle_ns), b = sums_of(middle_ns, to_ns);
	bool exact =
	    (middle_ns - from_ns >= 20 * HOUR && to_ns - middle_ns >= 20 * HOUR) || to_ns - from_ns < 20 * HOUR;
	char words[160];

	if (a.n == 0 || b.n == 0)
		return;
	(void)snprintf(words, sizeof(words),
		       "from=%" PRIu64 ".%09" PRIu64 "&to=%" PRIu64 ".%09" PRIu64 "&from2=%" PRIu64 ".%09" PRIu64
		       "&to2=%" PRIu64 ".%09" PRIu64,
		       from_ns / S, from_ns % S, middle_ns / S, middle_ns % S, middle_ns / S, middle_ns % S, to_ns / S,
		       to_ns % S);
	is("diff", ask("/api/v1/diff", words), 200);
	if (exact) {
		is("parts", a.n + b.n, all.n);
		is("parts", (int64_t)(a.covered_ns + b.covered_ns), (int64_t)all.covered_ns);
		is("diff, new", tree_sum(0), b.n * CPU_OF_SAMPLE);
		is("diff, old", tree_sum(1), a.n * CPU_OF_SAMPLE);
	} else { /* the ends of both remain: no window is in both */
		int64_t whole = 0;
		for (size_t i = 0; i < n_windows; i++)
			for (uint32_t k = 0; k < windows[i].n_rows && record_ns[i] >= from_ns && record_ns[i] < to_ns;
			     k++)
				whole += windows[i].rows[k].n;
		is("diff, both", tree_sum(0) + tree_sum(1), whole * CPU_OF_SAMPLE);
	}
}

/* --- the checks --- */
static void check_range(uint64_t from_ns, uint64_t to_ns)
{
	static const uint64_t slices_s[] = {60, 300, 3600, 86400};
	struct sums s = sums_of(from_ns, to_ns);
	struct sp_store_query q = {.from_ns = from_ns, .to_ns = to_ns, .all_users = true, .resolution = -1};
	char filter[32];

	(void)snprintf(query_text, sizeof(query_text), "range %" PRIu64 " to %" PRIu64 " (%.1f h)", from_ns, to_ns,
		       (double)(to_ns - from_ns) / (double)HOUR);
	check_rows(&q, "rows", &s);
	q.who = SP_WHO_NOTHING;
	q.rough = true;
	check_rows(&q, "trees", &s);
	check_totals(&q, false, &s);
	check_totals(&q, true, &s);
	size_t i = to_ns - from_ns > 60 * 86400 * S ? 3 : below(4);
	check_chart(&q, (to_ns - from_ns) / S > 3 * 86400 ? SP_MAX(slices_s[i], UINT64_C(300)) * S : slices_s[i] * S,
		    &s);
	check_views(from_ns, to_ns, "", s.n);
	uint32_t process = below(N_PROCESSES);
	(void)snprintf(filter, sizeof(filter), "&process=prog%" PRIu32, process);
	check_views(from_ns, to_ns, filter, s.of_process[process]);
	check_diff(from_ns, from_ns + below_ns(to_ns - from_ns - 1) + 1, to_ns);
}

/* Each magnitude of length equally often; at a random moment, or a full one. */
static void random_range(uint64_t *ret_from, uint64_t *ret_to)
{
	static const uint64_t full[] = {1, 10 * S, 60 * S, HOUR, DAY};
	double length = 10 * exp((double)below(1000000) / 1e6 * log(40.0 * 86400 / 10));
	const struct window *at = &windows[below((uint32_t)n_windows)];
	uint64_t unit = full[below(SP_COUNT(full))], ns = (uint64_t)(length * 1e9);

	if (unit > ns)
		unit = 1;
	uint64_t from = at->wall_ns + 5 * S - SP_MIN(below_ns(ns), at->wall_ns - BEGIN);
	*ret_from = from / unit * unit;
	*ret_to = SP_MAX((from + ns) / unit * unit, *ret_from + unit);
	if (*ret_to - *ret_from < 10 * S)
		*ret_to = *ret_from + 10 * S;
}

static void remove_store(void)
{
	char command[128];
	int how;

	snprintf(command, sizeof(command), "rm -rf %s", place);
	pid_t pid = fork();
	if (pid == 0)
		execl("/bin/sh", "sh", "-c", command, NULL);
	assert_true(waitpid(pid, &how, 0) == pid);
}

static void one_history(uint64_t number, uint32_t n_ranges)
{
	struct sp_store_options o = {.read_only = true};

	seed = number;
	snprintf(place, sizeof(place), "%s/soprof-ranges-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(place));
	history_make();
	store_write();
	record_make();
	assert_int_equal(sp_store_open(place, &o, &store), 0);
	print_message("seed %" PRIu64 ": %zu windows, %zu writers\n", number, n_windows, n_runs);
	for (uint32_t i = 0; i < n_ranges; i++) {
		uint64_t from, to;
		random_range(&from, &to);
		check_range(from, to);
	}
	sp_store_close(store);
	remove_store();
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : otherwise;
}

static void views_agree(void **state)
{
	uint64_t first = number_from("SOPROF_TEST_SEED", 1), n = number_from("SOPROF_TEST_ROUNDS", 1);

	for (uint64_t i = 0; i < n; i++)
		one_history(first + i, SP_FEWER > 1 ? 3 : 24);
	free(body);
	free(windows);
	free(record_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(views_agree)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
