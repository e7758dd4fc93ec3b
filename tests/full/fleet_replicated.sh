#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 300
# A fleet's tables replicated over two ClickHouse servers by Debian's ZooKeeper: either is killed while a host sends to the
# other, and each has all in the end, to the sample, also alone. Takes half a minute.
. "$(dirname "$0")/../cmd/lib.bash"
. "$SOPROF_SOURCE/tests/clickhouse.bash"
command -v java >/dev/null || skip "there is no java"
clickhouse_fetch || skip "Debian's ClickHouse cannot be fetched"
unpack_all zookeeper libzookeeper-java libslf4j-java libdropwizard-metrics-java libnetty-java libsnappy-java libcommons-io-java \
	libcommons-cli-java || skip "Debian's ZooKeeper cannot be fetched"
. "$SOPROF_SOURCE/tests/fleet.bash"

# --- ZooKeeper, and two servers for the same rows
keeper=$(free_port)
jars=(zookeeper zookeeper-jute slf4j-api slf4j-nop metrics-core netty-all snappy-java commons-io commons-cli)
mkdir "$dir/keeper"
printf 'tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n' "$dir/keeper" "$keeper" >"$dir/keeper.conf"
java -Xmx128m -Dzookeeper.admin.enableServer=false -cp "$(printf "$unpacked/zookeeper/usr/share/java/%s.jar:" "${jars[@]}")" \
	org.apache.zookeeper.server.ZooKeeperServerMain "$dir/keeper.conf" >"$dir/keeper.log" 2>&1 </dev/null &
until (: >"/dev/tcp/127.0.0.1/$keeper") 2>/dev/null; do
	kill -0 $! 2>/dev/null || { tail -n 5 "$dir/keeper.log"; fail "ZooKeeper"; finish; }
	sleep 0.1
done
ports=($(free_port) $(free_port)) between=($(free_port) $(free_port))
replica() { echo "<replica><host>127.0.0.1</host><port>$1</port></replica>"; }
begin() { # N NAME [MORE]
	clickhouse_more="<tcp_port>${ports[$1]}</tcp_port><interserver_http_host>127.0.0.1</interserver_http_host>
		<interserver_http_port>${between[$1]}</interserver_http_port>
		<remote_servers><copies><shard><internal_replication>true</internal_replication>$(replica "${ports[0]}")$(replica "${ports[1]}")</shard></copies>
		</remote_servers>${3-<zookeeper><node><host>127.0.0.1</host><port>$keeper</port></node></zookeeper>
		<macros><shard>1</shard><replica>$2</replica></macros>}"
	clickhouse_start "$2"
	declare -g "$2=$address" "server_$2=$server"
}
begin 0 one ''
expect 1 fleet init "$one" --cluster copies
one_line 'make replicated tables, since copies has several servers for the same rows: .*([Mm]acro|ZooKeeper)'
end_server() {
	kill -KILL "$1"
	wait "$1" 2>/dev/null
}
end_server $server_one
begin 0 one
begin 1 two
expect 0 fleet init "$one" --cluster copies --print
has "$out" "^CREATE TABLE IF NOT EXISTS soprof.samples_local .* ENGINE = ReplicatedMergeTree\('/clickhouse/tables/\{shard\}/soprof/samples_local', '\{replica\}'\) PARTITION BY day"
has "$out" "^CREATE TABLE IF NOT EXISTS soprof.stacks_local .* ENGINE = ReplicatedReplacingMergeTree\("
for server_address in "$one" "$two" "$one"; do
	expect 0 fleet init "$server_address" --cluster copies
	has "$out" ': the replicated tables are there'
done

# both: each has all rows that count
alike() {
	local tries=300 sums=()
	while [ $((tries -= 1)) -gt 0 ]; do
		sums=()
		for address in $one $two; do
			sums+=("$(clickhouse_ask 'SELECT count(), sum(samples), sum(cost) FROM samples_local' | tr '\t' ' ')")
		done
		[ "${sums[0]}" = "${sums[1]}" ] && return
		sleep 0.1
	done
	fail "both servers to have the same: ${sums[*]}"
}
hosts=()
send() { # HOST ADDRESS
	rows "$1" 1800 | "$fill" "$dir/store$1" || fail "a store to be filled"
	hosts+=("$1")
	expect 0 fleet send "$2" --store "$dir/store$1" --name "web$1"
}
range=(--from "@$((end - 1800))" --to "@$end")
same() { # ADDRESS...
	local value
	for value in samples cpu; do
		for host in "${hosts[@]}"; do
			folded $value --store "$dir/store$host" --exact "${range[@]}"
		done | added >"$dir/own"
		for address in "$@"; do
			folded $value --fleet "$address" "${range[@]}" >"$dir/fleet"
			[ -s "$dir/own" ] && cmp -s "$dir/own" "$dir/fleet" || fail "the fleet at $address as its hosts' stores: $value"
			has_not "$err" lacks
		done
	done
}
send 1 "$one"
send 2 "$two"
alike
same "$one" "$two"
expect 0 fleet send "$two" --store "$dir/store1" --name web1
has "$out" '^0 windows sent'

# --- either is lost: the other answers for all and takes what is sent, and the lost one has it when it is back
end_server $server_two
same "$one"
send 3 "$one"
begin 1 two
alike
end_server $server_one
same "$two"
send 4 "$two"
begin 0 one
alike
same "$one" "$two"
finish
