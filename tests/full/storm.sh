#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 700
# New programs all the time, as a build and its tests make them: the agent, whose caches are empty, keeps within --max-cpu
# over minutes (STORM_S) all the same, by putting off what it would have to parse. Not a window is lost; a program that
# stays gets its names and its table in the midst of it, and libraries that everybody uses keep theirs.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/agent.bash"
need_root
need_profile
variety=${SOPROF_BUILD:-$(dirname "$SOPROF")}/tests/bench/variety
[ -x "$variety" ] || skip "needs $variety"
whole=${STORM_S:-300}

# In ms, of the agent's processes and programs by their own clocks.
used_ms() { ask_status; echo $(($(word cpu_ns) / 1000000)); }
uptime_ms() { tr -d . </proc/uptime | cut -d' ' -f1 | sed 's/$/0/'; }

mkdir "$dir/new" "$dir/cache"
CACHE_DIRECTORY=$dir/cache "$SOPROF" agent --max-cpu 0.5% --store "$dir/store" --socket "$dir/agent.sock" >"$dir/out" 2>"$dir/log" </dev/null &
agent=$!
wait_agent "$agent" "$dir/log"
before=$(used_ms) began=$(uptime_ms)
# as many as there are CPUs at a time, each for 50 ms; and one that works in libraries
"$variety" "$dir/new" 100 2000 50 "$(nproc)" fresh &
storm=$!
yes "$(printf '%0500d' 7)" | LC_ALL=C.UTF-8 sort -c &
usual=$!
stays=stays$$
cp "$victims/plain/recursion" "$dir/$stays"
for ((n = 1; n * 30 <= whole; n++)); do
	sleep 30
	used=$(($(used_ms) - before)) time=$(($(uptime_ms) - began))
	say "after $((time / 1000)) s: $used ms of CPU time, $(word parse_left_ns | sed 's/......$//') ms left for parsing; $(word files) files," \
		"$(word unnamed_files) without names and $(word tables_later) without tables now; $(word windows) windows, $(word samples) samples," \
		"$(word complete) complete, $(word unnamed_samples) with frames without names"
	# what may be saved up in 300 s, and a large file that was being parsed when the purse was empty
	[ "$used" -le $(((time + 300000) / 200 + 3000)) ] || fail "at most 0.5 % of the time and of 300 s: $used ms in $time ms"
	[ "$n" != 2 ] || { "$dir/$stays" 10000 20 >/dev/null 2>&1 & }
done
expect 0 query --socket "$dir/agent.sock" --from -30s --format folded
has "$out" "^$stays;_start;.*;main;"
expect 0 query --socket "$dir/agent.sock" --from -60s --value samples --by function --csv -n 0
awk -F, '$3 == "libc.so.6" { all += $8; if ($2 ~ /\+0x/) none += $8 } END { exit !(all > 20 && none * 10 < all) }' "$out" ||
	fail "names in libc"
expect 0 agent --status --socket "$dir/agent.sock"
has "$out" 'files wait for names, [0-9]+ for unwind tables, to spare the CPU'
has "$out" 'samples were stored with frames that have no names yet'
has "$dir/log" 'parsing is put off to keep within --max-cpu'
ask_status
[ "$(word unnamed_samples)" -gt 0 ] && [ "$(word tables_put_off)" -gt 0 ] || fail "a storm that is too much, and is counted"
[ "$(word dropped)" = 0 ] && [ "$(word waiting)" -le 1 ] && [ "$(word errors)" = 0 ] && [ "$(word lost)" = 0 ] &&
	[ "$(word halvings)" = 0 ] || fail "nothing lost: $(tr '\n' ' ' <"$dir/status")"
[ "$(word windows)" -ge $((whole / 10 - 2)) ] || fail "a window each ten seconds: $(word windows)"
kill "$storm" "$usual"
kill -TERM "$agent"
wait "$agent" || fail "exit code 0: $?"
cat "$dir/log"
finish
