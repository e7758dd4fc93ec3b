# SPDX-License-Identifier: GPL-2.0-or-later
"""What counting calls costs: a call of a function that costs nothing, whole programs that call libc, and their start;
beside glibc's LD_PROFILE, an auditor with pltenter, and uftrace where it is installed."""
import os
import resource
import shutil
import subprocess
from common import BUILD, PYTHON, WORK, choose, row, run, say, tool

AUDIT = os.path.join(BUILD, "src/audit/calls.so")
FILE = os.path.join(BUILD, "tests/cmd/calls-file")
REPEATS = choose(1000, 100)
TRIES = 5  # one process in twenty is slow from its first call to its last
DEPTHS = {"object": ("counts", 0.8), "site": ("by call site", 1.5)}
FEW = "the shortest of many repeats in several processes, less that of the plain call in the same run"


# --- a call -----------------------------------------------------------------------------------------------------------
def counting(depth, library, timed=False):
    path = os.path.join(WORK, f"{library.replace('*', 'all')}-{depth}{'-timed' * timed}.profile")
    if not os.path.exists(path):
        run([FILE, "prepare", path, depth, library])
        if timed:
            run([FILE, "time", path])
    return {"LD_AUDIT": AUDIT, "SOPROF_CALLS": path}


def start_calls(variant, extra, repeats=REPEATS, before=(), how=()):
    return subprocess.Popen([*before, tool(f"calls-{variant}"), str(repeats), *how], env=os.environ | extra, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def ns_of(process):
    text = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"{process.args}: exit code {process.returncode}")
    return float(text.split()[-1])


def ns(variant, extra=None, **options):
    return min(ns_of(start_calls(variant, extra or {}, **options)) for _ in range(TRIES))


def ns_of_two(variant, extra):
    """The slower of two that run at once, each on a CPU of its own."""
    def once():
        both = [start_calls(variant, extra, before=["taskset", "-c", str(cpu)]) for cpu in (0, 1)]
        return max([ns_of(p) for p in both])
    return min(once() for _ in range(TRIES))


def a_call():
    added = {}
    for variant in ("now", "noplt"):
        plain = ns(variant)
        say(f"plain call, {variant}: {plain:.2f} ns")
        for depth, (what, goal) in DEPTHS.items():
            extra = counting(depth, "libcounted.so")
            added[variant, depth] = ns(variant, extra) - plain
            row(f"added to a call, {what}, {variant}", "ns", added[variant, depth], most=goal, note=FEW)
            if os.cpu_count() > 1:
                row(f"... two processes, {what}, {variant}", "ns", ns_of_two(variant, extra) - ns_of_two(variant, {}), most=goal)
            row(f"... no rseq, {what}, {variant}", "ns",
                ns(variant, extra | {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}) - plain)
            row(f"... from 100 places close together, {what}, {variant}", "ns",
                ns(variant, extra, how=["dense"]) - ns(variant, how=["dense"]), most=goal)
        extra = counting("site", "libcounted.so", timed=True)
        row(f"added to a call, timed, {variant}", "ns", ns(variant, extra) - plain, note=FEW)
        if os.cpu_count() > 1:
            row(f"... two processes, timed, {variant}", "ns", ns_of_two(variant, extra) - ns_of_two(variant, {}))
    row("added to a call, by call site, all libraries counted", "ns", ns("now", counting("site", "*")) - ns("now"), note=FEW)
    peers(added["now", "object"])


def peers(ours):
    plain = ns("now")
    others = {"LD_PROFILE": ({"LD_PROFILE": "libcounted.so", "LD_PROFILE_OUTPUT": WORK}, (), 20),
              "pltenter": ({"LD_AUDIT": tool("pltenter.so")}, (), 20)}
    if shutil.which("uftrace"):
        where = os.path.join(WORK, "uftrace")
        others["uftrace"] = ({}, ["uftrace", "record", "-l", "--force", "-d", where], 50)
    for name, (extra, before, least) in others.items():
        theirs = ns("now", extra, repeats=choose(50, 20) if name != "uftrace" else 5, before=before) - plain
        say(f"{name} adds {theirs:.1f} ns to a call")
        row(f"{name}: adds so many times ours", "", theirs / max(ours, 0.01), least=least)


# --- programs ---------------------------------------------------------------------------------------------------------
PERL = 'my %h; for my $i (1..400000) { $h{$i % 9973} .= chr(65 + $i % 26); } print length(join "", values %h), "\\n";'
SQL = """create table t(a integer, b text); with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
insert into t select i, hex(i * 7919 % 65537) from n; create index x on t(b); select count(*), max(b) from t where a % 7 = 1;"""
CODE = """import json, zlib
d = [{"a": i, "b": str(i) * 3} for i in range(30000)]
for _ in range(3): s = json.dumps(d); json.loads(s); zlib.compress(s.encode(), 1)"""
SOURCE = "#include <map>\n#include <string>\n#include <iostream>\n#include <regex>\n" + "".join(
    f"std::map<std::string, int> m{i}; int f{i}(int x) {{ return m{i}[std::to_string(x)]++; }}\n" for i in range(40))


def programs():
    source, lines = os.path.join(WORK, "a.cc"), os.path.join(WORK, "lines")
    with open(source, "w") as f:
        f.write(SOURCE)
    with open(lines, "w") as f:
        f.writelines(f"{i * 7919 % 1000003:x} {i}\n" for i in range(300000))
    return {"perl": ["perl", "-e", PERL], "sqlite3": ["sqlite3", ":memory:", SQL], "python3": [PYTHON, "-c", CODE],
            "g++": ["g++", "-O1", "-c", "-o", os.path.join(WORK, "a.o"), source],
            "sort": ["sort", "-k", "1,1", "--parallel=1", "-o", os.path.join(WORK, "sorted"), lines]}


def cpu_s(command, extra):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=os.environ | extra, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def whole_programs():
    kinds = {"plain": {}, "object": counting("object", "libc.so.6"), "site": counting("site", "libc.so.6"),
             "all": counting("site", "*"),
             "timed": counting("site", "libc.so.6", timed=True),
             "LD_PROFILE": {"LD_PROFILE": "libc.so.6", "LD_PROFILE_OUTPUT": WORK}}
    for name, command in programs().items():
        best = {}
        for _ in range(choose(9, 2)):
            for kind, extra in kinds.items():
                best[kind] = min(best.get(kind, 1e9), cpu_s(command, extra))
        say(f"{name}: plain {best['plain']:.3f} s; LD_PROFILE {best['LD_PROFILE'] / best['plain']:.2f} times that")
        row(f"{name}, libc: CPU, counts", "x", best["object"] / best["plain"], most=1.10)
        row(f"{name}, libc: CPU, by call site", "x", best["site"] / best["plain"])
        row(f"{name}, libc: CPU, timed", "x", best["timed"] / best["plain"])
        row(f"{name}, all libraries: CPU, by call site", "x", best["all"] / best["plain"])


def spawned(command, extra):
    """Milliseconds of a start, plain and counted."""
    environment = os.environ | {"SPAWN_AUDIT": extra["LD_AUDIT"], "SOPROF_CALLS": extra["SOPROF_CALLS"]}
    words = [tool("spawn"), str(choose(300, 30)), *command]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return map(float, done.stdout.split())


def starts():
    for command, goal in ((["/bin/true"], 0.3), (["/usr/bin/git", "--version"], 1.0), ([PYTHON, "-S", "-c", "pass"], None),
                          ([shutil.which("clang") or "/bin/false", "--version"], None)):
        for what, depth, library in (("libc", "site", "libc.so.6"), ("libc, by process", "site-process", "libc.so.6"),
                                     ("all libraries", "site", "*")):
            plain, counted = spawned(command, counting(depth, library))
            name = os.path.basename(command[0])
            say(f"{name}: {plain:.2f} ms plain, {counted / plain:.2f} times that with calls of {what} counted")
            row(f"start of {name}: added, {what}", "ms", counted - plain, most=goal if what == "libc" else None)


a_call()
whole_programs()
starts()
