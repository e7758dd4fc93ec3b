# SPDX-License-Identifier: GPL-2.0-or-later
"""10,000 execs in one session, which follows the shell that starts them: of their samples, those that were attributed to a library
(inside execve and exit, where there is no user stack, apart); and what of the session's memory, descriptors and entries
of tables is left when they are gone. Its profile, which has a line for each of them, is no part of that: it is the
result."""
import json
import os
import subprocess
import time
from common import BUILD, SOPROF, WORK, choose, row, run, say

N_STORMS = choose(5, 1)  # of 2,000
HZ = 499
TABLES = {"processes", "targets", "counts_even", "counts_odd"}


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS:"))


def entries(pid):
    """Of the tables that grow with processes."""
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}") as f:
            number = next((line.split()[1] for line in f if line.startswith("map_id:")), None)
        if number and json.loads(run(["bpftool", "-j", "map", "show", "id", number]).stdout)["name"] in TABLES:
            n += len(json.loads(run(["bpftool", "-j", "map", "dump", "id", number]).stdout))
    return n


def state(pid):
    time.sleep(3)
    return descriptors(pid), entries(pid), resident(pid)


def storm(session, variant):
    """2,000 children of 5 ms, two at a time."""
    session.stdin.write(f"{os.path.join(BUILD, 'tests/victim', variant, 'storm')} 100000 exec\n")
    session.stdin.flush()
    session.stdout.readline()


def attributed(text):
    """(samples of the storm with a user stack, those of them whose leaf is in a known library)"""
    n = known = 0
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        comm, *frames = stack.split(";")
        if comm == "storm" and frames and frames[-1] != "[Missed User Stack]":
            n += int(count)
            known += 0 if frames[-1].startswith(("[unknown]", "[anon]")) else int(count)
    return n, known


path = os.path.join(WORK, "execs.folded")
session = subprocess.Popen([SOPROF, "profile", "-U", "-F", str(HZ), "-o", path, "--",
                            "bash", "-c", "while read -r line; do $line; echo ended; done"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
try:
    storm(session, "static")
    storm(session, "stripped")  # the files are known, and their tables loaded
    before = state(session.pid)
    for i in range(N_STORMS):
        storm(session, "stripped" if i % 2 else "static")
    after = state(session.pid)
    session.stdin.close()
    session.wait(60)
finally:
    session.kill()
    session.wait()
with open(path) as f:
    folded = f.read()
os.unlink(path)
n_samples, n_known = attributed(folded)
n_execs = 2000 * N_STORMS
say(f"descriptors, entries, resident bytes: before {before}, after {after}; {n_samples} samples")
row(f"of {n_execs} execs, samples attributed", "%", 100 * n_known / n_samples, least=99)
row("descriptors more after them", "", after[0] - before[0], most=0)
row("entries of tables more after them", "", after[1] - before[1], most=1024,
    note="dead processes are taken out when there are 1,024")
row("memory more after them, the profile included", "kB", (after[2] - before[2]) / 1000,
    note="one process record for each")
