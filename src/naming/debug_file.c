/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file.c: finds a file's separate debug file, in the places where GDB looks (its manual, "Separate Debug
 * Files").
 *
 * It is used only if its build id is the file's and, for a debug link, its CRC is the link's.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usual_dir[] = "/usr/lib/debug";

/* What a container's root, or another user, says of a build id is not for everybody who has that. */
static bool is_trusted(bool in_process, const struct sp_naming_opened *o)
{
	return !in_process && (!o->uid || o->uid == geteuid()) && !(o->mode & 022);
}

/* --- where it may be --- */
static bool by_build_id(struct sp_debug_search *s, const char *dir, int dir_len)
{
	char hex[2 * sizeof(s->own.build_id) + 1];

	s->by_link = false;
	sp_hex(s->own.build_id, s->own.build_id_len, hex);
	return s->own.build_id_len > 1 && snprintf(s->path, sizeof(s->path), "%.*s/.build-id/%.2s/%s.debug", dir_len,
						   dir, hex, hex + 2) < (int)sizeof(s->path);
}

static bool by_link(struct sp_debug_search *s, const char *dir, int dir_len, const char *own_path, const char *below)
{
	const char *slash = strrchr(own_path, '/');

	s->by_link = true;
	return *s->own.link && slash &&
	       snprintf(s->path, sizeof(s->path), "%.*s%.*s%s/%s", dir_len, dir, (int)(slash - own_path), own_path,
			below, s->own.link) < (int)sizeof(s->path);
}

/* NULL: there are no more. */
static const char *dir_of(const char *dirs, unsigned number, int *ret_len)
{
	for (; dirs && *dirs; dirs += *ret_len + (dirs[*ret_len] == ':')) {
		*ret_len = (int)strcspn(dirs, ":");
		if (*ret_len && !number--)
			return dirs;
	}
	return NULL;
}

/*
 * In each directory by build id, and by debug link; beside the file; in the usual directory. 1: it would be at s->path;
 * 0: nowhere there; -1: there are no more places.
 */
static int place(const struct sp_naming *n, struct sp_debug_search *s, unsigned number)
{
	const char *path = sp_profile_string(n->profile, sp_profile_file(n->profile, n->work->file)->path), *dir;
	unsigned n_dirs;
	int len;

	for (n_dirs = 0; (dir = dir_of(n->debug_dirs, n_dirs, &len)); n_dirs++)
		if (number / 2 == n_dirs)
			return number % 2 ? by_link(s, dir, len, path, "") : by_build_id(s, dir, len);
	switch (number - 2 * n_dirs) {
	case 0:
		return by_link(s, "", 0, path, "");
	case 1:
		return by_link(s, "", 0, path, "/.debug");
	case 2:
		return by_build_id(s, usual_dir, (int)strlen(usual_dir));
	case 3:
		return by_link(s, usual_dir, (int)strlen(usual_dir), path, "");
	}
	return -1;
}

/* --- is it the one? --- */
static bool same_build(const struct sp_elf_debug *a, const struct sp_elf_debug *b)
{
	return a->build_id_len == b->build_id_len && !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static int check(const struct sp_naming_work *w)
{
	if (!w->debug.has_symtab && !w->debug.has_dwarf)
		return sp_fail_said(-ENOEXEC, "has neither symbols nor DWARF");
	if (!same_build(&w->search.own, &w->debug))
		return sp_fail_said(-ESTALE, "of another build");
	if (w->search.by_link && w->crc != w->search.own.link_crc)
		return sp_fail_said(-ESTALE, "its CRC is not the debug link's");
	return 0;
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ESRCH || r == -ENAMETOOLONG;
}

static int try_next(struct sp_naming *n);

/* It was looked at, or could not be opened. */
static int tried(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;
	struct sp_debug_search *s = &w->search;

	r = r < 0 ? r : check(w);
	if (r >= 0) {
		s->found = sp_take_fd(&s->fd);
		return 0;
	}
	if (!is_absent(r))
		sp_naming_note(n, w->file, s->has_asked_servers ? "debuginfod" : s->path, r);
	sp_error_clear();
	if (s->fd >= 0)
		close(sp_take_fd(&s->fd));
	return s->has_asked_servers ? 0 : try_next(n);
}

static int look_at_opened(struct sp_naming *n)
{
	struct sp_debug_search *s = &n->work->search;

	s->fd = sp_take_fd(&n->work->opened.fd);
	sp_naming_then(n, tried);
	return sp_naming_look(n, s->fd, s->by_link);
}

static int opened(struct sp_naming *n, int r)
{
	struct sp_debug_search *s = &n->work->search;

	if (r < 0)
		return tried(n, r);
	s->is_trusted = is_trusted(s->in_process, &n->work->opened);
	return look_at_opened(n);
}

static int fetched(struct sp_naming *n, int r)
{
	struct sp_debug_search *s = &n->work->search;

	if (r < 0)
		return 0;
	s->is_trusted = true; /* of a server that was chosen */
	s->by_link = false;
	return look_at_opened(n);
}

static int try_servers(struct sp_naming *n)
{
	n->work->search.has_asked_servers = true;
	if (n->work->search.own.build_id_len <= 1)
		return 0;
	sp_naming_then(n, fetched);
	return sp_debug_file_fetch(n);
}

/* Each by our paths, and by those of a process that has the file, which may live in a container. */
static int try_next(struct sp_naming *n)
{
	struct sp_debug_search *s = &n->work->search;
	uint32_t pid = 0;
	int is_place;

	do {
		is_place = place(n, s, s->n_tried / 2);
		s->in_process = s->n_tried++ % 2;
		if (is_place > 0)
			pid = s->in_process ? sp_naming_pid(n, n->work->file) : 0;
	} while (!is_place || (is_place > 0 && s->in_process && !pid));
	if (is_place < 0)
		return try_servers(n);
	sp_naming_then(n, opened);
	return sp_naming_open(n, &(struct sp_open_path){.path = s->path, .pid = (pid_t)pid});
}

int sp_debug_file_search(struct sp_naming *n, const struct sp_elf_debug *own)
{
	struct sp_debug_search *s = &n->work->search;

	s->own = *own;
	s->n_tried = 0;
	s->has_asked_servers = s->is_trusted = false;
	return own->has_symtab && (own->has_dwarf || !n->with_lines) ? 0 : try_next(n);
}

/* --- of a file that is to be named --- */
static int chosen(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;
	struct sp_named_file *f = sp_named_file(n, w->file);

	(void)r;
	f->debug_fd = sp_take_fd(&w->search.found);
	f->debug_is_trusted = w->search.is_trusted;
	f->looked_ns = w->search.own.has_symtab || f->debug_fd >= 0 ? 0 : sp_time_ns(CLOCK_BOOTTIME);
	return 0;
}

static int own_came(struct sp_naming *n, int r)
{
	if (r < 0) { /* told again when its names are asked for */
		sp_error_clear();
		return 0;
	}
	sp_naming_then(n, chosen);
	return sp_debug_file_search(n, &n->work->debug);
}

int sp_debug_file_choose(struct sp_naming *n)
{
	struct sp_named_file *f = sp_named_file(n, n->work->file);

	if (f->has_looked)
		return 0;
	f->has_looked = true;
	f->debug_fd = -1;
	sp_naming_then(n, own_came);
	return sp_naming_look(n, n->work->fd, false);
}

static int choose_given(struct sp_naming *n, int r)
{
	(void)r;
	return sp_debug_file_choose(n);
}

int sp_debug_file_find(struct sp_naming *n, uint32_t file, int fd)
{
	struct sp_named_file *f = sp_named_file(n, file);

	if (!f || sp_naming_begin(n, &(struct sp_name_question){.file = file}, choose_given) < 0)
		return -1;
	n->work->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	sp_naming_wait(n);
	sp_naming_end(n);
	sp_error_clear();
	return sp_take_fd(&f->debug_fd);
}

void sp_debug_file_drop(struct sp_named_file *f)
{
	if (f->has_looked)
		sp_cleanup_close(&f->debug_fd);
	f->debug_fd = -1;
}
