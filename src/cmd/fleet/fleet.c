/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fleet.c: `soprof fleet`: makes a fleet's tables in a ClickHouse server, tells of its hosts, sends a store there. */
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "base/when.h"
#include "cmd/cmd.h"
#include "cmd/fleet/fleet_args.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "fleet/schema.h"
#include "fleet/send.h"
#include "view/units.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LABELS = 32, MAX_DAYS = 3650, LATE_S = 900, MAX_MACHINE = 128 };
static const char default_store[] = "/var/lib/soprof";

struct fleet_args {
	struct sp_fleet_args fleet;
	struct sp_words words;
	bool print, json;
	uint64_t keep_days;
	const char *cluster;
	const char *store, *name, *labels, *source;
	int resolution;
};

SP_CHOICE(resolution_choice, "10s", "1m", "1h")

/* clang-format off */
#define AT(member) .offset = offsetof(struct fleet_args, member)
static const struct sp_option options[] = {
	{SP_OPT_FLAG, 0, "print", NULL, "init: print the statements, do nothing", AT(print)},
	{SP_OPT_NUMBER, 0, "keep", "DAYS", "init: how long the server keeps them (14)", AT(keep_days), .min = 1, .max = MAX_DAYS},
	{SP_OPT_STRING, 0, "cluster", "NAME", "init: tables distributed over the servers of that name", AT(cluster)},
	{SP_OPT_FLAG, 0, "json", NULL, "status: as JSON", AT(json)},
	{SP_OPT_STRING, 0, "store", "PLACE", "send: a store's directory or file (/var/lib/soprof)", AT(store)},
	{SP_OPT_STRING, 0, "name", "HOST", "send: of the host whose store it is (this one's)", AT(name)},
	{SP_OPT_STRING, 0, "labels", "NAME=VALUE[,NAME=VALUE]", "send: of that host", AT(labels), .separator = ','},
	{SP_OPT_STRING, 0, "source", "NAME", "send: what was sampled (cpu)", AT(source)},
	{SP_OPT_CHOICE, 0, "resolution", "LENGTH", "send: in steps of", AT(resolution), .choice = resolution_choice},
	SP_FLEET_SERVER_OPTIONS(struct fleet_args, fleet),
	{SP_OPT_OPERANDS, 0, NULL, "init|status|send URL", "what to do, and with which server: http[s]://[USER@]HOST[:PORT][/DATABASE]", AT(words)},
	{0},
};
/* clang-format on */

/* --- init --- */
static int print_schema(struct sp_fleet *f, const struct sp_fleet_tables *t)
{
	struct sp_bytes sql = {0};
	int r;

	sp_fleet_schema_write(sp_fleet_database(f), t, &sql);
	sp_fleet_meta_write(sp_fleet_database(f), t, &sql);
	r = sql.failed ? -ENOMEM : 0;
	if (r == 0)
		fwrite(sql.bytes, 1, sql.n, stdout);
	sp_bytes_done(&sql);
	return r;
}

static int init(struct sp_fleet *f, const struct fleet_args *a)
{
	struct sp_fleet_tables t = {.keep_days = (unsigned)a->keep_days, .cluster = a->cluster};
	bool is_whole = true;
	int r = sp_fleet_server_ask(f, &t);

	if (r == 0)
		r = a->print ? print_schema(f, &t) : sp_fleet_init(f, &t, &is_whole);

	if (r == 0 && !a->print)
		printf("%s: the %stables are there, in the database %s; days are kept for %" PRIu64 "%s\n",
		       sp_fleet_name(f), t.is_replicated ? "replicated " : "", sp_fleet_database(f), a->keep_days,
		       is_whole ? "" : "; other servers of the cluster have none yet");
	return r;
}

/* --- status --- */
struct status {
	struct sp_grid *grid;
	uint64_t now_s; /* of the server, once it is known */
	size_t n_hosts;
	const struct sp_fleet_status *sums;
};

static void put_span(struct sp_grid *g, enum sp_grid_colour colour, uint64_t s)
{
	if (s < 120)
		sp_grid_put(g, colour, "%" PRIu64 " s", s);
	else if (s < 2 * 3600)
		sp_grid_put(g, colour, "%" PRIu64 " min", s / 60);
	else
		sp_grid_put(g, colour, "%" PRIu64 " h", s / 3600);
}

static void labels_put(struct sp_grid *g, const char *labels)
{
	SP_FREE char *text = strdup(labels);

	for (char *c = text; c && *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	sp_grid_put(g, SP_GRID_PLAIN, "%s", text ? text : "");
}

static int put_host(void *arg, const struct sp_fleet_host_status *h)
{
	struct status *s = arg;
	uint64_t now = s->sums->now_s, behind = now > h->last_s ? now - h->last_s : 0;

	s->n_hosts++;
	sp_grid_put(s->grid, SP_GRID_PLAIN, "%s", h->name);
	sp_grid_put(s->grid, SP_GRID_PLAIN, "%s", h->source);
	put_span(s->grid, behind > LATE_S ? SP_GRID_YELLOW : SP_GRID_PLAIN, behind);
	sp_grid_put(s->grid, SP_GRID_PLAIN, "%" PRIu64, h->n_windows);
	put_span(s->grid, h->missing_s ? SP_GRID_YELLOW : SP_GRID_PLAIN, h->missing_s);
	sp_grid_put(s->grid, SP_GRID_PLAIN, "%" PRIu64, h->n_rows);
	sp_grid_put(s->grid, h->n_lost ? SP_GRID_YELLOW : SP_GRID_PLAIN, "%" PRIu64, h->n_lost);
	if (h->ahead_s > 0)
		sp_grid_put(s->grid, SP_GRID_YELLOW, "ahead by %" PRIi64 " s or more", h->ahead_s);
	else
		sp_grid_put(s->grid, SP_GRID_PLAIN, "%s", "");
	labels_put(s->grid, h->labels);
	return 0;
}

static void json_begin(struct sp_json *j)
{
	if (j->depth)
		return;
	sp_json_object(j, NULL);
	sp_json_array(j, "hosts");
	sp_json_lines(j);
}

/* The text of this row alone: it is cut up. */
static void json_labels(struct sp_json *j, char *labels)
{
	sp_json_array(j, "labels");
	for (char *one; (one = strsep(&labels, "\n")) != NULL;)
		if (*one)
			sp_json_string(j, NULL, one);
	sp_json_end(j);
}

static int put_host_json(void *json, const struct sp_fleet_host_status *h)
{
	struct sp_json *j = json;
	SP_FREE char *labels = strdup(h->labels);

	if (!labels)
		return -ENOMEM;
	json_begin(j);
	sp_json_object(j, NULL);
	sp_json_string(j, "name", h->name);
	sp_json_string(j, "source", h->source);
	json_labels(j, labels);
	sp_json_uint(j, "last", h->last_s);
	sp_json_int(j, "ahead_seconds", SP_MAX(h->ahead_s, INT64_C(0)));
	sp_json_uint(j, "windows", h->n_windows);
	sp_json_uint(j, "missing_seconds", h->missing_s);
	sp_json_uint(j, "rows", h->n_rows);
	sp_json_uint(j, "lost", h->n_lost);
	sp_json_uint(j, "left_out", h->n_left_out);
	sp_json_end(j);
	return 0;
}

static int status_json(struct sp_fleet *f)
{
	struct sp_json j = {.out = stdout};
	struct sp_fleet_status sums = {0};
	int r = sp_fleet_status(f, &sums, put_host_json, &j);

	if (r < 0)
		return r;
	json_begin(&j);
	sp_json_end(&j);
	sp_json_string(sp_json_line(&j), "server", sp_fleet_name(f));
	sp_json_string(&j, "database", sp_fleet_database(f));
	sp_json_uint(&j, "now", sums.now_s);
	sp_json_uint(&j, "bytes", sums.bytes);
	sp_json_uint(&j, "rows", sums.n_rows);
	sp_json_done(&j);
	return 0;
}

static int status_table(struct sp_fleet *f)
{
	static const struct sp_grid_column columns[] = {
	    {.title = "host", .min = 12},        {.title = "source", .drop = 1},
	    {.title = "behind", .right = true},  {.title = "windows", .right = true, .drop = 2},
	    {.title = "missing", .right = true}, {.title = "rows", .right = true, .drop = 3},
	    {.title = "lost", .right = true},    {.title = "clock", .min = 8},
	    {.title = "labels", .min = 8},
	};
	struct sp_fleet_status sums = {0};
	struct status s = {.grid = sp_grid_new(columns, SP_COUNT(columns)), .sums = &sums};
	char bytes[32], now[SP_WHEN_TEXT];
	int r = s.grid ? sp_fleet_status(f, &sums, put_host, &s) : -ENOMEM;

	sp_unit_write("bytes", sums.bytes, bytes, sizeof(bytes));
	if (r == 0 && s.n_hosts)
		r = sp_grid_print(s.grid, sp_terminal_width(stdout, NULL), sp_terminal_has_colour(stdout), "", stdout);
	if (r == 0)
		printf("%s%zu host%s since yesterday; %s in %" PRIu64
		       " rows on the server's disk; by its clock it is %s\n",
		       s.n_hosts ? "\n" : "", s.n_hosts, s.n_hosts == 1 ? "" : "s", bytes, sums.n_rows,
		       sp_when_text(sums.now_s * SP_NS_PER_S, now));
	sp_grid_free(s.grid);
	return r;
}

static int status(struct sp_fleet *f, const struct fleet_args *a)
{
	return a->json ? status_json(f) : status_table(f);
}

/* --- send --- */
struct labels {
	char *text;
	const char *all[MAX_LABELS];
	size_t n;
};

static int labels_split(const char *text, struct labels *ret_labels)
{
	char *rest;

	ret_labels->text = strdup(text ? text : "");
	if (!ret_labels->text)
		return -ENOMEM;
	rest = ret_labels->text;
	for (char *one; text && (one = strsep(&rest, ",")) != NULL;) {
		if (strchr(one, '=') == NULL || *one == '=')
			return sp_fail_said(-EINVAL, "--labels: '%s' is not NAME=VALUE", one);
		if (ret_labels->n == MAX_LABELS)
			return sp_fail_said(-EINVAL, "--labels: more than %d", MAX_LABELS);
		ret_labels->all[ret_labels->n++] = one;
	}
	return 0;
}

static int send(struct sp_fleet *f, const struct fleet_args *a)
{
	static const uint32_t lengths[] = {10, 60, 3600};
	SP_FREE char *machine = NULL;
	char host[HOST_NAME_MAX + 1] = "", end[SP_WHEN_TEXT], bytes[32];
	const char *source = a->source ? a->source : "cpu";
	struct labels labels = {0};
	struct sp_fleet_sent sent = {0};
	int r = labels_split(a->labels, &labels);

	gethostname(host, sizeof(host) - 1);
	if (!a->name && sp_text_read("/etc/machine-id", MAX_MACHINE, &machine, NULL) < 0)
		sp_error_clear();
	struct sp_fleet_send job = {.store = a->store ? a->store : default_store,
				    .host = a->name ? a->name : host,
				    .machine = machine ? machine : "",
				    .labels = labels.all,
				    .n_labels = labels.n,
				    .sources = &source,
				    .n_sources = 1,
				    .resolution_s = lengths[a->resolution < 0 ? 1 : a->resolution],
				    .is_whole = true};
	if (r == 0)
		r = sp_fleet_send(f, &job, &sent);
	sp_unit_write("bytes", sent.n_bytes, bytes, sizeof(bytes));
	if (r == 0 || sent.n_windows)
		printf("%" PRIu64 " windows sent, %" PRIu64 " samples in %" PRIu64 " rows, %s; %s%s\n", sent.n_windows,
		       sent.n_samples, sent.n_rows, bytes,
		       sent.to_ns ? "the fleet has all until " : "the store has none",
		       sent.to_ns ? sp_when_text(sent.to_ns, end) : "");
	free(labels.text);
	return r;
}

/* --- the command --- */
static const struct {
	const char *name;
	int (*run)(struct sp_fleet *f, const struct fleet_args *a);
} actions[] = {{"init", init}, {"status", status}, {"send", send}};

static int act(const struct fleet_args *a)
{
	struct sp_fleet_args with = a->fleet;
	struct sp_fleet *f = NULL;
	size_t i = 0;
	int r;

	if (a->words.n != 2)
		return sp_fail_said(-EINVAL, "init, status or send is expected, and the server's address");
	while (i < SP_COUNT(actions) && strcmp(actions[i].name, a->words.words[0]) != 0)
		i++;
	if (i == SP_COUNT(actions))
		return sp_fail_said(-EINVAL, "'%s' is none of init, status and send", a->words.words[0]);
	with.url = a->words.words[1];
	r = sp_fleet_args_open(&with, &f);
	if (r == 0)
		r = actions[i].run(f, a);
	sp_fleet_close(f);
	if (r == 0 && fflush(stdout))
		r = -errno;
	return r;
}

static int run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct fleet_args a = {.keep_days = SP_FLEET_KEEP_DAYS, .resolution = -1};
	int code = SP_EXIT_OK, r = sp_options_parse(options, argc, argv, &a);

	if (sp_cmd_parsed(cmd, r, &code)) {
		r = act(&a);
		if (r < 0)
			code = sp_cmd_error(cmd, r, r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED);
	}
	sp_words_done(&a.words);
	return code;
}

static const struct sp_example examples[] = {
    {"soprof fleet init http://clickhouse:8123", "make the tables"},
    {"soprof fleet status http://clickhouse:8123", "which hosts send, how far behind they are"},
    {"soprof query --fleet http://clickhouse:8123 --from -1h", "what each library cost, on all of them"},
    {0},
};

const struct sp_cmd sp_cmd_fleet = {
    .name = "fleet",
    .summary = "many machines in one ClickHouse server: its tables, how the hosts are",
    .group = SP_CMD_WATCH,
    .needs = "a ClickHouse server, 18.16 or later, and libcurl",
    .synopsis = "[OPTIONS] init|status|send URL",
    .options = options,
    .examples = examples,
    .run = run,
};
