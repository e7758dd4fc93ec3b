#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# in memory
# beside others
# deadline: 180
# A store whose writer is killed at any moment, and whose writes fail one after the other: every window that was
# acknowledged is there as it was written, roll-ups hold what windows do, and the writer goes on by itself.
# KILLS and EVERY (each how many-th write fails) make it longer: tests/full/store.sh.
. "$(dirname "$0")/lib.bash"
writer=$SOPROF_BUILD/tests/unit/store/store-writer
[ -x "$writer" ] || skip "no $writer"
kills=${KILLS:-25} every=${EVERY:-11}
store=$dir/store acked=$dir/acked next=0
: >"$acked"

check() { # check WHAT
	"$writer" check "$store" <"$acked" >"$out" 2>"$err" || { cat "$out" "$err"; fail "after $1 every acknowledged window is there"; }
}

# --- killed
for ((i = 0; i < kills; i++)); do
	"$writer" write "$store" "$next" 1000 >"$dir/said" 2>>"$dir/complaints" &
	pid=$!
	if ((i % 4 > 0)); then # the others may be killed while they open the store
		until [ -s "$dir/said" ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.005; done
	fi
	sleep "0.0$((RANDOM % 60 + 10))"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	cat "$dir/said" >>"$acked"
	last=$(tail -n 1 "$dir/said")
	next=$((${last:-$next} + 2)) # the one that was not acknowledged may be there
done
[ -s "$dir/complaints" ] && { head -n 3 "$dir/complaints"; fail "a store that opens at once"; }
n=$(wc -l <"$acked")
[ "$n" -gt "$kills" ] || fail "more windows than kills, not $n"
check "$kills kills"
say "$kills kills, $n windows acknowledged: $(cat "$out")"

# --- writes that fail
if ! command -v strace >/dev/null || ! strace -o "$dir/trace" true 2>/dev/null; then
	say "no strace: no write was made to fail"
	finish
fi
faults=0
# inject CALL ERROR WHEN: the WHEN-th call (or a range of them) fails, of those on files of the store
inject() {
	local names=() f
	for f in 10s 1m 1h; do
		f=$store/2025-11-21.$f.db
		names+=(-P "$f" -P "$f-wal" -P "$f-journal" -P "$f-shm")
	done
	rm -rf "$store"
	mkdir -m 750 "$store"
	strace -f -qq -o "$dir/trace" "${names[@]}" -e "trace=$1" -e "inject=$1:error=$2:when=$3" \
		"$writer" write "$store" 0 9 >"$acked" 2>"$dir/complaints"
	grep -q INJECTED "$dir/trace" || return 1
	faults=$((faults + 1))
	[ "$(wc -l <"$acked")" = 9 ] || { cat "$dir/complaints"; fail "all windows kept although $1 failed with $2 ($3)"; }
	check "$1 failing with $2 ($3)"
}
for call in pwrite64 fdatasync ftruncate openat; do
	for error in ENOSPC EIO; do
		for ((when = 1 + RANDOM % every; ; when += every)); do
			inject "$call" "$error" "$when" || break
		done
	done
done
inject pwrite64 ENOSPC 9..12 # for longer than one try
[ "$faults" -gt 8 ] || fail "more faults than $faults"
say "$faults faults: nothing lost"
finish
