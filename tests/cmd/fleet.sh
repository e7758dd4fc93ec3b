#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# `soprof fleet` and `query --fleet`, with Debian's ClickHouse: what the fleet says is what the hosts' own stores say, to the
# sample, also after ends of both sides by kill -9, and what is sent twice or in part does not count.
. "$(dirname "$0")/lib.bash"
SOPROF_SOURCE=${SOPROF_SOURCE:-$(readlink -f "$(dirname "$0")/../..")}
. "$SOPROF_SOURCE/tests/clickhouse.bash"
command -v curl >/dev/null || skip "there is no curl"
clickhouse_fetch || skip "Debian's ClickHouse cannot be fetched"
. "$SOPROF_SOURCE/tests/fleet.bash"

# Two hosts
rows 1 3600 >"$dir/rows1"
rows 2 1800 >"$dir/rows2"
"$fill" "$dir/store1" <"$dir/rows1" && "$fill" "$dir/store2" <"$dir/rows2" || fail "two stores to be filled"

# same RANGE...: of both hosts together and each alone
values=(samples cpu)
same() {
	local value host
	for value in "${values[@]}"; do
		for host in 1 2; do
			folded $value --store "$dir/store$host" --exact "$@" >"$dir/own$host"
			folded $value --fleet "$address" --host web$host "$@" >"$dir/fleet$host"
			[ -s "$dir/own$host" ] && cmp -s "$dir/own$host" "$dir/fleet$host" || {
				diff "$dir/own$host" "$dir/fleet$host" | head -n 6
				fail "web$host in the fleet as in its own store: $value $*"
			}
		done
		cat "$dir/own1" "$dir/own2" | added >"$dir/own"
		folded $value --fleet "$address" "$@" >"$dir/fleet"
		cmp -s "$dir/own" "$dir/fleet" || fail "the fleet as its hosts together: $value $*"
	done
}
range=(--from "@$((end - 1800))" --to "@$end")

# --- before there is anything
clickhouse_start one
expect 1 fleet status "$address"
one_line 'no fleet.s tables in the database soprof; soprof fleet init makes them$'
expect 1 query --fleet "$address" --from -1h
one_line 'soprof fleet init makes them$'
expect 0 fleet init "$address" --print
has "$out" '^CREATE TABLE IF NOT EXISTS soprof\.samples .*ORDER BY \(hour, who, stack, host, ts\);$'
expect 1 fleet status "$address"
expect 0 fleet init "$address"
# Who is to make the tables himself has all of it, and may do it again.
expect 0 fleet init "$address/printed" --print
cp "$out" "$dir/printed"
for again in 1 2; do
	while IFS= read -r statement; do
		clickhouse_ask "${statement%;}"
	done <"$dir/printed"
	expect 0 fleet status "$address/printed"
	tables=$(clickhouse_ask "SELECT name, engine_full FROM system.tables WHERE database IN ('soprof', 'printed') ORDER BY name")
	[ "$(sort -u <<<"$tables" | grep -c .)" = 8 ] && [ "$(grep -c . <<<"$tables")" = 16 ] || fail "the same tables twice: $tables"
	[ "$(clickhouse_ask 'SELECT count() FROM printed.meta')" = 1 ] || fail "one line about the printed tables"
done
expect 0 fleet init "$address" --keep 30
[ "$(clickhouse_ask 'SELECT count() FROM meta')" = 1 ] || fail "one line about the tables"
expect 0 fleet status "$address"
has "$out" '^0 hosts since yesterday; '
expect 1 query --fleet "$address" --from -1h
one_line 'has nothing of cpu: no host has sent anything yet$'

# --- an agent sends while all of this is asked; looked at in the end
agent=
if [ "$(id -u)" = 0 ]; then
	expect 0 fleet init "$address/agents"
	printf '%s\n' 'it'"'"'s "so"' >"$dir/password"
	chmod 600 "$dir/password"
	cat >"$dir/agent.yaml" <<-END
		listen: none
		group: none
		frequency: 99
		source: [cpu, "wall:frequency=19"]
		fleet: {url: "http://soprof@${address#http://}/agents", password-file: $dir/password, host: here, resolution: 10s,
		    labels: {service: web, canary: yes}}
	END
	"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/store" --socket "$dir/agent.sock" >"$dir/agent.log" 2>&1 </dev/null &
	agent=$!
fi

# --- bad input
# Who takes a handshake for the beginning of a line says nothing to it; nobody waits longer for that than for a connection.
/usr/bin/python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(600)' >"$dir/mute" &
mute=$!
wait_until 100 test -s "$dir/mute" || fail "a server that says nothing"
"$SOPROF" fleet status "https://127.0.0.1:$(cat "$dir/mute")" >"$dir/mute.out" 2>&1 &
to_mute=$!
expect 2 fleet status
one_line 'init, status or send is expected'
expect 2 fleet status "http://me:secret@localhost:1/"
one_line 'no password belongs into an address'
has_not "$err" secret
expect 2 fleet status "$address/a-b"
one_line "'a-b' is not a database's name"
expect 1 fleet status http://127.0.0.1:1
one_line '127\.0\.0\.1:1: .*[Cc]onnect'
expect 1 fleet status "https://${address#http://}"
one_line 'https://127\.0\.0\.1:[0-9]+: .* \(is it http:// there\?\)$'
expect 1 fleet status "http://soprof@${address#http://}"
one_line 'HTTP 401: Password required'
printf 'it'"'"'s "so"\nmore\n' >"$dir/password2"
expect 0 fleet status "http://soprof@${address#http://}" --password-file "$dir/password2"
expect 2 query --from -1h --host 'web*'
one_line 'give --fleet$'
expect 2 query --from -1h --by host
one_line 'give --fleet$'
expect 2 report --fleet "$address"
one_line 'soprof query --fleet, in the same views$'
expect 0 fleet init "$address/newer"
clickhouse_ask 'INSERT INTO newer.meta (version, seed) VALUES (9, 9)'
expect 0 fleet init "$address/older"
clickhouse_ask 'DROP TABLE older.meta'
clickhouse_ask 'CREATE TABLE older.meta (version UInt32, seed UInt64) ENGINE = Memory'
clickhouse_ask 'INSERT INTO older.meta VALUES (0, 9)'
for database in newer older; do # nothing is done with it
	clickhouse_ask "DROP TABLE $database.stacks"
	clickhouse_ask "INSERT INTO $database.who (day, id) VALUES ('2020-01-01', 1)"
	for what in "fleet init" "fleet status" "fleet send --store $dir/store1 --name web1" "libs libc* --fleet" "query --from -1h --fleet"; do
		# shellcheck disable=SC2086
		expect 1 $what "$address/$database"
		one_line "in the database $database are of version [09], $database than this soprof.s 1$"
	done
	[ "$(clickhouse_ask "EXISTS TABLE $database.stacks") $(clickhouse_ask "SELECT count() FROM $database.who")" = "0 1" ] ||
		fail "tables that are $database as they were"
done

# --- all is sent, once
expect 0 fleet send "$address" --store "$dir/store1" --name web1 --labels "service=web,canary=yes"
has "$out" '^55 windows sent, [0-9]+ samples in [0-9]+ rows, '
expect 0 fleet send "$address" --store "$dir/store2" --name web2 --labels "service=web,canary=no"
has "$out" '^25 windows sent, '
expect 0 fleet send "$address" --store "$dir/store2" --name web2
has "$out" '^0 windows sent, 0 samples'
same "${range[@]}"
expect 0 query --fleet "$address" "${range[@]}" --by host --csv
for host in 1 2; do
	own=$(awk '{ n += $NF } END { printf "%.0f", n }' "$dir/own$host")
	[ "$(awk -F, -v h=web$host '$1 == "host" && $2 == h { print $8 }' "$out")" = "$own" ] || fail "what web$host cost: $own"
done
values=(samples)
same --from "@$((end - 1020))" --to "@$((end - 420))"
same "${range[@]}" --library 'libz*' --process '*'
same "${range[@]}" --function 's*'
same "${range[@]}" --process git
same "${range[@]}" --cgroup /system.slice
for by in library function; do
	expect 0 query --fleet "$address" --host web1 "${range[@]}" --by $by --csv
	sort "$out" >"$dir/by-fleet" # rows of one value have no order
	expect 0 query --store "$dir/store1" --exact "${range[@]}" --by $by --csv
	sort "$out" | cmp -s - "$dir/by-fleet" || { sort "$out" | diff - "$dir/by-fleet" | head -n 4; fail "the same table by $by"; }
done
expect 0 query --fleet "$address" "${range[@]}" -o "$dir/x.pb.gz"
has "$err" '25 min sampled \(83\.3 %\), in 50 windows of up to 1 min$'
has "$err" '^of 2 hosts; '
expect 0 report "$dir/x.pb.gz" --value samples --format folded
sort "$out" >"$dir/read"
folded samples --fleet "$address" "${range[@]}" >"$dir/fleet"
cmp -s "$dir/read" "$dir/fleet" || { diff "$dir/read" "$dir/fleet" | head -n 4; fail "pprof with what folded has"; }

# --- a limit: all or nothing, and what makes it smaller
for what in "query --by process" "libs lib*"; do
	# shellcheck disable=SC2086
	expect 1 $what --fleet "http://parts@${address#http://}" "${range[@]}"
	one_line 'too large a question: a shorter time, or fewer hosts \(host, label\), would make it smaller: .* HTTP [0-9]+: Limit '
	# shellcheck disable=SC2086
	expect 0 $what --fleet "http://reads@${address#http://}" "${range[@]}"
	# shellcheck disable=SC2086
	expect 1 $what --fleet "http://parts_reads@${address#http://}" "${range[@]}"
	one_line 'may answer in part, since the profile of the user parts_reads has group_by_overflow_mode = any, which this user may not set'
done

# --- which hosts
expect 0 query --fleet "$address" "${range[@]}" --label canary=no --by process --csv
has "$out" nginx2
has_not "$out" nginx1
expect 0 query --fleet "$address" "${range[@]}" --label service --by process --csv
has "$out" nginx1
for wrong in "canary=x' OR 1" "canary=$evil" 'x' 'canar=yes'; do
	expect 1 query --fleet "$address" "${range[@]}" --label "$wrong"
	one_line 'no host with the label .* sent anything of that time'
done
expect 1 query --fleet "$address" "${range[@]}" --host wb1 --label service=web
one_line "no host wb1 with the label service=web sent anything of that time; did you mean 'web1'\?$"
expect 1 query --fleet "$address" "${range[@]}" --label canari=yes
one_line "; did you mean 'canary=yes'\?$"
expect 1 query --fleet "$address" --from 2020-01-01 --to 2020-01-02
one_line 'has nothing of cpu from that time: what it has is from 20[-0-9]+ [0-9:]+ to 20[-0-9]+ [0-9:]+$'
expect 1 query --fleet "$address" "${range[@]}" --library 'nosuch*'
one_line "query: --library: no sample is of a library 'nosuch\*'$"
expect 1 query --fleet "$address" "${range[@]}" --process nginx1 --function inflat
one_line "--function: no sample is of a function 'inflat'; did you mean 'inflate'\?$"
expect 1 query --fleet "$address" "${range[@]}" --host "$evil"
expect 1 query --fleet "$address" "${range[@]}" --source "$evil"
one_line 'has nothing of .*; its hosts sample cpu$'
expect 0 fleet status "$address"
has "$out" '^web1 +cpu .* 55 +(5 min|300 s) .*service=web canary=yes$'
has "$out" '^2 hosts since yesterday; '
expect 0 fleet status "$address" --json
has "$out" '\{"name":"web1","source":"cpu","labels":\["service=web","canary=yes"\],"last":'"$end"',.*"windows":55,"missing_seconds":300,'

for library in libz.so.1 libcrypto.so.3 libssl.so.3; do
	for host in 1 2; do
		expect 0 query --store "$dir/store$host" --exact "${range[@]}" --by library --csv
		own=$(awk -F, -v l=$library '$1 == "library" && $2 == l { print $8 "," $10 }' "$out")
		expect 0 libs --fleet "$address" "${range[@]}" --csv "${library%%.*}*"
		[ -n "$own" ] && grep -q "^$library,,,,web$host,$own," "$out" || fail "$library on web$host: $own"
	done
done
expect 0 libs --fleet "$address" "${range[@]}" --json 'libz*'
has "$out" '^\{"name":"libz\.so\.1","host":"web1","self":[1-9][0-9]*,'
expect 0 libs --fleet "$address" "${range[@]}" --label canary=no 'libz*' 'libc.*'
has "$out" '^libz\.so\.1 +web2 '
has_not "$out" web1
expect 1 libs --fleet "$address" "${range[@]}" "$evil?"
one_line 'no samples of a library that is called'
expect 1 libs --fleet "$address" "${range[@]}" libss
one_line "; did you mean 'libssl\.so\.3'\?$"
expect 2 libs --fleet "$address"
one_line 'libraries are named'
expect 0 diff --fleet "$address" --label canary=yes --against canary=no -2h --by function --csv
has "$out" '^function,inflate,libz'
has "$err" '^canary=no: of 1 host; '
expect 2 diff --fleet "$address" --against canary=no
one_line 'wants --label'

# --- the page over it
. "$SOPROF_SOURCE/tests/cmd/fleet_serve.bash"

# --- half sent, and sent twice
clickhouse_ask 'INSERT INTO samples SELECT day, hour, who, stack, host, ts, run + 1, samples, cost FROM samples'
same "${range[@]}"
columns=$(clickhouse_ask "SELECT name FROM system.columns WHERE database = 'soprof' AND table = 'windows'" | grep -vx run | paste -sd ,)
clickhouse_ask "INSERT INTO windows ($columns, run) SELECT $columns, run + 1 FROM windows"
same "${range[@]}"
clickhouse_ask 'INSERT INTO stacks SELECT * FROM stacks'
clickhouse_ask 'OPTIMIZE TABLE stacks FINAL'
same "${range[@]}"

# --- more stacks than come whole: what each function costs itself is exact all the same
expect 0 fleet init "$address/many"
for table in files frames who; do
	clickhouse_ask "INSERT INTO many.$table SELECT * FROM soprof.$table"
done
ids=$(clickhouse_ask "SELECT groupArray(4)(id) FROM frames WHERE name IN ('SSL_write', 'inflate', 'read', 'sys_read')") who=$(clickhouse_ask 'SELECT any(id) FROM who')
clickhouse_ask "INSERT INTO many.stacks SELECT toDate('$(date -d "@$((end - 600))" +%F)'), number AS id, 0, 0, 0, 0, 0,
	arrayMap(i -> $ids[1 + bitAnd(bitShiftRight(id, i), 3)], arrayConcat(range(20), [0])) FROM system.numbers WHERE id > 0 LIMIT 100500"
clickhouse_ask "INSERT INTO many.samples SELECT day, toDateTime($((end - 3600))), $who, id, 7, toDateTime($((end - 600))), 1, 1 + (id % 9 = 0), 3
	FROM many.stacks"
clickhouse_ask "INSERT INTO many.windows (day, host, source, ts, run, name, labels, seconds, covered, lost, left_out, rows, samples, cost,
	cost_name, cost_unit) SELECT any(day), 7, 'cpu', any(ts), 1, 'x', emptyArrayString(), 60, 60000000000, 0, 0, count(), sum(samples),
	sum(cost), 'cpu', 'nanoseconds' FROM many.samples"
leaves=$(clickhouse_ask "SELECT name, sum(c) FROM (SELECT frames[1] AS id, sum(cost) AS c FROM many.samples ANY LEFT JOIN (SELECT id AS stack,
	frames FROM many.stacks) USING (stack) GROUP BY id) ANY LEFT JOIN (SELECT id, any(name) AS name FROM many.frames GROUP BY id)
	USING (id) GROUP BY name ORDER BY name")
expect 0 query --fleet "$address/many" --from "@$((end - 3600))" --to "@$end" --by function --csv
[ "$(awk -F, -v OFS='\t' '$1 == "function" && $8 > 0 { print $2, $8 }' "$out" | LC_ALL=C sort)" = "$leaves" ] ||
	fail "the leaves' own cost: $leaves"
has "$err" "^shortened the rare stacks of [0-9]+ of [0-9]+ samples; --exact"
has_not "$err" lacks

# --- ends of both sides, at any moment: the server's data outlive it, the sender begins where it was
kill -KILL $server
wait $server 2>/dev/null
clickhouse_start one
same "${range[@]}"
expect 0 fleet init "$address/again"
expect 0 fleet init "$address/whole"
began=$(date +%s%3N)
expect 0 fleet send "$address/whole" --store "$dir/store1" --name web1 --resolution 10s
takes=$(($(date +%s%3N) - began))
for ((i = 0; i < 20; i++)); do
	"$SOPROF" fleet send "$address/again" --store "$dir/store1" --name web1 --resolution 10s >/dev/null 2>&1 &
	sender=$!
	sleep "$(printf '%d.%03d' $((takes * i / 20 / 1000)) $((takes * i / 20 % 1000)))"
	if [ $((i % 5)) = 3 ]; then
		kill -KILL $server
		wait $server $sender 2>/dev/null
		clickhouse_start one
	else
		kill -KILL $sender 2>/dev/null
		wait $sender 2>/dev/null
	fi
done
expect 0 fleet send "$address/again" --store "$dir/store1" --name web1 --resolution 10s
say "after 20 ends: $(cat "$out")"
for value in samples cpu; do
	folded $value --store "$dir/store1" --exact "${range[@]}" >"$dir/own1"
	folded $value --fleet "$address/again" "${range[@]}" >"$dir/fleet1"
	cmp -s "$dir/own1" "$dir/fleet1" || fail "the same after the ends of sender and server: $value"
done
# --- the agent's windows, of all this time: its server was away, too
if [ -n "$agent" ]; then
	fleet_windows() { "$SOPROF" agent --status --socket "$dir/agent.sock" 2>/dev/null | sed -nE 's/^fleet .*: ([0-9]+) windows sent .*/\1/p'; }
	until [ "$(fleet_windows)" -ge 1 ] 2>/dev/null && grep -q ": taken$" "$dir/agent.log"; do # not of a part before a failure
		kill -0 $agent 2>/dev/null && [ $SECONDS -lt 500 ] || { cat "$dir/agent.log"; fail "an agent that has sent a window"; break; }
		sleep 0.3
	done
	kill -INT $agent
	wait $agent
	for value in "samples cpu" "cpu cpu" "samples wall"; do # of two sources, whose windows begin at the same times
		source=${value#* } value=${value% *}
		expect 0 fleet send "$address/agents" --store "$dir/store" --name here --resolution 10s --source $source # what came last
		folded $value --store "$dir/store" --exact --from -1h --source $source >"$dir/own1"
		folded $value --fleet "$address/agents" --from -1h --source $source --label canary=yes >"$dir/fleet1"
		folded $value --fleet "$address/agents" --from -1h --source $source >"$dir/fleet2"
		cmp -s "$dir/own1" "$dir/fleet2" || fail "the agent's own answer in the fleet: $value of $source"
		[ -s "$dir/fleet1" ] || fail "the agent's labels"
	done
	[ "$(clickhouse_ask "SELECT count() FROM (SELECT ts FROM agents.windows GROUP BY ts HAVING uniqExact(source) = 2)")" -gt 0 ] || fail "windows of both sources"
	has "$dir/agent.log" 'fleet at http://127\.0\.0\.1:[0-9]+/agents: taken$'
	grep -qaF 'it'"'"'s' "$dir/agent.log" && fail "no password in the log"
	[ "$(stat -c %s "$dir/store/fleet.sent")" = 1048576 ] || fail "a file of 1 MiB about what was sent"
fi

wait $to_mute && fail "exit code 1 where a server says nothing"
grep -qxE "soprof: fleet: https://127\\.0\\.0\\.1:[0-9]+: .* \\(is it http:// there\\?\\)" "$dir/mute.out" && [ "$(grep -c "" "$dir/mute.out")" = 1 ] ||
	fail "one line about a server that says nothing: $(cat "$dir/mute.out")"
kill $mute
grep -aq -e 'it.s "so"' "$dir/one/log" && fail "no password in the server's log"
finish
