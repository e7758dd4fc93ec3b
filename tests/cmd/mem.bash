# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests of allocations share: the profile in $dir/p.pb.gz, and the truth, which the victim prints, in $truth.

# value NAME [OPTION...]: what the profile has of it
value() {
	"$SOPROF" report --by process --csv --value "$1" "${@:2}" "$dir/p.pb.gz" | awk -F, 'NR > 1 { n += $8 } END { print n + 0 }'
}
same() { [ "$2" = "$3" ] || fail "$1 to be $3, not $2"; }
# same_as_ledger WHERE NAME: all four values. What threads have for themselves (their vector of thread-local memory), and
# dlopen, is libc's own.
own=(-l 'allocate' --exclude 'allocate_dtv' --exclude 'dlopen*' --exclude '_dl_*')
same_as_ledger() {
	local of=("${own[@]/#allocate/$2}")
	say "$1: ${truth[*]}"
	same "allocations $1" "$(value allocations "${of[@]}")" "${truth[0]}"
	same "bytes $1" "$(value bytes "${of[@]}")" "${truth[1]}"
	same "blocks that live $1" "$(value live "${of[@]}")" "${truth[2]}"
	same "bytes that live $1" "$(value live_bytes "${of[@]}")" "${truth[3]}"
}
# same_as_leaky: of each kind of request, what it has leaked, as leaky says in the last lines of a FILE
same_as_leaky() { # FILE
	local kind blocks bytes n=0
	while read -r kind blocks bytes; do
		same "what $kind leaks" "$(value live --function "$kind")/$(value live_bytes --function "$kind")" "$blocks/$bytes"
		n=$((n + (bytes > 0)))
	done < <(tail -n 3 "$1")
	same 'kinds of requests that leak' "$n" 3
}
# is_near THIN COMMAND...: what it makes is within 3 times the standard deviation, sqrt(THIN * bytes); of blocks it is by
# their sizes, of which the inverses add up to 0.00155 a block. One run in a hundred lies outside.
is_near() {
	local thin=$1 got
	shift
	"$@"
	got=("$(value allocations)" "$(value bytes)" "$(value live)" "$(value live_bytes)")
	say "sampled: ${got[*]} of ${truth[*]}"
	awk -v thin="$thin" -v got="${got[*]}" -v want="${truth[*]}" 'BEGIN {
		split(got, g, " "); split(want, w, " ")
		for (i = 1; i <= 4; i++) {
			variance = i % 2 ? thin * 0.00155 * w[i] : thin * w[i]
			if ((g[i] - w[i]) ^ 2 > 9 * variance)
				exit 1
		}
	}'
}
