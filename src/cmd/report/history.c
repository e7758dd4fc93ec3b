/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/history.h"

#include "agent/socket/ask.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include "cmd/fleet/fleet_args.h"
#include "cmd/options.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_EVENTS = 5, HEAP_BYTES = 64 << 20 };
/* No window is longer. */
#define LONGEST_NS (UINT64_C(3600) * SP_NS_PER_S)

struct sp_history {
	struct sp_store *store; /* NULL: the agent is asked; or nobody was yet */
	const char *place;      /* of the store's files */
	bool files_only, agent_only;
	struct sp_ask ask;
	const struct sp_fleet_args *fleet_args; /* NULL: no fleet is asked */
	struct sp_fleet *fleet;
	struct sp_fleet_answer fleet_answer; /* the last */
};

/* --- the way --- */
static int open_files(struct sp_history *h)
{
	struct sp_store_options o = {.read_only = true};

	sp_heap_make_large(HEAP_BYTES);
	return sp_store_open(h->place, &o, &h->store);
}

int sp_history_open(const char *store, const char *socket, struct sp_history **ret_history)
{
	struct sp_history *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	h->place = store ? store : SP_AGENT_STORE;
	h->files_only = store != NULL;
	h->agent_only = socket != NULL;
	h->ask.socket = socket;
	r = h->files_only ? open_files(h) : 0;
	if (r < 0) {
		sp_history_close(h);
		return r;
	}
	*ret_history = h;
	return 0;
}

int sp_history_open_fleet(const struct sp_fleet_args *fleet, struct sp_history **ret_history)
{
	struct sp_history *h = calloc(1, sizeof(*h));
	int r = h ? sp_fleet_args_open(fleet, &h->fleet) : -ENOMEM;

	if (r < 0) {
		free(h);
		return r;
	}
	h->fleet_args = fleet;
	*ret_history = h;
	return 0;
}

/* r: what asking the agent said. Whether nobody was there to ask, and the files are open now; else *ret_r is changed.
 */
static bool falls_back(struct sp_history *h, int *r)
{
	if ((*r != -ENOENT && *r != -ECONNREFUSED) || h->store)
		return false;
	if (h->agent_only) {
		sp_error_clear();
		*r = sp_fail_said(*r, "no agent answers at %s", h->ask.socket);
		return false;
	}
	sp_error_clear();
	*r = open_files(h);
	if (*r < 0)
		sp_fail(*r, "no agent answers at %s, nor can its files be read", SP_AGENT_SOCKET);
	return *r == 0;
}

void sp_history_close(struct sp_history *h)
{
	if (!h)
		return;
	if (h->store)
		sp_store_close(h->store);
	sp_fleet_close(h->fleet);
	free(h);
}

static int take_range(void *arg, const char *name, const char *value)
{
	struct sp_store_stats *stats = arg;

	if (strcmp(name, "first") == 0)
		sp_parse_number(value, 0, UINT64_MAX, &stats->first_ns);
	if (strcmp(name, "last") == 0)
		sp_parse_number(value, 0, UINT64_MAX, &stats->last_ns);
	return 0;
}

static int ask_once(struct sp_history *h, const struct sp_store_query *q, struct sp_profile **ret_profile,
		    struct sp_store_answer *ret_answer);

/* The window that a short range lies in, without its beginning; false: there is none. */
static bool find_around(struct sp_history *h, const struct sp_store_query *q, struct sp_store_answer *ret_answer)
{
	struct sp_store_query before = *q;
	struct sp_profile *p = NULL;

	before.from_ns = q->from_ns - SP_MIN(q->from_ns, LONGEST_NS);
	before.to_ns = q->from_ns;
	if (q->to_ns - q->from_ns >= LONGEST_NS || before.from_ns >= before.to_ns ||
	    ask_once(h, &before, &p, ret_answer) < 0)
		return false;
	sp_profile_free(p);
	return ret_answer->n_windows > 0 && ret_answer->to_ns > q->from_ns;
}

static int says_nothing(struct sp_history *h, const struct sp_store_query *q)
{
	SP_FREE char *asked = sp_history_range_text(q->from_ns, q->to_ns), *there = NULL;
	struct sp_store_stats stats = {0};
	struct sp_store_answer around = {0};

	if (find_around(h, q, &around)) {
		char end[SP_WHEN_TEXT];
		return sp_fail_said(-ENODATA,
				    "no window begins from %s; one that began before lasts until %s: begin earlier",
				    !asked ? "then" : asked, sp_when_text(around.to_ns, end));
	}
	sp_error_clear();
	int r = h->store ? sp_store_stats(h->store, &stats) : sp_ask_status(&h->ask, take_range, &stats);

	if (r == 0 && stats.last_ns > 0)
		there = sp_history_range_text(stats.first_ns, stats.last_ns);
	sp_error_clear();
	if (!there && h->store)
		return sp_fail_said(-ENODATA, "%s has no windows%s", h->place,
				    stats.n_damaged_files > 0 ? ": it is damaged, or no store's" : "");
	return sp_fail_said(-ENODATA, "nothing was kept%s%s from %s%s; %s has %s%s", !q->source ? "" : " of ",
			    !q->source ? "" : q->source, !asked ? "then" : asked,
			    q->from_ns > sp_time_ns(CLOCK_REALTIME) ? ", which is in the future" : "",
			    h->store ? h->place : "the agent", !there ? "no windows" : "windows from ",
			    !there ? "" : there);
}

static int query_files(struct sp_history *h, const struct sp_store_query *q, struct sp_profile **ret_profile,
		       struct sp_store_answer *ret_answer)
{
	struct sp_profile *p;
	int r = sp_profile_new(&p);

	if (r < 0)
		return r;
	r = sp_store_query(h->store, q, p, ret_answer);
	if (r < 0)
		sp_profile_free(p);
	else
		*ret_profile = p;
	return r;
}

static int ask_once(struct sp_history *h, const struct sp_store_query *q, struct sp_profile **ret_profile,
		    struct sp_store_answer *ret_answer)
{
	int r = !h->store ? sp_ask_query(&h->ask, q, ret_profile, ret_answer) : 0;

	if (h->store || falls_back(h, &r))
		r = query_files(h, q, ret_profile, ret_answer);
	return r;
}

int sp_history_query(struct sp_history *h, const struct sp_store_query *q, struct sp_profile **ret_profile,
		     struct sp_store_answer *ret_answer)
{
	struct sp_profile *p = NULL;

	if (h->fleet) {
		int asked = sp_fleet_query(h->fleet, &h->fleet_args->filter, q, ret_profile, &h->fleet_answer);
		*ret_answer = h->fleet_answer.all;
		return asked;
	}
	int r = ask_once(h, q, &p, ret_answer);

	if (r == 0 && ret_answer->n_windows == 0)
		r = says_nothing(h, q);
	if (r < 0)
		sp_profile_free(p);
	else
		*ret_profile = p;
	return r;
}

int sp_history_totals(struct sp_history *h, const struct sp_store_query *q, bool by_function,
		      int (*each)(void *arg, const struct sp_store_total *t), void *arg,
		      struct sp_store_answer *ret_answer)
{
	if (h->fleet)
		return -ENODATA; /* it has none */
	int r = !h->store ? sp_ask_totals(&h->ask, q, by_function, each, arg, ret_answer) : 0;

	if (h->store || falls_back(h, &r))
		r = sp_store_totals(h->store, q, by_function, each, arg, ret_answer);
	return r;
}

/* --- words --- */
char *sp_history_range_text(uint64_t from_ns, uint64_t to_ns)
{
	char from[SP_WHEN_TEXT], to[SP_WHEN_TEXT], *text;

	sp_when_text(from_ns, from);
	sp_when_text(to_ns, to);
	bool same_day = strncmp(from, to, strlen("2026-11-21 ")) == 0;
	if (asprintf(&text, "%s to %s", from, same_day ? to + strlen("2026-11-21 ") : to) < 0)
		return NULL;
	return text;
}

/* "2 h 5 min", "40 s" */
static void put_duration(uint64_t ns)
{
	uint64_t s = (ns + SP_NS_PER_S / 2) / SP_NS_PER_S;

	if (s < 120)
		fprintf(stderr, "%" PRIu64 " s", s);
	else if (s < 2 * 3600)
		fprintf(stderr, "%" PRIu64 " min", (s + 30) / 60);
	else if (s % 3600 < 30 || s >= UINT64_C(48) * 3600)
		fprintf(stderr, "%" PRIu64 " h", (s + 1800) / 3600);
	else
		fprintf(stderr, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s % 3600 / 60);
}

/* What happened in the range. Each kind has its own number of lines: gaps do not hide an upgrade. */
static const struct {
	const char *kind, *many;
} event_kinds[] = {{"gap", "gaps"},
		   {"upgrade", "upgraded libraries"},
		   {"change", "changes of cost"},
		   {"rate", "changes of the rate"},
		   {"clock", "changes of the clock"},
		   {"drop", "dropped windows"},
		   {"alert", "alerts"}};

struct event_counts {
	const char *label;
	unsigned n[SP_COUNT(event_kinds)];
};

static void put_label(const char *label)
{
	if (!label)
		return;
	sp_encode(stderr, SP_ENCODE_TERMINAL, label);
	fputs(": ", stderr);
}

static int put_event(void *arg, const struct sp_store_event *e)
{
	struct event_counts *counts = arg;
	size_t i = 0;

	while (i < SP_COUNT(event_kinds) && strcmp(event_kinds[i].kind, e->kind) != 0)
		i++;
	if (i == SP_COUNT(event_kinds) || counts->n[i]++ >= MAX_EVENTS)
		return 0;
	char from[SP_WHEN_TEXT], to[SP_WHEN_TEXT];
	bool moment = strcmp(sp_when_text(e->from_ns, from), sp_when_text(e->to_ns, to)) == 0;
	SP_FREE char *range = moment ? NULL : sp_history_range_text(e->from_ns, e->to_ns);
	put_label(counts->label);
	fprintf(stderr, "%s %s %s: ", e->kind, moment ? "at" : "from", !range ? from : range);
	sp_encode(stderr, SP_ENCODE_TERMINAL, *e->text != '\0' ? e->text : e->subject);
	fputc('\n', stderr);
	return 0;
}

static void tell_events(struct sp_history *h, const char *label, const struct sp_store_answer *answer)
{
	struct event_counts counts = {.label = label};
	uint64_t from = answer->from_ns, to = answer->to_ns;
	if (h->fleet)
		return;
	int r = h->store ? sp_store_events(h->store, from, to, put_event, &counts)
			 : sp_ask_events(&h->ask, from, to, put_event, &counts);

	if (r < 0)
		sp_error_clear();
	for (size_t i = 0; i < SP_COUNT(event_kinds); i++) {
		if (counts.n[i] <= MAX_EVENTS)
			continue;
		put_label(label);
		fprintf(stderr, "and %u more %s\n", counts.n[i] - MAX_EVENTS, event_kinds[i].many);
	}
}

static void tell_range(const char *label, const struct sp_store_answer *answer)
{
	static const char *const lengths[] = {"10 s", "up to 1 min", "up to 1 h"};
	SP_FREE char *range = sp_history_range_text(answer->from_ns, answer->to_ns);
	uint64_t all = answer->to_ns - answer->from_ns;
	double share = all == 0 ? 100 : SP_MIN(100, 100 * (double)answer->covered_ns / (double)all);

	put_label(label);
	fprintf(stderr, "%s: ", !range ? "" : range);
	put_duration(answer->covered_ns);
	fprintf(stderr, " sampled (%.*f %%), in %" PRIu64 " window%s of %s\n", share < 100 ? 1 : 0,
		SP_MIN(share, share < 100 ? 99.9 : 100), answer->n_windows, answer->n_windows == 1 ? "" : "s",
		lengths[SP_MIN((size_t)answer->resolution, SP_COUNT(lengths) - 1)]);
}

static void tell_count(const char *label, uint64_t n, const char *format)
{
	if (n == 0)
		return;
	put_label(label);
	fprintf(stderr, format, n); /* NOLINT: the formats below */
	fputc('\n', stderr);
}

static void tell_fleet(const char *label, const struct sp_fleet_answer *answer)
{
	put_label(label);
	fprintf(stderr, "of %" PRIu64 " host%s; the time sampled is their mean\n", answer->n_hosts,
		answer->n_hosts == 1 ? "" : "s");
	if (answer->n_missing != 0) {
		put_label(label);
		fprintf(stderr, "the server lacks %" PRIi64 " samples that hosts have sent\n", answer->n_missing);
	}
	tell_count(label, answer->n_unknown, "the server lacks %" PRIu64 " names or stacks that rows refer to");
}

bool sp_history_is_own(const struct sp_history *h)
{
	return !h->store && !h->fleet && h->ask.own_only;
}

void sp_history_tell(struct sp_history *h, const char *label, const struct sp_store_query *q,
		     const struct sp_store_answer *answer, int64_t n_samples)
{
	if (sp_history_is_own(h)) {
		put_label(label);
		fputs(SP_OWN_ONLY "\n", stderr);
	}
	tell_range(label, answer);
	tell_events(h, label, answer);
	if (h->fleet)
		tell_fleet(label, &h->fleet_answer);
	if (q->to_ns > sp_time_ns(CLOCK_REALTIME) + SP_NS_PER_S) {
		char text[SP_WHEN_TEXT];
		put_label(label);
		fprintf(stderr, "the range ends in the future, at %s\n", sp_when_text(q->to_ns, text));
	}
	tell_count(label, answer->n_lost, "lost %" PRIu64 " samples");
	tell_count(label, answer->n_damaged, "%" PRIu64 " damaged windows are left out");
	tell_count(label, answer->n_incomplete,
		   "%" PRIu64 " windows may lack names and stacks: parts of their day's dictionary are damaged");
	tell_count(label, answer->n_salvaged,
		   "%" PRIu64 " damaged files are read only as far as they could be salvaged");
	if (answer->n_shortened > 0) {
		put_label(label);
		fprintf(stderr,
			"shortened the rare stacks of %" PRIu64 " of %" PRIi64 " samples; --exact shows them whole\n",
			answer->n_shortened, n_samples);
	}
	if (n_samples == 0) {
		put_label(label);
		fputs("no samples of what was asked for\n", stderr);
	}
}

bool sp_history_is_file(int fd)
{
	static const char head[] = "SQLite format 3";
	char bytes[sizeof(head)];

	return pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) && memcmp(bytes, head, sizeof(head)) == 0;
}
