/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/id_map.h"

#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SLOTS_MIN = 256 };

int sp_id_map_init(struct sp_id_map *t)
{
	*t = (struct sp_id_map){.n_slots = SLOTS_MIN};
	/* without randomness an attacker could guess the seeds, which is all */
	(void)!getrandom(t->seeds, sizeof(t->seeds), GRND_NONBLOCK);
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	return !t->slots ? -ENOMEM : 0;
}

void sp_id_map_done(struct sp_id_map *t)
{
	free(t->slots);
	*t = (struct sp_id_map){0};
}

static int grow_slots(struct sp_id_map *t)
{
	size_t n = t->n_slots * 2;
	struct sp_id_map_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_slots; i++) {
		size_t at = t->slots[i].hash[0] & (n - 1);
		if (t->slots[i].number == 0)
			continue;
		while (slots[at].number != 0)
			at = (at + 1) & (n - 1);
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	return 0;
}

int sp_id_map_find(struct sp_id_map *t, const void *bytes, size_t len, uint32_t **ret_number)
{
	uint64_t a = sp_hash_bytes(bytes, len, t->seeds[0]), b = sp_hash_bytes(bytes, len, t->seeds[1]);
	uint32_t hash[3] = {(uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b};

	if (t->n + t->n / 4 >= t->n_slots && grow_slots(t) < 0)
		return -ENOMEM;
	size_t mask = t->n_slots - 1, at = hash[0] & mask;
	for (; t->slots[at].number != 0; at = (at + 1) & mask)
		if (memcmp(t->slots[at].hash, hash, sizeof(hash)) == 0)
			break;
	if (t->slots[at].number == 0)
		memcpy(t->slots[at].hash, hash, sizeof(hash));
	*ret_number = &t->slots[at].number;
	return 0;
}
