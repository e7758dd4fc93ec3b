# SPDX-License-Identifier: GPL-2.0-or-later
"""All the CPU that a profile of the whole machine takes at 99 Hz under full load, start-up and end apart: a long and a
short run's difference a second; user and system time of all its processes and the run time of its BPF programs."""
import statistics
from common import N_CPUS, bpftrace, choose, load, perf, profile, row, say, victim

HZ = 99
LONG, SHORT = choose(25, 7), choose(5, 2)
N_RUNS = choose(3, 1)
LOADS = [["openssl", "speed", "-seconds", "1000", "sha256"], victim("callback"), victim("cxx"), victim("recursion", 20)]


def of_soprof(length):
    return profile("-f", "-F", HZ, length).cpu_s


def of_perf(length):
    return perf("fp", HZ, length)[0]


def of_bpftrace(length):
    return bpftrace(HZ, length).cpu_s


def share(name, f):
    """Per cent of a CPU: the median of the pairs."""
    f(1)  # caches of tables, of build ids
    pairs = [(f(SHORT), f(LONG)) for _ in range(N_RUNS)]
    shares = [100 * (long - short) / (LONG - SHORT) for short, long in pairs]
    say(f"{name}: {SHORT} s cost {statistics.median(p[0] for p in pairs):.3f} s,"
        f" {LONG} s {statistics.median(p[1] for p in pairs):.3f} s; {min(shares):.2f} to {max(shares):.2f} % of a CPU")
    return statistics.median(shares)


with load(*[LOADS[i % len(LOADS)] for i in range(N_CPUS)]):
    ours, g, other = share("soprof", of_soprof), share("perf -g", of_perf), share("bpftrace", of_bpftrace)
row(f"all CPU, {HZ} Hz, all CPUs busy", "% CPU", ours, most=0.4, perf_g=g, bpftrace=other)
row("soprof / perf -g", "x", ours / g, most=1)
