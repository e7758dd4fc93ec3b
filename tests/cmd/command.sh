#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# `-- COMMAND`: its exit code, its output, its children; a command that is not there.
. "$(dirname "$0")/lib.bash"
need_profile

expect 0 profile -f -- true
expect 1 profile -f -- false
expect 42 profile -f -- bash -c 'exit 42'
expect 143 profile -f -- bash -c 'kill -TERM $$'
expect 0 profile -f -- bash -c 'echo from the command; echo and here >&2'
has "$out" '^from the command$'
has "$err" '^and here$'
expect 127 profile -f -- "$dir/there is no such program"
one_line 'there is no such program.*(No such file|not found)'
touch "$dir/not-executable"
expect 126 profile -f -- "$dir/not-executable"
one_line 'not-executable.*(denied|not executable)'
mkdir "$dir/empty"
PATH=$dir/empty expect 127 profile -f -- ls
one_line 'ls'

# children and grandchildren are followed; nobody else is there
expect 0 profile -U -f -F 199 -- bash -c "'$victims/plain/recursion' $seconds 50 & '$victims/plain/callback' $seconds; wait; bash -c '$victims/stripped/frames $seconds'"
grep '^recursion;' "$out" >"$dir/recursion"
grep '^callback;' "$out" >"$dir/callback"
grep '^frames;' "$out" >"$dir/frames"
for name in recursion callback frames; do
	[ "$(count <"$dir/$name")" -ge 5 ] || fail "at least 5 samples of $name, not $(count <"$dir/$name")"
done
grep -vE '^(bash|recursion|callback|frames|soprof)[; ]' "$out" >"$dir/others" && fail "samples of the command and its children only: $(head -n 3 "$dir/others")"
cp "$dir/recursion" "$out"
check_victim plain recursion --samples 5 --complete 99 --deepest even,odd=50

# the command's own file descriptors, environment and working directory
cd / && FOO=bar expect 7 profile -f -- bash -c '[ "$FOO" = bar ] && [ "$PWD" = / ] && exit 7'
printf 'through\n' >"$dir/in"
"$SOPROF" profile -f -o "$dir/x.folded" -- cat <"$dir/in" >"$out" 2>"$err"
[ "$(cat "$out")" = through ] || fail "standard input to reach the command"
# no descriptor of ours is left open in the command
bash -c 'ls /proc/$$/fd' >"$dir/open" </dev/null 2>/dev/null
expect 0 profile -f -o "$dir/x.folded" -- bash -c 'ls /proc/$$/fd'
cmp -s "$dir/open" "$out" || fail "the command to have no more open than without soprof: $(diff "$dir/open" "$out" | tr '\n' ' ')"
# SECONDS end the sampling before the command ends, and its code is still passed on
expect 5 profile -f 1 -- bash -c 'sleep 2; exit 5'
finish
