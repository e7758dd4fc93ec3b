/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/numbers.h"
#include "base/intern.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

int sp_numbers_init(struct sp_numbers *t)
{
	return sp_intern_new(&t->bytes);
}

void sp_numbers_done(struct sp_numbers *t)
{
	sp_intern_free(t->bytes);
	free(t->number);
	*t = (struct sp_numbers){0};
}

size_t sp_numbers_memory_bytes(const struct sp_numbers *t)
{
	return (t->bytes ? sp_intern_memory_bytes(t->bytes) : 0) + t->n_number * sizeof(*t->number);
}

uint32_t sp_numbers_find(const struct sp_numbers *t, const void *bytes, size_t len)
{
	int64_t i = sp_intern_find(t->bytes, bytes, len);

	return i >= 0 && (size_t)i < t->n_number ? t->number[i] : 0;
}

int sp_numbers_set(struct sp_numbers *t, const void *bytes, size_t len, uint32_t number)
{
	int64_t i = sp_intern_add(t->bytes, bytes, len);
	int r = i < 0 ? (int)i : sp_grow(&t->number, &t->n_number, (size_t)i + 1, sizeof(*t->number));

	if (r >= 0)
		t->number[i] = number;
	return r;
}

int sp_listed_init(struct sp_listed *l, size_t element_bytes)
{
	*l = (struct sp_listed){.element_bytes = element_bytes};
	return sp_numbers_init(&l->places);
}

void sp_listed_done(struct sp_listed *l)
{
	sp_numbers_done(&l->places);
	free(l->list);
	*l = (struct sp_listed){0};
}

void *sp_listed_find(const struct sp_listed *l, const void *key, size_t len)
{
	uint32_t place = sp_numbers_find(&l->places, key, len);

	return place ? l->list + (place - 1) * l->element_bytes : NULL;
}

int sp_listed_add(struct sp_listed *l, const void *key, size_t len, const void *element)
{
	int r = sp_grow(&l->list, &l->capacity, l->n + 1, l->element_bytes);

	if (r < 0)
		return r;
	memcpy(l->list + l->n * l->element_bytes, element, l->element_bytes);
	return sp_numbers_set(&l->places, key, len, (uint32_t)++l->n);
}
