#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 110
# Processes that have ended, and libraries that have been replaced or removed, before anything is printed.
. "$(dirname "$0")/lib.bash"
need_profile

# whole machine; the victims begin when it samples, and end long before it prints
what='profile (victims that begin and end meanwhile)'
"$SOPROF" profile -U -f -F 199 $((slow > 1 ? 12 : 4)) >"$out" 2>"$err" </dev/null &
profiler=$!
wait_sampling $profiler
"$victims/stripped/recursion" $((slow > 1 ? 2 : 1)) 40 &
"$victims/plain/callback" $((slow > 1 ? 2 : 1))
wait $profiler || fail "exit code 0"
check_victim stripped recursion --comm recursion --samples 10 --complete 97 --deepest even,odd=40
check_victim plain callback --comm callback --samples 10 --complete 97

# a copy of a program that is removed when it has ended: nothing of it is left on the disk
cp "$victims/plain/frames" "$dir/frames"
expect 0 profile -U -f -F 199 -- bash -c "'$dir/frames' $slow; rm '$dir/frames'"
# (97: a 64 KiB frame that is met before the table is there is more stack than a waiting sample carries)
check_victim plain frames --comm frames --samples 10 --complete 97

# a program that has ended before anybody looked, and of which only another hard link is left: still called as it was
mkdir "$dir/links" && cp "$victims/plain/recursion" "$dir/links/called" && ln "$dir/links/called" "$dir/links/elf"
what='profile (stopped while a victim runs)'
"$SOPROF" profile -U -F 199 --by library --comm called $((slow > 1 ? 12 : 4)) >"$out" 2>"$err" </dev/null &
profiler=$!
wait_sampling $profiler
kill -STOP $profiler
"$dir/links/called" $slow 40
rm "$dir/links/called"
kill -CONT $profiler
wait $profiler || fail "exit code 0"
has "$out" ' called$'
has_not "$out" ' elf$'

# a library that is unlinked, or has another renamed over it, while it is mapped: seen from the first sample on,
# and when the profiler comes later
for how in unlinked replaced; do
	for variant in plain stripped; do
		mkdir -p "$dir/$how"
		cp "$victims/$variant/libplugin.so" "$dir/$how/"
		[ $how = unlinked ] || cp "$victims/$variant/libplugin.so.new" "$dir/$how/"
		profile_victim $variant plugin --samples 10 --complete 99 -- "$dir/$how/libplugin.so!"

		cp "$victims/$variant/libplugin.so" "$dir/$how/"
		[ $how = unlinked ] || cp "$victims/$variant/libplugin.so.new" "$dir/$how/"
		start $variant plugin $((3 * slow)) "$dir/$how/libplugin.so!"
		sleep "0.$((slow > 1 ? 9 : 3))"
		expect 0 profile -U -f -F 199 -p "$pid" 1
		check_victim $variant plugin --samples 10 --complete 99
		kill "$pid"
		wait "$pid" 2>/dev/null
	done
done
finish
