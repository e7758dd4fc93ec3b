/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/encode.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/time.h"
#include "fleet/encode_priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR_S = 3600, DAY_S = 86400 };

struct pair {
	uint64_t who, stack;
};
struct sums {
	int64_t samples, cost;
	uint64_t n_rows;
};
struct library_sums {
	int64_t samples, self, total;
	uint64_t row, interval; /* the last row that was added; from 1: the interval that they are of */
};
struct sp_fleet_encoder {
	const struct sp_fleet_windows *w;
	struct sp_fleet_rows *into;
	struct sp_encode_names names;
	uint64_t dict_number, n_rows; /* 0: none yet; rows so far */
	uint32_t interval;
	struct sp_intern *pairs; /* struct pair, of the interval at hand */
	struct sums *sums, *windows;
	size_t sums_capacity;
	struct sp_encode_path path;
	uint32_t *library_of;        /* by file of the dictionary: number of `libraries`, from 1; 0 = not made yet */
	struct sp_intern *libraries; /* ids of all dictionaries */
	struct library_sums *library_sums;
	size_t library_capacity;
	uint32_t samples, cost; /* which values these are */
	char *cost_name, *cost_unit;
};

/* --- begin and end --- */
int sp_fleet_encoder_new(const struct sp_fleet_windows *w, uint64_t seed, struct sp_sent *sent,
			 struct sp_fleet_rows *into, struct sp_fleet_encoder **ret_encoder)
{
	struct sp_fleet_encoder *e = calloc(1, sizeof(*e));
	int r = e ? sp_intern_new_bare(&e->pairs) : -ENOMEM;

	if (r == 0)
		r = sp_intern_new_bare(&e->libraries);
	if (r == 0) {
		e->windows = calloc(w->n, sizeof(*e->windows));
		r = e->windows ? 0 : -ENOMEM;
	}
	if (r < 0) {
		sp_fleet_encoder_free(e);
		return r;
	}
	e->w = w;
	e->into = into;
	e->names.into = into;
	e->names.sent = sent;
	e->names.seed = seed;
	e->names.day = (uint16_t)(w->all[0].from_ns / SP_NS_PER_S / DAY_S);
	*ret_encoder = e;
	return 0;
}

void sp_fleet_encoder_free(struct sp_fleet_encoder *e)
{
	if (!e)
		return;
	sp_encode_names_done(&e->names);
	sp_intern_free(e->pairs);
	sp_intern_free(e->libraries);
	free(e->sums);
	free(e->windows);
	free(e->path.frames);
	free(e->library_of);
	free(e->library_sums);
	free(e->cost_name);
	free(e->cost_unit);
	free(e);
}

/* --- libraries --- */
uint64_t sp_fleet_library(uint64_t seed, const char *name, const char *build_id, const char *path)
{
	const char *which = *build_id ? build_id : path;
	uint64_t id = sp_hash_bytes(which, strlen(which), sp_hash_bytes(name, strlen(name), seed));

	return id + (id == 0);
}

/* Its number, from 1; 0: none; or a negative errno. */
static int64_t library_number(struct sp_fleet_encoder *e, uint32_t file)
{
	const struct sp_dict *d = e->names.dict;
	const struct sp_file *f = &d->files[file];
	char build_id[2 * SP_BUILD_ID_MAX + 1];
	uint64_t id;
	int64_t number;

	if (!file || e->library_of[file])
		return e->library_of[file];
	sp_hex(f->build_id, SP_MIN(f->build_id_len, (uint8_t)SP_BUILD_ID_MAX), build_id);
	id = sp_fleet_library(e->names.seed, sp_dict_string(d, f->name), build_id, sp_dict_string(d, f->path));
	number = sp_intern_add_to(e->libraries, &id, sizeof(id), &e->library_sums, &e->library_capacity,
				  sizeof(*e->library_sums), NULL);
	if (number < 0)
		return number;
	e->library_of[file] = (uint32_t)number + 1;
	return number + 1;
}

/* A kernel module's functions are in the kernel's file, and their own, which counts. */
static int64_t frame_library(struct sp_fleet_encoder *e, uint32_t frame)
{
	const struct sp_dict *d = e->names.dict;
	const struct sp_dict_frame *f = &d->frames[frame];
	uint32_t of = f->func < d->n_funcs ? d->funcs[f->func].file : 0, file = of ? of : f->file;

	return library_number(e, file < d->n_files ? file : 0);
}

static void library_add(struct sp_fleet_encoder *e, int64_t library, const struct sp_stored_row *row, bool is_leaf)
{
	struct library_sums *sums = &e->library_sums[library - 1];

	if (sums->interval != e->interval + 1)
		*sums = (struct library_sums){.interval = e->interval + 1};
	if (is_leaf)
		sp_saturating_add(&sums->self, row->values[e->cost]);
	if (sums->row == e->n_rows) /* a stack counts once */
		return;
	sums->row = e->n_rows;
	sp_saturating_add(&sums->samples, row->values[e->samples]);
	sp_saturating_add(&sums->total, row->values[e->cost]);
}

static int libraries_add(struct sp_fleet_encoder *e, const struct sp_stored_row *row)
{
	int64_t last = 0, library;

	for (uint32_t i = 0; i < e->path.n; i++) {
		library = frame_library(e, e->path.frames[i]);
		if (library < 0)
			return (int)library;
		if (library && library != last) /* not the same as what it called */
			library_add(e, library, row, i == 0);
		last = library ? library : last;
	}
	return 0;
}

/* --- rows of the interval at hand --- */
static uint32_t interval_s(const struct sp_fleet_encoder *e)
{
	return (uint32_t)(e->w->all[e->interval].from_ns / SP_NS_PER_S);
}

static int rows_send_if_many(struct sp_fleet_encoder *e)
{
	struct sp_fleet_rows *rows = e->into;

	return rows->send && sp_fleet_rows_bytes(rows) > rows->most ? rows->send(rows->arg) : 0;
}

static int put_libraries(struct sp_fleet_encoder *e)
{
	struct sp_bytes *to = &e->into->tables[SP_FLEET_LIBRARY];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < sp_intern_count(e->libraries); i++) {
		const struct library_sums *sums = &e->library_sums[i];
		const uint64_t *id = sp_intern_get(e->libraries, i, NULL);
		if (sums->interval != e->interval + 1)
			continue;
		sp_bytes_put_u16(to, e->names.day);
		sp_bytes_put_u64(to, *id);
		sp_bytes_put_u64(to, e->w->host);
		sp_bytes_put_u32(to, interval_s(e));
		sp_bytes_put_u32(to, e->w->run);
		sp_bytes_put_u64(to, (uint64_t)sums->samples);
		sp_bytes_put_u64(to, (uint64_t)sums->self);
		sp_bytes_put_u64(to, (uint64_t)sums->total);
		e->into->n_rows[SP_FLEET_LIBRARY]++;
		r = rows_send_if_many(e);
	}
	return r;
}

static int put_samples(struct sp_fleet_encoder *e)
{
	struct sp_bytes *to = &e->into->tables[SP_FLEET_SAMPLE];
	struct sums *window = &e->windows[e->interval];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < sp_intern_count(e->pairs); i++) {
		const struct pair *pair = sp_intern_get(e->pairs, i, NULL);
		sp_bytes_put_u16(to, e->names.day);
		sp_bytes_put_u32(to, interval_s(e) / HOUR_S * HOUR_S);
		sp_bytes_put_u64(to, pair->who);
		sp_bytes_put_u64(to, pair->stack);
		sp_bytes_put_u64(to, e->w->host);
		sp_bytes_put_u32(to, interval_s(e));
		sp_bytes_put_u32(to, e->w->run);
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

/* Puts the rows of what was added up. An interval that is gone on with has more of them, which count as well. */
static int interval_finish(struct sp_fleet_encoder *e)
{
	int r = put_samples(e);

	if (r == 0)
		r = put_libraries(e);
	for (uint32_t i = 0; i < sp_intern_count(e->libraries); i++)
		e->library_sums[i].interval = 0;
	sp_intern_free(e->pairs);
	e->pairs = NULL;
	return r == 0 ? sp_intern_new_bare(&e->pairs) : r;
}

/* --- what is read --- */
static bool is_name(const char *name, const char *wanted)
{
	return !strcmp(name, wanted);
}

static int types_take(void *encoder, const struct sp_stored_type *types, uint32_t n)
{
	struct sp_fleet_encoder *e = encoder;
	uint32_t samples = 0;

	while (samples < n && !is_name(types[samples].name, "samples"))
		samples++;
	if (samples == n || n > 2)
		return sp_fail_said(-EOPNOTSUPP, "%s has %u values; a fleet takes samples and one more", e->w->source,
				    n);
	e->samples = samples;
	e->cost = n == 2 ? !samples : samples;
	free(e->cost_name);
	free(e->cost_unit);
	e->cost_name = strdup(types[e->cost].name);
	e->cost_unit = strdup(types[e->cost].unit);
	return e->cost_name && e->cost_unit ? 0 : -ENOMEM;
}

static int window_take(void *encoder, const struct sp_stored_window *w)
{
	struct sp_fleet_encoder *e = encoder;
	int r = 0;

	if (w->interval >= e->w->n)
		return -EINVAL;
	if (w->interval != e->interval)
		r = interval_finish(e);
	e->interval = w->interval;
	if (r < 0 || w->dict_number == e->dict_number)
		return r;
	e->dict_number = w->dict_number;
	free(e->library_of);
	e->library_of = calloc((size_t)w->dict->n_files + 1, sizeof(*e->library_of));
	return e->library_of ? sp_encode_names_begin(&e->names, w) : -ENOMEM;
}

static int row_take(void *encoder, const struct sp_stored_row *row)
{
	struct sp_fleet_encoder *e = encoder;
	int r = sp_encode_path_find(e->names.dict, row->node, &e->path);
	struct pair pair;
	bool is_new;
	int64_t n;

	if (r < 0)
		return r;
	pair.who = sp_encode_who(&e->names, row->who);
	pair.stack = sp_encode_stack(&e->names, row->end, &e->path);
	if (e->names.error)
		return e->names.error;
	n = sp_intern_add_to(e->pairs, &pair, sizeof(pair), &e->sums, &e->sums_capacity, sizeof(*e->sums), &is_new);
	if (n < 0)
		return (int)n;
	if (is_new) /* of the interval before, there were sums of another pair */
		e->sums[n] = (struct sums){0};
	sp_saturating_add(&e->sums[n].samples, row->values[e->samples]);
	sp_saturating_add(&e->sums[n].cost, row->values[e->cost]);
	e->n_rows++;
	r = libraries_add(e, row);
	return r == 0 ? rows_send_if_many(e) : r;
}

struct sp_stored_reader sp_fleet_encoder_reader(struct sp_fleet_encoder *e)
{
	return (struct sp_stored_reader){.types = types_take, .window = window_take, .row = row_take, .arg = e};
}

/* --- the end --- */
static void put_window(struct sp_fleet_encoder *e, const struct sp_fleet_window *window, const struct sums *sums)
{
	struct sp_bytes *to = &e->into->tables[SP_FLEET_WINDOW];

	sp_bytes_put_u16(to, e->names.day);
	sp_bytes_put_u64(to, e->w->host);
	sp_bytes_put_text(to, e->w->source);
	sp_bytes_put_u32(to, (uint32_t)(window->from_ns / SP_NS_PER_S));
	sp_bytes_put_u32(to, e->w->run);
	sp_bytes_put_text(to, e->w->name);
	sp_bytes_put_length(to, e->w->n_labels);
	for (size_t i = 0; i < e->w->n_labels; i++)
		sp_bytes_put_text(to, e->w->labels[i]);
	sp_bytes_put_u32(to, window->seconds);
	sp_bytes_put_u64(to, window->covered_ns);
	sp_bytes_put_u64(to, window->n_lost);
	sp_bytes_put_u64(to, window->n_left_out);
	sp_bytes_put_u64(to, sums->n_rows);
	sp_bytes_put_u64(to, (uint64_t)sums->samples);
	sp_bytes_put_u64(to, (uint64_t)sums->cost);
	sp_bytes_put_text(to, e->cost_name);
	sp_bytes_put_text(to, e->cost_unit);
	e->into->n_rows[SP_FLEET_WINDOW]++;
}

static bool has_failed(const struct sp_fleet_encoder *e)
{
	for (size_t i = 0; i < SP_FLEET_N_TABLES; i++)
		if (e->into->tables[i].failed)
			return true;
	return false;
}

int sp_fleet_encoder_end(struct sp_fleet_encoder *e, uint64_t *ret_n_samples)
{
	int64_t n_samples = 0;
	int r = e->cost_name ? interval_finish(e) : -EINVAL;

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < e->w->n; i++) {
		if (e->w->all[i].seconds)
			put_window(e, &e->w->all[i], &e->windows[i]);
		sp_saturating_add(&n_samples, e->windows[i].samples);
	}
	*ret_n_samples = n_samples > 0 ? (uint64_t)n_samples : 0;
	return has_failed(e) ? -ENOMEM : 0;
}

void sp_fleet_rows_clear(struct sp_fleet_rows *rows, enum sp_fleet_table table)
{
	rows->tables[table].n = rows->n_rows[table] = 0;
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
