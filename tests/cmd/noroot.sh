#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 400
# Without privileges: one's own programs, by perf_event_open and the unwinder of the user half, with the same results.
. "$(dirname "$0")/lib.bash"
need_root
level=/proc/sys/kernel/perf_event_paranoid
before=$(cat "$level")
real=$SOPROF
mkdir "$dir/own" "$dir/cache" && cp "$SOPROF" "$dir/own/soprof" && cp -r "$victims" "$dir/own/victims"
chmod -R go+rX "$dir/own" && chown nobody "$dir/own" "$dir/cache"

# as NAME [SETPRIV-OPTION...] [-- COMMAND...]: $dir/NAME is soprof as nobody, in a directory that nobody can reach
as() {
	local name=$1 options=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	cat >"$dir/$name" <<-EOF
		#!/bin/bash
		cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups ${options[*]} \\
			env XDG_CACHE_HOME=$dir/cache ${*:2} $dir/own/soprof "\$@"
	EOF
	chmod 755 "$dir/$name"
}
as nobody --bounding-set -all --inh-caps -all
as perfmon --inh-caps +perfmon --ambient-caps +perfmon
as bpf --inh-caps +bpf,+perfmon --ambient-caps +bpf,+perfmon
as namespace -- unshare --user --map-root-user
SOPROF=$dir/nobody victims=$dir/own/victims
# running VARIANT NAME ARGUMENT...: a victim of nobody's in the background
running() {
	local program=$victims/$1/$2
	shift 2
	setpriv --reuid 65534 --regid 65534 --clear-groups "$program" "$@" </dev/null >/dev/null 2>&1 &
	pid=$!
	wait_working $pid
	at_ease $pid
}
restore() { echo "$before" >"$level"; }
trap 'restore; leave' EXIT

echo 2 >"$level"
run profile -F 99 -- true
[ "$status" != 3 ] || skip "$(tail -n 1 "$err")" # a container, say
says '^soprof: sampling by perf_event_open, since BPF needs CAP_BPF and CAP_PERFMON; time in the kernel is not seen'

# Page faults are theirs, too; for what no perf event gives the one reason is told, whosever processes are asked for.
expect 0 profile -f -e faults -- "$victims/plain/recursion" 0.1 5
has "$out" '^recursion;.* [0-9]+$'
says 'sampling by perf_event_open, .*; what page faults touch is not seen'
expect 3 profile -e faults --by memory -- true
one_line '--by memory needs CAP_BPF and CAP_PERFMON; run it as root, with sudo'
for event in offcpu cpu,faults sched:sched_switch; do
	expect 3 profile -e $event 1
	one_line "-e $event needs CAP_BPF and CAP_PERFMON; run it as root, with sudo$"
done
expect 3 profile -e libc.so.6:malloc 1
one_line '-e libc.so.6:malloc needs CAP_BPF and CAP_PERFMON; .*: soprof calls LIB -- COMMAND$'

mount_tracefs || fail "tracefs to be mounted"
# trace is root's, and says so, also in its list; stat counts what is one's own, in user mode, and reads what all may read.
expect 0 trace --list
has "$out" '^opens +root '
has "$out" '^signals +root '
has_not "$out" '^[a-z]+ +yes '
has "$out" '^root: cannot trace: needs CAP_BPF and CAP_PERFMON .*; run it as root, with sudo$'
for words in 'opens 1' 'sched:sched_switch -- true' 'syscall:read --by caller -- true'; do
	# shellcheck disable=SC2086
	expect 3 trace $words
	one_line '^soprof: trace: cannot trace: needs CAP_BPF and CAP_PERFMON .*; run it as root, with sudo$'
done
expect 3 stat --red 1
one_line '^soprof: stat: cannot count calls: needs CAP_BPF and CAP_PERFMON .*; run it as root, with sudo$'
expect 0 stat -x, -e task-clock,page-faults,context-switches -- true
has "$err" '^[0-9.]+,msec,task-clock:u,'
has "$err" '^[1-9][0-9]*,,page-faults:u,'
has "$err" '^<not permitted>,,context-switches,'
has "$err" '^soprof: .*kernel.perf_event_paranoid is 2: run it as root, with sudo$'
expect 3 stat 1
has "$err" 'none of the events can be counted here$'
expect 3 stat -e sched:sched_switch -- true
has "$err" 'run it as root, with sudo$'
expect 0 stat --use 1
has "$out" '^memory '

for variant in "${variants[@]}"; do
	together
	profile_victim $variant recursion --complete 99 --deepest even,odd=100 -- 100
	for name in callback vdso threads assembly plt lazy; do
		profile_victim $variant $name --complete 99 --
	done
	apart
done
# what does not fit in the copy of a stack is cut, and said: never a wrong caller
together
profile_victim plain frames --samples 10 --
profile_victim plain signals --samples 10 --
profile_victim stripped noeh --samples 10 --
apart

# what runs already: all threads of a process; one of them; more than one process
running stripped threads 600
first=$pid
expect 0 profile -U -f -F 399 -p "$pid" 1
check_victim stripped threads --complete 99
expect 0 profile -U -f -F 199 -L "$(find "/proc/$pid/task" -mindepth 1 -printf '%f\n' | sort -n | tail -n 1)" 1
has "$out" ';'
running plain recursion 600 300
expect 0 profile -U -f -F 399 -p "$pid,$first" 1
has "$out" '^threads;'
grep '^recursion;' "$out" >"$dir/lines" && mv "$dir/lines" "$out"
check_victim plain recursion --complete 99 --deepest even,odd=300
kill -KILL "$pid" "$first"
wait "$pid" "$first" 2>/dev/null

# children, and theirs; a fork that never becomes another program; programs after programs in one process
cat >"$dir/own/family" <<EOF
spin() { local n=0; while [ \$n -lt $((slow * 60000)) ]; do n=\$((n + 1)); done; }
(spin) & $victims/plain/callback 1 & bash -c "exec $victims/plain/assembly 1" & wait
EOF
expect 0 profile -U -f -F 997 -- bash "$dir/own/family"
has "$out" '^bash;' # of the subshell: it never becomes another program
for name in callback assembly; do
	cp "$out" "$dir/all"
	grep "^$name;" "$dir/all" >"$out"
	check_victim plain "$name" --complete 99
	mv "$dir/all" "$out"
done

# a program that was deleted, and its library that was not; the views are the same
cat >"$dir/own/delete" <<EOF
$dir/own/plt 1 &
for i in {1..200}; do ! grep -qs libplt /proc/\$!/maps || break; sleep 0.05; done
rm $dir/own/plt
wait
EOF
cp "$victims/plain/plt" "$victims/plain/libplt.so" "$victims/plain/names" "$dir/own"
expect 0 profile --by library -F 199 -- bash "$dir/own/delete"
has "$out" ' plt$'
has "$out" ' libplt.so$'
expect 0 profile -o "$dir/cache/out.pb.gz" -F 99 -- "$victims/plain/callback" 1
SOPROF=$real expect 0 report --by function "$dir/cache/out.pb.gz"
has "$out" 'callback'

# the kernel's part, where it is allowed
echo 1 >"$level"
expect 0 profile -f -a -F 199 -- "$victims/plain/kernel" $seconds
check_victim plain kernel --complete 95
has "$out" '_\[k\]'
expect 0 profile -K -f -a -F 199 -- "$victims/plain/kernel" 1
has "$out" '^kernel;[^ ]*_\[k\] '
# Debian's kernels know a level 3, at which ordinary users may sample nothing
echo 3 >"$level"
run profile -F 99 -- true
[ "$status" = 0 ] || {
	[ "$status" = 3 ] || fail "exit code 3"
	one_line 'needs CAP_BPF and CAP_PERFMON; kernel.perf_event_paranoid is 3, .*sysctl kernel.perf_event_paranoid=2'
}
echo 2 >"$level"

# capabilities: for all processes, CAP_PERFMON (where the level is not above 2); with CAP_BPF the kernel half samples
SOPROF=$dir/perfmon
ln -s callback "$victims/plain/alone$$" # others run callback, too, from files that nobody may not read
running plain "alone$$" 600
expect 0 profile -U -f -F 399 1
says 'sampling by perf_event_open, since BPF needs CAP_BPF$|sampling by perf_event_open, since BPF needs CAP_BPF '
grep "^alone$$;" "$out" >"$dir/lines" && mv "$dir/lines" "$out"
check_victim plain callback --comm "alone$$" --complete 90 --samples 5
kill -KILL "$pid"
wait "$pid" 2>/dev/null
SOPROF=$dir/bpf
profile_victim plain callback --complete 90 --
! grep -q perf_event_open "$err" || fail "BPF to be used, with CAP_BPF and CAP_PERFMON"

# capabilities that do not count, as root of a user namespace: BPF is refused after all, and that is said
SOPROF=$dir/namespace
if "$SOPROF" --help >/dev/null 2>&1; then
	profile_victim plain callback --complete 99 --
	says 'sampling by perf_event_open, .*BPF'
	expect 3 profile 1
fi
finish
