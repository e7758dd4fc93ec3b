#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# beside others
# Stacks through code of V8 (node) in each of its tiers are whole and not guessed, and say who calls whom: the functions
# of v8.js are a chain, and V8 itself tells their names (--perf-basic-prof).
. "$(dirname "$0")/lib.bash"
need_profile
command -v node >/dev/null || skip "there is no node"
cp "$SOPROF_SOURCE/tests/cmd/v8.js" "$dir/v8.js"

# The chain's functions in each stack, from the outermost on, are its beginning: none is left out, none is twice. Only
# what is said to be guessed may be wrong.
chain() {
	local n bad guessed
	n=$(grep -c 'fnMain' "$out")
	guessed=$(tr -s ' \n' ' ' <"$err" | sed -nE 's/.*guessed ([0-9]+) .*/\1/p')
	bad=$(sed -nE 's/ [0-9]+$//; /fn(Main|Sum|Step|Loop|Leaf)/p' "$out" | awk -F';' '
		{ s = ""; for (i = 1; i <= NF; i++) if (match($i, /fn(Main|Sum|Step|Loop|Leaf)/)) s = s substr($i, RSTART, RLENGTH) ";" }
		index("fnMain;fnSum;fnStep;fnLoop;fnLeaf;", s) != 1 { print s }')
	[ "${n:-0}" -ge 3 ] || fail "$1: stacks through the chain, not $n"
	[ "$(grep -c . <<<"$bad")" -le "${guessed:-0}" ] || { fail "$1: only the chain"; printf '%s\n' "$bad"; }
}
mode() {
	local name=$1
	shift
	run profile -U -f -F 499 -- bash -c 'echo $$ >pid; exec node --perf-basic-prof "$@" v8.js 1' - "$@"
	rm -f "/tmp/perf-$(cat pid).map"
	[ "$status" = 0 ] || fail "$name: exit code 0"
	whole 99 "$name"
	says 'by the frames of a runtime'
	[ "$name" = interpreted ] || chain "$name" # it has no names: all of it is one builtin
}
cd "$dir" || exit # where node writes its logs
mode default
mode optimized --max-inlined-bytecode-size=0 --max-inlined-bytecode-size-small=0
mode baseline --always-sparkplug --no-opt
mode interpreted --no-opt --no-sparkplug
finish
