/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h: turns gathered rows, one dictionary after the other, into rows of a profile.
 *
 * Files, functions, frames and processes of several dictionaries become one if all that the store knows of them is
 * equal. Windows of 1m and 1h have no processes: each group becomes a process with pid 0 and one thread, named as its
 * leader. Frames removed from a stack are replaced by a function "[shortened]" of the library above. The store keeps
 * no addresses: a frame has the address of its function.
 * 0 or a negative errno. One thread.
 */
#ifndef SP_STORE_QUERY_ANSWER_H
#define SP_STORE_QUERY_ANSWER_H

#include "store/query/answer_stacks.h"

struct sp_answer_writer;
/* into: an empty profile. */
int sp_answer_new(struct sp_gathered *g, const char *source, struct sp_profile *into,
		  struct sp_answer_writer **ret_writer);
void sp_answer_free(struct sp_answer_writer *a);
/* Translates the rows of one dictionary in place: afterwards they have numbers of the profile. */
int sp_answer_add(struct sp_answer_writer *a, uint32_t dict, const struct sp_answer_stacks *slots);
/* After all dictionaries: adds value types and summed rows to the profile. *ret_n_shortened: samples of shortened
 * stacks. */
int sp_answer_finish(struct sp_answer_writer *a, uint64_t *ret_n_shortened);

#endif
