/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer_stacks.h: chooses the stacks of an answer for the rows of one dictionary; shortens rare ones if there are too
 * many.
 *
 * Filters by library and function come first: one forward pass over the call tree marks the nodes whose path matches.
 * Without shortening each node with rows is a stack. Otherwise a node with less than `least` below it loses the frames
 * between its leaf and its nearest large ancestor, so sums by leaf stay exact, also by function and library. Stacks
 * that are still rare lose more, up to the mark at the root, which always stays, because it tells how complete the
 * user stack was. So there are at most 1/share + functions of them. A frame that a filter asks for stays, once in each
 * stack.
 * 0 or -ENOMEM. Both structs belong to the caller: sp_answer_stacks_done(), sp_wanted_done(). One thread.
 */
#ifndef SP_STORE_QUERY_ANSWER_STACKS_H
#define SP_STORE_QUERY_ANSWER_STACKS_H

#include "store/query/gather.h"

enum { SP_ANSWER_STACK_NONE = 0x7fffffff, SP_ANSWER_STACK_MASK = 0x7fffffff };
#define SP_ANSWER_STACK_SHORTENED UINT32_C(0x80000000)

struct sp_answer_stack {
	uint32_t node;         /* the stack's path to the root begins here */
	uint32_t leaf;         /* leaf frame below node, 0 = none */
	uint32_t wanted_frame; /* frame between the two that a filter asks for; 0: none, or the rest has one */
	uint32_t mark;         /* frame of the kernel's mark, if it was between the two; 0 = none */
	bool mark_last;        /* the mark is below the leaf: no kernel frames */
	bool shortened;        /* frames were removed between node and leaf */
};
struct sp_answer_stacks {
	uint32_t *of_end; /* by end (gather.h): SP_ANSWER_STACK_NONE or a slot, with SP_ANSWER_STACK_SHORTENED if frames
			     were removed */
	struct sp_answer_stack *slots;
	uint32_t n_slots;
	/* reused for the next dictionary: allocating costs more than filling them */
	float *self, *under;
	uint32_t *ancestor;
	size_t of_end_capacity, self_capacity, under_capacity, ancestor_capacity;
};

/* What matches the library and function of a query; both NULL: everything. */
struct sp_wanted {
	uint8_t *nodes;  /* by node: 1 if its path has all that is asked for */
	uint8_t *frames; /* by frame: 1 if it matches the function; if none is asked for, the library */
};
int sp_match_nodes(const struct sp_dict *d, const struct sp_store_query *q, struct sp_wanted *ret_wanted);
void sp_wanted_done(struct sp_wanted *w);
/* Sum of the first value of rows at wanted nodes, and the number of these nodes, counted up to `enough`. */
int sp_count_wanted_nodes(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, size_t enough,
			  double *ret_sum, size_t *ret_n);
/* least: 0 = no stack is shortened. s: zeroed, or used before for another dictionary. */
int sp_answer_stacks_make(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, double least,
			  struct sp_answer_stacks *s);
void sp_answer_stacks_done(struct sp_answer_stacks *s);

/* The end of a row; 0: not in its dictionary. */
static inline uint32_t sp_gathered_row_end(const struct sp_gathered_window *w, uint32_t row, uint32_t n_ends)
{
	return w->nodes[row] < n_ends ? w->nodes[row] : 0;
}

#endif
