#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# Names of a stripped program come from its separate debug file, by build id or debug link, or from .gnu_debugdata;
# a debug file that is another build's, whose CRC is wrong, or that is broken, gives none, and that is said.
. "$(dirname "$0")/lib.bash"
need_profile
for tool in objcopy readelf xz; do
	command -v $tool >/dev/null || skip "there is no $tool"
done
id=$(readelf -n "$victims/plain/recursion" | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip "the victims have no build id"
mkdir -p "$dir/by-id/.build-id/${id:0:2}" "$dir/bin/.debug" "$dir/else"
chmod -R a+rX "$dir"
objcopy --only-keep-debug "$victims/plain/recursion" "$dir/whole"
objcopy --strip-all "$victims/plain/recursion" "$dir/bin/none"

# What was found once is remembered by build id, and all of these have the same: each time from the beginning.
export CACHE_DIRECTORY=$dir/cache
# named PROGRAM OPTION... / unnamed PROGRAM OPTION...: its own functions have their names, or none
profile_of() {
	local program=$1
	shift
	rm -rf "$dir/cache/names"
	expect 0 profile -U -f -F $hz "$@" -- "$program" $moment
}
named() { profile_of "$@"; has "$out" ';(even|odd);(odd|even);'; }
unnamed() { profile_of "$@"; has_not "$out" ';(even|odd)[; ]'; has "$out" ";$(basename "$1")\+0x"; }

unnamed "$dir/bin/none"
cp "$dir/whole" "$dir/by-id/.build-id/${id:0:2}/${id:2}.debug"
named "$dir/bin/none" --debug-dir "/nowhere:$dir/by-id"
has_not "$err" 'debug'

# by the link: beside the file, and in .debug
cp "$dir/whole" "$dir/bin/.debug/linked.debug"
(cd "$dir/bin/.debug" && objcopy --add-gnu-debuglink=linked.debug "$dir/bin/none" "$dir/bin/linked")
named "$dir/bin/linked"
mv "$dir/bin/.debug/linked.debug" "$dir/bin/linked.debug"
named "$dir/bin/linked"
mkdir -p "$dir/tree$dir/bin" && mv "$dir/bin/linked.debug" "$dir/tree$dir/bin/"
named "$dir/bin/linked" --debug-dir "$dir/tree"
# the same names, but other bytes: not what the link means
cp "$dir/whole" "$dir/bin/linked.debug"
echo more >>"$dir/bin/linked.debug"
unnamed "$dir/bin/linked"
says 'linked.debug: its CRC is not the debug link'
rm "$dir/bin/linked.debug"

# another build's
objcopy --only-keep-debug "$victims/plain/callback" "$dir/by-id/.build-id/${id:0:2}/${id:2}.debug"
unnamed "$dir/bin/none" --debug-dir "$dir/by-id"
says 'debug: of another build'
# cut short, and not ELF at all: what the file itself says is used
head -c 700 "$dir/whole" >"$dir/by-id/.build-id/${id:0:2}/${id:2}.debug"
unnamed "$dir/bin/none" --debug-dir "$dir/by-id"
says "${id:2}.debug: "
echo nonsense >"$dir/by-id/.build-id/${id:0:2}/${id:2}.debug"
unnamed "$dir/bin/none" --debug-dir "$dir/by-id"
says "${id:2}.debug: "
rm -r "$dir/by-id"

# a link that leads elsewhere is none: its name is as long as before, so that the file stays well-formed
cp "$dir/whole" "$dir/bin/elsewhere.d"
(cd "$dir/bin" && objcopy --add-gnu-debuglink=elsewhere.d none else && sed -i 's/elsewhere\.d/..\/bin\/else/' else)
unnamed "$dir/bin/else"

# packed into the file itself
xz -9 --stdout "$dir/whole" >"$dir/mini.xz"
objcopy --add-section .gnu_debugdata="$dir/mini.xz" "$dir/bin/none" "$dir/bin/mini"
named "$dir/bin/mini"
head -c 1 /dev/zero | dd of="$dir/mini.xz" bs=1 seek=200 conv=notrunc status=none
objcopy --add-section .gnu_debugdata="$dir/mini.xz" "$dir/bin/none" "$dir/bin/broken"
unnamed "$dir/bin/broken"
says 'broken \(unpack .gnu_debugdata: '
finish
