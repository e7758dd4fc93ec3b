/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h: the gathered rows of one dictionary after the other, made rows of a profile.
 *
 * Files, functions, frames and processes of several dictionaries become one where they are the same in all that the
 * store knows of them. Windows of 1m and 1h know no processes: such rows are of a process with pid 0 for each group,
 * and of a thread that is called as its leader. Where frames were taken out of a stack stands a function "[shortened]"
 * of the library before it. A frame stands at the beginning of its function: the store keeps no addresses.
 * 0 or a negative errno. One thread.
 */
#ifndef SP_STORE_QUERY_ANSWER_H
#define SP_STORE_QUERY_ANSWER_H

#include "store/query/answer_stacks.h"

struct sp_answer_writer;
/* into: empty. */
int sp_answer_new(struct sp_gathered *g, const char *source, struct sp_profile *into,
		  struct sp_answer_writer **ret_writer);
void sp_answer_free(struct sp_answer_writer *a);
/* Translates the dictionary's rows where they are: afterwards they name what they were of by other numbers. */
int sp_answer_add(struct sp_answer_writer *a, uint32_t dict, const struct sp_answer_stacks *slots);
/* When all dictionaries were: adds the types of values, sums the rows, and adds them. Tells how many samples are of
 * stacks that lost frames. */
int sp_answer_finish(struct sp_answer_writer *a, uint64_t *ret_n_shortened);

#endif
