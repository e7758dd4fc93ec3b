/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * id_map.h: a hash table from things to their numbers. It keeps 96 bits of a thing's hash, not the thing.
 *
 * The writer of a store must know whether it has written a name before, and its number, but not the name: 16 bytes an
 * entry, however long the names. Two hashes (base/intern.h) with random seeds: among a million things, two are
 * confused with a probability below 10^-16. Numbers start at 1; 0 means not in the table.
 * Owns its memory. Error: -ENOMEM. A pointer to a number is valid until the next call. Not thread-safe.
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
/* Finds the entry of these bytes. *ret_number: 0 in a new one; set it and call sp_id_map_added(). */
int sp_id_map_find(struct sp_id_map *t, const void *bytes, size_t len, uint32_t **ret_number);
static inline void sp_id_map_added(struct sp_id_map *t)
{
	t->n++;
}
static inline size_t sp_id_map_memory(const struct sp_id_map *t)
{
	return t->n_slots * sizeof(*t->slots);
}

#endif
