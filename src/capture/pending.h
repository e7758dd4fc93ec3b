/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pending.h: the samples that wait for an unwind table, private to src/capture.
 *
 * The session owns them: all memory that they need to be finished is theirs, up to SP_MAX_WAITING_BYTES in all; what
 * goes beyond that is cut, and counted. Functions return 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_CAPTURE_PENDING_H
#define SP_CAPTURE_PENDING_H

#include "capture/priv.h"

struct sp_finish_memory;

struct sp_waiting { /* a sample that waits for a table */
	struct sp_waiting *next;
	struct sp_capture *c;
	size_t bytes;                      /* of this and what it points to; of a space, for its first */
	uint64_t tried;                    /* the turn of the tables that it was tried in */
	struct sp_space *space;            /* its mappings */
	sp_u8 *stack;                      /* record->stack_bytes of it */
	struct sp_stack_above *rest;       /* what lies above, or NULL */
	struct sp_code_image *image;       /* of the code that it is in, or NULL */
	struct sp_message_pending *record; /* ends where there is nothing more to keep */
};

int sp_pending_take(struct sp_capture *c, const struct sp_message_pending *r,
		    size_t size); /* with all before its stack */
/*
 * A sample to be walked at once, in this memory; if it has to wait, what it needs is copied, and the space kept. Of the
 * record the head is used.
 */
int sp_pending_walk(struct sp_capture *c, struct sp_message_pending *r, const struct sp_finish_memory *memory,
		    struct sp_space *space);
/* A row of a stack that waits by the number that it goes by: counted when it is finished. False: none waits so. */
bool sp_pending_count(struct sp_capture *c, const struct sp_count_key *key, const struct sp_count *value);
int sp_pending_try(struct sp_capture *c, bool is_last); /* all that can be finished now; is_last: cut the others */
void sp_pending_free(struct sp_capture *c);

/* image.c: what the user half reads of HotSpot's code; of struct sp_finish_memory, arg: a struct sp_waiting. */
int sp_image_fetch(void *waiting, sp_u32 id);
int sp_image_word(void *waiting, sp_u64 addr, void *ret, size_t n);
void sp_image_put(struct sp_code_image *image); /* NULL is allowed */

#endif
