# SPDX-License-Identifier: GPL-2.0-or-later
"""Sampling a command's allocations: how much longer it takes, and what it has leaked in the end, beside heaptrack and valgrind's
massif; the truth is the program's own ledger (tests/cmd/allocate.c)."""
import glob
import os
import re
import shutil
import subprocess
from common import BUILD, SOPROF, WORK, choose, row, say, tool

N_BLOCKS, N_LEAKING = choose(4000000, 400000), choose(400000, 100000)
RUNS = choose(5, 2)
ALLOCATE = os.path.join(BUILD, "tests/cmd/allocate")
OWN = os.path.join(WORK, "mem.pb.gz")
MASSIF = os.path.join(WORK, "massif.out")
HEAPTRACK = os.path.join(WORK, "heaptrack")
AS = {"heaptrack": ["heaptrack", "-o", HEAPTRACK],
      "massif": ["valgrind", "--tool=massif", "--max-snapshots=1000", f"--massif-out-file={MASSIF}"]}


def soprof(*options):
    return [SOPROF, "profile", "-e", "mem", "-o", OWN, *options, "--"]


def output(prefix, *command):
    return subprocess.run([*prefix, *command], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def seconds(prefix=()):
    """Of its CPU time, by its own clock."""
    for _ in range(RUNS):
        words = output(prefix, tool("blocks"), str(N_BLOCKS))
        yield float(re.search(r"^\d+\.\d{6}$", words, re.M).group())


def live():
    table = output([], SOPROF, "report", "--by", "process", "--csv", "--value", "live_bytes", OWN)
    return sum(int(line.split(",")[7]) for line in table.splitlines()[1:])


def leaked_by(name):
    """What the tool says; the mapping of the ledger is none of the blocks that it sees."""
    output(AS[name], ALLOCATE, str(N_LEAKING))
    if name == "massif":
        with open(MASSIF, encoding="ascii") as f:
            return max(int(n) for n in re.findall(r"^mem_heap_B=(\d+)$", f.read(), re.M))
    folded = os.path.join(WORK, "leaked")
    output([], "heaptrack_print", "-f", glob.glob(HEAPTRACK + ".*")[0], "-F", folded, "--flamegraph-cost-type", "leaked")
    with open(folded, encoding="utf-8") as f:
        return sum(int(line.split()[-1]) for line in f)


def times(peers):
    plain = min(seconds())
    say(f"{N_BLOCKS / plain / 1e6:.2f} million allocations a second")
    beside = {name: min(seconds(AS[name])) / plain for name in peers}
    row("a program that allocates, its time under mem", "times", min(seconds(soprof())) / plain, most=1.15, **beside)


def leaks(peers):
    beside = {}
    truth = int(output([], ALLOCATE, str(N_LEAKING)).split()[3])
    for name in peers:
        beside[name] = 100 * (leaked_by(name) / truth - 1)
    for how, options, most in (("a byte in 16 KiB", ["--thin", "16K"], 3), ("every allocation", ["--thin", "1"], 0.1)):
        output(soprof(*options), ALLOCATE, str(N_LEAKING))
        error = 100 * (live() / truth - 1)
        row(f"what is leaked of {truth / 2**20:.0f} MiB, by {how}: its error", "%", abs(error), most=most,
            note=f"{error:+.2f} %", **{name: abs(value) for name, value in beside.items()})


here = [name for name in AS if shutil.which(AS[name][0])]
times(here)
leaks(here)
