#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 150
# What each of the agent's processes holds when it samples: capabilities, system calls, the way back. An answer that makes
# a call that no answer makes is ended, with a line in the log, and the agent goes on.
. "$(dirname "$0")/lib.bash"
need_root
need_profile

field() { awk -v name="$1:" '$1 == name { print $2 }' <<<"$about"; }
mkdir "$dir/a"
printf 'group: none\nlisten: none\nfrequency: 49\n' >"$dir/a/agent.yaml"
what=agent
"$SOPROF" agent --config "$dir/a/agent.yaml" --store "$dir/a/store" --socket "$dir/a/agent.sock" >"$dir/a/out" 2>"$dir/a/log" \
	</dev/null &
job=$!
wait_until $((300 * slow)) grep -qs 'to ask: ' "$dir/a/log" || { cat "$dir/a/log"; fail "the agent to start"; finish; }

# --- the table: ROLE, its name, uid, and capabilities, the last as a pattern. Bits: DAC_READ_SEARCH 2, KILL 5, SETGID 6,
# SETUID 7, SYS_CHROOT 18, SYS_PTRACE 19, PERFMON 38, BPF 39, CHECKPOINT_RESTORE 40; SYS_ADMIN 21 where perf events take it
admin=000001c0000c00e4
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || admin="000001c0000c00e4|000001c0002c00e4"
table="soprof-broker 0 $admin
soprof-opener 0 0000014000080004
soprof-parser 65534 0000000000000000
soprof 0 0000000000000000"
declare -A seen=()
look() { # PID: checks it, if it is one of the table's that is set up
	local name uid caps about
	about=$(cat "/proc/$1/status" 2>/dev/null) || return # at one moment: workers end soon
	name=$(field Name)
	[ -z "${seen[$name]:-}" ] || return
	read -r uid caps < <(awk -v name="$name" '$1 == name { print $2, $3 }' <<<"$table")
	[ -n "$uid" ] || return
	# a worker has its name before it has given up all: the filter comes last
	[ "$(field Seccomp)" = 2 ] || return
	[ "$(field Uid)" = "$uid" ] || fail "$name as uid $uid, not $(field Uid)"
	for set in CapPrm CapEff; do
		[[ $(field $set) =~ ^($caps)$ ]] || fail "$name: $set $caps, not $(field $set)"
	done
	[ "$(field CapInh)$(field CapAmb)" = 00000000000000000000000000000000 ] || fail "$name to hand down none"
	[[ $(field CapBnd) =~ ^(0000000000000000|000001c0000c00e4)$ ]] || fail "$name: CapBnd $(field CapBnd)"
	[ "$(field NoNewPrivs)" = 1 ] || fail "$name to win nothing by executing programs"
	say "$name: uid $uid, capabilities $(field CapEff)"
	seen[$name]=1
}
look_at_all() {
	local child
	look "$job"
	for child in $(cat "/proc/$job/task/$job/children"); do look "$child"; done
	[ "${#seen[@]}" = 4 ]
}
# new files, so that an opener and a parser run
n=0
new_file() {
	n=$((n + 1))
	cp "$victims/plain/recursion" "$dir/new$n" && printf x >>"$dir/new$n" && touch -d "@$((1000000000 + n))" "$dir/new$n"
	"$dir/new$n" 1 20 >/dev/null 2>&1 &
}
tries=$((120 * slow))
until look_at_all; do
	[ $((tries -= 1)) -gt 0 ] || { fail "a broker, an opener and a parser, not: ${!seen[*]}"; break; }
	[ $((tries % 20)) != 0 ] || new_file
	sleep 0.1
done
# all its threads: a filter holds for one and for those that it begins
for thread in /proc/"$job"/task/*; do
	[ "$(awk '$1 == "Seccomp:" { print $2 }' "$thread/status")" = 2 ] || fail "every thread to be filtered"
done

# --- what the main process is not allowed any more is refused, and what it does is allowed: SOPROF_FILTER=strict (lib.bash)
# would have ended it
answers() { run query --socket "$dir/a/agent.sock" --from -1m; [ "$status" = 0 ]; }
wait_until $((900 * slow)) answers || fail "an answer"
expect 0 agent --status --socket "$dir/a/agent.sock"
kill -HUP "$job"
wait_until $((100 * slow)) grep -q 'options read again' "$dir/a/log" || fail "a reload"
has_not "$dir/a/log" 'seccomp'
kill -TERM "$job"
wait "$job"
status=$?
[ "$status" = 0 ] || fail "exit code 0"
has "$dir/a/log" 'ended: all windows are in'
finish
