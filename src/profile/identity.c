/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/identity.h"

#include "base/intern.h"
#include "base/path.h"
#include "profile/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Files and functions with equal identities are the same. Interned, so without padding. */
struct file_identity {
	uint32_t kind, build_id_len;
	uint32_t name, path; /* strings; 0 unless files are compared by path */
	uint8_t build_id[SP_BUILD_ID_MAX];
};
struct func_identity {
	uint32_t name, file;
};

/* Interned identities, and the first number that had each. */
struct firsts {
	struct sp_intern *identities;
	uint32_t *first;
	size_t capacity;
};

static int firsts_find(struct firsts *f, const void *identity, size_t len, uint32_t number, uint32_t *ret_first)
{
	bool is_new;
	int64_t at =
	    sp_intern_add_to(f->identities, identity, len, &f->first, &f->capacity, sizeof(*f->first), &is_new);

	if (at < 0)
		return (int)at;
	if (is_new)
		f->first[at] = number;
	*ret_first = f->first[at];
	return 0;
}

static int identity_add_files(const struct sp_profile *p, struct sp_identity *i, bool by_path, struct firsts *known)
{
	int r = 0;

	for (uint32_t n = 1; n < sp_profile_n_files(p) && r == 0; n++) {
		const struct sp_file *file = sp_profile_file(p, n);
		struct file_identity w = {.kind = file->kind, .build_id_len = file->build_id_len};
		if (file->kind == SP_FILE_KERNEL && i->kernel == 0)
			i->kernel = n;
		memcpy(w.build_id, file->build_id, file->build_id_len);
		if (file->build_id_len == 0) {
			w.name = file->name;
			w.path = file->path;
		}
		i->files[n] = n;
		if (file->build_id_len > 0 || by_path)
			r = firsts_find(known, &w, sizeof(w), n, &i->files[n]);
	}
	return r;
}

static int identity_add_funcs(const struct sp_profile *p, struct sp_identity *i, struct firsts *known)
{
	int r = 0;

	for (uint32_t n = 1; n < sp_profile_n_funcs(p) && r == 0; n++) {
		const struct sp_func *func = sp_profile_func(p, n);
		struct func_identity w = {.name = func->name, .file = i->files[func->file]};
		if (func->name != 0)
			r = firsts_find(known, &w, sizeof(w), n, &i->funcs[n]);
	}
	return r;
}

static void identity_map_frames(const struct sp_profile *p, struct sp_identity *i)
{
	for (uint32_t n = 0; n < sp_profile_n_frames(p); n++) {
		const struct sp_frame *frame = sp_profile_frame(p, n);
		uint32_t file = frame->file != 0 ? frame->file : sp_profile_func(p, frame->func)->file;
		i->library_of[n] = sp_identity_library(p, i, file);
		i->function_of[n] = i->funcs[frame->func];
	}
}

static int identity_fill(const struct sp_profile *p, struct sp_identity *i, bool by_path, struct firsts *files,
			 struct firsts *funcs)
{
	i->files = calloc(sp_profile_n_files(p), sizeof(*i->files));
	i->funcs = calloc(sp_profile_n_funcs(p), sizeof(*i->funcs));
	i->library_of = calloc(sp_profile_n_frames(p), sizeof(*i->library_of));
	i->function_of = calloc(sp_profile_n_frames(p), sizeof(*i->function_of));
	if (!i->files || !i->funcs || !i->library_of || !i->function_of || sp_intern_new(&files->identities) < 0 ||
	    sp_intern_new(&funcs->identities) < 0)
		return -ENOMEM;
	int r = identity_add_files(p, i, by_path, files);
	return r < 0 ? r : identity_add_funcs(p, i, funcs);
}

static int identity_new(const struct sp_profile *p, bool by_path, struct sp_identity *ret_identity)
{
	struct sp_identity i = {.samples = (uint32_t)sp_profile_find_value(p, "samples", NULL)};
	struct firsts files = {0}, funcs = {0};
	int r = identity_fill(p, &i, by_path, &files, &funcs);

	if (r == 0) {
		identity_map_frames(p, &i);
		*ret_identity = i;
	} else {
		sp_identity_done(&i);
	}
	sp_intern_free(files.identities);
	sp_intern_free(funcs.identities);
	free(files.first);
	free(funcs.first);
	return r;
}

int sp_identity_new(const struct sp_profile *p, struct sp_identity *ret_identity)
{
	return identity_new(p, false, ret_identity);
}

int sp_identity_new_by_path(const struct sp_profile *p, struct sp_identity *ret_identity)
{
	return identity_new(p, true, ret_identity);
}

void sp_identity_done(struct sp_identity *i)
{
	free(i->files);
	free(i->funcs);
	free(i->library_of);
	free(i->function_of);
	*i = (struct sp_identity){0};
}

uint32_t sp_identity_library(const struct sp_profile *p, const struct sp_identity *i, uint32_t file)
{
	return sp_profile_file(p, file)->kind == SP_FILE_KERNEL ? i->kernel : i->files[file];
}

uint32_t sp_identity_function_file(const struct sp_profile *p, const struct sp_identity *i, uint32_t frame)
{
	uint32_t file = sp_profile_func(p, i->function_of[frame])->file;

	return file != 0 ? i->files[file] : i->library_of[frame];
}

const char *sp_library_name(const struct sp_profile *p, uint32_t file)
{
	const struct sp_file *f = sp_profile_file(p, file);
	const char *name = sp_profile_string(p, f->name), *path = sp_profile_string(p, f->path);

	return *name ? name : *path ? sp_path_last(path) : "[unknown]";
}

int64_t sp_identity_samples(const struct sp_identity *i, const struct sp_row *row)
{
	return i->samples == UINT32_MAX ? 1 : row->values[i->samples];
}

int64_t sp_identity_samples_with(const struct sp_identity *i, const struct sp_row *row, uint32_t value)
{
	return row->values[value] != 0 ? sp_identity_samples(i, row) : 0;
}
