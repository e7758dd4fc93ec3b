#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# Tables of names on disk: the second run takes what the first one wrote, names are the same; a debug file that comes
# later is noticed; a table that is damaged, somebody else's or of the wrong file is made anew and never believed.
. "$(dirname "$0")/lib.bash"
need_profile
for tool in objcopy readelf; do
	command -v $tool >/dev/null || skip "there is no $tool"
done
export CACHE_DIRECTORY=$dir/cache
names=$dir/cache/names
cp "$victims/plain/recursion" "$dir/full"
objcopy --strip-all "$dir/full" "$dir/none"
chmod 755 "$dir/full" "$dir/none"
id=$(readelf -n "$dir/none" | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip "the victims have no build id"
table() { compgen -G "$names/$id-*-$(stat -c %s "$1")"; }
is_settled() { [ "$(date +%s)" -gt $(($(stat -c %Z "$1") + 4)) ]; }
settle() { wait_until 100 is_settled "$1" || fail "the clock to go on"; }
profile_of() {
	local program=$1
	shift
	expect 0 profile -U -f -F 199 "$@" -- "$program" $seconds
}
named() { profile_of "$@"; has "$out" ';(even|odd);(odd|even);'; }
unnamed() { profile_of "$@"; has_not "$out" ';(even|odd)[; ]'; has "$out" ";$(basename "$1")\+0x"; }
inode() { stat -c '%i %Y' "$1"; }

# made once, then used as it is
settle "$dir/none"
named "$dir/full"
full=$(table "$dir/full")
[ -f "$full" ] && [ "$(stat -c %a "$full")" = 600 ] || fail "a table $full of mode 600"
[ "$(stat -c %a "$names")" = 700 ] || fail "a directory of mode 700"
[ -z "$(find "$names" -name '.new-*')" ] || fail "no file to be left"
before=$(inode "$full")
named "$dir/full"
[ "$(inode "$full")" = "$before" ] || fail "the table not to be made again"

# damaged, another file's, a link, somebody else's
good=$dir/good
cp "$full" "$good"
size=$(stat -c %s "$good")
again() {
	named "$dir/full"
	cmp -s "$good" "$full" || fail "the table to be made again after: $1"
}
truncate -s $((size / 2)) "$full"; again "cut"
printf '\377' | dd of="$full" bs=1 seek=100 conv=notrunc status=none; again "a byte of the head"
printf '\252\125' | dd of="$full" bs=1 seek=$((size / 2)) conv=notrunc status=none; again "bytes of a block"
unnamed "$dir/none"
cp "$(table "$dir/none")" "$full"; again "another file's"
ln -sf "$good" "$full"; again "a link"
[ ! -L "$full" ] || fail "no link in its place"
if is_root; then
	chown 65534 "$full"; again "of another user"
	[ "$(stat -c %u "$full")" = 0 ] || fail "a table of root's"
fi

# a debug file that comes later is noticed, and what it said is kept
unnamed "$dir/none"
mkdir -p "$dir/by-id/.build-id/${id:0:2}"
objcopy --only-keep-debug "$dir/full" "$dir/by-id/.build-id/${id:0:2}/${id:2}.debug"
named "$dir/none" --debug-dir "$dir/by-id"
rm -r "$dir/by-id"
named "$dir/none"

# a file that others may write has no entry, and its names all the same
cp "$dir/full" "$dir/open"
chmod 777 "$dir/open"
settle "$dir/open"
rm -f "$full"
named "$dir/open"
[ -z "$(table "$dir/full")" ] || fail "no table of a file that others may write"
# nor are tables taken from a directory that others may write
named "$dir/full"
chmod 777 "$names"
before=$(inode "$full")
named "$dir/full"
[ "$(inode "$full")" = "$before" ] || fail "nothing to be written there"
chmod 700 "$names"

# Without a build id a sample of the bytes counts as well. Tables are made once, but not while a file has just been changed.
tables_of() { find "$CACHE_DIRECTORY/unwind" "$names" -name "state-*-$(stat -c %s "$1")" -printf '%p %i %T@\n' | sort; }
nameless=$dir/nameless
objcopy --remove-section .note.gnu.build-id "$victims/plain/callback" "$dir/other"
objcopy --remove-section .note.gnu.build-id "$dir/full" "$nameless"
size=$(($(stat -c %s "$dir/other") + $(stat -c %s "$nameless")))
truncate -s $size "$nameless" "$dir/other"
chmod 755 "$nameless"
named "$nameless"
is_settled "$nameless" || [ -z "$(tables_of "$nameless")" ] || fail "no tables of a file that has just been changed"
settle "$nameless"
named "$nameless"
[ "$(tables_of "$nameless" | wc -l)" = 2 ] || fail "a table of a file without a build id, and one of its names"
before=$(tables_of "$nameless")
named "$nameless"
[ "$(tables_of "$nameless")" = "$before" ] || fail "the tables to be used as they are"
expect 0 doctor --file "$nameless"
has "$out" '^cache +its table is there .*; its names are there$'
# another program in its place, with its inode, size and time
touch -r "$nameless" "$dir/time"
cat "$dir/other" >"$nameless"
touch -r "$dir/time" "$nameless"
settle "$nameless"
profile_of "$nameless"
has "$out" ';(sort|search);.*compare_(sort|search)'
[ "$(tables_of "$nameless" | wc -l)" = 4 ] || fail "other tables for other contents"
# and a file that others may write has none
chmod 777 "$nameless"
settle "$nameless"
profile_of "$nameless"
[ "$(tables_of "$nameless" | wc -l)" = 4 ] || fail "no table of a file that others may write"
finish
