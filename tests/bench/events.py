# SPDX-License-Identifier: GPL-2.0-or-later
"""Events: how much longer two threads take that wake each other all the time, beside bpftrace's off-CPU time by user
stack; what a wait costs."""
import os
import re
import statistics
import time
from common import BUILD, N_CPUS, SOPROF, choose, end, profile, row, run, say, start

N_SWITCHES = choose(200000, 20000)
STORM = os.path.join(BUILD, "tests/cmd/storm")
ALONE = ["taskset", "-c", str(N_CPUS - 1), "chrt", "-f", "10"]  # whoever else wants the CPUs
OFFCPU = """tracepoint:sched:sched_switch {
    @since[args->prev_pid] = nsecs; @stack[args->prev_pid] = ustack;
    $since = @since[args->next_pid];
    if ($since) { @[@stack[args->next_pid]] = sum(nsecs - $since); delete(@since[args->next_pid]); } }"""
OFFCPU_BOTH = OFFCPU.replace("= ustack;", "= ustack; @kernel[args->prev_pid] = kstack;").replace(
    "@[@stack[args->next_pid]]", "@[@stack[args->next_pid], @kernel[args->next_pid]]")


def pipe_us(*command):
    """us for a switch to the other thread and back, while the command runs."""
    tracer = start(list(command)) if command else None
    time.sleep(4 if command else 0)  # bpftrace takes that long
    try:
        text = run([*ALONE, "perf", "bench", "sched", "pipe", "-l", str(N_SWITCHES)]).stdout
        if tracer and tracer.poll() is not None:
            raise RuntimeError(f"{command[0]} has ended at once")
    finally:
        if tracer:
            end(tracer)
    return float(re.search(r"([\d.]+) usecs/op", text)[1])


def switches():
    offcpu = [SOPROF, "profile", "-e", "offcpu", "-o", "/dev/null", "--format", "folded"]
    ways = {
        "alone": [],
        "user": [*offcpu, "-U", "--max-overhead", "0"],
        "min": [*offcpu, "-U", "--max-overhead", "0", "--min", "100"],
        "both": [*offcpu, "--max-overhead", "0"],
        "guarded": offcpu,
        "bpftrace": ["bpftrace", "-q", "-e", OFFCPU],
        "bpftrace_both": ["bpftrace", "-q", "-e", OFFCPU_BOTH],
    }
    times = {name: [] for name in ways}
    for _ in range(choose(7, 1)):
        for name, command in ways.items():
            times[name].append(pipe_us(*command))
    best = {name: min(t) for name, t in times.items()}
    middle = {name: round(statistics.median(t), 2) for name, t in times.items()}
    say(f"us an operation, the least: {best}; the median: {middle}")
    more = {name: best[name] - best["alone"] for name in ways}
    row("a switch there and back longer, offcpu -U", "us", more["user"], most=more["bpftrace"], bpftrace=more["bpftrace"])
    row("the same, --min 100", "us", more["min"], most=more["bpftrace"] / 3, bpftrace=more["bpftrace"])
    row("the same, with kernel stacks", "us", more["both"], most=more["bpftrace_both"], bpftrace=more["bpftrace_both"])
    row("the same, with kernel stacks, within 5 %", "us", more["guarded"], note="--max-overhead 5")


def hits():
    """BPF time that a wait takes, of two threads that wait for each other by a condition variable."""
    def bpf_us(event, *options):
        done = profile("-e", event, "--max-overhead", "0", *options, "-o", "/dev/null", "--format", "folded", "--",
                       STORM, "locks", choose(200000, 20000))
        return done.bpf_ns / 1000 / int(re.search(r"samples +(\d+)", done.stderr)[1])
    for name, options in (("both stacks", []), ("-U", ["-U"])):
        us = {"offcpu": [], "locks": []}
        for _ in range(choose(5, 1)):
            for event, list_ in us.items():
                list_.append(bpf_us(event, *options))
        for event, list_ in us.items():
            row(f"BPF time a wait: {event}, {name}", "us", min(list_))


switches()
hits()
