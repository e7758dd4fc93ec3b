/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libs_label.c: packages of libraries, names of users, and the unit or container of a process. */
#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "cmd/libs/libs.h"
#include "naming/owners.h"
#include "proc/dpkg_log.h"
#include "proc/process.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CONTAINER_ID = 32, SHORT_ID = 12 }; /* hex digits in a row that are an id, and those shown of it */

const char *sp_libs_keep(struct sp_libs *l, const char *text)
{
	int64_t number = sp_intern_add(l->strings, text, strlen(text));

	return number < 0 ? NULL : sp_intern_get(l->strings, (uint32_t)number, NULL);
}

double sp_libs_percent(const struct sp_libs *l, int64_t samples)
{
	return l->n_samples ? 100.0 * (double)samples / (double)l->n_samples : 0;
}

/*
 * --- packages ---
 * Only files that lie where our own package managers install are theirs: those of a container are another's, of which
 * there is only what the file itself says. The databases know the version of now: that is the mapped build's only where
 * that build still lies there. Else the file's own note tells it, or dpkg's log of when the file was replaced.
 */
bool sp_libs_is_same(const struct sp_libs_file *f)
{
	return f->has_disk && f->disk_id_len && f->disk_id_len == f->build_id_len &&
	       !memcmp(f->disk_id, f->build_id, f->disk_id_len);
}

static int word_set(struct sp_libs *l, const char **word, const char *text)
{
	const char *kept = text && *text && !**word ? sp_libs_keep(l, text) : *word;

	if (!kept)
		return -ENOMEM;
	*word = kept;
	return 0;
}

static struct sp_libs_library *library_of(const struct sp_libs *l, size_t file)
{
	return l->files[file].library == UINT32_MAX ? NULL : &l->libraries[l->files[file].library];
}

static int take_owner(struct sp_libs *l, size_t i, const struct sp_package *package)
{
	struct sp_libs_file *f = &l->files[i];
	struct sp_libs_library *lib = library_of(l, i);
	int r = lib && *package->name ? word_set(l, &lib->package, package->name) : 0;

	if (r < 0 || !lib || !*package->name)
		return r;
	if (f->state == SP_LIBS_CURRENT || sp_libs_is_same(f))
		r = word_set(l, &lib->version, package->version);
	if (r >= 0 && f->state == SP_LIBS_REPLACED) {
		f->disk_version = sp_libs_keep(l, package->version);
		r = f->disk_version ? 0 : -ENOMEM;
	}
	return r;
}

/* A version is of the package that the note names: a database may call it otherwise. */
static int take_note(struct sp_libs *l, size_t i)
{
	const struct sp_libs_file *f = &l->files[i];
	struct sp_libs_library *lib = library_of(l, i);
	int r = lib && f->package ? word_set(l, &lib->package, f->package) : 0;

	if (r < 0 || !lib || !f->package || strcmp(lib->package, f->package) != 0)
		return r;
	return word_set(l, &lib->version, f->version);
}

static int take_log(struct sp_libs *l, size_t i, const struct sp_package *package)
{
	const struct sp_libs_file *f = &l->files[i];
	struct sp_libs_library *lib = library_of(l, i);
	char version[SP_DPKG_VERSION_BYTES];

	if (!lib || *lib->version || !*package->name || !f->unlinked_ns ||
	    sp_dpkg_log_replaced(NULL, package->name, package->arch, f->unlinked_ns, version) < 0)
		return 0;
	return word_set(l, &lib->version, version);
}

static int look_up_packages(struct sp_libs *l)
{
	size_t n = l->mapped->n_files;
	SP_FREE const char **paths = calloc(n + 1, sizeof(*paths));
	struct sp_owners owners = {0};
	int r;

	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		paths[i] = l->files[i].is_ours && l->files[i].path ? l->files[i].path : "";
	r = sp_owners_find(paths, n, &owners);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct sp_package package = sp_owners_get(&owners, i);
		r = take_owner(l, i, &package);
	}
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = take_note(l, i);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct sp_package package = sp_owners_get(&owners, i);
		r = take_log(l, i, &package);
	}
	sp_owners_done(&owners);
	return r;
}

/* --- users: each asked for once --- */
static int look_up_users(struct sp_libs *l)
{
	const struct sp_mapped *m = l->mapped;

	for (size_t i = 0; i < m->n_processes; i++) {
		char name[64];
		size_t same = 0;
		while (m->processes[same].uid != m->processes[i].uid)
			same++;
		if (same < i) {
			l->users[i] = l->users[same];
			continue;
		}
		sp_process_user_name(m->processes[i].uid, name, sizeof(name));
		l->users[i] = sp_libs_keep(l, name);
		if (!l->users[i])
			return -ENOMEM;
	}
	return 0;
}

/* --- where: docker-0123...cdef.scope -> docker-0123456789ab, ssh.service as it is --- */
static void shorten(char *name)
{
	char *suffix = strstr(name, ".scope");
	size_t hex = 0;

	for (char *c = name; *c; c++) {
		hex = isxdigit((unsigned char)*c) ? hex + 1 : 0;
		if (hex != CONTAINER_ID)
			continue;
		c[1 - CONTAINER_ID + SHORT_ID] = 0;
		return;
	}
	if (suffix && !suffix[6])
		*suffix = 0;
}

static const char *place_of(struct sp_libs *l, const char *cgroup)
{
	const char *slash = strrchr(cgroup, '/');
	SP_FREE char *name = strdup(slash ? slash + 1 : cgroup);

	if (!name)
		return NULL;
	/* The cgroup of a program inside a container, or init's own. */
	if (!strcmp(name, "init.scope") && slash && slash > cgroup + 1) {
		free(sp_take_ptr(name));
		name = strndup(cgroup, (size_t)(slash - cgroup));
		return name ? place_of(l, name) : NULL;
	}
	shorten(name);
	return sp_libs_keep(l, name);
}

int sp_libs_label(struct sp_libs *l)
{
	size_t n = l->mapped->n_processes;
	int r = look_up_packages(l);

	l->users = calloc(n + 1, sizeof(*l->users));
	l->places = calloc(n + 1, sizeof(*l->places));
	if (r < 0 || !l->users || !l->places)
		return r < 0 ? r : -ENOMEM;
	r = look_up_users(l);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		l->places[i] = place_of(l, l->mapped->processes[i].cgroup);
		r = l->places[i] ? 0 : -ENOMEM;
	}
	return r;
}

/* --- who uses a library --- */
struct tally {
	const char *name;
	uint32_t n;
};

static int compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return SP_FALLING(x->n, y->n) ?: strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct tally *)a)->name, ((const struct tally *)b)->name);
}

static size_t tally_up(const struct sp_libs *l, const struct sp_libs_library *lib, bool comms, struct tally *tallies)
{
	size_t n = 0;

	for (size_t i = 0; i < lib->n_uses; i++) {
		uint32_t process = l->uses[lib->first_use + i].process;
		tallies[i] = (struct tally){comms ? l->mapped->processes[process].comm : l->users[process], 1};
	}
	if (lib->n_uses)
		qsort(tallies, lib->n_uses, sizeof(*tallies), compare_names);
	for (size_t i = 0; i < lib->n_uses; i++) {
		if (n && !strcmp(tallies[n - 1].name, tallies[i].name))
			tallies[n - 1].n++;
		else
			tallies[n++] = tallies[i];
	}
	if (n)
		qsort(tallies, n, sizeof(*tallies), compare_tallies);
	return n;
}

int sp_libs_who(const struct sp_libs *l, const struct sp_libs_library *lib, bool comms, char **ret_text)
{
	SP_FREE struct tally *tallies = calloc(lib->n_uses + 1, sizeof(*tallies));
	size_t n = tallies ? tally_up(l, lib, comms, tallies) : 0, size;
	char *text = NULL;
	FILE *out = tallies ? open_memstream(&text, &size) : NULL;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%s%s", i ? ", " : "", tallies[i].name);
		if (tallies[i].n > 1)
			fprintf(out, " %u", tallies[i].n);
	}
	if (fclose(out)) {
		free(text);
		return -ENOMEM;
	}
	*ret_text = text;
	return 0;
}
