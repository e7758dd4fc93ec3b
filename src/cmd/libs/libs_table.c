/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libs_table.c: libraries and their processes for people.
 *
 * One table of libraries; with globs a block for each library with its processes; for stale libraries a table of these
 * and one of the processes to restart.
 */
#include "base/encode.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/grid.h"
#include "cmd/libs/libs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_ID = 6, AGE = 16, TERMINAL_REST = 10 };

/* --- cells --- */
static void put_share(struct sp_grid *g, const struct sp_libs *l, int64_t samples, bool any)
{
	double percent = sp_libs_percent(l, samples);

	if (!l->sampled || !any)
		sp_grid_put(g, SP_GRID_PLAIN, "%s", l->sampled ? "-" : "");
	else
		sp_grid_put(g,
			    percent >= 10  ? SP_GRID_RED
			    : percent >= 1 ? SP_GRID_YELLOW
					   : SP_GRID_PLAIN,
			    "%.2f", percent);
}

static void put_id(struct sp_grid *g, const uint8_t *id, size_t len, bool whole)
{
	char hex[65];

	sp_hex(id, whole ? len : SP_MIN(len, SHORT_ID), hex);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", *hex ? hex : "-");
}

static void age_write(uint64_t since_ns, char text[AGE])
{
	uint64_t now_ns = sp_time_ns(CLOCK_REALTIME), s = now_ns > since_ns ? (now_ns - since_ns) / SP_NS_PER_S : 0;

	if (!since_ns)
		snprintf(text, AGE, "-");
	else if (s < 120)
		snprintf(text, AGE, "%" PRIu64 " s", s);
	else if (s < 120 * 60)
		snprintf(text, AGE, "%" PRIu64 " min", s / 60);
	else if (s < 48 * 3600)
		snprintf(text, AGE, "%" PRIu64 " h", s / 3600);
	else
		snprintf(text, AGE, "%" PRIu64 " d", SP_MIN(s / 86400, UINT64_C(99999)));
}

static int put_who(struct sp_grid *g, const struct sp_libs *l, const struct sp_libs_library *lib, bool comms)
{
	SP_FREE char *text = NULL;
	int r = sp_libs_who(l, lib, comms, &text);

	if (r >= 0)
		sp_grid_put(g, SP_GRID_PLAIN, "%s", text);
	return r;
}

/* --- all libraries --- */
static const struct sp_grid_column library_columns[] = {
    {.title = "self %", .right = true},         {.title = "total %", .right = true},
    {.title = "procs", .right = true},          {.title = "stale", .right = true},
    {.title = "build id", .drop = 2},           {.title = "library", .min = 18},
    {.title = "package", .min = 12, .drop = 1}, {.title = "users", .min = 8, .max = 24, .drop = 3},
    {.title = "used by", .min = 12, .max = 60},
};

static int put_library(struct sp_grid *g, const struct sp_libs *l, const struct sp_libs_library *lib)
{
	int r;

	put_share(g, l, lib->self, lib->n_ran);
	put_share(g, l, lib->total, lib->n_ran);
	sp_grid_put(g, SP_GRID_PLAIN, "%u", lib->n_uses);
	if (lib->n_stale)
		sp_grid_put(g, SP_GRID_RED, "%u", lib->n_stale);
	else
		sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	put_id(g, lib->build_id, lib->build_id_len, l->args->verbose);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", lib->name);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", lib->package);
	r = put_who(g, l, lib, false);
	if (r < 0 || lib->n_uses)
		return r < 0 ? r : put_who(g, l, lib, true);
	sp_grid_put(g, SP_GRID_PLAIN, "(nobody now)"); /* its process has ended, or is this soprof */
	return 0;
}

/* On a terminal as many as fit, so that the most expensive ones stay in sight. */
static size_t n_shown(const struct sp_libs *l, FILE *out)
{
	uint64_t limit = l->args->limit != UINT64_MAX ? l->args->limit : sp_terminal_rows(out, TERMINAL_REST);

	return limit ? SP_MIN(limit, l->n_order) : l->n_order;
}

static void put_paths(const struct sp_libs *l, const struct sp_libs_library *lib, FILE *out)
{
	uint32_t index = (uint32_t)(lib - l->libraries);

	for (size_t i = 0; i < l->mapped->n_files; i++) {
		const struct sp_libs_file *f = &l->files[i];
		if (f->library != index)
			continue;
		fputs("  ", out);
		sp_encode(out, SP_ENCODE_TERMINAL, f->path ? f->path : l->mapped->files[i].path);
		fprintf(out, "%s%s%s  %u process%s", f->state ? " (" : "", f->state ? sp_libs_states[f->state] : "",
			f->state ? ")" : "", l->mapped->files[i].n_uses, l->mapped->files[i].n_uses == 1 ? "" : "es");
		if (f->why) {
			fputs("; ", out);
			sp_encode(out, SP_ENCODE_TERMINAL, f->why);
		}
		fputc('\n', out);
	}
}

static int print_libraries(struct sp_libs *l, size_t n, FILE *out)
{
	struct sp_grid *g = sp_grid_new(library_columns, SP_COUNT(library_columns));
	int r = g ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = put_library(g, l, &l->libraries[l->order[i]]);
	if (r >= 0)
		r = sp_grid_print(g, sp_terminal_width(out, NULL), sp_terminal_has_colour(out), "", out);
	sp_grid_free(g);
	return r;
}

static void put_rest(const struct sp_libs *l, size_t n, FILE *out)
{
	int64_t self = 0;

	if (n == l->n_order)
		return;
	for (size_t i = n; i < l->n_order; i++)
		self += l->libraries[l->order[i]].self;
	fprintf(out, "and %zu more", l->n_order - n);
	if (l->sampled)
		fprintf(out, ", %.2f %% self together", sp_libs_percent(l, self));
	fputs(" (--limit 0 shows all)\n", out);
}

/* --- one library and its processes --- */
static const struct sp_grid_column use_columns[] = {
    {.title = "pid", .right = true},    {.title = "user", .min = 8, .drop = 2},
    {.title = "self %", .right = true}, {.title = "total %", .right = true},
    {.title = "comm", .min = 15},       {.title = "where", .min = 12, .drop = 1},
    {.title = "runs", .min = 8},        {.title = "since", .right = true},
};

static void put_use(struct sp_grid *g, const struct sp_libs *l, const struct sp_libs_use *u)
{
	const struct sp_mapped_process *p = &l->mapped->processes[u->process];
	char age[AGE] = "";

	if (u->state != SP_LIBS_CURRENT)
		age_write(l->files[u->file].since_ns, age);
	sp_grid_put(g, SP_GRID_PLAIN, "%u", p->pid);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", l->users[u->process]);
	put_share(g, l, u->self, u->total);
	put_share(g, l, u->total, u->total);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", p->comm);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", l->places[u->process]);
	sp_grid_put(g, SP_GRID_RED, "%s", u->state == SP_LIBS_CURRENT ? "" : sp_libs_states[u->state]);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", age);
}

static void put_head(const struct sp_libs *l, const struct sp_libs_library *lib, FILE *out)
{
	bool colour = sp_terminal_has_colour(out);
	char hex[65];

	sp_hex(lib->build_id, lib->build_id_len, hex);
	fputs(colour ? "\033[1m" : "", out);
	sp_encode(out, SP_ENCODE_TERMINAL, lib->name);
	fprintf(out, "%s  %s", colour ? "\033[0m" : "", *hex ? hex : "no build id");
	if (*lib->package) {
		fputs("  ", out);
		sp_encode(out, SP_ENCODE_TERMINAL, lib->package);
		fputs(*lib->version ? " " : ", version unknown", out);
		sp_encode(out, SP_ENCODE_TERMINAL, lib->version);
	}
	fputc('\n', out);
	put_paths(l, lib, out);
	fprintf(out, "  %u process%s", lib->n_uses, lib->n_uses == 1 ? "" : "es");
	if (l->sampled)
		fprintf(out, ", %u ran it: self %.2f %%, total %.2f %%", lib->n_ran, sp_libs_percent(l, lib->self),
			sp_libs_percent(l, lib->total));
	if (lib->n_gone)
		fprintf(out, " (%u %s ended)", lib->n_gone, lib->n_gone == 1 ? "has" : "have");
	if (lib->n_stale)
		fprintf(out, "; %u run%s an old file", lib->n_stale, lib->n_stale == 1 ? "s" : "");
	fputc('\n', out);
}

static int print_uses(struct sp_libs *l, const struct sp_libs_library *lib, FILE *out)
{
	struct sp_grid *g = sp_grid_new(use_columns, SP_COUNT(use_columns));
	int r = g ? 0 : -ENOMEM;

	put_head(l, lib, out);
	for (size_t i = 0; g && i < lib->n_uses; i++)
		put_use(g, l, &l->uses[lib->first_use + i]);
	if (r >= 0 && lib->n_uses)
		r = sp_grid_print(g, sp_terminal_width(out, NULL), sp_terminal_has_colour(out), "  ", out);
	sp_grid_free(g);
	return r;
}

int sp_libs_print_table(struct sp_libs *l, FILE *out)
{
	size_t n = l->args->globs.n && l->args->limit == UINT64_MAX ? l->n_order : n_shown(l, out);
	int r = 0;

	if (!l->args->globs.n) {
		r = print_libraries(l, n, out);
		for (size_t i = 0; l->args->verbose && i < n; i++) {
			fputs(i ? "" : "\n", out);
			sp_encode(out, SP_ENCODE_TERMINAL, l->libraries[l->order[i]].name);
			fputc('\n', out);
			put_paths(l, &l->libraries[l->order[i]], out);
		}
	}
	for (size_t i = 0; l->args->globs.n && r >= 0 && i < n; i++) {
		fputs(i ? "\n" : "", out);
		r = print_uses(l, &l->libraries[l->order[i]], out);
	}
	put_rest(l, n, out);
	return r;
}

/* --- what is stale --- */
static const struct sp_grid_column stale_columns[] = {
    {.title = "procs", .right = true},
    {.title = "state"},
    {.title = "since", .right = true},
    {.title = "runs build"},
    {.title = "on disk"},
    {.title = "library", .min = 18},
    {.title = "package", .min = 12, .drop = 2},
    {.title = "runs version", .min = 12, .drop = 1},
    {.title = "on disk", .min = 12, .drop = 1},
};

/* A library that is stale in several ways (other containers) has a row for each. */
static void put_stale(struct sp_grid *g, const struct sp_libs *l, const struct sp_libs_library *lib, uint32_t file)
{
	const struct sp_libs_file *f = &l->files[file];
	char age[AGE];
	uint32_t n = 0;

	for (size_t i = 0; i < lib->n_uses; i++)
		n += l->uses[lib->first_use + i].file == file;
	if (!n)
		return;
	age_write(f->since_ns, age);
	sp_grid_put(g, SP_GRID_PLAIN, "%u", n);
	sp_grid_put(g, SP_GRID_RED, "%s", sp_libs_states[f->state]);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", age);
	put_id(g, lib->build_id, lib->build_id_len, l->args->verbose);
	if (sp_libs_is_same(f))
		sp_grid_put(g, SP_GRID_PLAIN, "the same");
	else
		put_id(g, f->disk_id, f->disk_id_len, l->args->verbose);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", l->args->verbose && f->path ? f->path : sp_libs_file_name(l, file));
	sp_grid_put(g, SP_GRID_PLAIN, "%s", lib->package);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", *lib->version ? lib->version : *lib->package ? "unknown" : "");
	sp_grid_put(g, SP_GRID_PLAIN, "%s", f->disk_version ? f->disk_version : "");
}

static int print_stale_libraries(struct sp_libs *l, size_t n, FILE *out)
{
	struct sp_grid *g = sp_grid_new(stale_columns, SP_COUNT(stale_columns));
	int r = g ? 0 : -ENOMEM;

	for (size_t i = 0; g && i < n; i++)
		for (uint32_t f = 0; f < l->mapped->n_files; f++)
			if (l->files[f].library == l->order[i] && l->files[f].state != SP_LIBS_CURRENT)
				put_stale(g, l, &l->libraries[l->order[i]], f);
	if (r >= 0)
		r = sp_grid_print(g, sp_terminal_width(out, NULL), sp_terminal_has_colour(out), "", out);
	sp_grid_free(g);
	return r;
}

static const struct sp_grid_column restart_columns[] = {
    {.title = "pid", .right = true},          {.title = "user", .min = 8, .drop = 1}, {.title = "comm", .min = 15},
    {.title = "where", .min = 12, .drop = 2}, {.title = "since", .right = true},      {.title = "runs old", .min = 16},
};

struct stale_process {
	uint64_t since_ns; /* of the first library that went */
	char *names;
	size_t size;
	FILE *out;
};

static int compare_places(const void *a, const void *b, void *arg)
{
	const struct sp_libs *l = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(l->places[x], l->places[y]);

	return order ? order : (x > y) - (x < y);
}

static void gather(const struct sp_libs *l, const struct sp_libs_library *lib, struct stale_process *processes)
{
	for (size_t i = 0; i < lib->n_uses; i++) {
		const struct sp_libs_use *u = &l->uses[lib->first_use + i];
		struct stale_process *p = &processes[u->process];
		uint64_t since_ns = l->files[u->file].since_ns;
		if (u->state == SP_LIBS_CURRENT)
			continue;
		if (!p->out)
			p->out = open_memstream(&p->names, &p->size);
		else
			fputs(", ", p->out);
		if (p->out)
			fputs(sp_libs_file_name(l, u->file), p->out);
		if (since_ns && (!p->since_ns || since_ns < p->since_ns))
			p->since_ns = since_ns;
	}
}

static void put_restart(struct sp_grid *g, const struct sp_libs *l, uint32_t i, const struct stale_process *p)
{
	char age[AGE];

	age_write(p->since_ns, age);
	sp_grid_put(g, SP_GRID_PLAIN, "%u", l->mapped->processes[i].pid);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", l->users[i]);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", l->mapped->processes[i].comm);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", l->places[i]);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", age);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", p->names);
}

/* The processes by where they belong, so that what is to be started again stands together. */
static int print_restarts(struct sp_libs *l, struct stale_process *processes, uint32_t *order, FILE *out)
{
	struct sp_grid *g = sp_grid_new(restart_columns, SP_COUNT(restart_columns));
	size_t n = 0;
	int r = g ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < l->mapped->n_processes; i++) {
		if (!processes[i].out)
			continue;
		if (fclose(processes[i].out))
			r = -ENOMEM;
		order[n++] = i;
	}
	qsort_r(order, n, sizeof(*order), compare_places, l);
	for (size_t i = 0; r >= 0 && i < n; i++)
		put_restart(g, l, order[i], &processes[order[i]]);
	if (r >= 0)
		r = sp_grid_print(g, sp_terminal_width(out, NULL), sp_terminal_has_colour(out), "", out);
	for (uint32_t i = 0; i < l->mapped->n_processes; i++)
		free(processes[i].names);
	sp_grid_free(g);
	return r;
}

int sp_libs_print_stale(struct sp_libs *l, FILE *out)
{
	SP_FREE struct stale_process *processes = calloc(l->mapped->n_processes + 1, sizeof(*processes));
	SP_FREE uint32_t *order = calloc(l->mapped->n_processes + 1, sizeof(*order));
	size_t n = l->args->limit == UINT64_MAX || !l->args->limit ? l->n_order : SP_MIN(l->args->limit, l->n_order);
	int r;

	if (!processes || !order)
		return -ENOMEM;
	if (!l->n_order) {
		fputs("no process runs a deleted or replaced library\n", out);
		return 0;
	}
	r = print_stale_libraries(l, n, out);
	put_rest(l, n, out);
	fputc('\n', out);
	if (r < 0)
		return r;
	for (size_t i = 0; i < l->n_order; i++)
		gather(l, &l->libraries[l->order[i]], processes);
	return print_restarts(l, processes, order, out);
}
