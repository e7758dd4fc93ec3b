#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1500
# Agents whose fleet's server is in trouble: its disk is full, its certificate is of nobody known, or over, the password is
# wrong, its tables are newer, it is slow, it never answers, connections break. Each is told once, counted, and tried again;
# the agent samples on without a gap; when the trouble is over all is there. And hosts whose clock is wrong.
. "$(dirname "$0")/../cmd/lib.bash"
. "$SOPROF_SOURCE/tests/clickhouse.bash"
[ "$(id -u)" = 0 ] || skip "needs root, for agents"
for tool in curl openssl; do
	command -v $tool >/dev/null || skip "there is no $tool"
done
clickhouse_fetch || skip "Debian's ClickHouse cannot be fetched"
. "$SOPROF_SOURCE/tests/fleet.bash"

# --- certificates: of a CA of ours; one that is over
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/ca.key" -out "$dir/ca.pem" -days 2 -subj '/CN=a CA' 2>/dev/null
openssl req -newkey rsa:2048 -nodes -keyout "$dir/server.key" -out "$dir/server.csr" -subj '/CN=127.0.0.1' 2>/dev/null
printf 'subjectAltName = IP:127.0.0.1\n' >"$dir/names"
printf '[ca]\ndefault_ca = one\n[one]\ndatabase = %s\nserial = %s\nnew_certs_dir = %s\ndefault_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n' \
	"$dir/index" "$dir/serial" "$dir" >"$dir/ca.conf"
: >"$dir/index"
echo 01 >"$dir/serial"
sign() { # NAME FROM TO
	openssl ca -batch -config "$dir/ca.conf" -cert "$dir/ca.pem" -keyfile "$dir/ca.key" -in "$dir/server.csr" -out "$dir/$1.pem" -notext \
		-startdate "$2" -enddate "$3" -extfile "$dir/names" 2>"$dir/openssl.log" || { cat "$dir/openssl.log"; fail "a certificate"; finish; }
	sed -i 's/unique_subject = yes/unique_subject = no/' "$dir/index.attr"
}
day() { date -u -d "$1" +%Y%m%d%H%M%SZ; }
sign valid "$(day yesterday)" "$(day tomorrow)"
sign over "$(day '3 days ago')" "$(day yesterday)"

# --- servers: one as it should be, one on a disk of 80 MiB
clickhouse_start one
good=$address
expect 0 fleet init "$good"
mkdir -p "$dir/small/data"
mount -t tmpfs -o size=80m none "$dir/small/data" || skip "no tmpfs can be mounted"
trap 'umount -l "$dir/small/data"; leave' EXIT
clickhouse_start small
small=$address
declare -A port
proxy() { # NAME SERVER [CERTIFICATE]: between
	port[$1]=$(free_port)
	[ -s "$dir/$1.trouble" ] || echo pass >"$dir/$1.trouble"
	/usr/bin/python3 "$SOPROF_SOURCE/tests/proxy.py" "${port[$1]}" "${2##*:}" "$dir/$1.trouble" ${3:+"$dir/$3.pem" "$dir/server.key"} 2>/dev/null &
	until (: >"/dev/tcp/127.0.0.1/${port[$1]}") 2>/dev/null; do sleep 0.05; done
}

# --- agents, each with its own trouble. `repaired` ends it
declare -A agent address_of trouble told
names=(full unknown over trusted password newer slow silent cut)
for name in "${names[@]}"; do
	expect 0 fleet init "$([ $name = full ] && echo "$small" || echo "$good")/a_$name"
	address_of[$name]=$good
done
echo secret >"$dir/wrong"
echo 'it'"'"'s "so"' >"$dir/right"
chmod 600 "$dir/wrong" "$dir/right"
echo "hold" >"$dir/silent.trouble"
echo "delay 1" >"$dir/slow.trouble"
echo "cut 300" >"$dir/cut.trouble"
for name in slow silent cut; do
	proxy $name "$good"
	address_of[$name]=http://127.0.0.1:${port[$name]}
done
proxy unknown "$good" valid
proxy trusted "$good" valid
proxy over "$good" over
for name in unknown trusted over; do
	address_of[$name]=https://127.0.0.1:${port[$name]}
done
address_of[full]=$small
address_of[password]=http://soprof@${good#http://}
address=$good
clickhouse_ask "INSERT INTO a_newer.meta (version, seed) VALUES (9, 9)"
cat /dev/zero >"$dir/small/data/filler" 2>/dev/null

trouble=([trusted]='' [over]='certificate' [unknown]='certificate' [full]='says: HTTP 500: .*space' [password]='says: HTTP 401: .*' [newer]='are of version 9, newer than'
	[slow]='' [silent]='timed out|Timeout|timeout' [cut]='(127\.0\.0\.1:.*)')
agent_start() {
	local name=$1 more=
	[[ $name = trusted || $name = over ]] && more=", ca-file: $dir/ca.pem"
	[ $name = password ] && more=", password-file: $dir/wrong"
	cat >"$dir/$name.yaml" <<-END
		listen: none
		group: none
		frequency: 19
		fleet: {url: "${address_of[$name]}/a_$name", host: $name, resolution: 10s$more}
	END
	"$SOPROF" agent --config "$dir/$name.yaml" --store "$dir/$name-store" --socket "$dir/$name.sock" >"$dir/$name.log" 2>&1 </dev/null &
	agent[$name]=$!
}
began=$(date +%s)
for name in "${names[@]}"; do
	agent_start $name
done
word() { # AGENT NAME
	"$SOPROF" agent --status --json --socket "$dir/$1.sock" 2>/dev/null | grep -oE "\"$2\":[^,}]*" | cut -d: -f2
}
until_true() { # SECONDS COMMAND...
	local last=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $last ] || return
		sleep 1
	done
}
failed_twice() { [ "$(word "$1" fleet_failed)" -ge 2 ] 2>/dev/null; }
has_sent() { [ "$(word "$1" fleet_windows)" -ge 1 ] 2>/dev/null; }
timeout 20 "$SOPROF" fleet status "${address_of[silent]}" >"$dir/patient" 2>&1 & # who asks is told, too
patient=$!
for name in "${names[@]}"; do
	if [ -z "${trouble[$name]}" ]; then
		until_true 200 has_sent $name || { cat "$dir/$name.log"; fail "$name: windows sent"; }
		has_not "$dir/$name.log" 'tried again'
		continue
	fi
	until_true 320 failed_twice $name || { cat "$dir/$name.log"; fail "$name: two failures counted"; }
	[ "$(grep -c 'tried again' "$dir/$name.log")" = 1 ] || { cat "$dir/$name.log"; fail "$name: told once"; }
	grep -qE "fleet at .*(${trouble[$name]}).*; tried again" "$dir/$name.log" || { cat "$dir/$name.log"; fail "$name: ${trouble[$name]}"; }
	grep -qF -e "$(cat "$dir/wrong")" "$dir/$name.log" && fail "$name: no password in the log"
	say "$name: $(grep -oE 'fleet at .*' "$dir/$name.log" | head -n 1)"
done

wait $patient
[ "$(cat "$dir/patient")" = "soprof: ${address_of[silent]}: no answer for 10 s; waiting for it, up to 5 min" ] ||
	fail "one line for who waits: $(cat "$dir/patient")"
expect 0 agent --status --socket "$dir/silent.sock"
has "$out" '^ +slow now: an answer took longer than 10 s in [2-9] of the times it sent$'
[ "$(grep -c ': slow: no answer for 10 s; waited for$' "$dir/silent.log")" = 1 ] || fail "silence told once"
has_not "$dir/slow.log" ': slow: ' # 2 s are not

# --- the trouble is over
rm "$dir/small/data/filler"
address=$good
clickhouse_ask 'DROP DATABASE a_newer'
expect 0 fleet init "$good/a_newer"
cp "$dir/right" "$dir/wrong"
for name in silent cut slow; do
	echo pass >"$dir/$name.trouble"
done
for name in full password newer silent cut; do
	until_true 330 has_sent $name || { cat "$dir/$name.log"; fail "$name: windows sent after the repair"; }
	has "$dir/$name.log" 'fleet at .*: taken$'
done
has "$dir/silent.log" 'fleet at .*: no longer slow$'
for name in unknown over; do
	has_sent $name && fail "$name: nothing sent to such a server"
done
for name in "${names[@]}"; do
	kill -INT "${agent[$name]}"
	wait "${agent[$name]}"
	now=$(date +%s)
	# it sampled on all the time
	expect 0 query --store "$dir/$name-store" --exact --from "@$((began + 15))" --to "@$((now - 15))" --format folded
	says 'sampled \((9[5-9]\.[0-9]|100(\.0)?) %\)'
	sort "$out" >"$dir/own"
	address=$good
	[ $name = full ] && address=$small
	[[ $name = unknown || $name = over ]] || expect 0 fleet send "$address/a_$name" --store "$dir/$name-store" --name $name --resolution 10s
	for value in samples cpu; do
		[[ $name = unknown || $name = over ]] && continue
		folded $value --store "$dir/$name-store" --exact --from -1h >"$dir/own"
		folded $value --fleet "$address/a_$name" --from -1h >"$dir/fleet"
		[ -s "$dir/own" ] && cmp -s "$dir/own" "$dir/fleet" || fail "$name: all is there: $value"
	done
done

# --- clocks: what a host dated wrongly is at that time, is told, and stops nothing that comes later
address=$good
expect 0 fleet init "$address/clocks"
rows 1 1800 >"$dir/rows1"
folded_same() { # NAME FROM TO
	local value
	for value in samples cpu; do
		folded $value --store "$dir/$1-store" --exact --from "@$2" --to "@$3" >"$dir/own"
		folded $value --fleet "$address/clocks" --host "$1" --from "@$2" --to "@$3" >"$dir/fleet"
		[ -s "$dir/own" ] && cmp -s "$dir/own" "$dir/fleet" || fail "$1 in the fleet as in its own store, from $2: $value"
	done
}
for shift in -86400 86400 31536000; do # yesterday, tomorrow, a year ahead
	name=shift$shift
	awk -v d="$shift" '{ $1 += d; print }' "$dir/rows1" | "$fill" "$dir/$name-store"
	expect 0 fleet send "$address/clocks" --store "$dir/$name-store" --name "$name"
	folded_same "$name" $((end + shift - 1800)) $((end + shift))
done
# ahead by a day, then right: what is sent goes on where it is right
awk -v d=86400 'NR <= 100 { $1 += d; print }' "$dir/rows1" | "$fill" "$dir/mended-store"
expect 0 fleet send "$address/clocks" --store "$dir/mended-store" --name mended
"$fill" "$dir/mended-store" <"$dir/rows1"
expect 0 fleet send "$address/clocks" --store "$dir/mended-store" --name mended
folded_same mended $((end - 1800)) "$end"
expect 0 fleet status "$address/clocks"
has "$out" '^shift86400 .*ahead by [0-9]+ s or more'
finish
