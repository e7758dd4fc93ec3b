/* SPDX-License-Identifier: GPL-2.0-or-later */
/* presets_kernel.c: presets about the scheduler, interrupts and the kernel's memory. */
#include "trace/presets.h"

const struct sp_trace_preset sp_trace_presets_kernel[] = {
    {.name = "runqlat",
     .summary = "how long threads wait for a CPU, a histogram",
     .event = "raw:sched_wakeup on p->pid | raw:sched_wakeup_new on p->pid | "
	      "raw:sched_switch[prev->pid && (preempt || !prev_state)] on prev->pid.."
	      "raw:sched_switch[next->pid] on next->pid of next",
     .hist = "dur"},
    {.name = "offcputime",
     .summary = "how long threads do not run, by thread",
     .event = "raw:sched_switch[prev->pid] on prev->pid..raw:sched_switch[next->pid] on next->pid",
     .sampled = "offcpu",
     .by = "comm, pid, tid",
     .sum = "dur"},
    {.name = "cpudist",
     .summary = "how long threads keep a CPU, a histogram",
     .event = "raw:sched_switch[next->pid] on next->pid..raw:sched_switch[prev->pid] on prev->pid of prev",
     .hist = "dur"},
    {.name = "contention",
     .also = "klockstat",
     .summary = "how long threads wait for the kernel's locks",
     .event = "raw:contention_begin..raw:contention_end on tid, lock",
     .hist = "dur"},
    {.name = "oomkill",
     .summary = "processes that the kernel kills for memory",
     .event = "oom:mark_victim"}, /* all that this kernel says of it */
    {.name = "slab",
     .also = "slabratetop",
     .summary = "objects of the kernel's caches, by cache",
     .event = "raw:kmem_cache_alloc",
     .by = "cache=kstr(s->name)"},
    {.name = "hardirqs",
     .summary = "how long interrupts take, by device",
     .event = "raw:irq_handler_entry on irq, cpu..raw:irq_handler_exit on irq, cpu",
     .by = "irq, name=kstr(action->name)",
     .hist = "dur"},
    {.name = "softirqs",
     .summary = "how long soft interrupts take, by kind",
     .event = "raw:softirq_entry on vec_nr, cpu..raw:softirq_exit on vec_nr, cpu",
     .by = "softirq=vec_nr",
     .hist = "dur"},
    {0},
};
