#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Programs that cannot count, and files that cannot be counted into: all run as if there was no auditor. A library that is
# replaced between two runs.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"

silent() { # WHY COMMAND...: prints "here", and nothing else
	what=$1
	counted "${@:2}" >"$out" 2>"$err"
	status=$?
	[ "$status" = 0 ] && [ "$(cat "$out")" = here ] && [ ! -s "$err" ] || fail "a run as always"
}
uncounted() { # WHY
	[ "$(counter processes)" = "${1:-0}" ] || fail "$1 programs that count, not $(counter processes)"
}
say_here=(/bin/echo here)

count_into "$dir/libc.profile" site libc.so.6
silent "a good file" "${say_here[@]}"
uncounted 1
good=$file

file=$dir/nowhere.profile
silent "no file" "${say_here[@]}"
ln -s "$good" "$dir/link.profile"
file=$dir/link.profile
silent "a link" "${say_here[@]}"
file=/dev/null
silent "a device" "${say_here[@]}"
mkfifo "$dir/fifo.profile"
file=$dir/fifo.profile
silent "a pipe" "${say_here[@]}"
file=libc.profile
(cd "$dir" && silent "a name without a directory" "${say_here[@]}")
for change in 'truncate -s -1' 'truncate -s 4096' 'chmod 644' 'chmod 620' 'dd of=/dev/stdout conv=notrunc bs=1 seek=8 count=1 if=/dev/zero status=none'; do
	cp --sparse=always "$good" "$dir/bad.profile"
	chmod 600 "$dir/bad.profile"
	case $change in
	dd*) printf '\x63' | dd of="$dir/bad.profile" conv=notrunc bs=1 seek=8 status=none ;; # another version
	*) $change "$dir/bad.profile" ;;
	esac
	file=$dir/bad.profile
	silent "$change" "${say_here[@]}"
done
file=$good
uncounted 1

# Damaged where a program goes on writing: whatever happens to the counts, the program runs.
for at in 4096 4104 4120 4136 69640 70000 72000 102400 102408 102500 118800 118900 135200; do
	cp --sparse=always "$good" "$dir/bad.profile"
	head -c 64 /dev/urandom | dd of="$dir/bad.profile" conv=notrunc bs=1 seek=$at status=none
	file=$dir/bad.profile
	silent "damaged at $at" "${say_here[@]}"
done
file=$good

if [ "$(id -u)" = 0 ]; then
	chmod 711 "$dir"
	install -m 755 "$audit" "$dir/calls.so" # nobody may be kept from the tree
	audit=$dir/calls.so silent "somebody else's file" setpriv --reuid 65534 --regid 65534 --clear-groups "${say_here[@]}"
	uncounted 2 # setpriv itself
	install -m 4755 -o 65534 /bin/echo "$dir/setuid"
	silent "a set-user-id program" "$dir/setuid" here
	uncounted 2
fi
silent "a small address space" bash -c 'ulimit -v 20000; exec /bin/echo here'
silent "no descriptors" bash -c 'exec 0<&- 3<&-; ulimit -n 3; exec /bin/echo here'

# 32-bit programs get a library of their own, which does nothing.
cat >"$dir/a.c" <<'C'
#include <stdio.h>
int main(void) { puts("here"); return 0; }
C
if [ -e "$SOPROF_BUILD/src/audit/calls32.so" ] && gcc -m32 -o "$dir/a" "$dir/a.c" 2>/dev/null && "$dir/a" >/dev/null; then
	before=$(counter processes)
	audit="$SOPROF_BUILD/src/audit/\$LIB/calls.so" silent "a 32-bit program" "$dir/a"
	uncounted "$before"
	audit="$SOPROF_BUILD/src/audit/\$LIB/calls.so" silent "a 64-bit program by way of \$LIB" "${say_here[@]}"
	uncounted $((before + 1))
fi

# Those of musl know of no auditors.
if musl-gcc -o "$dir/a" "$dir/a.c" 2>/dev/null; then
	before=$(counter processes)
	silent "a program of musl" "$dir/a"
	uncounted "$before"
fi

# What a killed program has left half written is told, and does not count.
what="a record that was never finished"
"$SOPROF" report "$good" >"$out" 2>"$err" || fail "the whole file"
! grep -q unfinished "$err" || fail "nothing is unfinished before"
cp --sparse=always "$good" "$dir/torn.profile"
"$calls_file" tear "$dir/torn.profile" || fail "a row to tear"
"$SOPROF" report "$dir/torn.profile" >"$out" 2>"$err" || fail "a torn file"
grep -q '^soprof: at least [0-9]* calls by' "$err" || fail "a least number"
grep -q '^soprof: 1 record is unfinished: a program was killed while it wrote' "$err" || fail "what is left out"

# Two versions of one library: functions stand at other places, and have other callers.
what="a library that is replaced"
count_into "$dir/two.profile" site libv.so
for version in 1 2; do
	pad=$((version - 1))
	printf 'long pad[%d + 1];\nlong moved(long x) { return x + pad[0]; }\nlong same(long x) { %s return x; }\n' $pad \
		"$([ $version = 1 ] || echo 'x += moved(x);')" >"$dir/v.c"
	gcc -O1 -fno-inline -shared -fPIC -Wl,--build-id -Wl,-soname,libv.so -o "$dir/libv.so.new" "$dir/v.c"
	mv "$dir/libv.so.new" "$dir/libv.so"
	[ -x "$dir/v" ] || {
		echo 'long same(long); int main(void) { long s = 0; for (long i = 0; i < 10; i++) s += same(i); return s < 0; }' >"$dir/m.c"
		gcc -O1 -o "$dir/v" "$dir/m.c" "$dir/libv.so" -Wl,-rpath,"$dir"
	}
	counted "$dir/v" || fail "a run of version $version"
done
[ "$("$calls_file" rows "$file" | grep -c "	same	10	")" = 2 ] || fail "both versions, each with its calls"
[ "$("$calls_file" rows "$file" | awk -F '\t' '$2 == "moved" { print $3 }')" = 10 ] || fail "a function that only one has"
finish
