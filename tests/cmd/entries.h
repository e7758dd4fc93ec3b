/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries.h: what both halves of tests/cmd/entries.c know.
 *
 * A probe's cookie says whose counts it adds to, how, and where in its library it is: 32 bits of address, 8 of how, 24
 * of index. So nothing is looked up at run time but the counts, and no process needs to be known beforehand. Counts are
 * signed, as jumps take away; those of a function are right when it is not being entered just now. No errors, no
 * memory; both halves only read it.
 */
#ifndef SP_TESTS_CMD_ENTRIES_H
#define SP_TESTS_CMD_ENTRIES_H

#include <linux/types.h>

enum { MAX_PROBES = 65536 };
enum from { FROM_TABLE, FROM_POINTER, FROM_LINKER, FROM_INSIDE, N_FROM };
enum { HOW_JUMP = 16, HOW_ENTRY = 17 }; /* below: a jump on this condition */

struct counts {
	__s64 n[N_FROM], n_unread;
};

#define COOKIE(vaddr, how, index) ((__u64)(__u32)(vaddr) | (__u64)(how) << 32 | (__u64)(index) << 40)
#define COOKIE_VADDR(cookie) ((__u32)(cookie))
#define COOKIE_HOW(cookie) ((__u32)((cookie) >> 32 & 0xff))
#define COOKIE_INDEX(cookie) ((__u32)((cookie) >> 40))

#endif
