/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/stop.h"

#include "base/mem.h"
#include "bpf/wire.h"

static const char *const words[] = {
    [SP_STOP_COMPLETE] = "complete",
    [SP_STOP_NONE] = "kernel thread or idle",
    [SP_STOP_GONE] = "in execve or exit",
    [SP_STOP_PENDING] = "waiting for a table",
    [SP_STOP_DEEP] = "too deep",
    [SP_STOP_UNMAPPED] = "unmapped address",
    [SP_STOP_BUSY] = "memory map busy",
    [SP_STOP_READ] = "stack memory unreadable",
    [SP_STOP_RULE] = "unwind rule too complex",
    [SP_STOP_REGISTER] = "register lost",
    [SP_STOP_CFA] = "impossible frame address",
    [SP_STOP_NO_UNWIND] = "no unwind information",
    [SP_STOP_TABLE] = "table not loaded in time",
    [SP_STOP_FILES] = "no file number left",
    [SP_STOP_BITS] = "32-bit program",
    [SP_STOP_COPY] = "outside the copied stack",
    [SP_STOP_THREAD] = "thread",
    [SP_STOP_FIBER] = "fiber",
};
_Static_assert(SP_COUNT(words) == SP_N_STOPS, "each reason has its words");

const char *sp_stop_words(unsigned int reason)
{
	return reason < SP_N_STOPS ? words[reason] : "unknown";
}
