#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# `soprof report`: profiles in, any view out; filters; bad input.
. "$(dirname "$0")/lib.bash"

cat >"$dir/in.folded" <<'X'
git;main [/usr/bin/git];inflate [libz.so.1];inflate_fast [libz.so.1] 30
git;main [/usr/bin/git];deflate [libz.so.1] 20
png;main [/usr/bin/png];png_read [libpng16.so.16];inflate [libz.so.1];inflate_fast [libz.so.1] 40
png;main [/usr/bin/png];png_read [libpng16.so.16] 10
X

# --- the table
expect 0 report "$dir/in.folded"
has "$out" '^ +90\.00 +90 +90\.00 +90 +libz\.so\.1$'
has "$out" '^ +10\.00 +10 +50\.00 +50 +libpng16\.so\.16$'
expect 0 report --by function --sort name -n 2 "$dir/in.folded"
has "$out" 'deflate \[libz'
has "$out" 'in 4 more rows'
expect 0 report --by comm --sort total "$dir/in.folded"
[ "$(sed -n 3p "$out" | awk '{ print $NF }')" = "$(printf 'git\npng\n' | head -n 1)" ] || fail "git first"

# --- who pays for libz, and through what
expect 0 report --by matrix "$dir/in.folded"
has "$out" '40\.00 +40\.00 +40 +libz\.so\.1 +libpng16\.so\.16 +inflate$'
has "$out" '30\.00 +30\.00 +30 +libz\.so\.1 +git +inflate$'
has "$out" '20\.00 +20\.00 +20 +libz\.so\.1 +git +deflate$'

expect 0 report --by matrix --csv "$dir/in.folded"
has "$out" '^matrix,libz\.so\.1,,libpng16\.so\.16,,inflate,40,40\.000000,40,40\.000000,40,samples,count$'
expect 0 report --by matrix --json "$dir/in.folded"
has "$out" '^\{"library":"libz\.so\.1","build_id":null,"caller":"git","caller_build_id":null,"entry":"deflate","self":20,'
expect 0 report --by function --sort name --csv -n 1 "$dir/in.folded"
has "$out" '^function,deflate,libz'
has "$out" '^rest,5 more,'

# --- what is not there
expect 1 report -l libzz.so.1 "$dir/in.folded"
one_line "^soprof: report: --library: no sample is of a library 'libzz\.so\.1'; did you mean 'libz\.so\.1'\?$"
[ ! -s "$out" ] || fail "no table of nothing"
expect 1 report --function nosuch --csv "$dir/in.folded"
one_line "no sample is of a function 'nosuch'$"
expect 1 report --function 'in*' -l 'libpng*' --comm git "$dir/in.folded"
one_line "--library: no sample is of a library 'libpng\*'"
expect 0 report --by library -o - "$dir/in.folded"
has "$out" ' 90 +libz\.so\.1$'
expect 0 report --format folded -o - "$dir/in.folded"
has "$out" '^git;main;deflate 20$'
[ ! -e - ] || fail "no file of the name -"

# --- trees
expect 0 report --callers inflate "$dir/in.folded"
has "$out" '40\.00 .*png_read \[libpng16\.so\.16\]'
has_not "$out" 'deflate'
expect 0 report --around 'libpng*' --fold libraries "$dir/in.folded"
has "$out" 'called by'
has "$out" 'calls'
has "$out" '40\.00 +40\.00 +libz\.so\.1'
expect 1 report --callers nobody "$dir/in.folded"
one_line "no function and no library is called 'nobody'"

expect 0 report --inverted "$dir/in.folded"
has "$out" '70\.00 .*inflate_fast'
expect 0 report --callers inflate --icicle -o "$dir/c.svg" "$dir/in.folded"
grep -q 'png_read' "$dir/c.svg" && ! grep -q 'deflate' "$dir/c.svg" || fail "a picture of the callers of inflate"

# --- a deleted library is not the one that its path leads to now, in whatever format it comes
cat >"$dir/old.perf" <<'X'
a 7/7 1.0: 1 cycles:
	1010 f+0x10 (/opt/l.so (deleted))

a 7/7 2.0: 1 cycles:
	1010 f+0x10 (/opt/l.so)

X
expect 0 report -o "$dir/old.pb.gz" "$dir/old.perf"
expect 0 report --format perf -o "$dir/again.perf" "$dir/old.perf"
for file in "$dir/old.perf" "$dir/old.pb.gz" "$dir/again.perf"; do
	expect 0 report "$file"
	has "$out" '^ +50\.00 +[0-9]+ +50\.00 +[0-9]+ +1 +l\.so$'
	has "$out" '^ +50\.00 +[0-9]+ +50\.00 +[0-9]+ +1 +l\.so \(deleted\)$'
done

# --- filters say what they left out
expect 0 report --comm git --exclude deflate "$dir/in.folded"
has "$out" '^ +100\.00 +30 +100\.00 +30 +libz'
has "$err" '^left out by --comm git: 50 \(50\.00 %\) of samples$'
has "$err" '^left out by --exclude deflate: 20 \(20\.00 %\) of samples$'
# given twice: what one of them lets through, and what none of them leaves out
expect 0 report --exclude deflate --exclude libpng16.so.16 "$dir/in.folded"
has "$err" '^left out by --exclude deflate, libpng16\.so\.16: '
expect 0 report --csv "$dir/in.folded" --exclude 'lib*' --exclude git --exclude png
[ "$(wc -l <"$out")" = 1 ] || fail "nothing left: $(cat "$out")"
expect 0 report --comm git --comm png "$dir/in.folded"
has "$err" '^left out by --comm git, png: 0 '
expect 2 report --comm git --comm '' "$dir/in.folded"
one_line '^soprof: report: --comm: the value is empty$'

# --- other programs' formats, several files, standard input, compressed
gzip -k "$dir/in.folded"
expect 0 report "$dir/in.folded" "$dir/in.folded.gz"
has "$out" '^ +90\.00 +180 '
"$SOPROF" report - <"$dir/in.folded.gz" >"$out" 2>"$err" || fail "standard input to be read"
has "$out" '^ +90\.00 +90 '
expect 0 report -o "$dir/x.pb.gz" "$dir/in.folded"
expect 0 report --by function "$dir/x.pb.gz"
has "$out" '70\.00 .*inflate_fast \[libz'
expect 0 report -o "$dir/x.svg" "$dir/in.folded"
grep -q '<svg' "$dir/x.svg" || fail "a flame graph"

# --- bad input: one line, what was expected and where; or what is left of it
printf 'a;b 1\nno count here\nc 2\n' >"$dir/bad.folded"
expect 1 report "$dir/bad.folded"
one_line 'bad\.folded: line 2: '
expect 0 report --by function --keep-going "$dir/bad.folded"
has "$err" '^lost 1 piece that could not be read; the first: .*line 2'
has "$out" '^ +33.33 +1 .* b$'
head -c 40 "$dir/in.folded.gz" >"$dir/cut.gz"
expect 1 report "$dir/cut.gz"
one_line 'cut\.gz: '
expect 1 report "$dir/missing"
one_line 'missing: No such file'
head -c 4096 /dev/zero >"$dir/zero"
expect 1 report "$dir/zero"
one_line 'zero: '
expect 2 report
one_line 'no FILE'
expect 2 report --by librar "$dir/in.folded"
one_line 'did you mean library'
expect 2 report --tree --csv "$dir/in.folded"
one_line 'exclude each other'
expect 2 report --value cpu "$dir/in.folded"
one_line "'cpu' is none of samples"
finish
