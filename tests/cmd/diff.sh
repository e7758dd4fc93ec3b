#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 150
# `soprof diff`: what changed, what is noise, in each form.
. "$(dirname "$0")/lib.bash"

cat >"$dir/old.folded" <<'X'
git;main [/usr/bin/git];inflate [libz.so.1] 4000
git;main [/usr/bin/git];read_object [/usr/bin/git] 3000
git;main [/usr/bin/git];sha1 [libcrypto.so.3] 3000
X
cat >"$dir/new.folded" <<'X'
git;main [/usr/bin/git];inflate [libz.so.1] 2000
git;main [/usr/bin/git];read_object [/usr/bin/git] 3010
git;main [/usr/bin/git];sha1 [libcrypto.so.3] 2990
X

expect 0 diff "$dir/old.folded" "$dir/new.folded"
has "$out" '^old .*old\.folded: 10000 samples$'
has "$out" '^ +40\.00 +25\.00 +-15\.00 +\[-1[0-9.]+, -1[0-9.]+\] +libz\.so\.1$'
expect 0 diff --absolute --noise --by function "$dir/old.folded" "$dir/new.folded"
has "$out" '^ +4000 +2000 +-2000 .* inflate \[libz\.so\.1\]$'
has "$out" '^ +3000 +3010 +\+10 ~ .* read_object'
expect 0 diff --absolute "$dir/old.folded" "$dir/new.folded"
has "$out" '^2 rows within noise'
expect 0 diff "$dir/old.folded" "$dir/old.folded"
has "$out" '^nothing differs beyond noise$'
has_not "$out" 'libz'

expect 0 diff --csv --by stack "$dir/old.folded" "$dir/new.folded"
has "$out" '^stack,"?(git;)?main( \[git\])?;inflate"?,,0,4000,2000,4000,2000,0\.4,0\.25,'
expect 0 diff --json "$dir/old.folded" "$dir/new.folded"
has "$out" '"name":"libz\.so\.1","upgraded":false,"old_self":4000,"new_self":2000,.*"within_noise":false'
expect 0 diff --comm nobody --keep-going "$dir/old.folded" "$dir/new.folded"
has "$err" '^left out by --comm nobody: 10000 \(100\.00 %\)'
expect 0 diff -o "$dir/x.folded" "$dir/old.folded" "$dir/new.folded"
has "$dir/x.folded" 'inflate 4000 2000$'
expect 0 diff -o "$dir/x.svg" "$dir/old.folded" "$dir/new.folded"
grep -q 'class="diff"' "$dir/x.svg" || fail "a differential flame graph"
grep -q 'new.folded, compared with .*old.folded' "$dir/x.svg" || fail "both names in the picture"
expect 0 diff -o "$dir/x.json" "$dir/old.folded" "$dir/new.folded"
grep -q '"format":"soprof-diff"' "$dir/x.json" || fail "JSON by the suffix"

# bursts: without slices the rows themselves tell how much they differ
for i in {1..40}; do
	echo "app;main [/bin/app];f$i [lib$((i % 13)).so] $((1000 + i % 7 * 60))" >>"$dir/even.folded"
	echo "app;main [/bin/app];f$i [lib$((i % 13)).so] $((1000 + i * i % 7 * 120))" >>"$dir/bursts.folded"
done
expect 0 diff "$dir/even.folded" "$dir/even.folded"
has "$out" '^shares of all samples; intervals \(95 %\) from counts of samples; '
expect 0 diff "$dir/even.folded" "$dir/bursts.folded"
has "$out" 'from counts of samples, widened for bursts; '
expect 0 diff --json "$dir/even.folded" "$dir/bursts.folded"
has "$out" '^"dispersion":[0-9.]+,"spread":[0-9.e-]+,?$'

# two profiles of one program: their slices of time say what is noise
if is_root; then
	start plain callback 600
	for i in 1 2; do
		expect 0 profile -F 199 -p "$pid" -o "$dir/$i.pb.gz" 6
	done
	expect 0 diff --by function "$dir/1.pb.gz" "$dir/2.pb.gz"
	has "$out" '^shares of all samples; intervals \(95 %\) from [2-6][0-9] and [2-6][0-9] time slices; '
fi

expect 2 diff "$dir/old.folded"
one_line 'OLD and NEW; 1 is given'
expect 2 diff -o "$dir/x.pb.gz" "$dir/old.folded" "$dir/new.folded"
one_line 'not in the view pprof; give --format, or one of'
expect 1 diff "$dir/old.folded" "$dir/missing"
one_line 'missing: No such file'
finish
