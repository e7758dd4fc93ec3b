/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h: the gathered rows of one dictionary after the other, added to a profile.
 *
 * Files, functions, frames and processes of several dictionaries become one where they are the same in all that the
 * store knows of them. Windows of 1m and 1h know no processes: such rows are of a process with pid 0 for each group,
 * and of a thread that is called as its leader. Where frames were taken out of a stack stands a function "[shortened]"
 * of the library before it. A frame stands at the beginning of its function: the store keeps no addresses.
 * 0 or a negative errno. One thread.
 */
#ifndef SP_STORE_ANSWER_H
#define SP_STORE_ANSWER_H

#include "store/fold.h"

struct sp_answer_writer;
/* into: empty; it gets the gathered types of values. */
int sp_answer_new(const struct sp_gathered *g, const char *source, struct sp_profile *into,
		  struct sp_answer_writer **ret_writer);
void sp_answer_free(struct sp_answer_writer *a);
/* Adds the number of samples in stacks that lost frames to *n_shortened. */
int sp_answer_add(struct sp_answer_writer *a, uint32_t dict, const struct sp_slots *slots, uint64_t *n_shortened);

#endif
