#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 300
# What the agent serves over HTTP, as curl, go tool pprof and a crowd that means ill see it: windows keep coming.
. "$(dirname "$0")/lib.bash"
command -v curl >/dev/null || skip "curl is not installed"
command -v openssl >/dev/null || skip "openssl is not installed"

# --- what needs no privileges
port=$(free_port)
printf 'tls_server_config:\n  cert_fil: x\n' >"$dir/bad.yaml"
expect 2 agent --check-config --web-config "$dir/bad.yaml"
one_line "^soprof: agent: $dir/bad.yaml:2:3: tls_server_config has no 'cert_fil'; did you mean cert_file[?]$"
printf 'tls_server_config:\n  cert_file: none.pem\n  key_file: none.key\n' >"$dir/bad.yaml"
expect 2 agent --check-config --web-config "$dir/bad.yaml"
one_line "bad.yaml:2:14: .*none.pem.*No such file"
echo nonsense | tee "$dir/none.pem" >"$dir/none.key"
expect 2 agent --check-config --web-config "$dir/bad.yaml"
one_line 'cert_file and key_file cannot be used: '
expect 2 agent --check-config --web-config /nonexistent/web.yaml
one_line 'web configuration: .*No such file'
expect 2 agent --check-config --listen example.org
one_line "'example.org' is not an address"
expect 1 open --socket "$dir/none.sock"
one_line 'none.token: No such file'
need_profile

# --- begin ARGUMENT...: an agent; $job, $url
begin() {
	what="agent $*"
	rm -f "$dir/log"
	"$SOPROF" agent --config /dev/null --store "$dir/store" --socket "$dir/a.sock" --group none --listen "127.0.0.1:$port" "$@" \
		>"$dir/stdout" 2>"$dir/log" </dev/null &
	job=$!
	wait_agent "$job" "$dir/log" 'serves its page'
	url=http://127.0.0.1:$port
}
log_says() {
	local i
	for ((i = 0; i < 100 * slow; i++)); do
		[ "$(grep -cE -- "$1" "$dir/log")" -ge "${2:-1}" ] && return
		sleep 0.1
	done
	cat "$dir/log"
	fail "the log to say: $1"
}
# code PATH [CURL-ARGUMENT...]: the status; the body in $dir/body, the header in $dir/header
code() {
	local path=$1
	shift
	curl -s -m 60 -o "$dir/body" -D "$dir/header" -w '%{http_code}' "$@" "$url$path"
}
gets() {
	local wanted=$1 got
	shift
	got=$(code "$@")
	[ "$got" = "$wanted" ] || { head -c 500 "$dir/body"; fail "$* to be answered by $wanted, not $got"; }
}
windows() { "$SOPROF" agent --status --socket "$dir/a.sock" | sed -n 's/^windows   \([0-9]*\) stored.*/\1/p'; }
# until there are more than $1
wait_windows() {
	local i
	for ((i = 0; i < 450 * slow; i++)); do
		[ "$(windows)" -gt "$1" ] && return
		sleep 0.1
	done
	fail "a window to be stored"
}

start plain recursion 600 20
wait_working "$pid" && at_ease "$pid"
begin
expect 1 agent --config /dev/null --store "$dir/other" --socket none --listen "127.0.0.1:$port"
grep -q "^soprof: agent: listen at 127.0.0.1:$port: Address already in use\$" "$err" || fail "to be told who is in the way"
token=$("$SOPROF" open --token --socket "$dir/a.sock")
[ "$("$SOPROF" open --socket "$dir/a.sock")" = "$url/#token=$token" ] || fail "the address with the token"
[[ $token =~ ^[0-9a-f]{64}$ ]] || fail "a token of 32 bytes"
[ "$(stat -c %a "$dir/a.token")" = 600 ] || fail "a token for nobody else"
if is_root; then
	cp "$SOPROF" "$dir/soprof" # nobody may not reach the build directory
	chmod 755 "$dir" "$dir/soprof"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/soprof" open --socket "$dir/a.sock" >"$out" 2>"$err"
	one_line 'the page is for root, and for members of the agent.s group'
fi
with=(-H "Authorization: Bearer $token")

# --- what there is
gets 200 /
has "$dir/header" '^Content-Type: text/html'
has "$dir/header" "^Content-Security-Policy: default-src 'none'; script-src 'sha256-[^ ]*'; .*frame-ancestors 'none'"
etag=$(sed -n 's/^ETag: \(".*"\)\r$/\1/p' "$dir/header")
gets 304 / -H "If-None-Match: $etag"
cmp -s <(curl -s "$url/") <(curl -s --compressed "$url/") || fail "the same page, compressed"
gets 200 /favicon.ico
has "$dir/header" '^Content-Type: image/svg'
gets 200 /-/healthy
gets 200 /-/ready
gets 200 /metrics
gets 404 /nothing
for path in /api/v1/libraries /api/v1/flame /debug/pprof/profile /api/v1/nothing; do
	gets 401 "$path"
	gets 401 "$path" -H "Authorization: Bearer ${token%?}"
	has_not "$dir/body" "$token"
done
for ((i = 0; i < 120 * slow; i++)); do # names for all that runs on a busy machine take their time
	gets 200 '/api/v1/libraries?from=-5m' "${with[@]}"
	! grep -q '"name":"recursion"' "$dir/body" || break
	sleep 1
done
has "$dir/body" '"name":"recursion"'
gets 200 '/api/v1/live?seconds=10' "${with[@]}" --compressed
gets 404 /api/v1/nothing "${with[@]}"
gets 400 '/api/v1/libraries?limit=x' "${with[@]}"
gets 400 '/debug/pprof/profile?seconds=x' "${with[@]}"
gets 400 '/debug/pprof/profile?wait=1&seconds=301' "${with[@]}"

# --- a profile for scrapers: of the past at once, of what comes when it is over
for ((i = 0; i < 60 * slow; i++)); do # a window is in there some seconds after its end
	[ "$(code '/debug/pprof/profile?seconds=300' "${with[@]}")" = 200 ] && run report --format folded "$dir/body"
	! grep -q '^recursion;' "$out" || break
	sleep 1
done
has "$out" '^recursion;'
before=$EPOCHREALTIME
gets 200 '/debug/pprof/profile?seconds=10&wait=1' "${with[@]}"
awk -v a="$before" -v b="$EPOCHREALTIME" 'BEGIN { exit !(b - a >= 10) }' || fail "to be answered when the time is over"
expect 0 report --format folded "$dir/body"
[ "$(samples)" -gt 0 ] || fail "samples"
# who waits for many leaves room for other questions
curl -s -Z --parallel-immediate --parallel-max 17 -o /dev/null -w '%{stderr}%{http_code}\n' "${with[@]}" \
	"$url/debug/pprof/profile?seconds=300&wait=1&n=[1-17]" 2>"$dir/codes" &
crowd=$!
wait_until $((100 * slow)) grep -q 503 "$dir/codes" || fail "one of 17 to be refused"
gets 200 '/api/v1/libraries?from=-1m' "${with[@]}"
kill "$crowd"
wait "$crowd" 2>/dev/null
if command -v go >/dev/null; then
	HOME=$dir PPROF_TMPDIR=$dir go tool pprof -top "http://token:$token@127.0.0.1:$port/debug/pprof/profile?seconds=60" >"$out" 2>"$err" ||
		fail "go tool pprof to read it"
	has "$out" 'recursion|leaf|main'
fi
if command -v promtool >/dev/null; then
	curl -s "$url/metrics" | promtool check metrics >"$out" 2>&1 || { cat "$out"; fail "promtool to find nothing wrong"; }
fi

# --- who may not
n=$(windows)
gets 405 / -X POST -d x
gets 405 / -X PUT -H 'Content-Length: 0'
gets 413 / -X GET -d x
gets 421 / -H 'Host: evil.example'
gets 400 / -H 'Host: a b'
gets 200 / -H 'Host: localhost:1'
gets 403 /api/v1/libraries "${with[@]}" -H 'Origin: http://evil.example'
gets 403 /metrics -H 'Sec-Fetch-Site: cross-site'
gets 200 / -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate'
gets 431 / -H "X: $(head -c 9000 /dev/zero | tr '\0' a)"
gets 431 / -H "X: $(head -c 100000 /dev/zero | tr '\0' a)"
gets 414 "/$(head -c 100000 /dev/zero | tr '\0' a)"
for path in /../../etc/passwd /..%2f..%2fetc/passwd /api/v1/../../../etc/passwd //etc/passwd '/%00' '/api/v1/%2e%2e'; do
	got=$(code "$path" "${with[@]}" --path-as-is)
	[[ $got =~ ^4 ]] || fail "$path to be refused, not $got"
	has_not "$dir/body" 'root:'
done

# --- a crowd: a thousand that are silent, fifty that send a byte a second; others are served, and windows come
ulimit -n 4096 2>/dev/null
crowd() {
	local i fd
	for ((i = 0; i < 1000; i++)); do
		exec {fd}<>"/dev/tcp/127.0.0.1/$port" || return
		[ $((i % 20)) != 0 ] || slow_ones+=("$fd")
	done
	echo there
	for ((i = 0; i < 14; i++)); do
		for fd in "${slow_ones[@]}"; do printf 'GET / HTTP/1.1 ' >&"$fd"; done
		sleep 1
	done
} 2>/dev/null
crowd >"$dir/crowd" &
crowd=$!
until grep -q there "$dir/crowd"; do kill -0 "$crowd" 2>/dev/null || break; sleep 0.1; done
has "$dir/crowd" there
for ((i = 0; i < 20; i++)); do
	gets 200 /-/ready
	gets 200 /api/v1/events "${with[@]}"
done
n_sockets=$(ls -l "/proc/$job/fd" 2>/dev/null | grep -c socket)
[ "$n_sockets" -lt 100 ] || fail "fewer than $n_sockets connections to stay"
wait_windows "$n"
kill -KILL "$crowd" 2>/dev/null
wait "$crowd" 2>/dev/null
"$SOPROF" agent --status --socket "$dir/a.sock" >"$out"
has "$out" ', 0 lost'
# eighty questions at once: each is answered, or told to come again
for ((i = 0; i < 80; i++)); do
	curl -s -m 60 -o /dev/null -w '%{http_code}\n' "${with[@]}" "$url/api/v1/functions?from=-5m&limit=$((i + 1))" &
	jobs_+=($!)
done >"$dir/codes"
wait "${jobs_[@]}"
has "$dir/codes" '^200$'
! grep -qvE '^(200|503|000)$' "$dir/codes" || fail "200 or 503 only, not $(sort "$dir/codes" | uniq -c | tr '\n' ' ')"
gets 200 /api/v1/users "${with[@]}"

# --- the token stays over a restart; HTTP can be off
kill -TERM "$job"
wait "$job" || fail "exit code 0"
[ "$(cat "$dir/a.token")" = "$token" ] || fail "the token to stay"

# --- TLS and users
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key.pem" -out "$dir/cert.pem" -days 2 -subj /CN=localhost \
	-addext 'subjectAltName=IP:127.0.0.1' >/dev/null 2>&1 || fail "a certificate"
# "open sesame", of cost 10
hash='$2b$10$abcdefghijklmnopqrstuu4SuEsu2LsUrAYUpWQHLMMc4GV5pZTxK'
web() { printf 'tls_server_config:\n  cert_file: cert.pem\n  key_file: %s\nbasic_auth_users:\n  %s: %s\n' "$1" "$2" "$hash" >"$dir/web.yaml"; }
web key.pem alice
begin --web-config "$dir/web.yaml"
[ "$(code /)" = 000 ] || fail "no answer without TLS"
url=https://127.0.0.1:$port
ca=(--cacert "$dir/cert.pem")
gets 401 / "${ca[@]}"
has "$dir/header" '^WWW-Authenticate: Basic realm='
gets 401 /metrics "${ca[@]}" -u alice:wrong
sleep 0.6
gets 200 /metrics "${ca[@]}" -u 'alice:open sesame'
gets 200 /api/v1/users "${ca[@]}" -u 'alice:open sesame'
gets 200 /api/v1/users "${ca[@]}" "${with[@]}"
[ "$("$SOPROF" open --socket "$dir/a.sock")" = "$url/#token=$token" ] || fail "an address with https"
[ "$(curl -s -m 20 --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0 "${ca[@]}" "${with[@]}" -o /dev/null -w '%{http_code}' "$url/")" = 000 ] || fail "no TLS 1.1"

# a broken file is told, with its place, and changes nothing; so is a key that does not fit; a good one is taken over
n=$(windows)
printf 'tls_server_config: {\n' >"$dir/web.yaml"
kill -HUP "$job"
log_says "web.yaml:2:1: .*the agent goes on as it was"
openssl genrsa -out "$dir/other.pem" 2048 2>/dev/null
web other.pem alice
kill -HUP "$job"
log_says 'cert_file and key_file cannot be used: .*the agent goes on as it was'
gets 200 /metrics "${ca[@]}" -u 'alice:open sesame'
web key.pem bob
kill -HUP "$job"
log_says 'options read again'
gets 401 /metrics "${ca[@]}" -u 'alice:open sesame'
sleep 0.6
gets 200 /metrics "${ca[@]}" -u 'bob:open sesame'
wait_windows "$n"

# a client's certificate: of whom the agent trusts, of somebody else (its own), none
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/ca.key" -out "$dir/ca.pem" -days 2 -subj /CN=ca 2>/dev/null
openssl req -newkey rsa:2048 -nodes -keyout "$dir/client.key" -out "$dir/client.csr" -subj /CN=client 2>/dev/null
openssl x509 -req -in "$dir/client.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial -days 2 -out "$dir/client.pem" 2>/dev/null
printf 'tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_ca_file: ca.pem, client_auth_type: RequireAndVerifyClientCert}\n' \
	>"$dir/web.yaml"
kill -HUP "$job"
log_says 'options read again' 2
gets 403 /metrics "${ca[@]}"
gets 403 /metrics "${ca[@]}" --cert "$dir/cert.pem" --key "$dir/key.pem"
gets 200 /metrics "${ca[@]}" --cert "$dir/client.pem" --key "$dir/client.key"
gets 401 /api/v1/users "${ca[@]}" --cert "$dir/client.pem" --key "$dir/client.key"
kill -TERM "$job"
wait "$job" || fail "exit code 0"
finish
