/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "read/table.h"

#include "base/arena.h"
#include "base/intern.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 64 };

struct entry {
	uint64_t len;
	uint8_t data[]; /* the `extra` bytes, then the string's */
};
struct slot {
	uint64_t hash;
	struct entry *entry; /* NULL: free */
};
struct sp_read_table {
	struct slot *slots;
	size_t n_slots; /* a power of two */
	struct entry **entries;
	size_t n, capacity, extra_bytes;
	struct sp_arena memory;
	uint64_t seed;
};

int sp_read_table_new(size_t extra_bytes, struct sp_read_table **ret_table)
{
	struct sp_read_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->slots = calloc(SLOTS_MIN, sizeof(*t->slots));
	if (!t->slots) {
		free(t);
		return -ENOMEM;
	}
	t->n_slots = SLOTS_MIN;
	t->extra_bytes = (extra_bytes + 7) & ~(size_t)7;
	t->seed = sp_hash_seed();
	*ret_table = t;
	return 0;
}

void sp_read_table_free(struct sp_read_table *t)
{
	if (!t)
		return;
	sp_arena_done(&t->memory);
	free(t->entries);
	free(t->slots);
	free(t);
}

uint64_t sp_read_table_hash(const struct sp_read_table *t, const void *bytes, size_t len)
{
	uint64_t hash = sp_hash_bytes(bytes, len, t->seed);

	__builtin_prefetch(&t->slots[hash & (t->n_slots - 1)]);
	return hash;
}

void sp_read_table_prefetch(const struct sp_read_table *t, uint64_t hash)
{
	const struct slot *s = &t->slots[hash & (t->n_slots - 1)];

	if (!s->entry)
		return;
	__builtin_prefetch(s->entry);
	__builtin_prefetch((const uint8_t *)s->entry + 64);
}

static int table_grow_slots(struct sp_read_table *t)
{
	size_t n = t->n_slots * 2;
	struct slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_slots; i++) {
		size_t at = t->slots[i].hash & (n - 1);

		if (!t->slots[i].entry)
			continue;
		while (slots[at].entry)
			at = (at + 1) & (n - 1);
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	return 0;
}

static struct entry *make_entry(struct sp_read_table *t, const void *bytes, size_t len)
{
	struct entry *e = sp_arena_take(&t->memory, sizeof(*e) + t->extra_bytes + len);

	if (!e)
		return NULL;
	e->len = len;
	memset(e->data, 0, t->extra_bytes);
	if (len)
		memcpy(e->data + t->extra_bytes, bytes, len);
	return e;
}

static struct slot *table_slot_of(const struct sp_read_table *t, uint64_t hash, const void *bytes, size_t len)
{
	size_t mask = t->n_slots - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		struct slot *s = &t->slots[i];

		if (!s->entry || (s->hash == hash && s->entry->len == len &&
				  (!len || !memcmp(s->entry->data + t->extra_bytes, bytes, len))))
			return s;
	}
}

void *sp_read_table_find(struct sp_read_table *t, uint64_t hash, const void *bytes, size_t len)
{
	struct slot *s = table_slot_of(t, hash, bytes, len);
	struct entry *e;

	if (s->entry)
		return s->entry->data;
	if (sp_grow(&t->entries, &t->capacity, t->n + 1, sizeof(struct entry *)) < 0 ||
	    (t->n + t->n / 2 >= t->n_slots && table_grow_slots(t) < 0))
		return NULL;
	e = make_entry(t, bytes, len);
	if (!e)
		return NULL;
	*table_slot_of(t, hash, bytes, len) = (struct slot){hash, e};
	t->entries[t->n++] = e;
	return e->data;
}

const uint8_t *sp_read_table_bytes(const struct sp_read_table *t, const void *extra, size_t *ret_len)
{
	const struct entry *e = (const void *)((const uint8_t *)extra - offsetof(struct entry, data));

	*ret_len = e->len;
	return e->data + t->extra_bytes;
}

size_t sp_read_table_count(const struct sp_read_table *t)
{
	return t->n;
}

void *sp_read_table_at(const struct sp_read_table *t, size_t i)
{
	return t->entries[i]->data;
}
