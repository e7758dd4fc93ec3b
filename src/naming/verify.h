/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify.h: marks guessed stacks as complete where the code itself proves the guesses right.
 *
 * Files may have more code without unwind information than is derived while sampling; their frames are guessed by the
 * frame pointer. When the recording is over, a parser explores the sampled functions (unwind/verify.h). Frames to
 * which the frame pointer provably led are marked as derived, and stacks without a guess left are complete; the
 * profile's rows are summed anew. Only files are asked about, since memory may have changed. What a parser cannot tell
 * stays as it was. Call it before frames get names, since it adds frames; it waits for workers. 0 or -ENOMEM; one
 * thread.
 */
#ifndef SP_NAMING_VERIFY_H
#define SP_NAMING_VERIFY_H

struct sp_naming;
int sp_verify_stacks(struct sp_naming *n); /* of n->profile */

#endif
