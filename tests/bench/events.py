# SPDX-License-Identifier: GPL-2.0-or-later
"""Events: how much longer two threads take that wake each other all the time, beside bpftrace's off-CPU time by user
stack; what threads that wait already cost and how whole their stacks are; what it takes to start with several events."""
import os
import re
import statistics
import time
from common import BUILD, PYTHON, SOPROF, WORK, choose, classes, end, load, profile, row, run, say, start

N_SWITCHES = choose(200000, 20000)
N_THREADS = 2000
STORM = os.path.join(BUILD, "tests/cmd/storm")
IDLE = f"""
import threading
threading.stack_size(65536)
wait = threading.Event().wait
for i in range({N_THREADS}):
    threading.Thread(target=wait, daemon=True).start()
wait()
"""
OFFCPU = """tracepoint:sched:sched_switch {
    @since[args->prev_pid] = nsecs; @stack[args->prev_pid] = ustack;
    $since = @since[args->next_pid];
    if ($since) { @[@stack[args->next_pid]] = sum(nsecs - $since); delete(@since[args->next_pid]); } }"""
OFFCPU_BOTH = OFFCPU.replace("= ustack;", "= ustack; @kernel[args->prev_pid] = kstack;").replace(
    "@[@stack[args->next_pid]]", "@[@stack[args->next_pid], @kernel[args->next_pid]]")
WAITING = {  # threads that wait for good
    "python": [PYTHON, "-c", "import threading, time; t = threading.Thread(target=time.sleep, args=(999,)); t.start(); t.join()"],
    "bash": ["bash", "-c", "f() { read -r x < <(sleep 999); }; f; :"],
    "openssl s_server": ["openssl", "s_server", "-nocert", "-port", "54433"],
    "java": ["java", "-Xint", os.path.join(WORK, "Wait.java")],
}
JAVA = "class Wait { static void f(int n) throws Exception { if (n > 0) f(n - 1); else Thread.sleep(999999); } " \
       "public static void main(String[] a) throws Exception { f(30); } }"


def pipe_us(*command):
    """us for a switch to the other thread and back, while the command runs."""
    tracer = start(list(command)) if command else None
    time.sleep(4 if command else 0)  # bpftrace takes that long
    try:
        text = run(["perf", "bench", "sched", "pipe", "-l", str(N_SWITCHES)]).stdout
        if tracer and tracer.poll() is not None:
            raise RuntimeError(f"{command[0]} has ended at once")
    finally:
        if tracer:
            end(tracer)
    return float(re.search(r"([\d.]+) usecs/op", text)[1])


def switches():
    offcpu = [SOPROF, "profile", "-e", "offcpu", "-o", "/dev/null", "--format", "folded"]
    ways = {
        "alone": [],
        "user": [*offcpu, "-U", "--max-overhead", "0"],
        "min": [*offcpu, "-U", "--max-overhead", "0", "--min", "100"],
        "both": [*offcpu, "--max-overhead", "0"],
        "guarded": offcpu,
        "bpftrace": ["bpftrace", "-q", "-e", OFFCPU],
        "bpftrace_both": ["bpftrace", "-q", "-e", OFFCPU_BOTH],
    }
    times = {name: [] for name in ways}
    for _ in range(choose(7, 1)):
        for name, command in ways.items():
            times[name].append(pipe_us(*command))
    best = {name: min(t) for name, t in times.items()}
    middle = {name: round(statistics.median(t), 2) for name, t in times.items()}
    say(f"us an operation, the least: {best}; the median: {middle}")
    more = {name: best[name] - best["alone"] for name in ways}
    row("a switch there and back longer, offcpu -U", "us", more["user"], most=more["bpftrace"], bpftrace=more["bpftrace"])
    row("the same, --min 100", "us", more["min"], most=more["bpftrace"] / 3, bpftrace=more["bpftrace"])
    row("the same, with kernel stacks", "us", more["both"], most=more["bpftrace_both"], bpftrace=more["bpftrace_both"])
    row("the same, with kernel stacks, within 5 %", "us", more["guarded"], note="--max-overhead 5")


def hits():
    """BPF time that a wait takes, of two threads that wait for each other by a condition variable."""
    def bpf_us(event, *options):
        done = profile("-e", event, "--max-overhead", "0", *options, "-o", "/dev/null", "--format", "folded", "--",
                       STORM, "locks", choose(200000, 20000))
        return done.bpf_ns / 1000 / int(re.search(r"samples +(\d+)", done.stderr)[1])
    for name, options in (("both stacks", []), ("-U", ["-U"])):
        us = {"offcpu": [], "locks": []}
        for _ in range(choose(5, 1)):
            for event, list_ in us.items():
                list_.append(bpf_us(event, *options))
        for event, list_ in us.items():
            row(f"BPF time a wait: {event}, {name}", "us", min(list_))


def wall_cost(pid, seconds):
    """(CPU seconds but for what others' switches cost, (ns, runs) of these: no thread of the process ever switches)"""
    done = profile("-e", "wall", "-p", pid, "-o", "/dev/null", "--format", "folded", seconds)
    others = done.programs.get("sp_front_raw", (0, 0))
    return done.cpu_s - others[0] / 1e9, others, classes(done.stderr)


def until_there(pid):
    """Where others want the CPUs, 2,000 threads take their time."""
    while len(os.listdir(f"/proc/{pid}/task")) <= N_THREADS:
        time.sleep(0.5)


def idle():
    """What is left of the difference of two lengths is neither the start's nor that of others, whatever they do."""
    with load([PYTHON, "-c", IDLE], ["sleep", "9999"], settle=6) as pids:
        until_there(pids[0])
        short, long = ([], []), ([], [])
        for _ in range(choose(3, 1)):
            for i, pid in enumerate(pids):
                short[i].append(wall_cost(pid, 1))
                long[i].append(wall_cost(pid, choose(31, 6)))
    first = [min(c[0] for c in costs) for costs in short]
    percent = [100 * (min(c[0] for c in costs) - first[i]) / choose(30, 5) for i, costs in enumerate(long)]
    ns, n = map(sum, zip(*(c[1] for c in long[0])))
    row(f"wall of {N_THREADS} idle threads, from the second second on", "% of a CPU", percent[0], most=0.1)
    row("the same of one", "% of a CPU", percent[1])
    row("beside that, for each switch of any other thread", "ns", 2 * ns / n,
        note=f"{n // 2 / len(long[0]) / choose(31, 6):.0f} a second on this machine just then")
    row(f"wall of {N_THREADS} idle threads, start and first second", "s of CPU", first[0])
    row("the same, stacks complete", "%", 100 * short[0][0][2]["complete"] / N_THREADS, least=99)


def waiting():
    with open(os.path.join(WORK, "Wait.java"), "w") as f:
        f.write(JAVA)
    for name, command in WAITING.items():
        try:
            with load(command, settle=5) as pids:
                n = classes(profile("-U", "-e", "offcpu", "-p", pids[0], "-o", "/dev/null", "--format", "folded", 2).stderr)
            row(f"blocked threads complete: {name}", "%", 100 * n["complete"] / sum(n.values()), least=99)
        except (RuntimeError, FileNotFoundError) as e:
            say(f"{name}: {e}")


def starts():
    what = ["-o", "/dev/null", "--format", "folded", "--", "true"]
    cpu = [profile(*what).cpu_s for _ in range(choose(15, 3))]
    several = ["-e", "cpu,offcpu,faults"]
    first = [profile(*several, "-F", 999, "--", "sleep", 9, prefix="sp_cpu", first=True).first_ms
             for _ in range(choose(15, 3))]
    more = [profile(*several, *what) for _ in range(choose(15, 3))]
    row("profile -- true", "ms of CPU", 1000 * statistics.median(cpu), most=100)
    row("profile -e cpu,offcpu,faults -- sleep, execve to 1st sample", "ms", statistics.median(first), most=150)
    row("profile -e cpu,offcpu,faults -- true, all of it", "ms", 1000 * statistics.median(c.wall_s for c in more), most=150)


switches()
hits()
idle()
waiting()
starts()
