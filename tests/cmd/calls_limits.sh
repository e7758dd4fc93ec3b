#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# After the start a counted program makes no system call that is not its own: it lives in a sandbox in which all kill, with
# libraries without a build id and 20,000 places of calls; those that find no room are counted in their function's row. And
# programs whose address space, locked memory or descriptors are limited run as without us.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
command -v gcc >/dev/null || skip "needs gcc"
from=$SOPROF_SOURCE/tests/victim/calls
flags=(-O1 -w -D_GNU_SOURCE -Wl,--build-id=none)
gcc "${flags[@]}" -shared -fPIC -Wl,-soname,libcounted.so -o "$dir/libcounted.so" "$from/libcounted.c"
for variant in lazy now; do
	gcc "${flags[@]}" -Wl,-z,$variant -o "$dir/$variant" "$from/sandbox.c" "$dir/libcounted.so" -Wl,-rpath,"$dir"
done
gcc "${flags[@]}" -fno-plt -o "$dir/noplt" "$from/sandbox.c" "$dir/libcounted.so" -Wl,-rpath,"$dir"

sandboxed() { # PROGRAM KIND DEPTH
	what=$*
	rm -f "$dir/a.profile"
	count_into "$dir/a.profile" "$3" libcounted.so
	[ -z "${full:-}" ] || "$full"
	counted "$dir/$1" "$2" >"$out" 2>"$err"
	status=$?
	[ "$status" = 3 ] && [ "$(cat "$out")" = 20001 ] && [ ! -s "$err" ] || fail "exit code 3, 20001 calls"
	[ "$(sums | paste -sd ' ')" = 'counted_one 20000 counted_two 1' ] || fail "all calls: $(sums | paste -sd ' ')"
	[ "$(counter lost)" = 0 ] || fail "no call lost"
}
for program in noplt now lazy; do
	for kind in strict filter; do
		sandboxed $program $kind site
	done
	sandboxed $program strict object
done
time_it() { "$calls_file" time "$file"; } # strict: its seccomp forbids the time-stamp counter, too
if "$calls_file" time "$file" 2>/dev/null; then
	for kind in strict filter; do
		full=time_it sandboxed now $kind site
	done
	# there are stubs for 8,192 of the places
	"$calls_file" times "$file" | awk '$1 == "counted_one" { exit !($2 == 20000 && $3 > 7500 && $3 <= 8300) }' ||
		fail "8,192 places timed: $("$calls_file" times "$file")"
fi
sandboxed now strict site
[ "$("$calls_file" rows "$file" | wc -l)" -ge $((20001 - $(counter folded))) ] || fail "a row for each place"
# Each program that starts finds room anew, as far as there is some for a page of counters for each CPU.
for try in 1 2 3 4; do
	cp "$dir/now" "$dir/now$try"
	counted "$dir/now$try" strict >"$out"
done
[ "$(sums | paste -sd ' ')" = 'counted_one 100000 counted_two 5' ] || fail "all calls of five: $(sums | paste -sd ' ')"
[ "$(nproc)" -gt 4 ] || [ "$(counter folded)" = 0 ] || fail "a row for each of 100,005 places, not $(counter folded) without"
say "places without a row: $(counter folded) of 100005"

# An address space of 100 MB, of which the program itself takes 90; all locked; no more than four descriptors.
cat >"$dir/memory.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
int main(int argc, char **argv)
{
	size_t bytes = (size_t)atol(argv[1]) << 20;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int locked = argc > 2 ? mlockall(MCL_CURRENT | MCL_FUTURE) : 0;
	printf("%d %d\n", p != MAP_FAILED, locked);
	return 0;
}
C
gcc -O1 -w -o "$dir/memory" "$dir/memory.c"
count_into "$dir/libc.profile" site libc.so.6
limited() { # LIMIT COMMAND...
	what=$*
	bash -c "ulimit $1; exec \"\${@:2}\"" - "$@" >"$dir/plain" 2>&1
	status=$?
	LD_AUDIT=$audit SOPROF_CALLS=$file bash -c "ulimit $1; exec \"\${@:2}\"" - "$@" >"$out" 2>&1 || [ $? = $status ] || fail "exit code $status"
	diff "$dir/plain" "$out" || fail "the same output"
}
before=$(counter processes)
limited '-v 100000' "$dir/memory" 84
limited '-n 4' "$dir/memory" 1
limited '-n 4' ls -d /
if (ulimit -l 16384) 2>/dev/null; then
	is_root || limited '-l 16384' "$dir/memory" 1 lock
	! is_root || limited '-l 16384' setpriv --bounding-set=-ipc_lock "$dir/memory" 1 lock
fi
[ "$(counter processes)" -ge $((before + 6)) ] || fail "all of them counted"
[ "$("$calls_file" counters "$file" | grep -cE '^(lost|no_block) 0$')" = 2 ] || fail "no loss"

# By how much a program's address space grows: 8 MB, beside what ld.so takes for any auditor.
echo 'unsigned la_version(unsigned v) { return v; }' >"$dir/idle.c"
gcc -shared -fPIC -nostdlib -o "$dir/idle.so" "$dir/idle.c"
idle=$(LD_AUDIT=$dir/idle.so awk '/VmSize/ { print $2 }' /proc/self/status)
space() { # WHAT
	local now
	now=$(counted awk '/VmSize/ { print $2 }' /proc/self/status)
	[ $((now - idle)) -le 8192 ] || fail "8 MB more at most $1, not $((now - idle)) KB"
	say "address space $1: $((now - idle)) KB more"
}
for depth in site object site-process; do
	count_into "$dir/new.profile" $depth libc.so.6
	[ "$(nproc)" -gt 64 ] || space "with a new file, $depth"
	rm "$file"
done
# A file for 64 CPUs.
echo 0-63 >"$dir/possible"
if [ "$(nproc)" -le 64 ] && is_root && unshare -m sh -c "mount --bind $dir/possible /sys/devices/system/cpu/possible &&
	'$calls_file' prepare '$dir/cpus.profile' site libcounted.so" 2>"$err"; then
	file=$dir/cpus.profile
	space "with a file for 64 CPUs"
	counted "$dir/now" strict >"$out"
	[ "$(sums | paste -sd ' ')" = 'counted_one 20000 counted_two 1' ] || fail "all calls: $(sums | paste -sd ' ')"
	[ "$("$calls_file" rows "$file" | wc -l)" -gt 2000 ] || fail "a row for 2000 places"
	say "places without a row of 20001, 64 CPUs: $(counter folded)"
fi
finish
