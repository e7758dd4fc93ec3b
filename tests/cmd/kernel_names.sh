#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Names of the kernel's functions, which the kernel itself is asked for, beside its file of them and bpftrace's stacks.
. "$(dirname "$0")/lib.bash"
need_profile
unguarded=1

# Each frame is a function of the kernel's file. In the file a getpid has the name that goes by its system call.
expect 0 profile -K -f -e cpu,offcpu -F $hz -- bash -c 'for ((i = 0; i < 200; i++)); do : <<<"$i" | cat >/dev/null; done'
sed -E 's/ [0-9]+$//' "$out" | tr ';' '\n' | sort -u >"$dir/frames"
awk 'NR == FNR { if ($2 ~ /[tTwW]/) known[$4 ? $3 "\t" $4 : $3] = 1; next }
	!known[$0] { print; bad = 1 } END { exit bad }' /proc/kallsyms <(grep -vE '^(bash|cat|bpf_prog_.*)$' "$dir/frames") \
	>"$dir/unknown" || fail "names of /proc/kallsyms, not $(tr '\n' ' ' <"$dir/unknown")"
grep -qE '^(__)?schedule$' "$dir/frames" || fail "schedule among $(wc -l <"$dir/frames") frames"

# The whole of a stack, from the leaf to the root.
command -v bpftrace >/dev/null || finish
bpftrace -q -e 'tracepoint:sched:sched_switch /comm == "sleep"/ { @[kstack] = count() }' -c '/bin/sleep 0.2' 2>/dev/null |
	awk '/^@\[/ { s = ""; next } /^\]/ { sub(/(;(perf_trace_|__traceiter_|__bpf_trace_|bpf_trace_run)[^;]*)+$/, "", s); print s; next } NF { sub(/\+[0-9]+$/, ""); s = $1 (s ? ";" s : "") }' |
	grep nanosleep | sort -u >"$dir/theirs"
[ -s "$dir/theirs" ] || skip "bpftrace sees no sleep"
expect 0 profile -K -f -e offcpu -- /bin/sleep 0.2
sed -nE 's/^sleep;(.*nanosleep.*) [0-9]+$/\1/p' "$out" | sort -u >"$dir/ours"
diff "$dir/theirs" "$dir/ours" >"$dir/diff" || fail "bpftrace's stack: $(cat "$dir/diff")"
finish
