/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_comments.c: our own view's comments, which tell of mappings to which packages they belonged where they were
 * seen: "#soprof: package NAME VERSION BUILD-ID PATH", in place of what is not known "-".
 *
 * Other comments are people's, and kept in sp_profile_info.
 */
#include "read/pprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"

static const char prefix[] = "#soprof: package ";

int pprof_add_comment(struct pprof *r, uint64_t string)
{
	int e = sp_grow(&r->comments, &r->comments_capacity, r->n_comments + 1, sizeof(*r->comments));

	if (e >= 0)
		r->comments[r->n_comments++] = pprof_string_index(string);
	return e;
}

/* Several, packed. */
int pprof_add_comments(struct pprof *r, struct sp_cursor c)
{
	int e = 0;

	while (e >= 0 && sp_cursor_left(&c)) {
		uint64_t string = sp_cursor_uleb(&c);

		if (!c.bad)
			e = pprof_add_comment(r, string);
	}
	return e;
}

struct packages {
	struct sp_intern *keys; /* "BUILD-ID PATH" */
	struct package *of;     /* by number of the key */
	size_t of_capacity;
};
struct package {
	uint32_t name, version; /* strings of the profile */
};

/* The next word of a comment, "" for "-". */
static int64_t take_word(struct pprof *r, const char **at)
{
	size_t n = strcspn(*at, " ");
	const char *word = *at;

	*at += n + (word[n] == ' ');
	return n == 1 && *word == '-' ? 0 : sp_profile_add_bytes(r->p, word, n);
}

static int take_comment(struct pprof *r, struct packages *x, uint32_t string)
{
	const char *text = string < r->n_strings ? sp_profile_string(r->p, r->strings[string]) : "";
	int64_t name, version, key;
	int e;

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return 0;
	text += strlen(prefix);
	name = take_word(r, &text);
	version = name < 0 ? name : take_word(r, &text);
	key = version < 0 ? version : sp_intern_add(x->keys, text, strlen(text));
	if (key < 0)
		return (int)key;
	e = sp_grow(&x->of, &x->of_capacity, (size_t)key + 1, sizeof(*x->of));
	if (e >= 0)
		x->of[key] = (struct package){.name = (uint32_t)name, .version = name ? (uint32_t)version : 0};
	return e;
}

static int64_t find(struct pprof *r, const struct packages *x, const struct pprof_mapping *m)
{
	/* both were looked up when the mapping was made a file */
	const char *build_id = m->build_id < r->n_strings ? sp_profile_string(r->p, r->strings[m->build_id]) : "";
	const char *path = m->filename < r->n_strings ? sp_profile_string(r->p, r->strings[m->filename]) : "";
	char *key SP_FREE = NULL;

	if (asprintf(&key, "%s %s", *build_id ? build_id : "-", path) < 0)
		return -ENOMEM;
	return sp_intern_find(x->keys, key, strlen(key));
}

static int tell(struct pprof *r, const struct packages *x, const struct pprof_mapping *m)
{
	struct sp_file *file = sp_profile_file(r->p, m->file);
	int64_t key = file->kind == SP_FILE_ELF ? find(r, x, m) : -ENOENT;

	if (key < 0)
		return key == -ENOENT ? 0 : (int)key;
	file->owner_known = true;
	file->package = x->of[key].name;
	file->package_version = x->of[key].version;
	return 0;
}

static int resolve_packages(struct pprof *r)
{
	struct packages x = {0};
	int e = sp_intern_new(&x.keys);

	for (size_t i = 0; i < r->n_comments && e >= 0; i++)
		e = take_comment(r, &x, r->comments[i]);
	for (size_t i = 0; i < r->mappings.n && e >= 0; i++)
		e = tell(r, &x, (const struct pprof_mapping *)r->mappings.items + i);
	sp_intern_free(x.keys);
	free(x.of);
	return e;
}

/* In their order, as words without a name. */
static int keep_comments(struct pprof *r)
{
	struct sp_label *kept SP_FREE = calloc(r->n_comments, sizeof(*kept));
	int64_t set;
	size_t n = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_comments; i++) {
		uint32_t word = r->comments[i] < r->n_strings ? r->strings[r->comments[i]] : 0;

		if (word && strncmp(sp_profile_string(r->p, word), prefix, strlen(prefix)) != 0)
			kept[n++] = (struct sp_label){.word = word};
	}
	set = sp_profile_add_labels(r->p, kept, n);
	if (set < 0)
		return (int)set;
	sp_profile_info(r->p)->comments = (uint32_t)set;
	return 0;
}

int pprof_resolve_comments(struct pprof *r)
{
	int e = r->n_comments ? resolve_packages(r) : 0;

	return e >= 0 && r->n_comments ? keep_comments(r) : e;
}
