/* SPDX-License-Identifier: GPL-2.0-or-later */
/* naming.c: names of one file's offsets, asked from the workers. */
#include "cmd/naming.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "cmd/sampling.h"
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
		r = sp_workers_wait(n->sampling->workers, 60000);
	return r;
}

static void note_set(struct sp_naming *n, uint32_t file, const char *text)
{
	struct sp_file *f = sp_profile_file(n->sampling->profile, file);
	int64_t note = f->note ? 0 : sp_profile_add_string(n->sampling->profile, text);

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
	const struct sp_profile *p = n->sampling->profile;
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
	const struct sp_profile *p = n->sampling->profile;
	uint32_t i;

	if (!n->pids) {
		n->n_pids = sp_profile_n_files(p);
		n->pids = calloc(n->n_pids, sizeof(*n->pids));
		n->n_pids = n->pids ? n->n_pids : 0;
		for (i = 0; i < sp_profile_n_rows(p); i++)
			pids_of_row(n, sp_profile_row(p, i));
	}
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

static int ask(struct sp_naming *naming, uint32_t file, int fd, const uint64_t *offsets, size_t n,
	       struct sp_name *names)
{
	struct sp_naming_wait w = {.naming = naming, .file = file, .names = names, .n = n};
	int r = sp_workers_names(naming->sampling->workers, fd, naming->debug_fd, offsets, n, sp_naming_came, &w);

	r = r < 0 ? r : sp_naming_wait(naming, &w.done);
	return r < 0 ? r : w.r;
}

static void debug_drop(struct sp_naming *n)
{
	sp_cleanup_close(&n->debug_fd);
	n->debug_fd = -1;
}

static void debug_choose(struct sp_naming *n, uint32_t file, int fd)
{
	if (n->debug_of == file)
		return;
	debug_drop(n);
	n->debug_of = file;
	n->debug_fd = sp_debug_file_find(n, file, fd);
}

int sp_naming_resolve(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct sp_naming *naming = arg;
	int fd = sp_capture_file_fd(naming->sampling->capture, file), r;
	uint8_t kind = sp_profile_file(naming->sampling->profile, file)->kind;

	if (kind == SP_FILE_VDSO)
		return vdso_names(offsets, n, names);
	if (kind == SP_FILE_ANON)
		return sp_naming_map(naming, file, offsets, n, names);
	if (fd < 0)
		return sp_fail_said(-ENOENT, "the file could not be opened");
	debug_choose(naming, file, fd);
	r = ask(naming, file, fd, offsets, n, names);
	if (r >= 0 || naming->debug_fd < 0)
		return r;
	sp_naming_note(naming, file, "debug file", r);
	debug_drop(naming);
	return ask(naming, file, fd, offsets, n, names);
}

void sp_naming_done(struct sp_naming *n)
{
	debug_drop(n);
	free(n->pids);
	n->pids = NULL;
	free(n->urls);
	n->urls = NULL;
}
