#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 90
# --inline: inlined functions and source lines are those that addr2line tells, also from a debug file; without the option
# there are none; broken DWARF costs the lines of its file, and is said.
. "$(dirname "$0")/lib.bash"
need_profile
for tool in gcc objcopy readelf addr2line; do
	command -v $tool >/dev/null || skip "there is no $tool"
done
here=$(cd "$(dirname "$0")/.." && pwd -P)
gcc -g -O2 -o "$dir/inlined" "$here/victim/inlined.c" || fail "inlined.c to compile"
profile_of() { expect 0 profile -U -F $hz "${@:2}" -- "$dir/$1" $moment; }

profile_of inlined -f
has "$out" ';main;outer [1-9]'
has_not "$out" 'innermost'
profile_of inlined -f --inline
has "$out" ';main;outer;middle;innermost [1-9]'
profile_of inlined -v --inline
grep -oE 'innermost \[inlined\+0x[0-9a-f]+\]' "$out" | grep -oE '0x[0-9a-f]+' | sort -u | head -n 20 >"$dir/at"
[ -s "$dir/at" ] || fail "inlined frames"
# offsets in this file's text are its addresses: no segment of it is moved
while read -r at; do
	addr2line -e "$dir/inlined" -f -i "$at" | grep -oE '^[a-z]+$|:[0-9]+( |$)' | grep -oE '[a-z0-9]+' | paste - - >"$dir/truth"
	grep -F -A 2 "innermost [inlined+$at]" "$out" | head -n 3 | sed -E 's/^ *([a-z]+).* at .*:([0-9]+).*/\1\t\2/' >"$dir/ours"
	cmp -s "$dir/truth" "$dir/ours" || fail "the lines of $at: $(tr '\n\t' '; ' <"$dir/truth")not $(tr '\n\t' '; ' <"$dir/ours")"
done <"$dir/at"

objcopy --only-keep-debug "$dir/inlined" "$dir/stripped.debug"
(cd "$dir" && objcopy --strip-all --add-gnu-debuglink=stripped.debug inlined stripped)
profile_of stripped -f --inline
has "$out" ';main;outer;middle;innermost [1-9]'
profile_of stripped --inline -o "$dir/p.pb.gz"
expect 0 report "$dir/p.pb.gz" --format folded
has "$out" ';main;outer;middle;innermost [1-9]'

# zeros in the middle of .debug_info, and in all of .debug_abbrev
cp "$dir/inlined" "$dir/broken"
for section in debug_info debug_abbrev; do
	read -r at size < <(readelf -SW "$dir/inlined" | sed -n "s/.* \.$section *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p")
	head -c $((16#$size / 2)) /dev/urandom |
		dd of="$dir/broken" bs=1 seek=$((16#$at + 16#$size / 4)) conv=notrunc status=none
	profile_of broken -f --inline
	has "$out" ';main;outer'
done
finish
