/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * self.h: this program, executed again for a task of its own, by a descriptor: the file may be replaced meanwhile.
 *
 * The argument says which task; main() looks for it first. What is to be done comes on standard input, secrets in a
 * line of their own: neither is to be seen in /proc. The child is a struct sp_program. 0 or a negative errno with
 * sp_error_text(). No state.
 */
#ifndef SP_AGENT_EXEC_SELF_H
#define SP_AGENT_EXEC_SELF_H

#include "agent/exec/program.h"

/* Returns a descriptor of this program, for `self`. */
int sp_self_open(void);
int sp_self_start(struct sp_program *c, int self, const char *argument, int input, unsigned timeout_ms);
/*
 * Called in the child, for a task that reads a store: it gives way to all others, and one for which so much time or
 * memory (0: any) is not enough ends, and nobody else.
 */
void sp_self_limit(unsigned cpu_s, uint64_t memory_bytes);

/*
 * A line with what the first line of a file says; an empty one if there is no file (NULL). The agent may have the file
 * opened by others (sp_text_open_by()). After a failure nothing was written.
 */
int sp_self_put_secret(const char *file, size_t most, FILE *out);

#endif
