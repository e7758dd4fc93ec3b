/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit.h: names of memory without a file, from what its process tells of the code that it made; private to src/naming.
 *
 * perf_map.c, jit_dump.c and jit_objects.c each ask one source; jit.c puts together what they know: what one has no
 * name for, the next is asked for. A question belongs to who asks; answers of a source are addresses until jit.c takes
 * them over. 0 or a negative errno; -ENOENT: the process has no such source. One thread, which waits for the workers.
 */
#ifndef SP_NAMING_JIT_H
#define SP_NAMING_JIT_H

#include "naming/priv.h"
#include "profile/key.h"

struct sp_jit_question {
	struct sp_naming *naming;
	uint32_t file;
	struct sp_process process; /* a copy: the profile may grow while we wait */
	uint64_t since_ns;         /* none was sampled before; CLOCK_MONOTONIC */
	uint64_t *addresses;
	size_t n;
};

/* names[]: as many as addresses; zeroed, and on failure left so. */
int sp_jit_by_map(const struct sp_jit_question *q, struct sp_name *names);
int sp_jit_by_dump(const struct sp_jit_question *q, struct sp_name *names);
int sp_jit_by_objects(const struct sp_jit_question *q, struct sp_name *names);

#endif
