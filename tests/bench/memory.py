# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory of `profile 10`: the most that each of its processes held (VmHWM; pages of BPF maps that it maps are counted
with the maps) and the locked memory of all its BPF maps; with ten processes of a program on the machine, and with many
more."""
import contextlib
import os
import statistics
import time
from processes import bpf_maps, family, high_water, mapped
from common import SOPROF, WORK, choose, end, load, perf_record, row, say, start, tool

LENGTH = 10
HZ = 49
N_RUNS = choose(3, 1)
MANY = choose(5000, 1000)
MB, MIB = 1e6, 1 << 20


class Peaks:
    def __init__(self):
        self.hwm, self.pss, self.maps = {}, 0, 0

    def look(self, root):
        pss, maps = 0, {}
        for pid in family(root):
            with contextlib.suppress(OSError):
                own, shared = mapped(pid)
                pss += own
                self.hwm[pid] = max(self.hwm.get(pid, 0), high_water(pid) - shared)
                maps.update(bpf_maps(pid))
        self.pss = max(self.pss, pss)
        self.maps = max(self.maps, sum(maps.values()))

    def total(self):
        return sum(self.hwm.values()) + self.maps


def peaks_of(name, command):
    process = start(command)
    peaks = Peaks()
    try:
        while process.poll() is None:
            peaks.look(process.pid)
            time.sleep(0.02)
    finally:
        end(process)
    say(f"{name}: {len(peaks.hwm)} processes, VmHWM {sum(peaks.hwm.values()) / MB:.2f} MB, proportional share at most"
        f" {peaks.pss / MB:.2f} MB, maps {peaks.maps / MB:.2f} MB")
    return peaks


def with_crowd(n):
    with load([tool("crowd"), str(n)], settle=1 + n / 500):
        return peaks_of(f"soprof, {n} processes", [SOPROF, "profile", "-f", str(LENGTH)])


bpftrace = f"profile:hz:{HZ} {{ @[ustack, kstack, comm] = count(); }} interval:s:{LENGTH} {{ exit(); }}"
pairs = [(with_crowd(10), with_crowd(MANY)) for _ in range(N_RUNS)]
perf = peaks_of("perf -g", perf_record("fp", HZ, os.path.join(WORK, "perf.data"), "-a", "sleep", str(LENGTH)))
other = peaks_of("bpftrace", ["bpftrace", "-q", "-e", bpftrace])
row(f"memory of profile {LENGTH}", "MB", statistics.median(few.total() for few, _ in pairs) / MB, most=48,
    perf_g=perf.total() / MB, bpftrace=other.total() / MB)
row("of it BPF maps", "MB", statistics.median(few.maps for few, _ in pairs) / MB, bpftrace=other.maps / MB)
row(f"more with {MANY} processes than 10", "MiB",
    statistics.median(many.total() - few.total() for few, many in pairs) / MIB, most=1)
