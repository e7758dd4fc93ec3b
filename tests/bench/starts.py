# SPDX-License-Identifier: GPL-2.0-or-later
"""How many stacks of other profilers get to the program's or the thread's start. As a program: of perf script's text
(-F comm,ip,sym,dso) on stdin, in per cent."""
import re
import sys


def entry_of(path):
    try:
        with open(path, "rb") as f:
            return int.from_bytes(f.read(32)[24:32], "little")
    except OSError:
        return None


def is_start(address, symbol, path):
    """A start by its name; of a stripped program, by the place of its entry in its page."""
    if re.match(r"_start\b|__libc_start|clone|start_thread|__clone", symbol):
        return True
    entry = entry_of(path)
    return bool(entry) and (address - entry) % 4096 < 0x40 and ".so" not in path


def perf_stacks(text):
    for block in text.split("\n\n"):
        frames = re.findall(r"^\s+([0-9a-f]+) (.+) \((.+)\)$", block, re.M)
        user = [f for f in frames if int(f[0], 16) < 1 << 63]
        if frames:
            yield user


def share(stacks):
    """Per cent of the stacks, [(address, symbol, file)] from the leaf to the root, whose root is a start."""
    return 100 * sum(is_start(int(s[-1][0], 16), *s[-1][1:]) for s in stacks) / max(len(stacks), 1)


if __name__ == "__main__":
    stacks = [s for s in perf_stacks(sys.stdin.read()) if s]
    print(f"{share(stacks):.2f}" if stacks else "-")
