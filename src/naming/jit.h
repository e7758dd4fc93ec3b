/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit.h: names of JIT code, from what its process tells of it. Private to src/naming.
 *
 * The sources are jit dumps and perf maps (jit_files.c), and GDB's list of objects (jit_objects.c); each is begun by a
 * function below. jit.c asks them in turn, each about the addresses still without a name, as steps of the question
 * (work.h). Parsers return addresses, in found[], until jit.c takes them. 0 or a negative errno; -ENOENT: the process
 * has no such source. One thread.
 */
#ifndef SP_NAMING_JIT_H
#define SP_NAMING_JIT_H

#include "profile/key.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_name;
struct sp_naming;

enum { SP_JIT_LISTS = 8 };

struct sp_jit_question {           /* zeroed at first, but for fd */
	struct sp_process process; /* a copy: the profile may grow while we wait */
	uint64_t began_ns;
	uint64_t since_ns;     /* none was sampled before; CLOCK_MONOTONIC */
	uint64_t *addresses;   /* that are asked for, */
	struct sp_name *found; /* and what was answered */
	unsigned source;       /* that is asked now */
	int result, fd;        /* of all of them so far; what the source is read from, -1 = nothing */
	bool is_own_tmp;       /* the perf map was looked for in our own /tmp, the last place */
	bool has_list;         /* jit_objects.c: one that could be read; */
	/* the files, and where their lists are */
	struct sp_jit_mapped *files;
	size_t n_files, n_lists, at;
	uint64_t lists[SP_JIT_LISTS];
};

int sp_jit_by_map(struct sp_naming *n);
int sp_jit_by_dump(struct sp_naming *n);
int sp_jit_by_objects(struct sp_naming *n);
/* What was found is the question's from here on, where that has no name yet. */
void sp_jit_take(struct sp_naming *n);
void sp_jit_done(struct sp_jit_question *m, size_t n);

#endif
