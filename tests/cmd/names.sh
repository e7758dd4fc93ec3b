#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 200
# Names of threads and files with newlines, `;`, quotes, escapes and invalid UTF-8 come out encoded in every view.
. "$(dirname "$0")/lib.bash"
need_profile
start stripped oddnames 600
odd=$pid
file="$dir/x;y
z"$'\e'"[31m 5"
cp "$victims/plain/recursion" "$file"
"$file" 600 10 &
other=$!
wait_working $odd $other
at_ease $odd $other

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

# every view there is, of one recording; those that machines read are what they say they are
deleted="$dir/not gone (deleted)"
cp "$victims/plain/callback" "$deleted"
"$deleted" 600 &
third=$!
wait_working $third
at_ease $third
expect 0 profile -U -F 199 -p "$odd,$other,$third" -o "$dir/o.pb.gz" $seconds
for view in text folded svg html table tree csv json speedscope perf callgrind; do
	expect 0 report --format $view "$dir/o.pb.gz"
	[ -s "$out" ] || fail "something in the view $view"
	no_raw "$out"
	no_raw "$err"
	if [[ $view =~ ^(json|speedscope)$ ]] && command -v python3 >/dev/null; then
		python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out" 2>/dev/null || fail "JSON in the view $view"
	fi
	if [ $view = svg ] && command -v python3 >/dev/null; then
		python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' "$out" 2>/dev/null || fail "XML in the view svg"
	fi
	if [ $view = csv ] && command -v python3 >/dev/null; then
		python3 -c 'import csv, sys; sys.exit(len({len(r) for r in csv.reader(open(sys.argv[1], newline=""))}) != 1)' "$out" ||
			fail "as many fields in each row of the view csv"
		has_not "$out" '(^|,)"?[=+@-][^0-9,"]'
	fi
done
# a file that is only named as if it were deleted is not (pprof and perf's text can only say so by that very name)
expect 0 profile -U -F 199 --format csv -p "$third" $seconds
has "$out" '/not gone \(deleted\)'
for view in '' --csv --json; do
	# shellcheck disable=SC2086
	expect 0 libs $view -p "$odd,$other,$third"
	no_raw "$out"
	no_raw "$err"
	has "$out" 'not gone \(deleted\)'
done
finish
