#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# beside others
# Calls are timed, or told not to be, as a program's own ledger says, that recurses, leaves calls by longjmp or with their
# thread, jumps from one function's end to another, switches stacks: none is harmed. What a return probe would break is refused.
. "$(dirname "$0")/lib.bash"
[ "$(id -u)" = 0 ] || skip "needs root"
export XDG_STATE_HOME=$dir/state
own=$dir/returner
cp "$SOPROF_BUILD/tests/cmd/returner" "$own"

# ended PROCESS WHAT: until it has ended, with its exit code; one that has not after 40 s is a failure, which says where it stands
ended() {
	if ! wait_until $((400 * slow)) is_gone "$1"; then
		fail "$2 to end: $(grep -h State "/proc/$1/task"/*/status; cat "/proc/$1/task"/*/{wchan,stack} 2>/dev/null)"
		kill -KILL "$1"
	fi
	wait "$1"
}
is_gone() { [ ! -e "/proc/$1" ]; } # bash takes children that end by itself
# returner WHY [NAME=VALUE]... ARGUMENT...: runs the program that keeps a ledger, which has to be well; WHY is said if it is not
returner() {
	local why=$1
	shift
	while [[ $1 = *=* ]]; do local -x "${1?}"; shift; done
	"$own" "$@" >"$dir/ledger" &
	ended $! "the program" || fail "the program to be well$why"
}

# begin ARGUMENT...: counts in the background, from when this returns.
begin() {
	what="calls $*"
	: >"$err"
	"$SOPROF" calls "$@" >"$out" 2>"$err" </dev/null &
	counter=$!
	local tries=$((300 * slow))
	until grep -q 'counting calls' "$err"; do
		[ $((tries -= 1)) -gt 0 ] && kill -0 "$counter" 2>/dev/null || { fail "soprof to begin to count"; finish; }
		sleep 0.1
	done
}
end() {
	kill -INT "$counter"
	ended "$counter" soprof
	status=$?
	[ "$status" = 0 ] || fail "exit code 0"
}
# timed FUNCTION: how many of its calls the csv has
timed() { awk -F, -v f="$1" '$2 == f { n += $8 } END { print n + 0 }' "$out"; }
# ledger [FUNCTION N]...: each function's number is that of the calls that the ledger says returned, but for those given
ledger() {
	local name entered returned missing=0 wanted told
	declare -A other=()
	while [ $# -gt 0 ]; do other[$1]=$2; shift 2; done
	while read -r name entered returned; do
		wanted=${other[$name]:-$returned}
		[ "$(timed "$name")" = "$wanted" ] || fail "$wanted calls of $name to be timed, not $(timed "$name")"
		missing=$((missing + ${entered#-} - wanted))
	done <"$dir/ledger"
	told=$(sed -nE 's/^soprof: ([0-9]+) calls? (is|are) not timed.*/\1/p' "$err" | awk '{ n += $1 } END { print n + 0 }')
	[ "$told" = "$missing" ] || fail "$missing calls to be told as not timed, not $told"
}

# --- a command's whole life; what has begun before it is counted is not counted ---
begin --csv --by function --latency --max-overhead 0 "$own:ret_*"
returner '' 50
end
# Kernels without sessions time the function that was called, not the one that jumped there.
kernel=(ret_deeper 64)
has_sessions=1
grep -q 'ret_jump: 50' "$err" || { has_sessions=; kernel+=(ret_tail 0); }
ledger "${kernel[@]}"
[ -n "$has_sessions" ] || says '50 returns were seen without its beginning'
what=
"$own" 20 "$dir/gate" >"$dir/ledger" &
program=$!
is_there() { grep -qs "$own" "/proc/$program/maps"; }
tries=$((100 * slow))
until is_there || [ $((tries -= 1)) = 0 ]; do sleep 0.05; done
is_there || fail "the program to start"
sleep "0.$((slow + 1))" # until it waits at the gate, within the call
begin --csv --by function --latency --max-overhead 0 "$own:ret_*"
touch "$dir/gate"
ended "$program" "the program" || fail "the program to be well"
end
sed -i 's/^ret_before 1 1/ret_before 0 0/' "$dir/ledger"
ledger "${kernel[@]}"

# --- more beginnings are left behind than kernels without sessions have room for: calls after them are timed all the same ---
begin --csv --by function --latency --max-overhead 0 "$own:ret_*"
returner '' JUMPS=20000 5
end
has "$dir/ledger" '^ret_jump 20005 0'
ledger "${kernel[@]}"
has_not "$err" 'too many ran at once'

# --- stacks that switch, in the first thread and another ---
if [ -n "$has_sessions" ]; then
	begin --csv --by function --latency --max-overhead 0 "$own:ret_*"
	returner ', that switches stacks' SWITCH=1 50
	end
	has "$dir/ledger" '^ret_between 100 100'
	ledger "${kernel[@]}" ret_yield 0 ret_between 0
	says '200 calls are not timed, since they ran on a stack that is not their thread.s own'
	begin --csv --by function --latency --max-overhead 0 "$own:ret_*"
	returner ', of eight threads that switch stacks' TURNS=1 50
	end
	has "$dir/ledger" '^ret_between 400 400'
	ledger "${kernel[@]}" ret_yield 0 ret_between 0
	says '800 calls are not timed, since they ran on a stack that is not their thread.s own'
	# ret_between is left and entered again by another stack: its 100 calls are not counted, and nobody is harmed
	expect 0 profile -f --max-overhead 0 -e "$own:ret_between{retval}" -- sh -c "SWITCH=1 timeout 20 '$own' 50 >'$dir/ledger'"
	has "$dir/ledger" '^ret_between 100 100'
	says 'calls on a stack that is not their thread.s own \(not counted\) 100( |$)'
	[ "$(samples)" = 0 ] || fail "no call of ret_between to be counted, not $(samples)"
	expect 0 profile -f --max-overhead 0 -e "$own:ret_down[retval == 0]" -- sh -c "timeout 20 '$own' 50 >'$dir/ledger'"
	read -r _ _ returned < <(grep '^ret_down ' "$dir/ledger")
	[ "$(samples)" = $((returned / 11)) ] || fail "one of 11 of $returned calls of ret_down to return 0, not $(samples)"
fi

# --- refused: exceptions, and what asks for or keeps its return address ---
refused() { # WORDS FILE:FUNCTION
	expect 2 calls --latency "$2" 1
	one_line "$1"
	expect 2 profile -e "$2{retval}" -- true
	one_line "$1"
}
cp "$victims/plain/exception" "$dir/exception"
refused 'may be left by an exception' "$dir/exception:*thrower*"
begin --csv --by function "$dir/exception:*thrower*"
timeout 1 "$dir/exception"
[ $? = 124 ] || fail "a program that throws to run on while its calls are counted"
end
[ "$(awk -F, '{ n += $8 } END { print n + 0 }' "$out")" -gt 0 ] || fail "calls that are left by exceptions to be counted"
libc=$(awk '/\/libc\.so\.6$/ { print $6; exit }' /proc/self/maps) # awk's own
cp "$libc" "$dir/libc.so.6"
refused 'go astray' "$dir/libc.so.6:_setjmp"
refused 'go astray' "$dir/libc.so.6:swapcontext"

# --- beside another's return probes ---
if [ -n "$has_sessions" ] && command -v bpftrace >/dev/null; then
	bpftrace -e "BEGIN { printf(\"ready\\n\"); } uretprobe:$own:ret_down { @down = count(); } uretprobe:$own:ret_over { @over = count(); }" \
		>"$dir/theirs" 2>&1 &
	theirs=$!
	tries=300
	until grep -q ready "$dir/theirs" || [ $((tries -= 1)) = 0 ]; do sleep 0.1; done
	has "$dir/theirs" ready
	begin --csv --by function --latency --max-overhead 0 "$own:ret_*"
	returner ', with two return probes in a function' 50
	end
	ledger "${kernel[@]}"
	kill -INT "$theirs"
	ended "$theirs" bpftrace
	has "$dir/theirs" '@down: 550'
fi
finish
