#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Threads that wait already when the sampling begins: each has its whole stack, as gdb sees it, and waits from then on.
. "$(dirname "$0")/lib.bash"
need_profile
unguarded=1
ended() { kill "$1"; wait "$1" 2>/dev/null; }
# begin COMMAND...: starts it, and waits until it has said "ready". Its number is in $pid.
begin() {
	rm -f "$dir/said"
	mkfifo "$dir/said" 2>/dev/null
	"$@" >"$dir/said" 2>/dev/null &
	pid=$!
	read -r -t 60 <"$dir/said" || return 1
}
# each COUNT: the stacks are those of so many threads, and none waited much shorter than another
each() {
	awk -v n="$1" '{ if (NR == 1 || $NF < least) least = $NF; if ($NF > most) most = $NF }
		END { exit NR != n || least < most * 0.9 || least < 900000000 }' "$out" ||
		fail "$1 threads that waited all the time, not: $(cut -c 1-300 "$out")"
}

begin "$SOPROF_BUILD/tests/cmd/sleepers" || fail "sleepers"
expect 0 profile -f -e offcpu -p $pid 1
says 'cut 0 '
each 7
awk '/^deep;.*;diver;wait_deep;.*;wait_deep;wait_in_sleep;.*__x64_sys_clock_nanosleep/ { n = gsub(/;wait_deep/, "") } END { exit n != 701 }' "$out" ||
	fail "701 frames of wait_deep"
has "$out" '^large;.*;spreader;wait_above;wait_in_sleep;'
has "$out" '^in-code;.*;coder;\[anon\][^;]*;wait_in_sleep;'
has "$out" '^in-lock;.*;locker;wait_in_lock;.*futex'
has "$out" '^in-read;.*;reader;wait_in_read;'
has "$out" '^sleepers;.*;main;.*poll'
expect 0 profile -f -e wall -p $pid 1
each 7
expect 0 profile -o "$dir/x.pb.gz" -e offcpu -p $pid 1
expect 0 report --label state=sleeping --value offcpu --format folded "$dir/x.pb.gz"
each 7
# where only long waits are asked for, too
expect 0 profile -o "$dir/x.pb.gz" -e offcpu --min 1000 -p $pid 1
says 'cut 0 '
expect 0 report --label state=sleeping --value offcpu --format folded "$dir/x.pb.gz"
each 7
expect 0 profile -f -e locks,offcpu --min 1000 -p $pid 1
has "$out" '^in-lock;.*;locker;wait_in_lock;.*futex'
# only those that a recipe is about, and that are asked for
expect 0 profile -f -e locks -p $pid 1
each 1
has "$out" '^in-lock;'
expect 0 profile -f -e offcpu -L "$(grep -lx in-read /proc/$pid/task/*/comm | cut -d / -f 5)" 1
each 1
has "$out" '^in-read;'
expect 0 profile -f -K -e offcpu -p $pid 1
[ "$(wc -l <"$out")" = 7 ] || fail "seven kernel stacks"
# among all others
expect 0 profile -f -e offcpu 1
has "$out" '^in-read;.*;reader;wait_in_read;'
has_not "$out" '^(kthreadd|rcu_|ksoftirqd)'
# one that is stopped is there as well
kill -STOP $pid
expect 0 profile -o "$dir/x.pb.gz" -e offcpu -p $pid 1
kill -CONT $pid
expect 0 report --label state=stopped --value offcpu --format folded "$dir/x.pb.gz"
each 7
ended $pid

# Memory that never comes costs its thread the stack, and nobody else.
if begin "$SOPROF_BUILD/tests/cmd/sleepers" stuck; then
	expect 0 profile -f -v -e offcpu -p $pid 1
	[ "$(wc -l <"$out")" = 8 ] || fail "eight threads"
	has "$out" '^stuck;.*__x64_sys_clock_nanosleep'
	says 'stack memory unreadable 1'
	says 'cut 1 '
	[ -z "$(ps -o pid= --ppid $$ | while read -r child; do grep -l soprof /proc/"$child"/comm 2>/dev/null; done)" ] || fail "no process left"
	ended $pid
else
	wait $pid
	[ $? = 77 ] || fail "a thread that is stuck, or no userfaultfd"
fi

# With more mappings than are looked at in an interrupt.
if [ "$slow" = 1 ]; then
	begin "$SOPROF_BUILD/tests/cmd/sleepers" many || fail "sleepers"
	expect 0 profile -f -U -e offcpu -p $pid 1
	says 'complete 1507 .* cut 0 '
	awk '/^in-sleep;.*;sleeper;wait_in_sleep;/ { n += $NF } END { exit n < 1501 * 900000000 }' "$out" || fail "1501 threads that sleep"
	ended $pid
fi

# The same frames as gdb's, by name where it has one. Of code without a file it knows nothing.
same_as_gdb() { # PID
	gdb -q -nx -batch -ex 'set backtrace past-main on' -p "$1" -x "$SOPROF_SOURCE/tests/cmd/blocked_gdb.py" 2>"$dir/null" | sed -n 's/^stack: //p' | grep -v '^in-code;' | sort >"$dir/gdb"
	expect 0 profile -f -U -e offcpu -p "$1" 1
	sed -E '/^in-code;/d; s/ [0-9]+$//' "$out" | sort >"$dir/ours"
	[ -s "$dir/gdb" ] && /usr/bin/python3 - "$dir/gdb" "$dir/ours" <<-'END' || fail "the stacks that gdb sees"
		import re, sys
		def plain(name): # of one function's names
		    return re.sub(r"^(__GI_|_)+(libc_)?|(_impl|@.*|\.constprop\.\d+|\.part\.\d+)$", "", name)
		gdb, ours = ([line.rstrip("\n").split(";") for line in open(f)] for f in sys.argv[1:])
		def same(a, b):
		    return a[0] == b[0] and len(a) == len(b) and all(x == "??" or "+0x" in y or plain(x) == plain(y) for x, y in zip(a, b))
		left = list(ours)
		for stack in gdb:
		    found = next((o for o in left if same(stack, o)), None)
		    if not found:
		        sys.exit(f"gdb: {stack}\nours: {left}")
		    left.remove(found)
		sys.exit(f"too many: {left}" if left else 0)
	END
}
if command -v gdb >/dev/null && [ "$slow" = 1 ]; then
	begin "$SOPROF_BUILD/tests/cmd/sleepers" || fail "sleepers"
	same_as_gdb $pid
	ended $pid
	begin /usr/bin/python3 -c '
import threading, time
def a(n): return a(n - 1) if n else time.sleep(1000)
threading.Thread(target=a, args=(20,), daemon=True).start()
time.sleep(0.5)
print("ready", flush=True)
threading.Event().wait()' || fail "python"
	same_as_gdb $pid
	ended $pid
	mkfifo "$dir/never"
	begin bash -c 'f() { echo ready; read -r x <>"$0"; }; f' "$dir/never" || fail "bash"
	same_as_gdb $pid
	ended $pid
fi
finish
