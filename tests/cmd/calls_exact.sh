#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# A program that calls a library in every way there is (tests/victim/calls) and counts that itself: threads, forks, signal
# handlers, exceptions, longjmp, plugins, vfork and posix_spawn, of static programs, too. Bound at the first call, when
# loaded, without a PLT, and at a fixed address; with and without restartable sequences. Every total must be the same, but
# for functions whose address is taken by the word that calls them: those are marked, and their totals too low at most.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"

exact() { # VARIANT DEPTH [VARIABLE=VALUE]
	local at=$victims/calls/$1
	what="calls, $*"
	rm -f "$dir/$1.profile"
	count_into "$dir/$1.profile" "$2" libcounted.so
	counted env "${@:3}" "$at/calls" "$at" >"$out" 2>"$err"
	status=$?
	[ "$status" = 0 ] && [ ! -s "$err" ] || fail "that all it calls does what it should"
	[ "$(grep -c '^static$' "$out")" = 5 ] || fail "that static programs run"
	# At a fixed address the address is that of the program's own PLT entry: what goes by it is counted.
	awk -v variant="$1" '
		NF == 2 { n[$1] += $2 }
		$1 == "address" && $2 != "counted_dlsym" && variant == "nopie" { n[$2] += $3 }
		END { for (i in n) print i, n[i] }' "$out" | sort >"$dir/truth"
	sums >"$dir/sums"
	"$calls_file" marks "$file" | sort >"$dir/marks"
	if [ "$1" = noplt ]; then
		join -a 1 "$dir/truth" "$dir/sums" | awk '$3 + 0 > $2 { exit 1 }' || fail "totals that are too low at most"
		for one in truth sums; do join -v 1 "$dir/$one" "$dir/marks" >"$dir/$one.sure"; done
		mv "$dir/truth.sure" "$dir/truth"
		mv "$dir/sums.sure" "$dir/sums"
	fi
	diff "$dir/truth" "$dir/sums" || fail "the same totals"
	[ "$1" = nopie ] && taken=counted_dlsym || taken='counted_(dlsym|mixed|taken)'
	[ "$(grep -cEx "$taken" "$dir/marks")" = "$([ "$1" = nopie ] && echo 1 || echo 3)" ] ||
		fail "marks at functions that were called by an address: $(paste -sd ' ' "$dir/marks")"
	[ "$(counter processes)" -ge 6 ] || fail "a note of each program"
	[ "$("$calls_file" counters "$file" | grep -cE '^(folded|no_room|no_block|lost) 0$')" = 4 ] ||
		fail "no loss: $("$calls_file" counters "$file" | paste -sd ' ')"
}

for variant in lazy now noplt nopie; do
	exact $variant site
	exact $variant object
done
exact now site GLIBC_TUNABLES=glibc.pthread.rseq=0
exact noplt object GLIBC_TUNABLES=glibc.pthread.rseq=0

# Who calls: by site, tail() jumps to counted_tail(), and returns into by_address() of the same program.
what="calls, callers"
rows() { "$calls_file" rows "$file"; }
count_into "$dir/callers.profile" site libcounted.so
counted "$victims/calls/now/calls" "$victims/calls/now" >"$out" 2>"$err"
[ "$(rows | awk -F '\t' '$2 == "counted_inner" { print $4 }' | sort -u | sed 's|.*/||')" = libcounted.so ] ||
	fail "that the library calls itself"
[ "$(rows | awk -F '\t' '$2 == "counted_constructor" { print $3, $4 }' | sed 's| .*/| |' | sort)" = "20000 libcallsplugin-raw.so
20400 libcallsplugin.so" ] || fail "callers of counted_constructor"
# The return address stands behind a call instruction.
site=$(rows | awk -F '\t' '$2 == "counted_vector" { print $6 }')
at=$(objdump -d --no-show-raw-insn "$victims/calls/now/calls" | grep -B 1 "^ *${site#0x}:" | head -n 1)
case $at in *call*counted_vector*) ;; *) fail "a call before $site, not: $at" ;; esac

# Constructors of libraries run before auditors are told that the program begins.
what="calls, a constructor before the program"
count_into "$dir/early.profile" site libcounted.so
counted env LD_PRELOAD="$victims/calls/now/libcallsplugin-raw.so" "$victims/calls/now/calls" "$victims/calls/now" child >"$out"
[ "$(sums | paste -sd ' ')" = 'counted_constructor 100 counted_one 1000' ] || fail "100 calls: $(sums | paste -sd ' ')"

# Killed in the middle of it: what was counted is in the file, and the next program goes on with it.
what="calls, killed"
count_into "$dir/killed.profile" site libcounted.so
for round in 1 2 3; do
	# not by the function, whose shell would be killed in the program's place
	LD_AUDIT=$audit SOPROF_CALLS=$file "$victims/calls/now/calls" "$victims/calls/now" endless >"$out" 2>"$err" &
	pid=$!
	for try in $(seq 600); do grep -q on "$out" && break; sleep 0.05; done
	before=$(sums | sed -n 's/^counted_one //p')
	for try in $(seq 100); do
		after=$(sums | sed -n 's/^counted_one //p')
		[ "${after:-0}" -gt "${before:-0}" ] && break
	done
	[ "${after:-0}" -gt "${before:-0}" ] || fail "calls that are there while it runs"
	kill -KILL $pid
	wait $pid 2>/dev/null
	[ "$(sums | sed -n 's/^counted_one //p')" -ge "$after" ] || fail "calls that are there after it was killed"
done
finish
