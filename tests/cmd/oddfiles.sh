#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Files without section headers, static-PIE ones with symbols, programs that are in no file system, and Rust's newer
# mangling: stacks are whole, and names are what there is.
. "$(dirname "$0")/lib.bash"
need_profile
here=$(cd "$(dirname "$0")/.." && pwd -P)
profile_of() { expect 0 profile -U -f -F 199 "$@"; }
# sectionless FROM TO: a copy whose header knows of no sections (e_shoff; e_shnum and e_shstrndx). It has a length of its
# own, as a file that was stripped would: names that were kept of the whole file, of the same build id, are not the copy's.
sectionless() {
	{ cat "$1"; echo; } >"$2"
	chmod +x "$2"
	head -c 8 /dev/zero | dd of="$2" bs=1 seek=40 conv=notrunc status=none
	head -c 4 /dev/zero | dd of="$2" bs=1 seek=60 conv=notrunc status=none
}

mkdir "$dir/bin"
sectionless "$victims/plain/plt" "$dir/bin/plt"
sectionless "$victims/plain/libplt.so" "$dir/bin/libplt.so"
profile_of -- "$dir/bin/plt" $seconds
whole 98 "no sections"
# the library's exported functions by PT_DYNAMIC, the program's own by their ranges
readelf -W --dyn-syms "$victims/plain/libplt.so" 2>/dev/null | awk '$4 == "FUNC" && $7 != "UND" { print $8 }' >"$dir/exported"
if [ -s "$dir/exported" ]; then
	grep -qE ";($(paste -sd '|' "$dir/exported"))[; ]" "$out" || fail "a function that the library exports: $(paste -sd ' ' "$dir/exported")"
fi
has "$out" ';plt\+0x'

# a program in memory only
if command -v python3 >/dev/null; then
	python3 - "$victims/plain/recursion" $((seconds + 30)) <<-'END' &
	import os, sys
	fd = os.memfd_create('in memory', 0)
	os.write(fd, open(sys.argv[1], 'rb').read())
	os.execve(fd, ['recursion', sys.argv[2]], {})
	END
	pid=$!
	wait_working $pid
	profile_of -p $pid $seconds
	kill -KILL $pid
	whole 98 memfd
	has "$out" ';main;even;odd;even;'
fi

# static PIE, with its symbols
if command -v gcc >/dev/null && gcc -std=gnu17 -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE -w \
	-static-pie -fPIE -o "$dir/staticpie" "$here/victim/recursion.c" 2>/dev/null; then
	profile_of -- "$dir/staticpie" $seconds
	whole 98 "static PIE"
	has "$out" ';main;even;odd;even;'
fi

# Rust, both manglings
if command -v rustc >/dev/null; then
	for how in legacy v0; do
		rustc --edition 2021 -O -C codegen-units=1 -C symbol-mangling-version=$how -o "$dir/rusty-$how" \
			"$here/victim/rusty.rs" 2>"$dir/log" || { grep -q 'requires.*unstable' "$dir/log" && continue; fail "rusty.rs to compile: $(head -n 3 "$dir/log")"; }
		profile_of -- "$dir/rusty-$how" $seconds
		whole 98 "Rust $how"
		has "$out" ';rusty(\[[0-9a-f]+\])?::nested::middle(::<[^;]*>)?(;|$| )'
		has_not "$out" '(;|^)_(R|ZN)[A-Za-z0-9]'
	done
fi
finish
