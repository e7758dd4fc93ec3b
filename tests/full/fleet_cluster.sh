#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 900
# A fleet's tables distributed over two ClickHouse servers: each answers for both what the hosts' own stores say, to the
# sample, in every view; with one of them gone nothing half is answered or taken, and all is there when it is back.
. "$(dirname "$0")/../cmd/lib.bash"
. "$SOPROF_SOURCE/tests/clickhouse.bash"
clickhouse_fetch || skip "Debian's ClickHouse cannot be fetched"
. "$SOPROF_SOURCE/tests/fleet.bash"

# --- two servers that know each other
ports=($(free_port) $(free_port))
shard() { echo "<shard><replica><host>127.0.0.1</host><port>$1</port></replica></shard>"; }
more() { # N
	clickhouse_more="<tcp_port>${ports[$1]}</tcp_port><interserver_http_port>$(free_port)</interserver_http_port><remote_servers><pair>
		$(shard "${ports[0]}")$(shard "${ports[1]}")</pair></remote_servers>"
}
more 0
clickhouse_start one
one=$address server_one=$server
more 1
clickhouse_start two
two=$address server_two=$server

expect 0 fleet init "$one" --cluster pair --print
has "$out" "^CREATE TABLE IF NOT EXISTS soprof.samples AS soprof.samples_local ENGINE = Distributed\('pair', 'soprof', 'samples_local', host\);$"
expect 1 fleet init "$one" --cluster unknown
one_line "knows no cluster 'unknown' \(remote_servers\)$"
expect 0 fleet init "$one/alone"
expect 1 fleet init "$one/alone" --cluster pair
one_line 'has tables of its own, of no cluster, in the database alone: name another one$'
expect 0 fleet init "$one" --cluster pair
has "$out" '; other servers of the cluster have none yet$'
expect 1 fleet status "$one"
one_line 'soprof fleet init makes them$'
expect 0 fleet init "$two" --cluster pair
has_not "$out" 'none yet'
expect 1 fleet init "$one"
one_line 'in the database soprof are distributed: give --cluster$'
# Printed statements make the same: the last one where all servers have their tables
expect 0 fleet init "$one/printed" --cluster pair --print
cp "$out" "$dir/printed"
print_to() { # ADDRESS
	address=$1
	while IFS= read -r statement; do
		clickhouse_ask "${statement%;}"
	done <"$dir/printed"
}
has <(print_to "$one") '^Code: '
for server_address in "$two" "$one"; do
	print_to "$server_address" >"$dir/said"
	[ ! -s "$dir/said" ] || fail "all statements taken: $(cat "$dir/said")"
done
expect 0 fleet status "$two/printed"
[ "$(clickhouse_ask 'SELECT count() FROM printed.meta')" = 1 ] || fail "one line about the printed tables"
expect 0 fleet init "$one" --cluster pair --keep 3
for address in $one $two; do
	[ "$(clickhouse_ask 'SELECT count() FROM meta')" = 1 ] || fail "one line about the tables, as $address says"
done

# --- hosts send to either
hosts=(1 2 3 4 5 6)
for host in "${hosts[@]}"; do
	rows "$host" $((host % 2 ? 3600 : 1800)) | "$fill" "$dir/store$host" || fail "a store to be filled"
	address=$one
	[ $((host % 3)) = 0 ] || address=$two
	expect 0 fleet send "$address" --store "$dir/store$host" --name "web$host" --labels "canary=$((host % 2))"
	expect 0 fleet send "$one" --store "$dir/store$host" --name "web$host"
	has "$out" '^0 windows sent'
done
parts=()
for address in $one $two; do
	parts+=("$(clickhouse_ask 'SELECT uniqExact(host) FROM windows_local')")
done
say "hosts at each server: ${parts[*]}"
[ $((parts[0] + parts[1])) = 6 ] && [ "${parts[0]}" -gt 0 ] && [ "${parts[1]}" -gt 0 ] || fail "six hosts, on both"

# --- what is asked
range=(--from "@$((end - 1800))" --to "@$end")
same() {
	local value host
	for value in samples cpu; do
		for host in "${hosts[@]}"; do
			folded $value --store "$dir/store$host" --exact "$@" >"$dir/own$host"
			for address in $one $two; do
				folded $value --fleet "$address" --host "web$host" "$@" >"$dir/fleet"
				[ -s "$dir/own$host" ] && cmp -s "$dir/own$host" "$dir/fleet" || fail "web$host at $address: $value $*"
			done
		done
		cat "$dir"/own? | added >"$dir/own"
		for address in $one $two; do
			folded $value --fleet "$address" "$@" >"$dir/fleet"
			cmp -s "$dir/own" "$dir/fleet" || fail "the fleet at $address: $value $*"
		done
	done
}
same "${range[@]}"
same "${range[@]}" --library 'libz*' --process '*'
same "${range[@]}" --function 's*'
same "${range[@]}" --cgroup /system.slice
# Both servers say the same, of libraries what each host's own store says.
for question in "query --by library --csv" "query --by host --csv" "query --label canary=1 --by function --csv" "libs --csv lib*" \
	"query --by process --csv --exact"; do
	for address in $one $two; do
		# shellcheck disable=SC2086
		expect 0 $question --fleet "$address" "${range[@]}"
		[ -s "$out" ] || fail "an answer"
		sort "$out" >"$dir/of-${address##*:}"
	done
	cmp -s "$dir/of-${one##*:}" "$dir/of-${two##*:}" || fail "both to say the same: $question"
done
for address in $one $two; do
	expect 0 diff --fleet "$address" --label canary=1 --against canary=0 -2h --by function --csv
	sort "$out" >"$dir/of-${address##*:}"
done
[ -s "$out" ] && cmp -s "$dir/of-${one##*:}" "$dir/of-${two##*:}" || fail "both to say the same: diff"
expect 0 libs --fleet "$two" "${range[@]}" --csv 'libz*'
cp "$out" "$dir/libs"
for host in "${hosts[@]}"; do
	expect 0 query --store "$dir/store$host" --exact "${range[@]}" --by library --csv
	own=$(awk -F, '$1 == "library" && $2 == "libz.so.1" { print $8 "," $10 }' "$out")
	[ -n "$own" ] && grep -q "^libz.so.1,,,,web$host,$own," "$dir/libs" || fail "libz on web$host: $own"
done
# of more than come whole the rest is added up by the servers
expect 0 fleet status "$two"
has "$out" '^web6 +cpu '
has "$out" '^6 hosts since yesterday; '

# --- one is gone: nothing half is an answer, nothing half is taken for sent
kill -KILL $server_two
wait $server_two 2>/dev/null
expect 1 query --fleet "$one" "${range[@]}"
one_line 'says: HTTP 500: '
rows 7 3600 | "$fill" "$dir/store7"
expect 1 fleet send "$one" --store "$dir/store7" --name web7
one_line 'says: HTTP 500: '
more 1
clickhouse_start two
same "${range[@]}"
kill -KILL $server_one
wait $server_one 2>/dev/null
expect 1 fleet send "$two" --store "$dir/store7" --name web7
more 0
clickhouse_start one
expect 0 fleet send "$two" --store "$dir/store7" --name web7
hosts+=(7)
same "${range[@]}"
finish
