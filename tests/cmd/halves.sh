#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Stacks of the kernel beside those of programs, the idle threads, the ways to unwind.
. "$(dirname "$0")/lib.bash"
need_profile
start stripped kernel 600
kernel=$pid
start plain recursion 600 5
recursion=$pid
wait_working "$kernel" "$recursion"
at_ease "$kernel" "$recursion"

expect 0 profile -f -F 99 -p "$kernel" -d -a $seconds
has "$out" '^kernel;.*;-;.*_\[k\] [0-9]+$'
has_not "$out" '\[kernel\]\+0x'
expect 0 profile -f -F 99 -p "$kernel" $seconds
has_not "$out" '(_\[k\]|;-;)'
expect 0 profile -U -c 10000000 -C 0 $seconds
has "$out" '^Sampling .* of all threads by user stack on CPU#0 for'

# the idle threads are left out unless asked for
idle() { awk '/^cpu / { print $5 }' /proc/stat; }
what='profile -f -K -F 99 -I'
"$SOPROF" profile -f -K -F 99 -I $((2 * seconds)) >"$out" 2>"$err" </dev/null &
job=$!
wait_sampling $job
before=$(idle)
sleep $seconds # while it samples
after=$(idle)
wait $job || fail "exit code 0"
# hundredths of a second; on a machine that never rested there is nothing to see
[ $((after - before)) -lt 20 ] || has "$out" '^swapper/[0-9]+;'
expect 0 profile -f -K -F 99 $seconds
has_not "$out" '^swapper/'

expect 0 profile -f -U --unwind fp -F 99 -p "$recursion" $seconds
expect 0 profile -f -U --unwind dwarf -F 199 -p "$recursion" $seconds
check_victim plain recursion --samples 5 --complete 99 --deepest even,odd=5
finish
