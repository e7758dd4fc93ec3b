/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wakers.h: who woke threads that waited: a row's waits, with the stack of the thread that ended them.
 *
 * The kernel half tells of each waker (thread's name, process, stacks) once, and rows name it by number. When they are
 * added to the profile, the waker's stack stands upside down above the sleeper's: "--", the waker's leaf, its root, and
 * last its name, as in bcc's offwaketime. What an interrupt woke was not woken by the thread that it interrupted: of
 * such a stack only the interrupt's part is kept, and its name is [interrupt]. Private to src/capture. The session owns
 * all. Errors: negative errnos.
 */
#ifndef SP_CAPTURE_WAKERS_H
#define SP_CAPTURE_WAKERS_H

#include "bpf/wire.h"
#include <stdint.h>

struct sp_capture;
struct sp_key;
struct sp_label;

int sp_wakers_open(struct sp_capture *c);
void sp_wakers_done(struct sp_capture *c);
int sp_wakers_take(struct sp_capture *c, const struct sp_message_waker *r);
/* The label with a waker's name: 1; 0: it was never told. */
int sp_wakers_label(struct sp_capture *c, sp_u64 id, struct sp_label *ret_label);
/*
 * Changes a row that a waker has ended: its stacks or, if the session is about wakers alone, whose it is, too. All
 * stacks are there.
 */
int sp_wakers_join(struct sp_capture *c, sp_u64 id, struct sp_key *key, uint32_t *user, uint32_t *kernel);

#endif
