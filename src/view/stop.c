/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stop.c: see stop.h. */
#include "view/stop.h"

#include "base/mem.h"

static const char *const words[] = {
    "complete",
    "kernel thread or idle",
    "in execve or exit",
    "waiting for a table",
    "too deep",
    "unmapped address",
    "memory map busy",
    "stack memory unreadable",
    "unwind rule too complex",
    "register lost",
    "impossible frame address",
    "no unwind information",
    "table not loaded in time",
    "no file number left",
    "32-bit program",
    "outside the copied stack",
    "thread",
    "fiber",
};

const char *sp_stop_words(unsigned int reason)
{
	return reason < SP_COUNT(words) ? words[reason] : "unknown";
}
