/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * day.h: the sums and the pruned tree of a day, to which its hours are added: in steps, so that no window waits long.
 *
 * The tree comes first, then the row of sums, which tells up to which hour both are: after a crash between them the
 * hour is added to what does not have it. Hours are added in any number: all that there are since the row was written.
 * Owns its memory; one source's. Errors: -ENOMEM, those of files. Not thread-safe.
 */
#ifndef SP_STORE_ROLLUP_DAY_H
#define SP_STORE_ROLLUP_DAY_H

#include "store/priv.h"

struct sp_day_sum;
int sp_day_sum_new(uint64_t source, struct sp_day_sum **ret_day);
void sp_day_sum_free(struct sp_day_sum *day);
/* 1: it is to be called again; 0: all is done. */
int sp_day_sum_step(struct sp_store *s, struct sp_day_sum *day);

#endif
