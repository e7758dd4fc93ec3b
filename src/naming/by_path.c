/* SPDX-License-Identifier: GPL-2.0-or-later */
/* by_path.c: names for profiles without a session: opens files by path, if the build there is still the same. */
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

/* What was found, or why nothing was: looked for once. */
static int settle(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;

	if (r < 0 && r != -ENODATA)
		sp_naming_note_text(n, w->file, sp_error_text(r));
	sp_error_clear();
	if (sp_grow(&n->paths, &n->n_paths, (size_t)w->file + 1, sizeof(*n->paths)) < 0)
		return -ENOMEM;
	n->paths[w->file] = (struct sp_named_path){.looked = true,
						   .fd = r < 0 ? r : sp_take_fd(&w->opened.fd),
						   .uid = w->opened.uid,
						   .mode = w->opened.mode,
						   .size = w->opened.size,
						   .state = w->opened.state};
	return 0;
}

static int looked_at(struct sp_naming *n, int r)
{
	const struct sp_elf_debug *own = &n->work->debug;
	const struct sp_file *f = sp_profile_file(n->profile, n->work->file);
	const char *path = sp_profile_string(n->profile, f->path);

	if (r < 0)
		return settle(n, r);
	if (own->build_id_len != f->build_id_len || memcmp(own->build_id, f->build_id, own->build_id_len))
		return settle(n, sp_fail_said(-ESTALE, "%s is another build now", path));
	return settle(n, f->build_id_len ? 0 : sp_fail_said(-ESTALE, "%s has no build id to know it by", path));
}

static int opened(struct sp_naming *n, int r)
{
	if (r < 0)
		return settle(n,
			      sp_fail(r, "open %s",
				      sp_profile_string(n->profile, sp_profile_file(n->profile, n->work->file)->path)));
	sp_naming_then(n, looked_at);
	return sp_naming_look(n, n->work->opened.fd, false);
}

static const struct sp_named_path *path_of(const struct sp_naming *n, uint32_t file)
{
	return file < n->n_paths && n->paths[file].looked ? &n->paths[file] : NULL;
}

int sp_naming_file_find(struct sp_naming *n)
{
	const struct sp_file *f = sp_profile_file(n->profile, n->work->file);
	const char *path = sp_profile_string(n->profile, f->path);

	if (n->capture || !n->by_path || path_of(n, n->work->file))
		return 0;
	if (f->kind != SP_FILE_ELF || *path != '/')
		return settle(n, -ENODATA);
	sp_naming_then(n, opened);
	return sp_naming_open(n, &(struct sp_open_path){.path = path});
}

int sp_naming_file_fd(const struct sp_naming *n, uint32_t file)
{
	const struct sp_named_path *p = path_of(n, file);

	if (n->capture)
		return sp_capture_file_fd(n->capture, file);
	return p ? p->fd : -ENOENT;
}

bool sp_naming_file_key(const struct sp_naming *n, uint32_t file, struct sp_cache_key *ret_key)
{
	const struct sp_file *f = sp_profile_file(n->profile, file);
	const struct sp_named_path *p = path_of(n, file);

	if (n->capture)
		return sp_capture_file_key(n->capture, file, ret_key);
	if (!p || p->fd < 0)
		return false;
	*ret_key = (struct sp_cache_key){.build_id = f->build_id,
					 .build_id_len = f->build_id_len,
					 .state = p->state,
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
