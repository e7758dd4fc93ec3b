#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Calls by process: exactly those that each process says it has made (tests/victim/calls/processes.c), over fork, by a thread
# and beside threads that call, vfork, exec and clone, with a sandbox in which all else kills; by site and by object, with
# and without restartable sequences, bound when loaded and at the first call. Then what the command shows.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
command -v gcc >/dev/null || skip "needs gcc"
from=$SOPROF_SOURCE/tests/victim/calls
flags=(-O1 -w -D_GNU_SOURCE)
gcc "${flags[@]}" -shared -fPIC -Wl,-soname,libcounted.so -o "$dir/libcounted.so" "$from/libcounted.c"
for variant in lazy now; do
	gcc "${flags[@]}" -Wl,-z,$variant -o "$dir/$variant" "$from/processes.c" "$dir/libcounted.so" -Wl,-rpath,"$dir" -pthread
done

exact() { # VARIANT DEPTH [VARIABLE=VALUE]
	what=$*
	rm -f "$dir/a.profile"
	count_into "$dir/a.profile" "$2-process" libcounted.so
	counted env "${@:3}" "$dir/$1" >"$out" 2>"$err"
	status=$?
	[ "$status" = 0 ] && [ ! -s "$err" ] || fail "a run as always: $(cat "$err")"
	awk -v name="$1" '{ print $1, name, $3 }' "$out" | sort >"$dir/truth"
	"$calls_file" processes "$file" | awk '{ print $1, $2, $4 }' | sort >"$dir/seen"
	[ "$(wc -l <"$dir/truth")" = 13 ] || fail "13 processes, not $(wc -l <"$dir/truth")"
	diff "$dir/truth" "$dir/seen" || fail "what each process has called"
	[ "$("$calls_file" counters "$file" | grep -cE '^(folded|no_room|no_block|lost|torn) 0$')" = 5 ] || fail "no loss"
}
for variant in now lazy; do
	exact $variant site
	exact $variant object
	exact $variant site GLIBC_TUNABLES=glibc.pthread.rseq=0
done
exact now object GLIBC_TUNABLES=glibc.pthread.rseq=0

# Children that come out of signal handlers, where their parents were in the midst of calls.
for depth in site object; do
	what="interrupted, $depth"
	count_into "$dir/interrupted.profile" $depth-process libcounted.so
	counted "$dir/now" interrupted >"$out" 2>"$err"
	status=$?
	[ "$status" = 0 ] && [ ! -s "$err" ] || fail "that all children end well: $(cat "$err")"
	[ "$("$calls_file" processes "$file" | wc -l)" -gt 100 ] || fail "more than 100 processes"
	rm "$file"
done

# Threads: 50 beside each other, one after the other and more than there are places for in a table, in a child of fork, too.
cat >"$dir/threads.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
long counted_one(long x), counted_two(long x);
static void *call(void *n)
{
	long sum = 0;
	for (long i = 0; i < (long)n; i++)
		sum += counted_one(i) + counted_two(i);
	printf("%d %d %ld\n", getpid(), gettid(), 2 * (long)n);
	return (void *)sum;
}
static void all(void)
{
	pthread_t t[50];
	for (long i = 0; i < 50; i++)
		pthread_create(&t[i], NULL, call, (void *)(1000 + i));
	for (int i = 0; i < 50; i++)
		pthread_join(t[i], NULL);
	for (long i = 0; i < 1200; i++) {
		pthread_create(t, NULL, call, (void *)(1 + i % 3));
		pthread_join(*t, NULL);
	}
}
int main(void)
{
	call((void *)7);
	fflush(stdout);
	if (fork() == 0) {
		call((void *)11);
		all();
		return 0;
	}
	wait(NULL);
	all();
	return 0;
}
C
gcc "${flags[@]}" -o "$dir/threads" "$dir/threads.c" "$dir/libcounted.so" -Wl,-rpath,"$dir" -pthread
for how in 'site' 'object' 'site GLIBC_TUNABLES=glibc.pthread.rseq=0'; do
	what="threads, $how"
	count_into "$dir/threads.profile" "${how%% *}-thread" libcounted.so
	counted env ${how#"${how%% *}"} "$dir/threads" >"$out" 2>"$err"
	sort "$out" >"$dir/truth"
	"$calls_file" processes "$file" | awk '$2 == "threads" { n[$1 " " $5] += $4 } END { for (t in n) print t, n[t] }' | sort >"$dir/seen"
	[ "$(wc -l <"$dir/truth")" = 2502 ] || fail "2502 threads"
	diff "$dir/truth" "$dir/seen" >"$dir/difference" || { head -n 5 "$dir/difference"; fail "what each thread has called"; }
	[ "$("$calls_file" counters "$file" | grep -cE '^(no_block|lost) 0$')" = 2 ] || fail "no loss"
	rm "$file"
done
expect 0 calls --no-times --by thread -n 0 --csv -o "$dir/threads.csv" libcounted.so -- "$dir/threads"
awk '{ print "threads/" $2, $3 }' "$out" | sort >"$dir/truth"
awk -F, 'NR > 1 { print $2, $8 }' "$dir/threads.csv" | sort >"$dir/seen"
diff "$dir/truth" "$dir/seen" >"$dir/difference" || { head -n 5 "$dir/difference" "$dir/threads.csv"; fail "the threads' calls in the table"; }

# Together in a file that goes on: only the sum is told apart.
what="together"
count_into "$dir/a.profile" site libcounted.so
counted "$dir/now" >"$out"
[ "$("$calls_file" processes "$file" | sed -n 's/^none //p')" = "$(awk '{ n += $3 } END { print n }' "$out")" ] || fail "a sum"

# The command and what it keeps, in every view.
expect 0 calls --no-times --by process --csv -o "$dir/by.csv" --keep "$dir/counts" libcounted.so -- "$dir/now"
awk '{ print $1, $3 }' "$out" | sort >"$dir/truth"

awk -F, 'NR > 1 { print $7, $8 }' "$dir/by.csv" | sort >"$dir/seen"
diff "$dir/truth" "$dir/seen" || { cat "$dir/by.csv"; fail "the processes' calls"; }
expect 0 report --by process "$dir/counts/libcounted.so.profile"
[ "$(grep -c ' now$' "$out")" = 13 ] || fail "13 processes in the table"
has_not "$out" 'no process'
expect 0 report --by process --json "$dir/counts/libcounted.so.profile"
[ "$(grep -o '"pid": *[0-9]*' "$out" | sort -u | wc -l)" = 13 ] || fail "13 processes in JSON"
expect 0 report --format folded "$dir/counts/libcounted.so.profile"
has "$out" '^now;.*counted_one [0-9]+$'
expect 0 report -o "$dir/calls.svg" "$dir/counts/libcounted.so.profile"
has "$dir/calls.svg" '>now<|now \('
expect 0 report --process now --by function --csv "$dir/counts/libcounted.so.profile"
has "$out" '^counted_two,'
finish
