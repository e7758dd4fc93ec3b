/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_dump.h: names of JIT code from a jit dump, the file that a runtime writes for Linux's perf.
 *
 * The file jit-PID.dump (format: perf's tools/perf/Documentation/jitdump-specification.txt) has records of code that
 * was loaded and moved, with times (CLOCK_MONOTONIC). An address may belong to several functions one after the other:
 * a sample since some time gets the function that was there then, and "f or g" if there were several. In a dump with
 * times of another clock the last function counts. Code bytes are skipped. The file is untrusted: records that are
 * too short for their kind, or whose range is empty, wraps around or is over 1 GiB, are counted; one with an
 * impossible length ends the file. Up to 4 GiB are read, by pread in chunks; memory depends on the number of
 * addresses. Reentrant. 0 or a negative errno; -EBADMSG: not a jit dump.
 */
#ifndef SP_SYMBOL_JIT_DUMP_H
#define SP_SYMBOL_JIT_DUMP_H

#include "symbol/names.h"

struct sp_jit_dump_counts {
	uint64_t n_records, n_bad;
	bool is_cut; /* the file is longer than the limit */
};

/* names[i] is for addresses[i], which are sorted; `start` is an address. Free with sp_names_done(). */
int sp_jit_dump_find(int fd, uint64_t since_ns, const uint64_t *addresses, size_t n, struct sp_name *names,
		     struct sp_jit_dump_counts *ret_counts);

#endif
