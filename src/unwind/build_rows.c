/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/build_rows.h"
#include "base/mem.h"
#include "unwind/priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RULES = 1 << 16 };

static int rule_add(struct sp_unwind_rows *r, const struct sp_rule *rule)
{
	int64_t n = sp_intern_find(r->rules, rule, sizeof(*rule));
	if (n >= 0)
		return (int)n;
	if (sp_intern_count(r->rules) < MAX_RULES)
		return (int)sp_intern_add(r->rules, rule, sizeof(*rule));
	r->partial = true;
	return -ENOSPC;
}

int sp_unwind_rows_rule(struct sp_unwind_rows *r, const struct sp_rule *rule)
{
	uint64_t w[2];
	memcpy(w, rule, sizeof(w));
	uint64_t h = (w[0] ^ w[1] * 0x9e3779b97f4a7c15ULL) * 0xd6e8feb86659fd93ULL;
	size_t i = (size_t)(h >> 58) % SP_ROWS_CACHE;
	if (r->cache[i].used && memcmp(&r->cache[i].rule, rule, sizeof(*rule)) == 0)
		return r->cache[i].number;
	int n = rule_add(r, rule);
	if (n == -ENOSPC)
		return 1;
	if (n < 0)
		return n;
	r->cache[i].rule = *rule;
	r->cache[i].number = (uint16_t)n;
	r->cache[i].used = true;
	return n;
}

struct sp_rule sp_unwind_rows_rule_at(const struct sp_unwind_rows *r, uint16_t number)
{
	struct sp_rule rule;
	memcpy(&rule, sp_intern_get(r->rules, number, NULL), sizeof(rule));
	return rule;
}

static int row_append(struct sp_unwind_rows *r, uint64_t row)
{
	if (r->n == SP_MAX_ROWS) {
		r->partial = true;
		return -EFBIG;
	}
	int e = sp_grow(&r->row, &r->capacity, r->n + 1, sizeof(*r->row));
	if (e == 0)
		r->row[r->n++] = row;
	return e;
}

int sp_unwind_rows_push(struct sp_unwind_rows *r, uint64_t offset, const struct sp_rule *rule, bool lost)
{
	int n = sp_unwind_rows_rule(r, rule);
	if (n < 0)
		return n;
	if (r->n > 0 && sp_unwind_row_offset(r->row[r->n - 1]) == offset)
		r->n--;
	if (r->n > 0 && (uint16_t)r->row[r->n - 1] == n)
		return 0;
	return row_append(r, sp_unwind_row_make(offset, lost, (uint16_t)n));
}

int sp_unwind_rows_mark_first(struct sp_unwind_rows *r, size_t from)
{
	for (size_t i = from; i < r->n; i++) {
		struct sp_rule rule = sp_unwind_rows_rule_at(r, (uint16_t)r->row[i]);
		rule.ra |= SP_RULE_FIRST;
		int n = sp_unwind_rows_rule(r, &rule);
		if (n < 0)
			return n;
		r->row[i] = (r->row[i] & ~0xffffULL) | (uint16_t)n;
	}
	return 0;
}

int sp_unwind_rows_start(struct sp_unwind_rows *r)
{
	static const struct sp_rule first[] = {{.cfa = SP_CFA_NONE}, {.cfa = SP_CFA_BAD}};
	sp_intern_free(r->rules);
	r->rules = NULL;
	r->n = 0;
	r->partial = false;
	memset(r->cache, 0, sizeof(r->cache));
	int e = sp_intern_new(&r->rules);
	for (size_t i = 0; i < SP_COUNT(first) && e == 0; i++)
		e = sp_unwind_rows_rule(r, &first[i]) == (int)i ? 0 : -ENOMEM;
	return e;
}

void sp_unwind_rows_done(struct sp_unwind_rows *r)
{
	sp_intern_free(r->rules);
	free(r->row);
}
