# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent: CPU at 19 Hz under full load, all in (its processes, and its BPF programs by their own clock); memory with
500 binaries and 50,000 stacks, at that rate for some minutes (the profile has been renewed several times by then), and
as many samples as an hour has in six minutes, with windows and roll-ups ten times as large as they would be. With
--hour, in place of all that: the memory in a whole hour at that rate, told every minute."""
import contextlib
import os
import subprocess
import tempfile
import time
from processes import bpf_maps, family, high_water, mapped
from common import N_CPUS, SOPROF, WORK, agent_words, choose, end, load, row, say, tool

HZ = 19
N_BINARIES, N_STACKS = choose(500, 50), choose(50000, 5000)
HOUR = 3600 * HZ * N_CPUS  # samples
WHOLE_HOUR = os.environ.get("SOPROF_BENCH_HOUR") == "1"
MB = 1e6


class Agent:
    def __init__(self, *arguments, place=None):
        self.place = place or tempfile.mkdtemp(dir=WORK)
        self.socket = os.path.join(self.place, "s")
        command = [SOPROF, "agent", "--store", os.path.join(self.place, "store"), "--socket", self.socket, *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=open(os.path.join(self.place, "log"), "w"), start_new_session=True)
        self.peak = self.peak_maps = self.now = 0
        for _ in range(600):
            with contextlib.suppress(OSError):
                self.words()
                return
            time.sleep(0.1)
        raise RuntimeError("the agent does not answer")

    def words(self):
        """What it says of itself."""
        return agent_words(self.socket)

    def number(self, name):
        return int(self.words()[name])

    def cpu_ns(self):
        """By itself, and by the kernel's ticks: itself and what it has waited for."""
        with open(f"/proc/{self.process.pid}/stat") as f:
            ticks = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:15]))
        words = self.words()
        return int(words["cpu_ns"]), ticks * 10000000 + int(words["bpf_ns"])

    def look(self):
        """The most that there was at one time: of each process the most that it ever had, and all maps. And what there is
        now."""
        total, now, maps = 0, 0, {}
        for pid in family(self.process.pid):
            with contextlib.suppress(OSError):
                in_maps = mapped(pid)[1]
                total += high_water(pid) - in_maps
                now += high_water(pid, "VmRSS:") - in_maps
                maps.update(bpf_maps(pid))
        self.now = now + sum(maps.values())
        if total + sum(maps.values()) > self.peak:
            self.peak, self.peak_maps = total + sum(maps.values()), sum(maps.values())

    def close(self):
        end(self.process)


@contextlib.contextmanager
def agent(*arguments):
    a = Agent(*arguments)
    try:
        yield a
    finally:
        a.close()


def variety(n_binaries, n_stacks, ms):
    place = tempfile.mkdtemp(dir=WORK)
    return load([tool("variety"), place, str(n_binaries), str(n_stacks), str(ms)], settle=2)


def cpu():
    """Warm: every file has been seen; the first minute is told beside."""
    with variety(20, 2000, 1000), agent() as a:
        began, first = time.monotonic(), a.cpu_ns()
        time.sleep(choose(60, 12))
        warm, then = time.monotonic(), a.cpu_ns()
        time.sleep(choose(120, 12))
        now, last = time.monotonic(), a.cpu_ns()
        words = a.words()
    say(f"first {warm - began:.0f} s {(then[0] - first[0]) / (warm - began) / 1e7:.3f} % of a CPU; then by its own count "
        f"{(last[0] - then[0]) / (now - warm) / 1e7:.3f} %, by the kernel's {(last[1] - then[1]) / (now - warm) / 1e7:.3f} %; "
        f"{words['samples']} samples, {words['complete']} complete, {words['lost']} lost; BPF {int(words['bpf_ns']) / 1e6:.1f} ms")
    row(f"agent at {HZ} Hz, full load", "% of a CPU", (last[0] - then[0]) / (now - warm) / 1e7, most=0.2)
    row("of it in its first minute", "% of a CPU", (then[0] - first[0]) / (warm - began) / 1e7)


def memory(figure, hz, seconds, n_samples, most=None, limit="100%"):
    with variety(N_BINARIES, N_STACKS, 100), agent("--frequency", str(hz), "--max-cpu", limit) as a:
        began, n_told = time.monotonic(), 0
        while time.monotonic() < began + seconds and a.number("samples") < n_samples:
            a.look()
            if WHOLE_HOUR and time.monotonic() >= began + 60 * n_told:
                say(f"minute {n_told}: {a.now / MB:.1f} MB now, {a.peak / MB:.1f} at most so far")
                n_told += 1
            time.sleep(1)
        words = a.words()
    say(f"{words['samples']} samples, {words['complete']} complete, {words['lost']} lost; {words['renewals']} renewals; maps "
        f"{a.peak_maps / MB:.1f} MB; {a.now / MB:.1f} MB at the end; it says {int(words['peak']) / MB:.1f} MB at most itself")
    row(figure, "MB", a.peak / MB, most=most)


if __name__ == "__main__":
    if WHOLE_HOUR:
        memory("memory of the agent in an hour, much variety", HZ, 3600, 2 * HOUR, most=60, limit="1%")
    else:
        cpu()
        memory("memory of the agent, much variety", HZ, choose(300, 20), HOUR, most=60)
        memory("the same, an hour's samples at 199 Hz", 199, choose(1000, 20), choose(HOUR, 4000))
