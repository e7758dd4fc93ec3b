# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's page: from the request for it until it is drawn, by Debian's chromium, for ranges of a made-up store
(store.py's, or one of seven days like it), served by an agent; best of three."""
import os
import shutil
import socket
import subprocess
import time
from common import SOPROF, SOURCE, WORK, choose, end, row, run, say, start, tool

DAY = 86400
STORE = os.environ.get("SOPROF_BENCH_STORE", os.path.join(WORK, "store"))


def made():
    """Where the store's last day ends."""
    if not os.path.isdir(STORE):
        days = choose(7, 1)
        run([tool("days"), STORE, str(days), str(choose(8640, 400)), str(int(time.time()) // DAY - days)])
    last = max(n for n in os.listdir(STORE) if n.endswith(".1h.db") and os.path.getsize(os.path.join(STORE, n)) > 1e6)[:10]
    midnight = int(time.mktime(time.strptime(last + " UTC", "%Y-%m-%d %Z"))) - time.timezone
    return midnight + choose(8640, 400) * 10


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def address_of(path):
    for _ in range(300):
        told = subprocess.run([SOPROF, "open", "--socket", path], capture_output=True, text=True, check=False)
        if told.returncode == 0 and "#" in told.stdout:
            return told.stdout.split()[-1]
        time.sleep(0.1)
    raise RuntimeError("the agent tells no address: " + told.stderr)


def measure(address, fragments):
    command = ["node", os.path.join(SOURCE, "tests/bench/page.mjs"), shutil.which("chromium"), address,
               str(choose(3, 1)), *fragments]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return int(lines[0]), [tuple(map(float, line.split())) for line in lines[1:]]


def main():
    to = made()
    path = os.path.join(WORK, "page.sock")
    agent = start([SOPROF, "agent", "--store", STORE, "--socket", path, "--listen", f"127.0.0.1:{free_port()}",
                   "--retain", "10s:30d,1m:60d,1h:400d", "--max-disk", "20G"])
    spans = [("an hour", 3600, None), ("24 h", DAY, 700), ("a week", 7 * DAY, 700)]
    try:
        size, times = measure(address_of(path), [f"span={span}&to={to}" for _, span, _ in spans])
    finally:
        end(agent)
    row("the page", "KB", size / 1000, most=100)
    for (name, _, most), (chart, all_drawn) in zip(spans, times):
        say(f"{name}: chart {chart:.0f} ms, all {all_drawn:.0f} ms")
        row(f"page: overview of {name}", "ms", chart, most=most)
        row(f"page: {name} with its flame graph", "ms", all_drawn)


main()
