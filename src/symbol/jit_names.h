/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_names.h: names of JIT code, by what the runtime that made it tells: a perf map, a jit dump, or objects for GDB.
 *
 * A perf map, /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt), has lines of start and size in hex, and a
 * name up to the end of the line. Memory is reused for other code, so of overlapping lines the last one counts. Up to
 * 256 MiB are read.
 *
 * A jit dump, jit-PID.dump (perf's jitdump-specification.txt), has records of code that was loaded and moved, with
 * times (CLOCK_MONOTONIC). An address may belong to several functions one after the other: a sample since some time
 * gets the function that was there then, and "f or g" if there were several. In a dump with times of another clock the
 * last function counts. Code bytes are skipped; a record with an impossible length ends the file. Up to 4 GiB are read,
 * and SP_JIT_STEPS_MAX records, each counted for each address that it holds. -EBADMSG: not a jit dump.
 *
 * By GDB's interface (its manual, "JIT Compilation Interface") a variable __jit_debug_descriptor in a process's memory
 * points to a list of ELF files there, whose symbols are those of the code. At most SP_JIT_OBJECTS_MAX of them are
 * followed, an object has at most 64 MiB and 1 Mi symbols, and at most 256 MiB are read altogether; symbols and objects
 * are counted as a dump's records are.
 *
 * All are untrusted. What makes no sense (a range that is empty, wraps around or is over 1 GiB, a record that is too
 * short, a line without a name or newline, an invalid object) is counted and not used. They are read by pread, in
 * chunks; memory depends on the number of addresses, and the tables of the largest object. Reentrant. 0 or a negative
 * errno.
 */
#ifndef SP_SYMBOL_JIT_NAMES_H
#define SP_SYMBOL_JIT_NAMES_H

#include "symbol/names.h"

enum { SP_JIT_OBJECTS_MAX = 65536, SP_JIT_STEPS_MAX = 1 << 24 };

enum sp_jit_source { SP_JIT_MAP, SP_JIT_DUMP, SP_JIT_OBJECTS };
struct sp_jit_counts {
	uint64_t n, n_bad; /* lines, records, objects */
	bool is_cut;       /* there is more than the limit; of objects also: the list is circular */
};

/*
 * names[i] is for addresses[i], which are sorted; `start` is an address. Free with sp_names_done(). What is asked of a
 * map is nothing (0), of a dump since when, of objects the variable's address; their fd is that of /proc/PID/mem.
 */
typedef int sp_jit_find(int fd, uint64_t asked, const uint64_t *addresses, size_t n, struct sp_name *names,
			struct sp_jit_counts *ret_counts);
sp_jit_find sp_perf_map_find, sp_jit_dump_find, sp_jit_objects_find;

/*
 * Finds the variable in a program or library: its distance from the address at which file offset `offset` is mapped.
 * -ENOENT: there is none.
 */
int sp_jit_descriptor_find(struct sp_elf *e, uint64_t offset, uint64_t *ret_distance);

#endif
