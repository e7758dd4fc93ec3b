#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1800
# All programs of tests/cmd/calls_programs.bash, at least 30: with calls of libc counted by site and by object, and of six
# libraries at once; and once more into files that know the programs already.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/../cmd/calls.bash"
. "$(dirname "$0")/../cmd/calls_programs.bash"
for depth in site object; do
	count_into "$dir/libc-$depth.profile" $depth libc.so.6
	compare_all '.*'
	[ "$n_run" -ge 30 ] || fail "30 programs, not $n_run"
	count_into "$dir/six-$depth.profile" $depth "${six[@]}"
	compare_all '.*'
done
for name in libc-site six-site; do
	file=$dir/$name.profile
	compare_all '.*'
	"$calls_file" counters "$file" | paste -sd ' '
done
say "$n_run runs; left out: ${left_out[*]:-nothing}"
finish
