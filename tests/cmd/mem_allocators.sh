#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# Allocations by jemalloc, tcmalloc and mimalloc, whose C++ operators do not come by malloc, beside the program's own ledger:
# of a command, and of a process that runs.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/mem.bash"
. "$SOPROF_SOURCE/tests/unpack.bash"
need_profile
need_root
cp "$SOPROF_BUILD/tests/cmd/allocate" "$dir/allocate"
export ALLOCATE_NEW=1
# value NAME [--function FUNCTION]: of the program's own stacks, without the mappings in which allocators have their blocks
value() {
	local of=.
	[ "$2" != --function ] || of=";$3[; ]"
	"$SOPROF" report --format folded --value "$1" "$dir/p.pb.gz" |
		awk -v of="$of" '/^allocate;/ && $0 ~ of && !/;(dlopen|_dl_|allocate_dtv|lib[a-z_]*malloc)/ { n += $NF } END { print n + 0 }'
}

# same_as_operators WHERE: what they have, by the ledger of allocate.c: of 60 sizes two thirds stay, once and three times
same_as_operators() {
	same "blocks of operators $1" "$(value live --function operators)" 80
	same "bytes of operators $1" "$(value live_bytes --function operators)" 4880000
}
in_command() {
	local turn
	for turn in 1 2 3 4 5; do
		# shellcheck disable=SC2016
		expect 0 profile -e mem --thin 1 -o "$dir/p.pb.gz" -- sh -c 'LD_PRELOAD=$LD_PRELOAD:$0 exec "$@"' "$preload" "$dir/allocate"
		read -r -a truth <"$out"
		! tr -s ' \n' ' ' <"$err" | grep -q 'cut 0 (' || return 0
		say "turn $turn: stacks were cut"
	done
}
running() {
	local soprof gate
	rm -f "$dir/gate" "$dir/truth"
	mkfifo "$dir/gate"
	LD_PRELOAD=$preload "$dir/allocate" - <"$dir/gate" >"$dir/truth" &
	pid=$!
	exec {gate}>"$dir/gate"
	wait_until $((100 * slow)) test -s "$dir/truth" || fail 'the program to begin'
	what="profile -e mem -p $pid --thin 1"
	"$SOPROF" profile -e mem --max-overhead 0 -o "$dir/p.pb.gz" -p $pid --thin 1 600 >"$out" 2>"$err" &
	soprof=$!
	is_attached() { grep -q '^CapEff:\s0*$' /proc/$soprof/status; }
	wait_until $((300 * slow)) is_attached || fail 'soprof to sample'
	echo >&"$gate"
	exec {gate}>&-
	wait $pid || fail 'the program to do its work'
	kill -INT $soprof 2>/dev/null # it may have ended with the process
	wait $soprof || fail 'exit code 0'
	read -r -a truth < <(tail -n 1 "$dir/truth")
}

for pair in libjemalloc2/libjemalloc.so.2 libtcmalloc-minimal4/libtcmalloc_minimal.so.4 libmimalloc2.0/libmimalloc.so.2; do
	unpack "${pair%/*}" || skip "no package ${pair%/*}"
	preload=$(echo "$unpacked/${pair%/*}"/usr/lib/*/"${pair#*/}")
	in_command
	same_as_ledger "of a command on ${pair#*/}" allocate
	same_as_operators "of a command on ${pair#*/}"
	running
	same_as_ledger "of a process on ${pair#*/}" allocate
	same_as_operators "of a process on ${pair#*/}"
	has_not "$err" 'is not seen'
done
preload=
# libstdc++'s come by malloc, and count once
in_command
same_as_ledger 'of a command on glibc' allocate
same_as_operators 'of a command on glibc'
finish
