#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 90
# SIGKILL leaves nothing behind in the kernel and no process; two at once do not disturb each other.
. "$(dirname "$0")/lib.bash"
need_profile
PATH=$PATH:/usr/sbin
command -v bpftool >/dev/null || skip "needs bpftool"
start stripped callback 600
wait_working "$pid"
at_ease "$pid"

# What the kernel holds: `KIND ID`, without what living processes other than ours have open.
holds() {
	local kind
	for kind in prog map link; do
		bpftool $kind list 2>/dev/null | awk -v kind=$kind '
			function put() { if (id != "" && !other) print kind, id }
			/^[0-9]+:/ { put(); id = $1 + 0; other = 0 }
			/^[ \t]+pids / { other = !/soprof\(/ }
			END { put() }'
	done | sort
}
holds >"$dir/before"
own() { pgrep -f "^$SOPROF " | sort; }
own >"$dir/own-before"

for _ in 1 2 3; do
	"$SOPROF" profile -F 199 600 >"$out" 2>"$err" </dev/null &
	job=$!
	wait_sampling $job
	holds >"$dir/during"
	comm -13 "$dir/before" "$dir/during" >"$dir/ours"
	grep -q '^prog' "$dir/ours" && grep -q '^map' "$dir/ours" || fail "programs and maps in the kernel while it samples"
	kill -KILL "$job"
	wait "$job" 2>/dev/null
done
# The kernel frees them some time after the last descriptor; of other tests' programs, too, if they were among these.
for _ in $(seq 20); do
	comm -12 "$dir/ours" <(holds) >"$dir/left"
	comm -13 "$dir/own-before" <(own) >"$dir/own-left"
	[ -s "$dir/left" ] || [ -s "$dir/own-left" ] || break
	sleep 1
done
[ ! -s "$dir/left" ] || fail "nothing to be left in the kernel: $(tr '\n' ',' <"$dir/left")"
[ ! -s "$dir/own-left" ] || fail "no process of soprof to be left: $(tr '\n' ' ' <"$dir/own-left")"

# a command whose profiler is killed before it starts does not run on its own; one that runs goes on
"$SOPROF" profile -U -f -F 399 -p "$pid" $((seconds + 1)) >"$dir/one" 2>"$dir/one.err" </dev/null &
first=$!
"$SOPROF" profile -U -f -F 399 $((seconds + 1)) >"$dir/two" 2>"$dir/two.err" </dev/null &
wait "$first" || fail "exit code 0 of the first of two"
wait $! || fail "exit code 0 of the second of two"
for which in one two; do
	what="profile (the $which of two at once)"
	cp "$dir/$which" "$out"
	cp "$dir/$which.err" "$err"
	check_victim stripped callback --comm callback --samples 10 --complete 99
done
finish
