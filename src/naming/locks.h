/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locks.h: the names of locks that are variables of libraries and programs, in place of their addresses.
 *
 * The label "lock" of a session's rows says LIBRARY+0xADDRESS for a lock in a file (capture/objects.c). Where a symbol
 * of the file, or of its debug file, covers the address, it says LIBRARY:NAME afterwards, or LIBRARY:NAME+0xOFFSET
 * inside of it. Workers look for the symbols. A file that cannot be read keeps its addresses. Waits; 0 or a negative
 * errno.
 */
#ifndef SP_NAMING_LOCKS_H
#define SP_NAMING_LOCKS_H

struct sp_naming;

int sp_name_locks(struct sp_naming *n);

#endif
