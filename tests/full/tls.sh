#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1800
# Every cipher, digest and curve of `openssl speed`, and the ciphers and key exchanges of `gnutls-cli`: how many of the
# stacks are complete. 99 % of each that has samples enough, but for one sample, which may fall into a program's start.
set -euo pipefail
err=$(mktemp)
trap 'rm -f "$err"' EXIT
failed=0 hz=499 # of a second

check() { # NAME COMMAND...
	local name=$1 n
	shift
	if ! "$SOPROF" profile -U -f -F $hz -- "$@" >/dev/null 2>"$err"; then
		echo "$name: it failed: $(tail -n 1 "$err")"
		failed=1
		return
	fi
	n=($(tr -s ' \n' ' ' <"$err" |
		sed -n 's/.*complete \([0-9]*\) .*guessed \([0-9]*\) .*cut \([0-9]*\) (\(.*\)); without.*/\1 \2 \3 \4/p'))
	local all=$((n[0] + n[1] + n[2]))
	[ $all -ge 20 ] || return 0 # not in this build of the library
	printf '%-42s %6.2f %% of %d; guessed %d, cut %d %s\n' "$name" "$((10000 * n[0] / all))e-2" $all "${n[1]}" "${n[2]}" \
		"${n[*]:4}"
	[ $((100 * n[0])) -ge $((99 * (all - 1))) ] || failed=1
}

ciphers() {
	openssl list -cipher-algorithms | sed -n 's/^ *{ .*[ ,]\([^ ,]*\) } @.*/\1/p; s/^ *\([^ {]*\) @.*/\1/p' | tr A-Z a-z |
		sort -u
}
bulk=(openssl speed -seconds 1 -bytes 16384)
for name in $(ciphers | grep -vx null); do
	check "$name" "${bulk[@]}" -evp "$name"
	[[ ! $name =~ (cbc|xts|ecb|ocb|gcm|ccm)$ ]] || check "$name, decrypting" "${bulk[@]}" -decrypt -evp "$name"
done
for name in $(openssl list -digest-commands); do
	check "$name" "${bulk[@]}" -evp "$name"
done
check "aes-128-cbc-hmac-sha1, multi-block" "${bulk[@]}" -mb -evp aes-128-cbc-hmac-sha1
check "hmac(sha256)" "${bulk[@]}" -hmac sha256
check "cmac(aes-128-cbc)" "${bulk[@]}" -cmac aes-128-cbc
check "ghash" "${bulk[@]}" ghash
check "rand" "${bulk[@]}" rand
for name in rsa2048 rsa4096 dsa2048 ffdh2048 ecdsap{224,256,384,521} ecdsak{233,283,409,571} ecdsab{233,283,409,571} \
	ecdsabrp{256r1,256t1,384r1,384t1,512r1,512t1} ecdhp{224,256,384,521} ecdhk{233,571} ecdhb{233,571} \
	ecdhbrp{256r1,384r1,512t1} ecdhx25519 ecdhx448 ed25519 ed448 curveSM2; do
	check "$name" openssl speed -seconds 1 "$name"
done
check "gnutls: ciphers" gnutls-cli --benchmark-ciphers
check "gnutls: key exchanges" gnutls-cli --benchmark-tls-kx
check "gnutls: TLS ciphers" gnutls-cli --benchmark-tls-ciphers
exit $failed
