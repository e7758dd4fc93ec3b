/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libs_json.c: libraries and their processes as JSON and CSV.
 *
 * JSON: one object, with each process once, and for each library the pids that use it. What is not known is absent.
 * CSV: a line for each library or, with globs or --stale, for each process of each. Keys and columns may be added,
 * never changed (soprof-libs(1)). Times are seconds since 1970.
 */
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/libs/libs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* --- JSON --- */
static void put_cost(const struct sp_libs *l, int64_t self, int64_t total, struct sp_json *j)
{
	if (!l->sampled)
		return;
	sp_json_int(j, "self", self);
	sp_json_format(j, "self_percent", "%.6f", sp_libs_percent(l, self));
	sp_json_int(j, "total", total);
	sp_json_format(j, "total_percent", "%.6f", sp_libs_percent(l, total));
}

static void put_id(struct sp_json *j, const char *name, const uint8_t *id, size_t len)
{
	if (len)
		sp_json_hex(j, name, id, len);
}

static void put_state(const struct sp_libs_file *f, struct sp_json *j)
{
	sp_json_string(j, "state", sp_libs_states[f->state]);
	if (f->since_ns && f->state != SP_LIBS_CURRENT)
		sp_json_uint(j, "since", f->since_ns / SP_NS_PER_S);
	put_id(j, "on_disk", f->disk_id, f->disk_id_len);
	sp_json_word(j, "disk_version", f->disk_version);
}

static void put_files(const struct sp_libs *l, uint32_t library, struct sp_json *j)
{
	sp_json_array(j, "files");
	for (size_t i = 0; i < l->mapped->n_files; i++) {
		const struct sp_libs_file *f = &l->files[i];
		if (f->library != library)
			continue;
		sp_json_object(j, NULL);
		sp_json_uint(j, "processes", l->mapped->files[i].n_uses);
		sp_json_string(j, "path", f->path ? f->path : l->mapped->files[i].path);
		put_state(f, j);
		sp_json_word(j, "problem", f->why);
		sp_json_end(j);
	}
	sp_json_end(j);
}

static void put_uses(const struct sp_libs *l, const struct sp_libs_library *lib, struct sp_json *j)
{
	sp_json_array(j, "used_by");
	for (size_t i = 0; i < lib->n_uses; i++) {
		const struct sp_libs_use *u = &l->uses[lib->first_use + i];
		if (!sp_libs_shows_use(l, u))
			continue;
		sp_json_object(j, NULL);
		sp_json_uint(j, "pid", l->mapped->processes[u->process].pid);
		put_state(&l->files[u->file], j);
		put_cost(l, u->self, u->total, j);
		sp_json_end(j);
	}
	sp_json_end(j);
}

static void put_library(const struct sp_libs *l, uint32_t index, struct sp_json *j)
{
	const struct sp_libs_library *lib = &l->libraries[index];

	sp_json_object(sp_json_line(j), NULL);
	sp_json_ints(j, {"processes", lib->n_uses}, {"stale", lib->n_stale});
	sp_json_string(j, "name", lib->name);
	put_id(j, "build_id", lib->build_id, lib->build_id_len);
	sp_json_word(j, "package", lib->package);
	sp_json_word(j, "package_version", lib->version);
	put_cost(l, lib->self, lib->total, j);
	if (l->sampled)
		sp_json_ints(j, {"ran", lib->n_ran}, {"ended", lib->n_gone});
	put_files(l, index, j);
	put_uses(l, lib, j);
	sp_json_end(j);
}

static bool *processes_shown(const struct sp_libs *l, size_t n)
{
	bool *shown = calloc(l->mapped->n_processes + 1, sizeof(*shown));

	for (size_t i = 0; shown && i < n; i++) {
		const struct sp_libs_library *lib = &l->libraries[l->order[i]];
		for (size_t k = 0; k < lib->n_uses; k++) {
			const struct sp_libs_use *u = &l->uses[lib->first_use + k];
			shown[u->process] |= sp_libs_shows_use(l, u);
		}
	}
	return shown;
}

static void put_process(const struct sp_libs *l, size_t i, struct sp_json *j)
{
	const struct sp_mapped_process *p = &l->mapped->processes[i];

	sp_json_object(sp_json_line(j), NULL);
	sp_json_ints(j, {"pid", p->pid}, {"uid", p->uid});
	sp_json_string(j, "comm", p->comm);
	sp_json_string(j, "user", l->users[i]);
	sp_json_word(j, "cgroup", p->cgroup);
	sp_json_word(j, "where", l->places[i]);
	sp_json_end(j);
}

static void put_sampled(const struct sp_libs *l, struct sp_json *j)
{
	sp_json_ints(sp_json_line(j), {"samples", l->n_samples}, {"kernel", l->n_kernel}, {"other", l->n_other});
	sp_json_format(j, "seconds", "%.3f", (double)l->sampled_ns / 1e9);
	sp_json_uint(j, "frequency_hz", l->args->frequency_hz);
}

static void put_looked_at(const struct sp_libs *l, struct sp_json *j)
{
	const struct sp_mapped *m = l->mapped;

	sp_json_object(sp_json_line(j), "looked_at");
	sp_json_ints(j, {"processes", m->n_processes}, {"files", m->n_files}, {"refused", m->n_refused},
		     {"ended", m->n_ended}, {"stuck", m->n_stuck}, {"memory_mappings", m->n_memory},
		     {"not_elf", l->n_not_elf}, {"not_opened", l->n_not_open}, {"beyond_limits", m->n_left_out});
	sp_json_end(j);
}

/* Lists and tables for scripts are whole unless they are asked not to be. */
static size_t n_shown(const struct sp_libs *l)
{
	uint64_t limit = l->args->limit == UINT64_MAX ? 0 : l->args->limit;

	return limit ? SP_MIN(limit, l->n_order) : l->n_order;
}

int sp_libs_print_json(struct sp_libs *l, FILE *out)
{
	struct sp_json j = {.out = out};
	size_t n = n_shown(l);
	SP_FREE bool *shown = processes_shown(l, n);

	if (!shown)
		return -ENOMEM;
	sp_json_object(&j, NULL);
	sp_json_string(&j, "format", "soprof-libs");
	sp_json_int(&j, "version", 1);
	sp_json_uint(&j, "time", sp_time_ns(CLOCK_REALTIME) / SP_NS_PER_S);
	if (l->sampled)
		put_sampled(l, &j);
	put_looked_at(l, &j);
	sp_json_uint(sp_json_line(&j), "left_out", l->n_order - n);
	sp_json_array(sp_json_line(&j), "libraries");
	for (size_t i = 0; i < n; i++)
		put_library(l, l->order[i], &j);
	sp_json_end(&j);
	sp_json_array(sp_json_line(&j), "processes");
	for (size_t i = 0; i < l->mapped->n_processes; i++)
		if (shown[i])
			put_process(l, i, &j);
	sp_json_done(&j);
	return 0;
}

/* --- CSV --- */
static void put_field(FILE *out, const char *text)
{
	sp_encode(out, SP_ENCODE_CSV, text);
	fputc(',', out);
}

static void put_csv_cost(const struct sp_libs *l, int64_t self, int64_t total, FILE *out)
{
	if (l->sampled)
		fprintf(out, "%" PRId64 ",%.4f,%" PRId64 ",%.4f,", self, sp_libs_percent(l, self), total,
			sp_libs_percent(l, total));
	else
		fputs(",,,,", out);
}

static int csv_library(const struct sp_libs *l, const struct sp_libs_library *lib, FILE *out)
{
	SP_FREE char *users = NULL;
	SP_FREE char *comms = NULL;
	char hex[65];
	int r = sp_libs_who(l, lib, false, &users);

	if (r >= 0)
		r = sp_libs_who(l, lib, true, &comms);
	if (r < 0)
		return r;
	sp_hex(lib->build_id, lib->build_id_len, hex);
	put_csv_cost(l, lib->self, lib->total, out);
	fprintf(out, "%u,%u,", lib->n_uses, lib->n_stale);
	put_field(out, hex);
	put_field(out, lib->name);
	put_field(out, lib->package);
	put_field(out, lib->version);
	put_field(out, users);
	put_field(out, comms);
	sp_encode(out, SP_ENCODE_CSV, lib->path);
	fputc('\n', out);
	return 0;
}

static void csv_use(const struct sp_libs *l, const struct sp_libs_library *lib, const struct sp_libs_use *u, FILE *out)
{
	const struct sp_mapped_process *p = &l->mapped->processes[u->process];
	const struct sp_libs_file *f = &l->files[u->file];
	char hex[65];

	put_csv_cost(l, u->self, u->total, out);
	fprintf(out, "%u,%s,", p->pid, sp_libs_states[u->state]);
	if (u->state != SP_LIBS_CURRENT && f->since_ns)
		fprintf(out, "%" PRIu64, f->since_ns / SP_NS_PER_S);
	fputc(',', out);
	sp_hex(lib->build_id, lib->build_id_len, hex);
	put_field(out, hex);
	sp_hex(f->disk_id, f->disk_id_len, hex);
	put_field(out, hex);
	put_field(out, sp_libs_file_name(l, u->file));
	put_field(out, lib->package);
	put_field(out, l->users[u->process]);
	put_field(out, p->comm);
	put_field(out, l->places[u->process]);
	put_field(out, f->path ? f->path : l->mapped->files[u->file].path);
	put_field(out, lib->version);
	sp_encode(out, SP_ENCODE_CSV, f->disk_version ? f->disk_version : "");
	fputc('\n', out);
}

int sp_libs_print_csv(struct sp_libs *l, FILE *out)
{
	bool uses = sp_libs_shows_uses(l->args);
	size_t n = n_shown(l);
	int r = 0;

	fputs("self,self_percent,total,total_percent,", out);
	fputs(
	    uses
		? "pid,state,since,build_id,on_disk,library,package,user,comm,where,path,package_version,disk_version\n"
		: "processes,stale,build_id,library,package,package_version,users,used_by,path\n",
	    out);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct sp_libs_library *lib = &l->libraries[l->order[i]];
		if (!uses)
			r = csv_library(l, lib, out);
		for (size_t k = 0; uses && k < lib->n_uses; k++)
			if (sp_libs_shows_use(l, &l->uses[lib->first_use + k]))
				csv_use(l, lib, &l->uses[lib->first_use + k], out);
	}
	return r;
}
