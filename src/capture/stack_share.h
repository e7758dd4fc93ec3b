/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_share.h: how many nodes of the call tree each user's new stacks may add.
 *
 * Private to src/capture. For sessions that last: whoever runs through deep stacks in random order must not fill the
 * memory and the store of all. A user may add n_nodes at once; of what he has added, a quarter of n_nodes is given back
 * with each interval (a window). So programs that begin, and those whose stacks are various for a while, keep all, and
 * nobody fills a store's dictionary again and again. A stack's nodes are what it does not share with the user's earlier
 * stacks, from the root on; a set of bits remembers them, in which two nodes are taken for one now and then, and which
 * is emptied when an eighth of it is used. A stack that would exceed the share is to be folded (drain.c); one with
 * fewer new nodes may still fit. Users beyond SP_STACK_SHARE_USERS count as one. No share (n_nodes 0): no memory, no
 * cost. -ENOMEM only from sp_stack_share_init(). One thread.
 */
#ifndef SP_CAPTURE_STACK_SHARE_H
#define SP_CAPTURE_STACK_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_capture;
struct sp_capture_stats;
struct sp_walked;

#define SP_STACK_SHARE_NAME "[stacks above this user's share]"
enum { SP_STACK_SHARE_USERS = 64, SP_STACK_SHARE_LIBRARIES = 64 };

struct sp_stack_share {
	uint64_t n_nodes;               /* of each user at once; 0 = no limit */
	uint64_t interval_ns, began_ns; /* CLOCK_MONOTONIC */
	uint64_t *known, n_known;       /* bits, by hash of a node; how many are set */
	size_t n;
	struct sp_stack_share_user {
		uint32_t uid;
		uint64_t n_nodes;  /* added, and not given back yet */
		uint64_t n_folded; /* stacks, since the start */
	} users[SP_STACK_SHARE_USERS];
};

int sp_stack_share_init(struct sp_stack_share *s, uint64_t n_nodes, uint64_t interval_ns);
void sp_stack_share_done(struct sp_stack_share *s);
/* Whether the stack fits into its user's share: then it is taken from it. */
bool sp_stack_share_take(struct sp_stack_share *s, uint32_t uid, const struct sp_walked *walked);
/* If the interval is over another one begins: a quarter of the share is given back to each user. */
void sp_stack_share_renew(struct sp_stack_share *s, uint64_t now_ns);
/*
 * The frames of a stack above the share: the leaf's, and one in place of all others of each library on the stack, so
 * that the sums of libraries stay exact, and those of functions by self. Of SP_STACK_SHARE_LIBRARIES at most.
 */
int sp_stack_share_fold(struct sp_capture *c, const struct sp_walked *walked, uint32_t *ret_frames, uint32_t *ret_n);
/* Sets n_folded, folded_uid and n_folded_users. */
void sp_stack_share_stats(const struct sp_stack_share *s, struct sp_capture_stats *stats);

#endif
