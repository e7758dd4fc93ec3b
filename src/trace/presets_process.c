/* SPDX-License-Identifier: GPL-2.0-or-later */
/* presets_process.c: presets about processes and their system calls. */
#include "trace/presets.h"

#define PAIR_OF_CALLS "raw:sys_enter..raw:sys_exit"

const struct sp_trace_preset sp_trace_presets_process[] = {
    {.name = "execs",
     .also = "execsnoop",
     .summary = "programs that are started",
     .event = "raw:sched_process_exec",
     .print = "file=bprm->filename, args=ustr(p->mm->arg_start, p->mm->arg_end - p->mm->arg_start), "
	      "ppid=p->real_parent->tgid, uid"},
    {.name = "exits",
     .also = "exitsnoop",
     .summary = "processes that end, why, and how old they are",
     .event = "raw:sched_process_exit[p->pid == p->tgid]",
     .print = "ppid=p->real_parent->tgid, status=p->exit_code, age=now - p->start_time"},
    {.name = "threads",
     .also = "threadsnoop",
     .summary = "threads and processes that begin",
     .event = "raw:sched_process_fork",
     .print = "child=child->pid, process=child->tgid, name=child->comm"},
    {.name = "syscalls",
     .also = "syscount",
     .summary = "system calls, what they give and how long",
     .event = PAIR_OF_CALLS,
     .print = "call=sys, args=sysargs, ret, dur"},
    {.name = "signals",
     .also = "killsnoop sigsnoop",
     .summary = "signals that are sent, to whom",
     .event = "signal:signal_generate",
     .print = "sig, to=pid, name=comm, code, result"},
    {0},
};
