# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole stacks of programs of Debian packages (tests/full/pairs.sh), beside perf record --call-graph dwarf, and callers
that machine code refutes. Of the programs of that list some that differ; without arguments the script does all."""
import os
import re
import subprocess
from common import BUILD, SOPROF, SOURCE, WORK, choose, row, say

PROGRAMS = choose("numpy|perl|ruby|php-fiber|emacs|R|ocaml-native|go|gccgo|gcc|clang|nginx-tls|postgres|mariadb|redis|"
                  "openssl-gcm|gnutls|x264|dav1d|ffmpeg|zstd|boost-context|musl|static", "xz|openssl-gcm")
TABLE = os.path.join(WORK, "pairs.txt")


def number(word):
    return None if word == "-" else float(word)


environment = {**os.environ, "SOPROF": SOPROF, "SOPROF_SOURCE": SOURCE, "SOPROF_BUILD": BUILD, "TMPDIR": WORK,
               "SOPROF_PAIRS_TABLE": TABLE}
done = subprocess.run(["bash", os.path.join(SOURCE, "tests/full/pairs.sh"), PROGRAMS, "dwarf"], env=environment,
                      capture_output=True, text=True, errors="replace")
if not os.path.exists(TABLE):
    raise RuntimeError(f"tests/full/pairs.sh: exit code {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
refuted = 0
with open(TABLE) as f:
    lines = f.read().splitlines()
for line in lines:
    say(line)
    found = re.match(r"(\S+) +([\d.]+|-) +([\d.]+|-) +([\d.]+|-) +\d+ +\d+ +(\d+) ", line)
    if found:
        refuted += int(found[5])
        row(f"whole: {found[1]}", "%", number(found[3]), least=99, perf_dwarf=number(found[4]),
            note=f"{found[2]} % without tables on the disk")
row("callers that machine code refutes", "pairs", refuted, most=0)
