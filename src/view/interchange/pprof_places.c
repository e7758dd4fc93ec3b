/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof_places.c: mappings, locations with their lines, and functions of a pprof file. */
#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/proto.h"
#include "view/interchange/pprof_writer.h"
#include "view/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define PAGE 0x1000ULL
#define FIRST_START 0x400000ULL
#define MAX_EXTENT (1ULL << 48) /* frames further out in a file (in foreign profiles) get no address range */

/* --- mappings --- */
static void weigh_frame(struct sp_pprof *w, uint32_t frame, uint32_t row)
{
	const struct sp_frame *f = sp_profile_frame(w->p, frame);
	const struct sp_func *func = sp_profile_func(w->p, f->func);
	struct sp_pprof_mapping *m = &w->mappings[f->file];
	int64_t value = sp_profile_row(w->p, row)->values[w->o->value];

	if (m->seen != row + 1)
		m->weight += value > 0 ? (uint64_t)value : 0;
	m->seen = row + 1;
	m->has_ranges |= !f->func || func->is_range;
	m->lacks_files |= !func->source;
	m->lacks_lines |= !f->line;
	m->has_inlined |= (f->flags & SP_FRAMEF_INLINED) != 0;
	m->extent = SP_MAX(m->extent, f->offset + 1);
}

static void weigh_rows(struct sp_pprof *w)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(w->p); i++) {
		const struct sp_row *row = sp_profile_row(w->p, i);
		struct sp_stack kernel = sp_profile_stack(w->p, row->kernel), user = sp_profile_stack(w->p, row->user);

		for (uint32_t k = 0; k < kernel.n_frames; k++)
			weigh_frame(w, kernel.frames[k], i);
		for (uint32_t k = 0; k < user.n_frames; k++)
			weigh_frame(w, user.frames[k], i);
	}
}

/* The executable, if all rows are of one process; else 0. */
static uint32_t only_executable(const struct sp_profile *p)
{
	uint32_t process = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		uint32_t of = sp_profile_key(p, sp_profile_row(p, i)->key)->process;

		if (process && of != process)
			return 0;
		process = of;
	}
	return process ? sp_profile_process(p, process)->exe : 0;
}

struct mapping_order {
	const struct sp_pprof_mapping *mappings;
	uint32_t first;
};

static int compare_mappings(const void *x, const void *y, void *arg)
{
	const struct mapping_order *o = arg;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	uint64_t wa = o->mappings[a].weight, wb = o->mappings[b].weight;

	if (a == o->first || b == o->first)
		return a == b ? 0 : a == o->first ? -1 : 1;
	if (wa != wb)
		return wa < wb ? 1 : -1;
	return (a > b) - (a < b);
}

/* Numbers the mappings, and places them one behind the other, with a page between. */
static void place_mappings(struct sp_pprof *w)
{
	struct mapping_order by = {w->mappings, only_executable(w->p)};
	uint64_t start = FIRST_START;

	for (uint32_t file = 1; file < sp_profile_n_files(w->p); file++)
		if (w->mappings[file].seen || sp_profile_file(w->p, file)->kind != SP_FILE_KERNEL)
			w->order[w->n_mappings++] = file;
	qsort_r(w->order, w->n_mappings, sizeof(*w->order), compare_mappings, &by);
	for (uint32_t i = 0; i < w->n_mappings; i++) {
		struct sp_pprof_mapping *m = &w->mappings[w->order[i]];

		m->id = i + 1;
		m->file = w->order[i];
		m->kernel = sp_profile_file(w->p, m->file)->kind == SP_FILE_KERNEL;
		m->extent = (m->extent + PAGE - 1) & ~(PAGE - 1);
		if (m->kernel || !m->extent || m->extent > MAX_EXTENT)
			continue;
		m->start = start;
		start += m->extent + PAGE;
	}
}

static uint32_t path_string(struct sp_pprof *w, uint32_t file)
{
	char *path SP_FREE = sp_view_path(w->p, file);

	if (!path)
		w->error = -ENOMEM;
	return path ? sp_pprof_text(w, path) : 0;
}

/* Readers merge mappings of equal name and size, so anonymous memory of two processes gets two names. */
uint32_t sp_pprof_mapping_name(struct sp_pprof *w, uint32_t file)
{
	const struct sp_file *f = sp_profile_file(w->p, file);
	char anon[32];

	if (f->kind == SP_FILE_KERNEL)
		return sp_pprof_text(w, "[kernel.kallsyms]");
	if (f->kind != SP_FILE_ANON)
		return path_string(w, file);
	snprintf(anon, sizeof(anon), "[anon:%" PRIu32 "]", sp_profile_process(w->p, f->process)->pid);
	return sp_pprof_text(w, anon);
}

void sp_pprof_build_id(const struct sp_file *f, char hex[2 * SP_BUILD_ID_MAX + 1])
{
	sp_hex(f->build_id, SP_MIN(f->build_id_len, SP_BUILD_ID_MAX), hex);
}

static void put_mapping(struct sp_pprof *w, const struct sp_pprof_mapping *m)
{
	const struct sp_file *f = sp_profile_file(w->p, m->file);
	char hex[2 * SP_BUILD_ID_MAX + 1];
	uint32_t build_id;

	sp_pprof_build_id(f, hex);
	build_id = f->build_id_text ? sp_pprof_string(w, f->build_id_text) : sp_pprof_text(w, hex);
	sp_pbuf_number(&w->message, MAPPING_ID, m->id);
	sp_pbuf_number(&w->message, MAPPING_START, m->start);
	sp_pbuf_number(&w->message, MAPPING_LIMIT, m->start ? m->start + m->extent : 0);
	sp_pbuf_number(&w->message, MAPPING_FILENAME, sp_pprof_mapping_name(w, m->file));
	sp_pbuf_number(&w->message, MAPPING_BUILD_ID, build_id);
	sp_pbuf_number(&w->message, MAPPING_HAS_FUNCTIONS, m->seen && !m->has_ranges);
	sp_pbuf_number(&w->message, MAPPING_HAS_FILENAMES, m->seen && !m->lacks_files);
	sp_pbuf_number(&w->message, MAPPING_HAS_LINES, m->seen && !m->lacks_lines);
	sp_pbuf_number(&w->message, MAPPING_HAS_INLINED, m->has_inlined);
	sp_pprof_emit(w, PROFILE_MAPPING);
}

/* --- locations and functions --- */
static size_t location_bytes(uint32_t n_lines)
{
	return sizeof(struct sp_pprof_location) + n_lines * sizeof(struct sp_pprof_line);
}

/* The current location, still without lines; NULL: out of memory. */
static struct sp_pprof_location *begin_location(struct sp_pprof *w, uint32_t n_lines)
{
	int r = sp_grow(&w->location, &w->location_capacity, location_bytes(n_lines), 1);

	if (r < 0) {
		w->error = r;
		return NULL;
	}
	*w->location = (struct sp_pprof_location){0};
	return w->location;
}

static uint32_t add_location(struct sp_pprof *w)
{
	return sp_pprof_intern(w, w->locations, w->location, location_bytes(w->location->n_lines)) + 1;
}

/* A location for a pseudo-frame, in no mapping. */
uint32_t sp_pprof_said(struct sp_pprof *w, const char *words)
{
	uint32_t name = sp_pprof_text(w, words);
	struct sp_pprof_function f = {.name = name, .system_name = name};
	struct sp_pprof_location *l = begin_location(w, 1);

	if (!l)
		return 0;
	l->lines[l->n_lines++] =
	    (struct sp_pprof_line){.function = sp_pprof_intern(w, w->functions, &f, sizeof(f)) + 1};
	return add_location(w);
}

static uint32_t pprof_places_function_of(struct sp_pprof *w, uint32_t frame)
{
	const struct sp_func *func = sp_profile_func(w->p, sp_profile_frame(w->p, frame)->func);
	struct sp_pprof_function f = {.name = sp_pprof_string(w, func->name), .start_line = func->source_line};

	f.system_name = func->linkage_name ? sp_pprof_string(w, func->linkage_name) : f.name;
	f.filename = func->source ? sp_pprof_string(w, func->source) : path_string(w, sp_view_library(w->p, frame));
	return sp_pprof_intern(w, w->functions, &f, sizeof(f)) + 1;
}

static void pprof_places_add_line(struct sp_pprof *w, struct sp_pprof_location *l, uint32_t frame)
{
	const struct sp_frame *f = sp_profile_frame(w->p, frame);

	if (f->func)
		l->lines[l->n_lines++] = (struct sp_pprof_line){pprof_places_function_of(w, frame), f->line};
}

/* The location of n frames, all but the last of which are inlined. Offset 0 if no place is known. */
uint32_t sp_pprof_location(struct sp_pprof *w, const uint32_t *frames, uint32_t n)
{
	uint32_t last = frames[n - 1];
	const struct sp_frame *f = sp_profile_frame(w->p, last);
	const struct sp_pprof_mapping *m = &w->mappings[f->file];
	struct sp_pprof_location *l;
	uint32_t number;

	if (n == 1 && w->location_of[last])
		return w->location_of[last];
	l = begin_location(w, n);
	if (!l)
		return 0;
	l->mapping = m->id;
	l->address = m->kernel || !f->offset ? 0 : m->start + f->offset;
	for (uint32_t i = 0; i < n; i++)
		pprof_places_add_line(w, l, frames[i]);
	number = add_location(w);
	if (n == 1)
		w->location_of[last] = number;
	return number;
}

uint32_t sp_pprof_n_at_place(const struct sp_profile *p, const uint32_t *frames, uint32_t n)
{
	uint32_t i = 0;

	for (; i + 1 < n; i++) {
		const struct sp_frame *f = sp_profile_frame(p, frames[i]), *next = sp_profile_frame(p, frames[i + 1]);

		if (!(f->flags & SP_FRAMEF_INLINED) || f->offset != next->offset || f->file != next->file)
			break;
	}
	return i + 1;
}

static void put_location(struct sp_pprof *w, uint32_t number, const struct sp_pprof_location *l)
{
	sp_pbuf_number(&w->message, LOCATION_ID, number);
	sp_pbuf_number(&w->message, LOCATION_MAPPING, l->mapping);
	sp_pbuf_number(&w->message, LOCATION_ADDRESS, l->address);
	for (uint32_t i = 0; i < l->n_lines; i++) {
		sp_pbuf_number(&w->part, LINE_FUNCTION, l->lines[i].function);
		sp_pbuf_number(&w->part, LINE_LINE, l->lines[i].line);
		sp_pbuf_message(&w->message, LOCATION_LINE, &w->part);
	}
	sp_pprof_emit(w, PROFILE_LOCATION);
}

static void put_locations(struct sp_pprof *w)
{
	for (uint32_t i = 0; i < sp_intern_count(w->locations) && !w->error; i++)
		put_location(w, i + 1, sp_intern_get(w->locations, i, NULL));
}

static void put_functions(struct sp_pprof *w)
{
	for (uint32_t i = 0; i < sp_intern_count(w->functions) && !w->error; i++) {
		const struct sp_pprof_function *f = sp_intern_get(w->functions, i, NULL);

		sp_pbuf_number(&w->message, FUNCTION_ID, i + 1);
		sp_pbuf_number(&w->message, FUNCTION_NAME, f->name);
		sp_pbuf_number(&w->message, FUNCTION_SYSTEM_NAME, f->system_name);
		sp_pbuf_number(&w->message, FUNCTION_FILENAME, f->filename);
		sp_pbuf_number(&w->message, FUNCTION_START_LINE, f->start_line);
		sp_pprof_emit(w, PROFILE_FUNCTION);
	}
}

/* --- in all --- */
void sp_pprof_place(struct sp_pprof *w)
{
	weigh_rows(w);
	place_mappings(w);
}

void sp_pprof_put_places(struct sp_pprof *w)
{
	for (uint32_t i = 0; i < w->n_mappings; i++)
		put_mapping(w, &w->mappings[w->order[i]]);
	put_locations(w);
	put_functions(w);
}
