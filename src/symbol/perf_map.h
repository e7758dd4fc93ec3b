/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map.h: names of code that a program made while it ran, from the file that it writes of it.
 *
 * The file is /tmp/perf-PID.map, as Linux's perf reads it (tools/perf/Documentation/jit-interface.txt): lines of start
 * and size in hexadecimal and a name that ends with the line. Memory is used again for other code, so that of lines
 * that overlap the last one counts. It is text of the program's own: a line whose range is empty, wraps around, is over
 * 1 GiB, ends in no newline or has no name is passed over and counted, and a file is read up to 1 GiB. Reads by pread,
 * in chunks; memory follows the number of addresses. Reentrant. 0 or negative errno.
 */
#ifndef SP_SYMBOL_PERF_MAP_H
#define SP_SYMBOL_PERF_MAP_H

#include "symbol/names.h"

struct sp_perf_map_counts {
	uint64_t n_lines, n_bad;
	bool is_cut; /* there is more of it than is read */
};

/* names[i] belongs to addresses[i], which are sorted; starts are addresses, too. Free with sp_names_done(). */
int sp_perf_map_find(int fd, const uint64_t *addresses, size_t n, struct sp_name *names,
		     struct sp_perf_map_counts *ret_counts);

#endif
