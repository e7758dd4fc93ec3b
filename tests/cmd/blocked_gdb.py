# SPDX-License-Identifier: GPL-2.0-or-later
"""Run by gdb's own Python: prints each thread's stack as `stack: COMM;ROOT;...;LEAF`, with "??" for what has no name."""
import gdb


def names():
    frame, found = gdb.newest_frame(), []
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            found.append(frame.name() or "??")
        frame = frame.older()
    return found


for thread in gdb.selected_inferior().threads():
    thread.switch()
    with open(f"/proc/{thread.ptid[0]}/task/{thread.ptid[1]}/comm") as comm:
        print("stack: " + ";".join([comm.read().strip()] + names()[::-1]))
