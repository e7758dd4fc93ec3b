#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 3600
# More than 100 programs (tests/cmd/calls_programs.bash, calls_packages.bash), twice plainly and seven times counted: output,
# errors, exit codes and all that they write are the same. Servers, interpreters, compilers, plugins, allocators, sanitizers.
. "$(dirname "$0")/../cmd/lib.bash"
need_root
if [ -z "${SOPROF_OVERLAYS:-}" ]; then
	rm -rf "$dir"
	trap - EXIT
	SOPROF_OVERLAYS=1 exec unshare --mount bash "$0" "$@"
fi
. "$(dirname "$0")/../cmd/calls.bash"
. "$(dirname "$0")/../cmd/calls_programs.bash"
. "$(dirname "$0")/../unpack.bash"
. "$(dirname "$0")/calls_packages.bash"
[ -n "${alone[*]}" ] || skip "namespaces cannot be made here"
unpack_packages || fail "packages that can be unpacked"
n_plain=2 n_programs=0 uncounted=()
for depth in site object; do
	count_into "$dir/libc-$depth.profile" $depth libc.so.6
	count_into "$dir/six-$depth.profile" $depth "${six[@]}"
done
count_into "$dir/libc-timed.profile" site libc.so.6
"$calls_file" time "$file" || say "calls cannot be timed here"

runs() { # NAME COMMAND
	local before
	reference "$1" "$2"
	! grep -s -e 'nobody at ' "$dir/plain.out" || fail "a server"
	! grep -s -e 'command not found' "$dir/plain.err" || fail "all that its command needs"
	n_programs=$((n_programs + 1))
	file=$dir/libc-site.profile
	before=$(counter processes)
	compare "by site"
	[ "$(counter processes)" -gt "$before" ] || uncounted+=("$1")
	file=$dir/libc-object.profile
	compare "by object"
	file=$dir/six-object.profile
	compare "six libraries"
	file=$dir/libc-timed.profile
	compare "timed"
	file=$dir/libc-site.profile
	compare "a file that knows them"
	file=$dir/six-site.profile
	compare_at_once "two at once"
}
all() { # PATTERN LIST: all of that list whose NAME matches; those of programs need a command
	local one needs line
	while IFS='|' read -r -u 9 one needs line; do
		[[ $one =~ ^($1)$ ]] || continue
		[ "$2" = packages ] || command -v "$needs" >/dev/null || { left_out+=("$one"); continue; }
		runs "$one" "$line"
	done 9< <("$2")
}
all "${1:-.*}" programs
all "${1:-.*}" packages

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
	[[ sanitizers =~ ^(${1:-.*})$ ]] || continue
	gcc -O1 -g -fsanitize=$sanitizer -o "$dir/$sanitizer" "$dir/threads.c" -pthread 2>"$dir/log" || { left_out+=("$sanitizer"); continue; }
	runs "-fsanitize=$sanitizer" "'$dir/$sanitizer' 2>&1 | grep -v -e '^==' -e '^    #' -e '^SUMMARY'; '$dir/$sanitizer' x >/dev/null 2>&1; echo \$?"
done

for file in "$dir"/*.profile; do
	say "$(basename "$file"): $("$calls_file" counters "$file" | paste -sd ' ')"
	[ "$(counter uncounted)" = 0 ] || fail "all counted"
done
[ $# -gt 0 ] || [ "$n_programs" -ge 100 ] || fail "100 programs, not $n_programs"
[ "${#uncounted[@]}" = 0 ] || fail "that programs count: ${uncounted[*]}"
say "$n_programs programs, $n_run counted runs; left out: ${left_out[*]:-nothing}"
say "what varies without counting, too: ${varying[*]:-nothing}"
finish
