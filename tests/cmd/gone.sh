#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 200
# beside others
# Processes that have ended, and libraries that have been replaced or removed, before anything is printed.
. "$(dirname "$0")/lib.bash"
need_profile
work=0.5cpu # enough for samples on a busy machine, too
[ "$slow" = 1 ] || work=$seconds

# whole machine; the victims begin when it samples, and end long before it prints. They have names that nobody else's
# processes have: a unit test beside this one may run the same program, another number of calls deep.
mkdir "$dir/own"
ln -s "$victims/stripped/recursion" "$dir/own/first$$"
ln -s "$victims/plain/callback" "$dir/own/second$$"
what='profile (victims that begin and end meanwhile)'
"$SOPROF" profile -U -f -F 199 $((slow > 1 ? 8 : 3)) >"$out" 2>"$err" </dev/null &
profiler=$!
wait_sampling $profiler
"$dir/own/first$$" $work 40 &
"$dir/own/second$$" $work
wait $profiler || fail "exit code 0"
check_victim stripped recursion --comm first$$ --samples 10 --complete 97 --deepest even,odd=40
check_victim plain callback --comm second$$ --samples 10 --complete 97

# copies of programs that are removed when they have ended: nothing of them is left on the disk
cp "$victims/plain/callback" "$dir/callback"
expect 0 profile -U -f -F 199 -- bash -c "'$dir/callback' $work; rm '$dir/callback'"
check_victim plain callback --comm callback --samples 10 --complete 97

# (A frame of 64 KiB that is met before the table is there is more stack than a waiting sample carries: the tables of
# what runs already are loaded before the first sample.)
cp "$victims/plain/frames" "$dir/frames"
"$dir/frames" 600 &
pid=$!
wait_working $pid
what='profile (of a program that is ended and removed meanwhile)'
"$SOPROF" profile -U -f -F 199 -p $pid $((slow > 1 ? 8 : 3)) >"$out" 2>"$err" </dev/null &
profiler=$!
wait_sampling $profiler
ticks() { awk '{ sub(/.*[)] /, ""); print $12 + $13 }' "/proc/$pid/stat"; } # of 10 ms
has_run() { [ "$(ticks)" -ge "$1" ]; }
wait_until $((25 * slow)) has_run $(($(ticks) + 50))
kill -KILL $pid
wait $pid 2>/dev/null
rm "$dir/frames"
wait $profiler || fail "exit code 0"
check_victim plain frames --comm frames --samples 10 --complete 97

# a program that has ended before anybody looked, and of which only another hard link is left: still called as it was
mkdir "$dir/links" && cp "$victims/plain/recursion" "$dir/links/called" && ln "$dir/links/called" "$dir/links/elf"
mkfifo "$dir/go"
what='profile (stopped while a victim runs)'
# (of the command alone: others would fill the ring that nobody reads)
"$SOPROF" profile -U -F 199 --by library --comm called -- bash -c "read -r <'$dir/go'
	'$dir/links/called' $work 40; rm '$dir/links/called'; : >'$dir/over'" >"$out" 2>"$err" </dev/null &
profiler=$!
wait_sampling $profiler
exec {go}>"$dir/go" # the command runs: the profiler has let it go
kill -STOP $profiler
echo >&$go
exec {go}>&-
until [ -e "$dir/over" ] || ! kill -0 $profiler; do sleep 0.1; done
kill -CONT $profiler
wait $profiler || fail "exit code 0"
has "$out" ' called$'
has_not "$out" ' elf$'

# a library that is unlinked, or has another renamed over it, while it is mapped: seen from the first sample on,
# and when the profiler comes later
bring_plugin() { # VARIANT HOW
	cp "$victims/$1/libplugin.so" "$dir/$2/"
	[ $2 = unlinked ] || cp "$victims/$1/libplugin.so.new" "$dir/$2/"
}
for how in unlinked replaced; do
	for variant in "${variants[@]}"; do
		mkdir -p "$dir/$how"
		for time in $moment $((3 * seconds)); do
			bring_plugin $variant $how
			expect 0 profile -U -f -F $hz -- "$victims/$variant/plugin" "$time" "$dir/$how/libplugin.so!"
			! enough_samples $variant plugin || break
		done
		check_victim $variant plugin --samples 10 --complete 99

		bring_plugin $variant $how
		start $variant plugin 600 "$dir/$how/libplugin.so!"
		wait_working "$pid"
		expect 0 profile -U -f -F 199 -p "$pid" $seconds
		check_victim $variant plugin --samples 10 --complete 99
		kill "$pid"
		wait "$pid" 2>/dev/null
	done
done
finish
