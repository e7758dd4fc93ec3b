# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU a sample of soprof and of the others, with perf record --call-graph dwarf + perf script among them, all CPUs busy
with a python loop or with a loop that compiles small C++ files with clang. Start-up and end apart: the difference of a
long and a short run."""
import os
from common import N_CPUS, PYTHON, WORK, bpftrace, choose, folded, forever, load, n_samples, perf, profile, row, say

HZ = 99
LONG, SHORT = choose(20, 5), choose(5, 2)
PYTHON_LOOP = "\nwhile True:\n    sum(hash(str(i)) for i in range(10000))"
CXX = ("#include <map>\n#include <string>\n"
       "int f(const std::map<std::string, int> &m) { int s = 0; for (auto &e : m) s += e.second; return s; }\n")


def clang_loop():
    path = os.path.join(WORK, "small.cc")
    with open(path, "w") as f:
        f.write(CXX)
    return forever(f"clang++ -O2 -c -o {WORK}/$$.o {path}")


def of_soprof(length):
    c = profile("-f", "-F", HZ, length)
    return c.cpu_s, n_samples(folded(c.stdout))


def of_perf_g(length):
    return perf("fp", HZ, length)


def of_perf_dwarf(length):
    return perf("dwarf", HZ, length)


def of_bpftrace(length):
    return bpftrace(HZ, length).cpu_s, HZ * N_CPUS * length


def us_per_sample(name, f):
    f(SHORT)  # caches of tables, of build ids
    (short, n_short), (long, n_long) = f(SHORT), f(LONG)
    us = 1e6 * (long - short) / max(1, n_long - n_short)
    say(f"{name}: {short:.3f} s for {n_short} samples, {long:.3f} s for {n_long}: {us:.0f} us a sample")
    return us


def beside(name, command, goal):
    with load(*[command] * N_CPUS):
        ours, g, dwarf, other = (us_per_sample(f"{name}, {f.__name__[3:]}", f)
                                 for f in (of_soprof, of_perf_g, of_perf_dwarf, of_bpftrace))
    row(f"CPU a sample, {name}", "us", ours, perf_g=g, perf_dwarf=dwarf, bpftrace=other)
    row(f"dwarf / soprof, {name}", "x", dwarf / ours, least=goal)


beside("python loop", [PYTHON, "-c", PYTHON_LOOP], 10)
beside("clang loop", clang_loop(), 100)
