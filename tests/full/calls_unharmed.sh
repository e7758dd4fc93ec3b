#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1800
# All programs of tests/cmd/calls_programs.bash, at least 30: with calls of libc counted by site and by object, and of six
# libraries at once; and once more into files that know the programs already.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/../cmd/calls.bash"
. "$(dirname "$0")/../cmd/calls_programs.bash"
. "$(dirname "$0")/../unpack.bash"
for depth in site object; do
	count_into "$dir/libc-$depth.profile" $depth libc.so.6
	compare_all '.*'
	[ "$n_run" -ge 30 ] || fail "30 programs, not $n_run"
	count_into "$dir/six-$depth.profile" $depth "${six[@]}"
	compare_all '.*'
done
for name in libc-site six-site; do
	file=$dir/$name.profile
	compare_all '.*'
	"$calls_file" counters "$file" | paste -sd ' '
done
# What wants more static TLS than ld.so has beside an auditor: jemalloc, sanitizers.
file=$dir/libc-site.profile
cat >"$dir/threads.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *add(void *n)
{
	pthread_mutex_lock(&lock);
	sum += (long)n;
	pthread_mutex_unlock(&lock);
	return malloc(10) != NULL ? NULL : n;
}
int main(int argc, char **argv)
{
	pthread_t all[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, add, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	printf("%ld\n", sum);
	return argc > 1;
}
C
for sanitizer in thread leak address undefined; do
	gcc -O1 -g -fsanitize=$sanitizer -o "$dir/$sanitizer" "$dir/threads.c" -pthread 2>"$dir/log" || { left_out+=("$sanitizer"); continue; }
	compare "-fsanitize=$sanitizer" "'$dir/$sanitizer' 2>&1 | grep -v -e '^==' -e '^    #' -e '^SUMMARY'; '$dir/$sanitizer' x >/dev/null 2>&1; echo \$?"
done
unpack libjemalloc2 && unpack redis-server && unpack redis-tools && unpack liblzf1 && unpack liblua5.1-0 || fail "packages of redis"
libraries=$unpacked/libjemalloc2/usr/lib/x86_64-linux-gnu:$unpacked/liblzf1/usr/lib/x86_64-linux-gnu:$unpacked/liblua5.1-0/usr/lib/x86_64-linux-gnu
jemalloc=$unpacked/libjemalloc2/usr/lib/x86_64-linux-gnu/libjemalloc.so.2
compare jemalloc "LD_PRELOAD=$jemalloc ls -ld /etc; LD_PRELOAD=$jemalloc sh -c 'echo \$LD_PRELOAD | wc -c; seq 1000 | sort -n | tail -n 1'; LD_PRELOAD=$jemalloc python3 -c 'print(sum(range(100000)))'"
compare redis "export LD_LIBRARY_PATH=$libraries PATH=$unpacked/redis-server/usr/bin:$unpacked/redis-tools/usr/bin:\$PATH
	redis-server --version | cut -d ' ' -f 1-3; redis-server --port 0 --unixsocket \$PWD/s --save '' --appendonly no >log 2>&1 & server=\$!
	for try in \$(seq 200); do [ -S s ] && break; sleep 0.05; done
	redis-cli -s s set a 1; redis-cli -s s incr a; redis-cli -s s eval 'return redis.call(\"get\", \"a\")' 0; redis-cli -s s shutdown nosave; wait \$server; echo \$?"
[ "$(counter uncounted)" = 0 ] || fail "all counted"
say "$n_run runs; left out: ${left_out[*]:-nothing}"
finish
