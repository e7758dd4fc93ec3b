/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libs_cost.c: charges samples to libraries and to the processes that use them.
 *
 * A sampled file belongs to the library with its build id, or without one with its path. Libraries that were sampled
 * but that nobody maps any more (the process has ended) are added. Processes are identified by pid and start time,
 * since pids are reused.
 */
#include "base/intern.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/libs/libs.h"
#include "profile/frames.h"
#include "profile/identity.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NO_LIBRARY = UINT32_MAX };

struct cell {                      /* what one process spent in one library */
	uint32_t library, process; /* of the profile: any of those with this pid and start */
	int64_t self, total;
};
struct cell_key {
	uint32_t library, pid;
	uint64_t start_ns;
};

struct coster {
	struct sp_libs *l;
	const struct sp_profile *p;
	struct sp_identity id;
	uint32_t *library_of; /* by file of the profile */
	uint32_t *last_row;   /* by library: the newest row that has it, and 1 */
	struct sp_intern *keys;
	struct cell *cells;
	size_t cell_capacity;
};

/* --- sampled files -> libraries --- */
static uint32_t library_by_id(const struct sp_libs *l, const struct sp_file *f)
{
	for (uint32_t i = 0; i < l->n_libraries; i++)
		if (l->libraries[i].build_id_len == f->build_id_len &&
		    !memcmp(l->libraries[i].build_id, f->build_id, f->build_id_len))
			return i;
	return NO_LIBRARY;
}

static uint32_t library_by_path(const struct sp_libs *l, const char *path)
{
	for (size_t i = 0; i < l->mapped->n_files; i++)
		if (!l->files[i].build_id_len && l->files[i].path && !strcmp(l->files[i].path, path))
			return l->files[i].library;
	return NO_LIBRARY;
}

/* The kernel's own memory, whatever it holds: code made at run time. */
static bool is_memory(const char *path)
{
	return !strncmp(path, "/memfd:", 7) || !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/SYSV", 5);
}

static int add_library(struct coster *c, const struct sp_file *f, uint32_t *ret_library)
{
	struct sp_libs *l = c->l;
	int r = sp_grow(&l->libraries, &l->library_capacity, l->n_libraries + 1, sizeof(*l->libraries));
	struct sp_libs_library *lib;

	if (r < 0)
		return r;
	lib = &l->libraries[l->n_libraries];
	*lib = (struct sp_libs_library){.name = sp_profile_string(c->p, f->name),
					.path = sp_profile_string(c->p, f->path),
					.package = sp_profile_string(c->p, f->package),
					.version = sp_profile_string(c->p, f->package_version),
					.build_id_len = f->build_id_len};
	memcpy(lib->build_id, f->build_id, sizeof(lib->build_id));
	*ret_library = (uint32_t)l->n_libraries++;
	return 0;
}

static int place_file(struct coster *c, uint32_t number)
{
	const struct sp_file *f = sp_profile_file(c->p, number);
	const char *path = sp_profile_string(c->p, f->path);
	uint32_t library = NO_LIBRARY;
	int r = 0;

	if (f->kind == SP_FILE_ELF && c->id.files[number] == number) {
		library = f->build_id_len ? library_by_id(c->l, f) : library_by_path(c->l, path);
		if (library == NO_LIBRARY && (f->build_id_len || !is_memory(path)))
			r = add_library(c, f, &library);
	}
	c->library_of[number] = library;
	return r;
}

/* --- samples --- */
static struct cell *cell_of(struct coster *c, uint32_t library, uint32_t process)
{
	const struct sp_process *p = sp_profile_process(c->p, process);
	struct cell_key key = {library, p->pid, p->start_ns};
	bool is_new;
	int64_t number =
	    sp_intern_add_to(c->keys, &key, sizeof(key), &c->cells, &c->cell_capacity, sizeof(*c->cells), &is_new);

	if (number < 0)
		return NULL;
	if (is_new)
		c->cells[number] = (struct cell){.library = library, .process = process};
	return &c->cells[number];
}

static int charge_frame(struct coster *c, uint32_t row, uint32_t process, uint32_t frame, int64_t n, bool is_leaf)
{
	uint32_t library = c->library_of[c->id.library_of[frame]];
	struct cell *cell;

	if (library == NO_LIBRARY || (!is_leaf && c->last_row[library] == row + 1))
		return 0;
	cell = cell_of(c, library, process);
	if (!cell)
		return -ENOMEM;
	c->last_row[library] = row + 1;
	cell->self += is_leaf ? n : 0;
	cell->total += n;
	c->l->libraries[library].self += is_leaf ? n : 0;
	c->l->libraries[library].total += n;
	return 0;
}

static void charge_none(struct coster *c, const struct sp_frames *frames, int64_t n)
{
	uint32_t file = frames->n ? c->id.library_of[sp_frames_at(frames, 0)] : 0;

	c->l->n_samples += n;
	if (file && file == c->id.kernel)
		c->l->n_kernel += n;
	else if (c->library_of[file] == NO_LIBRARY)
		c->l->n_other += n;
}

static int charge_row(struct coster *c, uint32_t i)
{
	const struct sp_row *row = sp_profile_row(c->p, i);
	const struct sp_frames frames = sp_profile_frames(c->p, row);
	size_t n_user = frames.n - frames.n_kernel;
	uint32_t process = sp_profile_key(c->p, row->key)->process;
	int64_t n = sp_identity_samples(&c->id, row);
	int r = 0;

	charge_none(c, &frames, n);
	for (size_t f = 0; r >= 0 && f < n_user; f++)
		r = charge_frame(c, i, process, frames.user[f], n, f == 0 && !frames.n_kernel);
	return r;
}

/* --- processes --- */
static bool libs_cost_is_same(const struct sp_mapped_process *m, const struct sp_process *p)
{
	uint64_t ticks = p->start_ns / (SP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));

	return m->pid == p->pid && m->start_ticks + 1 >= ticks && m->start_ticks <= ticks + 1;
}

static struct sp_libs_use *use_of(const struct sp_libs *l, uint32_t library, const struct sp_process *p)
{
	const struct sp_libs_library *lib = &l->libraries[library];

	for (size_t i = 0; i < lib->n_uses; i++) {
		struct sp_libs_use *u = &l->uses[lib->first_use + i];
		if (libs_cost_is_same(&l->mapped->processes[u->process], p))
			return u;
	}
	return NULL;
}

static void charge_processes(struct coster *c)
{
	for (uint32_t i = 0; i < sp_intern_count(c->keys); i++) {
		struct cell *cell = &c->cells[i];
		struct sp_libs_use *u = use_of(c->l, cell->library, sp_profile_process(c->p, cell->process));
		c->l->libraries[cell->library].n_ran++;
		c->l->libraries[cell->library].n_gone += u == NULL;
		if (u) {
			u->self += cell->self;
			u->total += cell->total;
		}
	}
}

/* --- all of it --- */
static int charge_all(struct coster *c)
{
	uint32_t n_files = sp_profile_n_files(c->p), n_rows = sp_profile_n_rows(c->p);
	int r = sp_intern_new(&c->keys);

	c->library_of = calloc(n_files, sizeof(*c->library_of));
	if (r < 0 || !c->library_of)
		return r < 0 ? r : -ENOMEM;
	c->library_of[0] = NO_LIBRARY;
	for (uint32_t i = 1; r >= 0 && i < n_files; i++)
		r = place_file(c, i);
	c->last_row = calloc(c->l->n_libraries + 1, sizeof(*c->last_row));
	if (!c->last_row)
		return -ENOMEM;
	for (uint32_t i = 0; r >= 0 && i < n_rows; i++)
		r = charge_row(c, i);
	if (r >= 0)
		charge_processes(c);
	return r;
}

int sp_libs_cost(struct sp_libs *l)
{
	struct coster c = {.l = l, .p = l->sampling.profile};
	int r = sp_identity_new(c.p, &c.id);

	if (r < 0)
		return r;
	r = charge_all(&c);
	sp_identity_done(&c.id);
	sp_intern_free(c.keys);
	free(c.library_of);
	free(c.last_row);
	free(c.cells);
	return r;
}
