# SPDX-License-Identifier: GPL-2.0-or-later
"""What counting calls by probes costs: a call, counted and timed, beside bpftrace's and funclatency's, and an empty program at
both ends, in a process's first thread and in another; attaching and detaching all functions of libcrypto; the kernel's memory,
with what the kernel takes for the probes themselves, and what of it is in soprof's own maps and programs."""
import contextlib
import glob
import os
import re
import shutil
import signal
import statistics
import subprocess
import time
from common import SOPROF, SOURCE, WORK, choose, cost, forever, load, row, say, tool, tree

LIBRARY = os.path.join(os.path.dirname(tool("probed")), "libprobed.so")
COPY = os.path.join(WORK, "libprobed.so") # which nobody else probes
RUNS = choose(5, 1)
PROGRAMS = choose(5, 1)
UNBOUNDED = ["--max-overhead", "10000"]


def ns(*how, library=LIBRARY, runs=RUNS):
    env = os.environ | {"PROBED_LIBRARY": library, "LD_PRELOAD": library}
    return min(float(subprocess.run([tool("probed"), *how], env=env, check=True, stdout=subprocess.PIPE).stdout)
               for _ in range(runs))


def while_counting(command, is_ready, do, env=()):
    """What `do` gives while the command, which has been waited for, counts."""
    path = os.path.join(WORK, "counting")
    with open(path, "wb") as out:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                             env=os.environ | dict(word.split("=", 1) for word in env))
    try:
        for _ in range(300):
            with open(path, encoding="utf-8", errors="replace") as f:
                if is_ready in f.read() or p.poll() is not None:
                    break
            time.sleep(0.1)
        if p.poll() is not None:
            raise RuntimeError(f"{command} has ended")
        return do(p)
    finally:
        p.send_signal(signal.SIGINT)
        try:
            p.wait(120)
        except subprocess.TimeoutExpired: # INT may be ignored where this runs in the background
            p.kill()
            p.wait()


def ns_soprof(what, *options):
    return while_counting([SOPROF, "calls", *UNBOUNDED, *options, f"{LIBRARY}:probed_{what}"], "counting calls",
                          lambda p: ns(what))


def ns_bpftrace(what):
    program = f"BEGIN {{ printf(\"ready\\n\"); }} uprobe:{LIBRARY}:probed_{what} {{ @[pid] = count(); }}"
    return while_counting(["bpftrace", "-e", program], "ready", lambda p: ns(what))


def ns_bpftrace_timed(what):
    at = f"{LIBRARY}:probed_{what}"
    program = (f"BEGIN {{ printf(\"ready\\n\"); }} uprobe:{at} {{ @from[tid] = nsecs; }} "
               f"uretprobe:{at} /@from[tid]/ {{ @ns[pid] = hist(nsecs - @from[tid]); delete(@from[tid]); }}")
    return while_counting(["bpftrace", "-e", program], "ready", lambda p: ns(what))


def ns_funclatency(what):
    """That of libbpf-tools, which needs no headers of the kernel; it is unpacked. None: it is not to be had."""
    done = subprocess.run(["bash", "-c", '. "$0" && unpack libbpf-tools && ls "$unpacked"/libbpf-tools/usr/sbin/funclatency',
                           os.path.join(SOURCE, "tests/unpack.bash")], text=True, stdout=subprocess.PIPE)
    if done.returncode:
        return None
    return while_counting(["stdbuf", "-oL", done.stdout.strip(), f"{LIBRARY}:probed_{what}"], "Tracing", lambda p: ns(what))


def timed_in_turns(what, *where):
    """A timed call and one with an empty program at both ends, in turns so short that what else the machine does meets both
    alike: the ratio is taken of neighbours. Of some programs the median one, as each has its own places in the caches."""
    def turns(_):
        env = os.environ | {"LD_PRELOAD": LIBRARY, "PROBED_COPY": COPY}
        each = [subprocess.run([tool("probed"), what, "turns", *where], env=env, check=True, stdout=subprocess.PIPE).stdout.split()
                for _ in range(PROGRAMS)]
        return [statistics.median(map(float, values)) for values in zip(*each)]
    ours, pair, our_median, pair_median, ratio = while_counting(
        [SOPROF, "calls", *UNBOUNDED, "--latency", f"{LIBRARY}:probed_{what}"], "counting calls", turns)
    place = {"thread": ", in another thread than the first", "threads": ", in four threads at once"}
    name = f"a timed call, {what} first{place[where[0]] if where else ''}, to an empty program at both ends"
    row(f"{name}: the fastest twentieth of turns", "times", ours / pair, most=1.15, note=f"{ours:.1f} and {pair:.1f} ns")
    row(f"{name}: the median of neighbouring turns", "times", ratio, most=1.15,
        note=f"the median turns {our_median:.1f} and {pair_median:.1f} ns")


def programs_ns(command, prefix):
    c = cost(prefix, command)
    return 2 * sum(ns for ns, _ in c.programs.values()) / sum(n for _, n in c.programs.values())


def timed_by_statistics():
    """What the two runs for a call take by BPF's own clock, the least of some times, in turns: the clock counts it, too, when
    another process, or an interrupt, has the CPU meanwhile."""
    ours, empty = [], []
    for _ in range(PROGRAMS):
        with load(forever(f"{tool('probed')} push")):
            ours.append(programs_ns([SOPROF, "calls", *UNBOUNDED, "--latency", f"{LIBRARY}:probed_push", "2"], "sp_probed_"))
        empty.append(programs_ns(["env", f"PROBED_LIBRARY={LIBRARY}", tool("probed"), "push", "pair"], ""))
    row("the programs of a timed call, less empty ones, by BPF's clock", "ns", min(ours) - min(empty),
        most=round(0.15 * ns("push", "pair"), 1), note="goal: 0.15 times a call with empty programs")


def calls():
    shutil.copy(LIBRARY, COPY)
    for what in ("push", "lea"):
        bpftrace = ns_bpftrace(what)
        row(f"a counted call, {what} first", "ns", ns_soprof(what), most=round(1.1 * bpftrace, 1), bpftrace=bpftrace)
        row(f"the same by caller, {what} first", "ns", ns_soprof(what, "--by", "caller"))
        row(f"the same by function alone, {what} first", "ns", ns_soprof(what, "--by", "function"))
        row(f"a timed call, {what} first", "ns", ns_soprof(what, "--latency"), bpftrace=ns_bpftrace_timed(what),
            funclatency=ns_funclatency(what))
    timed_in_turns("push")
    timed_in_turns("push", "thread")
    timed_in_turns("push", "threads")
    timed_by_statistics()


def kernel_parts():
    """KiB of each part of the kernel's memory that cannot be given back for others. Of slabs the objects in use count: pages
    do not grow where there was room in those that stand, and emptied ones, which are given back first, would hold what
    comes. What is larger than slabs' objects is what SUnreclaim has beside them, which is exact when its CPUs' parts are added."""
    for path in glob.glob("/sys/kernel/slab/*/shrink"):
        with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as f:
            f.write("1")
    with open("/proc/sys/vm/stat_refresh", "w", encoding="ascii") as f:
        f.write("1")
    with open("/proc/meminfo", encoding="ascii") as f:
        info = {line.split(":")[0]: int(line.split()[1]) for line in f}
    parts, pages = {name: info[name] for name in ("VmallocUsed", "Percpu")}, 0
    with open("/proc/slabinfo", encoding="ascii") as f:
        for name, active, _, size, _, per_slab, *words in (line.split() for line in f.readlines()[2:]):
            with open(f"/sys/kernel/slab/{name}/reclaim_account", encoding="ascii") as is_reclaimed:
                if int(is_reclaimed.read()):
                    continue
            parts[name] = int(active) * int(size) / 1024
            pages += int(words[words.index("slabdata") + 2]) * int(per_slab) * os.sysconf("SC_PAGE_SIZE") / 1024
    return parts | {"larger": info["SUnreclaim"] - pages}


def settled_parts():
    """When all that has ended is given back, which the kernel does some time later: what comes would stand in its place."""
    parts = kernel_parts()
    for _ in range(60):
        before = parts
        time.sleep(1)
        parts = kernel_parts()
        if sum(before.values()) - sum(parts.values()) < 32:
            return parts
    raise RuntimeError("the kernel's memory does not come to rest")


def user_kb(pid):
    """What the process itself, and those that it has started, have of their own."""
    kb = 0
    for one in tree(pid):
        with contextlib.suppress(OSError), open(f"/proc/{one}/smaps_rollup", encoding="ascii") as f:
            kb += int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
    return kb


def own_kb(pid):
    """What the kernel says that the maps and programs of a process take."""
    bytes_of = {}
    for n in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{n}", encoding="ascii") as f:
            words = f.read()
        memory, number = re.search(r"^memlock:\s+(\d+)", words, re.M), re.search(r"^(map_id|prog_id):\s+\d+", words, re.M)
        if memory and number:
            bytes_of[number.group()] = int(memory.group(1))
    return sum(bytes_of.values()) / 1024


def kernel_kb(command, is_ready, env=(), turns=choose(5, 1)):
    """What the kernel's memory grows by, of each part the median of some times, since others change it, too; and of the process
    what its maps and programs take of that, and what it has itself."""
    def grown(process, before):
        time.sleep(0.3)
        after = kernel_parts()
        return {part: after[part] - before.get(part, 0) for part in after}, own_kb(process.pid), user_kb(process.pid)
    parts, own, user = zip(*(while_counting(command, is_ready, lambda p, before=settled_parts(): grown(p, before), env)
                             for _ in range(turns)))
    kb = sum(statistics.median(each.get(part, 0) for each in parts) for part in set().union(*parts))
    return kb, statistics.median(own), statistics.median(user)


def number_said(words):
    with open(os.path.join(WORK, "counting"), encoding="utf-8") as f:
        return int(re.search(words + r" (\d+)", f.read()).group(1))


def bpftrace_kb(path, n):
    """For n functions, by what it takes for one and for some: it has a perf event for each, whose end takes 0.1 s."""
    def of(functions):
        program = f"BEGIN {{ printf(\"ready\\n\"); }} uprobe:{path}:{functions} {{ @[func, pid] = count(); }}"
        kb, _, user = kernel_kb(["bpftrace", "-e", program], "ready")
        return kb, user, number_said("Attaching") - 1
    one, user, _ = of("PEM_read_bio")
    kb, _, some = of("PEM_*")
    return one + (kb - one) * (n - 1) / (some - 1), user


def attaching(path):
    trace = os.path.join(WORK, "trace")
    subprocess.run(["strace", "-T", "-e", "trace=bpf,close", "-o", trace, SOPROF, "calls", "--by", "function", path, "1"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    attach, detach, link = 0, 0, None
    with open(trace, encoding="utf-8") as f:
        for line in f:
            if "BPF_LINK_CREATE" in line and "EBADF" not in line and "= -1" not in line:
                link = line.split(" = ")[-1].split()[0]
                attach += float(line.rsplit("<", 1)[1].rstrip(">\n"))
            elif link and line.startswith(f"close({link})"):
                detach += float(line.rsplit("<", 1)[1].rstrip(">\n"))
    row("attaching all functions of libcrypto", "s", attach, most=0.1)
    row("detaching them", "s", detach, most=0.1)


def memory(path):
    empty, _, _ = kernel_kb([tool("probed"), "all"], "attached", ["PROBED_LIBRARY=" + path])
    n = number_said("attached to")
    say(f"{n} functions")
    if empty < n / 5: # the kernel has an object of more than 200 bytes for each
        raise RuntimeError(f"{empty:.0f} KiB are not all that {n} probes take: others' memory has changed by more meanwhile")
    bpftrace, bpftrace_user = bpftrace_kb(path, n)
    for how in (["--by", "function"], [], ["--latency"]):
        kb, own, user = kernel_kb([SOPROF, "calls", *how, path], "counting calls")
        one, _, _ = kernel_kb([SOPROF, "calls", *how, path + ":SHA256"], "counting calls")
        what = f"the kernel's memory, all functions of libcrypto, at rest, {' '.join(how) or 'by function and process'}"
        row(f"{what}: what they add to the same command with one", "MB", (kb - one) * 1.024e-3, most=round(2 * n / 5000, 2),
            note=f"goal: 2 MB for 5,000; empty programs at as many places {empty * 1.024e-3:.2f}")
        row(f"{what}: with all that the command takes", "MB", kb * 1.024e-3, bpftrace=bpftrace * 1.024e-3,
            note=f"soprof's own maps and programs {own * 1.024e-3:.2f}; with one function {one * 1.024e-3:.2f}; what the process itself "
                 f"takes {user * 1.024e-3:.1f}, bpftrace's {bpftrace_user * 1.024e-3:.1f}")


def all_of_libcrypto():
    path = os.path.join(WORK, "libcrypto.so.3")
    found = subprocess.run(["ldconfig", "-p"], check=True, text=True, stdout=subprocess.PIPE).stdout
    shutil.copy(next(w for w in found.split() if w.endswith("/libcrypto.so.3")), path)
    attaching(path)
    memory(path)


say("calls")
calls()
say("all functions of libcrypto")
all_of_libcrypto()
