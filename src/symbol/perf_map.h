/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map.h: names of JIT code from a perf map, the text file that a runtime writes for Linux's perf.
 *
 * The file /tmp/perf-PID.map (format: tools/perf/Documentation/jit-interface.txt) has lines of start and size in hex,
 * and a name up to the end of the line. Memory is reused for other code, so of overlapping lines the last one counts.
 * The file is untrusted: lines whose range is empty, wraps around or is over 1 GiB, or without a name or newline, are
 * skipped and counted; up to 1 GiB is read, by pread in chunks. Memory depends on the number of addresses. Reentrant.
 * 0 or a negative errno.
 */
#ifndef SP_SYMBOL_PERF_MAP_H
#define SP_SYMBOL_PERF_MAP_H

#include "symbol/names.h"

struct sp_perf_map_counts {
	uint64_t n_lines, n_bad;
	bool is_cut; /* the file is longer than the limit */
};

/* names[i] is for addresses[i], which are sorted; `start` is an address. Free with sp_names_done(). */
int sp_perf_map_find(int fd, const uint64_t *addresses, size_t n, struct sp_name *names,
		     struct sp_perf_map_counts *ret_counts);

#endif
