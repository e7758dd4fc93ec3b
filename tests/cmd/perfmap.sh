#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# Code made at run time has the names of its process's perf map: the last line counts, absurd ones are counted, another
# user's map and one of an earlier process are none; the map of a process in namespaces of its own outlives it.
. "$(dirname "$0")/lib.bash"
need_profile
maps=()
leave_maps() { rm -f "${maps[@]}"; leave; }
trap leave_maps EXIT

start plain jit 600 A
map=/tmp/perf-$pid.map
maps+=("$map")
profile_it() { expect 0 profile -U -f -F 199 -p "$pid" "$@" $seconds; }
profile_it
has "$out" ';\[anon\]\+0x200001[0-9a-f]{2};\[anon\]\+0x200000[0-9a-f]{2};'
has_not "$err" 'perf map'

# two code ranges, old names overwritten by younger ones, and no sense
{
	echo "20000000 100 old_outer"
	echo "0x20000100 0x100 old inner"
	echo "20000100 80 inner of two words"
	echo "20000000 80 outer"
	echo "zzz 10 bad"
	echo "20000000 ffffffffffffffff bad"
	echo "20000000 0 bad"
	echo "20000000 10"
	echo "-20000000 10 bad"
	head -c 300000 /dev/zero | tr '\0' x
	echo
	printf '20000000 80 not ended'
} >"$map"
profile_it
has "$out" ';run_jit;inner of two words;outer;work_a;'
says '\[anon\] \(perf map: 7 of 11 lines make no sense\)'
# another user's, and a link to one that would do
if is_root; then
	chown 65534 "$map"
	profile_it
	has "$out" ';\[anon\]\+0x20000'
	says 'perf-[0-9]+.map: of another user'
	chown 0 "$map"
fi
mv "$map" "$dir/map"
ln -s "$dir/map" "$map"
profile_it
has "$out" ';\[anon\]\+0x20000'
rm "$map"
# older than the process
cp "$dir/map" "$map"
touch -d '2001-01-01' "$map"
profile_it
has "$out" ';\[anon\]\+0x20000'
rm "$map"
# megabytes of lines that all overlap
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "1f000000 2000000 f%d\n", i }' >"$map"
profile_it
has "$out" ';run_jit;f199999;f199999;work_a;'
kill -KILL "$pid"

# a container: its own /tmp, its own numbers, and it ends before the profile does
if is_root && unshare --mount --pid --fork true 2>/dev/null; then
	"$SOPROF" profile -U -f -F 199 --comm 'jit-*' $((seconds + 3)) >"$out" 2>"$err" &
	profiler=$!
	wait_sampling $profiler
	mkdir "$dir/tmp"
	unshare --mount --pid --fork bash -c 'mount -t tmpfs none "$0" && cp "$1" "$0/jit" && cat >"$0/perf-$$.map" &&
		mount --move "$0" /tmp && exec /tmp/jit "$2" A' "$dir/tmp" "$victims/plain/jit" $((seconds + 1)) \
		<"$dir/map" >"$dir/log" 2>&1 || fail "a container: $(cat "$dir/log")"
	wait $profiler || fail "the profile of a container to be made: $(tail -n 3 "$err")"
	has "$out" ';inner of two words;outer;'
fi

# node writes one itself
if command -v node >/dev/null; then
	cat >"$dir/busy.js" <<-'END'
	function innermost(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
	function middle(n) { return innermost(n) + 1; }
	const end = Date.now() + Number(process.argv[2]) * 1000;
	let r = 0;
	while (Date.now() < end) r ^= middle(200000);
	process.exit(r === 0.5 ? 1 : 0);
	END
	(cd "$dir" && exec node --perf-basic-prof busy.js 600) & # it leaves a log where it is
	pid=$!
	maps+=("/tmp/perf-$pid.map")
	for _ in $(seq 200); do # until it is compiled
		grep -q innermost "/tmp/perf-$pid.map" 2>/dev/null && break
		sleep 0.1
	done
	profile_it
	has "$out" ';(JS|LazyCompile|Function):[*^~+]?(innermost|middle) [^;]*busy.js'
	kill -KILL $pid
fi
finish
