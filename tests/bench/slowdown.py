# SPDX-License-Identifier: GPL-2.0-or-later
"""How much longer a fixed piece of work on every CPU takes while it is profiled at 99 Hz: rounds of one piece under
each tool and one under none, in turns; the median of the rounds' ratios."""
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
    """Seconds until every CPU has done its piece."""
    began = time.monotonic()
    processes = [start(["taskset", "-c", str(cpu), tool("work")]) for cpu in range(N_CPUS)]
    for p in processes:
        p.wait()
    return time.monotonic() - began


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
    return statistics.median(ratios)


measured = rounds()
say(f"a piece takes {statistics.median(measured['nothing']):.2f} s")
values = {name: slower(measured, name) for name in TOOLS if name != "nothing"}
row(f"fixed work takes longer, {HZ} Hz", "%", values.pop("soprof"), most=0.5, **values)
