# SPDX-License-Identifier: GPL-2.0-or-later
"""Short processes: a loop that compiles small C files and runs grep, sed and git. The share of user samples that are
complete and named, the first ones of every process included, with an empty cache of tables and with a full one."""
import os
import re
from common import CACHE, SOPROF, WITHOUT_CACHE, WORK, choose, classes, cost, row, run, say, verbose_text

LENGTH = choose(10, 3)
HZ = 99
TREE = os.path.join(WORK, "tree")
N_FILES = 5
STEP = ("gcc -O2 -c -o ${f%.c}.o $f; grep -rn printf . >x; sed s/printf/puts/ $f >y; git add .; git status >z;"
        " git log >z 2>&1")
C_TEXT = ("#include <stdio.h>\n#include <string.h>\n"
          "int f@(const char *s) { return printf(\"%s @\", s) + (int)strlen(s); }\n")


def loop():
    """A command that ends by itself: soprof then waits for nobody."""
    os.makedirs(TREE)
    run(["git", "init", "-q", TREE])
    for i in range(N_FILES):
        with open(os.path.join(TREE, f"f{i}.c"), "w") as f:
            f.write(C_TEXT.replace("@", str(i)))
    return ["bash", "-c", f"cd {TREE} || exit 1; end=$((SECONDS + {LENGTH}));"
                          f" while [ $SECONDS -lt $end ]; do for f in f*.c; do {STEP}; done; done; exit 0"]


def is_named(frames):
    return not any(re.match(r"0x|\[unknown\]|\[no library\]", f) for f in frames)


def share(name, command, before=()):
    c = cost("sp_", [*before, SOPROF, "profile", "-U", "-v", "-F", HZ, "--", *command])
    n, stacks = classes(c.stderr), verbose_text(c.stdout)
    unnamed = sum(count for frames, count in stacks if frames and not is_named(frames))
    of_all = 100 * n["complete"] / max(1, sum(n.values()))
    say(f"{name}: {n}, {unnamed} with a frame without a name; {of_all:.1f} % of all samples")
    say(re.sub(r".*?stacks (.*) unwind rows.*", r"\1", " ".join(c.stderr.split())))
    return 100 * max(0, n["complete"] - unnamed) / max(1, n["complete"] + n["guessed"] + n["cut"])


command = loop()
os.makedirs(CACHE, exist_ok=True)
cold = share("cold", command, WITHOUT_CACHE)
share("warming", command)
row("short processes named, warm cache", "%", share("warm", command), least=97)
row("short processes named, cold cache", "%", cold)
