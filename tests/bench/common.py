# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks share: paths, loads, what a command costs, stacks, rows of results.

A row is one figure: its name, unit, soprof's value, its goal if it has one, and the values of the tools that do the
same job, all measured in the same run. Each script measures one thing and prints its rows as lines of JSON; what it
says meanwhile goes to stderr. Every process that is started here is ended here, also when a script fails.
"""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

# Set by tests/bench/run.
SOURCE = os.environ["SOPROF_SOURCE"]
BUILD = os.environ["SOPROF_BUILD"]
WORK = os.environ["SOPROF_BENCH_WORK"]
QUICK = os.environ["SOPROF_BENCH_QUICK"] == "1"
SOPROF = os.environ.get("SOPROF", os.path.join(BUILD, "soprof"))
TOOLS = os.path.join(BUILD, "tests/bench")
VICTIMS = os.path.join(BUILD, "tests/victim/stripped")
CACHE = "/var/cache/soprof"
# Runs a command with an empty directory in the cache's place, seen by nobody else.
WITHOUT_CACHE = ["unshare", "--mount", "bash", "-c", 'mount -t tmpfs none "$0" && exec "$@"', CACHE]
N_CPUS = os.cpu_count()
PYTHON = "/usr/bin/python3"


def choose(full, quick):
    """A length or a number of runs: the one for figures, or the one for trying the scripts."""
    return quick if QUICK else full


def say(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def row(figure, unit, value, most=None, least=None, note=None, **beside):
    """Prints one figure; `most` or `least` is its goal, `beside` the same of perf_g, perf_dwarf, bpftrace."""
    goal = {"most": most} if most is not None else {"least": least} if least is not None else None
    print(json.dumps({"figure": figure, "unit": unit, "soprof": value, "goal": goal, "note": note, "beside": beside}),
          flush=True)


# --- the agent --------------------------------------------------------------------------------------------------------
def agent_words(path):
    """What the agent at this socket says of itself."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(path)
        s.sendall(b"soprof1 status\n")
        answer = b"".join(iter(lambda: s.recv(65536), b"")).decode()
    return dict(w.split("=", 1) for w in answer.split()[1:] if "=" in w)


# --- processes --------------------------------------------------------------------------------------------------------
def tool(name):
    return os.path.join(TOOLS, name)


def start(command):
    """In a session of its own; dies with this script, however that ends."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], start_new_session=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end(process):
    """The process and all of its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def load(*commands, settle=0.3):
    """Commands that run while the body does; yields their process ids."""
    processes = []
    try:
        for c in commands:
            processes.append(start(c))
        time.sleep(settle)
        for p, command in zip(processes, commands):
            if p.poll() is not None:
                raise RuntimeError(f"{' '.join(command)}: ended at once")
        yield [p.pid for p in processes]
    finally:
        for p in processes:
            end(p)


def tree(pid):
    """A process and all below it."""
    pids = [pid]
    for one in pids:
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{one}/task/{one}/children") as f:
            pids += map(int, f.read().split())
    return pids


def run(command, check=True, input=""):
    done = subprocess.run(command, input=input, capture_output=True, text=True, errors="replace")
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr[-500:]}")
    return done


def victim(name, *arguments):
    """A program of tests/victim that goes on for long."""
    return [os.path.join(VICTIMS, name), "100000", *map(str, arguments)]


def forever(command):
    return ["bash", "-c", f"while :; do {command}; done"]


# --- what a command costs ---------------------------------------------------------------------------------------------
class Cost:
    """cpu_s (user and system, BPF run time included), bpf_ns, bpf_runs, first_ms, wall_s; what was printed.
    programs: {name: (ns, runs)}, summed over programs of one name."""

    def __init__(self, path, done):
        with open(path) as f:
            lines = [line.split() for line in f]
        values = {line[0]: line[1] for line in lines}
        self.programs = {}
        for name, ns, n in (line[1:] for line in lines if line[0] == "program"):
            before = self.programs.get(name, (0, 0))
            self.programs[name] = before[0] + int(ns), before[1] + int(n)
        self.wall_s, self.first_ms = float(values["wall_s"]), float(values["first_ms"])
        self.bpf_ns, self.bpf_runs = int(values["bpf_ns"]), int(values["bpf_runs"])
        self.cpu_s = float(values["cpu_s"]) + self.bpf_ns / 1e9
        self.stdout, self.stderr = done.stdout, done.stderr


def cost(prefix, command, first=False, check=True, before=()):
    """Runs a command; `prefix` names its BPF programs, `before` a command that runs the measuring (taskset ...)."""
    with tempfile.NamedTemporaryFile(dir=WORK) as f:
        words = [*before, tool("cost"), *(["--first"] if first else []), f.name, prefix, *map(str, command)]
        return Cost(f.name, run(words, check))


def profile(*arguments, prefix="sp_", **options):
    return cost(prefix, [SOPROF, "profile", *arguments], **options)


def bpftrace(hz, length, *, what="ustack, kstack, comm", filter="", **options):
    """`length` None: until it is interrupted."""
    stop = f"interval:s:{length} {{ exit(); }}" if length else ""
    program = f"profile:hz:{hz} {filter} {{ @[{what}] = count(); }} {stop}"
    return cost("", ["bpftrace", "-q", "-e", program], **options)


def perf_record(mode, hz, path, *what):
    """-N: its cache of binaries, hard links of them, would stay on the machine."""
    return ["perf", "record", "-q", "-N", "-F", str(hz), "-e", "cpu-clock", "--call-graph", mode, "-o", path, *what]


def perf(mode, hz, length):
    """perf record of all CPUs and perf script: (CPU seconds of both, samples)."""
    path = os.path.join(WORK, "perf.data")
    record = cost("-", perf_record(mode, hz, path, "-a", "sleep", str(length)))
    script = cost("-", ["perf", "script", "-i", path, "-F", "comm,ip,sym"])
    os.unlink(path)
    return record.cpu_s + script.cpu_s, script.stdout.count("\n\n")


# --- stacks -----------------------------------------------------------------------------------------------------------
def folded(text):
    """[(frames from the root to the leaf, without the thread's name, count)]"""
    lines = []
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        lines.append((stack.split(";")[1:], int(count)))
    return lines


def n_samples(lines):
    return sum(n for _, n in lines)


def n_frames(lines):
    return sum(len(stack) * n for stack, n in lines)


def classes(summary):
    """The summary's line `stacks`: {"complete": N, "guessed": N, "cut": N, "absent": N}."""
    text = " ".join(summary.split())
    found = re.search(r"complete (\d+) .*?guessed (\d+) .*?cut (\d+) .*?without a user stack (\d+)", text)
    if not found:
        raise RuntimeError(f"no summary in: {text[-300:]}")
    return dict(zip(("complete", "guessed", "cut", "absent"), map(int, found.groups())))


def verbose_text(text):
    """Of `profile -v`: [(frames from the leaf to the root, count)]"""
    stacks = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        frames = [line[4:] for line in lines if line.startswith("    ") and not re.match(r"    (-  |    |\[)", line)]
        if lines[-1].strip().isdigit():
            stacks.append((frames, int(lines[-1])))
    return stacks
