/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libs_fleet.c: `soprof libs --fleet`: which builds of libraries run on which hosts of a fleet, and what they cost. */
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/time.h"
#include "base/when.h"
#include "cmd/grid.h"
#include "cmd/libs/libs.h"
#include "cmd/output.h"
#include "view/units.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BUILD_ID = 12 };

struct row {
	char *name, *build_id, *package, *version, *host;
	int64_t samples, self, total, of_host;
};
struct rows {
	const struct sp_libs_args *args;
	const struct sp_store_query *asked;
	struct row *all;
	size_t n, capacity;
};

static int row_take(void *arg, const struct sp_fleet_library *l)
{
	struct rows *rows = arg;
	int r = sp_grow(&rows->all, &rows->capacity, rows->n + 1, sizeof(*rows->all));

	if (r < 0)
		return r;
	struct row *row = &rows->all[rows->n++];
	*row = (struct row){.name = strdup(l->name),
			    .build_id = strdup(l->build_id),
			    .package = strdup(l->package),
			    .version = strdup(l->version),
			    .host = strdup(l->host),
			    .samples = l->n_samples,
			    .self = l->self,
			    .total = l->total,
			    .of_host = l->of_host};
	return row->name && row->build_id && row->package && row->version && row->host ? 0 : -ENOMEM;
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return strcmp(x->name, y->name)
	       ?: strcmp(x->build_id, y->build_id)
	       ?: SP_FALLING(x->total, y->total)
	       ?: strcmp(x->host, y->host);
}

static int table_put(const struct rows *rows, FILE *out)
{
	static const struct sp_grid_column columns[] = {
	    {.title = "library", .min = 12},           {.title = "build id", .drop = 1},
	    {.title = "package", .min = 8, .drop = 2}, {.title = "host", .min = 12},
	    {.title = "self %", .right = true},        {.title = "total %", .right = true},
	    {.title = "self", .right = true},          {.title = "samples", .right = true, .drop = 3},
	};
	struct sp_grid *g = sp_grid_new(columns, SP_COUNT(columns));
	size_t n = rows->args->limit && rows->args->limit < rows->n ? (size_t)rows->args->limit : rows->n;
	char self[32];
	int r;

	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows->all[i];
		int shown = rows->args->verbose ? (int)strlen(row->build_id) : BUILD_ID;
		sp_unit_write("nanoseconds", (uint64_t)SP_MAX(row->self, 0), self, sizeof(self));
		sp_grid_put(g, SP_GRID_PLAIN, "%s", row->name);
		sp_grid_put(g, SP_GRID_PLAIN, "%.*s", shown, row->build_id);
		sp_grid_put(g, SP_GRID_PLAIN, "%s%s%s", row->package, *row->version ? " " : "", row->version);
		sp_grid_put(g, SP_GRID_PLAIN, "%s", row->host);
		sp_grid_put(g, SP_GRID_PLAIN, "%.2f", sp_percent(row->self, row->of_host));
		sp_grid_put(g, SP_GRID_PLAIN, "%.2f", sp_percent(row->total, row->of_host));
		sp_grid_put(g, SP_GRID_PLAIN, "%s", self);
		sp_grid_put(g, SP_GRID_PLAIN, "%" PRIi64, row->samples);
	}
	r = sp_grid_print(g, sp_terminal_width(out, NULL), false, "", out);
	if (r == 0 && n < rows->n)
		fprintf(out, "... and %zu more\n", rows->n - n);
	sp_grid_free(g);
	return r;
}

static int csv_put(const struct rows *rows, FILE *out)
{
	fputs("library,build_id,package,version,host,self,total,of_host,samples\n", out);
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->all[i];
		const char *const texts[] = {row->name, row->build_id, row->package, row->version, row->host};
		for (size_t k = 0; k < SP_COUNT(texts); k++) {
			sp_encode(out, SP_ENCODE_CSV, texts[k]);
			fputc(',', out);
		}
		fprintf(out, "%" PRIi64 ",%" PRIi64 ",%" PRIi64 ",%" PRIi64 "\n", row->self, row->total, row->of_host,
			row->samples);
	}
	return 0;
}

static int json_put(const struct rows *rows, FILE *out)
{
	struct sp_json j = {.out = out};

	sp_json_object(&j, NULL);
	sp_json_string(&j, "format", "soprof-libs-fleet");
	sp_json_int(&j, "version", 1);
	sp_json_uint(&j, "from", rows->asked->from_ns / SP_NS_PER_S);
	sp_json_uint(&j, "to", rows->asked->to_ns / SP_NS_PER_S);
	sp_json_array(sp_json_line(&j), "libraries");
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->all[i];
		sp_json_object(sp_json_line(&j), NULL);
		sp_json_string(&j, "name", row->name);
		sp_json_word(&j, "build_id", row->build_id);
		sp_json_word(&j, "package", row->package);
		sp_json_word(&j, "package_version", row->version);
		sp_json_string(&j, "host", row->host);
		sp_json_ints(&j, {"self", row->self}, {"total", row->total}, {"of_host", row->of_host},
			     {"samples", row->samples});
		sp_json_end(&j);
	}
	sp_json_done(&j);
	return 0;
}

static int put(void *arg, FILE *out)
{
	const struct rows *rows = arg;

	if (rows->args->json)
		return json_put(rows, out);
	return rows->args->csv ? csv_put(rows, out) : table_put(rows, out);
}

static int range_find(const struct sp_libs_args *a, struct sp_store_query *ret_q)
{
	struct sp_when range = {0};
	int r = sp_when_between(a->from ? a->from : "-1h", a->to, sp_time_ns(CLOCK_REALTIME), &range);

	*ret_q = (struct sp_store_query){.from_ns = range.from_ns, .to_ns = range.to_ns, .resolution = -1};
	return r;
}

/* What only looking at this machine has. */
static int check(const struct sp_libs_args *a)
{
	if (a->stale || a->pids.n || a->seconds != UINT64_MAX)
		return sp_fail_said(-EINVAL, "--stale, --seconds and --pid are not of a fleet");
	if (!a->globs.n)
		return sp_fail_said(-EINVAL, "of a fleet libraries are named; soprof query --fleet has all");
	return 0;
}

int sp_libs_fleet(const struct sp_libs_args *a)
{
	struct sp_store_query q = {0};
	struct rows rows = {.args = a, .asked = &q};
	struct sp_fleet *f = NULL;
	struct sp_fleet_globs globs = {.globs = a->globs.words, .n = a->globs.n};
	int r = check(a);

	if (r == 0)
		r = range_find(a, &q);
	if (r == 0)
		r = sp_fleet_args_open(&a->fleet, &f);
	if (r == 0)
		r = sp_fleet_libraries(f, &a->fleet.filter, &q, &globs, row_take, &rows);
	if (r == 0 && !rows.n)
		r = sp_fail_said(-ENOENT, "no samples of a library that is called '%s'%s", globs.globs[0],
				 globs.n > 1 ? " or as the others" : "");
	if (rows.n)
		qsort(rows.all, rows.n, sizeof(*rows.all), by_name);
	if (r == 0)
		r = sp_output(a->output, put, &rows);
	for (size_t i = 0; i < rows.n; i++) {
		free(rows.all[i].name);
		free(rows.all[i].build_id);
		free(rows.all[i].package);
		free(rows.all[i].version);
		free(rows.all[i].host);
	}
	free(rows.all);
	sp_fleet_close(f);
	return r;
}
