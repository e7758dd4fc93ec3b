/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_stack.h: turns the frame lines of `perf script` text into stacks of a profile; each distinct line and stack is
 * parsed once.
 *
 * Lines are interned, because a profile's text repeats a few thousand lines millions of times. A stack is the list of
 * its lines' numbers, leaf first, interned as well. The frames before the first user-space frame are the kernel half.
 * An inlined function has no library in the text: it gets that of the frame next to it with the same address. perf
 * prints addresses of a process or of a file, depending on its version; within one function both become the same.
 * Owns its tables; the profile is the caller's. Numbers or a negative errno. Not thread-safe.
 */
#ifndef SP_READ_PERF_STACK_H
#define SP_READ_PERF_STACK_H

#include "read/perf/perf_line.h"

struct sp_profile;
struct sp_perf_stacks;

int sp_perf_stacks_new(struct sp_profile *p, struct sp_perf_stacks **ret_stacks);
void sp_perf_stacks_free(struct sp_perf_stacks *s);
/* The number of a frame's line in a sample of this process (0: unknown pid). -EBADMSG, without a message: no frame. */
int64_t sp_perf_stacks_line(struct sp_perf_stacks *s, struct sp_perf_text line, uint32_t pid);
/* The number of the stack with these lines. */
int64_t sp_perf_stacks_add(struct sp_perf_stacks *s, const uint32_t *lines, size_t n);
/* The two halves of a stack, as stacks of the profile. */
void sp_perf_stacks_get(const struct sp_perf_stacks *s, uint32_t stack, uint32_t *ret_user, uint32_t *ret_kernel);
/* Adds a name as a string, with the escapes of our own perf view undone. */
int64_t sp_perf_name(struct sp_profile *p, struct sp_perf_text text);

#endif
