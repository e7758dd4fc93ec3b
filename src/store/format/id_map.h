/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * id_map.h: which number a thing was given, by 96 bits of its hash: the thing itself is not kept.
 *
 * The writer of a store must know whether it has written a name before, but not what the name was: 16 bytes an entry,
 * however long the names. Two hashes (base/intern.h) with random seeds: of a million things, two are taken for one with
 * a probability below 10^-16. sp_pairs is the same for two numbers, exactly. Numbers are 1 and up; 0 = not seen.
 * Owns its memory; -ENOMEM. A pointer to a number holds until the next call. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_ID_MAP_H
#define SP_STORE_FORMAT_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

struct sp_id_map_slot {
	uint32_t hash[3], number;
};
struct sp_id_map {
	struct sp_id_map_slot *slots;
	size_t n_slots, n; /* n_slots: a power of two */
	uint64_t seeds[2];
};
int sp_id_map_init(struct sp_id_map *t);
void sp_id_map_done(struct sp_id_map *t);
/* Where the number of these bytes is, or belongs: the caller sets it if it is 0. */
int sp_id_map_find(struct sp_id_map *t, const void *bytes, size_t len, uint32_t **ret_number);
/* After a number was set. */
static inline void sp_id_map_added(struct sp_id_map *t)
{
	t->n++;
}
static inline size_t sp_id_map_memory(const struct sp_id_map *t)
{
	return t->n_slots * sizeof(*t->slots);
}

#endif
