# SPDX-License-Identifier: GPL-2.0-or-later
"""What counting calls by probes costs: a call, counted and timed, beside bpftrace's and funclatency's, and an empty program at
both ends, in a process's first thread and in another; attaching and detaching all functions of libcrypto; the kernel's memory,
with what the kernel takes for the probes themselves, and what of it is in soprof's own maps and programs."""
import os
import re
import shutil
import signal
import subprocess
import time
from common import SOPROF, SOURCE, WORK, choose, row, say, tool

LIBRARY = os.path.join(os.path.dirname(tool("probed")), "libprobed.so")
RUNS = choose(5, 1)


def ns(*how):
    env = os.environ | {"PROBED_LIBRARY": LIBRARY}
    return min(float(subprocess.run([tool("probed"), *how], env=env, check=True, stdout=subprocess.PIPE).stdout)
               for _ in range(RUNS))


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
        p.wait()


def ns_soprof(what, *options, where=()):
    return while_counting([SOPROF, "calls", "--max-overhead", "10000", *options, f"{LIBRARY}:probed_{what}"], "counting calls",
                          lambda p: ns(what, *where))


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


def calls():
    for what in ("push", "lea"):
        bpftrace = ns_bpftrace(what)
        row(f"a counted call, {what} first", "ns", ns_soprof(what), most=round(1.1 * bpftrace, 1), bpftrace=bpftrace)
        row(f"the same by caller, {what} first", "ns", ns_soprof(what, "--by", "caller"))
        row(f"the same by function alone, {what} first", "ns", ns_soprof(what, "--by", "function"))
        pair = ns(what, "pair")
        row(f"a timed call, {what} first", "ns", ns_soprof(what, "--latency"), most=round(1.15 * pair, 1),
            bpftrace=ns_bpftrace_timed(what), funclatency=ns_funclatency(what),
            note=f"the goal is 1.15 times an empty program at both ends, {pair:.1f} ns")
        pair = ns(what, "pair", "thread")
        row(f"a timed call in a thread that is not its process's first, {what} first", "ns",
            ns_soprof(what, "--latency", where=["thread"]), most=round(1.15 * pair, 1), note=f"1.15 times {pair:.1f} ns")


def slab_kb():
    with open("/proc/meminfo", encoding="ascii") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith(("SUnreclaim", "VmallocUsed", "Percpu")))


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


def kernel_kb(command, is_ready, env=()):
    """What all of the kernel's memory grows by, the least of some times, since others change it, too; and what is the process's."""
    def both(process, before):
        time.sleep(0.3)
        return slab_kb() - before, own_kb(process.pid)
    grown = []
    for _ in range(choose(5, 3)):
        before = slab_kb()
        grown.append(while_counting(command, is_ready, lambda p, before=before: both(p, before), env))
    return min(grown)


def all_of_libcrypto():
    path = os.path.join(WORK, "libcrypto.so.3")
    found = subprocess.run(["ldconfig", "-p"], check=True, text=True, stdout=subprocess.PIPE).stdout
    shutil.copy(next(w for w in found.split() if w.endswith("/libcrypto.so.3")), path)
    trace = os.path.join(WORK, "trace")
    empty, _ = kernel_kb([tool("probed"), "all"], "attached", ["PROBED_LIBRARY=" + path])
    for how in (["--by", "function"], [], ["--latency"]):
        kb, own = kernel_kb([SOPROF, "calls", *how, path], "counting calls")
        row(f"the kernel's memory, all functions of libcrypto, at rest, {' '.join(how) or 'by function and process'}", "MiB",
            kb / 1024, most=2, empty_program=empty / 1024, soprofs_own=own / 1024)
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


say("calls")
calls()
say("all functions of libcrypto")
all_of_libcrypto()
