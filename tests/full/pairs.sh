#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 3600
# More than 100 programs of Debian packages (pairs_programs.bash), each profiled with no unwind table on the disk, then again:
# callers that machine code refutes (tests/pairs) and that are not marked as guesses: 0, but for those in `known`; and how
# many stacks are whole. Some 35 minutes. The table is in $SOPROF_BUILD/pairs.txt. Arguments: a pattern for names, and
# `dwarf`: how many of perf's stacks, --call-graph dwarf, get to a start, too; or `offcpu`: the same of stacks of waits.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/pairs.bash"
in_overlays "$@"
table=${SOPROF_PAIRS_TABLE:-$SOPROF_BUILD/pairs.txt}
pairs=$SOPROF_SOURCE/tests/pairs/pairs.py
time=4 hz_pairs=499
event=(-F $hz_pairs)
[ "${2:-}" != offcpu ] || event=(-e offcpu)
declare -A known=()

# In namespaces and a directory of its own.
sampled() { # HOW COMMAND: profiles it to $dir/HOW.txt, $dir/HOW.err
	rm -rf "$dir/work"
	mkdir -p "$dir/work"
	(cd "$dir/work" && exec "$SOPROF" profile -U -v -A "${event[@]}" -o "$dir/$1.txt" -- \
		unshare --net --pid --fork --kill-child --mount-proc timeout -k 1 $time bash -c "ip link set lo up; $2") \
		</dev/null >"$dir/$1.out" 2>"$dir/$1.err"
}
# The summary's numbers: complete guessed cut
numbers() {
	tr -s ' \n' ' ' <"$dir/$1.err" | sed -nE 's/.*complete ([0-9]+) \([^)]*\), guessed ([0-9]+) \([^)]*\), cut ([0-9]+) .*/\1 \2 \3/p'
}
share() { # COMPLETE GUESSED CUT
	awk -v c="${1:-0}" -v g="${2:-0}" -v u="${3:-0}" 'BEGIN { n = c + g + u; if (n) printf "%.2f", 100 * c / n; else printf "-" }'
}
why_cut() { tr -s ' \n' ' ' <"$dir/$1.err" | sed -nE 's/.*, cut [0-9]+ \([0-9.]+ %:? ?([^)]*)\).*/\1/p'; }
prove() { # HOW NAME: the numbers of pairs in counts
	local verdict=$dir/$1.verdict
	/usr/bin/python3 "$pairs" --files "$dir/work" --summary "$dir/$1.err" "$dir/$1.txt" >"$verdict" 2>"$dir/null"
	case $? in
	0) ;;
	1)
		if [ -n "${known[$2]:-}" ]; then say "known: $2 ($1): ${known[$2]}"; else wrong "$2 ($1): pairs are refuted"; fi
		grep '^refuted: ' "$verdict" | head -n 8
		;;
	*) wrong "$2 ($1): the checker does not end well"; tail -n 3 "$dir/null" ;;
	esac
	read -r -a counts < <(sed -nE '1s/^([0-9]+) pairs: confirmed ([0-9]+), possible ([0-9]+), refuted ([0-9]+), unknown ([0-9]+),.*; by guesses: (.*)$/\2 \3 \4 \5 \6/p' "$verdict")
	grep -e ' begins: ' -e '(guessed)' "$verdict" | head -n 6 >"$dir/more"
}
# The share of perf's user stacks whose last frame is a start, by tests/bench/complete.py's measure.
by_dwarf() { # COMMAND
	rm -rf "$dir/work" && mkdir -p "$dir/work"
	(cd "$dir/work" && perf record -q -N -F $hz_pairs -e cpu-clock:u --call-graph dwarf -o "$dir/perf.data" -- \
		unshare --net --pid --fork --kill-child --mount-proc timeout -k 1 $time bash -c "ip link set lo up; $1") \
		</dev/null >"$dir/null" 2>&1
	timeout 120 perf script -i "$dir/perf.data" -F comm,ip,sym,dso 2>"$dir/null" | /usr/bin/python3 "$SOPROF_SOURCE/tests/bench/starts.py"
	rm -f "$dir/perf.data"
}
one() { # NAME COMMAND
	local cold=() warm=() counts=()
	what=$1
	rm -rf /var/cache/soprof/*
	sampled cold "$2"
	read -r -a cold < <(numbers cold)
	prove cold "$1"
	sampled warm "$2"
	read -r -a warm < <(numbers warm)
	prove warm "$1"
	[ $((warm[0] + warm[1] + warm[2])) -ge 50 ] ||
		wrong "$1: not 50 samples but ${warm[*]:-none}: $(tail -n 2 "$dir/warm.out" "$dir/warm.err" | paste -sd ' ' | cut -c 1-300)"
	printf '%-15s %7s %7s %7s %6s %6s %5s %6s  %s\n' "$1" "$(share "${cold[@]}")" "$(share "${warm[@]}")" \
		"$([ "$dwarf" = dwarf ] && by_dwarf "$2" || echo -)" "${counts[0]:--}" \
		"${counts[1]:--}" "${counts[2]:--}" "${counts[3]:--}" "$(why_cut warm)$([ "${warm[1]:-0}" = 0 ] || echo "; guessed ${warm[1]}")"
	sed 's/^/    /' "$dir/more"
}
dwarf=${2:-}
{
	printf '%-15s %7s %7s %7s %6s %6s %5s %6s  %s\n' program 'cold %' 'warm %' 'dwarf %' proved maybe wrong unknown 'not whole (warm)'
	all "$@"
} > >(tee "$table")
say "$n_programs programs"
[ -n "${1:-}" ] || [ "$n_programs" -ge 60 ] || fail "60 programs"
finish
