/* SPDX-License-Identifier: GPL-2.0-or-later */
/* meaning.c: what the fields of events mean, by their names. */
#include "base/mem.h"
#include "trace/spec.h"
#include <string.h>

/* What fields of these names mean, in all events or those of one beginning; the first that fits counts. */
static const struct {
	const char *event, *field;
	enum sp_trace_as as;
} meanings[] = {
    {"syscalls:sys_exit_mmap", "ret", SP_TRACE_AS_PLACE},
    {"syscalls:sys_exit_mremap", "ret", SP_TRACE_AS_PLACE},
    {"syscalls:sys_exit_brk", "ret", SP_TRACE_AS_PLACE},
    {"syscalls:sys_exit_shmat", "ret", SP_TRACE_AS_PLACE},
    {"syscalls:sys_exit_", "ret", SP_TRACE_AS_RESULT},
    {"raw_syscalls:sys_exit", "ret", SP_TRACE_AS_RESULT},
    {"raw_syscalls:", "id", SP_TRACE_AS_CALL},
    {"raw:sys_exit", "ret", SP_TRACE_AS_RESULT},
    {"raw:sys_enter", "id", SP_TRACE_AS_CALL},
    {"", "call", SP_TRACE_AS_CALL},
    {"", "dur", SP_TRACE_AS_TIME},
    {"exits", "age", SP_TRACE_AS_TIME},
    {"exits", "status", SP_TRACE_AS_STATUS},
    {"open", "flags", SP_TRACE_AS_OPEN_FLAGS},
    {"biosnoop", "dev", SP_TRACE_AS_DEVICE},
    {"biolatency", "dev", SP_TRACE_AS_DEVICE},
    {"biolatency", "op", SP_TRACE_AS_BLOCK_OP},
    {"filelife", "dev", SP_TRACE_AS_DEVICE},
    {"biotop", "dev", SP_TRACE_AS_DEVICE},
    {"biosnoop", "op", SP_TRACE_AS_BLOCK_OP},
    {"biosnoop", "sector", SP_TRACE_AS_SIGNED},
    {"tcp", "to", SP_TRACE_AS_INTERNET},
    {"tcpaccept", "from", SP_TRACE_AS_INTERNET},
    {"tcpaccept", "sport", SP_TRACE_AS_PORT},
    {"tcpconn", "dport", SP_TRACE_AS_PORT},
    {"tcpretrans", "dport", SP_TRACE_AS_PORT},
    {"tcplife", "dport", SP_TRACE_AS_PORT},
    {"tcpstates", "dport", SP_TRACE_AS_PORT},
    {"tcplife", "port", SP_TRACE_AS_PORT},
    {"tcp", "state", SP_TRACE_AS_TCP_STATE},
    {"tcpstates", "old", SP_TRACE_AS_TCP_STATE},
    {"tcpstates", "new", SP_TRACE_AS_TCP_STATE},
    {"sock:inet_sock_set_state", "oldstate", SP_TRACE_AS_TCP_STATE},
    {"sock:inet_sock_set_state", "newstate", SP_TRACE_AS_TCP_STATE},
    {"softirqs", "softirq", SP_TRACE_AS_SOFTIRQ},
    {"", "sys", SP_TRACE_AS_CALL},
    {"", "__syscall_nr", SP_TRACE_AS_CALL},
    {"syscalls:sys_enter_open", "flags", SP_TRACE_AS_OPEN_FLAGS},
    {"syscalls:sys_exit_open", "flags", SP_TRACE_AS_OPEN_FLAGS},
    {"block:", "dev", SP_TRACE_AS_DEVICE},
    {"signal:", "sig", SP_TRACE_AS_SIGNAL},
    {"syscalls:sys_enter_kill", "sig", SP_TRACE_AS_SIGNAL},
    {"syscalls:sys_enter_tkill", "sig", SP_TRACE_AS_SIGNAL},
    {"syscalls:sys_enter_tgkill", "sig", SP_TRACE_AS_SIGNAL},
};

enum sp_trace_as sp_trace_meaning(const char *event, const char *name, size_t n)
{
	for (size_t i = 0; i < SP_COUNT(meanings); i++)
		if (strlen(meanings[i].field) == n && !strncmp(meanings[i].field, name, n) &&
		    !strncmp(meanings[i].event, event, strlen(meanings[i].event)))
			return meanings[i].as;
	return SP_TRACE_AS_NUMBER;
}
