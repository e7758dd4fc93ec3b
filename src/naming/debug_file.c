/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file.c: the separate debug file of a file, as GDB looks for it (its manual, "Separate Debug Files").
 *
 * What is found is believed only if its build id is the file's; by a debug link, its CRC has to be the link's, too.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usual_dir[] = "/usr/lib/debug";

struct search {
	struct sp_naming *naming;
	uint32_t file;
	struct sp_elf_debug own; /* what the file has itself */
	int found;               /* -1 = nothing yet */
	bool is_trusted;
};

struct looked { /* an answer of the workers */
	struct sp_elf_debug debug;
	uint32_t crc;
	int r;
	bool done;
};

static void looked_at(void *arg, int r, const struct sp_elf_debug *debug, uint32_t crc)
{
	struct looked *l = arg;

	l->done = true;
	l->r = r;
	if (r < 0)
		return;
	l->debug = *debug;
	l->crc = crc;
}

static int look(struct sp_naming *n, int fd, bool with_crc, struct looked *l)
{
	int r;

	l->done = false;
	r = sp_workers_debug(n->workers, fd, with_crc, looked_at, l);
	r = r < 0 ? r : sp_naming_wait(n, &l->done);
	return r < 0 ? r : l->r;
}

/* What a container's root, or another user, says of a build id is not for everybody who has that. */
static bool is_trusted(uint32_t pid, const struct sp_naming_open *o)
{
	return !pid && (!o->uid || o->uid == geteuid()) && !(o->mode & 022);
}

static int open_one(struct sp_naming *n, uint32_t pid, const char *path, bool *ret_trusted)
{
	struct sp_open_path q = {.path = path, .pid = (pid_t)pid};
	struct sp_naming_open o = {.fd = -1};
	int fd = sp_naming_fd(n, sp_workers_open_path(n->workers, &q, sp_naming_opened, &o), &o);

	*ret_trusted = is_trusted(pid, &o);
	return fd;
}

/* --- is it the one? ------------------------------------------------------------------------------------------------
 */
static bool same_build(const struct sp_elf_debug *a, const struct sp_elf_debug *b)
{
	return a->build_id_len == b->build_id_len && !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static int check(const struct search *s, const struct looked *l, bool by_link)
{
	if (!l->debug.has_symtab && !l->debug.has_dwarf)
		return sp_fail_said(-ENOEXEC, "has neither symbols nor DWARF");
	if (!same_build(&s->own, &l->debug))
		return sp_fail_said(-ESTALE, "of another build");
	if (by_link && l->crc != s->own.link_crc)
		return sp_fail_said(-ESTALE, "its CRC is not the debug link's");
	return 0;
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ESRCH || r == -ENAMETOOLONG;
}

static void try_fd(struct search *s, int given, const char *what, bool by_link)
{
	SP_CLOSE int fd = given;
	struct looked l = {0};
	int r = fd < 0 ? fd : look(s->naming, fd, by_link, &l);

	if (r >= 0)
		r = check(s, &l, by_link);
	if (r >= 0)
		s->found = sp_take_fd(&fd);
	else if (!is_absent(r))
		sp_naming_note(s->naming, s->file, what, r);
	sp_error_clear();
}

static void try_path(struct search *s, uint32_t pid, const char *path, bool by_link)
{
	bool trusted;

	try_fd(s, open_one(s->naming, pid, path, &trusted), path, by_link);
	if (s->found >= 0)
		s->is_trusted = trusted;
}

static void try_servers(struct search *s)
{
	int fd = s->own.build_id_len > 1 ? sp_debug_file_fetch(s->naming, s->file, s->own.build_id, s->own.build_id_len)
					 : -1;

	if (fd >= 0)
		try_fd(s, fd, "debuginfod", false);
	s->is_trusted = s->found >= 0; /* of a server that was chosen */
}

/* By our paths, and by those of a process that has the file, which may live in a container. */
static void try_both(struct search *s, const char *path, bool by_link)
{
	uint32_t pid = sp_naming_pid(s->naming, s->file);

	if (s->found < 0)
		try_path(s, 0, path, by_link);
	if (s->found < 0 && pid)
		try_path(s, pid, path, by_link);
}

/* --- where it may be -----------------------------------------------------------------------------------------------
 */
static void try_build_id(struct search *s, const char *dir, int dir_len)
{
	char path[PATH_MAX], hex[2 * sizeof(s->own.build_id) + 1];

	sp_hex(s->own.build_id, s->own.build_id_len, hex);
	if (snprintf(path, sizeof(path), "%.*s/.build-id/%.2s/%s.debug", dir_len, dir, hex, hex + 2) <
	    (int)sizeof(path))
		try_both(s, path, false);
}

static void try_link(struct search *s, const char *dir, int dir_len, const char *below)
{
	const char *path = sp_profile_string(s->naming->profile, sp_profile_file(s->naming->profile, s->file)->path);
	const char *slash = strrchr(path, '/');
	char full[PATH_MAX];

	if (slash && snprintf(full, sizeof(full), "%.*s%.*s%s/%s", dir_len, dir, (int)(slash - path), path, below,
			      s->own.link) < (int)sizeof(full))
		try_both(s, full, true);
}

static void try_dir(struct search *s, const char *dir, int dir_len)
{
	if (s->found < 0 && s->own.build_id_len > 1)
		try_build_id(s, dir, dir_len);
	if (s->found < 0 && *s->own.link)
		try_link(s, dir, dir_len, "");
}

static void try_all(struct search *s)
{
	const char *dir = s->naming->debug_dirs;

	while (dir && *dir) {
		int len = (int)strcspn(dir, ":");

		if (len)
			try_dir(s, dir, len);
		dir += len + (dir[len] == ':');
	}
	if (s->found < 0 && *s->own.link) {
		try_link(s, "", 0, "");
		try_link(s, "", 0, "/.debug");
	}
	try_dir(s, usual_dir, (int)strlen(usual_dir));
}

int sp_debug_file_own(struct sp_naming *n, int fd, struct sp_elf_debug *ret_own)
{
	struct looked own = {0};
	int r = look(n, fd, false, &own);

	if (r >= 0)
		*ret_own = own.debug;
	return r;
}

int sp_debug_file_search(struct sp_naming *n, uint32_t file, const struct sp_elf_debug *own, bool *ret_trusted)
{
	struct search s = {.naming = n, .file = file, .own = *own, .found = -1};

	if (own->has_symtab && (own->has_dwarf || !n->with_lines))
		return -1;
	try_all(&s);
	if (s.found < 0)
		try_servers(&s);
	*ret_trusted = s.is_trusted;
	return s.found;
}

int sp_debug_file_find(struct sp_naming *n, uint32_t file, int fd)
{
	struct sp_elf_debug own;
	bool trusted;

	if (sp_debug_file_own(n, fd, &own) < 0) {
		sp_error_clear(); /* told again when its names are asked for */
		return -1;
	}
	return sp_debug_file_search(n, file, &own, &trusted);
}

void sp_debug_file_choose(struct sp_naming *n, uint32_t file, struct sp_named_file *f, int fd)
{
	struct sp_elf_debug own;

	if (f->has_looked)
		return;
	f->has_looked = true;
	f->debug_fd = -1;
	if (sp_debug_file_own(n, fd, &own) < 0) {
		sp_error_clear();
		return;
	}
	f->debug_fd = sp_debug_file_search(n, file, &own, &f->debug_is_trusted);
	f->looked_ns = own.has_symtab || f->debug_fd >= 0 ? 0 : sp_time_ns(CLOCK_BOOTTIME);
}

void sp_debug_file_drop(struct sp_named_file *f)
{
	if (f->has_looked)
		sp_cleanup_close(&f->debug_fd);
	f->debug_fd = -1;
}
