#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# What libcrypto computes in hand-written code whose frames are counted from registers that callees leave alone, or by an
# array on the stack: whole stacks. tests/full/tls.sh tries all that there is.
. "$(dirname "$0")/lib.bash"
need_profile
command -v openssl >/dev/null || skip "there is no openssl"

computes() { # WORD...: openssl speed
	local time
	for time in 1 4; do
		expect 0 profile -U -f -F $hz -o "$dir/folded" -- openssl speed -seconds $((time * slow)) "$@"
		[ "$(count <"$dir/folded")" -lt 50 ] || break
	done
	whole 99 "$*"
}
computes -bytes 16384 -evp aes-256-gcm
computes -bytes 16384 -decrypt -evp aes-128-xts
computes ecdsap384
finish
