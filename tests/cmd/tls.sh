#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# What libcrypto computes in hand-written code whose frames are counted from registers that callees leave alone, or by an
# array on the stack: whole stacks. tests/full/tls.sh tries all that there is.
. "$(dirname "$0")/lib.bash"
need_profile
command -v openssl >/dev/null || skip "there is no openssl"

whole() { # WORD...: openssl speed
	local n time
	for time in 1 4; do
		expect 0 profile -U -f -F $hz -- openssl speed -seconds $((time * slow)) "$@"
		read -r -a n < <(tr -s ' \n' ' ' <"$err" |
			sed -n 's/.*complete \([0-9]*\) .*guessed \([0-9]*\) .*cut \([0-9]*\) .*/\1 \2 \3/p')
		[ $((n[0] + n[1] + n[2])) -lt 50 ] || break
	done
	say "$*: complete ${n[0]}, guessed ${n[1]}, cut ${n[2]}"
	[ $((100 * n[0])) -ge $((99 * (n[0] + n[1] + n[2] - 1))) ] || fail "$*: 99 % complete"
}
whole -bytes 16384 -evp aes-256-gcm
whole -bytes 16384 -decrypt -evp aes-128-xts
whole ecdsap384
finish
