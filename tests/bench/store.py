# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's store: what a window costs to write, how large a day is, how long questions take. The days are made up by
tests/bench/days.c: 10,000 samples in each window of 10 s, 27 million rows a day. The times of questions are those of
the whole program, from its start to its last line, with the files in the page cache, the best of three."""
import datetime
import glob
import os
import subprocess
import time
from common import SOPROF, WORK, choose, row, run, say, tool

DAYS, WINDOWS = choose(8, 2), choose(8640, 400)
UTC = datetime.timezone.utc
STORE = os.path.join(WORK, "store")


def made(place, n_days, first_day, *memory):
    """What the generator says of itself, name by name."""
    words = run([tool("days"), place, str(n_days), str(WINDOWS), str(first_day), *memory]).stdout.split()
    return {name: float(value) for name, _, value in (w.partition("=") for w in words)}


def timed(arguments):
    """(seconds, MB of memory at the highest)"""
    began = time.monotonic()
    process = subprocess.Popen([SOPROF, "query", "--store", STORE, *arguments], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | {"TZ": "UTC"})
    words = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"query {arguments}: {words}")
    return time.monotonic() - began, usage.ru_maxrss / 1024, " ".join(words.split("\n"))


def ask(figure, most, *arguments):
    seconds, megabytes, words = min(timed(arguments) for _ in range(choose(3, 1)))
    say(f"{figure}: {seconds * 1000:.0f} ms, {megabytes:.0f} MB; {words}")
    row(figure, "ms", seconds * 1000, most=most)
    row("  its memory", "MB", megabytes)


def moment(day, seconds):
    return datetime.datetime.fromtimestamp(day * 86400 + seconds, UTC).isoformat().replace("+00:00", "Z")


last_day = int(time.time()) // 86400 - 1
m = made(STORE, DAYS, last_day - DAYS + 1)
say(", ".join(f"{name} {value:g}" for name, value in m.items()))
row("store: a window written, mean", "ms", m["mean_ms"], most=2, note="CPU, with roll-ups")
row("store: a window written, worst", "ms", m["worst_ms"], most=100, note="CPU, with roll-ups")
date = moment(last_day, 0)[:10]
sizes = {r: sum(map(os.path.getsize, glob.glob(f"{STORE}/{date}.{r}.db*"))) / 1e6 for r in ("10s", "1m", "1h")}
for resolution, size in sizes.items():
    row(f"store: a day in windows of {resolution}", "MB", size)
row("store: a day", "MB", sum(sizes.values()), most=130)
row("store: memory of the writer's names", "MB", m["memory_bytes"] / 1e6)
small = made(STORE + "-small", 1, last_day, "60")
row("store: a day of an agent that has 60 MiB, as on a few CPUs", "MB", small["bytes"] / 1e6)
row("  a window written, mean", "ms", small["mean_ms"], note="CPU, with roll-ups")

end = WINDOWS * 10
ask("query of 1 h", 250, "--from", moment(last_day, end // 2 - 1800), "--to", moment(last_day, end // 2 + 1800))
ask("query of 24 h", 600, "--from", moment(last_day - 1, end // 2 + 95), "--to", moment(last_day, end // 2 + 95))
ask("query of 24 h, a library", None, "--from", moment(last_day - 1, end // 2 + 95), "--to",
    moment(last_day, end // 2 + 95), "--library", "liblibrary70.so*")
ask("query of 24 h, a flame graph", None, "--from", moment(last_day - 1, end // 2 + 95), "--to",
    moment(last_day, end // 2 + 95), "-o", os.path.join(WORK, "x.svg"))
week = ["--from", moment(last_day - DAYS + 1, 3600), "--to", moment(last_day, end - 1800)]
ask("query of a week's libraries", 500, *week)
ask("query of a week's functions", 500, *week, "--by", "function")
