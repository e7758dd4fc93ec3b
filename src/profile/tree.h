/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.h: call trees: the stacks of a profile, one over the other, from the root up or from the leaf down.
 *
 * Always: a node's total is its self and its children's totals (unless a sum saturates), also after thresholds; each
 * sample is counted once. CALLEES: paths go from a thread's root to the leaf, self is the value of the leaf. CALLERS:
 * from the leaf to the root; self is what ends there (threads begin there). What people call self, the value of the
 * samples that were in the function itself, is leaf in both. Functions and libraries are those of identity.h: frames
 * without a name are one node for each library.
 * With a focus there are only the samples that have a frame of it, and paths begin with it: both directions of one
 * focus are a sandwich. Of a function the occurrence nearest to the root counts (it holds all that the function does);
 * of a library (focus_run) the run nearest to the leaf, as in matrix.h (the root would lead into libc for every
 * thread), and the path begins with the frame through which it was entered. fold_recursion: where a path, seen from the
 * root, comes to a function (or run) a second time, what lies between is left out and it goes on from the first: A B C
 * B D is A B D. The leaf stays, so self is what it was.
 * min_drawn: what is too narrow to be seen is given up as soon as the paths have left it, so the tree of a large
 * profile whose rows are sorted by their stacks takes no more memory than its picture; a node's total may then be more
 * than its self and its children's totals. 0 or -ENOMEM, -EINVAL for a value that the profile does not have. Only reads
 * the profile; reentrant.
 */
#ifndef SP_PROFILE_TREE_H
#define SP_PROFILE_TREE_H

#include <stdbool.h>

#include "profile/profile.h"

enum sp_tree_direction { SP_TREE_CALLEES, SP_TREE_CALLERS };
enum sp_tree_fold {
	SP_TREE_FRAMES,  /* a node for each function */
	SP_TREE_ENTRIES, /* neighbouring frames of one library are one node, told apart by the function of the lowest */
	SP_TREE_LIBRARIES, /* the same, by library alone */
};

struct sp_tree_options {
	uint32_t value;
	bool has_second; /* second_self and second_total are summed, too: differential graphs */
	uint32_t second;
	enum sp_tree_direction direction;
	enum sp_tree_fold fold;
	bool fold_recursion;
	bool comms;                  /* the thread's name at the root's end of each path, where it has one */
	bool marks;                  /* notes of stacks cut or missing at the root's end; guessed frames apart */
	bool user_only, kernel_only; /* leave the other half of each stack out */
	bool by_name;                /* children by name; else by falling total */
	bool by_path;                /* identity.h: files without build ids are told apart by their paths */
	bool drawn;                  /* for widths: values below 0 count as 0, and rows without any are left out */
	const bool *focus;           /* by number of the frame (sp_profile_frames_matching); NULL = all samples */
	bool focus_run;              /* the focus is a library, not a function */
	double min_share;            /* nodes below this share (0 to 1) of node 0, in both values, become "other" */
	uint32_t max_depth;          /* nodes deeper than this become "other"; 0 = no limit */
	/* With drawn: nodes below this share of the whole, in both values, are left out, unless there is a focus. */
	double min_drawn;
};

enum sp_tree_kind {
	SP_TREE_ALL,      /* node 0 */
	SP_TREE_FRAME,    /* func (0 = no name) in library (0 = not known) */
	SP_TREE_RUN,      /* neighbouring frames in library; ENTRIES: entered by func */
	SP_TREE_COMM,     /* string */
	SP_TREE_CUT,      /* the stack's root is missing here */
	SP_TREE_NO_STACK, /* there was a user stack, of which nothing is known */
	SP_TREE_OTHER,    /* the siblings that were cut by a threshold, all in one, the last of the children */
};

struct sp_tree_label {
	uint32_t kind; /* enum sp_tree_kind */
	uint32_t func, library, string;
	uint32_t flags; /* SP_FRAMEF_KERNEL; with marks SP_FRAMEF_GUESSED */
};

struct sp_tree_node {
	uint32_t parent, first, next; /* child and sibling; 0 = none. Parents have lower numbers than their children */
	uint32_t label, depth;        /* of labels; node 0 has depth 0 */
	uint32_t n_cut;               /* OTHER: how many children of its parent it stands for */
	int64_t self, total, n_samples; /* n_samples: of total */
	int64_t leaf; /* CALLERS: at the path's beginning, of samples that are in that function itself */
	int64_t second_self, second_total;
};

/* A sample counts once in total, however often the library is in its path, and in self where its path ends. */
struct sp_tree_library {
	uint32_t file; /* as in identity.h, but a module of the kernel is a library of its own; number 0: none known */
	int64_t self, total, second_self, second_total;
};

struct sp_tree {
	struct sp_tree_node *nodes;
	struct sp_tree_label *labels;
	struct sp_tree_library *libraries;
	uint32_t *library_of; /* by label: of libraries */
	uint32_t n_nodes, n_labels, n_libraries;
	uint64_t n_left_out;              /* nodes with a value, by min_drawn */
	int64_t value, n_samples, second; /* of the whole profile, whatever the focus */
};

int sp_tree_new(const struct sp_profile *p, const struct sp_tree_options *o, struct sp_tree *ret_tree);
void sp_tree_done(struct sp_tree *t);
/* The name of a node's function, library or thread, "" if there is none. Owned by the profile. */
const char *sp_tree_name(const struct sp_profile *p, const struct sp_tree *t, uint32_t node);

#endif
