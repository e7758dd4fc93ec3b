/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_dump.h: names of code that a program made while it ran, from the dump that its runtime writes for Linux's perf.
 *
 * The file is jit-PID.dump, as perf's tools/perf/Documentation/jitdump-specification.txt says: records of code that was
 * loaded and moved, with times (CLOCK_MONOTONIC). An address may be one function first and another one later: what was
 * sampled since a time is called by the function that lay there then, and "f or g" where several did since. Of a dump
 * with times of another clock the last function counts. The code's own bytes are passed over. It is a file of the
 * program's own: a record that is shorter than its kind, or of a range that is empty, wraps around or is over 1 GiB, is
 * counted; one whose length leads nowhere ends the file. Up to 4 GiB are read, by pread in chunks; memory follows the
 * number of addresses. Reentrant. 0 or negative errno; -EBADMSG: it is no such file.
 */
#ifndef SP_SYMBOL_JIT_DUMP_H
#define SP_SYMBOL_JIT_DUMP_H

#include "symbol/names.h"

struct sp_jit_dump_counts {
	uint64_t n_records, n_bad;
	bool is_cut; /* there is more of it than is read */
};

/* names[i] belongs to addresses[i], which are sorted; starts are addresses, too. Free with sp_names_done(). */
int sp_jit_dump_find(int fd, uint64_t since_ns, const uint64_t *addresses, size_t n, struct sp_name *names,
		     struct sp_jit_dump_counts *ret_counts);

#endif
