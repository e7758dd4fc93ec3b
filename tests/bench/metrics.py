# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's metrics: /metrics with 2,000 series, as Prometheus asks for it (OpenMetrics with exemplars, gzip, one
connection that stays), from request to the last byte; and the agent's CPU time for one, which every 10 s is a share of a
CPU. The series come from 700 programs, each a library of its own; when they are scraped nothing of that runs any more."""
import gzip
import http.client
import os
import re
import socket
import statistics
import subprocess
import tempfile
import time
from common import SOPROF, WORK, choose, end, load, row, say, tool

PROMETHEUS = {"Accept": "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
              "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", "Accept-Encoding": "gzip"}
N_SERIES, N_SCRAPES, EVERY_S = choose(2000, 300), choose(300, 20), 10


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def scrape(connection, headers):
    connection.request("GET", "/metrics", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, answer.status
    return gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body, len(body)


def number(page, name):
    return float(re.search(rf"^{name} (\S+)$", page.decode(), re.M)[1])


def cpu_ns(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0])


def measure(connection, pid, headers):
    """Median ms of an answer, CPU ms of the agent for one."""
    times, before = [], cpu_ns(pid)
    for _ in range(N_SCRAPES):
        began = time.monotonic()
        _, sent = scrape(connection, headers)
        times.append((time.monotonic() - began) * 1e3)
    return statistics.median(times), (cpu_ns(pid) - before) / N_SCRAPES / 1e6, sent


place, port = tempfile.mkdtemp(dir=WORK), free_port()
agent = subprocess.Popen([SOPROF, "agent", "--store", os.path.join(place, "store"), "--socket", os.path.join(place, "s"),
                          "--listen", f"127.0.0.1:{port}", "--frequency", "199", "--max-cpu", "100%", "--metrics-series", str(N_SERIES)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
try:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with load([tool("variety"), place, str(choose(700, 100)), "2000", "40"], settle=1):
        for _ in range(240):
            try:
                page, _ = scrape(connection, {})
                if number(page, "soprof_metrics_series") > N_SERIES - 10:
                    break
            except OSError:
                connection.close()
            time.sleep(1)
    time.sleep(choose(25, 12))  # the last windows
    page, _ = scrape(connection, PROMETHEUS)
    lines = sum(not line.startswith(b"#") for line in page.splitlines())
    packed_ms, packed_cpu, packed_bytes = measure(connection, agent.pid, PROMETHEUS)
    plain_ms, plain_cpu, plain_bytes = measure(connection, agent.pid, {})
finally:
    end(agent)
say(f"{lines} lines, {number(page, 'soprof_metrics_series'):.0f} series; gzip: {packed_bytes} bytes, {packed_ms:.2f} ms, {packed_cpu:.3f} ms "
    f"of CPU; plain text: {plain_bytes} bytes, {plain_ms:.2f} ms, {plain_cpu:.3f} ms of CPU")
row("/metrics, 2,000 series, gzip", "ms", packed_ms, most=10)
row("/metrics, 2,000 series, text", "ms", plain_ms, most=10)
row(f"a scrape every {EVERY_S} s", "% of a CPU", packed_cpu / EVERY_S / 1e3 * 100, most=0.05)
