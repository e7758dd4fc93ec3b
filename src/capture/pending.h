/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pending.h: the samples that wait for an unwind table, private to src/capture.
 *
 * The session owns them. All memory that they need to be finished belongs to them, SP_MAX_WAITING_BYTES in all; a
 * sample beyond that is cut, and counted. Functions return 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_CAPTURE_PENDING_H
#define SP_CAPTURE_PENDING_H

#include "capture/priv.h"

struct sp_finish_memory;

struct sp_waiting { /* a sample that waits for a table */
	struct sp_waiting *next;
	struct sp_capture *c;
	size_t bytes;                /* of this struct and what it points to; a space counts for its first sample */
	uint64_t tried;              /* n_table_changes when it was last tried */
	struct sp_space *space;      /* its mappings */
	sp_u8 *stack;                /* record->stack_bytes of it */
	struct sp_stack_above *rest; /* the stack above the copy, or NULL */
	struct sp_code_image *image; /* of the HotSpot code on its stack, or NULL */
	struct sp_message_pending *record; /* only as long as what is kept of it */
	struct sp_count allocated;         /* that counts, besides, in the row of all allocations */
};

int sp_pending_take(struct sp_capture *c, const struct sp_message_pending *r,
		    size_t size); /* size: of the whole message */
/*
 * Walks a sample at once, in this memory. If it has to wait, what it needs is copied, and the space kept. Only the head
 * of the message is used.
 */
int sp_pending_walk(struct sp_capture *c, struct sp_message_pending *r, const struct sp_finish_memory *memory,
		    struct sp_space *space);
/* Keeps a sample with the stack in this memory, until sp_pending_try(). Only the head of the message is used. */
int sp_pending_keep(struct sp_capture *c, const struct sp_message_pending *r, const struct sp_finish_memory *memory,
		    struct sp_space *space);
/*
 * Keeps a row whose ticket stands for a waiting sample, to count it when that is finished. False: none has this ticket.
 */
bool sp_pending_count(struct sp_capture *c, const struct sp_count_key *key, const struct sp_count *value);
int sp_pending_try(struct sp_capture *c, bool is_last); /* all that can be finished now; is_last: cuts the others */
void sp_pending_free(struct sp_capture *c);

/*
 * image.c: a callback of struct sp_finish_memory, which has HotSpot's code read; its argument is a struct sp_waiting.
 */
int sp_image_fetch(void *waiting, sp_u32 id);
int sp_image_word(void *waiting, sp_u64 addr, void *ret, size_t n);
void sp_image_put(struct sp_code_image *image); /* NULL is allowed */

#endif
