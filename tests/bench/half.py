# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel half: BPF run time over user frames 26 deep, and of the kernel's part of a stack in a read() loop.

The victim has one CPU for itself (real-time priority), and only that CPU is sampled. Runs that found nothing to sample
are subtracted at their own cost, which is measured: the same profile, but of a process that sleeps."""
import statistics
from common import N_CPUS, bpftrace, choose, folded, load, n_frames, n_samples, profile, row, say, tool

DEPTH = 26  # _start, __libc_start_main, a local function of libc, main, 21 calls, leaf
N_CALLS = DEPTH - 6  # and the one that calls leaf
CPU = N_CPUS - 1
VICTIM = ["chrt", "-f", "50", "taskset", "-c", str(CPU)]
ASIDE = ["taskset", "-c", "0"] if N_CPUS > 1 else []
N_RUNS = choose(3, 1)


def measure(hz, length, pid, *what):
    c = profile("-f", "-F", hz, "-C", CPU, "-p", pid, *what, length, prefix="sp_cpu", before=ASIDE)
    return c, folded(c.stdout)


def ns_per_idle_run(hz, length):
    with load(["sleep", "1000"]) as pids:
        c, _ = measure(hz, length, pids[0], "-U")
    return c.bpf_ns / max(c.bpf_runs, 1)


def net_ns(c, lines, idle):
    return c.bpf_ns - max(0, c.bpf_runs - n_samples(lines)) * idle


def peer(hz, length, pid, stack):
    """bpftrace's ns a sample of the same victim."""
    c = bpftrace(hz, length, what=stack, filter=f"/pid == {pid} && cpu == {CPU}/", before=ASIDE)
    return c.bpf_ns / max(c.bpf_runs, 1)


def user_frames(hz, length, goal):
    frame, sample = [], []
    with load([*VICTIM, tool("deep"), str(N_CALLS)]) as pids:
        for _ in range(N_RUNS):
            idle = ns_per_idle_run(hz, length)
            c, lines = measure(hz, length, pids[0], "-U")
            net = net_ns(c, lines, idle)
            frame.append(net / n_frames(lines))
            sample.append(net / n_samples(lines))
            depth = n_frames(lines) / n_samples(lines)
            say(f"{hz} Hz: {n_samples(lines)} samples of {c.bpf_runs} runs, {sample[-1]:.0f} ns a sample of {depth:.1f}"
                f" frames, {frame[-1]:.1f} ns a frame; {idle:.0f} ns for nothing")
    with load([*VICTIM, tool("deep-fp"), str(N_CALLS)]) as pids:
        other = peer(hz, length, pids[0], "ustack(perf, 127)")
    row(f"BPF a frame, {DEPTH} deep, {hz} Hz", "ns", statistics.median(frame), most=goal)
    row(f"BPF a sample, {DEPTH} deep, {hz} Hz", "ns", statistics.median(sample), bpftrace=other,
        note="bpftrace: of a build with frame pointers")


def kernel_stack(hz, length, goal):
    extra = []
    with load([*VICTIM, tool("reader")]) as pids:
        for _ in range(N_RUNS):
            user, user_lines = measure(hz, length, pids[0], "-U")
            both, both_lines = measure(hz, length, pids[0], "-a")
            share = n_samples([x for x in both_lines if x[0][-1].endswith("_[k]")]) / n_samples(both_lines)
            ns = both.bpf_ns / n_samples(both_lines) - user.bpf_ns / n_samples(user_lines)
            extra.append(ns / share)
            say(f"{hz} Hz: {user.bpf_ns / n_samples(user_lines):.0f} ns a sample with -U,"
                f" {both.bpf_ns / n_samples(both_lines):.0f} ns with both, {100 * share:.0f} % in kernel mode")
        other = peer(hz, length, pids[0], "kstack(perf, 127)")
    row(f"more for kernel stack, {hz} Hz", "ns", statistics.median(extra), most=goal, bpftrace=other,
        note="bpftrace: a sample with the kernel stack alone")


user_frames(997, choose(10, 3), 80)
user_frames(99, choose(30, 5), 200)
kernel_stack(997, choose(10, 3), 4000)
kernel_stack(99, choose(30, 5), None)
