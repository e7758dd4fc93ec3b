#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# Tables evicted while sampling as fast as can be. Every program has copies of its libraries of its own, so that the
# tables in use at any time are several times what the memory allowed holds. Stacks may be cut, and are counted, but
# nobody's caller is wrong.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
names=(callback cxx exception signals recursion plt frames assembly)
pids=() n_copies=0

# copied PROGRAM ARGUMENT...: runs a copy of the program with copies of its libraries, if it is there.
copied() {
	local program libraries to=$dir/$((++n_copies))
	program=$(command -v "$1") || return 0
	shift
	mkdir "$to"
	mapfile -t libraries < <(ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }')
	cp -L "$program" "${libraries[@]}" "$to"
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
