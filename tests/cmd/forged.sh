#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# A container's root makes a file that has the build id and the size of one of the host's, with other names and false
# unwind rows. Whichever is met first, each has its own names and rows, in this run and in those that find its tables.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
command -v readelf >/dev/null || skip "there is no readelf"
unshare --mount true 2>/dev/null || skip "no namespaces here"
true=$dir/recursion forged=$dir/forged
cp "$victims/plain/recursion" "$true"
cp "$true" "$forged"
LC_ALL=C sed -i 's/\x00even\x00/\x00evil\x00/; s/\x00odd\x00/\x00bad\x00/' "$forged"
read -r at size < <(readelf -SW "$true" | sed -n 's/.* \.eh_frame  *PROGBITS  *[0-9a-f]*  *\([0-9a-f]*\)  *\([0-9a-f]*\) .*/0x\1 0x\2/p')
tail -c +$((at + 1)) "$true" | head -c $((size)) | LC_ALL=C sed 's/\x0e\x10/\x0e\x18/g' |
	dd of="$forged" bs=1 seek=$((at)) conv=notrunc status=none
chmod 755 "$true" "$forged"
[ "$(stat -c %s "$true")" = "$(stat -c %s "$forged")" ] && ! cmp -s "$true" "$forged" || fail "another file of the same size"
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
id=$(id_of "$true")
[ -n "$id" ] || skip "the victims have no build id"
[ "$(id_of "$forged")" = "$id" ] || fail "the same build id"
# what has just been made may be made again, and has no tables
wait_until 100 eval '[ "$(date +%s)" -gt $(($(stat -c %Z "$forged") + 4)) ]' || fail "the clock to go on"

in_host() {
	expect 0 profile -U -f -F 199 -- "$true" 0.6cpu 20
	has "$out" ';(even|odd);(odd|even);'
	has_not "$out" ';(evil|bad)[; ]'
	check_victim plain recursion --comm recursion --samples 20 --complete 99 --deepest even,odd=20
}
# at the path that the other has for the host
in_container() {
	expect 0 profile -U -f -F 199 -- unshare --mount bash -c 'mount --bind "$1" "$2" && exec "$2" 0.6cpu 20' - "$forged" "$true"
	has "$out" ';(evil|bad)[; ]'
	has_not "$out" ';(even|odd)[; ]'
}
tables() { find "$CACHE_DIRECTORY" -name "$id-*" | wc -l; }

for first in in_container in_host; do
	say "-- first $first"
	export CACHE_DIRECTORY=$dir/$first
	$first
	in_host
	in_container
	in_host
	[ "$(tables)" = 4 ] || fail "tables and names of two files: $(find "$CACHE_DIRECTORY" -type f | xargs)"
done

say "-- what was kept by build ids alone goes"
old=$CACHE_DIRECTORY/names/$id-$(stat -c %s "$true")
cp "$(find "$CACHE_DIRECTORY/names" -name "$id-*" | head -n 1)" "$old"
find "$CACHE_DIRECTORY/names" -name "$id-*-*" -delete
in_host
[ ! -e "$old" ] || fail "$old to be removed"
finish
