/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * intern.h: maps byte strings to consecutive numbers from 0 and back.
 *
 * The usual table. read/table.h is faster and larger, store/format/id_map.h keeps hashes in place of the bytes.
 * The bytes are copied, with a NUL behind them if they are text, into an arena: a pointer from sp_intern_get() is valid
 * as long as the table, and aligned to 8. At most 2^32 - 2 entries. Errors: -ENOMEM, -ENOENT. Not thread-safe. The
 * hash is a mix of 8-byte words as in wyhash, with a seed that differs from run to run, so that nobody can choose
 * colliding names.
 */
#ifndef SP_BASE_INTERN_H
#define SP_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_intern;

int sp_intern_new(struct sp_intern **ret_intern);
int sp_intern_new_bare(struct sp_intern **ret_intern); /* for what is no text: without the NUL */
void sp_intern_free(struct sp_intern *t);
/* The number of these bytes, which are added if they are new; or -ENOMEM. */
int64_t sp_intern_add(struct sp_intern *t, const void *bytes, size_t len);
/*
 * The same, with an array beside the table that has an element of `size` bytes for each number: it has room for this
 * one, and what is new is zeroed. ret_is_new may be NULL.
 */
int64_t sp_intern_add_to(struct sp_intern *t, const void *bytes, size_t len, void *array_pointer, size_t *capacity,
			 size_t size, bool *ret_is_new);
/* The number of these bytes, or -ENOENT. */
int64_t sp_intern_find(const struct sp_intern *t, const void *bytes, size_t len);
const void *sp_intern_get(const struct sp_intern *t, uint32_t number, size_t *ret_len); /* ret_len may be NULL */
uint32_t sp_intern_count(const struct sp_intern *t);
size_t sp_intern_memory_bytes(const struct sp_intern *t); /* allocated */

uint64_t sp_hash_bytes(const void *bytes, size_t len, uint64_t seed);
/* A table that outsiders fill must not be made slow by them: every run has a seed that they do not know. */
uint64_t sp_hash_seed(void);

#endif
