#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the stacks of stopped processes, frame by frame: soprof's unwinder with elfutils' libdw and with gdb.

    stacks.py UNWIND-STACKS ROUNDS PID
All threads of the children of a process, and of theirs, again and again when they have worked on. Registers and memory
are the same for all three unwinders, so that stacks are equal, or one of them is wrong. Machine code decides who:
whether a call ends at the caller, and leads to the callee (machine_code.py). Of code that has no unwind information
and no known functions nobody can tell, and the others stop there. Of each difference a line:
  libdw stops, gdb stops      where soprof goes on, and a call is there
  libdw wrong, gdb wrong      no call is at its caller, and one is at soprof's
  past the root               it goes on where the program, the thread or the fiber begins
  SOPROF WRONG, SOPROF CUT    the other way round; a frame that is marked as guessed may be wrong
  libdw alone, gdb alone      machine code allows both, and the third says what soprof says
  UNSETTLED                   machine code allows both
Exit code: 0 none of those in capitals, 1 there are some, 2 usage.
"""
import collections
import os
import signal
import subprocess
import sys
import time
import machine_code as code
from objects import Files, Object
from pathlib import Path
from pairs import PLACES, Checker, Frame

Stack = collections.namedtuple("Stack", "frames end guessed")
Step = collections.namedtuple("Step", "address frame mark")
BAD = ("SOPROF WRONG", "SOPROF CUT", "UNSETTLED", "waited in vain for work", "waited in vain for threads to stop")
MAX_FRAMES = 1536  # of the leaf's, which unwind-stacks prints
PATIENCE, WORK = 60, 0.2  # seconds: that anything is waited for; of CPU time between two rounds
GDB = ["gdb", "-q", "-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
       "-iex", "set backtrace past-main on", "-iex", "set backtrace past-entry on"]


class ByPath(Files):
    """Files by their path in a process; by name where a file needs another one."""
    def get(self, name):
        if not name.startswith("/"):
            return super().get(name)
        if name not in self.loaded:
            self.loaded[name] = Object(name) if Path(name).is_file() else None
            self.trouble[name] = "no such file"
        return self.loaded[name]


class Maps:
    """Where the code of a process lies."""
    def __init__(self, pid):
        self.maps = []
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            words = line.split(None, 5)
            start, end = (int(n, 16) for n in words[0].split("-"))
            if "x" in words[1]:
                self.maps.append((start, end, int(words[2], 16), words[5].strip() if len(words) > 5 else ""))

    def frame(self, address):
        for start, end, offset, path in self.maps:
            if start <= address < end:
                return Frame(path if path.startswith("/") else path or "anon", address - start + offset, True, False)
        return Frame("", address, True, False)


def run(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300).stdout


def threads_of(text, who):
    """{TID: (the words behind it, [the words of each frame of `who`])}"""
    found, frames = {}, []
    for line in text.splitlines():
        words = line.split(" ")
        if words[0] == "thread":
            frames = []
            found[int(words[2])] = (words[3:], frames)
        elif words[0] == who:
            frames.append(words[1:])
    return found


class Comparer:
    def __init__(self, tool):
        self.tool = tool
        self.checker = Checker(ByPath(PLACES, {}))
        self.tally = collections.Counter()
        self.found = collections.Counter()

    def is_trampoline(self, frame):
        obj, at = self.checker.place(frame)
        return bool(obj) and at is not None and code.is_trampoline(obj, at)

    def ours(self, words, frames):
        steps = [Step(int(f[0], 16), Frame(f[3] if f[3] != "-" else "anon", int(f[1], 16), True, f[2] == "guessed"), f[2])
                 for f in frames]
        return Stack(steps, words[0], words[1] == "guessed")

    def theirs(self, frames, maps):
        """What lies before a return address: a caller's call, but where a signal interrupted it."""
        steps = []
        for f in frames[:MAX_FRAMES]:
            address = int(f[0], 16)
            if steps and not self.is_trampoline(steps[-1].frame):
                address -= 1
            steps.append(Step(address, maps.frame(address), "-"))
        return Stack(steps, "", False)

    def judge(self, caller, callee):
        """Of two steps: confirmed, possible, refuted, unknown (code that was made, or without a file) or signal."""
        return self.checker.verdict(caller.frame._replace(guessed=False), callee.frame, False)[1]

    def is_root(self, step):
        obj, at = self.checker.place(step.frame)
        return bool(obj) and at is not None and code.root_kind(obj, at) != "other"

    def beyond(self, ours, other, i):
        """The other one has a frame more."""
        verdict = self.judge(other.frames[i], other.frames[i - 1])
        if ours.end == "whole" and self.is_root(ours.frames[-1]):
            return "past the root"
        if not other.frames[i].frame.library or verdict == "refuted":
            return "{} wrong"
        if verdict == "unknown":
            return "no unwind information"
        return "UNSETTLED" if ours.end == "whole" else "SOPROF CUT"

    def differs(self, ours, other, i):
        """How they differ from frame i on, by the callee that they have in common."""
        if i == len(ours.frames):
            return self.beyond(ours, other, i)
        mine = self.judge(ours.frames[i], ours.frames[i - 1])
        if mine == "unknown" or ours.frames[i - 1].frame.library == "anon":
            return "no unwind information"
        if i == len(other.frames):
            return "{} stops" if mine != "refuted" else self.guess(ours, i) or "SOPROF WRONG"
        theirs = self.judge(other.frames[i], other.frames[i - 1]) if other.frames[i].frame.library else "refuted"
        if mine == "refuted":
            return self.guess(ours, i) or ("SOPROF WRONG" if theirs != "refuted" else "UNSETTLED")
        if theirs in ("refuted", "unknown"):
            return "{} wrong"
        return self.guess(ours, i) or ("{} wrong" if (mine, theirs) == ("confirmed", "possible") else "UNSETTLED")

    def guess(self, ours, i):
        return "a guess" if any(s.mark == "guessed" for s in ours.frames[:i + 1]) else None

    def name(self, step):
        return self.checker.name(step.frame) if step.frame.library else f"{step.address:#x}, not mapped"

    def show(self, kind, ours, other, i):
        names = [self.name(s.frames[i]) if i < len(s.frames) else f"ends {s.end}" for s in (ours, other)]
        return f"{kind}: {self.name(ours.frames[i - 1])} <- {names[0]}; not {names[1]}"

    def is_equal(self, ours, other):
        return [s.address for s in ours.frames] == [s.address for s in other.frames]

    def compare(self, ours, other, who, is_outvoted):
        pairs = zip(ours.frames, other.frames)
        same = next((i for i, (a, b) in enumerate(pairs) if a.address != b.address),
                    min(len(ours.frames), len(other.frames)))
        self.tally[f"{who} frames"] += same
        if same == len(ours.frames) == len(other.frames):
            self.tally[f"{who} equal"] += 1
            return
        kind = self.differs(ours, other, same).format(who) if same else "UNSETTLED"
        if kind == "UNSETTLED" and is_outvoted:
            kind = f"{who} alone"
        self.tally[kind] += 1
        self.found[self.show(kind, ours, other, max(same, 1))] += 1

    def take(self, pid):
        maps, text = Maps(pid), run([self.tool, str(pid)])
        by_gdb = threads_of(run(GDB + ["-p", str(pid), "-x", str(Path(__file__).with_name("gdb_stacks.py"))]), "gdb")
        libdw = threads_of(text, "libdw")
        for tid, (words, frames) in threads_of(text, "soprof").items():
            ours = self.ours(words, frames)
            self.tally["threads"] += 1
            self.tally["whole"] += ours.end == "whole" and not ours.guessed
            others = {"libdw": self.theirs(libdw[tid][1], maps)}
            if tid in by_gdb:
                others["gdb"] = self.theirs(by_gdb[tid][1], maps)
            else:
                self.tally["not seen by gdb"] += 1
            n_equal = sum(self.is_equal(ours, other) for other in others.values())
            for who, other in others.items():
                self.compare(ours, other, who, n_equal > 0)


class Tree:
    """The descendants of a process."""
    def __init__(self, pid):
        self.pid = pid
        self.seconds = 0.0  # of CPU time, when they went on last

    def pids(self):
        found, wait = [], [self.pid]
        while wait:
            pid = wait.pop()
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    new = [int(n) for n in task.read_text().split()]
                except OSError:
                    continue
                found += new
                wait += new
        return sorted(found)

    def stat(self, pid):
        """The fields behind its name; none: it has gone."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return []

    def cpu_seconds(self):
        """Of those that run, and of their children that have ended."""
        stats = [self.stat(pid) for pid in self.pids()]
        return sum(int(n) for s in stats if s for n in s[11:15]) / os.sysconf("SC_CLK_TCK")

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(what)
            time.sleep(0.02)

    def signal(self, number):
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def is_stopped(self):
        """All threads of all; who came meanwhile is stopped, too."""
        self.signal(signal.SIGSTOP)
        tasks = [t for pid in self.pids() for t in Path(f"/proc/{pid}/task").glob("*")]
        return all((self.stat(f"{t.parts[2]}/task/{t.name}") or ["T"])[0] in "TZX" for t in tasks)

    def stop(self):
        self.wait_for("work", lambda: not self.pids() or self.cpu_seconds() > self.seconds + WORK)
        self.wait_for("threads to stop", self.is_stopped)
        return [pid for pid in self.pids() if os.path.exists(f"/proc/{pid}/exe")]

    def go_on(self):
        self.seconds = self.cpu_seconds()
        self.signal(signal.SIGCONT)


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    comparer, tree = Comparer(sys.argv[1]), Tree(int(sys.argv[3]))
    try:
        for _ in range(int(sys.argv[2])): # it may end before
            for pid in tree.stop():
                comparer.take(pid)
            tree.go_on()
    except TimeoutError as e:
        comparer.tally[f"waited in vain for {e}"] += 1
    if not comparer.tally["threads"]:
        comparer.tally["waited in vain for work"] += 1
    print(", ".join(f"{what} {n}" for what, n in comparer.tally.items() if n))
    for line, n in comparer.found.most_common():
        print(f"{line}, {n} times")
    return 1 if any(comparer.tally[kind] for kind in BAD) else 0


if __name__ == "__main__":
    sys.exit(main())
