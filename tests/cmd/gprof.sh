#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Counted calls through the real program: what glibc's LD_PROFILE and gcc's -pg have written is read, with names, and
# shown as GNU gprof shows it; gprof, callgrind_annotate and readelf agree.
. "$(dirname "$0")/lib.bash"
for tool in gcc gprof strip readelf; do
	command -v $tool >/dev/null || skip "no $tool"
done
cd "$dir" || exit 1

# --- a library and a program that call each other so often, stripped: `quiet` has no name in it. Of two functions in 32
# bytes glibc counts calls from outside as those of one, so they are kept apart.
options=(-O1 -falign-functions=64 -fno-optimize-sibling-calls -fno-inline)
cat >libpair.c <<'X1'
volatile int sum;
__attribute__((noinline, noclone)) static void quiet(int n) { for (int i = 0; i < n; i++) sum += i; }
__attribute__((visibility("default"))) void pair_leaf(int n) { quiet(n); }
__attribute__((visibility("default"))) void pair_walk(int n) { if (n > 0) pair_walk(n - 1); pair_leaf(n * 40); }
X1
cat >run.c <<'X2'
void pair_leaf(int), pair_walk(int);
int main(void) { for (int i = 0; i < 3000; i++) { pair_leaf(1000); pair_walk(4); } return 0; }
X2
gcc "${options[@]}" -fPIC -shared -fvisibility=hidden -Wl,-soname,libpair.so.2 -o libpair.so.2 libpair.c &&
	strip libpair.so.2 && gcc -O1 -o run run.c ./libpair.so.2 -Wl,-rpath,"$dir" || exit 1
LD_PROFILE=libpair.so.2 LD_PROFILE_OUTPUT=$dir ./run
[ -s libpair.so.2.profile ] || skip "this glibc writes no LD_PROFILE file"

# --- what LD_PROFILE wrote, with the library found by its directory, given, or not at all
export LD_LIBRARY_PATH=$dir
expect 0 report --format pairs libpair.so.2.profile
has "$out" '^<external> +pair_leaf +3000$'
has "$out" '^<external> +pair_walk +3000$'
has "$out" '^pair_walk +pair_leaf +15000$'
unset LD_LIBRARY_PATH
cp "$out" found
expect 0 report --format pairs --object libpair.so.2 libpair.so.2.profile
cmp -s "$out" found || fail "the same with --object"
expect 0 report --format pairs libpair.so.2.profile
has "$out" '^libpair\.so\.2\+0x[0-9a-f]+ +libpair\.so\.2\+0x[0-9a-f]+ +15000$'
has "$err" '^no names for libpair.so.2.profile: give .* by --object'
expect 2 report --object /bin/sh libpair.so.2.profile
one_line 'is not the libpair.so.2 that was profiled'
expect 1 report --object /nowhere libpair.so.2.profile
one_line 'open /nowhere: No such file'
head -c 2130 libpair.so.2.profile >cut.profile
expect 1 report cut.profile
one_line 'cut.profile: byte [0-9]+: ends'
expect 0 report --keep-going cut.profile

# --- gprof's own files say the same to gprof, also of time, of names that the stripped library does not have
own=(--object libpair.so.2 libpair.so.2.profile)
expect 0 report --format counts "${own[@]}" # who is outside of the library it does not know
has "$out" '^ +[0-9]+ +\[external\]$'
expect 0 report --format gprof "${own[@]}"
cp "$out" ours
grep -qE '^\[[0-9]+\] .* pair_walk \[[0-9]+\]$' ours || fail "an entry for pair_walk"
expect 0 report --format gmon -o gmon.out "${own[@]}"
has "$err" '^read it with: gprof -b gmon.out.stub gmon.out$'
gprof -b gmon.out.stub gmon.out >gnu 2>&1 || fail "gprof to read gmon.out"
flat() { awk '/\f/ { exit } 1' "$1"; }
cmp -s <(flat ours) <(flat gnu) || fail "gprof's flat profile as ours: $(diff <(flat ours) <(flat gnu) | head -n 4)"
gprof -bz gmon.out.stub gmon.out 2>&1 | awk '/\f/ { on = 1 } on' >gnu
cmp -s <(awk '/\f/ { on = 1 } on' ours) gnu || fail "gprof's graph as ours"
readelf -hS gmon.out.stub 2>&1 | grep -qE 'Warning|Error' && fail "a stub that readelf likes"
readelf -hS gmon.out.stub | grep -q '\.text *NOBITS' || fail "a stub without code"

# --- soprof's own count of the same: equal, and who called from outside has a name
mkdir state
expect 0 calls --no-times --keep "$dir/state" libpair.so.2 -- "$dir/run"
expect 0 report --format pairs state/libpair.so.2.profile
has "$out" '^run:main +pair_leaf +3000$'
has "$out" '^run:main +pair_walk +3000$'
has "$out" '^pair_walk +pair_leaf +15000$'
[ "$(wc -l <"$out")" = 3 ] || fail "three pairs"
expect 0 report --external --format pairs state/libpair.so.2.profile
cmp -s <(sort "$out") <(sort found) || fail "with --external what LD_PROFILE has counted"
expect 0 report --format gmon -o own.out state/libpair.so.2.profile
gprof -b own.out.stub own.out >gnu 2>&1 || fail "gprof to read own.out"
grep -qE ' 3000/18000 +run:main \[' gnu || fail "gprof to tell of run:main"

# --- a program that gcc counted: what gprof makes of its gmon.out, we do
mkdir pg && cd pg || exit 1
gcc "${options[@]}" -pg -o both ../run.c ../libpair.c && ./both || exit 1
expect 0 report --format gprof --object both gmon.out
cp "$out" ours
gprof -b both gmon.out >gnu 2>&1 || fail "gprof to read gcc's gmon.out"
calls() { awk '/\f/ { exit } $NF ~ /^(pair_|quiet)/ && NF > 4 { print $NF, $4 }' "$1" | sort; }
[ "$(calls gnu | wc -l)" = 3 ] || fail "three functions that gprof tells of"
[ "$(calls ours)" = "$(calls gnu)" ] || fail "gprof's counts: $(calls gnu), not $(calls ours)"
cd .. || exit 1

# --- the other views
expect 0 report --format callgrind "${own[@]}"
if command -v callgrind_annotate >/dev/null; then
	cp "$out" out.callgrind
	callgrind_annotate --tree=caller --threshold=100 --show-percs=no out.callgrind >annotated 2>&1
	grep -qE '15,000 .*< .*pair_walk \(15,000x\)' annotated || fail "callgrind_annotate to tell who called pair_leaf"
fi
expect 0 report --by function --csv "${own[@]}"
has "$out" '^pair_leaf,libpair\.so\.2,[0-9a-f]+,pair_walk,libpair\.so\.2,[0-9a-f]+,15000,'
for view in gprof pairs; do
	expect 0 report --external --format $view pg/gmon.out
done
expect 0 report libpair.so.2.profile pg/gmon.out # two of them

# --- what has no calls, or no place for two files
echo 'a;b 3' >in.folded
for view in gprof pairs; do
	expect 1 report --format $view in.folded
	one_line 'no calls were counted in this profile'
done
expect 1 report --format gmon -o x.gmon in.folded
[ ! -e x.gmon ] && [ ! -e x.gmon.stub ] || fail "no files of nothing"
expect 2 report --format gmon libpair.so.2.profile
one_line 'two files'
expect 2 report --format gmon -o /dev/null libpair.so.2.profile
one_line 'two files'
expect 2 profile --format gprof 1
one_line 'gprof'
finish
