#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# Calls that are timed: what programs do stays what it was, in every way in which a watched return could go wrong
# (tests/victim/calls/timed.cc: exceptions, longjmp, cancellation, fibers, stacks that are copied, signals, threads,
# forks, backtraces, all kinds of results), and the times are those that a program measures itself.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
. "$(dirname "$0")/calls_programs.bash"
at=$victims/calls/timed
grep -qw constant_tsc /proc/cpuinfo && grep -qw nonstop_tsc /proc/cpuinfo &&
	grep -qw tsc /sys/devices/system/clocksource/clocksource0/available_clocksource ||
	{ echo "the CPUs' time-stamp counters are not one steady clock"; exit 77; }
time_into() { # FILE DEPTH LIBRARY...
	rm -f "$1"
	count_into "$@"
	"$calls_file" time "$file" || fail "calls that can be timed"
}
of() { "$calls_file" times "$file" | awk -v f="$1" -v n="$2" '$1 == f { print $n }'; } # FUNCTION 2: calls, 3: timed, 4: ns
measured() { awk -v f="$1" '$1 == f { print $3 }' "$out"; }
between() { # WHAT LEAST NUMBER MOST: to 1 in 1,000, as clocks differ
	awk -v least="$2" -v n="$3" -v most="$4" 'BEGIN { exit !(n >= 0.999 * least && n <= 1.001 * most) }' ||
		fail "$1: $3, not $2 to $4"
}

for depth in site object; do
	for libraries in libtimed.so "libtimed.so libc.so.6 libm.so.6 libstdc++.so.6 libgcc_s.so.1"; do
		what="timed, by $depth: $libraries"
		time_into "$dir/timed.profile" $depth $libraries
		counted "$at/timed" >"$out" 2>"$err"
		[ $? = 0 ] && [ ! -s "$err" ] && [ "$(tail -n 1 "$out")" = "done" ] || { cat "$err"; fail "all as without us"; }
		for f in timed_spin timed_last timed_vector timed_stack; do
			[ "$(of $f 2)" = "$(of $f 3)" ] || fail "all $(of $f 2) calls of $f timed, not $(of $f 3)"
		done
		# with thousands of calls under way one may take another's place in the table
		[ $(($(of timed_one 3) * 100)) -ge $(($(of timed_one 2) * 99)) ] || fail "calls of timed_one that are timed"
		[ "$(of timed_spin 2)" = 300 ] || fail "300 calls of timed_spin"
		# timed_last(20000) spins as long, and ends in timed_spin(20000).
		between "ns of timed_last" $((100 * 40000)) "$(of timed_last 4)" "$(measured timed_last)"
		between "ns of timed_spin" $((300 * 20000)) "$(of timed_spin 4)" \
			$(($(measured timed_spin) + $(measured timed_last) - 100 * 20000))
		[ "$(of timed_wait 2)" = 20 ] && [ "$(of timed_wait 3)" = 0 ] || fail "calls that never return"
		[ "$(of timed_call 3)" -gt 500000 ] && [ "$(of timed_call 3)" -lt "$(of timed_call 2)" ] ||
			fail "calls that are left by longjmp: $(of timed_call 3) of $(of timed_call 2) timed"
		[ "$(counter untimed)" = 0 ] || fail "programs that are timed"
	done
done
"$calls_file" untimed "$file" | grep -qx swapcontext || fail "swapcontext is not timed"

# the victim that counts for itself: threads, plugins, namespaces, posix_spawn, vfork
for variant in now noplt; do
	what="timed calls, $variant"
	time_into "$dir/calls.profile" site libcounted.so
	counted "$victims/calls/$variant/calls" "$victims/calls/$variant" >"$out" 2>"$err" && [ ! -s "$err" ] || fail "what it does"
	awk 'NF == 2 && $1 != "static" { n[$1] += $2 } END { print n["counted_one"], n["counted_inner"] }' "$out" >"$dir/truth"
	echo "$(of counted_one 3) $(of counted_inner 3)" | diff "$dir/truth" - || fail "every call timed"
done

# who may not read the time-stamp counter any more
for libraries in libtimed.so "libtimed.so libc.so.6"; do
	for mode in strict fault; do
		what="timed $mode: $libraries"
		time_into "$dir/$mode.profile" site $libraries
		counted "$at/timed" $mode >"$out" 2>"$err"
		[ $? = 0 ] && [ "$(cat "$out")" = on ] || fail "a program that runs on"
		[ "$(of timed_one 2) $(of timed_one 3) $(counter untimed)" = "101 1 1" ] || fail "101 calls, 1 timed, and that told"
	done
done

# what may unwind its stack by itself is not timed
what="timed, an unwinder of its own"
time_into "$dir/alone.profile" site libtimed.so
counted "$at/alone" || fail "a program that runs"
[ "$(of timed_one 2) $(of timed_one 3) $(counter untimed)" = "1 0 1" ] || fail "1 call, not timed, and that told"

# files of calls that were timed, and others, in any order
what="timed calls and others"
cp "$dir/strict.profile" "$dir/one.profile"
count_into "$dir/other.profile" site libtimed.so
counted "$at/alone" || fail "a program that runs"
for files in 'other one' 'one other'; do
	set -- $files
	expect 0 report --csv --by function "$dir/$1.profile" "$dir/$2.profile"
	has "$out" '^timed_one,.*,101,no,1,[0-9]+,[0-9]+,[0-9]+,[0-9]+$'
done

# a debugger gets through
if command -v gdb >/dev/null; then
	what="timed, gdb"
	time_into "$dir/deep.profile" site libtimed.so libc.so.6
	cat >"$dir/commands" <<-'END'
		set startup-with-shell off
		set breakpoint pending on
		break puts
		run
		bt
		continue
	END
	counted timeout 60 gdb -nx -q -batch -iex 'set debuginfod enabled off' -x "$dir/commands" --args "$at/timed" deep \
		</dev/null >"$out" 2>"$err"
	grep -qE '^#[0-9]+ .* in main \(' "$out" || { tail -n 30 "$out" "$err"; fail "main at the end of a backtrace"; }
	[ "$(grep -c 'soprof_returns' "$out")" -ge 2 ] || fail "two stubs in it"
fi

# programs of Debian packages
time_into "$dir/libc.profile" site libc.so.6
compare_all 'bash|python|python-ctypes|perl|openssl|limits|seccomp|gdb-run|valgrind|node'
time_into "$dir/six.profile" object "${six[@]}"
compare_all 'python|sqlite|g\+\+'
[ "$n_run" -ge 8 ] || fail "8 runs, not $n_run; left out: ${left_out[*]}"

# the command
python=/usr/bin/python3
[ -x "$python" ] || { echo "no $python"; exit 77; }
what="soprof calls --latency"
sleeps='import time
for i in range(40): time.sleep(0.002)'
expect 0 calls --latency --json -o "$dir/calls.json" --keep "$dir" libc.so.6 -- "$python" -c "$sleeps"
"$python" - "$dir/calls.json" <<-'END' || fail "JSON that holds together"
	import json, sys
	t = json.load(open(sys.argv[1]))
	for f in t["functions"]:
	    assert f["timed_calls"] == sum(n for _, _, n in f["latency"]), f
	    assert all(low < high for low, high, n in f["latency"]) and f["latency"] == sorted(f["latency"]), f
	    if f["timed_calls"]:
	        assert f["p50_ns"] <= f["p99_ns"] <= f["max_ns"], f
	        low = sum(low * n for low, high, n in f["latency"])
	        high = sum(high * n for low, high, n in f["latency"])
	        assert low * 0.99 <= f["timed_ns"] <= high * 1.01 + 10, f
	sleep = [f for f in t["functions"] if f["function"] in ("clock_nanosleep", "select", "nanosleep")][0]
	assert sleep["calls"] == sleep["timed_calls"] == 40, sleep
	assert sleep["p50_ns"] >= 0.8 * 2e6 and sleep["timed_ns"] >= 40 * 2e6 * 0.999, sleep
	never = [f for f in t["functions"] if f["function"] == "__libc_start_main"][0]
	assert not never["timed"] and never["timed_calls"] == 0, never
END
expect 0 report -n 0 "$dir/libc.so.6.profile"
has "$out" '^ +calls +timed +mean +p50 +p99 +max  function, its callers$'
has "$out" '^ +40 +40 +([2-9]|[0-9]{2,})\.[0-9]+ ms .* ms  (clock_nanosleep|select|nanosleep) '
has "$out" '^ +1 +untimed + - + - + - + -  __libc_start_main '
has "$out" '^untimed: '
expect 0 report --csv --by function "$dir/libc.so.6.profile"
has "$out" ',address_taken,timed_calls,timed_ns,p50_ns,p99_ns,max_ns$'
# what is not asked for is not there; and the file keeps what it had
expect 0 calls --no-times --csv -o "$dir/calls.csv" --keep "$dir" libc.so.6 -- "$python" -c "$sleeps"
head -n 1 "$dir/calls.csv" >"$out"
has "$out" ',address_taken$'
expect 0 report --json --by function "$dir/libc.so.6.profile"
"$python" -c 'import json, sys
f = [f for f in json.load(open(sys.argv[1]))["functions"] if f["function"] in ("clock_nanosleep", "select", "nanosleep")][0]
assert f["calls"] == 80 and f["timed_calls"] == 40, f' "$out" || fail "80 calls, 40 of them timed"
finish
