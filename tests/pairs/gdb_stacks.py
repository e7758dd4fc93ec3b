# SPDX-License-Identifier: GPL-2.0-or-later
"""Run by gdb's own Python: prints the stack of each thread of the process that gdb is attached to, as lines
thread PID TID WHY and gdb ADDRESS, the leaf first. Inlined functions and tail calls, which have no frame, are left out."""
import gdb

MAX_FRAMES = 1536  # as many of the leaf's as are compared


def frames():
    frame, n = gdb.newest_frame(), 0
    while frame is not None and n < MAX_FRAMES:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            yield frame
            n += 1
        frame = frame.older()


def show(thread):
    thread.switch()
    lines, why = [], ""
    try:
        for frame in frames():
            lines.append(f"gdb {frame.pc():#x}")
            why = gdb.frame_stop_reason_string(frame.unwind_stop_reason())
    except gdb.error as e:
        why = str(e)
    print(f"thread {thread.ptid[0]} {thread.ptid[1]} {why}")
    print("\n".join(lines))


for one in gdb.selected_inferior().threads():
    show(one)
