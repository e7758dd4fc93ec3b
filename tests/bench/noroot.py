# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU of a profile without privileges, beside perf record --call-graph dwarf and perf script: a python program and a
clang compilation, one process each, that run as nobody. What the tools themselves use is measured, not what the
kernel does for them inside the profiled program. How many of the stacks are whole."""
import os
import re
import shutil
import tempfile
from common import PYTHON, SOPROF, WORK, choose, classes, cost, load, perf_record, row, say

HZ = 99
LENGTH = choose(10, 3)
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set", "-all", "--inh-caps", "-all"]
PYTHON_CODE = """
import json
d = [{"a": i, "b": str(i) * 3} for i in range(20000)]
while True:
    json.loads(json.dumps(d))
    sorted(hash(str(i)) for i in range(100000))
"""
PART = """struct t@ : std::regex_traits<char> {};
bool f@(const std::string &s) { return std::regex_match(s, std::basic_regex<char, t@>(s)); }
"""


def clang_file(where):
    """A minute's work for one process."""
    path = os.path.join(where, "large.cc")
    with open(path, "w") as f:
        f.write("#include <regex>\n#include <string>\n" + "".join(PART.replace("@", str(i)) for i in range(60)))
    return path


def of_soprof(where, pid):
    c = cost("-", [*NOBODY, "env", f"XDG_CACHE_HOME={where}/cache", f"{where}/soprof", "profile", "-f", "-F", HZ, "-p", pid,
                   LENGTH])
    n = classes(c.stderr)
    return c.cpu_s, n["complete"], n["complete"] + n["guessed"] + n["cut"]


def of_perf(pid):
    path = os.path.join(WORK, "noroot.data")
    record = cost("-", perf_record("dwarf", HZ, path, "-p", str(pid), "sleep", str(LENGTH)))
    script = cost("-", ["perf", "script", "-i", path, "-F", "comm,ip,sym"])
    os.unlink(path)
    stacks = script.stdout.strip().split("\n\n")
    return record.cpu_s + script.cpu_s, sum(bool(re.search(r"\b(_start|clone3?)$", s)) for s in stacks), len(stacks)


def beside(name, command, goal):
    with tempfile.TemporaryDirectory(dir="/tmp") as where:
        os.chmod(where, 0o755)
        os.mkdir(f"{where}/cache")
        os.chown(f"{where}/cache", 65534, 65534)
        shutil.copy(SOPROF, f"{where}/soprof")
        with load([*NOBODY, *command(where)], settle=1) as (pid,):
            of_soprof(where, pid)  # the tables are kept from then on
            ours, whole, n = of_soprof(where, pid)
            dwarf, perf_whole, perf_n = of_perf(pid)
    say(f"{name}: {1000 * ours:.0f} ms for {n} samples; perf {1000 * dwarf:.0f} ms for {perf_n}")
    row(f"CPU without root, {name}", "ms", 1000 * ours, perf_dwarf=1000 * dwarf)
    row(f"soprof / dwarf, {name}", "x", ours / max(dwarf, 1e-3), most=goal)
    row(f"whole stacks without root, {name}", "%", 100 * whole / max(1, n), perf_dwarf=100 * perf_whole / max(1, perf_n))


beside("python", lambda where: [PYTHON, "-c", PYTHON_CODE], 0.5)
beside("clang", lambda where: ["clang++", "-O2", "-c", "-o", "/dev/null", clang_file(where)], 0.05)
