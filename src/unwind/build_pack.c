/* SPDX-License-Identifier: GPL-2.0-or-later */
/* build_pack.c: puts rows into groups: chooses the groups' size, and begins each with a row for its first byte. */
#include "unwind/priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_SHIFT = 8, MAX_SHIFT = 16, MAX_MEAN_ROWS = 22 };

struct plan {
	uint32_t shift;
	uint64_t first, n_groups, n_rows; /* n_rows: with the copies at the groups' starts */
	bool complete;
};

/*
 * The number of rows in the group that begins at row i; *ret_next: the first row behind it. Where nothing of a gap ends
 * in the group, it has none: most groups of chromium.
 */
static size_t group_rows(const uint64_t *rows, size_t n, size_t i, uint64_t group, uint32_t shift, size_t *ret_next)
{
	size_t next = i;
	while (next < n && sp_unwind_row_offset(rows[next]) >> shift == group)
		next++;
	bool starts = next > i && sp_unwind_row_offset(rows[i]) == group << shift;
	bool in_gap = next == i && (i == 0 || (uint16_t)rows[i - 1] == 0);
	*ret_next = next;
	return next - i + (!starts && !in_gap);
}

/* As many groups as the caps allow, from the beginning. */
static struct plan plan_for(const uint64_t *rows, size_t n, uint32_t shift)
{
	struct plan p = {.shift = shift, .first = sp_unwind_row_offset(rows[0]) >> shift};
	for (size_t i = 0; i < n;) {
		uint64_t group = p.first + p.n_groups;
		size_t next, count = group_rows(rows, n, i, group, shift, &next);
		if (p.n_groups == SP_BLOB_MAX_GROUPS || count > SP_INDEX_COUNT_MASK || p.n_rows + count > SP_MAX_ROWS)
			return p;
		p.n_groups++;
		p.n_rows += count;
		i = next;
	}
	p.complete = true;
	return p;
}

/* Groups of about 16 rows on average (11 to 22); if not all rows fit so, wider or else narrower groups. */
static struct plan choose_plan(const uint64_t *rows, size_t n)
{
	uint64_t span = sp_unwind_row_offset(rows[n - 1]) - sp_unwind_row_offset(rows[0]) + 1;
	uint32_t shift = MAX_SHIFT;
	while (shift > MIN_SHIFT && (uint64_t)n << shift > span * MAX_MEAN_ROWS)
		shift--;
	struct plan best = plan_for(rows, n, shift);
	for (uint32_t s = shift + 1; !best.complete && s <= MAX_SHIFT; s++) {
		struct plan p = plan_for(rows, n, s);
		if (p.complete || p.n_groups << p.shift > best.n_groups << best.shift)
			best = p;
	}
	for (uint32_t s = shift; !best.complete && s-- > MIN_SHIFT;) {
		struct plan p = plan_for(rows, n, s);
		if (p.complete || p.n_groups << p.shift > best.n_groups << best.shift)
			best = p;
	}
	return best;
}

static uint32_t row_word(uint64_t offset, uint64_t row)
{
	return (uint32_t)(offset & 0xffff) | (uint32_t)(uint16_t)row << 16;
}

static void fill(const struct plan *p, const uint64_t *rows, size_t n, uint32_t *index, uint32_t *words)
{
	uint32_t at = 0;
	uint64_t in_force = 0; /* rule 0 in front of the first row */
	for (size_t i = 0, g = 0; g < p->n_groups; g++) {
		uint64_t start = (p->first + g) << p->shift;
		size_t next, count = group_rows(rows, n, i, p->first + g, p->shift, &next);
		index[g] = at << SP_INDEX_COUNT_BITS | (uint32_t)count;
		if (count > next - i)
			words[at++] = row_word(start, in_force);
		for (; i < next; i++)
			words[at++] = row_word(sp_unwind_row_offset(rows[i]), rows[i]);
		in_force = i > 0 ? rows[i - 1] : 0;
	}
}

static void count_rows(struct sp_blob *b, const uint64_t *rows, size_t n, const struct sp_rule *rules)
{
	for (size_t i = 0; i < n; i++) {
		b->n_bad_rows += rules[(uint16_t)rows[i]].cfa == SP_CFA_BAD;
		b->n_lost_fp += rows[i] >> 16 & 1;
		b->n_derived_rows += (rules[(uint16_t)rows[i]].ra & SP_RULE_DERIVED) != 0;
	}
}

int sp_blob_pack(const struct sp_blob *h, const uint64_t *rows, size_t n_rows, const struct sp_rule *rules,
		 size_t n_rules, struct sp_blob **ret_blob)
{
	struct plan p = {.shift = MIN_SHIFT, .complete = true};
	uint64_t rules_at;
	if (n_rows > 0)
		p = choose_plan(rows, n_rows);
	uint64_t bytes = sp_blob_bytes(p.n_groups, p.n_rows, n_rules, &rules_at);
	struct sp_blob *b = calloc(1, bytes);
	if (!b)
		return -ENOMEM;
	*b = *h;
	b->magic = SP_BLOB_MAGIC;
	b->version = SP_BLOB_VERSION;
	b->flags |= p.complete ? 0 : SP_BLOB_PARTIAL;
	b->shift = p.shift;
	b->first = (uint32_t)p.first;
	b->n_groups = (uint32_t)p.n_groups;
	b->n_rows = (uint32_t)p.n_rows;
	b->n_rules = (uint32_t)n_rules;
	b->bytes = bytes;
	count_rows(b, rows, n_rows, rules);
	fill(&p, rows, n_rows, (uint32_t *)(b + 1), (uint32_t *)(b + 1) + p.n_groups);
	memcpy((uint8_t *)b + rules_at, rules, n_rules * sizeof(*rules));
	b->check = sp_blob_hash(b);
	*ret_blob = b;
	return 0;
}
