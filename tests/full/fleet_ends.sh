#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 3000
# 200 ends at random moments, of what sends to a fleet (kill -9), of its server (kill -9), of connections and of answers on
# their way, beside an agent that is killed, too: what the fleet says in the end is what the hosts' own stores say.
# ENDS (200), SEED.
. "$(dirname "$0")/../cmd/lib.bash"
. "$SOPROF_SOURCE/tests/clickhouse.bash"
[ "$(id -u)" = 0 ] || skip "needs root, for an agent"
command -v curl >/dev/null || skip "there is no curl"
clickhouse_fetch || skip "Debian's ClickHouse cannot be fetched"
. "$SOPROF_SOURCE/tests/fleet.bash"
ends=${ENDS:-200} each=20
RANDOM=${SEED:=$RANDOM}
say "SEED=$SEED"
range=(--from "@$((end - 1800))" --to "@$end")
rows 1 3600 | "$fill" "$dir/store1" || fail "a store to be filled"
folded samples --store "$dir/store1" --exact "${range[@]}" >"$dir/own.samples"
folded cpu --store "$dir/store1" --exact "${range[@]}" >"$dir/own.cpu"
[ -s "$dir/own.cpu" ] || fail "something in the store"

clickhouse_start one
echo pass >"$dir/trouble"
port=$(free_port)
/usr/bin/python3 "$SOPROF_SOURCE/tests/proxy.py" "$port" "${address##*:}" "$dir/trouble" 2>"$dir/proxy.log" &
proxy=http://127.0.0.1:$port
until (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done

expect 0 fleet init "$address"
expect 0 fleet init "$address/agents"
cat >"$dir/agent.yaml" <<-END
	listen: none
	group: none
	frequency: 99
	fleet: {url: "$proxy/agents", host: here, resolution: 10s}
END
agent_start() {
	"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/store" --socket "$dir/agent.sock" >>"$dir/agent.log" 2>&1 </dev/null &
	agent=$!
}
agent_start

sleep_ms() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }
declare -A n=()
went_well=0
for ((i = 0; i < ends; i++)); do
	if [ $((i % each)) = 0 ]; then # a database of its own, and how long it takes where nothing ends
		base=r$((i / each))
		expect 0 fleet init "$address/$base"
		expect 0 fleet init "$address/${base}_whole"
		began=$(date +%s%3N)
		expect 0 fleet send "$proxy/${base}_whole" --store "$dir/store1" --name web1 --resolution 10s
		takes=$(($(date +%s%3N) - began))
	fi
	which=$((RANDOM % 10))
	case $which in
	0 | 1) echo "cut 60000" >"$dir/trouble" ;;
	2 | 3) echo "cut-answer 1500" >"$dir/trouble" ;;
	esac
	"$SOPROF" fleet send "$proxy/$base" --store "$dir/store1" --name web1 --resolution 10s >"$dir/sent" 2>"$dir/sent.err" &
	sender=$!
	case $which in
	[0-3])
		n[cut]=$((n[cut] + 1))
		wait $sender && went_well=$((went_well + 1))
		echo pass >"$dir/trouble"
		;;
	4 | 5)
		n[server]=$((n[server] + 1))
		sleep_ms $((RANDOM % (takes + 1)))
		kill -KILL $server
		wait $server $sender 2>/dev/null
		clickhouse_start one
		;;
	*)
		n[sender]=$((n[sender] + 1))
		sleep_ms $((RANDOM % (takes + 1)))
		kill -KILL $sender 2>/dev/null || went_well=$((went_well + 1))
		wait $sender 2>/dev/null
		;;
	esac
	[ $((i % each)) = $((each - 1)) ] || [ $((i + 1)) = "$ends" ] || continue
	expect 0 fleet send "$proxy/$base" --store "$dir/store1" --name web1 --resolution 10s
	for value in samples cpu; do
		folded $value --fleet "$address/$base" "${range[@]}" >"$dir/fleet"
		cmp -s "$dir/own.$value" "$dir/fleet" || fail "the same after $each ends: $value in $base"
	done
	expect 0 libs --fleet "$address/${base}_whole" "${range[@]}" --csv 'lib*'
	sort "$out" >"$dir/libs"
	expect 0 libs --fleet "$address/$base" "${range[@]}" --csv 'lib*'
	sort "$out" | cmp -s - "$dir/libs" || fail "libraries cost the same after $each ends"
	n[agent]=$((n[agent] + 1))
	kill -KILL $agent
	wait $agent 2>/dev/null
	agent_start
done
say "ends: sender ${n[sender]}, server ${n[server]}, connection ${n[cut]}, agent ${n[agent]}; $went_well went well before their end"
say "attempts that left rows: $(clickhouse_ask "SELECT count() FROM (SELECT DISTINCT run FROM r0.samples)"), that count: $(clickhouse_ask "SELECT count() FROM (SELECT DISTINCT run FROM r0.windows)")"

# --- the agent's own
fleet_windows() { "$SOPROF" agent --status --socket "$dir/agent.sock" 2>/dev/null | sed -nE 's/^fleet .*: ([0-9]+) windows sent .*/\1/p'; }
until [ "$(fleet_windows)" -ge 1 ] 2>/dev/null; do
	kill -0 $agent 2>/dev/null && [ $SECONDS -lt 2900 ] || { tail -n 9 "$dir/agent.log"; fail "an agent that has sent a window"; break; }
	sleep 1
done
kill -INT $agent
wait $agent
expect 0 fleet send "$address/agents" --store "$dir/store" --name here --resolution 10s # what came last
for value in samples cpu; do
	folded $value --store "$dir/store" --exact --from -2h >"$dir/own"
	folded $value --fleet "$address/agents" --from -2h >"$dir/fleet"
	[ -s "$dir/own" ] && cmp -s "$dir/own" "$dir/fleet" || fail "the agent's own answer in the fleet: $value"
done
say "agent: $(grep -c 'tried again' "$dir/agent.log") failures told, $(grep -c ': taken$' "$dir/agent.log") times taken"
finish
