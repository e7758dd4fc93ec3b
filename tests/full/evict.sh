#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# Tables evicted while sampling as fast as can be. Every program has copies of its libraries of its own, which differ in
# their tables (those of true copies are one), so that the tables in use at any time are several times what the memory
# allowed holds. Stacks may be cut, and are counted, but nobody's caller is wrong.
. "$(dirname "$0")/../cmd/lib.bash"
need_root
need_profile
command -v readelf >/dev/null || skip "needs readelf"
names=(callback cxx exception signals recursion plt frames assembly)
pids=() n_copies=0

# word FILE OFFSET: four bytes of it as a number
word() { od -An -t u4 -j "$2" -N 4 "$1" | tr -d ' '; }
# section FILE NAME TYPE: its offset
section() { readelf -SW "$1" 2>/dev/null | sed -n "s/.* \\$2  *$3  *[0-9a-f]* \\([0-9a-f]*\\) .*/0x\\1/p"; }
# put FILE OFFSET NUMBER: two bytes of it
# shellcheck disable=SC2059
put() { printf "$(printf '\\x%02x' $(($3 & 255)) $(($3 >> 8 & 255)))" | dd of="$1" bs=1 seek=$(($2)) conv=notrunc status=none; }
# differ FILE N: another build, whose last function in .eh_frame_hdr is N bytes shorter
differ() {
	local id at n range
	at=$(section "$1" .eh_frame_hdr PROGBITS) id=$(section "$1" .note.gnu.build-id NOTE)
	[ -n "$at" ] && [ -n "$id" ] || return 0
	n=$(word "$1" $((at + 8)))
	range=$((at + $(word "$1" $((at + 12 + 8 * (n - 1) + 4))) + 12)) # in its FDE
	n=$(word "$1" $range)
	[ "$n" -gt "$2" ] || return 0
	put "$1" "$range" $((n - $2))
	put "$1" $((id + 16)) "$2"
}
# copied PROGRAM ARGUMENT...: runs a copy of the program with copies of its libraries, if it is there.
copied() {
	local program libraries to=$dir/$((++n_copies))
	program=$(command -v "$1") || return 0
	mkdir "$to"
	mapfile -t libraries < <(ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }')
	cp -L "$program" "${libraries[@]}" "$to"
	for program in "$to"/*; do
		differ "$program" $n_copies
	done
	program=$1
	shift
	LD_LIBRARY_PATH=$to "$to/$(basename "$program")" "$@" </dev/null >/dev/null 2>&1 &
	pids+=($!)
}
# true_callers NAME: much of what was sampled of it is whole, and no call is shown that it never makes.
true_callers() {
	"$victims/check" --comm "$1" "$victims/plain" "$1" <"$out" >"$dir/check"
	awk -v name="$1:" '$1 == name { ok = / 0 with a wrong caller/ && match($0, /[0-9]+ complete/) && substr($0, RSTART) + 0 >= 20 }
		END { exit !ok }' "$dir/check" || fail "at least 20 whole stacks and no wrong caller in $1: $(cat "$dir/check")"
}

for name in "${names[@]}"; do
	copied "$victims/plain/$name" 600
done
for _ in 1 2 3; do
	copied /usr/bin/python3 -c 'while True: sorted(str(i) for i in range(999))'
	copied openssl speed -seconds 60 rsa2048
	copied perl -e 'while (1) { $h{$_} = join ",", sort map { $_ * 7 } 1 .. 99 for 1 .. 99 }'
done
[ ${#pids[@]} -ge $((${#names[@]} + 3)) ] || skip "too few programs here whose tables could fill the memory allowed"
sleep "$slow"
expect 0 profile -U -f -F $((slow > 1 ? 499 : 9999)) --max-memory 2M -p "$(IFS=,; echo "${pids[*]}")" $((5 * slow))
n_evicted=$(tr -s '\n ' ' ' <"$err" | sed -n 's/.* \([0-9]*\) evicted: not all.*/\1/p')
[ "${n_evicted:-0}" -ge 100 ] || fail "at least 100 tables evicted, not ${n_evicted:-0}"
# what a table that was overwritten would show
has_not "$err" "too[[:space:]]+complex|impossible"
for name in "${names[@]}"; do
	true_callers "$name"
done
finish
