/* SPDX-License-Identifier: GPL-2.0-or-later */
/* enrich.c: adds packages of libraries and paths of cgroups to a profile. */
#include "naming/enrich.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "naming/owners.h"
#include "proc/cgroup.h"
#include "profile/container.h"
#include "profile/profile.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { WALKING_PART = 1000 };

/* --- packages --- */
struct asked { /* the files whose owner the machine's databases are asked for */
	uint32_t *files;
	const char **paths;
	size_t n;
};

/* Profiles from elsewhere were looked up where they were recorded. */
static bool is_asked(const struct sp_profile *p, const struct sp_file *file)
{
	return file->kind == SP_FILE_ELF && !file->owner_known && *sp_profile_string(p, file->path) == '/';
}

static int asked_make(const struct sp_profile *p, struct asked *a)
{
	uint32_t n = sp_profile_n_files(p), i;

	a->files = calloc(n, sizeof(*a->files));
	a->paths = calloc(n, sizeof(*a->paths));
	if (!a->files || !a->paths)
		return -ENOMEM;
	for (i = 1; i < n; i++) {
		const struct sp_file *file = sp_profile_file(p, i);

		if (!is_asked(p, file))
			continue;
		a->files[a->n] = i;
		a->paths[a->n++] = sp_profile_string(p, file->path);
	}
	return 0;
}

bool sp_enrich_packages_wanted(const struct sp_profile *p)
{
	uint32_t i;

	for (i = 1; i < sp_profile_n_files(p); i++)
		if (is_asked(p, sp_profile_file(p, i)))
			return true;
	return false;
}

static void asked_done(struct asked *a)
{
	free(a->files);
	free(a->paths);
}

/*
 * A container's file may have the path of another file here. Only paths that a package owns are opened: only root can
 * have mounted a file system there that never answers. Of a deleted file only the file system is known.
 */
static bool is_ours(const struct sp_profile *p, const struct sp_capture *c, uint32_t number)
{
	const struct sp_file *file = sp_profile_file(p, number);
	int fd = c ? sp_capture_file_fd(c, number) : -1;
	const char *path = sp_profile_string(p, file->path);
	struct statx it, here;

	if (!c)
		return true; /* nothing but its path is known */
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &it) ||
	    statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &here))
		return false;
	return it.stx_dev_major == here.stx_dev_major && it.stx_dev_minor == here.stx_dev_minor &&
	       (file->deleted || it.stx_ino == here.stx_ino);
}

/* A deleted file belonged to the package, but its version is not known. */
static int package_set(struct sp_profile *p, uint32_t number, const struct sp_package *package)
{
	struct sp_file *file = sp_profile_file(p, number);
	int64_t name = sp_profile_add_string(p, package->name);
	int64_t version = sp_profile_add_string(p, file->deleted ? "" : package->version);

	if (name < 0 || version < 0)
		return -ENOMEM;
	file->package = (uint32_t)name;
	file->package_version = (uint32_t)version;
	return 0;
}

static int packages_set(struct sp_profile *p, const struct sp_capture *c, const struct asked *a,
			const struct sp_owners *owners)
{
	size_t i;
	int r = 0;

	for (i = 0; !r && i < a->n; i++) {
		struct sp_package package = sp_owners_get(owners, i);

		if (*package.name && is_ours(p, c, a->files[i]))
			r = package_set(p, a->files[i], &package);
		sp_profile_file(p, a->files[i])->owner_known = c != NULL;
	}
	return r;
}

int sp_enrich_packages(struct sp_profile *p, const struct sp_capture *c)
{
	struct sp_owners owners = {0};
	struct asked a = {0};
	int r = asked_make(p, &a);

	if (!r && a.n)
		r = sp_owners_find(a.paths, a.n, &owners);
	if (!r && a.n)
		r = packages_set(p, c, &a, &owners);
	sp_owners_done(&owners);
	asked_done(&a);
	return r;
}

/* --- cgroups --- */
static bool is_nameless(const struct sp_process *process)
{
	return process->cgroup && !process->cgroup_path;
}

/* Each id once for each of its processes. */
static int nameless_ids(const struct sp_profile *p, uint64_t **ret_ids, size_t *ret_n)
{
	uint64_t *ids = calloc(sp_profile_n_processes(p), sizeof(*ids));
	size_t n = 0;

	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 1; i < sp_profile_n_processes(p); i++)
		if (is_nameless(sp_profile_process(p, i)))
			ids[n++] = sp_profile_process(p, i)->cgroup;
	*ret_ids = ids;
	*ret_n = n;
	return 0;
}

/* 1: there is more to look through. A failure finds no more. */
static int walk_on(struct sp_enrich_walk *w, const uint64_t *ids, size_t n)
{
	uint64_t began_ns = sp_time_ns(CLOCK_THREAD_CPUTIME_ID);
	int r = w->cgroups ? 0 : sp_cgroups_begin(ids, n, &w->cgroups);

	if (r >= 0)
		r = sp_cgroups_go_on(w->cgroups, w->pace ? w->n_entries : SIZE_MAX);
	if (r < 0)
		sp_error_clear();
	w->used_ns += sp_time_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	if (w->pace)
		w->pace->again_ns = r > 0 ? UINT64_MAX : sp_time_ns(CLOCK_BOOTTIME) + w->used_ns * WALKING_PART;
	return SP_MAX(r, 0);
}

static int walk_begin(struct sp_enrich_walk *w, const struct sp_profile *p)
{
	SP_FREE uint64_t *ids = NULL;
	size_t n = 0;
	int r = nameless_ids(p, &ids, &n);

	w->n_processes = n ? sp_profile_n_processes(p) : 0;
	if (r < 0 || !n || w->is_over || (w->pace && sp_time_ns(CLOCK_BOOTTIME) < w->pace->again_ns))
		return r;
	return walk_on(w, ids, n);
}

/* Of one that is not found its number. */
static int name_cgroups(struct sp_profile *p, const struct sp_enrich_walk *w)
{
	char missing[64];
	int r = 0;

	for (uint32_t i = 1; r >= 0 && i < w->n_processes; i++) {
		const struct sp_process *process = sp_profile_process(p, i);
		const char *path;

		if (!is_nameless(process))
			continue;
		path = w->cgroups ? sp_cgroups_path(w->cgroups, process->cgroup) : "";
		snprintf(missing, sizeof(missing), "[cgroup %" PRIu64 ", not found]", process->cgroup);
		r = sp_profile_set_cgroup(p, i, *path ? path : missing);
	}
	return r;
}

/* Of those that could not be looked up while sampling. */
int sp_enrich_cgroups(struct sp_profile *p, struct sp_enrich_walk *walk)
{
	struct sp_enrich_walk once = {0}, *w = walk ? walk : &once;
	int r = !w->cgroups ? walk_begin(w, p) : w->is_over ? 0 : walk_on(w, NULL, 0);

	if (r > 0)
		return r;
	if (r == 0)
		r = name_cgroups(p, w);
	sp_enrich_walk_done(w);
	return r;
}

void sp_enrich_walk_done(struct sp_enrich_walk *w)
{
	sp_cgroups_free(sp_take_ptr(w->cgroups));
	w->used_ns = 0;
}
