#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# Layouts and files: text, folded, svg, pprof, table; the options that change them; the summary.
. "$(dirname "$0")/lib.bash"
need_profile
seconds=$((slow > 1 ? 3 : 1))
start stripped kernel 600
kernel=$pid
start plain recursion 600 5
recursion=$pid

# bcc's layout
expect 0 profile -F 99 -p "$recursion" $seconds
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
expect 0 profile -v -F 99 -U -p "$recursion" $seconds
has "$out" '^    burn\+0x[0-9a-f]+ \[recursion\]$'
expect 0 profile -A -F 99 -U -p "$recursion" $seconds
has "$out" '^    0x[0-9a-f]{16} burn$'
expect 0 profile -d -F 99 -p "$kernel" $seconds
has "$out" '^    --$'

# folded
expect 0 profile -f -F 99 -p "$kernel" -d -a $seconds
has "$out" '^kernel;.*;-;.*_\[k\] [0-9]+$'
has_not "$out" '^Sampling'
expect 0 profile -f -F 99 -p "$kernel" $seconds
has_not "$out" '(_\[k\]|;-;)'
has_not "$out" ';0x[0-9a-f]+'
grep -vE '^[^;]+(;[^;]+)+ [1-9][0-9]*$' "$out" >"$dir/odd" && fail "each line as comm;frame;...;frame count: $(head -n 1 "$dir/odd")"

# the summary: libraries and samples; the shares of what was printed
expect 0 profile -f -U -F 199 -p "$recursion" $seconds
total=$(samples)
has "$err" "(^|[^0-9])$total([^0-9]|$)"
has "$err" 'recursion'
has "$err" '(complete|whole)'

# files by suffix
expect 0 profile -F 99 -p "$recursion" -o "$dir/x.svg" $seconds
[ ! -s "$out" ] || fail "nothing on stdout with -o"
has "$dir/x.svg" '<svg '
has "$dir/x.svg" 'burn'
has "$dir/x.svg" '</svg>'
expect 0 profile -F 99 -p "$recursion" -o "$dir/x.folded" $seconds
has "$dir/x.folded" '^recursion;_start;.*burn [0-9]+$'
expect 0 profile -F 99 -p "$recursion" -o "$dir/x.pb.gz" $seconds
gzip -dc "$dir/x.pb.gz" >"$dir/x.pb" || fail "a gzip file"
for word in samples count cpu nanoseconds burn _start; do
	grep -qa "$word" "$dir/x.pb" || fail "$word in the pprof file"
done
expect 0 profile -F 99 -p "$recursion" --format svg -o "$dir/picture" $seconds
has "$dir/picture" '<svg '
expect 0 profile -F 99 -p "$recursion" --format folded $seconds
has "$out" '^recursion;_start;'
# the file replaces an older one, whole
head -c 100000 /dev/zero >"$dir/x.folded"
expect 0 profile -F 99 -p "$recursion" -o "$dir/x.folded" $seconds
[ "$(tr -d '\0' <"$dir/x.folded" | wc -c)" = "$(wc -c <"$dir/x.folded")" ] || fail "nothing of the older file to be left"

# tables
for by in library function process caller package comm cgroup user; do
	expect 0 profile -F 99 -p "$recursion" --by $by $seconds
	[ -s "$out" ] || fail "a table by $by"
done
expect 0 profile -F 99 -p "$recursion" --by function $seconds
has "$out" 'burn'
expect 0 profile -F 99 -p "$recursion" --by library $seconds
has "$out" 'recursion'
expect 0 profile -F 99 -p "$recursion" --by user $seconds
has "$out" "$(id -un)|$(id -u)"

# the idle threads are left out unless asked for
idle() { awk '/^cpu / { print $5 }' /proc/stat; }
before=$(idle)
expect 0 profile -f -K -F 99 -I $seconds
# hundredths of a second; on a machine that never rested there is nothing to see
[ $(($(idle) - before)) -lt 20 ] || has "$out" '^swapper/[0-9]+;'
expect 0 profile -f -K -F 99 $seconds
has_not "$out" '^swapper/'
expect 0 profile -f -U --unwind fp -F 99 -p "$recursion" $seconds
expect 0 profile -f -U --unwind dwarf -F 99 -p "$recursion" $seconds
check_victim plain recursion --samples 5 --complete 99 --deepest even,odd=5
finish
