/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_space.h: the executable mappings of a program, as the records of perf_event_open (or /proc/PID/maps) tell them.
 *
 * Mappings rise and never overlap: a new one takes the place of what it covers, because the kernel does not tell of
 * munmap(2). A space is shared by reference: a fork has its parent's until one of them maps something, and a sample
 * that waits keeps the one it was taken in; sp_space_own() gives a writer one of its own. Which file a mapping shows is
 * a number of the caller's (a "object" of perf_files.c); frame words are filled in by sp_space_words() when the program
 * is first sampled. At most SP_SPACE_MAX mappings; what lies beyond is left out and told by n_left_out. No I/O. Errors:
 * -ENOMEM. Not thread-safe.
 */
#ifndef SP_CAPTURE_PERF_SPACE_H
#define SP_CAPTURE_PERF_SPACE_H

#include "bpf/wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_SPACE_MAX = 1 << 17 };

struct sp_finish_memory;

struct sp_space {
	unsigned n_refs;
	size_t n, capacity, object_capacity;
	struct sp_map *maps;
	uint32_t *objects; /* beside maps */
	size_t n_left_out;
	bool is_told;   /* every mapping has its frame word */
	uint32_t owner; /* whose anonymous regions the frame words name */
};

struct sp_space *sp_space_new(void); /* NULL: out of memory; one reference */
/* Of rising mappings with their frame words, as they are; never to be written to. NULL: out of memory. */
struct sp_space *sp_space_from(const struct sp_map *maps, size_t n, bool is_all);
struct sp_space *sp_space_get(struct sp_space *s); /* one reference more */
void sp_space_put(struct sp_space *s);             /* NULL is allowed */
int sp_space_own(struct sp_space **s);             /* *s becomes one that nobody else refers to */
int sp_space_clear(struct sp_space **s);           /* *s becomes an empty one: another program */
/* A mapping appears. It must belong to the caller alone (sp_space_own). */
int sp_space_map(struct sp_space *s, uint64_t start, uint64_t end, uint64_t shift_by, uint32_t object);
const struct sp_map *sp_space_find(const struct sp_space *s, uint64_t addr);
/* Sets maps and n_maps. */
void sp_space_memory(const struct sp_space *s, struct sp_finish_memory *memory);

#endif
