#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Who asks the agent for all that it can answer, over HTTP without a token and over the socket, gets little of a CPU; others
# are answered still, and at once when he has gone.
. "$(dirname "$0")/lib.bash"
need_profile
port=$(free_port)

"$SOPROF" agent --config /dev/null --store "$dir/store" --socket "$dir/s" --listen "127.0.0.1:$port" --max-cpu 1% >"$out" 2>"$dir/log" </dev/null &
agent=$!
wait_agent "$agent" "$dir/log" 'serves its page'
flood() {
	while exec 3<>"/dev/tcp/127.0.0.1/$port"; do
		printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
		cat <&3 >/dev/null
	done 2>/dev/null
}
status() { "$SOPROF" agent --status --json --socket "$dir/s" | tr ',{' '\n\n' | sed -n "s/^ *\"$1\": *//p"; }

flooders=
for i in 1 2 3; do
	flood &
	flooders+=" $!"
done
for ((i = 0; i < 600 * slow; i++)); do # until what may be used at once is used up
	[ "$(status rests)" = 0 ] || break
	sleep 0.1
done
has "$dir/log" 'questions take more than an eighth of --max-cpu: they are answered with pauses in between'
before=$(status service_ns) began=$EPOCHREALTIME
sleep 5
expect 0 agent --status --socket "$dir/s" # answered, in between
has "$out" 'put off [0-9]+ times to keep within --max-cpu'
after=$(status service_ns) ended=$EPOCHREALTIME
percent=$(awk -v ns=$((after - before)) -v a="$began" -v b="$ended" 'BEGIN { printf "%.1f", ns / (b - a) / 1e7 }')
say "$percent % of a CPU for all who ask"
[ "$(awk -v p="$percent" -v most=$((10 * slow)) 'BEGIN { print p < most }')" = 1 ] || fail "far less than the CPU that who asks could take: less than 10 % of it"
kill $flooders
wait $flooders 2>/dev/null
kill -TERM "$agent"
wait "$agent" || fail "the agent to end well"
finish
