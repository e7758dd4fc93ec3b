#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 90
# The first profile of a machine: no table is on the disk, and the parsers stand still until the command has ended. All
# its samples wait, with the 350 mappings of its process, and are as whole in the end as those of any other.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
unshare --mount true 2>/dev/null || skip "no namespaces here"

cat >"$dir/command" <<'END'
until [ -e "$1/go" ]; do :; done
"$2" maps "$3" "$1" 700 2>"$1/mappings" # of which the kernel joins every two
"$4" 0.5 1500 # some 150 KiB of stack, of which 64 are copied with each sample
"$4" 0.5 w8   # 1.6 MB, of which hardly a page was ever touched
"$4" 0 u      # its stack pointer is below the stack's mapping
: >"$1/over"
END
what='profile (the first of all)'
unshare --mount bash -c 'mount -t tmpfs none /var/cache && exec "$@"' - \
	"$SOPROF" profile -U -f -F 199 -- bash "$dir/command" "$dir" "$victims/hostile" "$slow" "$victims/plain/recursion" >"$out" 2>"$err" </dev/null &
profiler=$!
# One that was missed, since it had nothing to do, is stopped when the program needs it.
wait_until 50 signal_parsers STOP $profiler
: >"$dir/go"
stop_until_over() { signal_parsers STOP $profiler; [ -e "$dir/over" ]; }
wait_until 300 stop_until_over || fail "the command to end"
signal_parsers CONT $profiler
wait $profiler || fail "exit code 0"
has "$out" '^hostile;.*;(main|hostile\+0x[0-9a-f]+);'
n=$(grep '^hostile;' "$out" | count)
[ "$n" -ge 10 ] || fail "10 samples of the program, not $n"
# Deep stacks are whole, too. (What fell into the loader, which starts the program, is not deep.)
awk -F';' '$1 == "recursion" && /;(wide|untouched)[; ]/ { untouched += /;untouched /; sub(/.* /, "", $NF); n += $NF; if ($2 == "_start") whole += $NF }
	END { print "recursion: " whole + 0 " of " n + 0 " whole, " untouched + 0 " stacks of untouched()"
		exit n < 5 || !untouched || whole < 0.9 * n }' "$out" ||
	{ fail "the deep stacks to be whole"; grep '^recursion;.*wide' "$out" | grep -v '^recursion;_start;' | cut -c 1-99; }
# Most are of the command's own loops; the rest are a few in a program's first moments.
share=$(tr -s ' \n' ' ' <"$err" | sed -n 's/.*complete [0-9]* (\([0-9.]*\) *%.*/\1/p')
awk -v share="${share:-0}" 'BEGIN { exit !(share >= 90) }' || fail "90 % of the stacks to be complete, not ${share:-none}"
! tr -s ' \n' ' ' <"$err" | grep -q 'not loaded in time' || fail "every table to have been waited for"
finish
