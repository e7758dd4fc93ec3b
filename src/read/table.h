/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.h: a hash table of byte strings for millions of look-ups: like base/intern.h, for tables larger than the
 * CPU's caches. It takes a third to a half of intern's time (65 ns against 200 with 20,000 strings, 350 against 700
 * with a million), and more memory, so it is not what a profile, which lasts, keeps its strings in.
 *
 * The data of a string (`extra` bytes, zeroed when it is new, aligned to 8) is stored in front of its bytes, so that
 * a look-up costs two cache misses. It is done in three steps, so that the cache misses of many strings overlap: hash
 * all, prefetch all, find all. Entries never move; the table owns them. The only error is -ENOMEM. The hash's seed
 * differs from run to run. Private to the layer. Not thread-safe.
 */
#ifndef SP_READ_TABLE_H
#define SP_READ_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct sp_read_table;

int sp_read_table_new(size_t extra_bytes, struct sp_read_table **ret_table);
void sp_read_table_free(struct sp_read_table *t);

/* The three steps; the second is optional. */
uint64_t sp_read_table_hash(const struct sp_read_table *t, const void *bytes, size_t len);
void sp_read_table_prefetch(const struct sp_read_table *t, uint64_t hash);
/* The extra bytes of the entry, which is added if it is new; NULL: out of memory. */
void *sp_read_table_find(struct sp_read_table *t, uint64_t hash, const void *bytes, size_t len);

/* The string that these extra bytes belong to. */
const uint8_t *sp_read_table_bytes(const struct sp_read_table *t, const void *extra, size_t *ret_len);
size_t sp_read_table_count(const struct sp_read_table *t);
/* In the order of adding. */
void *sp_read_table_at(const struct sp_read_table *t, size_t i);

#endif
