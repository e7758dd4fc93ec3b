# SPDX-License-Identifier: GPL-2.0-or-later
"""Sampling allocations, of a command and of a process that runs: how much longer it takes, and what is leaked in the end, beside
heaptrack, valgrind's massif and jemalloc's own profiler; the truth is the program's own ledger (tests/cmd/allocate.c)."""
import glob
import http.client
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import time
from common import BUILD, PYTHON, SOPROF, SOURCE, WORK, choose, row, run, say, tool

N_BLOCKS, N_LEAKING = choose(4000000, 400000), choose(400000, 100000)
N_RUNNING = choose(1000000, 100000) # by probes each costs a thousand times as much
RUNS = choose(5, 2)
ALLOCATE = os.path.join(BUILD, "tests/cmd/allocate")
LEAKY = os.path.join(BUILD, "tests/cmd/leaky")
OWN = os.path.join(WORK, "mem.pb.gz")
MASSIF = os.path.join(WORK, "massif.out")
HEAPTRACK = os.path.join(WORK, "heaptrack")
JEMALLOC = os.path.join(WORK, "jemalloc")
AS = {"heaptrack": ["heaptrack", "-o", HEAPTRACK],
      "massif": ["valgrind", "--tool=massif", "--max-snapshots=1000", f"--massif-out-file={MASSIF}"]}


def jemalloc_here():
    """Debian's, which has its profiler built in; it is unpacked, not installed."""
    done = run(["bash", "-c", '. "$0" && unpack libjemalloc2 && ls "$unpacked"/libjemalloc2/usr/lib/*/libjemalloc.so.2',
                os.path.join(SOURCE, "tests/unpack.bash")], check=False)
    return done.stdout.strip() if not done.returncode else None


def soprof(*options):
    return [SOPROF, "profile", "-e", "mem", "-o", OWN, *options, "--"]


def output(prefix, *command):
    return subprocess.run([*prefix, *command], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def is_attached(process):
    """soprof gives up its rights when all probes are there."""
    if process.poll() is not None:
        raise RuntimeError(f"soprof ended: exit code {process.returncode}")
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        return re.search(r"^CapEff:\s*0+$", f.read(), re.M) is not None


def running(command, *options):
    """What a command prints that waits for a line, when soprof has attached its probes to it; options None: without soprof."""
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        prober = None
        if options[:1] != (None,):
            prober = subprocess.Popen([SOPROF, "profile", "-e", "mem", "-p", str(process.pid), "-o", OWN, *options],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            while not is_attached(prober):
                time.sleep(0.05)
        said, _ = process.communicate("go\n")
        if prober:
            prober.send_signal(signal.SIGINT)
            _, errors = prober.communicate()
            assert prober.returncode == 0, errors
    return said


def seconds(prefix=(), *how):
    """Of its CPU time, by its own clock."""
    words = output(prefix, tool("blocks"), str(N_BLOCKS), "1000", *how)
    return float(re.search(r"^\d+\.\d{6}$", words, re.M).group())


def ratio(prefix, beside=(), *how):
    """The least of some runs each, in turns: other guests of this machine come and go."""
    turns = [(seconds(prefix, *how), seconds(beside, *how)) for _ in range(RUNS)]
    mine, other = map(min, zip(*turns))
    return mine / other


def live():
    table = output([], SOPROF, "report", "--by", "process", "--csv", "--value", "live_bytes", OWN)
    return sum(int(line.split(",")[7]) for line in table.splitlines()[1:])


def leaked_by(name):
    """What the tool says; the mapping of the ledger is none of the blocks that it sees."""
    output(AS[name], ALLOCATE, str(N_LEAKING))
    if name == "massif":
        with open(MASSIF, encoding="ascii") as f:
            return max(int(n) for n in re.findall(r"^mem_heap_B=(\d+)$", f.read(), re.M))
    folded = os.path.join(WORK, "leaked")
    output([], "heaptrack_print", "-f", glob.glob(HEAPTRACK + ".*")[0], "-F", folded, "--flamegraph-cost-type", "leaked")
    with open(folded, encoding="utf-8") as f:
        return sum(int(line.split()[-1]) for line in f)


def times_of(peers, jemalloc, *how):
    say(f"{N_BLOCKS / min(seconds((), *how) for _ in range(RUNS)) / 1e6:.2f} million allocations a second")
    beside = {name: ratio(AS[name], (), *how) for name in peers}
    if jemalloc:
        env = ["env", f"LD_PRELOAD={jemalloc}"]
        beside["jemalloc"] = ratio([*env, "MALLOC_CONF=prof:true"], env, *how)
    return ratio(soprof(), (), *how), beside


def times(peers, jemalloc):
    for name, how in (("a program", []), ("a program with four threads", ["threads"])):
        value, beside = times_of(peers, jemalloc, *how)
        row(f"{name} that allocates, its time under mem", "times", value, most=1.15, **beside)


def times_running():
    def least(*options):
        return min(float(running([tool("blocks"), str(N_RUNNING), "1000", "wait"], *options)) for _ in range(RUNS))
    plain = least(None)
    each = (least("--max-overhead", "0") - plain) / N_RUNNING
    row("a malloc and its free under mem -p, sampled as usual", "ns", 1e9 * each)
    row("a million of both a second: their time under mem -p", "times", 1 + 1e6 * each)
    # long enough that the guard looks at it for its two seconds
    bounded = float(running([tool("blocks"), str(8 * N_RUNNING), "1000", "wait"])) - 8 * plain
    row("what mem -p costs in all, by the guard", "s", bounded, most=3, note="it detaches after 2 s beyond its budget")
    for of, most in enumerate((1000, None)):
        words = [running([tool("blocks"), str(N_RUNNING // 4), "1000", "each"], "--max-overhead", "0") for _ in range(RUNS)]
        row(f"a {('free', 'malloc')[of]} under mem -p", "ns", min(float(w.split()[of]) for w in words), most=most)


def leaked_by_jemalloc(jemalloc):
    conf = f"MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:{JEMALLOC}"
    output(["env", f"LD_PRELOAD={jemalloc}", conf], ALLOCATE, str(N_LEAKING))
    with open(glob.glob(JEMALLOC + ".*.heap")[0], encoding="ascii") as f:
        return int(re.search(r"^\s*t\*: \d+: (\d+)", f.read(), re.M).group(1))


def leaks(peers, jemalloc):
    beside = {}
    truth = int(output([], ALLOCATE, str(N_LEAKING)).split()[3])
    for name in peers:
        beside[name] = 100 * (leaked_by(name) / truth - 1)
    if jemalloc:
        beside["jemalloc"] = 100 * (leaked_by_jemalloc(jemalloc) / truth - 1)
    for how, options, most in (("a byte in 16 KiB", ["--thin", "16K"], 3), ("every allocation", ["--thin", "1"], 0.1)):
        output(soprof(*options), ALLOCATE, str(N_LEAKING))
        error = 100 * (live() / truth - 1)
        row(f"what is leaked of {truth / 2**20:.0f} MiB, by {how}: its error", "%", abs(error), most=most,
            note=f"{error:+.2f} %; jemalloc counts the room that its blocks have, not what was asked for", **{name: abs(value) for name, value in beside.items()})


def leaks_running():
    for how, options, most in (("a byte in 16 KiB", ["--thin", "16K"], 3), ("every allocation", ["--thin", "1"], 0.1)):
        truth = int(running([ALLOCATE, "-", str(N_LEAKING)], "--max-overhead", "0", *options).split()[3])
        error = 100 * (live() / truth - 1)
        row(f"the same of a process that runs, by {how}", "%", abs(error), most=most, note=f"{error:+.2f} %")


# --- a server that leaks --------------------------------------------------------------------------------------------------
KINDS = ("open_session", "store_value", "log_line")


def by_kind(lines):
    """Of folded stacks, or any lines of (words, bytes)."""
    sums = dict.fromkeys(KINDS, 0)
    for words, n in lines:
        for kind in KINDS:
            if kind in words:
                sums[kind] += n
    return sums


def folded_lines(text):
    return ((words, int(n)) for words, n in (line.rsplit(" ", 1) for line in text.splitlines()))


def under_heaptrack(do):
    """What `do` does with a command under it: (folded stacks of what is leaked, bytes)."""
    path, folds = os.path.join(WORK, "heaptrack-server"), os.path.join(WORK, "leaked-server")
    do(["heaptrack", "-o", path])
    output([], "heaptrack_print", "-f", glob.glob(path + ".*")[0], "-F", folds, "--flamegraph-cost-type", "leaked")
    os.unlink(glob.glob(path + ".*")[0])
    with open(folds, encoding="utf-8") as f:
        lines = list(folded_lines(f.read()))
    return lines, sum(n for _, n in lines)


def under_massif(do):
    """(who called malloc and its like, bytes) of the last snapshot, and bytes."""
    path = os.path.join(WORK, "massif-server")
    do(["valgrind", "--tool=massif", "--max-snapshots=10", "--detailed-freq=1", "--threshold=0", f"--massif-out-file={path}"])
    with open(path, encoding="ascii") as f:
        last = f.read().rsplit("#-----------\nsnapshot=", 1)[1]
    return ([(what, int(n)) for n, what in re.findall(r"^ n\d+: (\d+) 0x[0-9A-F]+: (.*)$", last, re.M)],
            int(re.search(r"^mem_heap_B=(\d+)$", last, re.M).group(1)))


def under_soprof(do, *options):
    do(soprof(*options))
    lines = list(folded_lines(output([], SOPROF, "report", "--format", "folded", "--value", "live_bytes", OWN)))
    return lines, sum(n for _, n in lines)


UNDER = {"heaptrack": under_heaptrack, "massif": under_massif}


def leaky_server(peers):
    """By stack. A sum of B bytes has the standard error sqrt(B * thin) at most: the goal wants one that is small enough."""
    n, thin = str(choose(400000, 40000)), choose(512, 64)
    truth = {kind: int(n) for kind, _, n in (line.split() for line in output([], LEAKY, n).splitlines())}

    def errors(lines):
        sums = by_kind(lines)
        return [100 * (sums[kind] / truth[kind] - 1) for kind in KINDS]

    def error(lines):
        return max(abs(e) for e in errors(lines))

    def standard_errors(thin):
        return [100 * math.sqrt(thin / truth[kind]) for kind in KINDS]

    def do(prefix):
        output(prefix, LEAKY, n)
    beside = {name: error(UNDER[name](do)[0]) for name in peers}
    for how, options, thin in ((f"a byte in {thin}", ["--thin", str(thin)], thin), ("every allocation", ["--thin", "1"], 0)):
        row(f"a server leaks {sum(truth.values()) / 2**20:.0f} MiB: largest error of three kinds, by {how}", "%",
            error(under_soprof(do, *options)[0]), most=3, **beside,
            note=f"their standard errors are at most {', '.join(f'{e:.2f}' for e in standard_errors(thin))} %")
    thin = 16 * choose(512, 64)
    of_runs = [errors(under_soprof(do, "--thin", str(thin))[0]) for _ in range(choose(20, 5))]
    for kind, of_kind, standard in zip(KINDS, zip(*of_runs), standard_errors(thin)):
        mean = statistics.fmean(of_kind)
        row(f"a byte in {thin}, {len(of_kind)} runs: mean error of {kind}, in its standard errors", "times",
            abs(mean) / standard * math.sqrt(len(of_kind)), most=3,
            note=f"mean {mean:+.2f} %, spread {statistics.stdev(of_kind):.2f} %, by the formula at most {standard:.2f} %")


def leaky_as_usual():
    """Sampled without an option, as people do: what many runs say together, since one holds few samples."""
    n, runs, thin = str(choose(1200000, 40000)), choose(20, 3), 512 * 1024
    of_runs = []
    for _ in range(runs):
        said = output(soprof(), LEAKY, n)
        of_runs.append((live(), sum(int(line.split()[2]) for line in said.splitlines()[-len(KINDS):])))
    truth = sum(wanted for _, wanted in of_runs)
    error = 100 * (sum(told for told, _ in of_runs) / truth - 1)
    row(f"a server leaks {truth / runs / 2**20:.0f} MiB, a byte in 512 KiB, {runs} runs: the error of their mean", "%", abs(error),
        most=3, note=f"{error:+.2f} %, its standard error at most {100 * math.sqrt(thin / truth):.2f} %; of single runs from "
        + f"{min(100 * (t / w - 1) for t, w in of_runs):+.0f} to {max(100 * (t / w - 1) for t, w in of_runs):+.0f} %")


PYTHON_SERVER = """
import ctypes, http.server, sys
class Leaky(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(body))
        self.send_response(204)
        self.end_headers()
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Leaky)
print(server.server_port, flush=True)
for i in range(int(sys.argv[1])):
    server.handle_request()
"""


def python_server():
    """Python's own HTTP server, whose handler forgets what it is sent: all that is live in the end, beside heaptrack's."""
    n = choose(2000, 300)

    def do(prefix):
        with subprocess.Popen([*prefix, PYTHON, "-S", "-c", PYTHON_SERVER, str(n)], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONMALLOC": "malloc"}) as process:
            port = next(int(line) for line in process.stdout if line.strip().isdigit())
            for i in range(n):
                client = http.client.HTTPConnection("127.0.0.1", port)
                client.request("POST", "/", b"x" * (5000 + 10 * (i % 1000)))
                client.getresponse().read()
                client.close()
            process.communicate()
    beside = {"heaptrack": under_heaptrack(do)[1] / 2**20}  # massif's last snapshot comes before the interpreter's end
    for how, options in (("a byte in 1 KiB", ["--thin", "1K"]), ("every allocation", ["--thin", "1"])):
        own = under_soprof(do, *options)[1] / 2**20
        row(f"what Python's HTTP server leaks, by {how}", "MiB", own, **beside)
        row("its difference to heaptrack's", "%", 100 * abs(own / beside["heaptrack"] - 1), most=3)


here = [name for name in AS if shutil.which(AS[name][0])]
with_profiler = jemalloc_here()
times(here, with_profiler)
times_running()
leaks(here, with_profiler)
leaks_running()
leaky_server(here)
leaky_as_usual()
if "heaptrack" in here:
    python_server()
