/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drain.h: messages and counts of the kernel half, turned into the profile.
 *
 * Private to src/capture. What is read is trusted as far as its bounds go: a message that breaks them is -EBADMSG.
 * Frames, stacks and processes come before the counts that name them; a stack that never came is counted as lost.
 * Functions return 0 or a number (>= 0), or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_CAPTURE_DRAIN_H
#define SP_CAPTURE_DRAIN_H

#include "bpf/wire.h"
#include <stddef.h>
#include <stdint.h>

struct ring_buffer;
struct sp_capture;
struct sp_capture_options;

int sp_drain_ring(struct ring_buffer *ring);                  /* NULL: nothing to read */
int sp_drain_message(void *capture, void *data, size_t size); /* a ring_buffer_sample_fn */
int sp_drain_counts(struct sp_capture *c, unsigned odd);
int sp_drain_episodes(struct sp_capture *c, uint64_t now_ns); /* those that are still open */
struct sp_episode;
int sp_drain_episode(struct sp_capture *c, const struct sp_episode *e, uint64_t now_ns);
int sp_drain_give_up(struct sp_capture *c); /* forgets them: another profile does not know their stacks */
int sp_drain_processes(struct sp_capture *c);
int sp_drain_forget(int map_fd, size_t key_bytes, size_t value_bytes); /* empties a hash map */
int sp_drain_add(struct sp_capture *c, const struct sp_count_key *key, const struct sp_count *value,
		 uint32_t user_stack);
struct sp_walked { /* a user stack, with its frames in the slots of sp_frame_slot() */
	const sp_u64 *words;
	uint32_t n;    /* frames walked; words[] has at most SP_MAX_FRAMES of them */
	uint32_t stop; /* enum sp_stop | SP_STACK_HAS_GUESS */
	uint32_t uid;  /* whose share of stacks it takes (stack_share.h) */
};
int64_t sp_drain_frame(struct sp_capture *c, sp_u64 word); /* the frame's number */
int64_t sp_drain_file(struct sp_capture *c, sp_u64 word);  /* that of its file */
/* A frame in place of others: a function of that name in the file. */
int64_t sp_drain_gap(struct sp_capture *c, uint32_t file, const char *name);
/* Above its user's share a new stack is folded. */
int64_t sp_drain_stack(struct sp_capture *c, const struct sp_walked *walked);
/* The number of a stack whose frames were sent; 0 for no stack. Frames that never came are counted as lost. */
uint32_t sp_drain_stack_number(struct sp_capture *c, sp_u64 id, sp_u64 n);
/* Of a row. Without user stacks what stands there is but the ticket by which a thread that waited already is known. */
uint32_t sp_drain_user_stack(struct sp_capture *c, const struct sp_count_key *key, sp_u64 n);
size_t sp_drain_key_bytes(const struct sp_capture_options *o); /* of a key in the tables of counts */

#endif
