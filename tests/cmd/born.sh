#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# A thread that is being made has called nothing: its stack is whole where the kernel has not let it go yet.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
"$SOPROF_BUILD/tests/cmd/born" 600 &
pid=$!
wait_working "$pid"
# Samples whose only user frame is one of libc, which is clone then (it has no name everywhere): whole, cut
newborn() {
	awk 'BEGIN { RS = "" } {
		n = split($0, line, "\n"); frames = 0; is_clone = 0; is_cut = /\[cut: unmapped address\]/
		for (i = 1; i <= n; i++) if (line[i] ~ /^    0x/) { frames++; if (line[i] ~ /\[libc\.so\.6\]/) is_clone = 1 }
		if (frames == 1 && is_clone) { if (is_cut) cut += line[n]; else whole += line[n] }
	} END { print whole + 0, cut + 0 }' "$out"
}
for time in $((2 * seconds)) $((6 * seconds)) $((12 * seconds)); do
	expect 0 profile -U -v -A -F 997 -p "$pid" "$time"
	read -r n_whole n_cut < <(newborn)
	[ "$n_whole" -lt 8 ] || break
done
kill -KILL "$pid"
wait "$pid" 2>/dev/null
say "$n_whole whole, $n_cut cut"
[ "$n_whole" -ge 8 ] || fail "stacks of threads that are being made"
# what the sample hits behind the call, before the thread's own first instruction, cannot be told from its maker's
[ "$n_cut" -le "$n_whole" ] || fail "most of them to be whole"
finish
