/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer_stacks.h: the stacks that an answer tells of, of the rows gathered in one dictionary; rare ones shortened if
 * need be.
 *
 * Filters by library and function come first: one pass forward over the call tree says which nodes have such a frame.
 * Then each node that a row ends at is a stack of its own; or, where that would be too many, nodes with less than
 * `least` under them lose the frames between their nearest ancestor that has as much and their leaf. So values by leaf
 * stay exact, by function and by library. Stacks that are still rare lose more, up to the mark at the root that tells
 * how whole the user stack was, which always stays: there are at most 1/share + functions of them. What the filter
 * asked for stays in each, once. 0 or -ENOMEM. Both structs belong to the caller: sp_answer_stacks_done(). One thread.
 */
#ifndef SP_STORE_QUERY_ANSWER_STACKS_H
#define SP_STORE_QUERY_ANSWER_STACKS_H

#include "store/query/gather.h"

enum { SP_ANSWER_STACK_NONE = 0x7fffffff, SP_ANSWER_STACK_MASK = 0x7fffffff };
#define SP_ANSWER_STACK_SHORTENED UINT32_C(0x80000000)

struct sp_answer_stack {
	uint32_t node;  /* the path to it */
	uint32_t leaf;  /* a frame behind that, 0 = none */
	uint32_t kept;  /* a frame between the two that a filter asked for, 0 = none, or there is one elsewhere */
	uint32_t mark;  /* a frame, the mark that the kernel's part begins with, lost between the two; 0 = none */
	bool mark_last; /* the mark comes behind the leaf: there are no frames of the kernel */
	bool shortened; /* frames were lost between node and leaf */
};
struct sp_answer_stacks {
	uint32_t *of_end; /* by end (gather.h): SP_ANSWER_STACK_NONE, or a slot; with SP_ANSWER_STACK_SHORTENED if it
			     lost frames */
	struct sp_answer_stack *slots;
	uint32_t n_slots;
	/* kept from one dictionary to the next: new memory costs more than what is done in it */
	float *self, *under;
	uint32_t *ancestor;
	size_t of_end_capacity, self_capacity, under_capacity, ancestor_capacity;
};

/* What q's library and function ask for; both NULL: everything. */
struct sp_wanted {
	uint8_t *nodes;  /* by node: 1 if its path has all of it */
	uint8_t *frames; /* by frame: 1 if it is of the function, or, if there is none asked for, of the library */
};
int sp_nodes_wanted(const struct sp_dict *d, const struct sp_store_query *q, struct sp_wanted *ret_wanted);
void sp_wanted_done(struct sp_wanted *w);
/* The sum of the first value of the rows at wanted nodes, and how many such nodes there are, counted up to `enough`. */
int sp_nodes_count(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, size_t enough,
		   double *ret_sum, size_t *ret_n);
/* least: 0 = all stacks stay whole. s: zeroed, or filled before for another dictionary. */
int sp_answer_stacks_make(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, double least,
			  struct sp_answer_stacks *s);
void sp_answer_stacks_done(struct sp_answer_stacks *s);

/* The end of this row, 0 if its dictionary does not know it. */
static inline uint32_t sp_gathered_end(const struct sp_gathered_window *w, uint32_t row, uint32_t n_ends)
{
	return w->nodes[row] < n_ends ? w->nodes[row] : 0;
}

#endif
