# SPDX-License-Identifier: GPL-2.0-or-later
"""From before the execve to the first sample, with all tables in the cache and 200 more processes on the machine: the
moment when the program in the kernel has run for the first time, seen from outside. One thread is busy. And what it
takes to start with nothing to sample, and with several events."""
import statistics
from common import PYTHON, bpftrace, choose, load, profile, row, say, tool

N_PROCESSES = 200
SLEEPERS = [
    (0.8, ["sleep", "1000"]),
    (0.1, [PYTHON, "-c", "import time, ssl, sqlite3, json; time.sleep(1000)"]),
    (0.1, ["bash", "-c", "sleep 1000; :"]),
]


def sleepers():
    return [command for share, command in SLEEPERS for _ in range(int(share * N_PROCESSES))]


def starts():
    what = ["-o", "/dev/null", "--format", "folded", "--", "true"]
    cpu = [profile(*what).cpu_s for _ in range(choose(15, 3))]
    several = ["-e", "cpu,offcpu,faults"]
    first = [profile(*several, "-F", 999, "--", "sleep", 9, prefix="sp_cpu", first=True).first_ms
             for _ in range(choose(15, 3))]
    more = [profile(*several, *what) for _ in range(choose(15, 3))]
    row("profile -- true", "ms of CPU", 1000 * statistics.median(cpu), most=100)
    row("profile -e cpu,offcpu,faults -- sleep, execve to 1st sample", "ms", statistics.median(first), most=150)
    row("profile -e cpu,offcpu,faults -- true, all of it", "ms", 1000 * statistics.median(c.wall_s for c in more), most=150)


with load(*sleepers(), settle=3), load([tool("deep"), "20"]):
    profile("-f", 2)  # the tables of all files go to the cache
    times = [profile("-f", "-F", 999, prefix="sp_cpu", first=True).first_ms for _ in range(choose(15, 3))]
    say(f"soprof: {min(times):.0f} to {max(times):.0f} ms")
    others = [bpftrace(999, None, first=True).first_ms for _ in range(choose(5, 2))]
    row(f"execve to 1st sample, {N_PROCESSES} processes", "ms", statistics.median(times), most=150,
        bpftrace=statistics.median(others))
starts()
