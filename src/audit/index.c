/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds records of the shared file by their keys, and adds missing ones, without a lock.
 *
 * A level of the index is an array of words (32 bits of hash, id). A key is in one of the 8 words that its hash names,
 * in the first level that had one free. Words are never removed, so a free word in front of the key proves that the
 * key is not there.
 */
#include "audit/audit.h"
#include "link/buckets.h"

struct search {
	unsigned kind;
	uint64_t hash;
	const void *wanted;
	bool (*same)(const void *record, const void *wanted);
	uint32_t (*make)(const void *wanted); /* fills a new record, but for its state; 0: no room */
};

static uint64_t *level_words(unsigned level)
{
	struct sp_calls_header *h = sp_shared.header;
	uint64_t offset = sp_load(&h->index[level]);

	if (offset == 0 || offset % SP_CALLS_PAGE != 0)
		return NULL;
	return sp_shared_at(offset, sp_calls_block_bytes(SP_CALLS_INDEX, level, 0));
}

static uint64_t *level_made(unsigned level)
{
	uint32_t block = sp_shared_new_level(level);

	if (block != 0)
		sp_swap(&sp_shared.header->index[level], 0, sp_load(&sp_shared.blocks[block].offset));
	return level_words(level);
}

/* A key found its words full on all levels, which makes another level: programs that do not map each other's blocks
 * cannot know each other's records, and have keys twice. */
static bool wants_level;

static void add_level(void)
{
	unsigned level = 0;

	while (level < SP_CALLS_LEVELS && sp_load(&sp_shared.header->index[level]) != 0)
		level++;
	if (level < SP_CALLS_LEVELS)
		level_made(level);
	sp_store(&wants_level, false);
}

/* So many words that a key almost never finds its words full on all levels: then it cannot be added. */
bool sp_shared_reserve(uint64_t n_records)
{
	uint64_t n_words = 0;

	for (unsigned level = 0; level < SP_CALLS_LEVELS && n_words < 2 * n_records; level++) {
		if (!level_words(level) && !level_made(level))
			return false;
		n_words += (uint64_t)SP_CALLS_LEVEL_0 << level;
	}
	if (sp_load(&wants_level))
		add_level();
	return true;
}

/* The record of the word, if it is the one. */
static uint32_t match(const struct search *s, uint64_t word)
{
	uint32_t id = (uint32_t)word;

	if (word >> 32 != s->hash >> 32)
		return 0;
	uint32_t *state = sp_shared_record(id, s->kind);
	if (!state || !s->same(state, s->wanted))
		return 0;
	if (sp_load(state) != SP_CALLS_READY) /* its maker is still writing, or was killed */
		sp_store(state, SP_CALLS_READY);
	return id;
}

/* Looks through the words of a hash. True: *id is the record (0: no room for it). False: it is full of others. */
static bool search_places(const struct search *s, uint64_t *places, uint32_t *made, uint32_t *ret_id)
{
	for (unsigned i = 0; i < SP_CALLS_TRIES; i++) {
		uint64_t word = sp_load(&places[i]);
		if (word == 0) {
			if (*made == 0)
				*made = s->make(s->wanted);
			*ret_id = *made;
			if (*made == 0)
				return true;
			if (sp_swap(&places[i], 0, (s->hash >> 32 << 32) | *made)) {
				uint32_t *state = sp_shared_record(*made, s->kind);
				if (state)
					sp_store(state, SP_CALLS_READY);
				return true;
			}
			word = sp_load(&places[i]);
		}
		*ret_id = match(s, word);
		if (*ret_id != 0)
			return true;
	}
	return false;
}

static uint32_t find_or_make(const struct search *s)
{
	uint32_t made = 0, id = 0;

	for (unsigned level = 0; level < SP_CALLS_LEVELS; level++) {
		uint64_t *words = level_words(level), mask = ((uint64_t)SP_CALLS_LEVEL_0 << level) - SP_CALLS_TRIES;
		if (!words) {
			if (sp_load(&sp_shared.header->index[level]) == 0)
				sp_store(&wants_level, true);
			return 0;
		}
		if (search_places(s, words + (s->hash * SP_CALLS_TRIES & mask), &made, &id))
			return id;
	}
	return 0;
}

/* --- objects --- */
static bool same_object(const void *record, const void *wanted)
{
	const struct sp_calls_object *a = record, *b = wanted;

	if (sp_load(&a->build_id_len) != b->build_id_len)
		return false;
	if (b->build_id_len > 0)
		return b->build_id_len <= sizeof(a->build_id) && sp_equal(a->build_id, b->build_id, b->build_id_len);
	return a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns &&
	       sp_equal(a->path, b->path, sizeof(a->path));
}

static uint32_t make_object(const void *wanted)
{
	uint32_t id = sp_shared_take(SP_CALLS_OBJECT);
	struct sp_calls_object *o = id != 0 ? sp_shared_record(id, SP_CALLS_OBJECT) : NULL;

	if (!o)
		return 0;
	sp_copy(o, wanted, sizeof(*o));
	return id;
}

uint32_t sp_shared_object(const struct sp_calls_object *wanted)
{
	uint64_t hash = sp_mix_bytes(1, wanted->build_id, wanted->build_id_len);

	if (wanted->build_id_len == 0)
		hash = sp_mix(sp_mix_bytes(sp_mix(hash, wanted->size_bytes), wanted->path, sizeof(wanted->path)),
			      wanted->mtime_ns);
	const struct search s = {SP_CALLS_OBJECT, hash, wanted, same_object, make_object};
	return find_or_make(&s);
}

/* --- functions --- */
struct function_wanted {
	struct sp_calls_function record;
	const char *name;
};

static bool same_function(const void *record, const void *wanted)
{
	const struct sp_calls_function *a = record;
	const struct function_wanted *w = wanted;
	const char *name = sp_shared_at(sp_load(&a->name), w->record.name_len);

	return a->object == w->record.object && a->offset == w->record.offset && a->name_len == w->record.name_len &&
	       name && sp_equal(name, w->name, w->record.name_len);
}

static uint32_t make_function(const void *wanted)
{
	const struct function_wanted *w = wanted;
	uint8_t *bytes;
	uint64_t name = sp_shared_bytes(w->record.name_len + 1, &bytes);
	uint32_t id = name != 0 ? sp_shared_take(SP_CALLS_FUNCTION) : 0;
	struct sp_calls_function *f = id != 0 ? sp_shared_record(id, SP_CALLS_FUNCTION) : NULL;

	if (!f)
		return 0;
	sp_copy(bytes, w->name, w->record.name_len);
	*f = w->record;
	f->name = name;
	return id;
}

uint32_t sp_shared_function(uint32_t object, uint64_t offset, const char *name, uint32_t flags)
{
	size_t len = sp_len(name);

	if (len > SP_CALLS_MAX_NAME) {
		len = SP_CALLS_MAX_NAME;
		flags |= SP_CALLS_FUNCTION_NAME_CUT;
	}
	const struct function_wanted w = {
	    {.object = object, .offset = offset, .name_len = (uint32_t)len, .flags = flags}, name};
	const struct search s = {SP_CALLS_FUNCTION, sp_mix_bytes(sp_mix(sp_mix(2, object), offset), name, len), &w,
				 same_function, make_function};
	uint32_t id = find_or_make(&s);
	struct sp_calls_function *f = id != 0 ? sp_shared_record(id, SP_CALLS_FUNCTION) : NULL;
	if (f && (sp_load(&f->flags) & flags) != flags)
		__atomic_fetch_or(&f->flags, flags, __ATOMIC_RELAXED);
	return f ? id : 0;
}

/* --- rows --- */
static bool same_row(const void *record, const void *wanted)
{
	const struct sp_calls_row *a = record, *b = wanted;

	return a->function == b->function && a->caller == b->caller && a->site_object == b->site_object &&
	       a->site_offset == b->site_offset && a->process == b->process && a->part == b->part;
}

static uint32_t make_row(const void *wanted)
{
	const struct sp_calls_row *w = wanted;
	bool is_whole = w->caller == 0 && w->part == SP_CALLS_PART_CALLS; /* of all calls of a function */
	uint32_t id = !is_whole && sp_shared_is_short() ? 0 : sp_shared_take(SP_CALLS_ROW);
	struct sp_calls_row *row = id != 0 ? sp_shared_record(id, SP_CALLS_ROW) : NULL;

	if (!row)
		return 0;
	*row = *w;
	return id;
}

uint32_t sp_shared_row(const struct sp_calls_row *wanted)
{
	uint64_t hash = sp_mix(sp_mix(sp_mix(3, (uint64_t)wanted->function << 32 | wanted->caller),
				      (uint64_t)wanted->part << 32 | wanted->process),
			       (uint64_t)wanted->site_object << 40 ^ wanted->site_offset);
	const struct search s = {SP_CALLS_ROW, hash, wanted, same_row, make_row};

	return find_or_make(&s);
}

/* --- processes --- */
uint32_t sp_shared_process(const struct sp_calls_process *wanted)
{
	uint32_t id = sp_shared_take(SP_CALLS_PROCESS);
	struct sp_calls_process *p = id != 0 ? sp_shared_record(id, SP_CALLS_PROCESS) : NULL;

	if (!p)
		return 0;
	*p = *wanted;
	sp_store(&p->state, SP_CALLS_READY);
	return id;
}
