#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# All libraries at once: programs with very many references run as they do without us; every library is counted and the
# program is not; what is counted of one library is what is counted where it is the only one.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
. "$(dirname "$0")/calls_programs.bash"
rows() { "$calls_file" rows "$1"; }
total() { rows "$1" | awk -F '\t' -v library="$2" '$1 ~ library && $2 != "_dl_find_object" { n += $3 } END { print n + 0 }'; }

count_into "$dir/all.profile" site '*'
compare_all 'bash|python|perl|git|sqlite|openssl|clang|java|limits|seccomp'
[ "$n_run" -ge 6 ] || fail "6 runs, not $n_run; left out: ${left_out[*]}"
rows "$file" | cut -f 1 | sort | uniq -c | sort -n | tail -n 5
for library in libc.so.6 libm.so.6 ld-linux-x86-64.so.2; do
	rows "$file" | cut -f 1 | grep -q "/$library\$" || fail "calls of $library"
done
[ "$(rows "$file" | cut -f 1 | grep -cvE '\.so')" = 0 ] || fail "no calls of programs"

# Beside a count of one library alone.
what="one of all"
script='import zlib
for i in range(2000): zlib.crc32(zlib.compress(b"x" * i))'
count_into "$dir/one.profile" site libz.so.1
counted python3 -c "$script"
count_into "$dir/again.profile" site '*'
counted python3 -c "$script"
[ "$(total "$dir/one.profile" libz)" -gt 10000 ] && [ "$(total "$dir/one.profile" libz)" = "$(total "$dir/again.profile" libz)" ] ||
	fail "as many calls of libz: $(total "$dir/one.profile" libz), $(total "$dir/again.profile" libz)"

# By the command, whose file has a plain name. What finds no room in a small file is told.
what="the command"
expect 0 calls --no-times --keep "$dir/counts" '*' -- bash -c 'printf x; /bin/true'
[ -f "$dir/counts/all.profile" ] || fail "a file all.profile"
says 'calls by 2 programs'
expect 2 calls '*,libz.so.1' -- true
one_line 'is all libraries: no other beside it'

# many NAME N LINKER-FLAG: a program that calls N functions of libmany.so, once each, and prints a sum
many() {
	seq "$2" | awk '{ print ".globl many_" $1 "\n.type many_" $1 ", @function\nmany_" $1 ": lea " $1 "(%rdi), %rax\nret" }
		END { print ".section .note.GNU-stack, \"\", @progbits" }' >"$dir/lib.s"
	{
		printf '.globl sum\nsum: sub $8, %%rsp\nxor %%eax, %%eax\n'
		seq "$2" | awk '{ print "mov %rax, %rdi\ncall many_" $1 "@PLT" }'
		printf 'add $8, %%rsp\nret\n.section .note.GNU-stack, "", @progbits\n'
	} >"$dir/sum.s"
	mkdir "$dir/$1.d"
	gcc -shared -Wl,-soname,libmany.so -o "$dir/$1.d/libmany.so" "$dir/lib.s"
	gcc "$3" -o "$dir/$1" "$dir/many.c" "$dir/sum.s" "$dir/$1.d/libmany.so" -Wl,-rpath,"$dir/$1.d"
}
printf '#include <stdio.h>\nlong sum(void);\nint main(void) { printf("%%ld\\n", sum()); return 0; }\n' >"$dir/many.c"
what="more references than there is room for"
many now 30000 -Wl,-z,now
expect 0 calls --no-times --keep "$dir/now.counts" '*' -- "$dir/now"
[ "$(head -n 1 "$out")" = 450015000 ] || fail "the sum of 1 to 30000"
has "$err" '^soprof: [0-9]+ references? w[a-z]+ left alone, since a table in the program was full'
has "$err" '^soprof: at least 2[0-9]+ calls'
has_not "$err" 'lost'
what="thousands of functions of one library, bound at the first call"
many lazy 6000 -Wl,-z,lazy
count_into "$dir/lazy.profile" object libmany.so
counted "$dir/lazy" >"$out"
[ "$(cat "$out")" = 18003000 ] && [ "$(sums | awk '$2 == 1' | wc -l)" = 6000 ] && [ "$(counter lost)" = 0 ] ||
	fail "6000 functions, each called once: $("$calls_file" counters "$file" | paste -sd ' ')"
finish
