#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# Tables evicted while sampling as fast as can be: more libraries in use than the memory allowed holds. Stacks may be
# cut, and are counted, but nobody's caller is wrong.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
names=(callback cxx exception signals recursion plt frames assembly)
pids=() n_others=0

# other PROGRAM ARGUMENT...: a program of the system that keeps its libraries' tables wanted, if it is there.
other() {
	command -v "$1" >/dev/null || return 0
	"$@" </dev/null >/dev/null 2>&1 &
	pids+=($!)
	n_others=$((n_others + 1))
}
# evicted MEMORY: profiles all of them with so much memory for tables; some must have been evicted.
evicted() {
	local list
	list=$(IFS=,; echo "${pids[*]}")
	expect 0 profile -U -f -F $((slow > 1 ? 499 : 9999)) --max-memory "$1" -p "$list" $((4 * slow))
	[ "$(tr -s '\n ' ' ' <"$err" | sed -n 's/.* \([0-9]*\) evicted: not all.*/\1/p')0" -gt 200 ] ||
		fail "more than 20 evictions with --max-memory $1"
}
# true_callers NAME: most of its samples are whole, and no call is shown that it never makes.
true_callers() {
	"$victims/check" --samples 50 --comm "$1" "$victims/plain" "$1" <"$out" >"$dir/check"
	awk -v name="$1:" '$1 == name { found = 1; ok = $2 >= 50 && / 0 with a wrong caller/ && / ([1-9][0-9]+) complete/ }
		END { exit !(found && ok) }' "$dir/check" || fail "no wrong caller in $1: $(cat "$dir/check")"
}

for name in "${names[@]}"; do
	start plain "$name" 600
	pids+=("$pid")
done
other python3 -c 'while True: sorted(str(i) for i in range(999))'
other openssl speed -seconds 60 rsa2048
other perl -e 'while (1) { $h{$_} = join ",", sort map { $_ * 7 } 1 .. 99 for 1 .. 99 }'
other bash -c 'while :; do for ((i = 0; i < 999; i++)); do x=${x/a/b}$i; done; x=; done'
other sqlite3 :memory: 'with recursive t(x) as (select 1 union all select x + 1 from t limit 90000000)
	select sum(length(hex(x))) from t'
[ $n_others -ge 3 ] || skip "too few programs here whose tables could fill the memory allowed"
sleep "$slow"
evicted 1M
for name in "${names[@]}"; do
	true_callers "$name"
done
finish
