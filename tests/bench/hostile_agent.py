# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent in a cgroup of its own, and what can be seen of it from outside: CPU time with all that it causes, memory with
what it keeps of others, when windows are in its store, how long HTTP takes. What is asked of the agent itself meanwhile
is a page each second, and /metrics every ten."""
import contextlib
import glob
import http.client
import os
import re
import signal
import sqlite3
import stat
import subprocess
import threading
import time
from processes import bpf_maps, mapped
from common import SOPROF, agent_words

PORT, NOT_SERVED_S, WINDOW_S = 9877, 10, 10


class Group:
    """A cgroup: what is started in it can be measured, and ended, as a whole. What a killed run left behind is ended, too."""

    def __init__(self, name):
        with open("/proc/mounts") as f:
            root = next(line.split()[1] for line in f if line.split()[2] == "cgroup2")
        for self.path in glob.glob(root + "/soprof-bench.*"):
            if not os.path.exists(f"/proc/{self.path.split('.')[-2]}"):
                self.end(kindly_s=0)
        self.path = os.path.join(root, f"soprof-bench.{os.getpid()}.{name}")
        os.mkdir(self.path)

    def start(self, command, **options):
        return subprocess.Popen(["bash", "-c", f'echo $$ > "{self.path}/cgroup.procs" && exec "$@"', "-", *command],
                                stdin=subprocess.DEVNULL, start_new_session=True,
                                **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | options)

    def pids(self):
        with open(self.path + "/cgroup.procs") as f:
            return [int(line) for line in f]

    def cpu_s(self):
        with open(self.path + "/cpu.stat") as f:
            return int(next(line for line in f if line.startswith("usage_usec")).split()[1]) / 1e6

    def end(self, kindly_s=2):
        """SIGTERM, and SIGKILL for what is left of it."""
        if not os.path.exists(self.path):
            return
        for pid in self.pids() if kindly_s else []:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + kindly_s
        while self.pids() and time.monotonic() < until:
            time.sleep(0.05)
        with open(self.path + "/cgroup.kill", "w") as f:
            f.write("1")
        for _ in range(200):
            with contextlib.suppress(OSError):
                for path, _, _ in os.walk(self.path, topdown=False):
                    os.rmdir(path)
                return
            time.sleep(0.05)


def as_user(uid, command):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--pdeathsig", "KILL", *command]


def held_files(pid, paths=("fd",)):
    """{(device, inode): bytes} of files without a name that the process has open (or mapped, with "map_files")."""
    found = {}
    for which in paths:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/{which}"):
                with contextlib.suppress(OSError):
                    s = os.stat(f"/proc/{pid}/{which}/{name}")
                    if s.st_nlink == 0 and stat.S_ISREG(s.st_mode):
                        found[s.st_dev, s.st_ino] = s.st_blocks * 512
    return found


class Agent:
    """began_s, cpu_s(): since the agent began to sample; peaks in bytes; seen: {a window's beginning in ms: when it was in
    the store}; answers: seconds that a page took."""

    def __init__(self, place, attackers, *arguments):
        self.place, self.attackers = place, attackers
        self.socket, self.store = os.path.join(place, "s"), os.path.join(place, "store")
        self.peak_memory = self.peak_kept = self.peak_disk = 0
        self.seen, self.answers, self.scrapes, self.rates, self.done = {}, [], [], [], threading.Event()
        self.group = Group("agent")
        self.old = set(glob.glob(self.store + "/*.db"))
        with open(os.path.join(place, "log"), "w") as log:
            self.process = self.group.start(
                ["setpriv", "--pdeathsig", "KILL", SOPROF, "agent", "--store", self.store, "--socket", self.socket, "--listen",
                 f"127.0.0.1:{PORT}", *arguments], stderr=log)
        self.threads = []
        try:
            self.wait_for()
        except BaseException:
            self.close()
            raise

    def wait_for(self):
        for _ in range(600):
            with contextlib.suppress(OSError):
                self.words()
                break
            if self.process.poll() is not None:
                raise RuntimeError(f"the agent ended: {self.log()[-500:]}")
            time.sleep(0.1)
        with open(self.socket + ".token") as f:
            self.token = f.read().strip()

    def watch(self):
        """From here on all that is measured counts."""
        self.threads = [threading.Thread(target=self.again, args=each) for each in
                        ((0.25, self.look_windows), (1, self.look_memory), (1, self.look_page), (10, self.look_metrics))]
        for t in self.threads:
            t.start()

    def again(self, every_s, look):
        while not self.done.is_set():
            began = time.monotonic()
            with contextlib.suppress(OSError, sqlite3.Error, http.client.HTTPException):
                look()
            self.done.wait(max(0, began + every_s - time.monotonic()))

    def stop_watching(self):
        self.done.set()
        for t in self.threads:
            t.join()
        self.threads = []

    # --- what it says -------------------------------------------------------------------------------------------------
    def words(self):
        return agent_words(self.socket)

    def log(self):
        with open(os.path.join(self.place, "log")) as f:
            return f.read()

    # --- what can be seen of it ---------------------------------------------------------------------------------------
    def cpu_s(self):
        """Kernel half included, whose time is that of the programs that it interrupts."""
        return self.group.cpu_s() + int(self.words()["bpf_ns"]) / 1e9

    def look_windows(self):
        for path in set(glob.glob(self.store + "/*.10s.db")) - self.old:
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1)) as db:
                for t, in db.execute("select t from window"):
                    self.seen.setdefault(t, time.time())

    def look_memory(self):
        """With what is kept of deleted files that the attackers have no more: memory, and places on a disk."""
        own, maps, kept = 0, {}, {}
        for pid in self.group.pids():
            with contextlib.suppress(OSError):
                own += mapped(pid)[0]
                maps.update(bpf_maps(pid))
            kept.update(held_files(pid))
        for pid in self.attackers.pids():
            for file in held_files(pid, ("fd", "map_files")):
                kept.pop(file, None)
        memory = sum(n for (device, _), n in kept.items() if os.major(device) == 0)  # memfds, tmpfs: no disk
        self.peak_memory = max(self.peak_memory, own + sum(maps.values()) + memory)
        self.peak_kept, self.peak_disk = max(self.peak_kept, memory), max(self.peak_disk, sum(kept.values()) - memory)

    def get(self, path, token):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=NOT_SERVED_S)
        began = time.monotonic()
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            body = answer.read()
            return body.decode(), time.monotonic() - began if answer.status == 200 else NOT_SERVED_S
        except (OSError, http.client.HTTPException):
            return "", NOT_SERVED_S
        finally:
            connection.close()

    def look_page(self):
        self.answers.append(self.get("/-/ready", self.token)[1])

    def look_metrics(self):
        """As one who has no token."""
        page, took = self.get("/metrics", None)
        self.scrapes.append(took)
        self.rates += [float(r) for r in re.findall(r"^soprof_sampling_rate_hertz\S* (\S+)$", page, re.M)]

    def lateness_s(self, from_s, to_s):
        """The longest time from a window's end to when it was in the store; windows that were not there at to_s, too."""
        ends = range(int(from_s) // WINDOW_S * WINDOW_S + WINDOW_S, int(to_s) + 1, WINDOW_S)
        there = {}
        for t, when in self.seen.items():
            end = t // 1000 // WINDOW_S * WINDOW_S + WINDOW_S
            there[end] = min(when, there.get(end, when))
        return max((there.get(end, to_s) - end for end in ends), default=0)

    # --- its end ------------------------------------------------------------------------------------------------------
    def terminate(self):
        """Seconds from SIGTERM to its end, 60 at most."""
        began = time.monotonic()
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(60)
        return time.monotonic() - began

    def close(self):
        self.stop_watching()
        self.group.end(kindly_s=0)
        self.process.wait()
