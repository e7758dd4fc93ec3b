#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 60
# A full disk, a closed pipe, places where no file can be.
. "$(dirname "$0")/lib.bash"
need_profile
start plain recursion 600 20
wait_working "$pid"
at_ease "$pid"

expect 1 profile -F 99 -p "$pid" --format folded -o /dev/full 1
tail -n 1 "$err" >"$dir/last" && mv "$dir/last" "$err"
one_line '/dev/full.*No space left'
what='profile >/dev/full'
"$SOPROF" profile -F 99 -p "$pid" 1 >/dev/full 2>"$err"
status=$?
[ "$status" = 1 ] || fail "exit code 1"
has "$err" '^soprof: .*(No space left)'
expect 1 profile -F 99 -p "$pid" -o "$dir/no/such/place.svg" 1
has "$err" '^soprof: .*no/such/place.svg.*No such file'
mkdir "$dir/x.svg"
expect 1 profile -F 99 -p "$pid" -o "$dir/x.svg" 1
has "$err" '^soprof: .*x.svg.*directory'

# a file system that is full: one line, and no half of a file in place of the older one
if is_root && mkdir "$dir/small" && mount -t tmpfs -o size=16k tmpfs "$dir/small" 2>/dev/null; then
	echo old >"$dir/small/x.svg"
	head -c 12000 /dev/zero >"$dir/small/filler"
	expect 1 profile -F 99 -p "$pid" -o "$dir/small/x.svg" 1
	has "$err" '^soprof: .*x.svg.*No space left'
	ls -A "$dir/small" >"$dir/listing"
	[ "$(sort "$dir/listing" | tr '\n' ' ')" = 'filler x.svg ' ] || fail "no file to be left behind: $(tr '\n' ' ' <"$dir/listing")"
	[ "$(cat "$dir/small/x.svg")" = old ] || fail "the older file to be as it was"
	umount "$dir/small"
fi

# a reader that has gone is no failure
what='profile | head'
{ "$SOPROF" profile -F 99 1 2>"$err"; echo $? >"$dir/code"; } | head -n 1 >"$out"
status=$(cat "$dir/code")
[ "$status" = 0 ] || fail "exit code 0"
has_not "$err" '(Broken pipe|SIGPIPE)'
{ "$SOPROF" profile -f -F 99 -U -p "$pid" 1 2>"$err"; echo $? >"$dir/code"; } | true
[ "$(cat "$dir/code")" = 0 ] || fail "exit code 0 when nobody reads"
finish
