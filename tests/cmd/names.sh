#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 100
# Names of threads and files with newlines, `;`, quotes, escapes and invalid UTF-8 come out encoded in every view.
. "$(dirname "$0")/lib.bash"
need_profile
seconds=$((slow > 1 ? 3 : 1))
start stripped oddnames 600
odd=$pid
file="$dir/x;y
z"$'\e'"[31m 5"
cp "$victims/plain/recursion" "$file"
"$file" 600 10 &
other=$!
sleep "0.$((slow > 1 ? 9 : 3))"

# no_raw FILE: no control character but newline and tab, and valid UTF-8
no_raw() {
	LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' "$1" && fail "no control characters in $(basename "$1")"
	if command -v iconv >/dev/null; then
		iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1 || fail "valid UTF-8 in $(basename "$1")"
	fi
}
expect 0 profile -U -f -F 199 -p "$odd,$other" $seconds
no_raw "$out"
no_raw "$err"
grep -vE '^[^;]+(;[^;]+)+ [1-9][0-9]*$' "$out" >"$dir/bad" && fail "each line as comm;frames count: $(head -n 1 "$dir/bad")"
[ "$(cut -d ';' -f 1 "$out" | sort -u | wc -l)" -ge 6 ] || fail "the five threads and the other program, each under a name of its own"
has "$out" ';_start;'
expect 0 profile -U -F 199 -v -p "$odd,$other" $seconds
no_raw "$out"
for suffix in svg folded; do
	expect 0 profile -U -F 199 -p "$odd,$other" -o "$dir/o.$suffix" $seconds
	no_raw "$dir/o.$suffix"
	no_raw "$err"
done
has_not "$dir/o.svg" '<[^<>]*q"uo'
for by in library comm process; do
	expect 0 profile -U -F 199 -p "$odd,$other" --by $by $seconds
	no_raw "$out"
done
expect 0 profile -U -F 199 -p "$odd,$other" -o "$dir/o.pb.gz" $seconds
finish
