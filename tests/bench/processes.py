# SPDX-License-Identifier: GPL-2.0-or-later
"""What a process and its descendants hold: memory, and BPF maps."""
import contextlib
import os
import re


def family(pid):
    """The process and its descendants."""
    yield pid
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as f:
                for child in f.read().split():
                    yield from family(int(child))


def kib(line):
    return int(line.split()[1]) * 1024


def high_water(pid, name="VmHWM:"):
    with open(f"/proc/{pid}/status") as f:
        return next((kib(line) for line in f if line.startswith(name)), 0)


def mapped(pid):
    """(proportional share of all else, resident pages of mapped BPF maps)"""
    pss = maps = 0
    inside = False
    with open(f"/proc/{pid}/smaps") as f:
        for line in f:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                inside = "anon_inode:bpf-map" in line
            elif line.startswith("Pss:") and not inside:
                pss += kib(line)
            elif line.startswith("Rss:") and inside:
                maps += kib(line)
    return pss, maps


def bpf_maps(pid):
    """{id: locked bytes} of the maps that a process holds."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/{fd}") as f:
            fields = dict(line.split(":", 1) for line in f if ":" in line)
            if "map_id" in fields:
                found[int(fields["map_id"])] = int(fields["memlock"])
    return found
