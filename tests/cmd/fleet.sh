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
fill=$SOPROF_BUILD/tests/cmd/fill
[ -x "$fill" ] || { echo "no $fill; build it first"; exit 1; }

# Two hosts, with names that mean something to SQL, to globs and to formats.
evil="x'),(1)--\\'\"\`%s?*[a]\\x00$(printf '\377')"
end=$(($(date +%s) / 3600 * 3600)) # a full hour
rows() { # HOST SECONDS
	local t
	for ((t = end - $2; t < end; t += 10)); do
		((t >= end - 1500 && t < end - 1200)) && continue
		cat <<-ROWS
			$t 100 git 1000 /user.slice main@git;inflate@libz.so.1 $((20 + $1))
			$t 101 git 1000 /user.slice main@git;read@libc.so.6;sys_read@[kernel] $((5 + t / 10 % 7))
			$t 200 nginx$1 33 /system.slice/nginx.service main@nginx;SSL_write@libssl.so.3;aes@libcrypto.so.3 $((30 + t / 10 % 11))
			$t 300 $evil 0 /$evil $evil@$evil;f@$evil 2
			$t $((t % 30000 + 300)) sh 0 /system.slice/cron.service main@sh;fork@libc.so.6 1
		ROWS
	done
}
rows 1 3600 >"$dir/rows1"
rows 2 1800 >"$dir/rows2"
"$fill" "$dir/store1" <"$dir/rows1" && "$fill" "$dir/store2" <"$dir/rows2" || fail "two stores to be filled"

# folded VALUE PLACE...: what is asked of stores or a fleet, sorted and added up
folded() {
	local value=$1
	shift
	expect 0 query "$@" --value "$value" --format folded
	sort "$out"
}
added() { LC_ALL=C awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) printf "%s %.0f\n", s, sum[s] }' | sort; }
# same RANGE...: of both hosts together and each alone
same() {
	local value host
	for value in samples cpu; do
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
expect 0 fleet init "$address" --keep 30
[ "$(clickhouse_ask 'SELECT count() FROM meta')" = 1 ] || fail "one line about the tables"
expect 0 fleet status "$address"
has "$out" '^0 hosts since yesterday; '
expect 1 query --fleet "$address" --from -1h
one_line 'has nothing of cpu from that time$'

# --- bad input
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
one_line 'https://127\.0\.0\.1:[0-9]+: '
expect 1 fleet status "http://soprof@${address#http://}"
one_line 'HTTP 401: Password required'
printf 'it'"'"'s "so"\nmore\n' >"$dir/password"
expect 0 fleet status "http://soprof@${address#http://}" --password-file "$dir/password"
expect 2 query --from -1h --host 'web*'
one_line 'give --fleet$'

# --- all is sent, once
expect 0 fleet send "$address" --store "$dir/store1" --name web1 --labels "service=web,canary=yes"
has "$out" '^55 windows sent, [0-9]+ samples in [0-9]+ rows, '
expect 0 fleet send "$address" --store "$dir/store2" --name web2 --labels "service=web,canary=no"
has "$out" '^25 windows sent, '
expect 0 fleet send "$address" --store "$dir/store2" --name web2
has "$out" '^0 windows sent, 0 samples'
same "${range[@]}"
same --from "@$((end - 1020))" --to "@$((end - 420))"
same "${range[@]}" --library 'libz*'
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
expect 1 query --fleet "$address" "${range[@]}" --host "$evil"
expect 1 query --fleet "$address" "${range[@]}" --source "$evil"
one_line 'has nothing of '
expect 0 fleet status "$address"
has "$out" '^web1 +cpu .* 55 +(5 min|300 s) .*service=web canary=yes$'
has "$out" '^2 hosts since yesterday; '

# --- half sent, and sent twice
clickhouse_ask 'INSERT INTO samples SELECT day, hour, who, stack, host, ts, run + 1, samples, cost FROM samples'
same "${range[@]}"
columns=$(clickhouse_ask "SELECT name FROM system.columns WHERE database = 'soprof' AND table = 'windows'" | grep -vx run | paste -sd ,)
clickhouse_ask "INSERT INTO windows ($columns, run) SELECT $columns, run + 1 FROM windows"
same "${range[@]}"
clickhouse_ask 'INSERT INTO stacks SELECT * FROM stacks'
clickhouse_ask 'OPTIMIZE TABLE stacks FINAL'
same "${range[@]}"

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
	sleep "$(printf '0.%03d' $((RANDOM % (takes > 999 ? 999 : takes))))"
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
grep -aq -e 'it.s "so"' "$dir/one/log" && fail "no password in the server's log"
finish
