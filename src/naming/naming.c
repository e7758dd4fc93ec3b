/* SPDX-License-Identifier: GPL-2.0-or-later */
/* naming.c: names of one file's offsets, asked from the workers. */
#include "naming/naming.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "elf/elf.h"
#include "profile/profile.h"
#include "unwind/build.h"
#include "worker/naming.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sp_naming_wait(struct sp_naming *n, const bool *done)
{
	int r = 0;

	while (r >= 0 && !*done)
		r = sp_workers_wait(n->workers, 60000);
	return r;
}

void sp_naming_opened(void *open, struct sp_open_result *result)
{
	*(struct sp_naming_open *)open =
	    (struct sp_naming_open){.r = result->r, .fd = result->fd, .uid = result->uid, .done = true};
	free(result->path);
}

int sp_naming_fd(struct sp_naming *n, int asked, struct sp_naming_open *open)
{
	int r = asked < 0 ? asked : sp_naming_wait(n, &open->done);

	r = r < 0 ? r : open->r;
	return r < 0 ? r : open->fd;
}

static void note_set(struct sp_naming *n, uint32_t file, const char *text)
{
	struct sp_file *f = sp_profile_file(n->profile, file);
	int64_t note = f->note ? 0 : sp_profile_add_string(n->profile, text);

	if (note > 0)
		f->note = (uint32_t)note;
}

void sp_naming_note(struct sp_naming *n, uint32_t file, const char *what, int r)
{
	char text[512];

	snprintf(text, sizeof(text), "%.300s: %.200s", what, sp_error_text(r));
	sp_error_clear();
	note_set(n, file, text);
}

/* --- who has it mapped ---------------------------------------------------------------------------------------------
 */
static void pids_of_row(struct sp_naming *n, const struct sp_row *row)
{
	const struct sp_profile *p = n->profile;
	const struct sp_key *key = sp_profile_key(p, row->key);
	struct sp_stack stack = sp_profile_stack(p, row->user);
	uint32_t i;

	for (i = 0; i < stack.n_frames; i++) {
		uint32_t file = sp_profile_frame(p, stack.frames[i])->file;

		if (file < n->n_pids)
			n->pids[file] = sp_profile_process(p, key->process)->pid;
	}
}

uint32_t sp_naming_pid(struct sp_naming *n, uint32_t file)
{
	const struct sp_profile *p = n->profile;
	uint32_t i;

	if (file >= n->n_pids && !sp_grow(&n->pids, &n->n_pids, sp_profile_n_files(p), sizeof(*n->pids)))
		for (i = 0; i < sp_profile_n_rows(p); i++)
			pids_of_row(n, sp_profile_row(p, i));
	return file < n->n_pids ? n->pids[file] : 0;
}

/* --- names ---------------------------------------------------------------------------------------------------------
 */
static int vdso_names(const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct sp_elf *e = NULL;
	size_t size = 0;
	const void *image = sp_capture_vdso(&size);
	int r = image ? sp_elf_open_bytes(image, size, &e) : -ENOENT;

	if (r < 0)
		return sp_fail(r, "read the vDSO");
	r = sp_names_find(e, sp_function_walk, offsets, n, names);
	sp_elf_close(e);
	return r;
}

void sp_naming_came(void *arg, int r, struct sp_name *names, size_t n, const char *warning)
{
	struct sp_naming_wait *w = arg;

	if (warning)
		note_set(w->naming, w->file, warning);

	w->done = true;
	w->r = r;
	if (r < 0)
		return;
	memcpy(w->names, names, SP_MIN(n, w->n) * sizeof(*names));
	free(names);
}

static int ask(struct sp_naming *naming, uint32_t file, const int fds[2], const uint64_t *offsets, size_t n,
	       struct sp_name *names)
{
	struct sp_naming_wait w = {.naming = naming, .file = file, .names = names, .n = n};
	int r = sp_workers_names(naming->workers, fds[0], fds[1], offsets, n, sp_naming_came, &w);

	r = r < 0 ? r : sp_naming_wait(naming, &w.done);
	return r < 0 ? r : w.r;
}

static void debug_drop(int *fd)
{
	if (*fd > 0)
		close(*fd);
	*fd = -1;
}

/* Where the descriptor of the file's debug file stands; NULL when memory is short. */
static int *debug_choose(struct sp_naming *n, uint32_t file, int fd)
{
	if (sp_grow(&n->debug_fds, &n->n_debug_fds, (size_t)file + 1, sizeof(*n->debug_fds)) < 0)
		return NULL;
	if (!n->debug_fds[file])
		n->debug_fds[file] = sp_debug_file_find(n, file, fd);
	return &n->debug_fds[file];
}

int sp_naming_resolve(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct sp_naming *naming = arg;
	int fd = sp_capture_file_fd(naming->capture, file), *debug, r;
	uint8_t kind = sp_profile_file(naming->profile, file)->kind;

	if (kind == SP_FILE_VDSO)
		return vdso_names(offsets, n, names);
	if (kind == SP_FILE_ANON)
		return sp_naming_map(naming, file, offsets, n, names);
	if (fd < 0)
		return sp_fail_said(-ENOENT, "the file could not be opened");
	debug = debug_choose(naming, file, fd);
	if (!debug)
		return -ENOMEM;
	r = ask(naming, file, (const int[]){fd, *debug}, offsets, n, names);
	if (r >= 0 || *debug < 0)
		return r;
	sp_naming_note(naming, file, "debug file", r);
	debug_drop(debug);
	return ask(naming, file, (const int[]){fd, -1}, offsets, n, names);
}

struct sources_wait {
	struct sp_sources *sources;
	size_t n;
	int r;
	bool done;
};

static void sources_came(void *arg, int r, struct sp_sources *sources, size_t n)
{
	struct sources_wait *w = arg;

	w->done = true;
	w->r = r;
	if (r < 0)
		return;
	memcpy(w->sources, sources, SP_MIN(n, w->n) * sizeof(*sources));
	free(sources);
}

int sp_naming_sources(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_sources *sources)
{
	struct sp_naming *naming = arg;
	struct sources_wait w = {.sources = sources, .n = n};
	int fd = sp_capture_file_fd(naming->capture, file), *debug, r;

	if (fd < 0)
		return -ENOENT;
	debug = debug_choose(naming, file, fd);
	if (!debug)
		return -ENOMEM;
	r = sp_workers_sources(naming->workers, fd, *debug, offsets, n, sources_came, &w);
	r = r < 0 ? r : sp_naming_wait(naming, &w.done);
	r = r < 0 ? r : w.r;
	return r < 0 && r != -ENOENT ? sp_fail(r, "source lines") : r;
}

void sp_naming_done(struct sp_naming *n)
{
	size_t i;

	for (i = 0; i < n->n_debug_fds; i++)
		debug_drop(&n->debug_fds[i]);
	free(n->debug_fds);
	free(n->pids);
	free(n->urls);
	*n = (struct sp_naming){0};
}
