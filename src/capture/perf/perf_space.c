/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/perf/perf_space.h"
#include "base/mem.h"
#include "base/search.h"
#include "unwind/finish.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sp_space *sp_space_new(void)
{
	struct sp_space *s = calloc(1, sizeof(*s));

	if (s)
		s->n_refs = 1;
	return s;
}

struct sp_space *sp_space_get(struct sp_space *s)
{
	s->n_refs++;
	return s;
}

void sp_space_put(struct sp_space *s)
{
	if (!s || --s->n_refs)
		return;
	free(s->maps);
	free(s->objects);
	free(s);
}

static int room_for(struct sp_space *s, size_t n)
{
	int r = sp_grow(&s->maps, &s->capacity, n, sizeof(*s->maps));

	return r < 0 ? r : sp_grow(&s->objects, &s->object_capacity, n, sizeof(*s->objects));
}

struct sp_space *sp_space_from(const struct sp_map *maps, size_t n, bool is_all)
{
	struct sp_space *s = sp_space_new();

	if (!s || room_for(s, n) < 0) {
		sp_space_put(s);
		return NULL;
	}
	if (n)
		memcpy(s->maps, maps, n * sizeof(*maps));
	s->n = n;
	s->n_left_out = !is_all;
	s->is_announced = true;
	return s;
}

int sp_space_own(struct sp_space **s)
{
	struct sp_space *old = *s, *own;

	if (old->n_refs == 1)
		return 0;
	own = sp_space_new();
	if (!own || room_for(own, old->n + 1) < 0) {
		sp_space_put(own);
		return -ENOMEM;
	}
	if (old->n) {
		memcpy(own->maps, old->maps, old->n * sizeof(*own->maps));
		memcpy(own->objects, old->objects, old->n * sizeof(*own->objects));
	}
	own->n = old->n;
	own->n_left_out = old->n_left_out;
	own->is_announced = old->is_announced;
	own->owner = old->owner;
	sp_space_put(old);
	*s = own;
	return 0;
}

int sp_space_clear(struct sp_space **s)
{
	struct sp_space *empty = sp_space_new();

	if (!empty)
		return -ENOMEM;
	sp_space_put(*s);
	*s = empty;
	return 0;
}

/* The first mapping whose end is above addr. */
static size_t first_after(const struct sp_space *s, uint64_t addr)
{
	return SP_N_UP_TO(s->maps, s->n, end, addr);
}

static int insert(struct sp_space *s, size_t at, struct sp_map map, uint32_t object)
{
	int r = room_for(s, s->n + 1);

	if (r < 0)
		return r;
	memmove(s->maps + at + 1, s->maps + at, (s->n - at) * sizeof(*s->maps));
	memmove(s->objects + at + 1, s->objects + at, (s->n - at) * sizeof(*s->objects));
	s->maps[at] = map;
	s->objects[at] = object;
	s->n++;
	return 0;
}

static void take_out(struct sp_space *s, size_t at, size_t n)
{
	memmove(s->maps + at, s->maps + at + n, (s->n - at - n) * sizeof(*s->maps));
	memmove(s->objects + at, s->objects + at + n, (s->n - at - n) * sizeof(*s->objects));
	s->n -= n;
}

/* Removes what is mapped from start to end; mappings that reach beyond are cut. */
static int unmap(struct sp_space *s, uint64_t start, uint64_t end)
{
	size_t at = first_after(s, start), behind;

	if (at < s->n && s->maps[at].start < start && s->maps[at].end > end) {
		struct sp_map rest = s->maps[at];

		rest.start = end;
		s->maps[at].end = start;
		return insert(s, at + 1, rest, s->objects[at]);
	}
	if (at < s->n && s->maps[at].start < start)
		s->maps[at++].end = start;
	for (behind = at; behind < s->n && s->maps[behind].end <= end; behind++)
		;
	if (behind < s->n && s->maps[behind].start < end)
		s->maps[behind].start = end;
	if (behind > at)
		take_out(s, at, behind - at);
	return 0;
}

int sp_space_map(struct sp_space *s, uint64_t start, uint64_t end, uint64_t shift_by, uint32_t object)
{
	struct sp_map map = {.start = start, .end = end, .shift_by = shift_by};
	int r;

	if (start >= end)
		return 0;
	r = unmap(s, start, end);
	if (r < 0)
		return r;
	if (s->n >= SP_SPACE_MAX) {
		s->n_left_out++;
		return 0;
	}
	s->is_announced = false;
	return insert(s, first_after(s, start), map, object);
}

const struct sp_map *sp_space_find(const struct sp_space *s, uint64_t addr)
{
	size_t at = first_after(s, addr);

	return at < s->n && s->maps[at].start <= addr ? &s->maps[at] : NULL;
}

void sp_space_memory(const struct sp_space *s, struct sp_finish_memory *memory)
{
	memory->maps = s->maps;
	memory->n_maps = s->n;
	memory->has_all_maps = !s->n_left_out;
}
