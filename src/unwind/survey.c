/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/survey.h"
#include "base/mem.h"

static void note_row(struct sp_blob_survey *s, const struct sp_rule *rule, uint64_t bytes)
{
	s->n_rows++;
	if (rule->cfa == SP_CFA_NONE) /* a gap */
		return;
	if (rule->ra & SP_RULE_DERIVED) {
		s->n_derived_rows++;
		s->derived_bytes += bytes;
		return;
	}
	s->ruled_bytes += bytes;
	if (rule->cfa != SP_CFA_BAD)
		return;
	s->bad_bytes += bytes;
	s->n_bad[SP_MIN(rule->reg, SP_N_BAD - 1)]++;
}

static void survey_group(const struct sp_blob *b, uint32_t group, struct sp_blob_survey *s)
{
	uint32_t word = sp_blob_index(b)[group], n = word & SP_INDEX_COUNT_MASK;
	const uint32_t *row = sp_blob_rows(b) + (word >> SP_INDEX_COUNT_BITS);
	uint32_t start = n ? row[0] & 0xffff : 0; /* a group's first row is at its first byte */
	const struct sp_rule *rules = sp_blob_rules(b);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t end = i + 1 < n ? row[i + 1] & 0xffff : start + (1u << b->shift);
		note_row(s, &rules[row[i] >> 16], end - (row[i] & 0xffff));
	}
}

struct sp_blob_survey sp_blob_survey(const struct sp_blob *b)
{
	struct sp_blob_survey s = {0};

	for (uint32_t i = 0; i < b->n_groups; i++)
		survey_group(b, i, &s);
	return s;
}
