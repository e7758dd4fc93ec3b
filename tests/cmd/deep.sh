#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# Stacks of 600, 2,000 and 100,000 frames: whole, or without their middle only, which is said.
. "$(dirname "$0")/lib.bash"
need_profile
ulimit -s 65536 2>/dev/null || ulimit -s "$(ulimit -H -s)" # 100,000 frames take some 10 MB

# Of each stack with a middle left out: 1,536 frames of the leaf's, 512 of the root's, which begin as any other's do. Of
# others: not more than 2,048 frames.
shortened() {
	awk -v comm="$1" -F';' '
	{ sub(/ [0-9]+$/, "") }
	$1 != comm || $2 != "_start" { next } # cut: --complete is about these
	{ at = is_main = 0
	  for (i = 2; i <= NF; i++) { if ($i == "[shortened]") at = i; if ($i == "main") is_main = i } }
	!at && NF - 1 > 2048 { print "a stack of " NF - 1 " frames"; bad = 1 }
	!at { next }
	{ n++ }
	at != 514 || NF != 2050 || !is_main || is_main > 10 || $515 !~ /^(even|odd)$/ {
		print "a middle left out at " at " of " NF ", main at " is_main; bad = 1 }
	END { print n + 0 " stacks without their middle"; exit bad || !n }' "$out"
}

for variant in "${variants[@]}"; do
	profile_running $variant recursion --complete 99 --deepest even,odd=600 -- 600
	profile_running $variant recursion --complete 99 --deepest even,odd=2000 -- 2000
	! grep -q 'shortened' "$out" || fail "nothing left out of 2,000 frames"
	# a first sample on each CPU is too deep: the next one goes on from where that came to
	profile_running $variant recursion --complete 95 -- 100000
	[ "$variant" = stripped ] || shortened recursion || fail "the leaf's part and the root's of 100,000 frames"
	if [ "$variant" = stripped ]; then # a picture shows that something is left out there: not as a function's frame
		"$SOPROF" report -o "$dir/deep.svg" "$out" || fail "a picture"
		has "$dir/deep.svg" '<rect class="n"[^>]*>.*>\[shortened\]<'
	fi
	says 'complete, [0-9]+ \([0-9.]+ %\) too deep to be kept: without their middle'
done
finish
