/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_comments.c: our own view's comments. They keep the packages of mappings on the machine where they were sampled:
 * "#soprof: package NAME VERSION BUILD-ID PATH", "-" for an unknown word; the names of libraries that are not the end
 * of their path: "#soprof: soname NAME BUILD-ID PATH"; and the length of slices: "#soprof: slice NANOSECONDS".
 *
 * All other comments are kept in sp_profile_info.
 */
#include "read/pprof/pprof.h"

#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ours[] = "#soprof: ", package[] = "package ", soname[] = "soname ", slice[] = "slice ";

static bool begins(const char **text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*text, word, n) != 0)
		return false;
	*text += n;
	return true;
}

/* The text behind our prefix; NULL: another comment. */
static const char *is_ours(const char *text)
{
	const char *rest = begins(&text, ours) ? text : "";

	return begins(&rest, package) || begins(&rest, soname) || begins(&rest, slice) ? text : NULL;
}

int pprof_add_comment(struct pprof *r, uint64_t string)
{
	int e = sp_grow(&r->comments, &r->comments_capacity, r->n_comments + 1, sizeof(*r->comments));

	if (e >= 0)
		r->comments[r->n_comments++] = pprof_string_index(string);
	return e;
}

/* Several comment fields, packed. */
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

struct package {
	uint32_t package, version, soname; /* strings of the profile; 0 = not said, or "-" */
	bool owner_known;
};
struct mappings {
	struct sp_intern *keys; /* "BUILD-ID PATH" */
	struct package *of;     /* by number of the key */
	size_t of_capacity;
};

/* The next word of a comment, "" for "-". */
static int64_t pprof_comments_take_word(struct pprof *r, const char **at)
{
	size_t n = strcspn(*at, " ");
	const char *word = *at;

	*at += n + (word[n] == ' ');
	return n == 1 && *word == '-' ? 0 : sp_profile_add_bytes(r->p, word, n);
}

static int64_t add_key(struct mappings *x, const char *key)
{
	return sp_intern_add_to(x->keys, key, strlen(key), &x->of, &x->of_capacity, sizeof(*x->of), NULL);
}

static int take_package(struct pprof *r, struct mappings *x, const char *text)
{
	int64_t name = pprof_comments_take_word(r, &text),
		version = name < 0 ? name : pprof_comments_take_word(r, &text);
	int64_t key = version < 0 ? version : add_key(x, text);

	if (key < 0)
		return (int)key;
	x->of[key].owner_known = true;
	x->of[key].package = (uint32_t)name;
	x->of[key].version = name ? (uint32_t)version : 0;
	return 0;
}

static int take_soname(struct pprof *r, struct mappings *x, const char *text)
{
	int64_t name = pprof_comments_take_word(r, &text), key = name < 0 ? name : add_key(x, text);

	if (key < 0)
		return (int)key;
	x->of[key].soname = (uint32_t)name;
	return 0;
}

static int take_comment(struct pprof *r, struct mappings *x, uint32_t string)
{
	const char *text = is_ours(string < r->n_strings ? sp_profile_string(r->p, r->strings[string]) : "");

	if (!text)
		return 0;
	if (begins(&text, slice)) {
		sp_profile_info(r->p)->slice_ns = strtoull(text, NULL, 10);
		return 0;
	}
	return begins(&text, package) ? take_package(r, x, text) : take_soname(r, x, text + strlen(soname));
}

static int64_t pprof_comments_find_key(struct pprof *r, const struct mappings *x, const struct pprof_mapping *m)
{
	/* both strings were resolved with the mapping */
	const char *build_id = m->build_id < r->n_strings ? sp_profile_string(r->p, r->strings[m->build_id]) : "";
	const char *path = m->filename < r->n_strings ? sp_profile_string(r->p, r->strings[m->filename]) : "";
	char *key SP_FREE = NULL;

	if (asprintf(&key, "%s %s", *build_id ? build_id : "-", path) < 0)
		return -ENOMEM;
	return sp_intern_find(x->keys, key, strlen(key));
}

static int pprof_comments_set_file(struct pprof *r, const struct mappings *x, const struct pprof_mapping *m)
{
	struct sp_file *file = sp_profile_file(r->p, m->file);
	int64_t key = file->kind == SP_FILE_ELF ? pprof_comments_find_key(r, x, m) : -ENOENT;

	if (key < 0)
		return key == -ENOENT ? 0 : (int)key;
	file->owner_known |= x->of[key].owner_known;
	file->package = x->of[key].package;
	file->package_version = x->of[key].version;
	file->name = x->of[key].soname ? x->of[key].soname : file->name;
	return 0;
}

static int resolve_ours(struct pprof *r)
{
	struct mappings x = {0};
	int e = sp_intern_new(&x.keys);

	for (size_t i = 0; i < r->n_comments && e >= 0; i++)
		e = take_comment(r, &x, r->comments[i]);
	for (size_t i = 0; i < r->mappings.n && e >= 0; i++)
		e = pprof_comments_set_file(r, &x, (const struct pprof_mapping *)r->mappings.items + i);
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

		if (word && !is_ours(sp_profile_string(r->p, word)))
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
	int e = r->n_comments ? resolve_ours(r) : 0;

	return e >= 0 && r->n_comments ? keep_comments(r) : e;
}
