#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Who calls is named after the file that calls, absolute, however it was started: by a relative path, a link, a "#!" line; and
# by one name, however many the file has. ld.so's own calls are nobody's.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
command -v gcc >/dev/null || skip "needs gcc"
cd "$dir" || exit 1
cat >program.c <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
void *(*volatile address)(size_t, size_t); /* then calloc's address is in the program: ld.so calls by it, too */
__thread char large[100000];
static void *run(void *arg) { large[5] = 1; return arg; }
int main(void)
{
	pthread_t t;
	address = calloc;
	for (int i = 0; i < 3; i++)
		if (calloc(i + 1, 8) == NULL) return 1;
	if (dlopen("libm.so.6", RTLD_NOW) == NULL || pthread_create(&t, NULL, run, NULL)) return 2;
	pthread_join(t, NULL);
	return puts("3") < 0;
}
C
gcc -O1 -fno-pie -no-pie -s -o program program.c -pthread -ldl
printf '#!%s\n' "$dir/program" >script
chmod 755 script
ln -s program link
ln program other

callers() { "$calls_file" rows "$1" | cut -f 4 | sort -u | grep -v '\.so' | paste -sd ' '; }
named() { # NAME COMMAND...
	what=${*:2}
	count_into "$dir/named.profile" site libc.so.6
	counted "${@:2}" >"$out" 2>"$err" || fail "a run as always"
	[ "$(callers "$file")" = "$dir/$1" ] || fail "the caller $dir/$1, not $(callers "$file")"
	[ "$(sums | sed -n 's/^calloc //p')" = 3 ] || fail "3 calls of calloc, not $(sums | grep calloc)"
	rm -f "$file"
}
named program "$dir/program"
named program ./program
named program ./link
named other ../"$(basename "$dir")"/other
named program ./script

# One file by two names: in one file of counts, in two, and beside samples.
what="two names"
for name in program other; do
	count_into "$dir/$name.profile" site libc.so.6
	counted ./$name >"$out"
done
for format in gprof callgrind counts folded; do
	expect 0 report --format $format program.profile other.profile
	has "$out" 'program\+0x'
	has_not "$out" 'other\+0x'
done
for name in program other; do
	count_into "$dir/$name.objects.profile" object libc.so.6
	counted ./$name >"$out"
done
expect 0 report --format counts program.objects.profile other.objects.profile
has "$out" '^ +2 +\[program\]$'
has_not "$out" '\[other\]'

finish
