#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Allocations of a process that runs, by probes at its malloc, beside its own ledger: exact with --thin 1, sampled near the
# truth, also on another libc's malloc; what it had before, and calls that never end, are told; what costs too much is
# detached; the options of bcc's memleak.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/mem.bash"
need_profile
need_root
cp "$SOPROF_BUILD/tests/cmd/allocate" "$dir/allocate"

by=(profile -e mem --max-overhead 0)
preload=
# victim NAME ARGUMENT...: starts it; $pid, and $gate to let it go on. Its output is in $dir/truth.
victim() {
	rm -f "$dir/gate" "$dir/truth"
	mkfifo "$dir/gate"
	LD_PRELOAD=$preload "$dir/$1" - "${@:2}" <"$dir/gate" >"$dir/truth" &
	pid=$!
	exec {gate}>"$dir/gate"
	until [ -s "$dir/truth" ] || ! kill -0 $pid; do
		sleep 0.05
	done
}
# mem_of NAME OPTION... -- ARGUMENT...: it does its work while it is sampled. Where others have the CPUs, tables may come late,
# and stacks are cut, which the summary says: then once more.
mem_of() {
	local name=$1 options=() turn soprof
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	for turn in 1 2 3 4 5; do
		victim "$name" "$@"
		what="${by[*]} -p $pid ${options[*]}"
		"$SOPROF" "${by[@]}" --output "$dir/p.pb.gz" -p $pid "${options[@]}" 600 >"$out" 2>"$err" &
		soprof=$!
		until grep -q '^CapEff:\s0*$' /proc/$soprof/status; do # all is attached, then
			kill -0 $soprof 2>/dev/null || { fail 'soprof to sample'; break; }
			sleep 0.1
		done
		echo >&"$gate"
		exec {gate}>&-
		wait $pid || fail "$name to do its work"
		kill -INT $soprof 2>/dev/null # it may have ended with the process
		wait $soprof
		status=$?
		[ "$status" = 0 ] || fail 'exit code 0'
		read -r -a truth < <(tail -n 1 "$dir/truth")
		! tr -s ' \n' ' ' <"$err" | grep -q 'cut 0 (' || return 0
		say "turn $turn: stacks were cut"
	done
}

# --- exact ---
mem_of allocate --thin 1 --
same_as_ledger 'in a process' allocate
same 'what grow has in a process' "$(value live_bytes --function grow)" 3000
same 'what late has in a process' "$(value live_bytes --function late)" 5911
says ': the end of a call that allocates was not seen 3 '
"$SOPROF" report --format folded --value live_bytes "$dir/p.pb.gz" >"$out"
has "$out" ';main;every_way;leak_all [0-9]+$' # who allocates is the leaf

mem_of allocate --thin 1 -- 1000
says '^soprof: 2 frees were of blocks that were not seen to be allocated'

# What is the same for every kernel is done on this one alone: a session takes ten seconds of the second kernel's guest.
if [ "$slow" = 1 ]; then
	cp "$SOPROF_BUILD/tests/cmd/leaky" "$dir/leaky"
	mem_of leaky --thin 1 -- 2000
	same_as_leaky "$dir/truth"
fi

# --- sampled ---
run=(mem_of allocate --thin 64K -- 20000)
is_near 65536 "${run[@]}" || is_near 65536 "${run[@]}" || fail 'a sample within three standard deviations of the truth'
has_not "$err" 'not seen'

# --- other libraries' malloc ---
if [ -x "$(command -v musl-gcc)" ]; then
	musl-gcc -std=gnu17 -O1 -fno-builtin -w -o "$dir/musl" "$SOPROF_SOURCE/tests/cmd/allocate.c" -DHAS_MUSL || fail 'musl-gcc to work'
	mem_of musl --thin 1 --
	same_as_ledger 'in a process on musl' musl
fi

# --- too much ---
by=(profile -e mem)
mem_of allocate --max-overhead 1 -- 3000000
says 'mem cost [0-9]+ % of a CPU, more than 1 % \(--max-overhead\): it was detached after [0-9.]+ s, and is told as it was then'

# --- by bcc's options ---
by=(memleak --max-overhead 0)
if [ "$slow" = 1 ]; then
	mem_of allocate -o 0 -z 1050 -Z 1099 --
	same 'blocks of some sizes of leak_all' "$(value live --function leak_all)" 50
	mem_of allocate -s 10 -- 20000
	got=$(value allocations)
	say "one in 10: $got of ${truth[0]}"
	awk -v got="$got" -v want="${truth[0]}" 'BEGIN { exit (got - want) ^ 2 > 16 * 9 * want || got % 10 }' ||
		fail 'one in 10 within four standard deviations'
	victim allocate
	expect 0 memleak -p $pid 1 1
	expect 0 memleak -p $pid -O libc.so.6 -s 1 --combined-only --by library --output "$dir/x.csv" 1
	expect 1 memleak -p $pid -O allocate 1
	one_line "allocate of process $pid has no malloc that can be probed"
	expect 2 memleak -p $pid -O libnosuch.so 1
	one_line "no library or program .libnosuch.so.: the process does not map it"
	exec {gate}>&-
	kill $pid
	expect 0 memleak -c "$dir/allocate 1000" --output "$dir/p.pb.gz"
	read -r -a truth <"$out"
	same 'blocks by memleak -c' "$(value allocations --process allocate)" "${truth[0]}"
fi

# --- by age, and the largest: blocks of before a pause and after it, some freed, one moved after it ---
cp "$SOPROF_BUILD/tests/cmd/aged" "$dir/aged"
# aged OPTION...: with the values in $dir/p.pb.gz, or as text in $out
aged() {
	victim aged $pause
	what="memleak -p $pid $*"
	"$SOPROF" "${by[@]}" -p $pid "$@" 600 >"$out" 2>"$err" &
	local soprof=$!
	until grep -q '^CapEff:\s0*$' /proc/$soprof/status; do
		kill -0 $soprof 2>/dev/null || { fail 'soprof to sample'; break; }
		sleep 0.1
	done
	echo >&"$gate"
	until grep -q done "$dir/truth"; do sleep 0.05; done
	kill -INT $soprof
	wait $soprof || fail 'exit code 0'
	exec {gate}>&-
	wait $pid
}
pause=$((2 * slow + 1))
aged -o $((2000 * slow)) --output "$dir/p.pb.gz"
same 'blocks of before the pause' "$(value live --function first_block)" 24
same 'their bytes' "$(value live_bytes --function first_block)" 24000
same 'blocks of after it' "$(value live --function later_block)" 0
same 'the one that was moved' "$(value live --function moved_block)" 0
same 'all blocks of after it' "$(value allocations --function later_block)" 20
pause=
if [ "$slow" = 1 ]; then
	aged -o 0 --output "$dir/p.pb.gz"
	same 'blocks of any age' "$(value live --function later_block)/$(value live_bytes --function moved_block)" 19/5000
	aged -o 0 -T 1
	[ "$(grep -cE '^ +(first|later|moved)_block$' "$out")" = 1 ] && grep -q '^ *first_block$' "$out" || fail 'one stack, of first_block'
	says '^soprof: [0-9]+ more stacks with [0-9.]+ [A-Za-z]+ are not shown'
fi

# --- told again and again, each time with all that lives by then ---
victim aged $pause
what="memleak -p $pid -o 0 -a 1"
"$SOPROF" "${by[@]}" -p $pid -o 0 -a 1 >"$out" 2>"$err" &
soprof=$!
is_told() { [ "$(grep -cE '^\[[0-9]{2}:[0-9]{2}:[0-9]{2}\]$' "$out")" -ge "$1" ]; }
# The numbers of its stack in the last that was told: what is told is two values, live bytes first.
first_block() { awk '/^\[/ { last = "" } /first_block/ { in_it = 1 } in_it && /^ +[a-z]+ \([0-9]+\)$/ { } in_it && /^ +[0-9]+$/ { last = $1; in_it = 0 } END { print last }' "$out"; }
wait_until $((300 * slow)) is_told 1 || fail 'what lives to be told'
echo >&"$gate"
until grep -q done "$dir/truth"; do sleep 0.05; done
n=$(grep -c '^\[' "$out")
wait_until $((300 * slow)) is_told $((n + 2)) || fail 'what lives to be told again'
same 'bytes of first_block that are told' "$(first_block)" 24000
kill -INT $soprof
wait $soprof || fail 'exit code 0'
is_told $((n + 3)) || fail 'what lives to be told at the end'
# Each block of the last that was told: 24 of 1000 bytes, one of 5000 that was moved, 19 of 100.
for block in '24 1000' '1 5000' '19 100'; do
	read -r count bytes <<<"$block"
	same "blocks of $bytes bytes that are shown" \
		"$(awk -v bytes="$bytes" '/^\[/ { n = 0 } /^\taddr = [0-9a-f]+ size = / && $NF == bytes { n++ } END { print n + 0 }' "$out")" "$count"
done
exec {gate}>&-
wait $pid
# --- the same with every kernel: how often it is told; bad input ---
[ "$slow" = 1 ] || finish
victim aged
expect 0 memleak -p $pid 1 2
[ "$(grep -c '^\[' "$out")" = 2 ] || fail 'to be told twice'
exec {gate}>&-
kill $pid 2>/dev/null
expect 2 memleak -p $$ -a --by library
one_line '^soprof: memleak: -a prints blocks as text'
expect 2 memleak -p $$ -a --thin 64K
one_line '^soprof: memleak: -a needs every block'
expect 2 profile -e mem -p 1,$$ 1
one_line 'mem samples a command that soprof starts, or one process'
expect 1 profile -e mem -p 4194303 1
one_line 'there is no process 4194303'
expect 2 memleak 5
one_line '^soprof: memleak: whose memory\?'
expect 2 memleak -p $$ -t
one_line '^soprof: memleak: -t is refused'
expect 2 memleak -p $$ --wa-missing-free
one_line '^soprof: memleak: --wa-missing-free is refused'
expect 2 memleak -p $$ --output "$dir/x.csv" 5 3
one_line '^soprof: memleak: --output FILE is written once'
expect 2 memleak -p $$ -z 10 -Z 9
one_line '^soprof: memleak: -z is more than -Z: no block'
for option in '-s 2' '-z 10' '-Z 10' '-O libc.so.6'; do
	expect 2 memleak -c true $option
	one_line '^soprof: memleak: -O, -s, -z and -Z are for a process that runs'
done
expect 2 memleak -p $$ --percpu
one_line 'percpu'
finish
