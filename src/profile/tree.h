/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.h: call trees: the stacks of a profile merged, from the root up (callees) or from the leaf down (callers).
 *
 * A node's total is its self and its children's totals (unless a sum saturates), also after thresholds; each sample
 * is counted once. CALLEES: paths go from a thread's root to the leaf; self is the value of the samples whose leaf is
 * the node. CALLERS: paths go from the leaf to the root; self is the value of the samples whose root is the node.
 * What profilers usually call self, samples in the function itself, is `leaf` in both. Functions and libraries are
 * those of identity.h; frames without a name are one node for each library.
 * focus: only samples that have a frame of it, and paths begin with it; both directions of one focus are a sandwich.
 * Of a function the occurrence nearest to the root counts; of a library (focus_run) the run nearest to the leaf, as
 * in matrix.h (the root's would be libc for every thread), and the path begins at its entry function. fold_recursion:
 * where a path, from the root, meets a function (or run) again, it goes on from the first one: A B C B D is A B D;
 * self is unchanged.
 * min_drawn: nodes too narrow to be drawn are pruned as soon as the paths have left them, so the tree of a large
 * profile with sorted rows needs little memory; then a node's total may exceed its self and its children's totals.
 * Errors: -ENOMEM; -EINVAL for a value that the profile does not have. Only reads the profile; reentrant.
 */
#ifndef SP_PROFILE_TREE_H
#define SP_PROFILE_TREE_H

#include <stdbool.h>

#include "profile/profile.h"

enum sp_tree_direction { SP_TREE_CALLEES, SP_TREE_CALLERS };
enum sp_tree_granularity {
	SP_TREE_FUNCTIONS, /* a node for each function */
	SP_TREE_ENTRIES,   /* a node for each run of one library (matrix.h) and its entry function */
	SP_TREE_LIBRARIES, /* a node for each run of one library */
};

struct sp_tree_options {
	uint32_t value;
	bool has_second; /* sums second_self and second_total, too, for differential graphs */
	uint32_t second;
	enum sp_tree_direction direction;
	enum sp_tree_granularity granularity;
	bool fold_recursion;
	bool comms; /* a node for the thread's name at the root's end of each path */
	bool marks; /* a node at the root's end of cut or missing stacks; guessed frames are nodes of their own */
	bool user_only, kernel_only; /* leaves out the other half of each stack */
	bool by_name;                /* children by name; else by falling total */
	bool by_path;                /* files without build ids are distinct by path (identity.h) */
	bool drawn;                  /* values are widths: negative ones count as 0, and rows with 0 are left out */
	const bool *focus;           /* by number of the frame (sp_profile_frames_matching()); NULL = all samples */
	bool focus_run;              /* the focus is a library, not a function */
	double min_share;            /* nodes below this share (0 to 1) of node 0, in both values, become "other" */
	uint32_t max_depth;          /* nodes deeper than this become "other"; 0 = no limit */
	/* With drawn, and without a focus: nodes below this share of the whole, in both values, are left out. */
	double min_drawn;
};

enum sp_tree_kind {
	SP_TREE_ALL,      /* node 0 */
	SP_TREE_FRAME,    /* func (0 = no name) in library (0 = not known) */
	SP_TREE_RUN,      /* a run of library; ENTRIES: with the entry function func */
	SP_TREE_COMM,     /* the thread's name: string */
	SP_TREE_CUT,      /* the stack is cut here */
	SP_TREE_NO_STACK, /* there was a user stack, but not one frame is known */
	SP_TREE_OTHER,    /* all siblings below a threshold, as one node; the last child */
};

struct sp_tree_label {
	uint32_t kind; /* enum sp_tree_kind */
	uint32_t func, library, string;
	uint32_t flags; /* SP_FRAMEF_KERNEL; with marks SP_FRAMEF_GUESSED */
};

struct sp_tree_node {
	uint32_t parent, first,
	    next;              /* first child, next sibling; 0 = none. A parent's number is lower than its children's */
	uint32_t label, depth; /* label: index of labels; node 0 has depth 0 */
	uint32_t n_cut;        /* OTHER: the number of siblings that it replaces */
	int64_t self, total, n_samples; /* n_samples: in total */
	int64_t leaf; /* the value of samples in the function itself; CALLERS: only in nodes of depth 1 */
	int64_t second_self, second_total;
};

/* A sample counts once in total of each library on its path, and in self of the leaf's library. */
struct sp_tree_library {
	uint32_t file; /* as in identity.h, but a kernel module is a library of its own; 0: not known */
	int64_t self, total, second_self, second_total;
};

struct sp_tree {
	struct sp_tree_node *nodes;
	struct sp_tree_label *labels;
	struct sp_tree_library *libraries;
	uint32_t *library_of; /* by label: index of libraries */
	uint32_t n_nodes, n_labels, n_libraries;
	uint64_t n_left_out;              /* nodes with a value, because of min_drawn */
	int64_t value, n_samples, second; /* of the whole profile, also with a focus */
};

int sp_tree_new(const struct sp_profile *p, const struct sp_tree_options *o, struct sp_tree *ret_tree);
void sp_tree_done(struct sp_tree *t);
/* The name of a node's function, library or thread; "" if it has none. Owned by the profile. */
const char *sp_tree_name(const struct sp_profile *p, const struct sp_tree *t, uint32_t node);

#endif
