#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# Profiles that are sent to Pyroscope and by OTLP: what a server got, decoded by protoc with the formats' descriptions, is what
# the store says, to the sample, also after failures of each kind; what is refused is counted; no secret is told.
. "$(dirname "$0")/lib.bash"
SOPROF_SOURCE=${SOPROF_SOURCE:-$(readlink -f "$(dirname "$0")/../..")}
python=/usr/bin/python3
[ -x $python ] && command -v protoc >/dev/null && command -v curl >/dev/null || skip "needs python3, protoc and curl"
fill=$SOPROF_BUILD/tests/cmd/fill
[ -x "$fill" ] || { echo "no $fill; build it first"; exit 1; }
export no_proxy='*'

# --- bad input
wrong() { # PATTERN, the file on standard input
	cat >"$dir/wrong.yaml"
	expect 2 agent --check-config --config "$dir/wrong.yaml"
	one_line "$1"
}
wrong "1:12: pyroscope: it has no url" <<<'pyroscope: {}'
wrong "1:18: url: 'ftp://x' is not http" <<<'pyroscope: {url: ftp://x}'
wrong 'no user belongs into an address.*headers-file' <<<'otlp: {url: "https://me:secret@x/"}'
has_not "$err" secret
wrong "1:37: headers-file: 'x' does not begin with a /" <<<'otlp: {url: http://x, headers-file: x}'
wrong "otlp has no 'password'" <<<'otlp: {url: http://x, password: x}'
wrong "is not a label" <<<'otlp: {url: http://x, labels: {a-b: c}}'

# --- a store of the last minutes, and a server
"$python" "$SOPROF_SOURCE/tests/cmd/push.py" serve "$dir" 2>"$dir/server.log" &
now=$(($(date +%s) / 60 * 60))
evil=$'a\'{b},c\303\251' name=$'f\001\377'
id=00112233445566778899aabbccddeeff00112233
for ((t = now - 900; t <= now; t += 10)); do
	((t >= now - 300 && t < now - 240)) && continue # nothing was sampled
	cat <<-ROWS
		$t 100 git 1000 /user.slice/user-1000.slice/user@1000.service/app.slice main@git;inflate@libz.so.1#$id $((20 + t % 3))
		$t 101 git 1000 /user.slice main@git;inflate@libz.so.1#$id;sys_read@[kernel] $((5 + t / 10 % 7))
		$t 200 nginx 33 /system.slice/nginx.service main@nginx;SSL_write@libssl.so.3 $((30 + t / 10 % 11))
		$t 201 worker 33 /system.slice/nginx.service/x main@nginx;SSL_write@libssl.so.3 7
		$t 300 postgres 70 /system.slice/postgresql@15-main.service main@postgres;hash@postgres 3
		$t $((t % 30000 + 400)) $evil 0 / x@sh;$name@sh 2
	ROWS
done | "$fill" "$dir/store" || fail "a store to be filled"
cp -r "$dir/store" "$dir/agent-store"
until [ -s "$dir/port" ]; do sleep 0.05; done
address=http://127.0.0.1:$(cat "$dir/port")
printf '# for tests\nAuthorization: Bearer secret-word\r\nX-Scope-OrgID: me\n' >"$dir/headers"
chmod 600 "$dir/headers"
cp "$dir/headers" "$dir/agent.headers"

# --- an agent, which sends meanwhile; looked at in the end
agent=
if [ "$(id -u)" = 0 ]; then
	cat >"$dir/agent.yaml" <<-END
		listen: 127.0.0.1:0
		group: none
		pyroscope: {url: $address/agent, headers-file: $dir/agent.headers, host: here, labels: {env: prod}, resolution: 10s}
		otlp: {url: "http://127.0.0.1:1", headers-file: $dir/agent.headers, host: here, resolution: 10s}
	END
	"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/agent-store" --socket "$dir/agent.sock" >"$dir/agent.log" 2>&1 </dev/null &
	agent=$!
fi

store=store
# push KIND PLACE CODE: the process that an agent starts to send, told as the agent tells it
push() {
	what="--send $1 $2"
	{
		printf '%s\n' " kind=$1 url=$address/$2/ host=h%7B1%7D store=$dir/$store resolution=60 timeout=400" source=cpu label=env=prod 'label=team=a,b' ''
		cat "$dir/headers"
	} | "$SOPROF" --send >"$out" 2>"$err"
	status=$?
	[ "$status" = "$3" ] || fail "exit code $3; it says: $(cat "$out")"
	has_not "$out" secret
}
mode() { printf '%s\n' "$*" >"$dir/mode"; }
count() { sed -nE "s/.*\\<$1=([0-9]+).*/\\1/p" "$out"; }
# got PLACE: what is there is what the store says of the time that it is of
got() {
	local from to n services
	"$python" "$SOPROF_SOURCE/tests/cmd/push.py" read "$dir/$1" "$SOPROF_SOURCE/tests/data" >"$dir/got" || { fail "profiles at $1 as their formats have them"; return; }
	{ read -r services && read -r from to n; } <"$dir/got"
	if [ "$store" = store ]; then
		[ "$services" = 'a__b__c__ git nginx postgresql' ] || fail "services at $1, not: $services"
		[ "$((to - from)) $n" = "$((60 * (n + 1))) $n" ] && [ "$n" -ge 8 ] ||
			fail "all minutes but one, which has nothing: $n in $((to - from)) s"
	fi
	expect 0 query --store "$dir/$store" --exact --from "@$from" --to "@$to" --value samples --format folded
	LC_ALL=C awk '{ n = $NF; sub(/ [0-9]+$/, ""); sub(/^[^;]*;/, ""); sum[$0] += n } END { for (s in sum) printf "%s %.0f\n", s, sum[s] }' "$out" |
		LC_ALL=C sort >"$dir/own"
	sed 1,2d "$dir/got" | LC_ALL=C sort | cmp -s - "$dir/own" || { sed 1,2d "$dir/got" | LC_ALL=C sort | diff "$dir/own" - | head -n 6; fail "at $1 what the store says"; }
}

# --- Pyroscope: cut off in the middle of a minute it goes on behind what was taken
mode after 7
push pyroscope p 3
[ "$(count profiles)" = 7 ] || fail "seven profiles taken"
mode ok
push pyroscope p 0
got p
push pyroscope p 0
[ "$(count profiles)" = 0 ] || fail "nothing a second time"

# --- OTLP: nothing is lost or there twice by answers that may pass
mode status 500 broken
push otlp o 3
has "$out" '^HTTP 500: broken$'
mode status 401 who are you
push otlp o 3
has "$out" '^HTTP 401: who are you$'
mode status 429 too many
push otlp o 3
has "$out" ' later=120 '
has "$out" '^HTTP 429: too many$'
mode slow 1
push otlp o 3
has "$out" '[Tt]imed out|[Tt]imeout'
mode ok
push otlp o 0
got o
mode cut
push otlp new 3
[ "$(count profiles) $(count refused)" = '0 0' ] || fail "nothing sent: $(cat "$out")"

# --- more names than are let through: the others are one
for ((t = now - 60; t <= now; t += 10)); do
	for ((i = 1; i <= 120; i++)); do echo "$t $i p$i 0 / main@p$i;f@libz.so.1 $i"; done
done | "$fill" "$dir/many" || fail "a store of many names"
store=many
mode ok
push pyroscope many 0
got many
read -r -a services <"$dir/got"
[ ${#services[@]} = 100 ] && [[ " ${services[*]} " == *" other p100 "* && " ${services[*]} " != *" p20 "* ]] ||
	fail "the 99 heaviest, and all others: ${services[*]}"
store=store

# --- refused: counted, with the reason, and not sent again
for kind in pyroscope otlp; do
	for answer in 'status 413 too large' reject; do
		[ "$kind $answer" != 'pyroscope reject' ] || continue
		mode "$answer"
		push $kind "refused-${answer%% *}" 0
		has "$out" '^(HTTP 413: too large|too new)$'
		[ "$(count profiles)" = 0 ] && [ "$(count refused)" -gt 3000 ] || fail "all counted as refused: $(cat "$out")"
		mode ok
		push $kind "refused-${answer%% *}" 0
		[ "$(count profiles) $(count refused)" = '0 0' ] || fail "what was refused is not sent again: $(cat "$out")"
	done
done
printf 'nonsense secret\n' >"$dir/headers"
push otlp o 3
has "$out" '^line 1 of the headers-file is not NAME: VALUE$'

# --- the agent
if [ -n "$agent" ]; then
	what="agent"
	told() { "$SOPROF" agent --status --socket "$dir/agent.sock" >"$out" 2>"$err"; grep -qE "$1" "$out"; }
	until told '^pyroscope http.*/agent: [1-9][0-9]* profiles sent in .*, until 2' && told 'takes nothing now \([1-9]'; do
		kill -0 $agent 2>/dev/null && [ $SECONDS -lt 160 ] || { cat "$dir/agent.log" "$out"; fail "an agent that has sent"; finish; }
		sleep 0.2
	done
	has "$out" '^otlp      http://127\.0\.0\.1:1: 0 profiles sent in '
	curl -sS "$(grep -oE 'http://127[0-9.:]*/' "$dir/agent.log" | head -n 1)metrics" >"$out"
	has "$out" '^soprof_push_profiles_total\{protocol="pyroscope",target="http://127[^"]*/agent"\} [1-9]'
	has "$out" '^soprof_push_failures_total\{protocol="otlp",target="http://127\.0\.0\.1:1"\} [1-9]'
	[ "$(grep -c 'otlp at http://127\.0\.0\.1:1: .*; tried again' "$dir/agent.log")" = 1 ] || fail "a failure told once"
	has "$dir/agent.log" 'pyroscope at http://127.*/agent: taken$'
	has_not "$dir/agent.log" secret-word
	grep -q '"Authorization": "Bearer secret-word"' "$dir/agent/0.json" || fail "the headers of the file"
	kill -INT $agent
	wait $agent || fail "the agent to end well"
fi
finish
