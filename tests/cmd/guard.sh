#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 240
# The guard: a storm of events is thinned, which is told; sums stay right. A calm program is not.
. "$(dirname "$0")/lib.bash"
need_profile
is_root || skip "needs root"
storm=$SOPROF_BUILD/tests/cmd/storm
# between WHAT LOW N HIGH
between() { [ "$2" -le "$3" ] && [ "$3" -le "$4" ] || fail "$1 between $2 and $4, not $3"; }
sum() { awk -v p="$1" '$0 ~ p { n += $NF } END { printf "%.0f\n", n }' "$dir/folded"; }
part='one of [0-9]+( for 1/[0-9]+ of the time)?'
left_out() { tr -s ' \n' ' ' <"$err" | sed -nE 's/.*not sampled since over budget \(--max-overhead\) ([0-9]+).*/\1/p'; }

# A fault counts for all that were not taken. What the cap kept out is told by number, and is the rest.
expect 0 profile -f -e faults --max-overhead 1 -o "$dir/folded" -- "$storm" faults $((500 / slow + 50))
says "guard faults cost [0-9]+ % of a CPU, more than 1 % \(--max-overhead\): $part was taken( at first,|; each counts so many times)"
[ "$(grep -c '^guard ' "$err")" = 1 ] && has_not "$err" '^soprof: faults'
true=$(cat "$out")
found=$(sum '^storm;')
n=$(left_out)
say "faults: $true, found $found, told as left out ${n:-0}"
grep -qE '^ .*detached| 1/[0-9]+ ' "$err" || between faults $((true * 8 / 10)) $((found + ${n:-0})) $((true * 12 / 10))

# Nobody's budget: every one is counted, and nothing is told.
expect 0 profile -f -e faults --max-overhead 0 -o "$dir/folded" -- "$storm" faults 100
between "all faults" $(($(cat "$out") - 200)) "$(sum '^storm;')" $(($(cat "$out") + 2000))
[ "$slow" != 1 ] || has_not "$err" 'max-overhead'

# So is every wait of a storm of them, by the kernel's count of how often the threads left a CPU.
expect 0 profile -f -e offcpu --max-overhead 0 -o "$dir/folded" -- "$storm" waits 1500
read -r _ switches <"$out"
n=$(sed -nE 's/^samples +([0-9]+) in .*/\1/p' "$err")
say "$switches times off the CPU, found $n"
between "all waits" $((switches * 995 / 1000)) "$n" $((switches + 3)) # those below 1 us are none

# The budget is a quarter of what that has cost here and now: a busy machine has fewer switches.
cost() { tr -s ' \n' ' ' <"$err" | sed -nE 's/.* BPF = ([0-9]+)\.[0-9]+ % of a CPU.*/\1/p'; }
n=$(cost)
budget=$((n >= 8 ? n / 4 : 1))

# Threads that sleep beside a storm of switches: the time that they did not run is right within what chance allows.
expect 0 profile -f -e offcpu --max-overhead $budget -o "$dir/folded" -- "$storm" waits $((5000 / slow))
read -r true _ <"$out"
found=$(sum '^sleeper;')
n=$(left_out)
say "ns that sleepers did not run: $true, found $found; left out ${n:-0} waits; $(cost) % of a CPU, of $budget"
if [ "$slow" = 1 ]; then
	# that little may be the start
	[ "$budget" -lt 5 ] && [ "$(cost)" -le $((budget + 4)) ] ||
		says "guard offcpu cost [0-9]+ % of a CPU, more than $budget % \\(--max-overhead\\): one of [0-9]+ was taken"
	grep -q 'detached' "$err" || between 'ns asleep' $((true * 3 / 4)) "$found" $((true * 5 / 4))
fi

# Where even the draw is too much, there are windows: sums are right within what chance allows, which is a period or two.
rounds=$((8000 / slow))
expect 0 profile -f -e faults --max-overhead 1 -o "$dir/folded" -- "$storm" faults $rounds
true=$(cat "$out")
found=$(sum '^storm;')
n=$(left_out)
say "faults: $true, found $found in windows, told as left out ${n:-0}"
if tr -s ' \n' ' ' <"$err" | grep -q 'of the time'; then
	says "guard faults cost .* one of [0-9]+ was taken at first, (at times $part, )?at the end (one of 256 for 1/[0-9]+ of the time|$part|every one|none); each counts so many times"
fi
grep -q 'detached' "$err" || between 'faults in windows' $((true / 2)) $((found + ${n:-0})) $((true * 3 / 2))

# With so small a budget for so much the event is detached, which is no failure. When the storm is over it is attached
# again, and what waits then is seen.
if [ "$slow" -gt 1 ]; then
	expect 0 profile -f -e offcpu --max-overhead 1 -o "$dir/folded" -- "$storm" waits 8000
	if grep -q 'detached' "$err"; then
		says 'it was detached (after|for|[0-9]+ times, for) [0-9.]+ s, and what came then is not there'
	fi
else
	expect 0 profile -f -e offcpu --max-overhead 1 -o "$dir/folded" -- sh -c '"$1" waits 6000 >"$2"; exec sleep 14' - "$storm" "$dir/null"
	if grep -q 'detached' "$err"; then
		says 'at the end (one of [0-9]+|every one|none); each counts so many times; it was detached ([0-9]+ times, )?for [0-9.]+ s, and what came then is not there'
	fi
fi

# What is calm is exact, as without a guard.
expect 0 profile -f -e offcpu -o "$dir/folded" -- sleep 0.5
[ "$slow" != 1 ] || has_not "$err" 'max-overhead'

# Events with a rate cost what it makes them cost.
expect 2 profile --max-overhead 5 -- true
one_line '^soprof: profile: --max-overhead is for events without a rate'
expect 2 top --max-overhead 5 -b
one_line '^soprof: top: --max-overhead is for events without a rate'
expect 2 profile -e offcpu --max-overhead 5% -- true
finish
