/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/encode.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "profile/values.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR_S = 3600, DAY_S = 86400 };

struct encoder {
	const struct sp_profile *p;
	struct sp_fleet_rows *into;
	struct sp_sent *sent;
	uint64_t seed;
	uint16_t day;
	uint64_t *file_of, *frame_of, *who_of; /* ids by number of the profile; 0 = not made yet */
	struct sp_bytes row;                   /* the one that is being made, without day and id */
	struct sp_intern *pairs;               /* struct pair */
	struct sums {
		int64_t samples, cost;
		uint64_t n_rows;
	} * sums, *windows; /* by pair, by window */
	size_t sums_capacity;
	uint64_t *library_of;        /* by file of the profile; 0 = not made yet */
	struct sp_intern *libraries; /* struct library */
	struct library_sums {
		int64_t samples, self, total;
		uint32_t row; /* the last that was added, from 1 */
	} * library_sums;
	size_t library_capacity;
	uint32_t samples, cost; /* which values these are */
};
struct pair {
	uint64_t who, stack, window;
};
struct library {
	uint64_t id, window;
};

/* --- rows that name something --- */
static const char *text_of(const struct encoder *e, uint32_t string)
{
	return sp_profile_string(e->p, string);
}

static void put_text(struct encoder *e, uint32_t string)
{
	sp_bytes_put_text(&e->row, text_of(e, string));
}

/* Never 0, which is none. The same content has the same id wherever it is made, so this may never change. */
static uint64_t row_finish(struct encoder *e, enum sp_fleet_table table)
{
	uint64_t id = sp_hash_bytes(e->row.bytes, e->row.n, e->seed + (uint64_t)table);
	struct sp_bytes *to = &e->into->tables[table];

	id += id == 0;
	if (sp_sent_add(e->sent, id ^ ((uint64_t)e->day << 48))) {
		sp_bytes_put_u16(to, e->day);
		sp_bytes_put_u64(to, id);
		sp_bytes_put(to, e->row.bytes, e->row.n);
		e->into->n_rows[table]++;
	}
	e->row.n = 0;
	return id;
}

static uint64_t file_id(struct encoder *e, uint32_t number)
{
	const struct sp_file *f = sp_profile_file(e->p, number);
	char build_id[2 * SP_BUILD_ID_MAX + 1];

	if (!number || e->file_of[number])
		return e->file_of[number];
	sp_hex(f->build_id, SP_MIN(f->build_id_len, (uint8_t)SP_BUILD_ID_MAX), build_id);
	sp_bytes_put_u8(&e->row, f->kind);
	sp_bytes_put_text(&e->row, build_id);
	put_text(e, f->build_id_text);
	put_text(e, f->name);
	put_text(e, f->path);
	put_text(e, f->package);
	put_text(e, f->package_version);
	sp_bytes_put_u8(&e->row, f->deleted);
	e->file_of[number] = row_finish(e, SP_FLEET_FILE);
	return e->file_of[number];
}

static uint64_t frame_id(struct encoder *e, uint32_t number)
{
	const struct sp_frame *f = sp_profile_frame(e->p, number);
	const struct sp_func *func = sp_profile_func(e->p, f->func);

	if (!number || e->frame_of[number])
		return e->frame_of[number];
	uint64_t file = file_id(e, f->file), of = file_id(e, func->file);
	sp_bytes_put_u64(&e->row, file);
	sp_bytes_put_u64(&e->row, of);
	put_text(e, func->name);
	put_text(e, func->linkage_name);
	put_text(e, func->source);
	sp_bytes_put_u32(&e->row, func->source_line);
	sp_bytes_put_u8(&e->row, func->is_range);
	sp_bytes_put_u64(&e->row, func->start);
	sp_bytes_put_u64(&e->row, func->size);
	sp_bytes_put_u64(&e->row, func->vaddr);
	sp_bytes_put_u64(&e->row, f->func ? 0 : f->offset);
	sp_bytes_put_u32(&e->row, f->flags & ((1U << SP_FRAME_VARIANT_SHIFT) - 1));
	e->frame_of[number] = row_finish(e, SP_FLEET_FRAME);
	return e->frame_of[number];
}

/* Frames first: a row is made at a time. */
static uint64_t stack_id(struct encoder *e, const struct sp_row *row)
{
	struct sp_stack user = sp_profile_stack(e->p, row->user), kernel = sp_profile_stack(e->p, row->kernel);

	for (uint32_t i = 0; i < kernel.n_frames; i++)
		frame_id(e, kernel.frames[i]);
	for (uint32_t i = 0; i < user.n_frames; i++)
		frame_id(e, user.frames[i]);
	sp_bytes_put_u16(&e->row, user.stack_class);
	sp_bytes_put_u16(&e->row, user.reason);
	sp_bytes_put_u16(&e->row, kernel.stack_class);
	sp_bytes_put_u16(&e->row, kernel.reason);
	sp_bytes_put_u32(&e->row, kernel.n_frames);
	sp_bytes_put_length(&e->row, (uint64_t)kernel.n_frames + user.n_frames);
	for (uint32_t i = 0; i < kernel.n_frames; i++)
		sp_bytes_put_u64(&e->row, e->frame_of[kernel.frames[i]]);
	for (uint32_t i = 0; i < user.n_frames; i++)
		sp_bytes_put_u64(&e->row, e->frame_of[user.frames[i]]);
	return row_finish(e, SP_FLEET_STACK);
}

static uint64_t who_id(struct encoder *e, uint32_t number)
{
	const struct sp_key *k = sp_profile_key(e->p, number);
	const struct sp_process *process = sp_profile_process(e->p, k->process);

	if (e->who_of[number])
		return e->who_of[number];
	uint64_t exe = file_id(e, process->exe);
	sp_bytes_put_u64(&e->row, exe);
	put_text(e, process->comm);
	put_text(e, k->comm);
	sp_bytes_put_u32(&e->row, process->uid);
	put_text(e, process->cgroup_path);
	put_text(e, process->container);
	put_text(e, process->root);
	e->who_of[number] = row_finish(e, SP_FLEET_WHO);
	return e->who_of[number];
}

/* --- libraries --- */
uint64_t sp_fleet_library(uint64_t seed, const char *name, const char *build_id, const char *path)
{
	const char *which = *build_id ? build_id : path;
	uint64_t id = sp_hash_bytes(which, strlen(which), sp_hash_bytes(name, strlen(name), seed));

	return id + (id == 0);
}

static uint64_t library_id(struct encoder *e, uint32_t number)
{
	const struct sp_file *f = sp_profile_file(e->p, number);
	char build_id[2 * SP_BUILD_ID_MAX + 1];

	if (!number || e->library_of[number])
		return e->library_of[number];
	sp_hex(f->build_id, SP_MIN(f->build_id_len, (uint8_t)SP_BUILD_ID_MAX), build_id);
	e->library_of[number] = sp_fleet_library(e->seed, text_of(e, f->name), build_id, text_of(e, f->path));
	return e->library_of[number];
}

/* A kernel module's functions are in the kernel's file, and their own, which counts. */
static uint64_t frame_library(struct encoder *e, uint32_t number)
{
	const struct sp_frame *f = sp_profile_frame(e->p, number);
	uint32_t of = sp_profile_func(e->p, f->func)->file;

	return library_id(e, of ? of : f->file);
}

static int library_add(struct encoder *e, const struct library *library, const struct sp_row *row, uint32_t number,
		       bool is_leaf)
{
	int64_t n = sp_intern_add_to(e->libraries, library, sizeof(*library), &e->library_sums, &e->library_capacity,
				     sizeof(*e->library_sums), NULL);
	struct library_sums *sums;

	if (n < 0)
		return (int)n;
	sums = &e->library_sums[n];
	if (is_leaf)
		sp_saturating_add(&sums->self, row->values[e->cost]);
	if (sums->row == number) /* a stack counts once */
		return 0;
	sums->row = number;
	sp_saturating_add(&sums->samples, row->values[e->samples]);
	sp_saturating_add(&sums->total, row->values[e->cost]);
	return 0;
}

static int libraries_add(struct encoder *e, const struct sp_row *row, uint32_t number, uint64_t window)
{
	const struct sp_stack stacks[] = {sp_profile_stack(e->p, row->kernel), sp_profile_stack(e->p, row->user)};
	struct library library = {.window = window};
	bool is_leaf = true;
	int r = 0;

	for (size_t k = 0; k < SP_COUNT(stacks); k++)
		for (uint32_t i = 0; r == 0 && i < stacks[k].n_frames; i++, is_leaf = false) {
			uint64_t id = frame_library(e, stacks[k].frames[i]);
			if (!id || id == library.id) /* the same as what it called */
				continue;
			library.id = id;
			r = library_add(e, &library, row, number, is_leaf);
		}
	return r;
}

static int rows_send_if_many(struct encoder *e)
{
	struct sp_fleet_rows *rows = e->into;

	return rows->send && sp_fleet_rows_bytes(rows) > rows->most ? rows->send(rows->arg) : 0;
}

static int put_libraries(struct encoder *e, const struct sp_fleet_windows *w)
{
	struct sp_bytes *to = &e->into->tables[SP_FLEET_LIBRARY];
	uint32_t n = sp_intern_count(e->libraries);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct library *library = sp_intern_get(e->libraries, i, NULL);
		const struct library_sums *sums = &e->library_sums[i];
		sp_bytes_put_u16(to, e->day);
		sp_bytes_put_u64(to, library->id);
		sp_bytes_put_u64(to, w->host);
		sp_bytes_put_u32(to, (uint32_t)(w->all[library->window].from_ns / 1000000000));
		sp_bytes_put_u32(to, w->run);
		sp_bytes_put_u64(to, (uint64_t)sums->samples);
		sp_bytes_put_u64(to, (uint64_t)sums->self);
		sp_bytes_put_u64(to, (uint64_t)sums->total);
		e->into->n_rows[SP_FLEET_LIBRARY]++;
		r = rows_send_if_many(e);
	}
	return r;
}

/* --- sums --- */
static int add_row(struct encoder *e, const struct sp_fleet_windows *w, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(e->p, number);
	uint32_t slice = sp_profile_key(e->p, row->key)->slice;
	const struct pair pair = {who_id(e, row->key), stack_id(e, row), slice ? slice - 1 : 0};
	int64_t n;

	if (pair.window >= w->n)
		return -EINVAL;
	n = sp_intern_add_to(e->pairs, &pair, sizeof(pair), &e->sums, &e->sums_capacity, sizeof(*e->sums), NULL);
	if (n < 0)
		return (int)n;
	sp_saturating_add(&e->sums[n].samples, row->values[e->samples]);
	sp_saturating_add(&e->sums[n].cost, row->values[e->cost]);
	return libraries_add(e, row, number + 1, pair.window);
}

static int put_samples(struct encoder *e, const struct sp_fleet_windows *w)
{
	struct sp_bytes *to = &e->into->tables[SP_FLEET_SAMPLE];
	uint32_t n = sp_intern_count(e->pairs);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct pair *pair = sp_intern_get(e->pairs, i, NULL);
		uint32_t ts = (uint32_t)(w->all[pair->window].from_ns / 1000000000);
		struct sums *window = &e->windows[pair->window];
		sp_bytes_put_u16(to, e->day);
		sp_bytes_put_u32(to, ts / HOUR_S * HOUR_S);
		sp_bytes_put_u64(to, pair->who);
		sp_bytes_put_u64(to, pair->stack);
		sp_bytes_put_u64(to, w->host);
		sp_bytes_put_u32(to, ts);
		sp_bytes_put_u32(to, w->run);
		sp_bytes_put_u64(to, (uint64_t)e->sums[i].samples);
		sp_bytes_put_u64(to, (uint64_t)e->sums[i].cost);
		sp_saturating_add(&window->samples, e->sums[i].samples);
		sp_saturating_add(&window->cost, e->sums[i].cost);
		window->n_rows++;
		e->into->n_rows[SP_FLEET_SAMPLE]++;
		r = rows_send_if_many(e);
	}
	return r;
}

static void put_window(struct encoder *e, const struct sp_fleet_windows *w, const struct sp_fleet_window *window,
		       const struct sums *sums)
{
	struct sp_bytes *to = &e->into->tables[SP_FLEET_WINDOW];
	const struct sp_value_type *type = sp_profile_value_type(e->p, e->cost);

	sp_bytes_put_u16(to, e->day);
	sp_bytes_put_u64(to, w->host);
	sp_bytes_put_text(to, w->source);
	sp_bytes_put_u32(to, (uint32_t)(window->from_ns / 1000000000));
	sp_bytes_put_u32(to, w->run);
	sp_bytes_put_text(to, w->name);
	sp_bytes_put_length(to, w->n_labels);
	for (size_t i = 0; i < w->n_labels; i++)
		sp_bytes_put_text(to, w->labels[i]);
	sp_bytes_put_u32(to, window->seconds);
	sp_bytes_put_u64(to, window->covered_ns);
	sp_bytes_put_u64(to, window->n_lost);
	sp_bytes_put_u64(to, window->n_left_out);
	sp_bytes_put_u64(to, sums->n_rows);
	sp_bytes_put_u64(to, (uint64_t)sums->samples);
	sp_bytes_put_u64(to, (uint64_t)sums->cost);
	sp_bytes_put_text(to, text_of(e, type->name));
	sp_bytes_put_text(to, text_of(e, type->unit));
	e->into->n_rows[SP_FLEET_WINDOW]++;
}

/* --- all --- */
static int values_find(struct encoder *e, const char *source)
{
	uint32_t n = sp_profile_n_value_types(e->p);
	int samples = sp_profile_find_value(e->p, "samples", NULL);

	if (samples < 0 || n > 2)
		return sp_fail_said(-EOPNOTSUPP, "%s has %u values; a fleet takes samples and one more", source, n);
	e->samples = (uint32_t)samples;
	e->cost = n == 2 ? !e->samples : e->samples;
	return 0;
}

static bool has_failed(const struct encoder *e)
{
	bool failed = e->row.failed;

	for (size_t i = 0; i < SP_FLEET_N_TABLES; i++)
		failed = failed || e->into->tables[i].failed;
	return failed;
}

static int encode_all(struct encoder *e, const struct sp_fleet_windows *w)
{
	int r = values_find(e, w->source);

	e->file_of = calloc(sp_profile_n_files(e->p), sizeof(*e->file_of));
	e->frame_of = calloc(sp_profile_n_frames(e->p), sizeof(*e->frame_of));
	e->who_of = calloc(sp_profile_n_keys(e->p), sizeof(*e->who_of));
	e->library_of = calloc(sp_profile_n_files(e->p), sizeof(*e->library_of));
	e->windows = calloc(w->n, sizeof(*e->windows));
	if (r == 0 && (!e->file_of || !e->frame_of || !e->who_of || !e->library_of || !e->windows))
		r = -ENOMEM;
	if (r == 0)
		r = sp_intern_new_bare(&e->pairs);
	if (r == 0)
		r = sp_intern_new_bare(&e->libraries);
	for (uint32_t i = 0; r == 0 && i < sp_profile_n_rows(e->p); i++) {
		r = add_row(e, w, i);
		if (r == 0)
			r = rows_send_if_many(e);
	}
	if (r == 0)
		r = put_samples(e, w);
	if (r == 0)
		r = put_libraries(e, w);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->all[i].seconds)
			put_window(e, w, &w->all[i], &e->windows[i]);
	return has_failed(e) ? -ENOMEM : 0;
}

int sp_fleet_encode(const struct sp_profile *p, const struct sp_fleet_windows *w, uint64_t seed, struct sp_sent *sent,
		    struct sp_fleet_rows *into)
{
	struct encoder e = {.p = p, .into = into, .sent = sent, .seed = seed};
	int r;

	e.day = (uint16_t)(w->all[0].from_ns / 1000000000 / DAY_S);
	r = encode_all(&e, w);
	sp_bytes_done(&e.row);
	sp_intern_free(e.pairs);
	sp_intern_free(e.libraries);
	free(e.library_sums);
	free(e.library_of);
	free(e.sums);
	free(e.windows);
	free(e.file_of);
	free(e.frame_of);
	free(e.who_of);
	return r;
}

void sp_fleet_rows_clear(struct sp_fleet_rows *rows)
{
	for (size_t i = 0; i < SP_FLEET_N_TABLES; i++)
		rows->tables[i].n = rows->n_rows[i] = 0;
}

void sp_fleet_rows_done(struct sp_fleet_rows *rows)
{
	for (size_t i = 0; i < SP_FLEET_N_TABLES; i++)
		sp_bytes_done(&rows->tables[i]);
}

size_t sp_fleet_rows_bytes(const struct sp_fleet_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < SP_FLEET_N_TABLES; i++)
		n += rows->tables[i].n;
	return n;
}

uint64_t sp_fleet_host(uint64_t seed, const char *name, const char *machine)
{
	uint64_t id = sp_hash_bytes(machine, strlen(machine), sp_hash_bytes(name, strlen(name), seed));

	return id + (id == 0);
}
