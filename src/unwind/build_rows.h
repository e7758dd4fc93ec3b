/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build_rows.h: the rows of a table while it is built, in order, and the numbers of their rules.
 *
 * Rule 0 is SP_CFA_NONE. Rule 1 is SP_CFA_BAD, also used when no rule numbers are left. The builder owns everything;
 * sp_unwind_rows_done() frees it. `partial` is set at a limit. 0 or -ENOMEM; -EFBIG: SP_MAX_ROWS.
 */
#ifndef SP_UNWIND_BUILD_ROWS_H
#define SP_UNWIND_BUILD_ROWS_H

#include "base/intern.h"
#include "bpf/wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_ROWS_CACHE = 64 };
struct sp_unwind_rows {
	uint64_t *row;
	size_t n, capacity;
	struct sp_intern *rules;
	struct {
		struct sp_rule rule;
		uint16_t number;
		bool used;
	} cache[SP_ROWS_CACHE]; /* in front of `rules` */
	bool partial;
};

int sp_unwind_rows_start(struct sp_unwind_rows *r); /* also to start again */
void sp_unwind_rows_done(struct sp_unwind_rows *r);
/* Adds a row, not below the last one; it replaces a row at the same offset, and equal neighbours merge. */
int sp_unwind_rows_push(struct sp_unwind_rows *r, uint64_t offset, const struct sp_rule *rule, bool lost);
/* The number of a rule, or negative. */
int sp_unwind_rows_rule(struct sp_unwind_rows *r, const struct sp_rule *rule);
struct sp_rule sp_unwind_rows_rule_at(const struct sp_unwind_rows *r, uint16_t number);
/* The rows from this one on are of a function that cannot return: SP_RULE_FIRST. */
int sp_unwind_rows_mark_first(struct sp_unwind_rows *r, size_t from);

#endif
