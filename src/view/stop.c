/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/stop.h"

#include "base/mem.h"
#include "bpf/wire.h"

static const struct {
	const char *words;
	bool is_cut;
} reasons[] = {
    [SP_STOP_COMPLETE] = {"complete", false},
    [SP_STOP_NONE] = {"kernel thread or idle", false},
    [SP_STOP_GONE] = {"in execve or exit", false},
    [SP_STOP_PENDING] = {"waiting for a table", false},
    [SP_STOP_DEEP] = {"too deep", true},
    [SP_STOP_UNMAPPED] = {"unmapped address", true},
    [SP_STOP_BUSY] = {"memory map busy", true},
    [SP_STOP_READ] = {"stack memory unreadable", true},
    [SP_STOP_RULE] = {"unwind rule too complex", true},
    [SP_STOP_REGISTER] = {"register lost", true},
    [SP_STOP_CFA] = {"impossible frame address", true},
    [SP_STOP_NO_UNWIND] = {"no unwind information", true},
    [SP_STOP_TABLE] = {"table not loaded in time", true},
    [SP_STOP_FILES] = {"no room for a new file yet", true},
    [SP_STOP_BITS] = {"32-bit program", true},
    [SP_STOP_COPY] = {"outside the copied stack", true},
    [SP_STOP_THREAD] = {"thread", false},
    [SP_STOP_FIBER] = {"fiber", false},
};
_Static_assert(SP_COUNT(reasons) == SP_N_STOPS, "each reason has its words");

const char *sp_stop_words(unsigned int reason)
{
	return reason < SP_N_STOPS ? reasons[reason].words : "unknown";
}

bool sp_stop_is_cut(unsigned int reason)
{
	return reason < SP_N_STOPS && reasons[reason].is_cut;
}
