/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_objects.h: names of code that a program made while it ran, from the ELF objects that it keeps in its memory for
 * debuggers.
 *
 * GDB's interface (its manual, "JIT Compilation Interface"): a variable __jit_debug_descriptor leads to a list of ELF
 * files in memory, whose symbols are those of the code. What is read is the memory of a process that runs on and may
 * say anything: lists are followed for SP_JIT_OBJECTS_MAX entries, an object has at most 64 MiB and
 * 1 Mi symbols; of all together 256 MiB are read. Of an object that makes no sense nothing is taken, and it is counted.
 * By pread from /proc/PID/mem; memory follows the number of addresses and the largest object's tables. Reentrant. 0 or
 * negative errno.
 */
#ifndef SP_SYMBOL_JIT_OBJECTS_H
#define SP_SYMBOL_JIT_OBJECTS_H

#include "symbol/names.h"

enum { SP_JIT_OBJECTS_MAX = 65536 };

struct sp_jit_object_counts {
	uint64_t n_objects, n_bad;
	bool is_cut; /* there is more than is read, or a list that leads back into itself */
};

/*
 * Where a program or library has the variable, for who knows where it is mapped: as far above the address at which its
 * byte `offset` is mapped. -ENOENT: it has none.
 */
int sp_jit_descriptor_find(struct sp_elf *e, uint64_t offset, uint64_t *ret_distance);
/*
 * memory: a process's, by address; descriptor: the variable's. names[i] belongs to addresses[i], which are sorted;
 * starts are addresses, too. Free with sp_names_done().
 */
int sp_jit_objects_find(int memory, uint64_t descriptor, const uint64_t *addresses, size_t n, struct sp_name *names,
			struct sp_jit_object_counts *ret_counts);

#endif
