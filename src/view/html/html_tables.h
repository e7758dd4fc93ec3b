/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_tables.h: the libraries and entities that call trees are made of, for the data of the HTML page and of the API.
 *
 * An entity is the identity by which frames are merged: name, library, module and kind. Libraries are those of
 * profile/identity.h, so that sums of the page equal those of the tables. Both are numbered as they come. Owns its
 * memory, and borrows the profile. The only error is -ENOMEM. One thread.
 */
#ifndef SP_VIEW_HTML_HTML_TABLES_H
#define SP_VIEW_HTML_HTML_TABLES_H

#include "profile/identity.h"
#include "profile/profile.h"
#include "view/svg/svg_palette.h"

struct sp_intern;
struct sp_json;

/* The page's script uses the same numbers. */
enum sp_html_kind {
	SP_HTML_THREAD,
	SP_HTML_NOTE,
	SP_HTML_USER,
	SP_HTML_GUESSED,
	SP_HTML_KERNEL,
	SP_HTML_BESIDE = 7 /* drawn, but not the thread's own (profile/frames.h); the script has two more kinds below */
};

struct sp_html_entity {
	uint32_t name;    /* in names */
	uint32_t library; /* 0 = none */
	uint32_t module;  /* of the kernel: its name, in names; 0 = none */
	uint32_t kind;    /* enum sp_html_kind */
};

struct sp_html_tables {
	const struct sp_profile *p;
	bool by_process; /* JIT code of different processes has different names */
	struct sp_identity same;
	struct sp_svg_palette palette;
	struct sp_intern *names, *entities; /* name 0 is "" */
	uint32_t *library_of, *files;       /* by file, 0 = none yet; by library: its file, [0] is none */
	uint32_t n_libraries;               /* 0 included */
};

/* Colours are by what weighs most in the value. End it in any case. */
int sp_html_tables_init(const struct sp_profile *p, uint32_t value, const struct sp_totals *libraries,
			struct sp_html_tables *ret_tables);
void sp_html_tables_done(struct sp_html_tables *t);

/* The number of the file's library, which is added if it is new; 0 for file 0 and for words. */
uint32_t sp_html_add_library(struct sp_html_tables *t, uint32_t file);
/* The number of the entity, or -ENOMEM. file: an identity of a library; func: whose module is told, 0 = none. */
int64_t sp_html_add_entity(struct sp_html_tables *t, const char *name, uint32_t file, uint32_t func, uint32_t kind);
const struct sp_html_entity *sp_html_entity_at(const struct sp_html_tables *t, uint32_t number);

/* "libraries", "names", "entities", "tints" and "tint" of html_data.h; order: of the entities, by their new number;
 * NULL: as they are.
 */
void sp_html_tables_put(const struct sp_html_tables *t, const uint32_t *order, struct sp_json *j);

#endif
