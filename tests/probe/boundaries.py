#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the places that soprof would probe (probe-points) with what objdump says of the same file.

    boundaries.py PROBE_POINTS FILE [WORD]...

Each place must be the first byte of an instruction of objdump's. One that is called emulated must be a push of a register, a
nop, or a direct call, jump or branch. Behind the function's start there must be a straight line to it: no instruction before it
that branches, and none anywhere in the file that leads behind the start and up to it. The bytes that are said to be pushed must
be those that push and sub take. Prints a line for each place that is wrong, then one line of counts; exit code 1 if any is wrong.
"""
import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t?(.*)$")
BRANCH = re.compile(r"^(?:bnd |notrack |data16 |rex\.W )*(j\w+|call\w*|loop\w*|xbegin)\s+(?:[0-9a-f]+ <|0x)?([0-9a-f]+)?")
ENDS = re.compile(r"^(?:bnd |notrack |rep[z]? )*(j|call|ret|loop|xbegin|xabort|ud|hlt|int|syscall|sysenter|\(bad\)|iret)")
EMULATED = re.compile(
    r"^(?:data16 |cs |bnd )*(push +%r\w+|nop|xchg +%ax,%ax|pause|call +[0-9a-f]+|j\w+(,p[tn])? +[0-9a-f]+)")


def segments(path):
    """Executable segments: (offset, address, size)."""
    out = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        part = line.split()
        if part[:1] == ["LOAD"] and "E" in "".join(part[6:-1]):
            yield int(part[1], 16), int(part[2], 16), int(part[4], 16)


def instructions(path, start=None):
    """By address: text and length; and the places that code leads to. Of 256 bytes, if it is to begin somewhere."""
    some = [] if start is None else [f"--start-address={start}", f"--stop-address={start + 256}"]
    out = subprocess.run(["objdump", "-dw", *some, path], capture_output=True, text=True, check=True).stdout
    text, length, targets = {}, {}, {}
    for line in out.splitlines():
        found = LINE.match(line)
        if not found:
            continue
        at = int(found[1], 16)
        text[at] = found[3].strip()
        length[at] = len(found[2].split())
        branch = BRANCH.match(text[at])
        if branch and branch[2] and "*" not in text[at]:
            targets.setdefault(int(branch[2], 16), at)
    return text, length, targets


def pushed_by(insn):
    """Bytes by which an instruction moves the stack pointer down; None: in a way that cannot be told."""
    if re.match(r"push|pushf", insn):
        return 2 if re.match(r"pushw", insn) else 8
    if re.match(r"pop", insn):
        return -8
    found = re.match(r"(sub|add)q? +\$(0x[0-9a-f]+|-?0x[0-9a-f]+),%rsp$", insn)
    if found:
        number = int(found[2], 16)
        number -= 1 << 64 if number >> 63 else 0
        return number if found[1] == "sub" else -number
    found = re.match(r"lea +(-?0x[0-9a-f]+)\(%rsp\),%rsp$", insn)
    if found:
        return -int(found[1], 16)
    return None if re.search(r",%[er]?spl?$|^(leave|enter)", insn) and not re.match(r"(cmp|test)", insn) else 0


def wrong(point, function, cost, pushed, path, code):
    """What is wrong with a place, in words, or nothing."""
    text, length, targets = code
    if function not in text:  # behind data objdump is out of step
        text, length, _ = instructions(path, function)
    if point not in text:
        return "is no instruction of objdump's"
    if (cost == "emulated") != bool(EMULATED.match(text[point]) and not text[point].startswith("push   %rip")):
        return f"is {cost}: {text[point]}"
    at, sum_pushed = function, 0
    while at < point:
        if at not in text or ENDS.match(text[at]):
            return f"is behind {text.get(at)} at {at:x}"
        moved = pushed_by(text[at])
        if moved is None:
            return f"is behind {text[at]}, which moves the stack pointer"
        sum_pushed += moved
        at += length[at]
        if at <= point and at in targets:
            return f"is behind a place to which {targets[at]:x} leads: {text[targets[at]]}"
    if at != point:
        return "is not in line with the function's beginning"
    if sum_pushed != pushed:
        return f"has {sum_pushed} bytes pushed, not {pushed}"
    return None


def main():
    points, path, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    parts = list(segments(path))
    code = instructions(path)
    n = n_wrong = 0
    out = subprocess.run([points, *words, path], capture_output=True, text=True, check=True).stdout.splitlines()

    def address(offset):
        return next(a + offset - o for o, a, s in parts if o <= offset < o + s)

    for line in out[:-1]:
        point, function, cost, pushed = line.split()[:4]
        if cost == "refused":
            continue
        why = wrong(address(int(point, 16)), address(int(function, 16)), cost, int(pushed), path, code)
        n += 1
        if why:
            n_wrong += 1
            print(f"{line}: {why}")
    print(f"{path}: {n} places, {n_wrong} wrong; {out[-1]}")
    return n_wrong > 0 or n == 0


if __name__ == "__main__":
    sys.exit(main())
