#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 400
# Files that do harm to whoever opens, reads or parses them: each costs its own names, says so, and nothing else: the
# profile ends in time, and the stacks of a program beside it are whole.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
hostile=$victims/hostile
test_name() { say "-- $1"; }
pids=()
trouble() { # trouble ARGUMENT...: in the background
	"$hostile" "$@" </dev/null >"$dir/trouble" 2>&1 &
	pids+=($!)
}
end_all() {
	kill -KILL "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	pids=()
}
# profiles the whole machine while the victim runs; ends, and long before the victim does
beside() {
	local began time
	for time in $((2 * seconds)) $((8 * seconds)) $((20 * seconds)); do # where others have the CPUs the victim has few samples
		began=$SECONDS
		# started and looked at by the whole machine, so that all files are opened
		expect 0 profile -U -f -F 199 "$time"
		[ $((SECONDS - began)) -lt $((time + 100 * slow)) ] || fail "to end soon after it was told, not after $((SECONDS - began)) s"
		[ "$(grep '^callback;' "$out" | count)" -lt 10 ] || break
	done
	cp "$out" "$dir/all"
	check_victim plain callback --comm callback --samples 10 --complete 97
}
start plain callback 600
wait_working "$pid"
at_ease "$pid"

test_name 'a FUSE file whose server never answers again'
cp "$victims/plain/recursion" "$dir/served"
mkdir "$dir/fuse"
trouble fuse $((600 * slow)) "$dir/fuse" "$dir/served"
for _ in $(seq $((50 * slow))); do # until it runs what it serves
	! [ -s "$dir/trouble" ] && ! pgrep -x file >"$dir/running" || break
	sleep 0.1
done
sleep 0.5
if grep -q . "$dir/trouble"; then
	say "no FUSE here: $(cat "$dir/trouble")"
else
	beside
	grep -q '^file;' "$dir/all" || fail "samples of what runs from there"
	says 'file \(file system not trusted \(fuse\)\)'
fi
end_all

test_name 'a file that is truncated and rewritten while it is read'
# Of build ids of their own: what is made of half a file is not to stand in the machine's cache as the library's.
head_of_note=040000001400000003000000474e5500 # name size 4, 20 bytes, type 3, "GNU"
at=$(od -An -v -tx1 "$victims/plain/libplugin.so" | tr -d ' \n' | grep -bo "$head_of_note" | head -n 1 | cut -d : -f 1)
for n in 1 2 3 4; do
	cp "$victims/plain/libplugin.so" "$dir/lib$n.so"
	head -c 20 /dev/urandom | dd of="$dir/lib$n.so" bs=1 seek=$((at / 2 + 16)) conv=notrunc status=none
	cp "$dir/lib$n.so" "$dir/whole$n.so"
done
for n in 1 2 3; do
	trouble rewrite 600 "$dir/lib$n.so"
done
beside
beside
has "$dir/all" '^hostile;'
end_all
for n in 1 2 3 4; do # the fourth was never touched, nor was it seen before
	cp "$dir/whole$n.so" "$dir/lib$n.so"
	trouble file 600 "$dir/lib$n.so"
done
wait_working "${pids[@]}"
at_ease "${pids[@]}"
sleep 4 # what has just been changed has no table on the disk
beside
end_all
for n in 1 2 3 4; do # a table that was kept is the whole file's, not that of half of it
	id=$(od -An -v -tx1 -j $((at / 2 + 16)) -N 20 "$dir/lib$n.so" | tr -d ' \n')
	stat -c %s "/var/cache/soprof/unwind/$id-"*"-$(stat -c %s "$dir/lib$n.so")" 2>/dev/null
done >"$dir/sizes"
[ "$(sort -u "$dir/sizes" | wc -l)" = 1 ] || fail "equal tables of four equal files: $(xargs <"$dir/sizes")"

test_name 'an ELF file of 8 TiB, with gigabytes of .eh_frame'
"$hostile" bomb "$dir/bomb.so" 2>"$dir/trouble"
if [ -s "$dir/trouble" ]; then
	say "no such file here: $(cat "$dir/trouble")"
else
	trouble file 600 "$dir/bomb.so"
	wait_working "${pids[@]}"
	at_ease "${pids[@]}"
	beside
	pid_of_bomb=${pids[0]}
	expect 0 profile -U -f -F 199 -p "$pid_of_bomb" $seconds
	has "$out" '^hostile;.*hostile_work'
	end_all
	rm "$dir/bomb.so"
fi

test_name 'files that are no ELF, or only begin as one'
head -c 100000 /dev/urandom >"$dir/noise.so"
: >"$dir/empty.so"
head -c 4096 "$victims/plain/libplugin.so" >"$dir/begun.so"
for name in noise empty begun; do
	trouble file 600 "$dir/$name.so"
done
wait_working "${pids[@]}"
at_ease "${pids[@]}"
beside
end_all
finish
