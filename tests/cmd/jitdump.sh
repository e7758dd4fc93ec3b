#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# Code made at run time has the names of its process's jit dump: what lay at an address while it was sampled, told apart
# from what was there before; records that make no sense are counted; another user's file is none. The dump that was mapped is
# read after its process has ended, and from a container's files.
. "$(dirname "$0")/lib.bash"
need_profile
[ -x /usr/bin/python3 ] || skip "no python3, which makes the dumps"

# A line is TIME START SIZE NAME, `move TIME FROM TO SIZE NUMBER`, or `bad`; times in seconds from now; loads have numbers.
cat >"$dir/dump.py" <<'END'
import struct, sys, time
now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
out = struct.pack('<IIIIIIQQ', 0x4A695444, 1, 40, 62, 0, 1, now, 0)
record = lambda kind, at, body: struct.pack('<IIQ', kind, 16 + len(body), now + int(float(at) * 1e9)) + body
n = 0
for line in sys.stdin:
    w = line.split(None, 3)
    if w[0] == 'bad':
        out += record(0, 0, b'too short')
    elif w[0] == 'move':
        at, old, new, size, index = line.split()[1:]
        out += record(1, at, struct.pack('<IIQQQQQ', 1, 1, 0, int(old, 16), int(new, 16), int(size, 16), int(index)))
    else:
        start, size = int(w[1], 16), int(w[2], 16)
        out += record(0, w[0], struct.pack('<IIQQQQ', 1, 1, start, start, size, n) + w[3].strip().encode() + b'\0' + b'\x90' * size)
        n += 1
open(sys.argv[1], 'wb').write(out)
END
# The process must have mapped it under its own number: it waits for the file in a shell that becomes the victim.
start_with() { # LINE...
	rm -f "$dir/made"
	bash -c 'until [ -e "$1/made" ]; do sleep 0.05; done; exec "$2" 600 A "$1/jit-$$.dump"' . "$dir" "$victims/plain/jit" \
		</dev/null >/dev/null 2>&1 &
	pid=$!
	printf '%s\n' "$@" | /usr/bin/python3 "$dir/dump.py" "$dir/jit-$pid.dump"
	[ -z "${owner:-}" ] || chown "$owner" "$dir/jit-$pid.dump"
	: >"$dir/made"
	wait_working "$pid"
}
# until soprof holds the dump twice: as a file that is mapped, and since it has sampled the code
wait_dump_held() {
	local tries=$((300 * slow))
	until [ "$(ls -l "/proc/$1/fd" 2>/dev/null | grep -c 'jit-[0-9]*.dump')" -ge 2 ]; do
		[ $((tries -= 1)) -gt 0 ] && [ -e "/proc/$1" ] || { fail "soprof to hold the dump"; return 1; }
		sleep 0.1
	done
}
profile_it() { expect 0 profile -U -f -F 199 -p "$pid" $seconds; }
end_it() { kill -KILL "$pid"; wait "$pid" 2>/dev/null; }

# inner is at 20000000, outer at 20000100
start_with '-20 20000000 80 old inner' '-20 20000100 80 outer' bad '-10 20000000 80 inner of two words'
profile_it
has "$out" ';run_jit;outer;inner of two words;work_a;'
has_not "$out" 'old inner'
says 'jit dump: 1 of 4 records make no sense'
end_it
# what changes after the first sample cannot be told apart, and both are said; what was moved away before is not there
start_with '-20 20000000 80 first' '3600 20000000 80 second' '-20 20000100 80 outer' 'move -10 20000100 30000000 80 2'
profile_it
has "$out" ';run_jit;\[anon\]\+0x200001[0-9a-f]+;first or second;work_a;'
# the map names what the dump does not
echo '20000100 80 by the map' >"/tmp/perf-$pid.map"
profile_it
rm -f "/tmp/perf-$pid.map"
has "$out" ';run_jit;by the map;first or second;work_a;'
# it ends, and its dump goes, before the profile does
"$SOPROF" profile -U -f -F 199 -p "$pid" $((3 * slow)) >"$out" 2>"$err" &
profiler=$!
wait_sampling $profiler
wait_dump_held $profiler
rm "$dir/jit-$pid.dump"
end_it
wait $profiler || fail "the profile to be made: $(tail -n 3 "$err")"
has "$out" ';first or second;work_a;'
# no dump, and another user's
start_with bad bad
printf 'none' >"$dir/jit-$pid.dump"
profile_it
has "$out" ';run_jit;\[anon\]\+0x200001[0-9a-f]{2};\[anon\]\+0x200000[0-9a-f]{2};'
says 'jit dump: not a jit dump'
end_it
if is_root; then
	owner=65534
	start_with '-20 20000000 80 inner'
	profile_it
	has "$out" ';run_jit;\[anon\]\+0x200001[0-9a-f]{2};\[anon\]\+0x200000[0-9a-f]{2};'
	says 'jit-[0-9]+.dump: of another user'
	end_it
fi

# node writes one itself, in large pieces, the last of them at its end
if command -v node >/dev/null; then
	cat >"$dir/busy.js" <<-'END'
	function innermost(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
	function middle(n) { return innermost(n) + 1; }
	const end = Date.now() + Number(process.argv[2]) * 1000;
	let r = 0;
	while (Date.now() < end) r ^= middle(200000);
	process.exit(r === 0.5 ? 1 : 0);
	END
	cd "$dir" && expect 0 profile -U -f -F 199 -- node --perf-prof busy.js $((2 * slow))
	has "$out" ';(JS|LazyCompile|Function):[*^~+]?(innermost|middle) [^;]*busy.js'
fi
finish
