/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libs_json.c: libraries and their processes, for scripts.
 *
 * JSON: one object; processes once, in full, and for each library the pids that use it. What is not known is absent.
 * CSV: a line for each library or, with globs or --stale, for each process of each. Keys and columns may be added,
 * never changed: soprof-libs(1) says what each of them is. Times are seconds since 1970.
 */
#include "base/encode.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/libs/libs.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- JSON -----------------------------------------------------------------------------------------------------------
 */
static void put_string(FILE *out, const char *key, const char *text)
{
	fprintf(out, ",\"%s\":\"", key);
	sp_encode(out, SP_ENCODE_JSON, text);
	fputc('"', out);
}

static void put_word(FILE *out, const char *key, const char *text)
{
	if (text && *text)
		put_string(out, key, text);
}

static void put_id(FILE *out, const char *key, const uint8_t *id, size_t len)
{
	char hex[65];

	sp_hex(id, len, hex);
	put_word(out, key, hex);
}

static void put_cost(const struct sp_libs *l, int64_t self, int64_t total, FILE *out)
{
	if (!l->sampled)
		return;
	fprintf(out, ",\"self\":%" PRId64 ",\"self_percent\":%.6f,\"total\":%" PRId64 ",\"total_percent\":%.6f", self,
		sp_libs_percent(l, self), total, sp_libs_percent(l, total));
}

static void put_state(const struct sp_libs_file *f, FILE *out)
{
	put_string(out, "state", sp_libs_states[f->state]);
	if (f->since_ns && f->state != SP_LIBS_CURRENT)
		fprintf(out, ",\"since\":%" PRIu64, f->since_ns / SP_NS_PER_S);
	put_id(out, "on_disk", f->disk_id, f->disk_id_len);
	put_word(out, "disk_version", f->disk_version);
}

static void put_files(const struct sp_libs *l, uint32_t library, FILE *out)
{
	bool any = false;

	fputs(",\"files\":[", out);
	for (size_t i = 0; i < l->mapped->n_files; i++) {
		const struct sp_libs_file *f = &l->files[i];
		if (f->library != library)
			continue;
		fprintf(out, "%s{\"processes\":%u", any ? "," : "", l->mapped->files[i].n_uses);
		put_string(out, "path", f->path ? f->path : l->mapped->files[i].path);
		put_state(f, out);
		put_word(out, "problem", f->why);
		fputc('}', out);
		any = true;
	}
	fputc(']', out);
}

static void put_uses(const struct sp_libs *l, const struct sp_libs_library *lib, FILE *out)
{
	bool any = false;

	fputs(",\"used_by\":[", out);
	for (size_t i = 0; i < lib->n_uses; i++) {
		const struct sp_libs_use *u = &l->uses[lib->first_use + i];
		if (!sp_libs_shows_use(l, u))
			continue;
		fprintf(out, "%s{\"pid\":%u", any ? "," : "", l->mapped->processes[u->process].pid);
		put_state(&l->files[u->file], out);
		put_cost(l, u->self, u->total, out);
		fputc('}', out);
		any = true;
	}
	fputc(']', out);
}

static void put_library(const struct sp_libs *l, uint32_t index, FILE *out)
{
	const struct sp_libs_library *lib = &l->libraries[index];

	fprintf(out, "{\"processes\":%u,\"stale\":%u", lib->n_uses, lib->n_stale);
	put_string(out, "name", lib->name);
	put_id(out, "build_id", lib->build_id, lib->build_id_len);
	put_word(out, "package", lib->package);
	put_word(out, "package_version", lib->version);
	put_cost(l, lib->self, lib->total, out);
	if (l->sampled)
		fprintf(out, ",\"ran\":%u,\"ended\":%u", lib->n_ran, lib->n_gone);
	put_files(l, index, out);
	put_uses(l, lib, out);
	fputc('}', out);
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

static void put_process(const struct sp_libs *l, size_t i, FILE *out)
{
	const struct sp_mapped_process *p = &l->mapped->processes[i];

	fprintf(out, "{\"pid\":%u,\"uid\":%u", p->pid, p->uid);
	put_string(out, "comm", p->comm);
	put_string(out, "user", l->users[i]);
	put_word(out, "cgroup", p->cgroup);
	put_word(out, "where", l->places[i]);
	fputc('}', out);
}

static void put_head(const struct sp_libs *l, size_t n, FILE *out)
{
	const struct sp_mapped *m = l->mapped;

	fprintf(out, "{\"format\":\"soprof-libs\",\"version\":1,\"time\":%" PRIu64,
		sp_time_ns(CLOCK_REALTIME) / SP_NS_PER_S);
	if (l->sampled)
		fprintf(out,
			",\n\"samples\":%" PRId64 ",\"kernel\":%" PRId64 ",\"other\":%" PRId64 ",\"seconds\":%.3f,"
			"\"frequency_hz\":%" PRIu64,
			l->n_samples, l->n_kernel, l->n_other, (double)l->sampled_ns / 1e9, l->args->frequency_hz);
	fprintf(out,
		",\n\"looked_at\":{\"processes\":%zu,\"files\":%zu,\"refused\":%" PRIu64 ",\"ended\":%" PRIu64
		",\"stuck\":%" PRIu64 ",\"memory_mappings\":%" PRIu64 ",\"not_elf\":%" PRIu64 ",\"not_opened\":%" PRIu64
		",\"beyond_limits\":%" PRIu64 "},\n\"left_out\":%zu,\n\"libraries\":[",
		m->n_processes, m->n_files, m->n_refused, m->n_ended, m->n_stuck, m->n_memory, l->n_not_elf,
		l->n_not_open, m->n_left_out, l->n_order - n);
}

/* Lists and tables for scripts are whole unless they are asked not to be. */
static size_t n_shown(const struct sp_libs *l)
{
	uint64_t limit = l->args->limit == UINT64_MAX ? 0 : l->args->limit;

	return limit ? SP_MIN(limit, l->n_order) : l->n_order;
}

int sp_libs_print_json(struct sp_libs *l, FILE *out)
{
	size_t n = n_shown(l);
	SP_FREE bool *shown = processes_shown(l, n);
	bool any = false;

	if (!shown)
		return -ENOMEM;
	put_head(l, n, out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_library(l, l->order[i], out);
	}
	fputs("],\n\"processes\":[", out);
	for (size_t i = 0; i < l->mapped->n_processes; i++) {
		if (!shown[i])
			continue;
		fputs(any ? ",\n" : "\n", out);
		put_process(l, i, out);
		any = true;
	}
	fputs("]}\n", out);
	return 0;
}

/* --- CSV ------------------------------------------------------------------------------------------------------------
 */
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
