/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/answer/api.h"
#include "agent/answer/api_fleet.h"
#include "agent/answer/api_priv.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include "base/when.h"
#include "profile/totals.h"
#include "profile/values.h"
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS (UINT64_C(3600) * SP_NS_PER_S)
enum { DEFAULT_WIDTH = 300, MAX_WIDTH = 2000, DEFAULT_LIMIT = 1000, MAX_LIMIT = 100000, MAX_LIVE_S = 3600 };
#define DEFAULT_LEAST 0.0005

/* --- JSON --- */
void sp_api_put_seconds(struct sp_json *j, const char *name, uint64_t ns)
{
	sp_json_format(j, name, "%" PRIu64 ".%03" PRIu64, ns / SP_NS_PER_S, ns % SP_NS_PER_S / 1000000);
}

void sp_api_put_answer(const struct sp_api_ask *ask, const struct sp_store_answer *answer, struct sp_json *j)
{
	static const char *const resolutions[] = {"10s", "1m", "1h"};

	sp_api_put_seconds(j, "from", ask->q.from_ns);
	sp_api_put_seconds(j, "to", ask->q.to_ns);
	sp_api_put_seconds(j, "found_from", answer->from_ns);
	sp_api_put_seconds(j, "found_to", answer->to_ns);
	sp_api_put_seconds(j, "covered_seconds", answer->covered_ns);
	sp_json_uint(j, "windows", answer->n_windows);
	sp_json_string(j, "resolution", resolutions[SP_MIN(SP_MAX(answer->resolution, 0), SP_N_RESOLUTIONS - 1)]);
	sp_json_ints(j, {"damaged", answer->n_damaged}, {"incomplete", answer->n_incomplete},
		     {"salvaged", answer->n_salvaged}, {"lost", answer->n_lost}, {"shortened", answer->n_shortened});
	if (ask->fleet)
		sp_api_fleet_put(ask->fleet, j);
	sp_json_line(j);
}

/* --- the request --- */
static int fail_parameter(const char *name, const char *why)
{
	return sp_fail_said(-EINVAL, "%s: %s", name, why);
}

/* RFC 3339, seconds since 1970, or a form of base/when.h. */
static int parse_time(const char *name, const char *text, uint64_t now_ns, bool is_end, uint64_t *ret_ns)
{
	struct sp_when when;

	if (*text >= '0' && *text <= '9' && strspn(text, "0123456789.") == strlen(text))
		return sp_parse_duration(text, ret_ns) < 0 ? fail_parameter(name, "not a time") : 0;
	if (sp_when_parse(text, now_ns, &when) < 0)
		return sp_fail(-EINVAL, "%s", name);
	*ret_ns = is_end ? when.to_ns : when.from_ns;
	return 0;
}

static int parse_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	if (sp_parse_number(text, min, max, ret_number) < 0)
		return sp_fail_said(-EINVAL, "%s: not a number from %" PRIu64 " to %" PRIu64, name, min, max);
	return 0;
}

static int parse_user(const char *text, struct sp_store_query *q)
{
	uint64_t uid = 0;
	struct passwd entry, *found = NULL;
	char room[4096];

	if (sp_parse_number(text, 0, UINT32_MAX - 1, &uid) < 0) {
		if (getpwnam_r(text, &entry, room, sizeof(room), &found) != 0 || !found)
			return fail_parameter("user", "there is no such user");
		uid = found->pw_uid;
	}
	q->all_users = false;
	q->uid = (uint32_t)uid;
	return 0;
}

static int parse_share(const char *text, double *ret_share)
{
	uint64_t billionths = 0;

	if (sp_parse_duration(text, &billionths) < 0 || strspn(text, "0123456789.") != strlen(text) ||
	    billionths > SP_NS_PER_S)
		return fail_parameter("least", "not a share from 0 to 1");
	*ret_share = (double)billionths / 1e9;
	return 0;
}

static int parse_word(const char *name, const char *text, const char *const words[], int *ret_choice)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], text)) {
			*ret_choice = i;
			return 0;
		}
	return fail_parameter(name, "there is no such choice");
}

static int parse_bool(const char *name, const char *text, bool *ret_bool)
{
	static const char *const words[] = {"0", "1", NULL};
	int choice = 0, r = parse_word(name, text, words, &choice);

	*ret_bool = choice == 1;
	return r;
}

struct query_fields {
	const struct sp_api *a;
	struct sp_api_ask *ask;
	const char *from, *to, *from2, *to2, *seconds, *user;
	uint32_t seen; /* a bit for each parameter */
};

enum kind { TEXT, WIDTH, LIMIT, ROOT, LEAST, DIRECTION, FOLD, RECURSION };
static const struct parameter {
	const char *name;
	enum kind kind;
	size_t offset; /* TEXT: of a string in struct query_fields, or, with in_ask, in struct sp_api_ask */
	bool in_ask;
} parameters[] = {
    {"from", TEXT, offsetof(struct query_fields, from), false},
    {"to", TEXT, offsetof(struct query_fields, to), false},
    {"from2", TEXT, offsetof(struct query_fields, from2), false},
    {"to2", TEXT, offsetof(struct query_fields, to2), false},
    {"seconds", TEXT, offsetof(struct query_fields, seconds), false},
    {"user", TEXT, offsetof(struct query_fields, user), false},
    {"library", TEXT, offsetof(struct sp_api_ask, q.library), true},
    {"function", TEXT, offsetof(struct sp_api_ask, q.function), true},
    {"process", TEXT, offsetof(struct sp_api_ask, q.process), true},
    {"cgroup", TEXT, offsetof(struct sp_api_ask, q.cgroup), true},
    {"source", TEXT, offsetof(struct sp_api_ask, q.source), true},
    {"value", TEXT, offsetof(struct sp_api_ask, value), true},
    {"format", TEXT, offsetof(struct sp_api_ask, format), true},
    {"focus", TEXT, offsetof(struct sp_api_ask, focus), true},
    {"focus_library", TEXT, offsetof(struct sp_api_ask, focus_library), true},
    {"called", TEXT, offsetof(struct sp_api_ask, called), true},
    {"caller", TEXT, offsetof(struct sp_api_ask, caller), true},
    {"host", TEXT, offsetof(struct sp_api_ask, host), true},
    {"label", TEXT, offsetof(struct sp_api_ask, label), true},
    {"host2", TEXT, offsetof(struct sp_api_ask, host2), true},
    {"label2", TEXT, offsetof(struct sp_api_ask, label2), true},
    {"width", WIDTH, 0, false},
    {"limit", LIMIT, 0, false},
    {"root", ROOT, 0, false},
    {"least", LEAST, 0, false},
    {"direction", DIRECTION, 0, false},
    {"fold", FOLD, 0, false},
    {"recursion", RECURSION, 0, false},
};

static int parse_value(struct sp_api_ask *ask, const struct parameter *p, const char *text)
{
	static const char *const directions[] = {"callees", "callers", "both", NULL};
	static const char *const folds[] = {"none", "library", NULL};
	uint64_t number = 0;
	int r = 0, choice = 0;

	if (p->kind == WIDTH || p->kind == LIMIT)
		r = parse_number(p->name, text, 1, p->kind == WIDTH ? MAX_WIDTH : MAX_LIMIT, &number);
	if (p->kind == WIDTH)
		ask->width = (uint32_t)number;
	else if (p->kind == LIMIT)
		ask->limit = (uint32_t)number;
	else if (p->kind == ROOT)
		r = parse_number(p->name, text, 0, UINT64_C(1) << 53, &ask->root);
	else if (p->kind == LEAST)
		r = parse_share(text, &ask->least);
	else if (p->kind == DIRECTION)
		r = parse_word(p->name, text, directions, &ask->direction);
	else if (p->kind == FOLD)
		r = parse_word(p->name, text, folds, &choice);
	else
		r = parse_bool(p->name, text, &ask->recursion);
	if (p->kind == FOLD)
		ask->fold = choice == 1;
	return r;
}

static int set_parameter(struct query_fields *t, const char *name, const char *text)
{
	for (size_t i = 0; i < SP_COUNT(parameters); i++) {
		const struct parameter *p = &parameters[i];
		if (strcmp(p->name, name) != 0)
			continue;
		if (t->seen >> i & 1)
			return fail_parameter(name, "is there twice");
		t->seen |= UINT32_C(1) << i;
		if (!*text) /* an empty field of a form */
			return 0;
		if (p->kind != TEXT)
			return parse_value(t->ask, p, text);
		*(const char **)((p->in_ask ? (char *)t->ask : (char *)t) + p->offset) = text;
		return 0;
	}
	return sp_fail_said(-EINVAL, "there is no parameter %s", name);
}

static int decode_percent(char *text)
{
	return sp_percent_decode(text, true) < 0 ? sp_fail_said(-EINVAL, "a %% without the two digits of a byte") : 0;
}

static int parse_query(struct query_fields *t, const char *query)
{
	char *rest = t->ask->text, *word;
	int r = 0;

	if (strlen(query) > SP_API_MAX_QUERY)
		return sp_fail_said(-EINVAL, "more than %d bytes behind the question mark", SP_API_MAX_QUERY);
	memcpy(rest, query, strlen(query) + 1);
	while (r == 0 && (word = strsep(&rest, "&"))) {
		char *value = strchr(word, '=');
		if (!*word)
			continue;
		if (value)
			*value++ = '\0';
		r = decode_percent(word);
		if (r == 0 && value)
			r = decode_percent(value);
		if (r == 0)
			r = set_parameter(t, word, value ? value : "");
	}
	return r;
}

/* Without `from` the range is an hour. */
static int parse_range(const char *const names[2], const char *from, const char *to, uint64_t now_ns,
		       uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t end = now_ns, begin = 0;
	int r = to ? parse_time(names[1], to, now_ns, true, &end) : 0;

	begin = end - SP_MIN(end, HOUR_NS);
	if (r == 0 && from)
		r = parse_time(names[0], from, now_ns, false, &begin);
	if (r == 0 && (begin >= end || end > INT64_MAX))
		return sp_fail_said(-EINVAL, "the range is empty: it ends before it begins");
	*ret_from = begin;
	*ret_to = end;
	return r;
}

static int parse_ranges(struct query_fields *t)
{
	static const char *const first[] = {"from", "to"}, *const second[] = {"from2", "to2"};
	struct sp_api_ask *ask = t->ask;
	uint64_t now = t->a->now_ns, seconds = 0;
	int r = parse_range(first, t->from, t->to, now, &ask->q.from_ns, &ask->q.to_ns);

	ask->has_second = t->from2 || t->to2;
	if (r == 0 && ask->has_second)
		r = parse_range(second, t->from2, t->to2, now, &ask->from2_ns, &ask->to2_ns);
	ask->is_live = t->seconds != NULL;
	if (r == 0 && t->seconds) {
		r = parse_number("seconds", t->seconds, 1, MAX_LIVE_S, &seconds);
		ask->q.to_ns = now;
		ask->q.from_ns = now - SP_MIN(now, seconds * SP_NS_PER_S);
	}
	return r;
}

static bool asks_for_user_by_name(const struct query_fields *t)
{
	uint64_t uid;

	return t->user && sp_parse_number(t->user, 0, UINT32_MAX - 1, &uid) < 0;
}

static int take_fleet(const struct sp_api *a, const struct query_fields *t)
{
	t->ask->fleet = a->fleet;
	if (a->fleet)
		return sp_api_fleet_take(a->fleet, t->ask, asks_for_user_by_name(t));
	if (t->ask->host || t->ask->label || t->ask->host2 || t->ask->label2)
		return sp_fail_said(-EINVAL, "hosts and their labels are of a fleet: see soprof serve");
	return 0;
}

/* has_users: its answer has names of users. */
static int parse_request(const struct sp_api *a, bool has_users, const char *query, struct sp_api_ask *ask)
{
	struct query_fields t = {.a = a, .ask = ask};
	int r;

	*ask = (struct sp_api_ask){.width = DEFAULT_WIDTH, .limit = DEFAULT_LIMIT, .least = DEFAULT_LEAST};
	ask->q.all_users = true;
	ask->q.resolution = -1;
	r = parse_query(&t, query);
	if (r == 0)
		r = parse_ranges(&t);
	if (r == 0)
		r = take_fleet(a, &t);
	if (r == 0 && a->ready)
		r = a->ready(a->arg, has_users || asks_for_user_by_name(&t));
	if (r == 0 && t.user)
		r = parse_user(t.user, &ask->q);
	if (r == 0 && a->own_only) {
		if (!ask->q.all_users && ask->q.uid != a->uid)
			return sp_fail_said(-EACCES, "other users' processes are not for you");
		ask->q.all_users = false;
		ask->q.uid = a->uid;
	}
	return r;
}

/* --- profiles --- */
static int store_profile(const struct sp_api *a, const struct sp_store_query *q, struct sp_profile **ret_profile,
			 struct sp_store_answer *ret_answer)
{
	int r = sp_profile_new(ret_profile);

	if (r == 0)
		r = sp_store_query(a->store, q, *ret_profile, ret_answer);
	return r >= 0 && a->current ? a->current(a->arg, q, *ret_profile, ret_answer) : r;
}

int sp_api_profile(const struct sp_api *a, const struct sp_store_query *q, struct sp_profile **ret_profile,
		   struct sp_store_answer *ret_answer)
{
	struct sp_store_answer answer = {0};
	struct sp_profile *p = NULL;
	int r = a->fleet ? sp_api_fleet_profile(a->fleet, q, &p, &answer) : store_profile(a, q, &p, &answer);

	/* an empty result is a profile, too */
	if (r >= 0 && sp_profile_n_value_types(p) == 0)
		r = sp_profile_add_value_type(p, "samples", "count");
	if (r < 0) {
		sp_profile_free(p);
		return r;
	}
	*ret_profile = p;
	*ret_answer = answer;
	return 0;
}

int sp_api_value(const struct sp_profile *p, const char *name, uint32_t *ret_value)
{
	int value = sp_profile_find_value(p, name ? name : "cpu", NULL);

	*ret_value = value < 0 ? 0 : (uint32_t)value;
	return value < 0 && name && sp_profile_n_rows(p) > 0 ? fail_parameter("value", "there is no such value") : 0;
}

/* --- routes --- */
static int answer_live(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	if (a->fleet)
		return sp_fail_said(-ENOENT, "a fleet has what its hosts have sent, and nothing live");
	return sp_api_flame(a, ask, j);
}

enum { BY_FILE = -1 }; /* a route whose answer is no JSON */
static const struct route {
	const char *name;
	int (*answer)(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j); /* NULL: a table */
	int by;
} routes[] = {
    {"overview", sp_api_overview, 0},
    {"events", sp_api_events, 0},
    {"flame", sp_api_flame, 0},
    {"flamerows", sp_api_flame_rows, 0},
    {"live", answer_live, 0},
    {"diff", sp_api_diff, 0},
    {"matrix", sp_api_matrix, 0},
    {"libraries", NULL, SP_TOTAL_BY_LIBRARY},
    {"functions", NULL, SP_TOTAL_BY_FUNCTION},
    {"processes", NULL, SP_TOTAL_BY_PROCESS},
    {"cgroups", NULL, SP_TOTAL_BY_CGROUP},
    {"containers", NULL, SP_TOTAL_BY_CONTAINER},
    {"users", NULL, SP_TOTAL_BY_USER},
    {"hosts", sp_api_hosts, 0},
    {"profile", NULL, BY_FILE},
};

static const struct route *find_route(const char *path)
{
	static const char before[] = "/api/v1/";

	if (strncmp(path, before, strlen(before)) != 0)
		return NULL;
	for (size_t i = 0; i < SP_COUNT(routes); i++)
		if (!strcmp(routes[i].name, path + strlen(before)))
			return &routes[i];
	return NULL;
}

static int http_status(int r)
{
	static const struct {
		int r, status;
	} known[] = {{-EINVAL, 400}, {-EACCES, 403},    {-ENOENT, 404},
		     {-E2BIG, 413},  {-EREMOTEIO, 502}, {-ETIMEDOUT, 504}};

	for (size_t i = 0; i < SP_COUNT(known); i++)
		if (known[i].r == r)
			return known[i].status;
	return 500;
}

static int put_error(int r, FILE *out)
{
	struct sp_json j = {.out = out};

	sp_json_object(&j, NULL);
	sp_json_string(&j, "error", sp_error_text(r));
	sp_json_done(&j);
	return http_status(r);
}

/* The body is complete before it is written, because an error may come late. */
static int answer_route(const struct sp_api *a, const struct route *route, const char *query, FILE *out)
{
	SP_FREE struct sp_api_ask *ask = malloc(sizeof(*ask));
	SP_FREE char *text = NULL;
	size_t n = 0;
	struct sp_json j = {.out = open_memstream(&text, &n)};
	int r = ask && j.out ? parse_request(a, route->by == SP_TOTAL_BY_USER, query, ask) : -ENOMEM;

	if (r == 0 && route->by == BY_FILE)
		r = sp_api_file(a, ask, j.out);
	else if (r == 0) {
		sp_json_object(&j, NULL);
		r = route->answer ? route->answer(a, ask, &j) : sp_api_table(a, ask, route->by, &j);
		sp_json_done(&j);
	}
	if (j.out && fclose(j.out) && r == 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	fwrite(text, 1, n, out);
	return 0;
}

int sp_api_answer(const struct sp_api *a, const char *path, const char *query, FILE *out, int *ret_status,
		  bool *ret_is_file)
{
	const struct route *route = find_route(path);
	int r = route ? answer_route(a, route, query, out)
		      : sp_fail_said(-ENOENT, "there is nothing at this address; man soprof-api tells what there is");

	*ret_status = r < 0 ? put_error(r, out) : 200;
	*ret_is_file = r >= 0 && route->by == BY_FILE;
	return ferror(out) ? -EIO : 0;
}
