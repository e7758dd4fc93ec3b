/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/package.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 16 << 10, FILE_MAX_BYTES = 1 << 30 };

/* Numbers of strings; 0 = "". */
struct diversion {
	uint32_t to, by; /* the canonical path for others' files; the package whose own files stay */
};
struct known {
	uint32_t name, version, arch;
};

struct sp_packages {
	const char *dpkg_dir;
	struct sp_intern *strings;
	struct sp_intern *wanted;     /* canonical paths */
	uint32_t *owners;             /* by number in wanted: 1 + number in packages, 0 = none so far */
	uint32_t *of_path;            /* by index of the path asked for: number in wanted */
	struct sp_intern *diverted;   /* canonical paths */
	struct diversion *diversions; /* by number in diverted */
	size_t diversion_capacity;
	struct sp_intern *packages; /* dpkg's names ("libc6:amd64") of packages that own something */
	struct known *known;        /* by number in packages */
	size_t known_capacity;
	uint64_t n_skipped;
};

/* --- lines --- */
struct lines {
	FILE *file;
	uint64_t n_read, n_bad;
	char line[LINE_BYTES];
};

/* The next line, without its newline; those that are too long, or have a NUL in them, are left out. */
static bool next_line(struct lines *l)
{
	size_t len = 0;
	bool is_bad = false;

	for (int c = 0; c != EOF && l->n_read < FILE_MAX_BYTES; l->n_read++) {
		c = getc_unlocked(l->file);
		if (c == EOF && !len && !is_bad)
			break;
		if (c != '\n' && c != EOF) {
			is_bad |= !c || len == sizeof(l->line) - 1;
			l->line[len] = (char)c;
			len += !is_bad;
			continue;
		}
		l->line[len] = '\0';
		if (!is_bad)
			return true;
		l->n_bad++;
		len = 0;
		is_bad = false;
	}
	return false;
}

static int open_lines(const struct sp_packages *p, struct lines *l, const char *name)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", p->dpkg_dir, name) >= sizeof(path))
		return sp_fail(-ENAMETOOLONG, "open %s/%s", p->dpkg_dir, name);
	l->n_read = l->n_bad = 0;
	l->file = fopen(path, "re");
	return !l->file ? sp_fail(-errno, "open %s", path) : 0;
}

/* --- paths --- */
const char *sp_path_canonical(const char *path)
{
	static const char *const merged[] = {"bin/", "sbin/", "lib/", "lib32/", "lib64/", "libo32/", "libx32/"};

	if (strncmp(path, "/usr/", 5) != 0)
		return path;
	for (size_t i = 0; i < SP_COUNT(merged); i++)
		if (strncmp(path + 5, merged[i], strlen(merged[i])) == 0)
			return path + 4;
	return path;
}

static int64_t add_word(struct sp_intern *t, const char *word)
{
	return sp_intern_add(t, word, strlen(word));
}

static int want_paths(struct sp_packages *p, const char *const *paths, size_t n)
{
	p->of_path = calloc(n + 1, sizeof(*p->of_path));
	p->owners = calloc(n + 1, sizeof(*p->owners));
	if (!p->of_path || !p->owners)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int64_t number = add_word(p->wanted, sp_path_canonical(paths[i]));
		if (number < 0)
			return (int)number;
		p->of_path[i] = (uint32_t)number;
	}
	return 0;
}

/* --- diversions: three lines each: from, to, by (":" = the administrator) --- */
static int add_diversion(struct sp_packages *p, const uint32_t words[3])
{
	const char *from = sp_intern_get(p->strings, words[0], NULL);
	int64_t at = add_word(p->diverted, from);

	if (at < 0)
		return (int)at;
	int r = sp_grow(&p->diversions, &p->diversion_capacity, (size_t)at + 1, sizeof(*p->diversions));
	if (r == 0)
		p->diversions[at] = (struct diversion){.to = words[1], .by = words[2]};
	return r;
}

static int read_diversions(struct sp_packages *p, struct lines *l)
{
	SP_FCLOSE FILE *file = NULL;
	uint32_t words[3];
	int r = open_lines(p, l, "diversions");

	if (r == -ENOENT) {
		sp_error_clear();
		return 0;
	}
	file = r == 0 ? l->file : NULL;
	for (size_t n = 0; r == 0 && next_line(l) && !l->n_bad; n = (n + 1) % 3) { /* a line less: what means what? */
		int64_t word = add_word(p->strings, sp_path_canonical(l->line));
		words[n] = (uint32_t)word;
		if (word < 0)
			r = (int)word;
		else if (n == 2)
			r = add_diversion(p, words);
	}
	p->n_skipped += l->n_bad;
	return r;
}

/* --- lists: info/PACKAGE.list or info/PACKAGE:ARCH.list --- */
static bool is_package(const char *name, const char *package)
{
	size_t len = strlen(package);

	return strncmp(name, package, len) == 0 && (name[len] == '\0' || name[len] == ':');
}

/* Where a package's file with this canonical path really is. */
static const char *diverted(const struct sp_packages *p, const char *path, const char *package)
{
	int64_t at = sp_intern_find(p->diverted, path, strlen(path));

	if (at < 0 || is_package(package, sp_intern_get(p->strings, p->diversions[at].by, NULL)))
		return path;
	return sp_intern_get(p->strings, p->diversions[at].to, NULL);
}

/* If packages of several architectures share a file, the first by name owns it. */
static int own(struct sp_packages *p, uint32_t wanted, const char *package)
{
	uint32_t *owner = &p->owners[wanted];

	if (*owner != 0 && strcmp(sp_intern_get(p->packages, *owner - 1, NULL), package) <= 0)
		return 0;
	int64_t number = add_word(p->packages, package);
	if (number < 0)
		return (int)number;
	*owner = (uint32_t)number + 1;
	return sp_grow(&p->known, &p->known_capacity, (size_t)number + 1, sizeof(*p->known));
}

static int read_list(struct sp_packages *p, struct lines *l, const char *file_name, const char *package)
{
	SP_FCLOSE FILE *file = NULL;
	char path[NAME_MAX + 16];

	(void)snprintf(path, sizeof(path), "info/%s", file_name);
	if (open_lines(p, l, path) < 0) {
		sp_error_clear();
		p->n_skipped++;
		return 0;
	}
	file = l->file;
	int r = 0;
	while (r == 0 && next_line(l)) {
		const char *at = diverted(p, sp_path_canonical(l->line), package);
		int64_t wanted = sp_intern_find(p->wanted, at, strlen(at));
		if (wanted >= 0)
			r = own(p, (uint32_t)wanted, package);
	}
	p->n_skipped += l->n_bad + (ferror(file) != 0);
	return r;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int read_lists(struct sp_packages *p, struct lines *l)
{
	char path[PATH_MAX], package[NAME_MAX + 1];
	int r = 0;

	(void)snprintf(path, sizeof(path), "%s/info", p->dpkg_dir);
	__attribute__((cleanup(close_dir))) DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : sp_fail(-errno, "open %s", path);
	for (const struct dirent *e; r == 0 && (e = readdir(dir));) {
		size_t len = strlen(e->d_name);
		if (len <= 5 || strcmp(e->d_name + len - 5, ".list") != 0)
			continue;
		(void)snprintf(package, sizeof(package), "%.*s", (int)len - 5, e->d_name);
		r = read_list(p, l, e->d_name, package);
	}
	return r;
}

/* --- versions: the stanzas of the status file --- */
struct stanza {
	char name[256], version[256], arch[64];
	bool is_installed;
};

static int take_stanza(struct sp_packages *p, const struct stanza *s)
{
	char full[sizeof(s->name) + sizeof(s->arch)];

	(void)snprintf(full, sizeof(full), "%s:%s", s->name, s->arch);
	int64_t number = sp_intern_find(p->packages, full, strlen(full));
	if (number < 0)
		number = sp_intern_find(p->packages, s->name, strlen(s->name));
	if (number < 0 || !s->is_installed)
		return 0;
	int64_t name = add_word(p->strings, s->name), version = add_word(p->strings, s->version);
	int64_t arch = add_word(p->strings, s->arch);
	if (name < 0 || version < 0 || arch < 0)
		return -ENOMEM;
	p->known[number] = (struct known){.name = (uint32_t)name, .version = (uint32_t)version, .arch = (uint32_t)arch};
	return 0;
}

static bool field(const char *line, const char *name, char *value, size_t size)
{
	size_t len = strlen(name);

	if (strncmp(line, name, len) != 0)
		return false;
	(void)snprintf(value, size, "%s", line + len);
	return true;
}

static void package_take_line(struct stanza *s, const char *line)
{
	char status[128];

	if (field(line, "Status: ", status, sizeof(status)))
		s->is_installed = !strstr(status, " not-installed") && !strstr(status, " config-files");
	else if (!field(line, "Package: ", s->name, sizeof(s->name)) &&
		 !field(line, "Version: ", s->version, sizeof(s->version)))
		(void)field(line, "Architecture: ", s->arch, sizeof(s->arch));
}

static int read_status(struct sp_packages *p, struct lines *l)
{
	SP_FCLOSE FILE *file = NULL;
	struct stanza s = {0};
	int r = sp_intern_count(p->packages) > 0 ? open_lines(p, l, "status") : -ENOENT;

	if (r == -ENOENT) {
		sp_error_clear();
		return 0;
	}
	file = r == 0 ? l->file : NULL;
	while (r == 0 && next_line(l)) {
		package_take_line(&s, l->line);
		if (l->line[0] != '\0')
			continue;
		r = take_stanza(p, &s);
		s = (struct stanza){0};
	}
	p->n_skipped += l->n_bad;
	return r == 0 ? take_stanza(p, &s) : r;
}

/* --- the question --- */
static int make_tables(struct sp_packages *p)
{
	struct sp_intern **const tables[] = {&p->strings, &p->wanted, &p->diverted, &p->packages};
	int r = 0;

	for (size_t i = 0; i < SP_COUNT(tables) && r == 0; i++)
		r = sp_intern_new(tables[i]);
	return r == 0 && add_word(p->strings, "") < 0 ? -ENOMEM : r;
}

int sp_packages_find(const char *dpkg_dir, const char *const *paths, size_t n_paths, struct sp_packages **ret_packages)
{
	SP_FREE struct lines *lines = malloc(sizeof(*lines));
	struct sp_packages *p = calloc(1, sizeof(*p));
	int r = !lines || !p ? -ENOMEM : make_tables(p);

	if (r == 0) {
		p->dpkg_dir = !dpkg_dir ? "/var/lib/dpkg" : dpkg_dir;
		r = want_paths(p, paths, n_paths);
	}
	if (r == 0)
		r = read_diversions(p, lines);
	if (r == 0)
		r = read_lists(p, lines);
	if (r == 0)
		r = read_status(p, lines);
	if (r < 0) {
		sp_packages_free(p);
		return r;
	}
	*ret_packages = p;
	return 0;
}

void sp_packages_free(struct sp_packages *p)
{
	if (!p)
		return;
	sp_intern_free(p->strings);
	sp_intern_free(p->wanted);
	sp_intern_free(p->diverted);
	sp_intern_free(p->packages);
	free(p->owners);
	free(p->of_path);
	free(p->diversions);
	free(p->known);
	free(p);
}

struct sp_package sp_packages_get(const struct sp_packages *p, size_t i)
{
	uint32_t owner = p->owners[p->of_path[i]];

	if (owner == 0)
		return (struct sp_package){.name = "", .version = "", .arch = ""};
	const struct known *k = &p->known[owner - 1];
	/* without a stanza in the status file the name is at least dpkg's own */
	const char *name =
	    sp_intern_get(k->name != 0 ? p->strings : p->packages, k->name != 0 ? k->name : owner - 1, NULL);
	return (struct sp_package){.name = name,
				   .version = sp_intern_get(p->strings, k->version, NULL),
				   .arch = sp_intern_get(p->strings, k->arch, NULL)};
}

uint64_t sp_packages_n_skipped(const struct sp_packages *p)
{
	return p->n_skipped;
}
