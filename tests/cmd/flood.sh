#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# A user whose program runs through deep stacks of 8,000 functions with long names, in random order, costs the agent no
# memory, and others none of their samples: above the user's share new stacks are kept as libraries.
. "$(dirname "$0")/lib.bash"
need_profile
max_mib=60 uid=12345 busy_s=$((22 * slow))
printf 'frequency: 49\ngroup: none\nmax-memory: %sM\nmax-cpu: 100%%\n' "$max_mib" >"$dir/agent.yaml"
what='agent'
begun=$(date +%s) # before the first window, which is not in a range that begins later
"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/store" --socket "$dir/agent.sock" >"$out" 2>"$dir/log" </dev/null &
job=$!
wait_agent "$job" "$dir/log"
cp "$SOPROF_BUILD/tests/cmd/flood" "$dir"
cp "$victims/plain/recursion" "$dir/beside$$"

# --- the flood, and somebody beside it whose CPU time is known
as_user() { (cd / && exec setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"); }
as_user "$uid" "$dir/flood" "$busy_s" 1000 4000 >"$dir/map" 2>"$err" &
flood=$!
as_user 65534 "$dir/beside$$" "$busy_s" >/dev/null 2>&1 &
beside=$!
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat" 2>/dev/null; }
until beside_pid=$(pgrep -x "beside$$"); do sleep 0.1; done
used=0
while kill -0 "$flood" 2>/dev/null; do
	now=$(ticks "$beside_pid") && [ -n "$now" ] && used=$now
	sleep 0.2
done
wait "$flood" || fail "the flood to go on to its end: $(cat "$err")"
wait "$beside"
map=$(cat "$dir/map")
[ "$(wc -c <"$map")" -gt 32000000 ] || fail "names of 4 KB each"
rm -f "$map"

# --- the agent afterwards
peak_kib=$(awk '/^VmHWM/ { print $2 }' "/proc/$job/status")
expect 0 agent --status --socket "$dir/agent.sock"
has "$out" "stacks of .* users are stored by library only, .* user $uid's\$"
has "$out" ', 0 lost$'
has "$dir/log" "programs of user $uid have more new stacks than a user.s share"
[ "$(grep -c "programs of user $uid have" "$dir/log")" = 1 ] || fail "to be told once"
say "memory of the main process: at most $((peak_kib >> 10)) MiB of $max_mib MiB for all"
[ "$peak_kib" -lt $((max_mib * 1536)) ] || fail "the main process within half more than the limit: $peak_kib KiB"
kill -TERM "$job"
wait "$job" || fail "exit code 0 after SIGTERM"
kib=$(du -sk "$dir/store" | cut -f1)
say "the store has $kib KiB"
# A dictionary has a share of nodes for each window, and the names. It stands in the files of three resolutions and, since
# the hour ends with the agent, in the day; the trees of hour and day are half as large.
n_windows=$((busy_s / 10 + 2))
[ "$kib" -lt $((5 * (n_windows * 500 + 1200))) ] || fail "a store that grows by the share: $kib KiB in $n_windows windows"

# --- the samples: of whom was beside all; of the flood those within the share with functions, others with libraries
samples_of() { # PROCESS [PATTERN]
	expect 0 query --store "$dir/store" --from "@$begun" --process "$1" --value samples --exact --format folded
	awk -v p="${2:-.}" '$0 ~ p { n += $NF } END { print n + 0 }' "$out"
}
n=$(samples_of "beside$$") wanted=$((used * 49 / $(getconf CLK_TCK)))
say "beside: $n samples of $wanted by its CPU time"
((n * 100 >= wanted * 85 - 1500)) || fail "all samples of whom was beside: $wanted, not $n"
[ "$(samples_of "beside$$" "this user's share")" = 0 ] || fail "whole stacks of whom was beside"
all=$(samples_of flood) above=$(samples_of flood "stacks above this user's share") named=$(samples_of flood 'flood_[0-9]+_')
say "flood: $all samples, $above above the share, $named with functions"
((above > all / 2)) || fail "most stacks above the share"
((named > 0)) || fail "stacks within the share with their functions"
has "$out" 'burn'
finish
