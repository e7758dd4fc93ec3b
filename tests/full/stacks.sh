#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 3600
# The programs of pairs_programs.bash, stopped in the midst of their work: every stack of every thread as soprof's unwinder
# takes it, beside those of libdw (elfutils) and gdb. Where they differ machine code decides (tests/pairs/stacks.py), and
# soprof must not be who is wrong, nor who stops. Some 25 minutes. The table is in $SOPROF_BUILD/stacks.txt. Argument: a
# pattern for names.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/pairs.bash"
in_overlays "$@"
command -v gdb >/dev/null || skip 'gdb is not there'
table=${SOPROF_STACKS_TABLE:-$SOPROF_BUILD/stacks.txt}
stacks=("$SOPROF_SOURCE/tests/pairs/stacks.py" "$SOPROF_BUILD/tests/unit/unwind/unwind-stacks")
rounds=3
declare -A known=()

one() { # NAME COMMAND
	local job code
	what=$1
	rm -rf "$dir/work" && mkdir -p "$dir/work"
	(cd "$dir/work" && exec unshare --net --pid --fork --kill-child --mount-proc bash -c "ip link set lo up; $2") \
		</dev/null >"$dir/null" 2>&1 &
	job=$!
	/usr/bin/python3 "${stacks[@]}" $rounds $job >"$dir/verdict" 2>"$dir/trouble"
	code=$?
	kill -KILL $job 2>/dev/null
	wait $job 2>/dev/null
	printf '%-15s %s\n' "$1" "$(head -n 1 "$dir/verdict")"
	sed -n '2,12s/^/    /p' "$dir/verdict"
	case $code in
	0) ;;
	1) if [ -s "$dir/verdict" ] && [ -n "${known[$1]:-}" ]; then say "known: $1: ${known[$1]}"; else wrong "$1"; tail -n 3 "$dir/trouble"; fi ;;
	*) wrong "$1: the comparer does not end well"; tail -n 3 "$dir/trouble" ;;
	esac
}
all "$@" > >(tee "$table")
say "$n_programs programs"
[ -n "${1:-}" ] || [ "$n_programs" -ge 60 ] || fail "60 programs"
finish
