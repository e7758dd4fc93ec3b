/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blob.c: looks up rules in a blob, and checks whether its bytes may be trusted. */
#include "base/intern.h"
#include "unwind/priv.h"
#include "unwind/runtime.h"
#include <errno.h>
#include <string.h>

_Static_assert(sizeof(struct sp_blob) == 272, "the header of a blob is part of its format");
_Static_assert(sizeof(struct sp_rule) == 16, "so are its rules");

enum { MIN_SHIFT = 8, MAX_SHIFT = 16, MAX_RULES = 1 << 16 };

uint64_t sp_blob_bytes(uint64_t n_groups, uint64_t n_rows, uint64_t n_rules, uint64_t *ret_rules_at)
{
	*ret_rules_at = (sizeof(struct sp_blob) + (n_groups + n_rows) * sizeof(uint32_t) + 15) & ~15ULL;
	return *ret_rules_at + n_rules * sizeof(struct sp_rule);
}

uint64_t sp_blob_hash(const struct sp_blob *b)
{
	size_t from = offsetof(struct sp_blob, build_id_len);
	uint64_t head = sp_hash_bytes(b, offsetof(struct sp_blob, check), SP_BLOB_VERSION);
	return sp_hash_bytes((const uint8_t *)b + from, (size_t)b->bytes - from, head);
}

const uint32_t *sp_blob_index(const struct sp_blob *b)
{
	return (const uint32_t *)(b + 1);
}

const uint32_t *sp_blob_rows(const struct sp_blob *b)
{
	return sp_blob_index(b) + b->n_groups;
}

const struct sp_rule *sp_blob_rules(const struct sp_blob *b)
{
	uint64_t at;
	sp_blob_bytes(b->n_groups, b->n_rows, b->n_rules, &at);
	return (const struct sp_rule *)((const uint8_t *)b + at);
}

const struct sp_rule *sp_blob_find(const struct sp_blob *b, uint64_t offset)
{
	const struct sp_rule *rules = sp_blob_rules(b);
	uint64_t group = (offset >> b->shift) - b->first;
	if (group >= b->n_groups)
		return rules;
	uint32_t word = sp_blob_index(b)[group];
	const uint32_t *row = sp_blob_rows(b) + (word >> SP_INDEX_COUNT_BITS);
	uint32_t low = 0, high = word & SP_INDEX_COUNT_MASK; /* the row is in [low, high) */
	if (!high)
		return rules;
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		if ((row[mid] & 0xffff) <= (offset & 0xffff))
			low = mid;
		else
			high = mid;
	}
	return &rules[row[low] >> 16];
}

static bool header_is_sound(const struct sp_blob *b, size_t size)
{
	uint64_t rules_at;
	return b->magic == SP_BLOB_MAGIC && b->version == SP_BLOB_VERSION &&
	       (b->flags & ~(uint32_t)(SP_BLOB_PARTIAL | SP_BLOB_NO_EH_FRAME | SP_BLOB_DERIVED_PART)) == 0 &&
	       b->shift >= MIN_SHIFT && b->shift <= MAX_SHIFT && b->n_groups <= SP_BLOB_MAX_GROUPS &&
	       b->n_rows <= SP_MAX_ROWS && b->n_rules >= 1 && b->n_rules <= MAX_RULES &&
	       b->build_id_len <= sizeof(b->build_id) && b->runtime.kind < SP_N_RUNTIMES &&
	       (((uint64_t)b->first + b->n_groups) << b->shift) <= SP_MAX_OFFSET && b->bytes == size &&
	       sp_blob_bytes(b->n_groups, b->n_rows, b->n_rules, &rules_at) == size;
}

/* A group's rows begin at its first byte, ascend, stay inside it, and name rules that exist. */
static bool group_is_sound(const struct sp_blob *b, uint32_t group, const uint32_t *row, uint32_t n)
{
	uint32_t start = (uint32_t)(((uint64_t)b->first + group) << b->shift) & 0xffff, before = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (row[i] & 0xffff) - start; /* wraps around to a large number if it is below the group */
		if ((i == 0 ? at != 0 : at <= before) || at >= 1u << b->shift || row[i] >> 16 >= b->n_rules)
			return false;
		before = at;
	}
	return true;
}

static bool rows_are_sound(const struct sp_blob *b)
{
	const uint32_t *index = sp_blob_index(b), *rows = sp_blob_rows(b);
	uint32_t at = 0;
	for (uint32_t g = 0; g < b->n_groups; g++) {
		uint32_t n = index[g] & SP_INDEX_COUNT_MASK;
		if (index[g] >> SP_INDEX_COUNT_BITS != at || n > b->n_rows - at)
			return false;
		if (!group_is_sound(b, g, rows + at, n))
			return false;
		at += n;
	}
	return at == b->n_rows;
}

static bool rule_is_sound(const struct sp_rule *r)
{
	const unsigned known =
	    SP_RULE_SIGNAL | SP_RULE_FIRST | SP_RULE_BASE_CFA | SP_RULE_DERIVED | SP_RULE_SCALE | SP_RULE_RA_MASK;
	uint8_t ra = r->ra & SP_RULE_RA_MASK;
	bool indexed = r->cfa == SP_CFA_INDEX || r->cfa == SP_CFA_INDEX_DEREF;
	return r->cfa <= SP_CFA_CHAIN && (indexed || r->reg < SP_REG_RA) && r->fp <= SP_FP_LOST && !(r->ra & ~known) &&
	       (indexed || !(r->ra & SP_RULE_SCALE)) && (ra != SP_RA_REG || (r->ra_off >= 0 && r->ra_off < SP_REG_RA));
}

static bool rules_are_sound(const struct sp_blob *b)
{
	static const struct sp_rule none = {.cfa = SP_CFA_NONE};
	const struct sp_rule *rules = sp_blob_rules(b);
	for (uint32_t i = 0; i < b->n_rules; i++)
		if (!rule_is_sound(&rules[i]))
			return false;
	return memcmp(rules, &none, sizeof(none)) == 0;
}

int sp_blob_validate(const void *bytes, size_t size)
{
	const struct sp_blob *b = bytes;
	if (size < sizeof(*b) || (uintptr_t)bytes % _Alignof(struct sp_blob) != 0 || !header_is_sound(b, size))
		return -EBADMSG;
	if (b->check != sp_blob_hash(b) || !rows_are_sound(b) || !rules_are_sound(b))
		return -EBADMSG;
	return 0;
}
