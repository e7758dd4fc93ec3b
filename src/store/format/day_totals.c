/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/sums.h"

#include "base/mem.h"
#include "base/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sp_day_totals_init(struct sp_day_totals *d, uint32_t n_values)
{
	int r = 0;

	memset(d, 0, sizeof(*d));
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		d->next[i] = 1;
	for (size_t i = 0; i < SP_FRAMES && r == 0; i++)
		r = sp_id_map_init(&d->ids[i]);
	r = r < 0 ? r : sp_id_map_init(&d->account_ids);
	sp_chunk_clear(&d->chunk, d->next);
	d->sums.n_values = n_values;
	return r;
}

void sp_day_totals_done(struct sp_day_totals *d)
{
	for (size_t i = 0; i < SP_FRAMES; i++)
		sp_id_map_done(&d->ids[i]);
	sp_id_map_done(&d->account_ids);
	sp_chunk_done(&d->chunk);
	sp_sums_done(&d->sums);
}

static int64_t day_totals_intern(struct sp_day_totals *d, enum sp_dict_kind kind, const void *item, size_t len)
{
	return sp_chunk_intern(&d->chunk, kind, &d->ids[kind], &d->next[kind], item, len, item);
}

static int translate_string(struct sp_day_totals *d, const struct sp_dict *dict, uint32_t *string)
{
	const char *s = sp_dict_string(dict, *string);
	int64_t n = *string == 0 ? 0 : day_totals_intern(d, SP_STRINGS, s, strlen(s));

	*string = n < 0 ? 0 : (uint32_t)n;
	return n < 0 ? (int)n : 0;
}

/* --- names: from numbers of the dictionary to numbers of the totals --- */
struct translation {
	struct sp_day_totals *d;
	const struct sp_dict *dict;
	uint32_t *files; /* by number of the dictionary: translated before; 0: not yet */
};

/* Only what charts and tables show of a library: its identity and its origin. */
static int64_t intern_file(struct translation *t, uint32_t number)
{
	const struct sp_file *from = &t->dict->files[number];
	struct sp_file f;

	memset(&f, 0, sizeof(f)); /* padding included, because the bytes are hashed */
	f.kind = from->kind, f.build_id_len = from->build_id_len;
	memcpy(f.build_id, from->build_id, sizeof(f.build_id));
	f.name = from->name, f.path = from->path, f.build_id_text = from->build_id_text;
	f.package = from->package, f.package_version = from->package_version;
	uint32_t *const strings[] = {&f.name, &f.path, &f.build_id_text, &f.package, &f.package_version};
	for (size_t i = 0; i < SP_COUNT(strings); i++)
		if (translate_string(t->d, t->dict, strings[i]) < 0)
			return -ENOMEM;
	return day_totals_intern(t->d, SP_FILES, &f, sizeof(f));
}

static int64_t translate_file(struct translation *t, uint32_t number)
{
	uint32_t from = number < t->dict->n_files ? number : 0;

	if (from == 0 || t->files[from] != 0)
		return t->files[from];
	int64_t n = intern_file(t, from);
	t->files[from] = n < 0 ? 0 : (uint32_t)n;
	return n;
}

/* Functions of the same name and file get one number, so that their totals are added up. */
static int64_t translate_func(struct translation *t, uint32_t number)
{
	uint32_t from = number < t->dict->n_funcs ? number : 0;
	struct sp_func f;

	if (from == 0)
		return 0;
	memset(&f, 0, sizeof(f));
	f.name = t->dict->funcs[from].name, f.is_range = t->dict->funcs[from].is_range;
	int64_t file = translate_file(t, t->dict->funcs[from].file);
	if (file < 0 || translate_string(t->d, t->dict, &f.name) < 0)
		return -ENOMEM;
	f.file = (uint32_t)file;
	return day_totals_intern(t->d, SP_FUNCS, &f, sizeof(f));
}

/* --- sums --- */
static int add_account(struct translation *t, struct sp_account account, const int64_t *values)
{
	struct sp_day_totals *d = t->d;
	int64_t file = translate_file(t, account.file), func = translate_func(t, account.func);
	uint32_t place[2] = {(uint32_t)file, (uint32_t)func}, *number;

	if (file < 0 || func < 0 || sp_id_map_find(&d->account_ids, place, sizeof(place), &number) < 0)
		return -ENOMEM;
	if (*number == 0) {
		if (!sp_sums_add(&d->sums, place[0], place[1]))
			return -ENOMEM;
		*number = (uint32_t)d->sums.n;
		sp_id_map_added(&d->account_ids);
	}
	int64_t *sums = sp_sums_at(&d->sums, *number - 1);
	for (uint32_t i = 0; i < 2 * d->sums.n_values; i++)
		sp_saturating_add(&sums[i], values[i]);
	return 0;
}

int sp_day_totals_add(struct sp_day_totals *d, const struct sp_dict *dict, const struct sp_sums *s)
{
	SP_FREE uint32_t *files = calloc((size_t)dict->n_files + 1, sizeof(*files));
	struct translation t = {d, dict, files};
	int r = !files ? -ENOMEM : s->n_values != d->sums.n_values ? -EBADMSG : 0;

	for (size_t i = 0; i < s->n && r == 0; i++)
		r = add_account(&t, s->accounts[i], sp_sums_at(s, i));
	return r;
}
