/* SPDX-License-Identifier: GPL-2.0-or-later */
/* by_path.c: the files of a profile that no session has open: by path, if what is there now is the same build. */
#include "base/entries.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_it(struct sp_naming *n, const char *path, struct sp_naming_open *ret_open)
{
	struct sp_open_path q = {.path = path};

	return sp_naming_fd(n, sp_workers_open_path(n->workers, &q, sp_naming_opened, ret_open), ret_open);
}

static int check(struct sp_naming *n, const struct sp_file *f, int fd)
{
	const char *path = sp_profile_string(n->profile, f->path);
	struct sp_elf_debug own;
	int r = sp_debug_file_own(n, fd, &own);

	if (r < 0)
		return r;
	if (own.build_id_len != f->build_id_len || memcmp(own.build_id, f->build_id, own.build_id_len))
		return sp_fail_said(-ESTALE, "%s is another build now", path);
	return f->build_id_len ? 0 : sp_fail_said(-ESTALE, "%s has no build id to know it by", path);
}

static int find(struct sp_naming *n, uint32_t file, struct sp_named_path *ret_path)
{
	const struct sp_file *f = sp_profile_file(n->profile, file);
	const char *path = sp_profile_string(n->profile, f->path);
	struct sp_naming_open o = {.fd = -1};
	SP_CLOSE int fd = -1;
	int r;

	if (f->kind != SP_FILE_ELF || *path != '/')
		return -ENODATA;
	fd = open_it(n, path, &o);
	r = fd < 0 ? sp_fail(fd, "open %s", path) : check(n, sp_profile_file(n->profile, file), fd);
	if (r < 0)
		return r;
	*ret_path = (struct sp_named_path){.uid = o.uid, .mode = o.mode, .size = o.size};
	return sp_take_fd(&fd);
}

/* Looked for once. */
static struct sp_named_path *path_of(struct sp_naming *n, uint32_t file)
{
	struct sp_named_path found = {0};
	int r;

	if (file < n->n_paths && n->paths[file].looked)
		return &n->paths[file];
	r = find(n, file, &found);
	found.fd = r;
	found.looked = true;
	if (r < 0) {
		if (r != -ENODATA)
			sp_naming_note_text(n, file, sp_error_text(r));
		sp_error_clear();
	}
	if (sp_grow(&n->paths, &n->n_paths, (size_t)file + 1, sizeof(*n->paths)) < 0) {
		if (r >= 0)
			close(r);
		return NULL;
	}
	n->paths[file] = found;
	return &n->paths[file];
}

int sp_naming_file_fd(struct sp_naming *n, uint32_t file)
{
	const struct sp_named_path *p;

	if (n->capture)
		return sp_capture_file_fd(n->capture, file);
	p = n->by_path ? path_of(n, file) : NULL;
	return p ? p->fd : -ENOENT;
}

bool sp_naming_file_key(struct sp_naming *n, uint32_t file, struct sp_cache_key *ret_key)
{
	const struct sp_file *f = sp_profile_file(n->profile, file);
	const struct sp_named_path *p;

	if (n->capture)
		return sp_capture_file_key(n->capture, file, ret_key);
	p = n->by_path ? path_of(n, file) : NULL;
	if (!p || p->fd < 0)
		return false;
	*ret_key = (struct sp_cache_key){.build_id = f->build_id,
					 .build_id_len = f->build_id_len,
					 .file_size = p->size,
					 .uid = p->uid,
					 .mode = p->mode};
	return true;
}

void sp_naming_paths_done(struct sp_naming *n)
{
	for (size_t i = 0; i < n->n_paths; i++)
		if (n->paths[i].looked && n->paths[i].fd >= 0)
			close(n->paths[i].fd);
	free(n->paths);
}
