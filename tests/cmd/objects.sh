#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# What events are about: the memory that faults touched, by the kernel's own counts; the locks that were waited for, by
# what the waiting thread measured.
. "$(dirname "$0")/lib.bash"
need_profile
unguarded=1
tests=$SOPROF_BUILD/tests/cmd
# value LABEL NAME: the sum in a table by it, as CSV; "" if it is not there
value() { awk -F, -v by="$1" -v name="$2" '$1 == by && $2 == name { print $8 }' "$out"; }
# near WHAT N LOW HIGH
near() { [ -n "$2" ] && [ "$3" -le "$2" ] && [ "$2" -le "$4" ] || fail "$1 between $3 and $4, not ${2:-there at all}"; }

# --- faults ---
dd if=/dev/urandom of="$dir/file.data" bs=4096 count=400 2>/dev/null
touch() { # the profile, and what the kernel counted: MINOR + MAJOR of each kind
	expect 0 profile -e faults -o "$dir/x.pb.gz" -- sh -c "exec '$tests/toucher' '$dir/file.data' >'$dir/truth'"
	declare -gA minor=() major=()
	local name n m
	while read -r name n m; do minor[$name]=$n major[$name]=$m; done <"$dir/truth"
}
touch
[ "${minor[\[anon\]]:-0}" -ge 900 ] || fail "the victim's own counts"
expect 0 report --by memory --csv "$dir/x.pb.gz"
for name in '[heap]' '[anon]'; do
	near "faults of $name" "$(value memory "$name")" "${minor[$name]}" $((minor[$name] + 25))
done
near "faults of the program's .bss" "$(value memory 'toucher data')" "${minor[data]}" $((minor[data] + 25))
both=$((minor[\[stack\]] + minor[thread])) # a thread's stack may have huge pages
near "faults of both stacks" "$(value memory '[stack]')" $((both - 20)) $((both + 25))
near "faults of the file" "$(value memory file.data)" $((minor[file] + major[file] - 5)) $((minor[file] + major[file]))
# The shell's faults, before it was the victim, are among the profile's; the victim's last ones not among its own.
all=$((minor[all] + major[all]))
expect 0 report --by fault --csv --comm toucher "$dir/x.pb.gz"
minor_faults=$(value fault minor) major_faults=$(value fault major)
near 'all faults' $((minor_faults + major_faults)) $((all - 100)) $((all + 100))
near 'major faults' "$major_faults" "${major[file]}" "${major[all]}"
# In a view of stacks it is the leaf; a label in the others chooses.
expect 0 profile -e faults -f -- "$tests/toucher" "$dir/file.data"
has "$out" '^toucher;.*;main;write_pages;\[heap\] [0-9]+$'
has "$out" '^toucher;.*;write_thread;write_pages;\[stack\] [0-9]+$'
has "$out" '^toucher;.*;write_stack;write_pages;\[stack\] [0-9]+$'
has "$out" '^toucher;.*;write_pages;toucher data [0-9]+$'
has "$out" '^toucher;.*;read_pages;file\.data [0-9]+$'
# The libraries that a flame graph lists are those of the code all the same.
expect 0 profile -e faults -o "$dir/x.svg" -- "$tests/toucher" "$dir/file.data"
legend=$(sed -n '/id="legend"/,/^<\/g>/p' "$dir/x.svg" | tr -d '\n')
grep -qF '[heap]' "$dir/x.svg" && [[ $legend == *toucher* && $legend != *memory* ]] ||
	fail "[heap] drawn, and a legend with the program and not the memory: $legend"
expect 0 report --label 'memory=[heap]' --by function --csv "$dir/x.pb.gz"
near 'faults of the heap by function' "$(value function write_pages)" "${minor[\[heap\]]}" $((minor[\[heap\]] + 25))
expect 0 report --leaf memory --format folded "$dir/x.pb.gz"
has "$out" ';write_pages;\[anon\] [0-9]+$'
expect 0 page-faults --by memory -- "$tests/toucher" "$dir/file.data"
has "$out" ' \[heap\]$'

# --- locks ---
# near_waits COLUMN: the sums by lock are what the waiting thread measured, by the lock's name (1), or its address (2)
near_waits() {
	local n=0 name address waited
	while read -r name address waited; do
		[ "$1" = 1 ] || name=$address
		near "ns for $name" "$(value lock "$name")" $((waited * (slow > 1 ? 85 : 95) / 100)) "$waited"
		n=$((n + 1))
	done <"$dir/truth"
	[ $n = 3 ] && grep -q '^libheld.so:in_' "$dir/truth" && grep -q '^\[heap:' "$dir/truth" || fail "three locks"
}
expect 0 profile -e locks -o "$dir/x.pb.gz" -- sh -c "exec '$tests/holder' >'$dir/truth'"
expect 0 report --by lock --csv "$dir/x.pb.gz"
near_waits 1
expect 0 profile -e locks -f -- "$tests/holder"
has "$out" '^waiter;.*;waiter;wait_for;.*pthread_mutex_lock.*;(__)?schedule;libheld\.so:in_bss\+0x2dc6c0 [0-9]+$'
has "$out" ';libheld\.so:in_data [0-9]+$'
expect 0 profile -e locks -f -U -- "$tests/holder"
has "$out" '^waiter;.*;waiter;wait_for;.*;libheld\.so:in_bss\+0x2dc6c0 [0-9]+$'
# Without symbols it is the address, and with those of a debug file the name again.
if command -v objcopy >/dev/null; then
	mkdir "$dir/debug"
	objcopy --only-keep-debug "$tests/libheld.so" "$dir/debug/libheld.debug"
	objcopy -S --add-gnu-debuglink="$dir/debug/libheld.debug" "$tests/libheld.so" "$dir/libheld.so"
	expect 0 profile -e locks --by lock --format csv -- sh -c "LD_PRELOAD='$dir/libheld.so' exec '$tests/holder' >'$dir/truth'"
	near_waits 2
	mkdir -p "$dir/debug$dir" && mv "$dir/debug/libheld.debug" "$dir/debug$dir"
	expect 0 profile -e locks --debug-dir "$dir/debug" --by lock --format csv -- \
		sh -c "LD_PRELOAD='$dir/libheld.so' exec '$tests/holder' >'$dir/truth'"
	near_waits 1
fi
# Who waits already when the sampling begins waits for a lock, too.
"$tests/holder" stuck >"$dir/truth" &
pid=$!
until [ -s "$dir/truth" ] && grep -q futex_ "/proc/$pid/task/"*/stack; do sleep 0.1; done
began=${EPOCHREALTIME/[.,]/}
expect 0 profile -e locks -p $pid --by lock --format csv $seconds
near 'ns of the lock that is held' "$(value lock libheld.so:in_bss+0x2dc6c0)" $((seconds * 500000000)) $(((${EPOCHREALTIME/[.,]/} - began) * 1000))
kill $pid

# Waits have states to group by, which others' rows have not.
expect 0 profile -e offcpu --by state --format csv -- sleep 0.5
near 'ns asleep' "$(value state sleeping)" 450000000 5000000000
for wrong in 'lock is for -e locks:faults' 'memory is for -e faults:locks' 'fault is for -e faults:offcpu' \
	'state is for -e offcpu, wall, locks:cpu,faults'; do
	expect 2 profile -e "${wrong#*:}" --by "${wrong%% *}" 1
	one_line "--by ${wrong%:*}\$"
done
finish
