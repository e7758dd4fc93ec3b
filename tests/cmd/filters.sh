#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 200
# -p -L -C --comm --cgroup -l -U -K: what is wanted is there, and nothing else.
. "$(dirname "$0")/lib.bash"
need_profile
start plain recursion 600 30
recursion=$pid
start plain callback 600
callback=$pid
start plain threads 600
threads=$pid
wait_working "$recursion" "$callback" "$threads"
at_ease "$recursion" "$callback" "$threads"

says_that() { tr -s ' \n' ' ' <"$err" | grep -qE -- "$1"; }
comms() { cut -d ';' -f 1 "$out" | sort -u | tr '\n' ',' | sed 's/,$//'; }
only() { [ "$(comms)" = "$1" ] || fail "samples of $1 only, not of $(comms)"; }

if [ "$slow" = 1 ]; then # with other numbers and names: the same programs of the kernel half
	expect 0 profile -f -F 99 -p "$recursion" $seconds
	only recursion
	expect 0 profile -f -F 99 --tid "$recursion" $seconds
	only recursion
	expect 0 profile -f -F 99 --comm recursion $seconds
	only recursion
	expect 0 profile -f -F 99 -C 0-1,0 $seconds
fi
expect 0 profile -f -F 99 -p "$recursion,$callback" $seconds
only callback,recursion
expect 0 profile -f -F 99 -p "$threads" $seconds
only 'named one,threads'
tid=$(grep -l 'named one' /proc/"$threads"/task/*/comm | cut -d / -f 5)
expect 0 profile -f -F 99 -L "$tid" $seconds
only 'named one'
expect 0 profile -f -F 99 --comm 'named*' $seconds
only 'named one'
# by library: in the user half, which is the same with every kernel
if [ "$slow" = 1 ]; then
	expect 0 profile -f -U -F 399 -p "$callback" -l 'libc.so*' $seconds
	only callback
	lines=$(grep -c '' "$out")
	[ "$(grep -cE ';(qsort|__qsort_r|qsort_r|msort|_quicksort|libc\.so\.6\+|__libc_start|bsearch|clock_gettime)' "$out")" = "$lines" ] || fail "each line to have a frame in libc"
	expect 1 profile -f -U -F 99 -p "$callback" -l 'nonsense*' $seconds
	[ ! -s "$out" ] || fail "no samples of a library that is not there"
	has "$err" "no sample is of a library 'nonsense\*'$"
	# of a file in no sample that is shown the summary says nothing
	expect 0 profile -v -U -F 399 -p "$callback" -l 'libc.so*' $seconds
	! says_that 'unwind rows .* ld-linux' || fail "nothing of the loader's rows"
fi

# halves
expect 0 profile -f -F 99 -U -a $seconds
has_not "$out" '_\[k\]'
expect 0 profile -f -F 99 -K -a $seconds
has_not "$out" ';(burn|main|_start)[; ]'

# CPUs: what may only run on CPU 0 is not seen on CPU 1
taskset -p -c 0 "$recursion" >/dev/null
if [ "$(nproc)" -gt 1 ]; then
	expect 0 profile -f -F 99 -C 1 -p "$recursion" $seconds
	[ ! -s "$out" ] || fail "no samples on CPU 1 of what runs on CPU 0"
fi
expect 0 profile -f -F 99 -C 0 -p "$recursion" $seconds
only recursion

# cgroups
group=
for mount in $(awk '$3 == "cgroup2" { print $2 }' /proc/mounts); do
	mkdir "$mount/soprof-test-$$" 2>/dev/null && group=$mount/soprof-test-$$ && break
done
if [ -n "$group" ] && echo "$callback" >"$group/cgroup.procs"; then
	expect 0 profile -f -F 99 --cgroup "$group" $seconds
	only callback
	kill -KILL "$callback"
	wait "$callback" 2>/dev/null
	rmdir "$group"
fi
expect 1 profile -f --cgroup "$dir/no-such-cgroup" 1
one_line 'no-such-cgroup'
finish
