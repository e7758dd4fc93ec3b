#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# pid and mount namespaces, chroots, overlays, bind mounts: numbers are those that the user's own /proc shows; a file is
# the one that is mapped, never another one that has its path here; copies of a library share one table.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
command -v unshare >/dev/null && unshare --mount --pid --fork --mount-proc true 2>/dev/null || skip "no namespaces here"
test_name() { say "-- $1"; }
# in_pid_ns WORD... -- SCRIPT: bash in a pid namespace of its own; what soprof prints goes to $out and $err
in_pid_ns() {
	local -a words=()
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	what="profile (in a pid namespace) $2"
	unshare --pid --fork --kill-child "${words[@]}" bash -c "$2" >"$out" 2>"$err" </dev/null
	status=$?
	[ "$status" = 0 ] || fail "exit code 0"
}
export SOPROF victims dir seconds
comms() { cut -d ';' -f 1 "$out" | sort -u | tr '\n' ',' | sed 's/,$//'; }

test_name 'pids taken and shown are those of the own namespace'
start plain callback 600
outside=$pid
wait_working "$outside"
at_ease "$outside"
in_pid_ns --mount-proc -- '
	"$victims/plain/recursion" 600 30 &
	echo $! >"$dir/pid"
	until grep -qx recursion /proc/$!/comm; do sleep 0.05; done
	"$SOPROF" profile -U -F 199 -p $! "$seconds"'
has "$out" "^    -                recursion \\($(cat "$dir/pid")\\)\$"
[ "$(cat "$dir/pid")" -lt 20 ] || fail "a small number: $(cat "$dir/pid")"
has_not "$out" 'callback'

test_name 'a command in a pid namespace, and what it starts'
in_pid_ns --mount-proc -- '"$SOPROF" profile -U -f -F 199 -- bash -c "\"\$victims/plain/recursion\" $seconds 30 & \"\$victims/plain/recursion\" $seconds 30; wait"'
grep '^recursion;' "$out" >"$dir/recursion"
cp "$dir/recursion" "$out"
check_victim plain recursion --samples 10 --complete 99 --deepest even,odd=30

test_name 'threads by the numbers of the own namespace'
in_pid_ns --mount-proc -- '
	"$victims/plain/threads" 600 &
	until grep -qx "named one" /proc/$!/task/*/comm; do sleep 0.05; done
	tid=$(grep -l "named one" /proc/$!/task/*/comm | cut -d / -f 5)
	"$SOPROF" profile -U -f -F 199 -L "$tid" "$seconds"'
[ "$(comms)" = 'named one' ] || fail "samples of that thread only, not of $(comms)"

test_name 'a number that is not there'
what='profile -p 4000000 (in a pid namespace)'
unshare --pid --fork --kill-child --mount-proc "$SOPROF" profile -p 4000000 1 >"$out" 2>"$err" </dev/null
one_line '-p: there is no process 4000000'

test_name 'processes that the namespace does not show are sampled, under no number'
in_pid_ns --mount-proc -- '"$SOPROF" profile -U -F 199 "$seconds"'
has "$out" '^    -                callback \(0\)$'
in_pid_ns --mount-proc -- '"$SOPROF" profile -U -f -F 399 "$seconds"'
check_victim plain callback --comm callback --samples 10 --complete 97

test_name 'where /proc is of the namespace above, its numbers count'
cp "$victims/plain/recursion" "$dir/above$$" # a name that nobody else's process has
export name=above$$
in_pid_ns -- '
	"$dir/$name" 600 30 &
	until pid=$(grep -lsx "$name" /proc/[0-9]*/comm | cut -d / -f 3) && [ -n "$pid" ]; do sleep 0.05; done
	echo "$pid" >"$dir/pid"
	"$SOPROF" profile -U -F 199 -p "$pid" "$seconds"'
has "$out" "^    -                $name \\($(cat "$dir/pid")\\)\$"
in_pid_ns -- '"$SOPROF" profile -U -f -F 199 -- "$victims/plain/recursion" "$seconds" 30'
check_victim plain recursion --samples 10 --complete 99
kill "$outside"
wait "$outside" 2>/dev/null
finish
