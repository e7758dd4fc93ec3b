#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 240
# All functions of a copy of libcrypto are probed, and timed, while openssl, python and curl work with it: they write what they
# write without probes.
. "$(dirname "$0")/lib.bash"
[ "$(id -u)" = 0 ] || skip "needs root"
command -v openssl >/dev/null || skip "needs openssl"
libcrypto=$(ldd "$(command -v openssl)" | awk '/libcrypto/ { print $3 }')
[ -n "$libcrypto" ] || skip "openssl has no libcrypto.so"
export XDG_STATE_HOME=$dir/state
own=$dir/${libcrypto##*/}
cp "$libcrypto" "$own" # never the machine's own
head -c 20000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 >"$dir/data" 2>/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
	-keyout "$dir/key" -out "$dir/certificate" 2>/dev/null || skip "openssl makes no certificate"

# with COMMAND...: with the copy
with() { LD_LIBRARY_PATH=$dir "$@"; }
digests='import hashlib
data = open("'$dir/data'", "rb").read()
for name in ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b512", "sm3", "ripemd160"):
    try:
        print(name, hashlib.new(name, data).hexdigest())
    except ValueError:
        print(name, "none")
print(hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 10).hex(), hashlib.scrypt(b"word", salt=b"salt", n=2, r=1, p=1).hex())'
work() {
	local cipher digest
	for digest in md5 sha256 sha512 sha3-512 blake2b512; do
		with openssl dgst "-$digest" "$dir/data"
	done
	for cipher in aes-256-cbc aes-128-ctr chacha20 camellia-128-cbc aria-256-cbc; do
		with openssl enc "-$cipher" -pbkdf2 -iter 10 -S 0011223344556677 -pass pass:word -in "$dir/data" -out "$dir/hidden" &&
			with openssl dgst -sha256 "$dir/hidden" &&
			with openssl enc -d "-$cipher" -pbkdf2 -iter 10 -S 0011223344556677 -pass pass:word -in "$dir/hidden" | cmp - "$dir/data"
	done
	with openssl dgst -sha256 -sign "$dir/key" -out "$dir/signed" "$dir/data" && with openssl x509 -in "$dir/certificate" -pubkey -noout >"$dir/public" &&
		with openssl dgst -sha256 -verify "$dir/public" -signature "$dir/signed" "$dir/data"
	if command -v python3 >/dev/null; then with python3 -I -S -c "$digests"; fi
	handshake
}
# A server answers a request of each client for a page of its own.
has_curl=0
! ldd "$(command -v curl || echo /none)" 2>/dev/null | grep -q libcrypto || has_curl=1
handshake() {
	local port server tries=900
	port=$(free_port)
	with openssl s_server -accept "127.0.0.1:$port" -cert "$dir/certificate" -key "$dir/key" -quiet -www -naccept $((1 + has_curl)) >"$dir/server" 2>&1 &
	server=$!
	until grep -qs ":$(printf '%04X' "$port") 00000000:0000 0A" /proc/net/tcp || [ $((tries -= 1)) = 0 ]; do sleep 0.1; done
	printf 'GET / HTTP/1.0\r\n\r\n' | with timeout 90 openssl s_client -connect "127.0.0.1:$port" -CAfile "$dir/certificate" -verify_return_error \
		-quiet -ign_eof 2>"$dir/client" | grep -cE '^HTTP/1.0 200 ok|Cipher *: *TLS_'
	if [ "$has_curl" = 1 ]; then
		with curl -sSi --max-time 90 --cacert "$dir/certificate" --resolve "localhost:$port:127.0.0.1" "https://localhost:$port/" |
			grep -cE '^HTTP/1.0 200 ok|Cipher *: *TLS_'
	fi
	kill "$server" 2>/dev/null
	wait "$server"
}

what='no probes'
work >"$dir/truth" 2>&1
has "$dir/truth" '^Verified OK'
for option in '' --latency; do
	what="calls $option $own"
	: >"$err"
	"$SOPROF" calls --max-overhead 0 --csv --by function $option "$own" >"$out" 2>"$err" </dev/null &
	counter=$!
	tries=300
	until grep -q 'counting calls' "$err" || [ $((tries -= 1)) = 0 ]; do sleep 0.1; done
	work >"$dir/probed" 2>&1
	kill -INT "$counter"
	wait "$counter"
	status=$?
	[ "$status" = 0 ] || fail "exit code 0"
	cmp -s "$dir/truth" "$dir/probed" || fail "what is written without probes: $(diff "$dir/truth" "$dir/probed" | head -n 8)"
	n=$(awk -F, 'NR > 1 && $8 > 0' "$out" | grep -c .)
	[ "$n" -ge 500 ] || fail "500 functions to be called, not $n"
	say "${option:-counted}: $n functions called; $(sed -n 's/^soprof: \([0-9]* calls of .*\)/\1/p' "$err")"
done
finish
