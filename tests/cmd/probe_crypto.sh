#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# All functions of a copy of libcrypto are probed, and of another one timed, while openssl, python and curl work with them: they
# write what they write without probes.
. "$(dirname "$0")/lib.bash"
[ "$(id -u)" = 0 ] || skip "needs root"
command -v openssl >/dev/null || skip "needs openssl"
libcrypto=$(ldd "$(command -v openssl)" | awk '/libcrypto/ { print $3 }')
[ -n "$libcrypto" ] || skip "openssl has no libcrypto.so"
export XDG_STATE_HOME=$dir/state
for name in plain counted timed; do
	mkdir "$dir/$name"
	cp "$libcrypto" "$dir/$name/" # never the machine's own
done
head -c 20000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 >"$dir/data" 2>/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
	-keyout "$dir/key" -out "$dir/certificate" 2>/dev/null || skip "openssl makes no certificate"
# Not with the copies: openssl reads a certificate by three million calls.
openssl x509 -in "$dir/certificate" -pubkey -noout >"$dir/public"

digests='import hashlib
data = open("'$dir/data'", "rb").read()
for name in ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b512", "sm3", "ripemd160"):
    try:
        print(name, hashlib.new(name, data).hexdigest())
    except ValueError:
        print(name, "none")
print(hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 10).hex(), hashlib.scrypt(b"word", salt=b"salt", n=2, r=1, p=1).hex())'
# with COMMAND...: with the copy in $own
with() { LD_LIBRARY_PATH=$own "$@"; }
# work NAME: the copies work beside each other. A process that starts costs most of it: each has its own kind of work.
work() {
	local own=$dir/$1 cipher
	with openssl dgst -sha3-512 "$dir/data"
	for cipher in aes-256-cbc chacha20 camellia-128-cbc; do
		with openssl enc "-$cipher" -pbkdf2 -iter 10 -S 0011223344556677 -pass pass:word -in "$dir/data" -out "$own/hidden" &&
			sha256sum <"$own/hidden" &&
			with openssl enc -d "-$cipher" -pbkdf2 -iter 10 -S 0011223344556677 -pass pass:word -in "$own/hidden" | cmp - "$dir/data"
	done
	with openssl dgst -sha256 -sign "$dir/key" -out "$own/signed" "$dir/data" &&
		with openssl dgst -sha256 -verify "$dir/public" -signature "$own/signed" "$dir/data"
	if command -v python3 >/dev/null; then
		with python3 -I -S -c "$digests"
		handshakes
	fi
}
server='import http.server, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Cipher: " + self.connection.cipher()[0].encode())
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("'$dir/certificate'", "'$dir/key'")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
for i in range(int(sys.argv[1])):
    server.handle_request()'
# A server answers a request of each client with what they have agreed on.
has_curl=0
! ldd "$(command -v curl || echo /none)" 2>/dev/null | grep -q libcrypto || has_curl=1
handshakes() {
	local port served
	exec {served}< <(LD_LIBRARY_PATH=$own exec timeout 90 python3 -I -S -c "$server" $((1 + has_curl)) 2>"$own/server")
	read -r port <&"$served"
	printf 'GET / HTTP/1.0\r\n\r\n' | with timeout 90 openssl s_client -connect "127.0.0.1:$port" -CAfile "$dir/certificate" -verify_return_error \
		-quiet -ign_eof 2>"$own/client" | grep -cE '^HTTP/1.0 200 OK|Cipher: TLS_'
	if [ "$has_curl" = 1 ]; then
		with curl -sSi --max-time 90 --cacert "$dir/certificate" --resolve "localhost:$port:127.0.0.1" "https://localhost:$port/" |
			grep -cE '^HTTP/1.0 200 OK|Cipher: TLS_'
	fi
	cat <&"$served" # until it has ended
	exec {served}<&-
}

counters=()
# count NAME OPTION...: its copy
count() {
	"$SOPROF" calls --max-overhead 0 --csv --by function "${@:2}" "$dir/$1/${libcrypto##*/}" >"$dir/$1/out" 2>"$dir/$1/err" </dev/null &
	counters+=($!)
}
is_counting() { grep -q 'counting calls' "$dir/$1/err"; }
count counted
count timed --latency
for name in counted timed; do
	wait_until $((300 * slow)) is_counting "$name" || fail "calls of the copy $name to be counted"
done
is_alone() { [ "$(wc -w <"/proc/$1/task/$1/children")" -le 1 ]; } # but for the broker
for i in 0 1; do # what maps and programs take before a call
	wait_until $((300 * slow)) is_alone "${counters[i]}" || fail "the processes that have read the file not to stay"
	kib=$(awk 'FNR == 1 { n = 0 } /^memlock:/ { n = $2 } /^(map|prog)_id:/ && n && !seen[$0]++ { sum += n } END { print int(sum / 1024) }' "/proc/${counters[i]}/fdinfo/"*)
	most=$((170 + $(nproc) + (100 + 10 * $(nproc)) * i))
	[ "$kib" -gt 100 ] && [ "$kib" -le "$most" ] || fail "counter $i to take at most $most KiB of the kernel's memory, not $kib"
done
work counted >"$dir/counted/written" 2>&1 &
work timed >"$dir/timed/written" 2>&1
wait $!
kill -INT "${counters[@]}"
work plain >"$dir/plain/written" 2>&1
has "$dir/plain/written" '^Verified OK'
[ "$(grep -c '^2$' "$dir/plain/written")" = $((1 + has_curl)) ] || ! command -v python3 >/dev/null || fail 'each client to be answered'
for i in 0 1; do
	names=(counted timed)
	name=${names[i]}
	what="calls of the copy $name"
	wait "${counters[i]}"
	status=$?
	[ "$status" = 0 ] || fail "exit code 0"
	cmp -s "$dir/plain/written" "$dir/$name/written" ||
		fail "what is written without probes: $(diff "$dir/plain/written" "$dir/$name/written" | head -n 8)"
	n=$(awk -F, 'NR > 1 && $8 > 0' "$dir/$name/out" | grep -c .)
	[ "$n" -ge 500 ] || fail "500 functions to be called, not $n"
	say "$name: $n functions called; $(sed -n 's/^soprof: \([0-9]* calls of .*\)/\1/p' "$dir/$name/err")"
done
finish
