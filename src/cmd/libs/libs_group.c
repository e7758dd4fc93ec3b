/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libs_group.c: groups mapped files into libraries, lists their users, and selects and orders them.
 *
 * A library is identified by its build id, whatever its files' paths; without one by its inode, and if that is not
 * known, by what /proc says.
 */
#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/search.h"
#include "cmd/libs/libs.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_ID_DIGITS = 4 };

const char *const sp_libs_states[] = {[SP_LIBS_CURRENT] = "current",
				      [SP_LIBS_REPLACED] = "replaced",
				      [SP_LIBS_MOVED] = "moved",
				      [SP_LIBS_DELETED] = "deleted"};

static const char *path_of(const struct sp_libs *l, size_t file)
{
	return l->files[file].path ? l->files[file].path : l->mapped->files[file].path;
}

const char *sp_libs_file_name(const struct sp_libs *l, size_t file)
{
	return l->files[file].soname ? l->files[file].soname : sp_path_last(path_of(l, file));
}

/* --- libraries --- */
struct library_key {
	uint8_t kind, build_id[32];
	uint64_t dev, ino, ctime_ns;
};

static struct library_key key_of(const struct sp_libs *l, size_t i)
{
	const struct sp_libs_file *f = &l->files[i];
	struct library_key key;

	memset(&key, 0, sizeof(key)); /* the bytes between members too */
	if (f->build_id_len) {
		key.kind = f->build_id_len;
		memcpy(key.build_id, f->build_id, f->build_id_len);
	} else if (f->is_open) {
		key.kind = 0xfe;
		key.dev = f->dev;
		key.ino = f->ino;
		key.ctime_ns = f->ctime_ns;
	} else {
		key.kind = 0xff;
		key.dev = l->mapped->files[i].dev;
		key.ino = l->mapped->files[i].ino;
	}
	return key;
}

/* 32-bit ones are not parsed, and so known by their name alone. */
static bool is_library(const struct sp_libs *l, size_t i)
{
	return l->files[i].is_elf || strstr(sp_path_last(path_of(l, i)), ".so");
}

/* The file that gives a library its name: one that is still there, ours before a container's, the one with most users.
 */
static bool stands_better(const struct sp_libs *l, size_t i, size_t than)
{
	const struct sp_libs_file *x = &l->files[i], *y = &l->files[than];

	if (x->state != y->state)
		return x->state < y->state;
	if (x->is_ours != y->is_ours)
		return x->is_ours;
	return l->mapped->files[i].n_uses > l->mapped->files[than].n_uses;
}

static int take_file(struct sp_libs *l, struct sp_intern *keys, size_t i)
{
	struct library_key key = key_of(l, i);
	struct sp_libs_file *f = &l->files[i];
	int64_t number =
	    sp_intern_add_to(keys, &key, sizeof(key), &l->libraries, &l->library_capacity, sizeof(*l->libraries), NULL);
	struct sp_libs_library *lib;

	if (number < 0)
		return (int)number;
	lib = &l->libraries[number];
	l->n_libraries = SP_MAX(l->n_libraries, (size_t)number + 1);
	f->library = (uint32_t)number;
	if (!lib->name || stands_better(l, i, lib->file)) {
		lib->file = i;
		lib->path = path_of(l, i);
		lib->name = sp_libs_file_name(l, i);
		lib->build_id_len = f->build_id_len;
		memcpy(lib->build_id, f->build_id, sizeof(lib->build_id));
		lib->package = lib->version = "";
	}
	return 0;
}

static int make_libraries(struct sp_libs *l)
{
	struct sp_intern *keys;
	int r = sp_intern_new(&keys);

	for (size_t i = 0; r >= 0 && i < l->mapped->n_files; i++) {
		l->files[i].library = UINT32_MAX;
		if (l->files[i].is_gone)
			continue;
		if (is_library(l, i))
			r = take_file(l, keys, i);
		else
			l->n_not_elf++;
	}
	sp_intern_free(keys);
	return r;
}

/* --- uses --- */
static int compare_uses(const void *a, const void *b)
{
	const struct sp_libs_use *x = a, *y = b;

	return SP_RISING(x->library, y->library) ?: SP_RISING(x->process, y->process) ?: SP_FALLING(x->state, y->state);
}

/* One use for a library and a process, which may have several of its files: that of the worst. */
static void unite_uses(struct sp_libs *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_uses; i++) {
		struct sp_libs_use *u = &l->uses[i];
		struct sp_libs_library *lib = &l->libraries[u->library];
		if (n && l->uses[n - 1].library == u->library && l->uses[n - 1].process == u->process)
			continue;
		if (!lib->n_uses++)
			lib->first_use = (uint32_t)n;
		lib->n_stale += u->state != SP_LIBS_CURRENT;
		l->uses[n++] = *u;
	}
	l->n_uses = n;
}

int sp_libs_group(struct sp_libs *l)
{
	const struct sp_mapped *m = l->mapped;
	int r = make_libraries(l);

	l->uses = calloc(m->n_uses + 1, sizeof(*l->uses));
	if (r < 0 || !l->uses)
		return r < 0 ? r : -ENOMEM;
	for (size_t i = 0; i < m->n_uses; i++) {
		const struct sp_libs_file *f = &l->files[m->uses[i].file];
		if (f->library == UINT32_MAX)
			continue;
		l->uses[l->n_uses++] = (struct sp_libs_use){
		    .library = f->library, .process = m->uses[i].process, .file = m->uses[i].file, .state = f->state};
	}
	qsort(l->uses, l->n_uses, sizeof(*l->uses), compare_uses);
	unite_uses(l);
	return 0;
}

/* --- what is wanted --- */
static bool means_name(const char *word, const char *name)
{
	size_t len = strlen(word);

	return strcmp(word, name) == 0 || fnmatch(word, name, 0) == 0 ||
	       (strncmp(word, name, len) == 0 && strncmp(name + len, ".so", 3) == 0);
}

static bool means_path(const char *word, const char *path)
{
	return means_name(word, path) || means_name(word, sp_path_last(path));
}

static bool begins_build_id(const char *word, const struct sp_libs_library *lib)
{
	size_t len = strlen(word);
	char hex[2 * sizeof(lib->build_id) + 1];

	sp_hex(lib->build_id, lib->build_id_len, hex);
	return len >= MIN_ID_DIGITS && strncasecmp(word, hex, len) == 0;
}

/* Whether the library is what the word means: name, path, glob of them, or the beginning of its build id. */
static bool library_matches(const struct sp_libs *l, const struct sp_libs_library *lib, const char *word)
{
	if (means_name(word, lib->name) || means_path(word, lib->path) || begins_build_id(word, lib))
		return true;
	for (size_t i = 0; i < lib->n_uses; i++)
		if (means_path(word, path_of(l, l->uses[lib->first_use + i].file)))
			return true;
	return false;
}

bool sp_libs_shows_uses(const struct sp_libs_args *a)
{
	return a->globs.n || a->stale;
}

bool sp_libs_shows_use(const struct sp_libs *l, const struct sp_libs_use *u)
{
	return !l->args->stale || u->state != SP_LIBS_CURRENT;
}

static bool libs_group_is_wanted(const struct sp_libs *l, const struct sp_libs_library *lib)
{
	const struct sp_words *globs = &l->args->globs;

	if (l->args->stale && !lib->n_stale)
		return false;
	for (size_t i = 0; i < globs->n; i++)
		if (library_matches(l, lib, globs->words[i]))
			return true;
	return !globs->n;
}

/* --- order --- */
static int compare_by(enum sp_libs_sort by, const struct sp_libs_library *x, const struct sp_libs_library *y)
{
	switch (by) {
	case SP_LIBS_BY_COST:
		return SP_FALLING(x->self, y->self);
	case SP_LIBS_BY_TOTAL:
		return SP_FALLING(x->total, y->total);
	case SP_LIBS_BY_PROCESSES:
		return SP_FALLING(x->n_uses, y->n_uses);
	case SP_LIBS_BY_STALE:
		return SP_FALLING(x->n_stale, y->n_stale);
	case SP_LIBS_BY_NAME:
		break;
	}
	return strcmp(x->name, y->name);
}

static int compare_libraries(const void *a, const void *b, void *arg)
{
	static const enum sp_libs_sort then[] = {SP_LIBS_BY_COST, SP_LIBS_BY_TOTAL, SP_LIBS_BY_PROCESSES,
						 SP_LIBS_BY_NAME};
	const struct sp_libs *l = arg;
	const struct sp_libs_library *x = &l->libraries[*(const uint32_t *)a], *y = &l->libraries[*(const uint32_t *)b];
	int order = compare_by((enum sp_libs_sort)SP_MAX(l->args->sort, 0), x, y);

	for (size_t i = 0; !order && i < SP_COUNT(then); i++)
		order = compare_by(then[i], x, y);
	if (!order)
		order = memcmp(x->build_id, y->build_id, sizeof(x->build_id));
	return order ? order : strcmp(x->path, y->path);
}

static int compare_costs(const void *a, const void *b)
{
	const struct sp_libs_use *x = a, *y = b;

	return SP_FALLING(x->self, y->self) ?: SP_FALLING(x->total, y->total) ?: SP_RISING(x->process, y->process);
}

int sp_libs_arrange(struct sp_libs *l)
{
	l->order = calloc(l->n_libraries + 1, sizeof(*l->order));
	if (!l->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n_libraries; i++) {
		struct sp_libs_library *lib = &l->libraries[i];
		if (lib->n_uses)
			qsort(l->uses + lib->first_use, lib->n_uses, sizeof(*l->uses), compare_costs);
		lib->is_wanted = libs_group_is_wanted(l, lib);
		if (lib->is_wanted)
			l->order[l->n_order++] = i;
	}
	qsort_r(l->order, l->n_order, sizeof(*l->order), compare_libraries, l);
	return 0;
}
