# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that wait for good: what 2,000 of them cost while they go on waiting."""
import contextlib
import os
import subprocess
import time
from common import PYTHON, SOPROF, WORK, Cost, choose, classes, load, profile, row, say, tool, tree

N_THREADS = 2000
IDLE = f"""
import threading
threading.stack_size(65536)
wait = threading.Event().wait
for i in range({N_THREADS}):
    threading.Thread(target=wait, daemon=True).start()
wait()
"""


def until_there(pid):
    """Where others want the CPUs, 2,000 threads take their time."""
    while len(os.listdir(f"/proc/{pid}/task")) <= N_THREADS:
        time.sleep(0.5)


def own_ns(pid):
    """CPU time of a process and all below it that is still there."""
    ns = 0
    for one in tree(pid):
        with contextlib.suppress(FileNotFoundError):
            for thread in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{thread}/schedstat") as f:
                    ns += int(f.read().split()[0])
    return ns


def lasting(pid, seconds, start):
    """In the seconds after the first `start` ones: (% of a CPU of soprof's processes, of its programs but for what others'
    switches cost, (ns, runs) of these)."""
    path = os.path.join(WORK, "lasting")
    p = subprocess.Popen([tool("cost"), path, "sp_", SOPROF, "profile", "-e", "wall", "-p", str(pid), "-o", "/dev/null",
                          "--format", "folded", str(start + seconds + 2)], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    time.sleep(start)
    soprof = tree(p.pid)[1]  # not what measures it
    began, before = time.monotonic(), own_ns(soprof)
    time.sleep(seconds)
    ns, length = own_ns(soprof) - before, time.monotonic() - began
    c = Cost(path, subprocess.CompletedProcess(p.args, p.wait(), "", ""))
    programs = sum(c.programs.get(name, (0, 0))[0] for name in ("sp_cpu", "sp_flush")) / c.wall_s
    return 100 * ns / 1e9 / length, 100 * programs / 1e9, c.programs.get("sp_front_raw", (0, 0))


def idle():
    with load([PYTHON, "-c", IDLE], ["sleep", "9999"], settle=6) as pids:
        until_there(pids[0])
        begin = profile("-e", "wall", "-p", pids[0], "-o", "/dev/null", "--format", "folded", 1)
        many, one = ([lasting(pid, choose(60, 6), 4) for _ in range(choose(3, 1))] for pid in pids)
    say(f"of {N_THREADS}: {[(round(a, 3), round(b, 3)) for a, b, _ in many]}, of one: "
        f"{[(round(a, 3), round(b, 3)) for a, b, _ in one]} (processes, programs)")
    ns, n = map(sum, zip(*(m[2] for m in many)))
    row(f"wall of {N_THREADS} idle threads, after the start", "% of a CPU", min(a + b for a, b, _ in many), most=0.1)
    row("the same of one", "% of a CPU", min(a + b for a, b, _ in one))
    row("beside that, for each switch of any other thread", "ns", 2 * ns / n,
        note=f"{n // 2 / len(many) / choose(66, 12):.0f} a second on this machine just then")
    row(f"wall of {N_THREADS} idle threads, start and first second", "s of CPU", begin.cpu_s)
    row("the same, stacks complete", "%", 100 * classes(begin.stderr)["complete"] / N_THREADS, least=99)


idle()
