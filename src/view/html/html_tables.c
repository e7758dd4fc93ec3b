/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/html/html_tables.h"

#include "base/intern.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sp_html_tables_init(const struct sp_profile *p, uint32_t value, const struct sp_totals *libraries,
			struct sp_html_tables *ret_tables)
{
	struct sp_html_tables *t = ret_tables;

	*t = (struct sp_html_tables){.p = p, .n_libraries = 1};
	t->library_of = calloc(sp_profile_n_files(p) + 1U, sizeof(*t->library_of));
	t->files = calloc(sp_profile_n_files(p) + 1U, sizeof(*t->files));
	if (!t->library_of || !t->files || sp_intern_new(&t->names) < 0 || sp_intern_new(&t->entities) < 0 ||
	    sp_intern_add(t->names, "", 1) < 0)
		return -ENOMEM;
	int r = sp_identity_new(p, &t->same);
	return r < 0 ? r : sp_svg_palette_of(p, value, libraries, &t->palette);
}

void sp_html_tables_done(struct sp_html_tables *t)
{
	sp_identity_done(&t->same);
	sp_intern_free(t->names);
	sp_intern_free(t->entities);
	free(t->library_of);
	free(t->files);
}

uint32_t sp_html_add_library(struct sp_html_tables *t, uint32_t file)
{
	if (file == 0 || t->library_of[file] != 0)
		return t->library_of[file];
	if (sp_profile_file(t->p, file)->kind == SP_FILE_WORDS)
		return 0;
	t->files[t->n_libraries] = file;
	return t->library_of[file] = t->n_libraries++;
}

/* Of frames in a module of the kernel's: the module. */
static const char *module_of(const struct sp_html_tables *t, uint32_t file, uint32_t func)
{
	uint32_t of = sp_profile_func(t->p, func)->file;

	if (!func || !of || !file || file != t->same.kernel || t->same.files[of] == file)
		return "";
	return sp_profile_string(t->p, sp_profile_file(t->p, of)->name);
}

static int64_t add_name(struct sp_html_tables *t, const char *name)
{
	return sp_intern_add(t->names, name, strlen(name) + 1);
}

int64_t sp_html_add_entity(struct sp_html_tables *t, const char *name, uint32_t file, uint32_t func, uint32_t kind)
{
	int64_t module = add_name(t, module_of(t, file, func)), number = add_name(t, name);
	struct sp_html_entity e = {(uint32_t)number, sp_html_add_library(t, file), (uint32_t)module, kind};

	return number < 0 || module < 0 ? -ENOMEM : sp_intern_add(t->entities, &e, sizeof(e));
}

const struct sp_html_entity *sp_html_entity_at(const struct sp_html_tables *t, uint32_t number)
{
	return sp_intern_get(t->entities, number, NULL);
}

/* --- JSON --- */
static void put_library(const struct sp_html_tables *t, uint32_t number, struct sp_json *j)
{
	const struct sp_file *file = sp_profile_file(t->p, number);
	bool is_kernel = file->kind == SP_FILE_KERNEL;
	const char *name = sp_library_name(t->p, number);
	char room[32];

	if (t->by_process && file->kind == SP_FILE_ANON && file->process) {
		snprintf(room, sizeof(room), "[anon:%" PRIu32 "]", sp_profile_process(t->p, file->process)->pid);
		name = room;
	}
	sp_json_array(j, NULL);
	sp_json_string(j, NULL, name);
	sp_json_string(j, NULL, sp_profile_string(t->p, file->path));
	sp_json_hex(j, NULL, file->build_id, file->build_id_len);
	sp_json_string(j, NULL, sp_profile_string(t->p, file->package));
	sp_json_int(j, NULL, file->kind);
	sp_json_string(j, NULL, sp_profile_string(t->p, file->note));
	sp_json_int(j, NULL, file->deleted);
	sp_json_uint(j, NULL, sp_svg_palette_colour(&t->palette, name, is_kernel, false));
	sp_json_uint(j, NULL, sp_svg_palette_colour(&t->palette, name, is_kernel, true));
	sp_json_end(j);
}

static void put_entity(const struct sp_html_entity *e, struct sp_json *j)
{
	sp_json_uint(j, NULL, e->name);
	sp_json_uint(j, NULL, e->library);
	sp_json_uint(j, NULL, e->module);
	sp_json_uint(j, NULL, e->kind);
}

static int tint_of(const struct sp_html_tables *t, const struct sp_html_entity *e)
{
	const char *library = e->library ? sp_library_name(t->p, t->files[e->library]) : "";

	return e->kind == SP_HTML_USER || e->kind == SP_HTML_GUESSED
		   ? sp_svg_palette_tint(&t->palette, library, sp_intern_get(t->names, e->name, NULL))
		   : -1;
}

/* Where functions have colours of their own: "tints", light and dark, and which one each entity has. */
static void put_tints(const struct sp_html_tables *t, const uint32_t *order, struct sp_json *j)
{
	if (!t->palette.n_packages)
		return;
	sp_json_array(sp_json_line(j), "tints");
	for (uint32_t i = 0; i < SP_SVG_TINTS; i++)
		sp_json_format(j, NULL, "[%u,%u]", sp_svg_palette_tint_colour(&t->palette, i, false),
			       sp_svg_palette_tint_colour(&t->palette, i, true));
	sp_json_end(j);
	sp_json_array(sp_json_line(j), "tint");
	for (uint32_t i = 0; i < sp_intern_count(t->entities); i++)
		sp_json_int(j, NULL, tint_of(t, sp_html_entity_at(t, order ? order[i] : i)));
	sp_json_end(j);
}

void sp_html_tables_put(const struct sp_html_tables *t, const uint32_t *order, struct sp_json *j)
{
	sp_json_array(j, "libraries");
	sp_json_lines(j);
	sp_json_int(j, NULL, 0);
	for (uint32_t i = 1; i < t->n_libraries; i++)
		put_library(t, t->files[i], j);
	sp_json_end(j);
	sp_json_array(sp_json_line(j), "names");
	sp_json_lines(j);
	for (uint32_t i = 0; i < sp_intern_count(t->names); i++)
		sp_json_string(j, NULL, sp_intern_get(t->names, i, NULL));
	sp_json_end(j);
	sp_json_array(sp_json_line(j), "entities");
	for (uint32_t i = 0; i < sp_intern_count(t->entities); i++)
		put_entity(sp_html_entity_at(t, order ? order[i] : i), j);
	sp_json_end(j);
	put_tints(t, order, j);
}
