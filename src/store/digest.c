/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/sums.h"

int sp_digest_init(struct sp_digest *d, uint32_t n_values)
{
	int r = 0;

	memset(d, 0, sizeof(*d));
	for (size_t i = 0; i < SP_N_THINGS; i++)
		d->n[i] = 1;
	for (size_t i = 0; i < SP_FRAMES && r == 0; i++)
		r = sp_seen_init(&d->seen[i]);
	r = r < 0 ? r : sp_seen_init(&d->places);
	sp_chunk_clear(&d->chunk, d->n);
	d->sums.n_values = n_values;
	return r;
}

void sp_digest_done(struct sp_digest *d)
{
	for (size_t i = 0; i < SP_FRAMES; i++)
		sp_seen_done(&d->seen[i]);
	sp_seen_done(&d->places);
	sp_chunk_done(&d->chunk);
	sp_sums_done(&d->sums);
}

static int64_t number_of(struct sp_digest *d, enum sp_thing thing, const void *item, size_t len)
{
	uint32_t *number;
	int r = sp_seen_find(&d->seen[thing], item, len, &number);

	if (r < 0 || *number != 0)
		return r < 0 ? r : (int64_t)*number;
	r = thing == SP_STRINGS ? sp_chunk_add_string(&d->chunk, item, len) : sp_chunk_add(&d->chunk, thing, item);
	if (r < 0)
		return r;
	*number = d->n[thing]++;
	sp_seen_added(&d->seen[thing]);
	return *number;
}

static int translate(struct sp_digest *d, const struct sp_dict *dict, uint32_t *string)
{
	const char *s = sp_dict_string(dict, *string);
	int64_t n = *string == 0 ? 0 : number_of(d, SP_STRINGS, s, strlen(s));

	*string = n < 0 ? 0 : (uint32_t)n;
	return n < 0 ? (int)n : 0;
}

/* What a chart or a table asks of a library: which it is, and where it came from. */
static int64_t file_number(struct sp_digest *d, const struct sp_dict *dict, uint32_t number)
{
	const struct sp_file *from = &dict->files[number];
	struct sp_file f;

	if (number == 0)
		return 0;
	memset(&f, 0, sizeof(f)); /* its bytes are hashed */
	f.kind = from->kind, f.build_id_len = from->build_id_len;
	memcpy(f.build_id, from->build_id, sizeof(f.build_id));
	f.name = from->name, f.path = from->path, f.build_id_text = from->build_id_text;
	f.package = from->package, f.package_version = from->package_version;
	if (translate(d, dict, &f.name) < 0 || translate(d, dict, &f.path) < 0 ||
	    translate(d, dict, &f.build_id_text) < 0 || translate(d, dict, &f.package) < 0 ||
	    translate(d, dict, &f.package_version) < 0)
		return -ENOMEM;
	return number_of(d, SP_FILES, &f, sizeof(f));
}

/* Functions of one name in one file are one: totals of several of them add up. */
static int64_t func_number(struct sp_digest *d, const struct sp_dict *dict, uint32_t number)
{
	const struct sp_func *from = &dict->funcs[number];
	struct sp_func f;

	if (number == 0)
		return 0;
	memset(&f, 0, sizeof(f));
	f.name = from->name, f.is_range = from->is_range;
	int64_t file = file_number(d, dict, from->file);
	if (file < 0 || translate(d, dict, &f.name) < 0)
		return -ENOMEM;
	f.file = (uint32_t)file;
	return number_of(d, SP_FUNCS, &f, sizeof(f));
}

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

static int add_total(struct sp_digest *d, const struct sp_dict *dict, const struct sp_scan_total *t)
{
	int64_t file = file_number(d, dict, t->file < dict->n_files ? t->file : 0);
	int64_t func = func_number(d, dict, t->func < dict->n_funcs ? t->func : 0);
	uint32_t place[2] = {(uint32_t)file, (uint32_t)func}, *number;

	if (file < 0 || func < 0 || sp_seen_find(&d->places, place, sizeof(place), &number) < 0)
		return -ENOMEM;
	if (*number == 0) {
		if (sp_grow(&d->sums.totals, &d->sums.capacity, d->sums.n + 1, sizeof(*t)) < 0)
			return -ENOMEM;
		d->sums.totals[d->sums.n++] = (struct sp_scan_total){.file = place[0], .func = place[1]};
		*number = (uint32_t)d->sums.n;
		sp_seen_added(&d->places);
	}
	struct sp_scan_total *sum = &d->sums.totals[*number - 1];
	for (uint32_t v = 0; v < d->sums.n_values; v++) {
		add(&sum->self[v], t->self[v]);
		add(&sum->total[v], t->total[v]);
	}
	return 0;
}

int sp_digest_add(struct sp_digest *d, const struct sp_dict *dict, const struct sp_sums *s)
{
	int r = s->n_values != d->sums.n_values ? -EBADMSG : 0;

	for (size_t i = 0; i < s->n && r == 0; i++)
		r = add_total(d, dict, &s->totals[i]);
	return r;
}
