# SPDX-License-Identifier: GPL-2.0-or-later
"""A fleet on Debian's ClickHouse: what sending costs an agent's host of some stacks, and one of very many, when most names
are known, and what pushing profiles to Pyroscope and by OTLP costs it (to a server that takes anything); how long
questions take over 10, 100 and 1,000 hosts. Ten hosts are made up, each with an hour of 60 rows a window of 10 s out of
30,000 stacks of 60 programs and 40 libraries, and are sent; the others are copies in the server, with other numbers. For 24
hours the windows and the libraries' sums are copied, too; samples there are of the last hour only. The times are those of
the whole program, the best of three, beside a server of the same machine. What a host and day takes on the disk is that
hour's rows, merged, times 24, and what they name, which is written once a day; beside it the same hour laid out as others
do: a pprof file for each minute (Perforator), and rows that have their whole stack of names (Parca's tables in ClickHouse).
By the environment: SOPROF_BENCH_PARTS=many,sending,pushing, these only."""
import contextlib
import http.server
import os
import random
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from agent import Agent, variety
from common import BUILD, SOPROF, SOURCE, WORK, choose, end, row, run, say
from processes import family

SERVER = """. tests/cmd/lib.bash; . tests/clickhouse.bash; clickhouse_fetch >&2 || exit 77; clickhouse_start one
echo $address; wait"""
N_BASE, N_STACKS, ROWS = 10, 30000, 60
LOOK_S = 0.01
HOUR = int(time.time()) // 3600 * 3600


@contextlib.contextmanager
def clickhouse():
    process = subprocess.Popen(["bash", "-c", SERVER], cwd=SOURCE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                               start_new_session=True, env=os.environ | {"TMPDIR": WORK, "SOPROF": SOPROF})
    try:
        address = process.stdout.readline().strip()
        if not address:
            raise RuntimeError("no ClickHouse")
        yield address
    finally:
        end(process)


def ask(address, sql):
    try:
        with urllib.request.urlopen(f"{address}/?database=soprof", data=sql.encode()) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as e:
        raise RuntimeError(f"{e.read().decode()[:500]} (for {sql[:300]})") from e


# --- sending ----------------------------------------------------------------------------------------------------------
class Watch:
    """The processes that send: the most memory that one had."""

    def __init__(self, agent):
        self.agent, self.peak, self.anonymous = agent, 0, 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.ended.wait(LOOK_S):
            for pid in list(family(self.agent))[1:]:
                with contextlib.suppress(OSError):
                    with open(f"/proc/{pid}/cmdline") as f:
                        if "--send" not in f.read().split("\0"):
                            continue
                    with open(f"/proc/{pid}/status") as f:
                        words = dict(line.split(":", 1) for line in f)
                    kb = {name: int(words[name].split()[0]) for name in ("VmHWM", "RssAnon") if name in words}
                    self.peak = max(self.peak, kb.get("VmHWM", 0))
                    self.anonymous = max(self.anonymous, kb.get("RssAnon", 0))

    def close(self):
        self.ended.set()
        self.thread.join()


def learn(receiver, word, config, place):
    """Has most stacks sent, by an agent that samples as often in two minutes as others in an hour."""
    agent = Agent("--config", config, "--frequency", "997", "--max-cpu", "100%", place=place)
    try:
        while agent.number(word) < 1:
            time.sleep(1)
        words = agent.words()
        say(f"names are known: {words[receiver + '_samples']} samples in {words[word]} windows were sent")
    finally:
        agent.close()


def steady(receiver, first_word, mapping, load=(500, 50000), learns=False):
    """The agent's words when it sends to a receiver as it always does, and ten minutes later; and the watch. The load: how
    many programs, and stacks."""
    config = os.path.join(WORK, "agent.yaml")
    with open(config, "w") as f:
        f.write(f"listen: none\ngroup: none\n{receiver}: {mapping}\n")
    with variety(*(choose(n, n // 10) for n in load), 100):
        place = tempfile.mkdtemp(dir=WORK)
        if learns:
            learn(receiver, first_word, config, place)
        agent = Agent("--config", config, place=place)
        watch = Watch(agent.process.pid)
        try:
            while agent.number(first_word) < 2:  # what is sent first is more
                time.sleep(1)
            began, words = time.monotonic(), agent.words()
            watch.peak = watch.anonymous = 0
            time.sleep(choose(600, 30))
            n = agent.number(first_word)
            while agent.number(first_word) == n:  # whole rounds: what one costs is for the time up to the next
                time.sleep(1)
            took, last = time.monotonic() - began, agent.words()
        finally:
            watch.close()
            agent.close()
    return took, watch, {w: int(last[w]) - int(words[w]) for w in last if w.startswith(receiver) and last[w].isdigit()}


def sending(address, database, programs, stacks):
    run([SOPROF, "fleet", "init", f"{address}/{database}"])
    say(f"{programs} programs, {stacks} stacks")
    took, watch, words = steady("fleet", "fleet_windows", f'{{url: "{address}/{database}", host: here}}', (programs, stacks), True)
    n, cpu, windows = (words[w] for w in ("fleet_bytes", "fleet_cpu_ns", "fleet_windows"))
    say(f"{windows} windows in {took:.0f} s, {n / max(windows, 1) / 1024:.1f} KiB and {cpu / max(windows, 1) / 1e6:.1f} ms of CPU each")
    row(f"fleet: sending, host of {stacks} stacks", "% of a CPU", 100 * cpu / took / 1e9, most=0.05)
    row("  bytes sent in a day", "MB", n / took * 86400 / 1e6, note="compressed")
    row("  memory of a process that sends, peak", "MB", watch.peak / 1024, note="with what it shares with the agent")
    row("  of it its own", "MB", watch.anonymous / 1024, most=4)


class Taker(http.server.BaseHTTPRequestHandler):
    """Takes anything, as Pyroscope and a collector do."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def pushing():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'{{url: "http://127.0.0.1:{server.server_address[1]}", host: here}}'
    for receiver in ("pyroscope", "otlp"):
        took, watch, words = steady(receiver, f"{receiver}_profiles", url)
        say(f"{words[receiver + '_profiles']} profiles, {words[receiver + '_bytes'] / 1e6:.1f} MB in {took:.0f} s")
        row(f"{receiver}: pushing, of an agent's host", "% of a CPU", 100 * words[receiver + "_cpu_ns"] / took / 1e9)
        row("  memory of a process that pushes, peak, its own", "MB", watch.anonymous / 1024)
    server.shutdown()


# --- many hosts -------------------------------------------------------------------------------------------------------
def stacks():
    r, made = random.Random(7), []
    for _ in range(N_STACKS):
        program = f"prog{r.randrange(60)}"
        frames = [f"main@{program}", f"loop@{program}"]
        if made and r.random() < 0.8:
            program, frames = r.choice(made)
            frames = frames[:r.randint(2, len(frames) - 1)]
        functions = (min(int(r.paretovariate(0.6) * 3), 5999) for _ in range(r.randint(3, 12)))
        made.append((program, frames + [f"f{n}@lib{n % 40}.so.1" for n in functions]))
    return [(p, ";".join(f)) for p, f in made]


def base(address):
    all_stacks = stacks()
    for host in range(N_BASE):
        r, place = random.Random(host), os.path.join(WORK, f"fleet{host}")
        lines = []
        for t in range(HOUR - 3600, HOUR, 10):
            for _ in range(ROWS):
                n = min(int(r.paretovariate(0.25)), N_STACKS - 1) if r.random() < 0.5 else r.randrange(N_STACKS)
                program, frames = all_stacks[n]
                lines.append(f"{t} {1000 + n % 97} {program} 1000 /system.slice/{program}.service {frames} {r.randint(1, 3)}\n")
        run([os.path.join(BUILD, "tests/cmd/fill"), place], input="".join(lines))
        run([SOPROF, "fleet", "send", address, "--store", place, "--name", f"web{host}", "--labels", f"canary={host % 2}"])


def on_disk(address, database):
    """Of a day, by an hour: rows come each hour, what they name once a day."""
    tables = ask(address, f"SELECT name FROM system.tables WHERE database = '{database}'").split()
    for table in tables:
        ask(address, f"OPTIMIZE TABLE {database}.{table} FINAL")
    size = ask(address, "SELECT sum(bytes_on_disk * if(table IN ('samples', 'libraries', 'windows'), 24, 1)) FROM system.parts "
                        f"WHERE active AND database = '{database}'")
    return int(size)


def layouts(address):
    place, minutes = os.path.join(WORK, "fleet0"), choose(60, 5)
    run([SOPROF, "fleet", "init", f"{address}/alone"])
    began = time.monotonic()
    run([SOPROF, "fleet", "send", f"{address}/alone", "--store", place, "--name", "web0"])
    row("fleet: catching up with an hour", "s", time.monotonic() - began, most=10)
    ask(address, "CREATE DATABASE whole")
    ask(address, "CREATE TABLE whole.samples (day Date, ts DateTime, host String, process String, stack Array(String), n Int64) "
                 "ENGINE = MergeTree() PARTITION BY day ORDER BY (host, process, ts)")
    pprof, rows, path = 0, [], os.path.join(WORK, "x.pb.gz")
    for t in range(HOUR - 60 * minutes, HOUR, 60):
        minute = ["query", "--store", place, "--exact", "--from", f"@{t}", "--to", f"@{t + 60}"]
        run([SOPROF, *minute, "-o", path])
        pprof += os.path.getsize(path)
        for line in run([SOPROF, *minute, "--format", "folded", "--value", "samples"]).stdout.splitlines():
            words, _, n = line.rpartition(" ")
            process, *frames = words.split(";")
            rows.append("\t".join((time.strftime("%F", time.gmtime(t)), str(t), "web0", process, str(frames[::-1]), n)))
    ask(address, "INSERT INTO whole.samples FORMAT TabSeparated\n" + "\n".join(rows) + "\n")
    row("fleet: on the server's disk, a host and day", "MB", on_disk(address, "alone") / 1e6, note="the hour's stacks and names once")
    row("  of an hour as pprof files of a minute each", "MB", pprof * 1440 / minutes / 1e6, note="as Perforator lays it out")
    row("  as rows with their whole stacks", "MB", on_disk(address, "whole") * 60 / minutes / 1e6, note="as Parca lays it out")


WINDOW = "seconds, covered, lost, left_out, rows, samples, cost, cost_name, cost_unit"


def copy(address, first, last):
    """Copies of the base hosts' last hour; of windows and libraries the 23 hours before, too."""
    copies = f"arrayMap(i -> i + {first}, range({last - first}))"  # 18.16's range() has one argument
    of_base = f"host IN (SELECT host FROM windows WHERE name LIKE 'web_') AND ts >= toDateTime({HOUR - 3600})"
    hours = f"(SELECT *, arrayJoin(range(24)) AS h FROM (SELECT *, arrayJoin({copies}) AS k FROM %s WHERE {of_base}))"
    ts, host = "toDateTime(toUInt32(ts) - 3600 * h)", "if(k = 0, host, cityHash64(host, k))"
    there = "" if first else " WHERE h > 0"
    ask(address, f"INSERT INTO libraries (day, library, host, ts, run, samples, self, total) SELECT toDate({ts}), library, {host}, {ts}, run, "
                 f"samples, self, total FROM {hours % 'libraries'}{there}")
    if first:
        ask(address, "INSERT INTO samples (day, hour, who, stack, host, ts, run, samples, cost) SELECT day, hour, who, stack, "
                     f"cityHash64(host, k), ts, run, samples, cost FROM (SELECT *, arrayJoin({copies}) AS k FROM samples WHERE {of_base})")
    ask(address, f"INSERT INTO windows (day, host, source, ts, run, name, labels, {WINDOW}) SELECT toDate({ts}), {host}, source, {ts}, run, "
                 f"if(k = 0, name, concat(name, '-', toString(k))), labels, {WINDOW} FROM {hours % 'windows'}{there}")


def timed(figure, most, *arguments):
    def once():
        began = time.monotonic()
        run([SOPROF, *arguments])
        return time.monotonic() - began
    row(figure, "ms", 1000 * min(once() for _ in range(choose(3, 1))), most=most)


def many(address):
    run([SOPROF, "fleet", "init", address])
    base(address)
    layouts(address)
    copy(address, 0, 1)
    n = 1
    for hosts in (10, 100, *choose([1000], [])):
        if hosts > N_BASE:
            copy(address, n, hosts // N_BASE)
            n = hosts // N_BASE
        rows = ask(address, "SELECT count() FROM samples").strip()
        size = ask(address, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'soprof' AND table = 'samples'")
        say(f"{hosts} hosts: {rows} rows of samples, {int(size) / max(int(rows), 1):.2f} bytes each")
        goal = 1000 if hosts == 100 else None
        hour = ["--fleet", address, "--from", f"@{HOUR - 3600}", "--to", f"@{HOUR}"]
        day = ["--fleet", address, "--from", f"@{HOUR - 86400}", "--to", f"@{HOUR}"]
        timed(f"fleet: flame graph, 1 h, {hosts} hosts", goal, "query", *hour, "-o", os.path.join(WORK, "x.svg"))
        timed(f"fleet: libraries, 24 h, {hosts} hosts", goal, "libs", *day, "lib7.so*", "lib8.so*")
        timed(f"fleet: a library's functions, 1 h, {hosts} hosts", None, "query", *hour, "--library", "lib7.so*", "--by", "function")
        timed(f"fleet: status, {hosts} hosts", None, "fleet", "status", address)


parts = os.environ.get("SOPROF_BENCH_PARTS", "many,sending,pushing").split(",")
if {"many", "sending"} & set(parts):
    with clickhouse() as server:
        if "many" in parts:
            many(server)
        if "sending" in parts:
            sending(server, "some", 20, 2000)
            sending(server, "many", 500, 50000)
if "pushing" in parts:
    pushing()
