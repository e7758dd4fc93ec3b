#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 150
# The store's directory is removed while the agent runs: it is told and made anew; where that may not be, windows wait,
# and are stored when it may. What was stored is there after kill -9.
. "$(dirname "$0")/lib.bash"
command -v curl >/dev/null || skip "curl is not installed"
need_profile
port=$(free_port)
mkdir "$dir/a"
"$SOPROF" agent --config /dev/null --store "$dir/a/store" --socket "$dir/a.sock" --group none --listen "127.0.0.1:$port" \
	>"$dir/stdout" 2>"$dir/log" </dev/null &
job=$!
log_says() { # PATTERN: within two windows, as the machine may be busy
	local i
	what="log: $1"
	for ((i = 0; i < 300 * slow; i++)); do
		grep -qE -- "$1" "$dir/log" && return
		sleep 0.1
	done
	cat "$dir/log"
	fail "the log to say: $1"
}
get() { curl -s -m 60 -o "$dir/body" -w '%{http_code}' "http://127.0.0.1:$port$1"; }
is_ready() { # CODE, soprof_store_failing
	[ "$(get /-/ready)" = "$1" ] || fail "$1 for /-/ready"
	get /metrics >/dev/null
	has "$dir/body" "^soprof_store_failing $2\$"
}
stored() { # NUMBER of windows that are there at least
	local i
	for ((i = 0; i < 300 * slow; i++)); do
		run agent --status --socket "$dir/a.sock"
		[ "$(sed -n 's/^windows *\([0-9]*\) stored.*/\1/p' "$out")" -ge "$1" ] 2>/dev/null && return
		sleep 0.1
	done
	fail "$1 windows stored"
}
stored 1
is_ready 200 0

# it is made anew with the next window
rm -r "$dir/a/store"
log_says "store: $dir/a/store was removed, renamed or replaced"
stored 2
has "$out" 'removed or replaced 1 times while it was written to, and begun anew'
is_ready 200 0
expect 0 query --store "$dir/a/store" --from -1m --format folded
[ -s "$out" ] || fail "stacks in the new directory"

# and where it cannot be made (the agent has no capabilities, root or not), it waits
rm -r "$dir/a/store"
chmod 555 "$dir/a"
log_says "the store takes nothing: store: $dir/a/store was removed or replaced: make $dir/a/store: Permission denied; windows wait"
is_ready 503 1
expect 0 agent --status --socket "$dir/a.sock"
has "$out" 'takes nothing now: .*Permission denied'
has "$out" '[1-9][0-9]* waiting for names or the disk, 0 dropped'
chmod 755 "$dir/a"
log_says 'the store takes windows again'
is_ready 200 0
stored 4 # two that had waited, or one that did and one that came
kill -KILL "$job"
wait "$job" 2>/dev/null
expect 0 query --store "$dir/a/store" --from -1m --format folded
has "$err" '[0-9]+ s sampled \((100|99\.[0-9]) %\), in [2-9] windows of 10 s'
finish
