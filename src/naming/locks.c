/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "naming/locks.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "capture/objects.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "profile/window.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct lock_names {
	struct sp_naming *naming;
	struct sp_lock_place *places; /* by file and address, each once */
	size_t n;
	uint32_t *words; /* by string: the lock's name, 0 = none */
	size_t n_words;
	bool any;
};

/* --- one file's question --- */
static int data_came(struct sp_naming *n, int r);

static int data_ask(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;
	int debug_fd = sp_named_file(n, w->file)->debug_fd;

	(void)r;
	sp_naming_then(n, data_came);
	return sp_naming_asked(
	    n, sp_workers_data_names(n->workers, w->fd, debug_fd, w->offsets, w->n, sp_naming_named, w));
}

static int data_came(struct sp_naming *n, int r)
{
	return sp_naming_debug_failed(n, r) ? data_ask(n, 0) : r;
}

/* --- from places to names --- */
static int place_compare(const void *a, const void *b)
{
	const struct sp_lock_place *x = a, *y = b;

	return SP_RISING(x->file, y->file) ?: SP_RISING(x->at, y->at) ?: SP_RISING(x->word, y->word);
}

static int places_take(struct lock_names *l)
{
	size_t n;
	const struct sp_lock_place *places = sp_capture_lock_places(l->naming->capture, &n);

	l->places = calloc(n + 1, sizeof(*l->places));
	if (!l->places)
		return -ENOMEM;
	if (!n)
		return 0;
	memcpy(l->places, places, n * sizeof(*places));
	qsort(l->places, n, sizeof(*l->places), place_compare);
	for (size_t i = 0; i < n; i++)
		if (!l->n || place_compare(&l->places[l->n - 1], &l->places[i]))
			l->places[l->n++] = l->places[i];
	return 0;
}

/* LIBRARY+0xADDRESS becomes LIBRARY:NAME. */
static int word_put(struct lock_names *l, const struct sp_lock_place *place, const struct sp_name *name)
{
	struct sp_profile *p = l->naming->profile;
	const char *old = sp_profile_string(p, place->word), *plus = strrchr(old, '+');
	SP_FREE char *text = NULL;
	int64_t word;
	int n;

	if (!name->name || !plus)
		return 0;
	n = asprintf(&text, place->at == name->start ? "%.*s:%s" : "%.*s:%s+0x%" PRIx64, (int)(plus - old), old,
		     name->name, place->at - name->start);
	word = n < 0 ? -ENOMEM : sp_profile_add_string(p, text);
	if (word < 0)
		return (int)word;
	l->words[place->word] = (uint32_t)word;
	l->any = true;
	return 0;
}

/* The places are all of one file. */
static int file_name_locks(struct lock_names *l, const struct sp_lock_place *places, size_t n)
{
	SP_FREE uint64_t *addresses = calloc(n, sizeof(*addresses));
	SP_FREE struct sp_name *names = calloc(n, sizeof(*names));
	int r;

	if (!addresses || !names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		addresses[i] = places[i].at;
	r = sp_naming_begin(l->naming, &(struct sp_name_question){places->file, addresses, n, names},
			    sp_naming_by_debug);
	if (r < 0)
		return r;
	l->naming->work->ask = data_ask;
	sp_naming_wait(l->naming);
	if (sp_naming_end(l->naming) < 0) {
		sp_error_clear();
		return 0;
	}
	for (size_t i = 0; i < n && !r; i++)
		r = word_put(l, &places[i], &names[i]);
	sp_names_done(names, n);
	return r;
}

static int files_name_locks(struct lock_names *l)
{
	int r = 0;

	for (size_t i = 0, end; r >= 0 && i < l->n; i = end) {
		for (end = i + 1; end < l->n && l->places[end].file == l->places[i].file;)
			end++;
		r = file_name_locks(l, l->places + i, end - i);
	}
	return r;
}

/* --- into the rows --- */
/* A key with the names; itself if it has no such lock. */
static int64_t key_renamed(const struct lock_names *l, uint32_t number)
{
	struct sp_profile *p = l->naming->profile;
	struct sp_key key = *sp_profile_key(p, number);
	size_t n;
	const struct sp_label *labels = sp_profile_labels(p, key.labels, &n);
	SP_FREE struct sp_label *renamed = calloc(n + 1, sizeof(*renamed));
	bool any = false;
	int64_t set;

	if (!renamed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t word = labels[i].word < l->n_words ? l->words[labels[i].word] : 0;

		renamed[i] = labels[i];
		if (word)
			renamed[i].word = word;
		any |= word != 0;
	}
	set = any ? sp_profile_add_labels(p, renamed, n) : 0;
	if (!any || set < 0)
		return any ? set : number;
	key.labels = (uint32_t)set;
	return sp_profile_add_key(p, &key);
}

static int rows_rename(const struct lock_names *l)
{
	struct sp_profile *p = l->naming->profile;
	struct sp_profile_rows rows = sp_profile_take_rows(p);
	size_t row_bytes = rows.n ? rows.bytes / rows.n : 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < rows.n; i++) {
		const struct sp_row *row = (const void *)((const char *)rows.rows + i * row_bytes);
		int64_t key = key_renamed(l, row->key);

		r = key < 0 ? (int)key : sp_profile_add(p, (uint32_t)key, row->user, row->kernel, row->values);
	}
	sp_profile_rows_done(&rows);
	return r;
}

int sp_name_locks(struct sp_naming *n)
{
	struct lock_names l = {.naming = n};
	int r = places_take(&l);

	if (!r && l.n) {
		for (size_t i = 0; i < l.n; i++)
			l.n_words = SP_MAX(l.n_words, (size_t)l.places[i].word + 1);
		l.words = calloc(l.n_words, sizeof(*l.words));
		r = l.words ? files_name_locks(&l) : -ENOMEM;
		if (!r && l.any)
			r = rows_rename(&l);
	}
	free(l.places);
	free(l.words);
	return r;
}
