#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 400
# A user whose program meets the agent with files that nobody has seen before, at each sample: he uses up his own share.
# Windows are stored on time, another user's new program is named meanwhile, the agent ends at once, and says who it was.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
command -v setpriv >/dev/null || skip "needs setpriv"
uid=12345 other_uid=12346 other=other$$

# cpu_ms PROCESS: of it and of all below it, those that have ended included, as the kernel has booked it
cpu_ms() {
	local -a children=() stat
	local child all
	read -r -d '' -a stat < <(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null)
	all=$((10 * (${stat[11]:-0} + ${stat[12]:-0} + ${stat[13]:-0} + ${stat[14]:-0})))
	read -r -a children 2>/dev/null <"/proc/$1/task/$1/children"
	for child in "${children[@]}"; do
		all=$((all + $(cpu_ms "$child")))
	done
	echo "$all"
}
status_word() { "$SOPROF" agent --status --json --socket "$dir/sock" | sed -n "s/.*\"$1\": \"\\{0,1\\}\\([0-9]*\\).*/\\1/p" | head -n 1; }
stored() { [ "$(status_word windows)" -ge "$1" ]; }
refuses() { [ "$(status_word refused_files_uid)" = $uid ]; }
is_named() {
	"$SOPROF" query --socket "$dir/sock" --from -5m --process $other --format folded >"$out" 2>"$err" &&
		grep -q ';even;odd;even;' "$out"
}

echo 'frequency: 99' >"$dir/agent.yaml"
mkdir "$dir/his"
chown $uid "$dir/his"
cp "$SOPROF_BUILD/tests/cmd/restless" "$dir/restless"
cp "$victims/plain/recursion" "$dir/$other"
what=agent
"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/store" --socket "$dir/sock" --listen none >"$dir/out" 2>"$dir/log" </dev/null &
agent=$!
wait_sampling $agent || finish
before=$(cpu_ms $agent)
began=$SECONDS

setpriv --reuid $uid --regid $uid --clear-groups "$dir/restless" "$dir/his" 16 </dev/null >/dev/null 2>&1 &
wait_until $((600 * slow)) refuses || fail "status to say that user $uid is refused"
setpriv --reuid $other_uid --regid $other_uid --clear-groups "$dir/$other" 600 </dev/null >/dev/null 2>&1 &
windows=$(status_word windows)
wait_until $((1000 * slow)) stored $((windows + 2)) || fail "two more windows in the store"
wait_until $((600 * slow)) is_named || fail "another user's new program to be named meanwhile"
used=$(($(cpu_ms $agent) - before)) took=$((SECONDS - began))
say "the agent and its helpers: $used ms in $took s; $(status_word refused_files) files refused"
# It is 0.8 s in 17: a share that users may spend at once, and 1 % of the time. His program keeps a CPU busy all the while.
[ "$slow" -gt 1 ] || [ "$used" -le $((took * 500)) ] || fail "far less than half of a CPU"

expect 0 agent --status --socket "$dir/sock"
has "$out" "^files +[0-9]+ new ones not looked at, [0-9]+ of them of user $uid: "
[ "$(grep -c "user $uid runs more new programs and libraries than" "$dir/log")" = 1 ] || fail "the log to say so once"
expect 0 query --socket "$dir/sock" --from -5m --process restless --format folded
has "$out" '^restless;.*\[unidentified\]'

ended() { ! kill -0 "$agent" 2>/dev/null; }
kill -TERM "$agent"
wait_until $((600 * slow)) ended || fail "the agent to end"
wait "$agent" || fail "exit code 0"
finish
