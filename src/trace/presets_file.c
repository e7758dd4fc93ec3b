/* SPDX-License-Identifier: GPL-2.0-or-later */
/* presets_file.c: presets about files and mounts. */
#include "trace/presets.h"
#include <sys/syscall.h>

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)
#define CALLS(list) "raw:sys_enter[sys in {" list "}]..raw:sys_exit"
#define OPEN "sys in {" NUMBER(SYS_open) ", " NUMBER(SYS_creat) ", " NUMBER(SYS_openat) ", " NUMBER(SYS_openat2) "}"
#define IS(call) "sys == " NUMBER(SYS_##call)

/*
 * Names are read where the call ends: by then their page is there. creat(2) has no flags; those of openat2(2) are in
 * the caller's memory, and are not read.
 */
const struct sp_trace_preset sp_trace_presets_file[] = {
    {.name = "opens",
     .also = "opensnoop",
     .summary = "files that are opened, or not",
     .event = "raw:sys_enter[" OPEN "]{flags=sys < " NUMBER(SYS_openat) " ? sysarg1 : sysarg2}..raw:sys_exit",
     .print = "file=ustr(sys < " NUMBER(SYS_openat) " ? sysarg0 : sysarg1), "
						    "flags=" IS(openat2) " ? -1 : flags, ret, dur"},
    {.name = "stats",
     .also = "statsnoop",
     .summary = "files that are asked about by stat(2)",
     .event = CALLS(NUMBER(SYS_stat) ", " NUMBER(SYS_lstat) ", " NUMBER(SYS_newfstatat) ", " NUMBER(SYS_statx)),
     .print = "file=ustr(sys < " NUMBER(SYS_newfstatat) " ? sysarg0 : sysarg1), ret, dur"},
    {.name = "reads",
     .also = "readsize",
     .summary = "sizes of what read(2) gives, a histogram",
     .event = "syscalls:sys_exit_read[ret >= 0]",
     .hist = "ret"},
    {.name = "slowfiles",
     .also = "fileslower",
     .summary = "reads and writes of 10 ms or more",
     .event = CALLS(NUMBER(SYS_read) ", " NUMBER(SYS_write) ", " NUMBER(SYS_pread64) ", " NUMBER(SYS_pwrite64)),
     .min_ns = 10000000,
     .print = "call=sys, fd=sysarg0, bytes=sysarg2, ret, dur"},
    {.name = "mounts",
     .also = "mountsnoop",
     .summary = "mount(2) and umount(2)",
     .event = CALLS(NUMBER(SYS_mount) ", " NUMBER(SYS_umount2)),
     .print = "call=sys, first=ustr(sysarg0), at=ustr(" IS(mount) " ? sysarg1 : 0), ret, dur"},
    {0},
};
