#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 240
# beside others
# Stacks through code of HotSpot (java) are whole, whoever made it: interpreter, both compilers, with and without frame
# pointers. Compiled methods of Chain.java, whose names HotSpot tells (jcmd Compiler.perfmap), say who calls whom.
. "$(dirname "$0")/lib.bash"
need_profile
command -v javac >/dev/null && command -v jcmd >/dev/null || skip "there is no JDK"
javac -d "$dir" "$SOPROF_SOURCE/tests/cmd/Chain.java" || skip "javac does not work"

# Of two methods of the chain that follow one another in a stack the first calls the second. Only what is marked as
# guessed may be wrong. Frames of the interpreter have no names, and stand between.
chain() {
	awk -v name="$1" '
		function end_of_stack(    i, n, a, b) {
			n = 0
			if (!guessed) for (i = n_frames; i > 1; i--) {
				a = place(frame[i]); b = place(frame[i - 1])
				if (a) n_seen++
				if (a && b && b != a + 1) { print name ": " frame[i] " does not call " frame[i - 1]; bad = 1 }
			}
			n_frames = guessed = 0
		}
		function place(s,    i) {
			for (i = 1; i <= 5; i++) if (s ~ "Chain[.]fn" word[i] "[(]") return i
			return 0
		}
		BEGIN { split("Main Sum Step Loop Leaf", word, " ") }
		/^    [^ -]/ { frame[++n_frames] = $0; guessed = guessed || /[(]guessed[)]/ }
		/^$/ { end_of_stack() }
		END { end_of_stack(); if (n_seen < 3) { print name ": methods of the chain in " n_seen + 0 " places"; bad = 1 }; exit bad }' \
		"$out" || fail "$1: who calls whom"
}
mode() {
	local name=$1 java
	shift
	java -cp "$dir" "$@" Chain >/dev/null 2>&1 </dev/null &
	java=$!
	wait_working "$java"
	jcmd "$java" Compiler.perfmap >/dev/null 2>&1
	at_ease "$java"
	expect 0 profile -v -U --format text -F 1499 -p "$java" $((3 * seconds))
	whole 95 "$name"
	says 'by the frames of a runtime'
	[[ $name =~ ^(default|interpreted)$ ]] || chain "$name" # all of it is one method, or has no names
	kill -KILL "$java"
	wait "$java" 2>/dev/null
	rm -f "/tmp/perf-$java.map"
}
# From its first moment, with no table on the disk, and none built before java has run for a third of a second: all its
# samples wait, and then what their stacks take of the code cache is read out of the process.
ticks() { awk '{ sub(/.*[)] /, ""); print $12 + $13 }' "/proc/$1/stat" 2>/dev/null; } # of 10 ms
has_run() { java=$(pgrep -f "^java -cp $dir "); [ -n "$java" ] && [ "$(ticks "$java")" -ge "$1" ]; }
has_run_unparsed() { signal_parsers STOP "$profiler"; has_run 30; }
is_known() { compgen -G "$dir/cache/unwind/$id-*" >/dev/null; }
first() {
	local profiler java id
	id=$(readelf -n "$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")/lib/server/libjvm.so" | sed -n 's/.*Build ID: //p')
	what="profile -- java ${*@Q}"
	CACHE_DIRECTORY=$dir/cache "$SOPROF" profile -v -U --format text -F 499 -- java -cp "$dir" "$@" Chain >"$out" 2>"$err" </dev/null &
	profiler=$!
	wait_until 600 has_run_unparsed || fail "java to run"
	signal_parsers CONT "$profiler"
	wait_until 300 is_known || fail "libjvm.so to be known"
	wait_until 600 has_run $(($(ticks "$java") + 30)) || fail "java to go on"
	jcmd "$java" Compiler.perfmap >/dev/null 2>&1
	kill -KILL "$java"
	wait "$profiler" 2>/dev/null
	whole 95 "from its first moment"
	chain "from its first moment"
	rm -f "/tmp/perf-$java.map"
}
apart=(-XX:MaxInlineSize=0 -XX:FreqInlineSize=0)
mode default
mode compiled "${apart[@]}" -XX:+UseSerialGC
mode frame-pointers "${apart[@]}" -XX:+PreserveFramePointer -XX:+UseG1GC
mode first-compiler "${apart[@]}" -XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:C1MaxInlineSize=0
mode interpreted -Xint
first "${apart[@]}" -XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:C1MaxInlineSize=0
finish
