/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/series.h"
#include "base/intern.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sp_series_init(struct sp_series_table *t, struct sp_series_budget *b, const char *other_labels)
{
	*t = (struct sp_series_table){.budget = b, .other.labels = other_labels};
	if (sp_intern_new(&t->keys) >= 0 && sp_intern_new(&t->refused) >= 0)
		return 0;
	sp_series_done(t);
	return -ENOMEM;
}

void sp_series_done(struct sp_series_table *t)
{
	for (size_t i = 0; t->keys && i < sp_series_count(t); i++)
		free((char *)(uintptr_t)t->series[i].labels);
	free(sp_take_ptr(t->series));
	sp_intern_free(sp_take_ptr(t->keys));
	sp_intern_free(sp_take_ptr(t->refused));
}

size_t sp_series_count(const struct sp_series_table *t)
{
	return sp_intern_count(t->keys);
}

uint64_t sp_series_refused(const struct sp_series_table *t)
{
	return sp_intern_count(t->refused);
}

int64_t sp_series_find(const struct sp_series_table *t, const void *key, size_t len)
{
	return sp_intern_find(t->keys, key, len);
}

int64_t sp_series_make(struct sp_series_table *t, const void *key, size_t len, const char *labels, uint32_t owner,
		       uint32_t n_lines)
{
	char *copy;
	int64_t number;

	if (t->budget->n + n_lines > t->budget->max)
		return -EDQUOT;
	if (sp_grow(&t->series, &t->capacity, sp_series_count(t) + 1, sizeof(*t->series)) < 0)
		return -ENOMEM;
	copy = strdup(labels);
	number = copy ? sp_intern_add(t->keys, key, len) : -ENOMEM;
	if (number < 0) {
		free(copy);
		return number;
	}
	t->series[number] = (struct sp_series){.labels = copy, .owner = owner, .n_lines = n_lines};
	t->budget->n += n_lines;
	return number;
}

static int copy_kept_keys(const struct sp_series_table *t, const bool *is_dropped, struct sp_intern *ret_keys)
{
	for (size_t i = 0; i < sp_series_count(t); i++) {
		size_t len;
		const void *key = sp_intern_get(t->keys, (uint32_t)i, &len);

		if (!is_dropped[i] && sp_intern_add(ret_keys, key, len) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void move_kept(struct sp_series_table *t, const bool *is_dropped)
{
	size_t n = 0;

	for (size_t i = 0; i < sp_series_count(t); i++)
		if (is_dropped[i]) {
			t->budget->n -= t->series[i].n_lines;
			free((char *)(uintptr_t)t->series[i].labels);
		} else
			t->series[n++] = t->series[i];
}

int sp_series_drop(struct sp_series_table *t, bool (*drop)(const void *arg, const struct sp_series *s), const void *arg)
{
	size_t n = sp_series_count(t);
	bool *is_dropped SP_FREE = calloc(n + 1, sizeof(*is_dropped));
	struct sp_intern *keys = NULL;
	int r = is_dropped ? sp_intern_new(&keys) : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < n; i++)
		is_dropped[i] = drop(arg, &t->series[i]);
	if (r >= 0)
		r = copy_kept_keys(t, is_dropped, keys);
	if (r < 0) {
		sp_intern_free(keys);
		return r;
	}
	move_kept(t, is_dropped);
	sp_intern_free(t->keys);
	t->keys = keys;
	return 0;
}

void sp_series_refuse(struct sp_series_table *t, const void *key, size_t len)
{
	uint64_t hash = sp_hash_bytes(key, len, 0);

	if (sp_series_refused(t) < SP_SERIES_REFUSED)
		(void)sp_intern_add(t->refused, &hash, sizeof(hash)); /* without memory it is not counted */
}

int sp_series_label(struct sp_series *s, const char *labels)
{
	char *copy = strdup(labels);

	if (!copy)
		return -ENOMEM;
	free((char *)(uintptr_t)s->labels);
	s->labels = copy;
	return 0;
}

void sp_series_grow(struct sp_series *s, const struct sp_series_time *time, const struct sp_series_span *span)
{
	s->all.self_ns += time->self_ns;
	s->all.total_ns += time->total_ns;
	s->last = *time;
	s->span = *span;
}
