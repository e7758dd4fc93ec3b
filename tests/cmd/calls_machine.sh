#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 240
# beside others
# Calls counted by probes in all processes, of libraries of the test's own: as many as callgrind, the counter inside the
# program and the program itself say; in running and later processes, for each caller, user and cgroup; what is lost is told.
. "$(dirname "$0")/lib.bash"
[ "$(id -u)" = 0 ] || skip "needs root"
cc=$(command -v cc || command -v gcc) || skip "needs a C compiler"
export XDG_STATE_HOME=$dir/state
cat >"$dir/own.c" <<'C'
#include <setjmp.h>
int own_data[4] = {1};
int own_leaf(int x) { return x * 3 + 1; }
int own_other(int x) { return x ^ 5; }
__attribute__((noinline)) int own_down(int n) { return n ? own_down(n - 1) + 1 : 0; }
__attribute__((noinline)) int own_jump(jmp_buf to) { longjmp(to, 1); }
int own_over(jmp_buf to) { return own_jump(to) + 1; }
int own_tail(int x) { return own_leaf(x + 1); }
C
cat >"$dir/user.c" <<'C'
/* user N [DEPTH]: waits for a byte, calls own_leaf() N times and own_other() half as often, prints its number; with a depth
   below 0 it waits for another byte before it ends. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int own_leaf(int), own_other(int), own_down(int), own_over(jmp_buf), own_tail(int);
__attribute__((noinline)) static int first(int n) { int s = 0; for (int i = 0; i < n; i++) s += own_leaf(i); return s; }
__attribute__((noinline)) static int second(int n) { int s = 0; for (int i = 0; i < n / 2; i++) s += own_other(i); return s; }
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), depth = argc > 2 ? atoi(argv[2]) : 0, s = 0;
	jmp_buf to;
	char c;
	if (read(0, &c, 1) < 0) return 1;
	s = first(n) + second(n);
	for (int i = 0; i < 10 * (depth > 0); i++) s += own_down(depth);
	for (volatile int i = 0; i < 100 * (depth > 0); i++) if (!setjmp(to)) own_over(to);
	for (int i = 0; i < 100 * (depth > 0); i++) s += own_tail(i);
	printf("%d\n", getpid());
	if (depth < 0 && read(0, &c, 1) < 0) return 1;
	return s == 1234567;
}
C
$cc -O1 -fno-optimize-sibling-calls -shared -fPIC -Wl,-soname,libown.so.1 -Wl,--build-id -o "$dir/libown.so.1" "$dir/own.c" &&
	$cc -O1 -o "$dir/user" "$dir/user.c" "$dir/libown.so.1" "-Wl,-rpath,$dir" || fail "the compiler to work"
$cc -O2 -foptimize-sibling-calls -shared -fPIC -Wl,-soname,libown.so.1 -o "$dir/libtail.so.1" "$dir/own.c"
library=$dir/libown.so.1
chmod 755 "$dir/user"

# begin ARGUMENT...: counts in the background, from when this returns.
begin() {
	what="calls $*"
	: >"$err"
	"$SOPROF" calls --max-overhead "${most:-0}" "$@" >"$out" 2>"$err" </dev/null &
	counter=$!
	local tries=$((300 * slow))
	until grep -q 'counting calls' "$err"; do
		[ $((tries -= 1)) -gt 0 ] && kill -0 "$counter" 2>/dev/null || { fail "soprof to begin to count"; return 1; }
		sleep 0.1
	done
}
end() { # CODE
	kill -INT "$counter" 2>/dev/null
	wait "$counter"
	status=$?
	[ "$status" = "${1:-0}" ] || fail "exit code ${1:-0}"
}
use() { "$dir/user" "$@" <<<x; }
# Until soprof has taken in what was there when this was called: it sleeps after each turn, and one may be under way.
taken_in() {
	local from
	from=$(sleeps)
	until [ "$(sleeps)" -ge $((from + 2)) ]; do sleep 0.05; done
}
sleeps() { awk '/^voluntary/ { print $2 }' "/proc/$counter/status"; }
links() { find "/proc/$counter/fd" -lname '*bpf_link*' 2>/dev/null | grep -c .; }
have_links() { [ "$(links)" -ge "$1" ]; }
has_opened() { find "/proc/$counter/fd" -lname "$1" 2>/dev/null | grep -q .; }
# calls FUNCTION [PATTERN]: their sum, in the csv's rows that match.
calls() { awk -F, -v f="$1" -v p="${2:-.}" 'NR > 1 && $2 == f && $0 ~ p { n += $8 } END { print n + 0 }' "$out"; }
is() { # WANTED FUNCTION [PATTERN]
	local n
	n=$(calls "${@:2}")
	[ "$n" = "$1" ] || fail "$1 calls of ${*:2}, not $n: $(cat "$out")"
}

# a process that runs, one that comes later, one in a mount namespace of its own, one whose library was deleted
mkfifo "$dir/go"
"$dir/user" 4000 <"$dir/go" >"$dir/ran" &
exec 7>"$dir/go"
wait_mapped() { until grep -q libown "/proc/$1/maps" 2>/dev/null; do sleep 0.05; done; }
wait_mapped $!
running=$!
begin --csv "$library"
use 3000 >"$dir/later"
echo >&7
wait "$running"
end
is 4000 own_leaf ",$running,"
is 3000 own_leaf ",$(cat "$dir/later"),"
is 2000 own_other ",$running,"
is 0 own_down
has "$err" '10500 calls of 6 functions in 1 file'
has_not "$err" 'that came later'
# the same by the counter inside the program
expect 0 calls --no-times --csv -o "$dir/inside.csv" "$library" -- "$dir/user" 3000 </dev/null
[ "$(awk -F, '$1 == "own_leaf" { n += $7 } END { print n }' "$dir/inside.csv")" = 3000 ] || fail "the same inside: $(cat "$dir/inside.csv")"

# by whom
begin --csv --by caller "$library"
"$dir/user" 500 -1 <"$dir/go" >/dev/null &
running=$!
exec 7>"$dir/go"
printf x >&7
wait_until $((300 * slow)) has_opened "$dir/user" || fail "the calling program to be opened while it is there"
printf x >&7
wait "$running"
end
is 500 own_leaf ',first,user,'
is 250 own_other ',second,user,'
chmod 755 "$dir"
begin --csv --by user "$library:own_leaf"
use 20 >/dev/null
setpriv --reuid 65534 --clear-groups "$dir/user" 30 <<<x >/dev/null
end
is 20 own_leaf ',root,'
is 30 own_leaf ',nobody,'
begin --csv --by comm "$library:own_*"
use 20 >/dev/null
cp "$dir/user" "$dir/usurper" && "$dir/usurper" 40 <<<x >/dev/null
end
is 20 own_leaf ',user,'
is 40 own_leaf ',usurper,'
begin --csv --by function --comm usurper "$library"
use 20 >/dev/null
"$dir/usurper" 40 <<<x >/dev/null
end
is 40 own_leaf
begin -o "$dir/x.json" --by cgroup "$library" # by its suffix
use 20 >/dev/null
end
has "$dir/x.json" '"function":"own_leaf".*"cgroup":"[^"]+".*"calls":20'
group=$(awk -v name="soprof-test-$$" '$3 == "cgroup2" { print $2 "/" name; exit }' /proc/mounts)
if [ -n "$group" ] && mkdir "$group" 2>/dev/null; then
	begin --csv --by function --cgroup "$group" "$library:own_leaf"
	use 20 >/dev/null
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$1" 50' "$group" "$dir/user" </dev/null >/dev/null
	end
	rmdir "$group"
	is 50 own_leaf
fi

# what each interval has, and no more
begin --csv -I 1 --by function "$library:own_leaf"
use 1000 >/dev/null
wait_until $((50 * slow)) grep -q own_leaf "$out" || fail "a table each second"
use 500 >/dev/null
end
is 1500 own_leaf
[ "$(grep -c own_leaf "$out")" -ge 2 ] && [ "$(grep -c ^by, "$out")" = 1 ] || fail "two tables, with one head: $(cat "$out")"

# whole stacks, in the views of profile
what="calls --stacks $library:own_leaf"
"$SOPROF" calls --stacks --format folded "$library:own_leaf" >"$out" 2>"$err" </dev/null &
counter=$!
tries=$((300 * slow))
until grep -q '^Counting' "$err" || [ $((tries -= 1)) = 0 ]; do sleep 0.1; done
use 50 >/dev/null
end
has "$out" '^user;.*;main;first;own_leaf 50$'
has_not "$err" 'gone before'

# programs that have ended as soon as they have mapped a copy: told, by no bare error
"$dir/user" 0 <"$dir/go" >"$dir/ran" &
running=$!
exec 7>"$dir/go"
wait_mapped "$running"
begin --csv libown.so.1
mkdir "$dir/gone"
cp "$library" "$dir/gone"
for i in 1 2 3; do LD_LIBRARY_PATH=$dir/gone "$dir/user" 0 </dev/null >/dev/null; done
mkdir "$dir/gone/not"
cp "$library" "$dir/gone/not"
mkfifo "$dir/go2"
LD_LIBRARY_PATH=$dir/gone/not "$dir/user" 0 <"$dir/go2" >"$dir/ran2" & # soprof hears of it after those
other=$!
exec 6>"$dir/go2"
wait_until $((300 * slow)) have_links 2 || fail "a copy that is still there to be probed"
echo >&7
echo >&6
wait "$running" "$other"
end
has_not "$err" 'No such (file|process)'
has "$err" 'files? that came later'

# two names of one function count once, by the name that was asked for; an IFUNC's calls are those of what it has chosen
cat >"$dir/chosen.c" <<'C'
int one_work(int x) { return x * 3; }
int one_alias(int) __attribute__((alias("one_work")));
static int fast(int x) { return x + 7; }
static int slow(int x) { return x + 9; }
static int (*choose(void))(int) { __builtin_cpu_init(); return __builtin_cpu_supports("sse2") ? fast : slow; }
int chosen(int) __attribute__((ifunc("choose")));
C
cat >"$dir/choosy.c" <<'C'
int one_work(int), one_alias(int), chosen(int);
int main(void)
{
	int s = 0;
	for (int i = 0; i < 40; i++) s += one_work(i);
	for (int i = 0; i < 2; i++) s += one_alias(i);
	for (int i = 0; i < 300; i++) s += chosen(i);
	return s == 7;
}
C
$cc -O1 -shared -fPIC -o "$dir/libchosen.so" "$dir/chosen.c" && $cc -O1 -o "$dir/choosy" "$dir/choosy.c" "$dir/libchosen.so" "-Wl,-rpath,$dir" ||
	fail "the compiler to work"
begin --csv --by function "$dir/libchosen.so"
"$dir/choosy"
end
is 300 chosen
[ $(($(calls one_work) + $(calls one_alias))) = 42 ] && [ "$(grep -c ,one_ "$out")" = 1 ] || fail "42 calls of one function: $(cat "$out")"
begin --csv --by function "$dir/libchosen.so:one_alias"
"$dir/choosy"
end
is 42 one_alias

# a program that is linked statically, and its copy in a chroot, by their build id
if $cc -O1 -static -Wl,--build-id -o "$dir/still" "$dir/user.c" "$dir/own.c" 2>"$dir/why"; then
	mkdir "$dir/jail"
	cp "$dir/still" "$dir/jail"
	"$dir/still" 700 <"$dir/go" >"$dir/ran" &
	running=$!
	chroot "$dir/jail" /still 30 <"$dir/go" >"$dir/ran" &
	other=$!
	exec 7>"$dir/go"
	wait_until $((100 * slow)) has_mapped "$running" still && wait_until $((100 * slow)) has_mapped "$other" still || fail "both programs"
	id=$(readelf -n "$dir/still" | awk '/Build ID/ { print $3 }')
	begin --csv --by function "${id:0:12}:own_leaf"
	printf 'xx' >&7
	wait "$running" "$other"
	end
	is 730 own_leaf
	has "$err" 'in 2 files'
else
	say "nothing is linked statically here: $(tail -n 1 "$dir/why")"
fi

# by the package that has the library: the machine's own file, so in one process alone
bz2=$(ldconfig -p | awk '$1 == "libbz2.so.1.0" && /x86-64/ { print $NF; exit }')
if [ -n "$bz2" ] && [ "$(dpkg-query -W -f '${db:Status-Status}' libbz2-1.0 2>/dev/null)" = installed ]; then
	cat >"$dir/version.c" <<'C'
#include <unistd.h>
const char *BZ2_bzlibVersion(void);
int main(void) { char c; int s = 0; if (read(0, &c, 1) < 0) return 1; for (int i = 0; i < 70; i++) s += *BZ2_bzlibVersion(); return s == 7; }
C
	$cc -O1 -o "$dir/version" "$dir/version.c" "$bz2" || fail "the compiler to work"
	"$dir/version" <"$dir/go" >"$dir/ran" &
	running=$!
	exec 7>"$dir/go"
	wait_until $((100 * slow)) has_mapped "$running" libbz2 || fail "the library to be mapped"
	begin --csv -p "$running" libbz2-1.0:BZ2_bzlibVersion
	echo >&7
	wait "$running"
	wait "$counter" || fail "exit code 0"
	is 70 BZ2_bzlibVersion
fi

# only one process, whose end is the end; addresses in place of names
"$dir/user" 100 <"$dir/go" >"$dir/ran" &
running=$!
exec 7>"$dir/go"
wait_mapped "$running"
begin --csv -p "$running" "$library+0x$(nm -D "$library" | awk '$3 == "own_leaf" { print $1 }' | sed 's/^0*//')"
use 3000 >/dev/null
echo >&7
wait "$running"
wait "$counter" || fail "exit code 0"
is 100 own_leaf

# the same by PID:LIBRARY
"$dir/user" 100 <"$dir/go" >"$dir/ran" &
running=$!
exec 7>"$dir/go"
wait_mapped "$running"
begin --csv "$running:libown.so.1"
use 3000 >/dev/null
echo >&7
wait "$running"
end
is 100 own_leaf

# copies with one build id are one library; a deleted one is found by those who have it
mkdir "$dir/copy"
cp "$library" "$dir/copy"
"$dir/user" 700 <"$dir/go" >"$dir/ran" &
running=$!
LD_LIBRARY_PATH=$dir/copy unshare -m "$dir/usurper" 900 <"$dir/go" >"$dir/ran" 2>&1 &
other=$!
exec 7>"$dir/go"
wait_mapped "$running" && wait_mapped "$other"
rm "$dir/copy/libown.so.1"
begin --csv --by function libown.so.1
printf 'xx' >&7
wait "$running" "$other"
end
has "$err" 'in 2 files'

# a library that is replaced by rename while it is counted: the old one goes on to be counted, and so is the new one
cp "$library" "$dir/copy/libown.so.1"
export LD_LIBRARY_PATH=$dir/copy
"$dir/user" 600 <"$dir/go" >"$dir/ran" &
running=$!
exec 7>"$dir/go"
wait_mapped "$running"
begin --csv "$dir/copy/libown.so.1"
[ "$(links)" = 1 ] || fail "one link"
cp "$library" "$dir/copy/new" && mv "$dir/copy/new" "$dir/copy/libown.so.1"
"$dir/user" 800 <"$dir/go2" >"$dir/ran2" &
other=$!
exec 6>"$dir/go2"
wait_until $((300 * slow)) have_links 2 || fail "the new file to be probed"
echo >&7
echo >&6
wait "$running" "$other"
end
unset LD_LIBRARY_PATH
is 600 own_leaf ",$running,"
is 800 own_leaf ",$other,"
has "$err" '^soprof: 1 file that came later was probed'

# times: calls that return are timed, however deep, and all others told
begin --csv --by function --latency "$library"
use 1000 10 >/dev/null
end
is 1100 own_leaf
is 110 own_down
is 0 own_over
is 100 own_tail
has "$err" '^soprof: 200 calls are not timed, as no return was seen \(own_(over|jump): 100, own_(over|jump): 100\)'
awk -F, 'NR > 1 && ($10 <= 0 || $11 * $8 > $10 || $12 * $8 < $10 || $13 < $11 || $14 > $12)' "$out" | grep . && fail "min <= mean <= max, for each"
begin --latency "$library:own_leaf" # as people read it
process=$(use 700)
end
has "$out" "^own_leaf, user $process\$"
[ "$(awk -F'[:|]' '/ -> [0-9]+ +: / { n += $2 } END { print n + 0 }' "$out")" = 700 ] || fail "a histogram of 700 calls: $(cat "$out")"
begin --csv --by function --latency "$library:own_down"
use 0 100 >/dev/null # the kernel follows 64 at once
end
is 640 own_down
has "$err" '^soprof: 370 calls are not timed'
# eight threads at once, on all CPUs: no call is lost, and their stacks are known while others map memory (1 s)
cat >"$dir/eight.c" <<'C'
#include <pthread.h>
#include <sys/mman.h>
int own_leaf(int);
static void *work(void *n)
{
	for (long i = 0; i < (long)n; i++) {
		if (i < 20) munmap(mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 65536);
		own_leaf(i);
	}
	return 0;
}
int main(void)
{
	pthread_t t[8];
	for (int turn = 0; turn < 51; turn++) {
		for (int i = 0; i < 8; i++) if (pthread_create(&t[i], 0, work, (void *)(turn ? 20L : 20000L))) return 1;
		for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
	}
	return 0;
}
C
$cc -O1 -pthread -o "$dir/eight" "$dir/eight.c" "$dir/libown.so.1" "-Wl,-rpath,$dir" || fail "the compiler to work"
begin --csv --by function --latency "$library:own_leaf"
"$dir/eight" || fail "eight threads"
end
is 168000 own_leaf
has_not "$err" 'not timed'
cp "$dir/libtail.so.1" "$dir/copy/libown.so.1"
begin --csv --by function --latency "$dir/copy/libown.so.1"
LD_LIBRARY_PATH=$dir/copy use 0 1 >/dev/null
end
is 100 own_tail
is 100 own_leaf

# what has no room is counted
begin --csv --rows 1 "$library"
use 3000 >/dev/null
end
n=$(awk -F, 'NR > 1 { n += $8 } END { print n + 0 }' "$out")
lost=$(sed -n 's/^soprof: \([0-9]*\) calls were lost, since the table of rows was full.*/\1/p' "$err")
[ $((n + lost)) = 4500 ] && [ "$lost" -gt 0 ] || fail "$n calls and $lost lost to be 4500"

# what processes leave that have ended makes room for others: six times six rows (1 s)
begin --csv --rows 24 "$library"
for i in 1 2 3 4 5 6; do
	use 10 1 >/dev/null
	taken_in
done
end
is 660 own_leaf
is 120 own_down
[ "$(grep -c ',own_leaf,' "$out")" = 6 ] || fail "a row for each process"
has_not "$err" 'table of rows was full'

# timed rows have places of their own, too, which are the next process's when one has ended: 64 functions in four processes
for i in {0..63}; do
	echo "int f$i(int x) { return x * $i; }" >&3
	echo "int f$i(int);" >&4
done 3>"$dir/sixty.c" 4>"$dir/each.c"
printf 'int main(void) { int s = 0; for (int i = 0; i < 3; i++) s += %s; return s == 7; }\n' "$(printf 'f%d(i) + ' {0..63})0" >>"$dir/each.c"
$cc -O1 -shared -fPIC -o "$dir/libsixty.so" "$dir/sixty.c" && $cc -O1 -o "$dir/each" "$dir/each.c" "$dir/libsixty.so" "-Wl,-rpath,$dir" ||
	fail "the compiler to work"
begin --csv --latency --rows 256 "$dir/libsixty.so"
for i in 1 2 3 4; do
	"$dir/each"
	taken_in
done
end
[ "$(awk -F, 'NR > 1 && $8 == 3' "$out" | grep -c .)" = 256 ] && [ "$(grep -c . "$out")" = 257 ] || fail "256 rows of 3 calls: $(cat "$out")"
has_not "$err" 'lost|not timed'

# beyond the budget calls are estimated, by random windows, within an interval; below it all are counted
cat >"$dir/paced.c" <<'C'
/* paced SECONDS: 20,000 calls a second, by the clock */
#include <stdlib.h>
#include <time.h>
int own_leaf(int);
int main(int argc, char **argv)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (long left = atol(argv[1]) * 2000; left; left--) {
		for (int i = 0; i < 10; i++) own_leaf(i);
		if ((t.tv_nsec += 500000) >= 1000000000) { t.tv_nsec -= 1000000000; t.tv_sec++; }
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
	}
	return argc == 7;
}
C
$cc -O1 -o "$dir/paced" "$dir/paced.c" "$dir/libown.so.1" "-Wl,-rpath,$dir" || fail "the compiler to work"
"$dir/paced" 600 &
paced=$!
wait_mapped "$paced"
most=4
begin --csv --by function "$library:own_leaf"
wait_until $((300 * slow)) grep -q 'estimated from now on' "$err" || fail "calls to be estimated"
sleep 2 # some windows
end
has "$err" '^soprof: counting costs [0-9]+ % of a CPU, more than 4 % .*by random windows of 1/'
has "$err" '^soprof: calls of [0-9.]+ s are estimated \(~\).*by [0-9]+ random windows?,'
awk -F, 'NR == 2 && $15 != "" && $15 <= $8 && ($16 == "" || $16 >= $8) && $15 < $9 * 26000 && ($16 == "" || $16 > $9 * 14000) && $8 / $9 > 8000 && $8 / $9 < 32000 { ok = 1 } END { exit !ok }' "$out" ||
	fail "some 20000 calls a second, in their interval: $(cat "$out")"
begin --by function -I 1 "$library:own_leaf"
wait_until $((300 * slow)) grep -qE '^ *~[0-9]+ ' "$out" || fail "a table with what is estimated"
end
has "$out" '^ *calls +\(95 %\)'
has "$out" '^ *~[0-9]+ +[0-9]+-([0-9]+|\?) '
most=10000
begin --by function "$library:own_leaf"
sleep 1
end
has_not "$out" '~|95 %'
has_not "$err" 'estimated|windows'
unset most
kill "$paced"
wait "$paced" 2>/dev/null
expect 2 calls --max-overhead 5 "$library" -- true
one_line '--max-overhead is for counting in all processes'

# by callgrind, for every function of three libraries that is called
if command -v valgrind >/dev/null; then
	cat >"$dir/z.c" <<'C'
unsigned long crc32(unsigned long, const void *, unsigned), adler32(unsigned long, const void *, unsigned);
int compress(void *, unsigned long *, const void *, unsigned long), uncompress(void *, unsigned long *, const void *, unsigned long);
int BZ2_bzBuffToBuffCompress(void *, unsigned *, void *, unsigned, int, int, int), BZ2_bzBuffToBuffDecompress(void *, unsigned *, void *, unsigned, int, int);
int lzma_easy_buffer_encode(unsigned, int, void *, const void *, unsigned long, void *, unsigned long *, unsigned long);
int lzma_stream_buffer_decode(unsigned long *, unsigned, void *, const void *, unsigned long *, unsigned long, void *, unsigned long *, unsigned long);
int main(void)
{
	static char in[30000], out[40000];
	for (unsigned i = 0; i < sizeof(in); i++) in[i] = (char)(i * i >> 3);
	for (int i = 0; i < 20; i++) {
		unsigned long n = sizeof(out), m = sizeof(in);
		if (compress(out, &n, in, 1000 * (i + 1)) || uncompress(in, &m, out, n)) return 1;
		if (adler32(crc32(0, in, m), out, n) == 7) return 1;
	}
	for (int i = 1; i < 3; i++) {
		unsigned n = sizeof(out), m = sizeof(in);
		unsigned long at = 0, to = 0, from = 0, most = 1 << 26;
		if (BZ2_bzBuffToBuffCompress(out, &n, in, 4000 * i, 1, 0, 0) || BZ2_bzBuffToBuffDecompress(in, &m, out, n, 0, 0)) return 2;
		if (lzma_easy_buffer_encode(0, i == 1 ? 1 : 4, 0, in, 4000 * i, out, &at, sizeof(out))) return 3;
		if (lzma_stream_buffer_decode(&most, 0, 0, out, &from, at, in, &to, sizeof(in)) || to != 4000 * i) return 4;
	}
}
C
	real=()
	for name in libz.so.1 libbz2.so.1.0 liblzma.so.5; do
		cp -L "$(ldconfig -p | awk -v name="$name" '$1 == name && /x86-64/ { print $NF; exit }')" "$dir/$name" || fail "the library $name"
		real+=("$dir/$name")
	done
	$cc -O1 -w -o "$dir/z" "$dir/z.c" "${real[@]}" "-Wl,-rpath,$dir" || fail "the compiler to work"
	valgrind --tool=callgrind --callgrind-out-file="$dir/callgrind" "$dir/z" >/dev/null 2>&1 || fail "callgrind to work"
	begin --csv --by function "$(IFS=,; echo "${real[*]}")"
	"$dir/z" || fail "the program to work"
	end
	awk -F'[ =()]+' '/^c?fn=\(/ { if ($3 != "") name[$2] = $3 } /^cfn=/ { callee = $2 } /^calls=/ { n[callee] += $2 }
		END { for (f in n) print name[f], n[f] }' "$dir/callgrind" | sort >"$dir/truth"
	awk -F, 'NR > 1 { print $2, $8 }' "$out" | sort >"$dir/counted"
	[ "$(grep -c . "$dir/counted")" -ge 20 ] || fail "20 functions: $(cat "$dir/counted")"
	join "$dir/counted" "$dir/truth" | awk '$2 != $3' | grep . && fail "the counts of callgrind (ours, its)"
	[ "$(join "$dir/counted" "$dir/truth" | grep -c .)" = "$(grep -c . "$dir/counted")" ] || fail "callgrind to know them all: $(join -v 1 "$dir/counted" "$dir/truth")"
	[ "$(nm -D --defined-only "${real[@]}" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort -u | join - "$dir/truth" | grep -c .)" = \
		"$(grep -c . "$dir/counted")" ] || fail "no function left out"
fi

# nothing outlives a counter that is killed
begin "$library"
kill -KILL "$counter"
wait "$counter" 2>/dev/null
use 10 >/dev/null || fail "the program to work after it"

# bad input
expect 2 calls "$library:own_laef" 1
one_line "no function is called 'own_laef'.*own_leaf"
expect 2 calls "$library:own_d*a" 1
one_line "'own_d\*a' names data, and no function"
expect 2 calls "$library:own_leaf,$library:nothing*" 1
one_line "no function is called 'nothing\*'$"
expect 2 calls libnosuchlibrary.so.1 1
one_line libnosuchlibrary
expect 2 calls libzz.so.1 1
one_line 'did you mean libz.so.1'
expect 2 calls "$(seq -s, 65)" 1
one_line 'more than 64 libraries'
expect 2 calls '*' 1
one_line "'\*' is for counting inside a command"
expect 2 calls "$library+0xg" 1
one_line 'must be hexadecimal'
head -c 100 "$library" >"$dir/libcut.so.1"
echo text >"$dir/libtext.so.1"
for how in 1 '-- true'; do
	expect 1 calls "$dir/libcut.so.1" $how
	one_line 'libcut.so.1: its program headers are cut off$'
	expect 1 calls "$dir/libtext.so.1" $how
	one_line 'libtext.so.1: not an ELF file'
done
cp "$library" "$dir/libunused.so.1"
expect 0 calls "$dir/libunused.so.1" 1
has "$err" '^soprof: no process has the library yet'
# a later one that has more functions than there is room for is told, and costs the others nothing
cat >"$dir/many.s" <<'S'
	.macro many
	.globl many_\@
	.type many_\@, @function
many_\@: push %rbx
	pop %rbx
	ret
	.size many_\@, . - many_\@
	.endm
	.rept 3000
	many
	.endr
	.section .note.GNU-stack, "", @progbits
S
mkdir "$dir/many"
$cc -shared -Wl,-soname,libown.so.1 -o "$dir/many/libown.so.1" "$dir/many.s" || fail "the compiler to work"
LD_LIBRARY_PATH=$dir begin --csv --by function libown.so.1
LD_PRELOAD=$dir/many/libown.so.1 sleep 600 &
other=$!
wait_until $((50 * slow)) grep -q 'many/libown.so.1: more functions than' "$err" || fail "to be told that functions have no room"
kill "$other"
use 100 >/dev/null
end
is 100 own_leaf
has "$err" '^soprof: 1 file that came later could not be probed'
# more functions than can be numbered, in three files (4 s)
cat >"$dir/huge.c" <<'C'
/* huge FILE: a library of 350,000 functions with names, of three instructions each. */
#include <elf.h>
#include <stdio.h>
#include <string.h>
enum { N = 350000, CODE = 4096, SYMBOLS = CODE + 16 * N, NAMES = SYMBOLS + 24 * (N + 1), SECTIONS = NAMES + 8 * (N + 1) };
int main(int argc, char **argv)
{
	static const char sections[16] = "\0.text";
	FILE *f = fopen(argv[1], "w");
	Elf64_Ehdr head = {{0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, ET_DYN, EM_X86_64, EV_CURRENT, 0, sizeof(head),
			   SECTIONS + 16, 0, sizeof(head), sizeof(Elf64_Phdr), 1, sizeof(Elf64_Shdr), 5, 4};
	Elf64_Phdr code = {PT_LOAD, PF_R | PF_X, 0, 0, 0, SYMBOLS, SYMBOLS, 4096};
	Elf64_Shdr all[5] = {{0},
			     {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE, CODE, 16 * N, 0, 0, 16, 0},
			     {0, SHT_DYNSYM, 0, 0, SYMBOLS, 24 * (N + 1), 3, 1, 8, 24},
			     {0, SHT_STRTAB, 0, 0, NAMES, 8 * (N + 1), 0, 0, 1, 0},
			     {0, SHT_STRTAB, 0, 0, SECTIONS, 16, 0, 0, 1, 0}};
	Elf64_Sym none = {0};
	if (!f || argc != 2) return 1;
	fwrite(&head, sizeof(head), 1, f);
	fwrite(&code, sizeof(code), 1, f);
	fseek(f, CODE, SEEK_SET);
	for (int i = 0; i < N; i++) fwrite("\x53\x5b\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", 16, 1, f); /* push %rbx; pop %rbx; ret */
	fwrite(&none, sizeof(none), 1, f);
	for (int i = 0; i < N; i++) {
		Elf64_Sym s = {8 * (i + 1), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, CODE + 16 * i, 3};
		fwrite(&s, sizeof(s), 1, f);
	}
	for (int i = 0; i <= N; i++) fprintf(f, "%c%06d%c", i ? 'f' : 0, i, 0);
	fwrite(sections, sizeof(sections), 1, f);
	fwrite(all, sizeof(all), 1, f);
	return fclose(f) != 0;
}
C
$cc -O1 -o "$dir/huge" "$dir/huge.c" && "$dir/huge" "$dir/huge1.so" || fail "a library of many functions"
cp "$dir/huge1.so" "$dir/huge2.so" && cp "$dir/huge1.so" "$dir/huge3.so"
expect 2 calls "$dir/huge1.so,$dir/huge2.so,$dir/huge3.so" 1
one_line "^soprof: calls: .*huge3.so: more than 1048576 functions: name fewer, by a glob"
rm "$dir"/huge?.so
expect 2 calls -o "$dir/x.svg" "$library" 1
one_line "^soprof: calls: -o $dir/x.svg: counts are a table.*--stacks"
expect 2 calls --stacks -I 1 "$library" 1
one_line '^soprof: calls: -I is not for --stacks'
expect 2 calls --stacks "$library" -- true
one_line '^soprof: calls: --stacks is for counting in all processes'
expect 2 calls "$library:" 1
one_line 'no function after the colon'
expect 2 calls "$library,$dir/../${dir##*/}/libown.so.1" 1
one_line 'name it once'
expect 2 calls --arcs object "$library" 1
one_line '^soprof: calls: --arcs is for counting inside a command'
expect 2 calls -I 1 "$library" -- true
one_line '^soprof: calls: -I is for counting in all processes'
expect 2 calls "$library:own_leaf" -- true
expect 2 calls --by lock "$library" 1
expect 1 calls -p 4194000 "$library" 1
one_line 'there is no process 4194000'
cp "$SOPROF" "$dir/soprof" && chmod 755 "$dir/soprof"
setpriv --reuid 65534 --clear-groups "$dir/soprof" calls "$library" 1 2>"$err"
status=$?
[ "$status" = 3 ] || fail "exit code 3, not $status"
one_line 'CAP_BPF and CAP_PERFMON.*soprof calls LIB -- COMMAND'
finish
