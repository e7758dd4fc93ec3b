#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# The CPU time that the agent tells of a process is what the kernel has booked for it, over reloads with another rate.
# The process has a CPU for itself (SCHED_FIFO), so that its sum is not a matter of chance. An emulated machine, whose
# CPUs are held up at any time, books that, too: there a sample has to stand for the period of the new rate.
. "$(dirname "$0")/lib.bash"
need_profile
command -v chrt >/dev/null && chrt -f 1 true 2>/dev/null || skip "no real-time processes here"
name=rate$$ # nobody else's
cp "$victims/plain/recursion" "$dir/$name"

wait_for() { # PATTERN, how often the log is to have it
	local i
	for ((i = 0; i < 300 * slow; i++)); do
		[ "$(grep -c -- "$1" "$dir/log")" -lt "$2" ] || return
		sleep 0.1
	done
	cat "$dir/log"
	fail "$2 times in the log: $1"
	finish
}
begin() { # HZ
	printf 'frequency: %s\n' "$1" >"$dir/agent.yaml"
	rm -rf "$dir/store" "$dir/log"
	"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/store" --socket none --listen none >"$out" 2>"$dir/log" </dev/null &
	agent=$! n_reloads=0
	wait_for 'to ask: ' 1
	until grep -q perf_event < <(ls -l "/proc/$agent/fd"); do sleep 0.05; done # it samples, and takes signals
}
reload() { # HZ
	printf 'frequency: %s\n' "$1" >"$dir/agent.yaml"
	kill -HUP "$agent"
	wait_for 'options read again' $((n_reloads += 1))
}
end() {
	kill -TERM "$agent"
	wait "$agent" || fail "the agent to end well"
}

victim() {
	chrt -f 1 "$dir/$name" 600 20 >/dev/null 2>&1 </dev/null &
	victim=$!
}
booked_ms() { echo $(($(cut -d ' ' -f 1 "/proc/$victim/schedstat") / 1000000)); }
runs_until() { # MILLISECONDS that the kernel has booked for it
	until [ "$(booked_ms)" -ge "$1" ]; do
		kill -0 "$victim" || { fail "a process that runs"; finish; }
		sleep 0.05
	done
}
still() {
	kill -STOP "$victim"
	until grep -q '^State:.*T (stopped)' "/proc/$victim/status"; do sleep 0.01; done
}
sum_of() { # VALUE: of the victim
	expect 0 query --store "$dir/store" --from -15m --process "$name" --value "$1" --format folded
	awk '{sum += $NF} END {printf "%.0f", sum}' "$out"
}
is_near() { [ $(($1 * 100)) -ge $(($2 * 98)) ] && [ $(($1 * 100)) -le $(($2 * 102)) ]; }

a_sample() {
	local told
	begin 199
	reload 49
	victim
	runs_until 3000
	still
	end
	told=$(($(sum_of cpu) / $(sum_of samples)))
	say "a sample stands for $told ns"
	is_near "$told" 20408163 || fail "samples of 49 Hz to stand for 20408163 ns"
}
over_changes() { # the sum is right
	local hz at=0 booked told
	begin 199
	victim
	for hz in 97 49 97 199 49 199; do
		runs_until $((at += 700))
		reload "$hz"
	done
	runs_until $((at += 700))
	still
	booked=$(booked_ms)
	end
	kill -KILL "$victim"
	told=$(($(sum_of cpu) / 1000000))
	say "$told ms of $booked ms"
	is_near "$told" "$booked"
}
if [ "$slow" -gt 1 ]; then
	a_sample
else # again where a hypervisor held up the CPUs
	over_changes || over_changes || over_changes || fail "the milliseconds that the kernel has booked"
fi
finish
