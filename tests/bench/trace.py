# SPDX-License-Identifier: GPL-2.0-or-later
"""Events told and counted: the start and end with few and with many points, 50,000 lines a second to a file and more than
can be written, counting by a key beside bpftrace."""
import os
import re
import statistics
import subprocess
import time
from common import SOPROF, WORK, choose, end, row, run, say, start, tool

LINES = os.path.join(WORK, "lines")
# Of the kernel's own, on every machine; told with all their fields, or counted without any.
POINTS = ["sched:sched_process_exec", "sched:sched_process_fork", "sched:sched_process_exit", "sched:sched_process_free",
          "sched:sched_process_wait", "sched:sched_wakeup_new", "sched:sched_migrate_task", "sched:sched_stat_runtime",
          "sched:sched_process_hang", "sched:sched_pi_setprio", "signal:signal_generate", "signal:signal_deliver", "task:task_newtask",
          "task:task_rename", "oom:mark_victim", "vmscan:mm_vmscan_wakeup_kswapd", "workqueue:workqueue_activate_work",
          "timer:itimer_state", "timer:itimer_expire", "block:block_plug"]
STORM_CALLS = choose(2000000, 100000)


def began_and_ended(*words):
    """(ms until the command runs, ms from its end to ours, MB): of a command that tells the time."""
    since = time.time_ns()
    p = subprocess.Popen([SOPROF, "trace", "-o", "/dev/null", *words, "--", "date", "+%s%N"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    ended = time.time_ns()
    if status:
        raise RuntimeError(f"trace {' '.join(words)}: {p.stderr.read().decode()[-300:]}")
    return (int(text) - since) / 1e6, (ended - int(text)) / 1e6, usage.ru_maxrss / 1000


def starts():
    ways = {
        "one, counted": ["--count", POINTS[0]],
        "one, told": [POINTS[0]],
        "opens": ["opens"],
        "20, counted": ["--count", *POINTS],
        "20, told": POINTS,
        "one, told with its caller": ["--caller", POINTS[0]],
    }
    for name, words in ways.items():
        all_ = [began_and_ended(*words) for _ in range(choose(7, 2))]
        begin, over, mb = (statistics.median(a[i] for a in all_) for i in range(3))
        least = min(a[0] for a in all_)
        say(f"{name}: {begin:.0f} ms (least {least:.0f}), end {over:.0f} ms, {mb:.1f} MB")
        row(f"trace, {name}: until the command runs", "ms", begin, most=150, note=f"least {least:.0f}, {mb:.1f} MB")
        row(f"trace, {name}: its end", "ms", over)
        row(f"trace, {name}: memory", "MB", mb, most=25)


def told(name, n_threads, rate, calls, *words):
    """(events a second, lines, lost, per cent of a CPU) of a generator that knows how many events there were."""
    p = subprocess.Popen([SOPROF, "trace", "-o", LINES, "syscalls:sys_enter_getpgid", *words, "--", tool("told"), str(n_threads), str(rate), str(calls)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid = p.pid
    made, ns = 0, 0
    cpu = 0.0
    while True:  # while it runs: its own time, and not the command's
        try:
            with open(f"/proc/{pid}/stat") as f:
                words_ = f.read().rsplit(")", 1)[1].split()
            cpu = (int(words_[11]) + int(words_[12])) / os.sysconf("SC_CLK_TCK")
            if words_[0] == "Z":
                break
        except OSError:
            break
        time.sleep(0.02)
    out, err = p.communicate()
    made, ns = map(int, out.split())
    lines = int(run(["grep", "-c", "sys_enter_getpgid", LINES], check=False).stdout or 0)
    lost = re.search(r"soprof: (\d+) events lost", err)
    lost = int(lost[1]) if lost else 0
    row(f"{name}: neither told nor said to be lost", "events", made - lines - lost, most=0)
    return made / ns * 1e9, lines, lost, 100 * cpu / (ns / 1e9)


def lines():
    seconds = choose(10, 2)
    rate, n, lost, cpu = told("50,000 lines a second to a file", 4, 50000, 50000 // 4 * seconds)
    say(f"{rate:.0f} events a second: {n} lines, {lost} lost, {cpu:.1f} % of a CPU")
    row("50,000 lines a second to a file: soprof's CPU, with its start", "%", cpu, most=20, note=f"{rate:.0f} a second, {lost} lost")
    row("50,000 lines a second to a file: lost", "events", lost, most=0)
    rate, n, lost, cpu = told("as many as four threads can make", 4, 0, STORM_CALLS // 4)
    say(f"{rate:.0f} events a second: {n} lines, {lost} lost, {cpu:.1f} % of a CPU")
    row("as many as four threads can make", "events a second", rate, note=f"{n} lines, {lost} lost, {cpu:.0f} % of a CPU")


def storm_ns():
    """Nanoseconds a call."""
    n, ns = map(int, run([tool("told"), "1", "0", str(STORM_CALLS)]).stdout.split())
    return ns / n


def counted():
    ways = {
        "alone": None,
        "soprof": [SOPROF, "trace", "-o", "/dev/null", "raw_syscalls:sys_enter", "--by", "comm"],
        "bpftrace": ["bpftrace", "-q", "-e", "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }"],
    }
    times = {name: [] for name in ways}
    for _ in range(choose(7, 1)):
        for name, command in ways.items():
            tracer = start(command) if command else None
            time.sleep(4 if command else 0)  # bpftrace takes that long
            try:
                times[name].append(storm_ns())
            finally:
                if tracer:
                    end(tracer)
    more = {name: statistics.median(t - a for t, a in zip(times[name], times["alone"])) for name in ways}
    say(f"ns a call, alone {statistics.median(times['alone']):.0f}; more: {more}")
    row("counting system calls by comm: a call longer", "ns", more["soprof"], most=1.15 * more["bpftrace"], bpftrace=more["bpftrace"])


starts()
lines()
counted()
