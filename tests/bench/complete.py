# SPDX-License-Identifier: GPL-2.0-or-later
"""The share of user samples whose stacks are complete, on stock programs, beside the share in which perf record (-g, and
--call-graph dwarf) and bpftrace get to the program's or the thread's start; and rows inside known files that are an
address, not a function."""
import collections
import functools
import glob
import os
import re
import shutil
from starts import perf_stacks, share
from common import (PYTHON, SOPROF, SOURCE, VICTIMS, WORK, bpftrace, choose, classes, cost, forever, load, perf_record,
                    row, run, say, verbose_text, victim)

LENGTH = choose(5, 2)
HZ = 499
DATA = os.path.join(WORK, "data")
REPO = os.path.join(WORK, "repo")
C_FILE = os.path.join(WORK, "many.c")
JSON_LOOP = ("import json, re\nd = {str(i): [i, str(i) * 3] for i in range(2000)}\n"
             "while True: re.sub('[0-9]+', lambda m: m[0][::-1], json.dumps(json.loads(json.dumps(d))))")
C_TEXT = "int f@(int n) { int s = 0; for (int k = 0; k < n; k++) s += (k * @ + n) % (k + 1); return s; }\n"
SQL = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 3000000)"
       " SELECT count(*), sum(i*i), avg(length(printf('%d', i))) FROM n;")
WORKLOADS = {
    "openssl": ["openssl", "speed", "-seconds", "1000", "sha256"],
    "xz": forever(f"xz -6 -c {DATA} >/dev/null"),
    "python3": [PYTHON, "-c", JSON_LOOP],
    "sqlite3": forever(f"sqlite3 :memory: \"{SQL}\" >/dev/null"),
    "gcc": forever(f"gcc -O2 -c -o {WORK}/many.o {C_FILE}"),
    "git": forever(f"git -C {REPO} log -p --stat >/dev/null; git -C {REPO} fsck --no-dangling >/dev/null 2>&1"),
    "AES-GCM": ["openssl", "speed", "-seconds", "1000", "-bytes", "16384", "-evp", "aes-256-gcm"],
    "AES-XTS": ["openssl", "speed", "-seconds", "1000", "-bytes", "16384", "-decrypt", "-evp", "aes-128-xts"],
    "ECDSA P-384": ["openssl", "speed", "-seconds", "1000", "ecdsap384"],
    "ECDH P-521": ["openssl", "speed", "-seconds", "1000", "ecdhp521"],
    "fibers": victim("fibers"),
    "C++ program": victim("cxx"),
    "Rust program": victim("rusty"),
}


def prepare():
    """Something to compress, to compile and to look through: this source tree."""
    text = b""
    for folder, _, names in os.walk(os.path.join(SOURCE, "src")):
        for name in sorted(names):
            with open(os.path.join(folder, name), "rb") as f:
                text += f.read()
    with open(DATA, "wb") as f:
        f.write(text * (1 + 20_000_000 // len(text)))
    with open(C_FILE, "w") as f:
        f.writelines(C_TEXT.replace("@", str(i)) for i in range(300))
    run(["git", "init", "-q", REPO])
    shutil.copytree(os.path.join(SOURCE, "src"), os.path.join(REPO, "src"))
    for message in ("one", "two"):
        run(["git", "-C", REPO, "add", "."])
        run(["git", "-C", REPO, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-q", "-m", message])
        run(["bash", "-c", f"sed -i 's/int/long/' {REPO}/src/*/*"])


# --- rows without a function ------------------------------------------------------------------------------------------
PLACES = ["/usr/bin", "/usr/lib/x86_64-linux-gnu", *glob.glob("/usr/lib/gcc/x86_64-linux-gnu/*"), "/usr/lib/git-core",
          *glob.glob("/usr/lib/python3*/lib-dynload"), VICTIMS]


@functools.cache
def starts_of(library):
    """Where the functions of a file begin, as readelf prints .eh_frame, the entry point, and what ld.so calls."""
    path = next((p for p in (os.path.join(d, library) for d in PLACES) if os.path.isfile(p)), None)
    text = run(["readelf", "-hdrW", "--debug-dump=frames", path], check=False).stdout if path else ""
    starts = re.findall(r"(?: pc=|\(INIT\) +0x|\(FINI\) +0x|Entry point.* 0x)([0-9a-f]+)", text)
    return {int(start, 16) for start in starts + called_by_loader(text)}


def called_by_loader(text):
    """The pointers in DT_INIT_ARRAY and DT_FINI_ARRAY, which relocations fill."""
    dynamic = {name: int(value, 0) for name, value in re.findall(r"\((\w+_ARRAY(?:SZ)?)\) +(\w+)", text)}
    arrays = [range(dynamic[a], dynamic[a] + dynamic[a + "SZ"]) for a in ("INIT_ARRAY", "FINI_ARRAY") if a in dynamic]
    relocations = re.findall(r"^([0-9a-f]+) .* R_X86_64_RELATIVE +([0-9a-f]+)$", text, re.M)
    return [target for place, target in relocations if any(int(place, 16) in a for a in arrays)]


def is_bare(frame):
    """A bare address, or LIBRARY+0xADDRESS that is not where a function begins."""
    if re.match(r"0x|\[unknown\]", frame):
        return True
    nameless = re.match(r"(.+)\+0x([0-9a-f]+)\+0x0 \[\1\]", frame)
    return bool(nameless) and int(nameless[2], 16) not in starts_of(nameless[1])


def bare_rows(stacks):
    """{frame: samples}"""
    found = collections.Counter()
    for frames, n in stacks:
        found.update({f: n for f in frames if is_bare(f)})
    return found


# --- completeness -----------------------------------------------------------------------------------------------------
def of_soprof(command):
    c = cost("sp_", [SOPROF, "profile", "-U", "-v", "-F", HZ, "--", *command], check=False)
    n = classes(c.stderr)
    user = n["complete"] + n["guessed"] + n["cut"]
    bare = bare_rows(verbose_text(c.stdout))
    say(f"{command[2]}: {n}; no function: {dict(bare)}")
    return 100 * n["complete"] / max(user, 1), bare.total()


# --- the same of the others -------------------------------------------------------------------------------------------
def of_perf(command, mode="fp"):
    path = os.path.join(WORK, "perf.data")
    run(perf_record(mode, HZ, path, "--", *command), check=False)
    text = run(["perf", "script", "-i", path, "-F", "comm,ip,sym,dso"]).stdout
    os.unlink(path)
    return share([s for s in perf_stacks(text) if s])


def of_bpftrace(command):
    """Of a program that is still there at the end: the names of others are lost."""
    with load(command) as pids:
        text = bpftrace(HZ, LENGTH, what="ustack(perf, 127), nsecs", filter=f"/pid == {pids[0]}/").stdout
    stacks = [re.findall(r"^\t([0-9a-f]+) (.+?)(?:\+\d+)? \((.+)\)$", block, re.M) for block in text.split("@[")]
    return share([s for s in stacks if s])


prepare()
bare = 0
for name, command in WORKLOADS.items():
    if not shutil.which(command[0]):
        row(f"complete: {name}", "%", None, least=99, note=f"{command[0]} is not there")
        continue
    timed = ["timeout", str(LENGTH), *command]
    percent, n = of_soprof(timed)
    bare += n
    beside = {} if command[0] == "bash" else {"bpftrace": of_bpftrace(command)}
    row(f"complete: {name}", "%", percent, least=99, perf_g=of_perf(timed), perf_dwarf=of_perf(timed, "dwarf"), **beside)
row("rows in known files, no function", "rows", bare, most=0)
