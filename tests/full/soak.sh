#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 900
# The agent for ten minutes (SOAK_S), with many programs, a minute of execs as fast as the machine can, and few open files
# allowed: it forgets files and renews its profile, and memory, descriptors and map entries are the same in the end as
# they were when the storm was over. Not a window is lost.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/agent.bash"
need_root
need_profile
variety=${SOPROF_BUILD:-$(dirname "$SOPROF")}/tests/bench/variety
[ -x "$variety" ] || skip "needs $variety"
command -v bpftool >/dev/null || skip "needs bpftool"
whole=${SOAK_S:-600}
storm_at=$((whole / 5)) storm_ends=$((whole / 5 + whole / 10)) half=$((whole * 65 / 100))

# entries NAME: of the agent's map
entries() { bpftool map dump id "$1" 2>/dev/null | grep -c '^key\|"key"'; }
# look SECONDS: a line of what there is
look() {
	local anon=0 fds files processes stacks
	anon=$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$agent/status")
	fds=$(ls "/proc/$agent/fd" | wc -l)
	files=$(entries "$files_map") processes=$(entries "$processes_map") stacks=$(entries "$stacks_map")
	ask_status
	echo "$1 $anon $fds $files $processes $stacks $(word renewals) $(word forgotten) $(word windows)" | tee -a "$dir/looks"
}
# most COLUMN FROM TO: of the looks of that time
most() { awk -v c="$1" -v from="$2" -v to="$3" '$1 >= from && $1 < to && $c > m { m = $c } END { print m + 0 }' "$dir/looks"; }
# flat COLUMN MORE WHAT: no more in the last third than in what came between the storm and it
flat() {
	local then now
	then=$(most "$1" "$storm_ends" "$half") now=$(most "$1" "$half" 100000)
	[ "$now" -le $((then + $2)) ] || fail "$3 to be flat: $then, then $now"
}

mkdir "$dir/usual" "$dir/many"
"$variety" "$dir/usual" 20 5000 500 2 &
usual=$!
ulimit -n 1200
"$SOPROF" agent -F 97 --max-cpu 100% --store "$dir/store" --socket "$dir/agent.sock" >"$dir/out" 2>"$dir/log" </dev/null &
agent=$!
wait_agent "$agent" "$dir/log"
# map_of NAME: the number of the agent's map
map_of() {
	local id
	for id in $(sed -n 's/^map_id:[^0-9]*//p' "/proc/$agent/fdinfo/"* 2>/dev/null | sort -un); do
		bpftool map show id "$id" 2>/dev/null | grep -q " name $1 " && echo "$id" && return
	done
}
files_map=$(map_of files) processes_map=$(map_of processes) stacks_map=$(map_of stacks)
[ -n "$files_map" ] && [ -n "$processes_map" ] && [ -n "$stacks_map" ] || fail "the agent's maps to be found"
began=$(cut -d. -f1 /proc/uptime) storm=
while now=$(($(cut -d. -f1 /proc/uptime) - began)) && [ "$now" -lt "$whole" ]; do
	look "$now"
	if [ -z "$storm" ] && [ "$now" -ge "$storm_at" ]; then
		"$variety" "$dir/many" 400 4000 1 8 &
		storm=$!
	fi
	[ -z "$storm" ] || [ "$now" -lt "$storm_ends" ] || kill "$storm" 2>/dev/null
	sleep 10
done
look "$whole"
flat 2 5000 'memory (KiB)'
flat 3 40 'descriptors'
flat 4 60 'files in the map'
flat 5 1100 'processes in the map'
[ "$(word renewals)" -ge 2 ] || fail "the profile to be renewed: $(word renewals)"
[ "$(word forgotten)" -ge 100 ] || fail "files to be forgotten: $(word forgotten)"
[ "$(word dropped)" = 0 ] && [ "$(word waiting)" -le 1 ] && [ "$(word errors)" = 0 ] && [ "$(word lost)" = 0 ] ||
	fail "nothing lost: $(tr '\n' ' ' <"$dir/status")"
[ "$(word windows)" -ge $((whole / 10 - 2)) ] || fail "a window each ten seconds: $(word windows)"
kill "$usual"
kill -TERM "$agent"
wait "$agent" || fail "exit code 0: $?"
cat "$dir/log"
finish
