/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_space.h: the executable mappings of a program, as the records of perf_event_open (or /proc/PID/maps) tell them.
 *
 * Mappings are sorted and never overlap: a new one replaces what it covers, because no record tells of munmap(2). A
 * space is shared by reference: a child of fork uses its parent's until one of the two maps something, and a sample
 * that waits keeps the one it was taken in; sp_space_own() gives a writer one of its own. Which file a mapping shows is
 * a number of the caller's (an "object" of perf_files.c); sp_space_words() fills in the frame words when the program is
 * first sampled. At most SP_SPACE_MAX mappings; n_left_out counts those beyond. No I/O. Errors: -ENOMEM. Not
 * thread-safe.
 */
#ifndef SP_CAPTURE_PERF_PERF_SPACE_H
#define SP_CAPTURE_PERF_PERF_SPACE_H

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
	bool is_announced; /* all mappings have their frame words */
	uint32_t owner;    /* the process record that the frame words of anonymous regions name */
};

struct sp_space *sp_space_new(void); /* NULL: out of memory; one reference */
/* A space of sorted mappings that have their frame words. It must not be changed. NULL: out of memory. */
struct sp_space *sp_space_from(const struct sp_map *maps, size_t n, bool is_all);
struct sp_space *sp_space_get(struct sp_space *s); /* one reference more */
void sp_space_put(struct sp_space *s);             /* NULL is allowed */
int sp_space_own(struct sp_space **s);             /* makes *s one that has no other reference */
int sp_space_clear(struct sp_space **s);           /* makes *s an empty one, for another program */
/* Adds a mapping. The space must have no other reference (sp_space_own). */
int sp_space_map(struct sp_space *s, uint64_t start, uint64_t end, uint64_t shift_by, uint32_t object);
const struct sp_map *sp_space_find(const struct sp_space *s, uint64_t addr);
/* Sets maps and n_maps. */
void sp_space_memory(const struct sp_space *s, struct sp_finish_memory *memory);

#endif
