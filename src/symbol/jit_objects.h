/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_objects.h: names of JIT code from the ELF objects that a program keeps in memory for GDB.
 *
 * By GDB's interface (its manual, "JIT Compilation Interface") a variable __jit_debug_descriptor points to a list of
 * ELF files in memory, whose symbols are those of the code. The memory of a running process is untrusted: at most
 * SP_JIT_OBJECTS_MAX entries of a list are followed, an object has at most 64 MiB and 1 Mi symbols, and at most 256
 * MiB are read altogether. Invalid objects are counted and not used. Reads by pread from /proc/PID/mem; memory
 * depends on the number of addresses and the tables of the largest object. Reentrant. 0 or a negative errno.
 */
#ifndef SP_SYMBOL_JIT_OBJECTS_H
#define SP_SYMBOL_JIT_OBJECTS_H

#include "symbol/names.h"

enum { SP_JIT_OBJECTS_MAX = 65536 };

struct sp_jit_object_counts {
	uint64_t n_objects, n_bad;
	bool is_cut; /* a limit was reached, or the list is circular */
};

/*
 * Finds the variable in a program or library: its distance from the address at which file offset `offset` is mapped.
 * -ENOENT: there is none.
 */
int sp_jit_descriptor_find(struct sp_elf *e, uint64_t offset, uint64_t *ret_distance);
/*
 * memory: a descriptor of /proc/PID/mem; descriptor: the variable's address. names[i] is for addresses[i], which are
 * sorted; `start` is an address. Free with sp_names_done().
 */
int sp_jit_objects_find(int memory, uint64_t descriptor, const uint64_t *addresses, size_t n, struct sp_name *names,
			struct sp_jit_object_counts *ret_counts);

#endif
