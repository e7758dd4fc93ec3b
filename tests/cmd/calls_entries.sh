#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Calls as counted and as uprobes at all functions of the library see them, in the same run: zlib in Python, and a program
# that calls in every way there is, without a PLT. tests/full/calls_entries.sh has more.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
. "$(dirname "$0")/entries.bash"
need_root
command -v objdump >/dev/null && [ -x /usr/bin/python3 ] || skip "needs objdump and python3"
mkdir "$dir/lib"
cp -L "$(ldconfig -p | awk '$1 == "libz.so.1" && /x86-64/ { print $NF; exit }')" "$dir/lib/libz.so.1"
probed_equal zlib "$dir/lib/libz.so.1" /usr/bin/python3 -S -c 'import zlib; d = bytes(range(256)) * 500; c = zlib.compressobj(); x = b"".join(c.compress(d[i:i+64]) for i in range(0, len(d), 64)) + c.flush(); print(zlib.decompress(x) == d, zlib.crc32(d))'
cp -r "$victims/calls/noplt" "$dir/v"
cat >"$dir/m.c" <<'C'
#include "counted.h"
static long x;
__attribute__((constructor)) static void before(void)
{
	for (int i = 0; i < 1000; i++)
		x = counted_one(x);
}
int main(void)
{
	for (int i = 0; i < 1000; i++)
		x = counted_tail(counted_outer(counted_ifunc(x)));
	return x == 5000 ? 0 : 1;
}
C
gcc -O2 -w -fno-plt -I "$SOPROF_SOURCE/tests/victim/calls" -o "$dir/m" "$dir/m.c" "$dir/v/libcounted.so" &&
	probed_equal constructor "$dir/v/libcounted.so" "$dir/m"
[ "$n_programs" = 2 ] && [ "$n_calls" -ge 6000 ] || fail "2 programs and 6000 calls, not $n_programs and $n_calls"
finish
