#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# Layouts and files: text, folded, svg, pprof, table; the options that change them; the summary.
. "$(dirname "$0")/lib.bash"
need_profile
start stripped kernel 600
kernel=$pid
start plain recursion 600 5
recursion=$pid
wait_working "$kernel" "$recursion"
at_ease "$kernel" "$recursion"

# some ARGUMENT...: expect 0; again where a busy machine gave the program, and so the profile, nothing of a CPU meanwhile.
some() {
	for _ in 1 2 3 4 5 6 7 8 9; do
		expect 0 "$@"
		grep -qE '^samples +0 ' "$err" || return 0
	done
	fail "samples"
}

# bcc's layout
some profile -F 99 -p "$recursion" $seconds
[ "$(head -n 1 "$out")" = "Sampling at 99 Hertz of PID [$recursion] by user + kernel stack for $seconds secs." ] || fail "bcc's first line, not: $(head -n 1 "$out")"
has "$out" '^    burn$'
has "$out" '^    _start$'
has "$out" "^    -                recursion \\($recursion\\)$"
has "$out" '^        [0-9]+$'
awk 'NR > 1 && /^        [0-9]+$/ { if ($1 < last) bad = 1; last = $1 } END { exit bad }' "$out" || fail "rows by rising count"
expect 0 profile $seconds
[ "$(head -n 1 "$out")" = "Sampling at 49 Hertz of all threads by user + kernel stack for $seconds secs." ] || fail "bcc's first line, not: $(head -n 1 "$out")"
expect 0 profile -U -c 10000000 -C 0 $seconds
has "$out" '^Sampling .* of all threads by user stack on CPU#0 for'
some profile -v -F 99 -U -p "$recursion" $seconds
has "$out" '^    burn\+0x[0-9a-f]+ \[recursion\]$'
some profile -A -F 99 -U -p "$recursion" $seconds
has "$out" '^    0x[0-9a-f]{16} burn$'
some profile -d -F 99 -p "$kernel" $seconds
has "$out" '^    --$'

# folded
some profile -f -F 99 -p "$kernel" $seconds
has_not "$out" '^Sampling'
has_not "$out" ';0x[0-9a-f]+'
grep -vE '^[^;]+(;[^;]+)+ [1-9][0-9]*$' "$out" >"$dir/odd" && fail "each line as comm;frame;...;frame count: $(head -n 1 "$dir/odd")"

# the summary: libraries and samples; the shares of what was printed
some profile -f -U -F 199 -p "$recursion" $seconds
total=$(samples)
has "$err" "(^|[^0-9])$total([^0-9]|$)"
has "$err" 'recursion'
has "$err" '(complete|whole)'

# files by suffix
some profile -F 99 -p "$recursion" -o "$dir/x.svg" $seconds
[ ! -s "$out" ] || fail "nothing on stdout with -o"
has "$dir/x.svg" '<svg '
has "$dir/x.svg" 'burn'
has "$dir/x.svg" '</svg>'
# the file replaces an older one, whole
head -c 100000 /dev/zero >"$dir/x.folded"
some profile -F 99 -p "$recursion" -o "$dir/x.folded" $seconds
has "$dir/x.folded" '^recursion;_start;.*burn [0-9]+$'
[ "$(tr -d '\0' <"$dir/x.folded" | wc -c)" = "$(wc -c <"$dir/x.folded")" ] || fail "nothing of the older file to be left"
some profile -F 99 -p "$recursion" -o "$dir/x.pb.gz" $seconds
gzip -dc "$dir/x.pb.gz" >"$dir/x.pb" || fail "a gzip file"
for word in samples count cpu nanoseconds burn _start; do
	grep -qa "$word" "$dir/x.pb" || fail "$word in the pprof file"
done
some profile -F 99 -p "$recursion" --format svg -o "$dir/picture" $seconds
has "$dir/picture" '<svg '
some profile -F 99 -p "$recursion" --format folded $seconds
has "$out" '^recursion;_start;'

# -o - is standard output, also of what would else go beside a command's
some profile -F 99 -p "$recursion" --format svg -o - $seconds
has "$out" '<svg '
expect 0 stat -x, -o - -- true
has "$out" ',task-clock,'
[ ! -e - ] || fail "no file of the name -"

# a library that no sample went through
expect 1 profile -F 99 -p "$recursion" -l recursio $seconds
has "$err" "^soprof: profile: --library: no sample is of a library 'recursio'; did you mean 'recursion'\?$"

# tables
for by in library function process caller package comm cgroup user; do
	some profile -F 99 -p "$recursion" --by $by $seconds
	[ -s "$out" ] || fail "a table by $by"
	case $by in
	function) has "$out" 'burn' ;;
	library) has "$out" 'recursion' ;;
	user) has "$out" "$(id -un)|$(id -u)" ;;
	esac
done
finish
