# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent costs, and what others lose, while somebody tries to harm it: each attack by an ordinary user, for five
minutes, beside the same machine in peace. Agent, attackers and clients have mount and network namespaces of their own.
By the environment: SOPROF_BENCH_SECONDS, other lengths; SOPROF_BENCH_ATTACKS=NAME,NAME, these only;
SOPROF_BENCH_NICE=N, attackers that are nice to others on the machine."""
import contextlib
import glob
import json
import math
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from common import N_CPUS, PYTHON, SOPROF, WORK, choose, row, run, say, tool
from hostile_agent import NOT_SERVED_S, PORT, WINDOW_S, Agent, Group, as_user

SECONDS = int(os.environ.get("SOPROF_BENCH_SECONDS", choose(300, 20)))
NICE = ["nice", "-n", os.environ.get("SOPROF_BENCH_NICE", "0")]
HERE = os.path.dirname(os.path.realpath(__file__))
ATTACKER, VICTIM, NEWCOMER = 12345, 23456, 34567
HZ, MIB = 19, 1 << 20
MAX_CPU, MAX_MEMORY, BUDGET_S = 1, 60, 300  # per cent, MiB, what CPU may be saved up for
SETTLE_S = choose(20, 10)
ROOM = 24 * MIB  # of the store, beside what it holds already
OLD_DAY = int(time.time()) // 86400 - 2
FILLED = os.path.join(WORK, "filled")


# --- attacks ----------------------------------------------------------------------------------------------------------
def attack(*words):
    return lambda place, agent: [[os.path.join(place, "attack"), place, *map(str, words)]]


def asker(words):
    return lambda place, agent: [[PYTHON, os.path.join(place, "asker.py"), *map(str, w)] for w in words(agent)]


def memfds(place, agent):
    """A quarter of the memory that is free at most, if all of it were kept: large ones, and many small ones."""
    with open("/proc/meminfo") as f:
        free = next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))
    large, n = min(256 * MIB, free // 128), max(4, SECONDS // 5)
    return [*attack("memfds", 4, large, 4, 3000)(place, agent), *attack("memfds", 2, 15 * MIB, min(n, 60), 3000)(place, agent)]


def builds(place, agent):
    """Small files of C, compiled again and again by two at once."""
    for i in range(300):
        with open(os.path.join(place, f"unit{i}.c"), "w") as f:
            f.write("#include <stdio.h>\n#include <stdlib.h>\n" + "".join(
                f"int f{i}_{k}(int a) {{ return a * {k} + (a > {i} ? printf(\"%d\", a) : abs(a)); }}\n" for k in range(40)))
    loop = f"cd {place} && while :; do ls unit*.c | xargs -n 1 -P {N_CPUS} gcc -O2 -c -o /dev/null; done"
    return [["bash", "-c", loop]]


def cgroups(place, agent):
    """In a cgroup that is the attacker's, as a container's root or a user of systemd has one."""
    group = agent.attackers.path
    mine = os.path.join(group, "mine")
    os.mkdir(mine)
    for path in (mine, *glob.glob(mine + "/cgroup.*"), group + "/cgroup.procs"):
        os.chown(path, ATTACKER, ATTACKER)
    enter = f'echo 0 > "{mine}/cgroup.procs" && exec "$@"'
    return [["bash", "-c", enter, "-", os.path.join(place, "attack"), mine, "cgroups", "20000"]]


ATTACKS = {
    "notes": attack("notes", 2),
    "memfds": memfds,
    "names": attack("names", 8000, 4000),
    "frames": attack("frames", 8000),
    "status": asker(lambda a: [("status", a.socket, PORT, 50)]),
    "flood": asker(lambda a: [("status", a.socket, PORT, 0)] * 2),
    "deaf": asker(lambda a: [("deaf", PORT, 64)]),
    "ids": attack("ids", 619),
    "exact": asker(lambda a: [("exact", a.socket, OLD_DAY + 1)]),
    "cgroups": cgroups,
    "builds": builds,
}
WHAT = {
    "notes": "new files at each sample, with a thousand headers of notes",
    "memfds": "code in memory files that end at once",
    "names": "8,000 functions of long names in deep random stacks",
    "frames": "the same without names and frame pointers",
    "status": "status and /metrics, 20 times a second",
    "flood": "the same by two processes without a pause",
    "deaf": "64 HTTP clients that do not read",
    "ids": "619 libraries with build ids of their own",
    "exact": "exact stacks of a day, again and again",
    "cgroups": "20,000 cgroups, and processes in ones of their own",
    "builds": "the machine full of compilers",
}


# --- one run ----------------------------------------------------------------------------------------------------------
def old_records(store, names):
    """(windows, bytes of their records) of the files that were there before."""
    n = size = 0
    for name in names:
        path = os.path.join(store, name)
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            a, b = db.execute("select count(*), sum(length(record)) from window").fetchone()
            n, size = n + a, size + b
    return n, size


def stored_cpu_s(store, pid, since_s):
    """Of a process that began then, in the midst of a window."""
    text = run([SOPROF, "query", "--store", store, "--from", f"@{since_s - WINDOW_S:.0f}", "--by", "process", "--limit", "0", "--json"]).stdout
    return sum(g["total"] for g in json.loads(text)["groups"] if g.get("pid") == pid) / 1e9


def user_place(uid, *files):
    place = tempfile.mkdtemp(dir=WORK)
    for path in files:
        shutil.copy(path, place)
    os.chmod(place, 0o755)
    run(["chown", "-R", f"{uid}:{uid}", place])
    return place


def ended_cpu_s(process):
    """Its CPU time by the kernel's books."""
    process.kill()
    _, process.returncode, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime


def newcomer_has_series(agent, victims):
    """Whether a program that comes after the attack has a series of its own."""
    place, head = user_place(NEWCOMER), b"\4\0\0\0\24\0\0\0\3\0\0\0GNU\0"
    path = os.path.join(place, "newcomer")
    with open(tool("attack"), "rb") as f:
        before, _, after = f.read().partition(head)
    with open(path, "wb") as f:
        f.write(before + head + os.urandom(20) + after[20:])  # a build id of its own: else it is the library that it is a copy of
    os.chmod(path, 0o755)
    victims.start(as_user(NEWCOMER, [path, place, "burn"]))
    for _ in range(45):
        if 'library="newcomer"' in agent.get("/metrics", agent.token)[0]:
            return True
        time.sleep(1)
    return False


@contextlib.contextmanager
def groups():
    attackers, victims = Group("attack"), Group("victim")
    try:
        yield attackers, victims
    finally:
        attackers.end()
        victims.end()


def measure(name):
    """{figure: value}"""
    place = tempfile.mkdtemp(dir=WORK)
    os.chmod(place, 0o755)
    store = os.path.join(place, "store")
    shutil.copytree(FILLED, store)
    files = [os.path.basename(p) for p in glob.glob(store + "/*.db")]
    before, room = old_records(store, files), sum(map(os.path.getsize, glob.glob(store + "/*"))) + ROOM
    with groups() as (attackers, victims):
        agent = Agent(place, attackers, "--max-disk", f"{room // MIB}M", "--max-memory", f"{MAX_MEMORY}M", "--max-cpu",
                      f"{MAX_CPU}%", "--group", "none")
        try:
            time.sleep(SETTLE_S)
            r, victim, since_s = besieged(name, agent, attackers, victims)
            used_s = ended_cpu_s(victim)
            r["SIGTERM to its end"] = agent.terminate()
            log = agent.log()
        finally:
            agent.close()
    after = old_records(store, files)
    r["old records kept"] = 100 * after[1] / before[1]
    found_s = stored_cpu_s(store, victim.pid, since_s)
    r["victim's CPU not in the store"] = 100 * max(0, 1 - found_s / used_s)
    r["noise"] = 200 / math.sqrt(max(1, HZ * used_s))
    say(f"{name}: old windows {before[0]}, now {after[0]}; the victim used {used_s:.2f} s, {found_s:.2f} s are in the store; "
        f"{r['say']}")
    for line in log.splitlines()[8:][-12:]:
        say(f"  log: {line}")
    shutil.rmtree(place)
    return r


def besieged(name, agent, attackers, victims):
    """Until just before the agent ends: ({figure: value}, the victim, when it began)"""
    first, since_s, began_cpu = agent.words(), time.time(), agent.cpu_s()
    victim_place = user_place(VICTIM, tool("attack"))
    victim = victims.start(as_user(VICTIM, [os.path.join(victim_place, "attack"), victim_place, "burn"]))
    agent.watch()
    halves = [began_cpu]
    if name in ATTACKS:
        attack_place = user_place(ATTACKER, tool("attack"), os.path.join(HERE, "asker.py"))
        for command in ATTACKS[name](attack_place, agent):
            attackers.start(as_user(ATTACKER, [*NICE, *command]))
    for _ in range(2):
        time.sleep(max(0, since_s + SECONDS * len(halves) / 2 - time.time()))
        halves.append(agent.cpu_s())
    asked = time.monotonic()
    answer = run([SOPROF, "query", "--socket", agent.socket, "--from", "-1m"], check=False)
    asked = time.monotonic() - asked
    last, used_s, to_s = agent.words(), agent.cpu_s() - began_cpu, time.time()
    agent.stop_watching()
    r = {"CPU": 100 * used_s / (to_s - since_s), "window in the store": agent.lateness_s(since_s, to_s),
         "memory and what it keeps": agent.peak_memory / MIB, "  others' memory kept": agent.peak_kept / MIB,
         "  deleted files kept on disk": agent.peak_disk / MIB,
         "lost samples and windows": sum(int(last[n]) - int(first[n]) for n in ("lost", "dropped")),
         "rate, the lowest": min([*agent.rates, int(last["rate_mhz"]) / 1000]),
         "HTTP with the token, median": statistics.median(agent.answers), "HTTP with the token, longest": max(agent.answers),
         "HTTP without, longest": max(agent.scrapes),
         "question, answered": asked if answer.returncode == 0 else NOT_SERVED_S}
    if name == "builds":
        r["CPU, second half"] = 100 * (halves[2] - halves[1]) / SECONDS * 2  # before the question
    r["say"] = (f"{used_s:.2f} s of CPU, {halves[1] - halves[0]:.2f} of them in the first half, {halves[2] - halves[1]:.2f} in the second; "
                f"kernel half {(int(last['bpf_ns']) - int(first['bpf_ns'])) / 1e9:.2f}; by itself: sampling "
                f"{(int(last['own_ns']) - int(first['own_ns'])) / 1e9:.2f}, workers {(int(last['workers_ns']) - int(first['workers_ns'])) / 1e9:.2f}, "
                f"services {(int(last['service_ns']) - int(first['service_ns'])) / 1e9:.2f}; {last['why_halved'] or 'not halved'}; says "
                f"{int(last['peak']) / MIB:.0f} MiB at most; HTTP {len([a for a in agent.answers if a >= NOT_SERVED_S])} of "
                f"{len(agent.answers)} not served, without the token {len([a for a in agent.scrapes if a >= NOT_SERVED_S])} of {len(agent.scrapes)}")
    status = run([SOPROF, "agent", "--status", "--socket", agent.socket], check=False).stdout
    r["users"] = [line for line in status.splitlines() if str(ATTACKER) in line or "user" in line.split()[:1]]
    if name == "ids":
        attackers.end()
        r["newcomer has series"] = int(newcomer_has_series(agent, victims))
    return r, victim, since_s


GOALS = {
    "CPU": ("% of a CPU", {"most": MAX_CPU * max(BUDGET_S, SECONDS) / SECONDS}),
    "CPU, second half": ("% of a CPU", {"most": 0.3}),
    "window in the store": ("s late", {"most": 20}),
    "memory and what it keeps": ("MiB", {"most": 1.5 * MAX_MEMORY}),
    "  others' memory kept": ("MiB", {}),
    "  deleted files kept on disk": ("MiB", {}),
    "lost samples and windows": ("", {"most": 0}),
    "victim's CPU not in the store": ("%", {}),
    "old records kept": ("%", {"least": 100}),
    "rate, the lowest": ("Hz", {"least": HZ}),
    "HTTP with the token, median": ("s", {}),
    "HTTP with the token, longest": ("s", {"most": 1}),
    "HTTP without, longest": ("s", {}),
    "question, answered": ("s", {}),
    "newcomer has series": ("", {"least": 1}),
    "SIGTERM to its end": ("s", {"most": 10}),
}


def show(name, r, peace):
    for figure, (unit, goal) in GOALS.items():
        if figure == "victim's CPU not in the store":
            goal = {"most": r["noise"]}  # which is what chance does to so many samples
        if figure in r:
            row(f"{name}: {figure}", unit, round(r[figure], 3), **goal, **({"peace": peace[figure]} if figure in peace else {}))


def in_namespaces():
    if os.environ.get("SOPROF_BENCH_INSIDE") != "1":
        os.environ["SOPROF_BENCH_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--net", sys.executable, "-B", os.path.realpath(__file__)])
    run(["ip", "link", "set", "lo", "up"])
    run(["mount", "-t", "tmpfs", "none", "/var/cache"])
    os.chmod(WORK, 0o755)


in_namespaces()
run([*NICE, tool("days"), FILLED, "2", "300", str(OLD_DAY), str(MAX_MEMORY)])
only = os.environ.get("SOPROF_BENCH_ATTACKS")
say(f"attacks of {SECONDS} s each")
in_peace = measure("peace")
show("peace", in_peace, {})
for attack_name in only.split(",") if only else ATTACKS:
    say(f"{attack_name}: {WHAT[attack_name]}")
    result = measure(attack_name)
    for status_line in result["users"]:
        say(f"  status: {status_line}")
    show(attack_name, result, in_peace)
