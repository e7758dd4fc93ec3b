/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/intern.h"

#include "base/arena.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { SLOTS_MIN = 64 };
#define NUMBERS_MAX (UINT32_MAX - 1)

struct entry {
	const void *bytes;
	size_t len;
};

/* 32 bits of hash beside the number spare most looks at the bytes; number is one more than the entry's, 0 = free. */
struct slot {
	uint32_t hash, number;
};

struct sp_intern {
	struct entry *entries;
	size_t n, capacity;
	struct slot *slots; /* few, until there are more */
	size_t n_slots;     /* a power of two */
	struct sp_arena bytes;
	uint64_t seed;
	bool is_bare;
	struct slot few[SLOTS_MIN]; /* a profile has eight tables, most of which stay small */
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word_at(const unsigned char *bytes)
{
	uint64_t w;

	memcpy(&w, bytes, sizeof(w));
	return w;
}

/* Odd constants with about half of their bits set: the golden ratio's, and those of pi's fraction. */
#define K0 UINT64_C(0x9e3779b97f4a7c15)
#define K1 UINT64_C(0x243f6a8885a308d3)
#define K2 UINT64_C(0x13198a2e03707345)

uint64_t sp_hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
	const unsigned char *b = bytes;
	uint64_t h = mix(seed ^ K0, len ^ K1), last = 0;

	for (; len >= 16; len -= 16, b += 16)
		h = mix(word_at(b) ^ h, word_at(b + 8) ^ K2) + K0;
	if (len >= 8) {
		h = mix(word_at(b) ^ h, K1);
		b += 8, len -= 8;
	}
	if (len > 0)
		memcpy(&last, b, len);
	return mix(last ^ h ^ K2, h + K1);
}

uint64_t sp_hash_seed(void)
{
	uint64_t seed = 0;
	unsigned long random = getauxval(AT_RANDOM);

	if (random != 0)
		memcpy(&seed, (const void *)random, sizeof(seed)); /* NOLINT(performance-no-int-to-ptr) */
	return seed;
}

int sp_intern_new(struct sp_intern **ret_intern)
{
	struct sp_intern *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->slots = t->few;
	t->n_slots = SLOTS_MIN;
	t->seed = sp_hash_seed();
	*ret_intern = t;
	return 0;
}

int sp_intern_new_bare(struct sp_intern **ret_intern)
{
	int r = sp_intern_new(ret_intern);

	if (r == 0)
		(*ret_intern)->is_bare = true;
	return r;
}

static void intern_free_slots(struct sp_intern *t)
{
	if (t->slots != t->few)
		free(t->slots);
}

void sp_intern_free(struct sp_intern *t)
{
	if (!t)
		return;
	sp_arena_done(&t->bytes);
	free(t->entries);
	intern_free_slots(t);
	free(t);
}

static uint32_t hash_of(const struct sp_intern *t, const void *bytes, size_t len)
{
	return (uint32_t)(sp_hash_bytes(bytes, len, t->seed) >> 32);
}

/* The slot that holds these bytes, or the free one where they belong. */
static struct slot *intern_slot_of(const struct sp_intern *t, const void *bytes, size_t len, uint32_t hash)
{
	size_t mask = t->n_slots - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		struct slot *s = &t->slots[i];
		if (s->number == 0)
			return s;
		const struct entry *e = &t->entries[s->number - 1];
		if (s->hash == hash && e->len == len && (len == 0 || memcmp(e->bytes, bytes, len) == 0))
			return s;
	}
}

static int intern_grow_slots(struct sp_intern *t)
{
	size_t n = t->n_slots * 2;
	struct slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_slots; i++) {
		if (t->slots[i].number == 0)
			continue;
		size_t at = t->slots[i].hash & (n - 1);
		while (slots[at].number != 0)
			at = (at + 1) & (n - 1);
		slots[at] = t->slots[i];
	}
	intern_free_slots(t);
	t->slots = slots;
	t->n_slots = n;
	return 0;
}

/* A copy, with a NUL behind it if it is text. */
static const void *intern_copy_bytes(struct sp_intern *t, const void *bytes, size_t len)
{
	char *copy = sp_arena_take(&t->bytes, len + !t->is_bare);

	if (!copy)
		return NULL;
	if (len > 0)
		memcpy(copy, bytes, len);
	if (!t->is_bare)
		copy[len] = 0;
	return copy;
}

int64_t sp_intern_add(struct sp_intern *t, const void *bytes, size_t len)
{
	uint32_t hash = hash_of(t, bytes, len);
	struct slot *s = intern_slot_of(t, bytes, len, hash);

	if (s->number != 0)
		return (int64_t)s->number - 1;
	if (t->n >= NUMBERS_MAX || sp_grow(&t->entries, &t->capacity, t->n + 1, sizeof(*t->entries)) < 0)
		return -ENOMEM;
	if (t->n + t->n / 2 >= t->n_slots) {
		if (intern_grow_slots(t) < 0)
			return -ENOMEM;
		s = intern_slot_of(t, bytes, len, hash);
	}
	const void *copy = intern_copy_bytes(t, bytes, len);
	if (!copy)
		return -ENOMEM;
	t->entries[t->n++] = (struct entry){.bytes = copy, .len = len};
	*s = (struct slot){.hash = hash, .number = (uint32_t)t->n};
	return (int64_t)t->n - 1;
}

int64_t sp_intern_add_to(struct sp_intern *t, const void *bytes, size_t len, void *array_pointer, size_t *capacity,
			 size_t size, bool *ret_is_new)
{
	size_t n = t->n;
	int64_t number = sp_grow(array_pointer, capacity, n + 1, size) < 0 ? -ENOMEM : sp_intern_add(t, bytes, len);

	if (ret_is_new)
		*ret_is_new = number == (int64_t)n;
	return number;
}

int64_t sp_intern_find(const struct sp_intern *t, const void *bytes, size_t len)
{
	const struct slot *s = intern_slot_of(t, bytes, len, hash_of(t, bytes, len));

	return s->number != 0 ? (int64_t)s->number - 1 : -ENOENT;
}

const void *sp_intern_get(const struct sp_intern *t, uint32_t number, size_t *ret_len)
{
	const struct entry *e = &t->entries[number];

	if (ret_len)
		*ret_len = e->len;
	return e->bytes;
}

uint32_t sp_intern_count(const struct sp_intern *t)
{
	return (uint32_t)t->n;
}

size_t sp_intern_memory_bytes(const struct sp_intern *t)
{
	size_t slots = t->slots == t->few ? 0 : t->n_slots;

	return sizeof(*t) + t->capacity * sizeof(*t->entries) + slots * sizeof(*t->slots) + t->bytes.all_bytes;
}
