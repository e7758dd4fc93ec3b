# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading and showing profiles: the report of a large pprof, the speed of perf script's text, the picture of a large
folded file beside flamegraph.pl (of Debian's libdevel-nytprof-perl). The inputs are made up: 30 frames deep, libraries
and functions drawn at random, each stack distinct."""
import gzip
import os
import random
import subprocess
import time
from common import SOPROF, WORK, choose, row, say

DEPTH, N_LIBRARIES, N_FUNCTIONS, N_LOCATIONS = 30, 60, 6000, 20000
N_STACKS, N_SAMPLES = choose(100000, 5000), choose(1000000, 50000)
FOLDED_BYTES = choose(10**9, 2 * 10**7)
FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"


def path(name):
    return os.path.join(WORK, name)


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, payload):
    """A length-delimited field, or a number."""
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def stacks(rng):
    """Like a program's: most of a stack is that of another one, and its top is its own."""
    made = [[rng.randrange(N_LOCATIONS) for _ in range(DEPTH)]]
    while len(made) < N_STACKS:
        base = made[rng.randrange(len(made))]
        keep = rng.randrange(DEPTH // 2, DEPTH)
        made.append([rng.randrange(N_LOCATIONS) for _ in range(DEPTH - keep)] + base[DEPTH - keep:])
    return made


def write_pprof(name, made):
    strings = ["", "samples", "count", "cpu", "nanoseconds"]
    strings += [f"/usr/lib/library{i}.so.1" for i in range(N_LIBRARIES)]
    strings += [f"function_number_{i}" for i in range(N_FUNCTIONS)]
    value_type = lambda a, b: field(1, a) + field(2, b)
    out = [field(1, value_type(1, 2)), field(1, value_type(3, 4))]
    values = field(2, varint(1) + varint(10000000))
    samples = [field(2, field(1, b"".join(varint(f + 1) for f in s)) + values) for s in made]
    out += samples * (N_SAMPLES // N_STACKS)
    out += [field(3, field(1, i + 1) + field(2, (i + 1) << 24) + field(3, (i + 2) << 24) + field(5, 5 + i))
            for i in range(N_LIBRARIES)]
    out += [field(4, field(1, i + 1) + field(2, 1 + i % N_LIBRARIES) + field(3, (1 + i % N_LIBRARIES << 24) + 16 * i) +
                  field(4, field(1, 1 + i % N_FUNCTIONS))) for i in range(N_LOCATIONS)]
    out += [field(5, field(1, i + 1) + field(2, 5 + N_LIBRARIES + i)) for i in range(N_FUNCTIONS)]
    out += [field(6, s.encode()) for s in strings]
    with gzip.open(path(name), "wb", compresslevel=1) as f:
        f.write(b"".join(out))


def write_folded(name, made):
    """Sorted, as stackcollapse writes it; as many stacks as the size takes."""
    size = 0
    with open(path(name), "w") as f:
        for i in range(10**9):
            lines = ["p%d;" % i + ";".join("function_number_%d" % (x % N_FUNCTIONS) for x in reversed(s)) + " 7\n"
                     for s in made]
            lines.sort()
            f.writelines(lines)
            size += sum(map(len, lines))
            if size >= FOLDED_BYTES:
                return size


def timed(command):
    """(seconds, CPU seconds, MB of memory at the highest)"""
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{command}: {status}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(command, n=choose(3, 1)):
    return min(timed(command) for _ in range(n))


def picture(name, size):
    ours = best([SOPROF, "report", "-o", path("x.svg"), path(name)], 1)
    say(f"{size / 1e9:.2f} GB folded to svg: {ours[0]:.2f} s, {ours[1]:.2f} s of CPU, {ours[2]:.0f} MB")
    row("svg of folded text", "MB/s", size / 1e6 / ours[0])
    row("its memory", "MB", ours[2])
    if not os.path.exists(FLAMEGRAPH):
        say("flamegraph.pl is not here")
        return
    theirs = timed(["perl", FLAMEGRAPH, path(name)])
    say(f"flamegraph.pl: {theirs[0]:.2f} s, {theirs[1]:.2f} s of CPU, {theirs[2]:.0f} MB")
    row("svg: times faster than flamegraph.pl", "x", theirs[1] / ours[1], least=30)


made = stacks(random.Random(1))
write_pprof("large.pb.gz", made)
seconds, cpu, megabytes = best([SOPROF, "report", path("large.pb.gz")])
say(f"{N_SAMPLES} samples, {N_STACKS} stacks: {seconds:.2f} s, {cpu:.2f} s of CPU, {megabytes:.0f} MB")
row("report of a pprof, 1,000,000 samples", "s", seconds, most=1)
row("its memory", "MB", megabytes, most=300)
subprocess.run([SOPROF, "report", "-o", path("large.perf"), path("large.pb.gz")], check=True)
size = os.path.getsize(path("large.perf"))
seconds, cpu, megabytes = best([SOPROF, "report", path("large.perf")], 1)
say(f"{size / 1e6:.0f} MB of perf script's text: {seconds:.2f} s, {cpu:.2f} s of CPU, {megabytes:.0f} MB")
row("perf script's text read", "MB/s", size / 1e6 / seconds, least=150)
os.unlink(path("large.perf"))
picture("large.folded", write_folded("large.folded", made))
