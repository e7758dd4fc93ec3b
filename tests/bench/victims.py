# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples with a caller that is not the true one, on the programs of tests/victim, stripped; their checker counts."""
import os
import re
from common import SOPROF, VICTIMS, choose, row, run, say

SECONDS = choose(3, 1)
HZ = 997
CHECK = os.path.join(VICTIMS, "../check")
TRUTH = os.path.join(VICTIMS, "../truth")


def programs():
    """All but the one that needs a library to replace."""
    names = (n for n in os.listdir(TRUTH) if n != "plugin")
    return sorted(n for n in names if os.access(os.path.join(VICTIMS, n), os.X_OK))


def check(name):
    """(samples, of them with a wrong caller)"""
    victim = [os.path.join(VICTIMS, name), str(SECONDS)]
    profile = run([SOPROF, "profile", "-U", "-f", "-F", str(HZ), "--", *victim], check=False)
    text = run([CHECK, VICTIMS, name], check=False, input=profile.stdout).stdout
    found = re.search(r"^.*: (\d+) samples, .* (\d+) with a wrong caller.*$", text, re.M)
    if not found:
        raise RuntimeError(f"{name}: {text}{profile.stderr[-200:]}")
    say(found[0])
    return int(found[1]), int(found[2])


results = [check(name) for name in programs()]
n = sum(samples for samples, _ in results)
row(f"wrong callers, {len(results)} victims", "", sum(wrong for _, wrong in results), most=0, note=f"{n} samples")
