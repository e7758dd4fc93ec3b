# SPDX-License-Identifier: GPL-2.0-or-later
"""How much longer a fixed piece of work on every CPU takes while it is profiled at 99 Hz: rounds of one piece under
each tool and one under none, in turns; the median of the rounds' ratios. By the clock, which whatever else runs on the
machine blurs; and by the work's own CPU time, which holds the samples' interrupts (unless the kernel has
CONFIG_IRQ_TIME_ACCOUNTING) but not what the tool's processes take."""
import contextlib
import os
import signal
import statistics
import subprocess
import time
from common import N_CPUS, SOPROF, WORK, choose, end, perf_record, row, say, start, tool

HZ = 99
N_ROUNDS = choose(25, 3)
TOOLS = {
    "nothing": None,
    "soprof": [SOPROF, "profile", "-f", "-F", str(HZ), "600"],
    "perf_g": perf_record("fp", HZ, os.path.join(WORK, "fp.data"), "-a"),
    "perf_dwarf": perf_record("dwarf", HZ, os.path.join(WORK, "dwarf.data"), "-a"),
    "bpftrace": ["bpftrace", "-q", "-e", f"profile:hz:{HZ} {{ @[ustack, kstack, comm] = count(); }}"],
}


def work():
    """(seconds until every CPU has done its piece, CPU seconds of them all)"""
    began = time.monotonic()
    processes = [start(["taskset", "-c", str(cpu), tool("work")]) for cpu in range(N_CPUS)]
    usages = [os.wait4(p.pid, 0)[2] for p in processes]
    return time.monotonic() - began, sum(u.ru_utime + u.ru_stime for u in usages)


@contextlib.contextmanager
def profiler(command):
    if not command:
        yield
        return
    process = start(command)
    try:
        time.sleep(1.5)
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended before it was told to")
        yield
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
    finally:
        end(process)


def rounds():
    times = {name: [] for name in TOOLS}
    names = list(TOOLS)
    work()
    for i in range(N_ROUNDS):
        for name in names[i % len(names):] + names[:i % len(names)]:
            with profiler(TOOLS[name]):
                times[name].append(work())
    return times


def slower(times, name):
    """Per cent."""
    ratios = [100 * (t / base - 1) for t, base in zip(times[name], times["nothing"])]
    low, middle, high = statistics.quantiles(ratios, n=4)
    say(f"{name}: {middle:+.2f} %, half of the rounds from {low:+.2f} to {high:+.2f}")
    return middle


def show(figure, measured, which):
    times = {name: [t[which] for t in pieces] for name, pieces in measured.items()}
    say(f"{figure}: {statistics.median(times['nothing']):.3f} s without a profiler")
    values = {name: slower(times, name) for name in TOOLS if name != "nothing"}
    row(figure, "%", values.pop("soprof"), most=0.5, **values)


measured = rounds()
show(f"fixed work longer, {HZ} Hz, clock", measured, 0)
show(f"fixed work longer, {HZ} Hz, its CPU", measured, 1)
