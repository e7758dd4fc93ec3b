/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_stack.h: from the lines of frames to stacks in a profile, each distinct line and stack looked at once.
 *
 * A line's bytes are interned: the text of a profile repeats a few thousand lines millions of times. A stack is the
 * numbers of its lines, leaf first, and interned likewise. Its frames before the first one in user space are the kernel
 * half. An inlined function has no library in the text: it gets that of the frame beside it at the same address.
 * perf gives addresses of a process or of a file, by its version: within one function both become the same.
 * Owns its tables; borrows the profile. Numbers or a negative errno. Not thread-safe.
 */
#ifndef SP_READ_PERF_STACK_H
#define SP_READ_PERF_STACK_H

#include "read/perf_line.h"

struct sp_profile;
struct sp_perf_stacks;

int sp_perf_stacks_new(struct sp_profile *p, struct sp_perf_stacks **ret_stacks);
void sp_perf_stacks_free(struct sp_perf_stacks *s);
/* The number of a frame's line in a sample of this process (0 = not known). -EBADMSG: not a frame; nothing is said. */
int64_t sp_perf_stacks_line(struct sp_perf_stacks *s, struct sp_perf_text line, uint32_t pid);
/* The number of the stack of these lines. */
int64_t sp_perf_stacks_add(struct sp_perf_stacks *s, const uint32_t *lines, size_t n);
/* Its halves, as stacks of the profile. */
void sp_perf_stacks_get(const struct sp_perf_stacks *s, uint32_t stack, uint32_t *ret_user, uint32_t *ret_kernel);
/* The string of a name as the text has it, with what our own writer escaped undone. */
int64_t sp_perf_name(struct sp_profile *p, struct sp_perf_text text);

#endif
