/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * day.h: adds hours to the totals and the pruned tree of their day, in steps, so that no window takes long.
 *
 * The tree is written first, then the row of totals, which names the last hour in both: after a crash in between the
 * hours are added to the totals only. Any number of hours can be added: all since the row was written.
 * Owns its memory. For one source. Errors: -ENOMEM, those of files. Not thread-safe.
 */
#ifndef SP_STORE_ROLLUP_DAY_H
#define SP_STORE_ROLLUP_DAY_H

#include "store/priv.h"

struct sp_day_sum;
int sp_day_sum_new(uint64_t source, struct sp_day_sum **ret_day);
void sp_day_sum_free(struct sp_day_sum *day);
/* 1: call again; 0: done. */
int sp_day_sum_step(struct sp_store *s, struct sp_day_sum *day);

#endif
