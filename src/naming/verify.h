/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify.h: guessed stacks of a profile that the code itself bears out.
 *
 * In code without unwind information, of which a file may have more than is read whole, stacks are walked by the frame
 * pointer, and guessed. When the recording is over, a parser reads the functions that were sampled (unwind/verify.h).
 * Where it finds that the frame pointer led to the frame, that frame is marked as derived in place of guessed, and a
 * stack without any guess left is complete. Only files are asked about, not memory whose code has changed since. Rows
 * of the profile are summed anew. Call it before frames get their names: some frames are new. It waits for workers.
 * What a parser cannot tell stays as it was. 0 or -ENOMEM; one thread.
 */
#ifndef SP_NAMING_VERIFY_H
#define SP_NAMING_VERIFY_H

struct sp_naming;
int sp_verify_stacks(struct sp_naming *n); /* of n->profile */

#endif
