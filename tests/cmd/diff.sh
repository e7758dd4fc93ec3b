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
expect 0 diff --comm git --keep-going "$dir/old.folded" "$dir/new.folded"
has "$err" '^left out by --comm git: 0 \(0\.00 %\)'
expect 1 diff --comm gitt --keep-going "$dir/old.folded" "$dir/new.folded"
one_line "soprof: diff: --comm: no sample is of a thread 'gitt'; did you mean 'git'\?$"
sed 's/libcrypto.so.3/libssl.so.3/' "$dir/new.folded" >"$dir/other.folded" # what only one side has is no mistake
expect 0 diff -l libssl.so.3 "$dir/old.folded" "$dir/other.folded"
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

# values: the first that both have, or none
cat >"$dir/time.perf" <<'X'
app 7/7 1.000000000: 1000000 cpu-clock:
	1010 work+0x10 (/bin/app)

app 7/7 1.010000000: 1000000 cpu-clock:
	1010 work+0x10 (/bin/app)

X
expect 0 diff --absolute --noise "$dir/time.perf" "$dir/old.folded"
has "$out" '^samples; intervals'
has "$out" '^old .*: 2 samples'
expect 2 diff --value cpu-clock "$dir/time.perf" "$dir/old.folded"
one_line "'cpu-clock' is none of samples"
printf 'app;main [/bin/app] 5\n' >"$dir/few.folded"
expect 0 report -o "$dir/few.pb.gz" "$dir/few.folded"
gzip -dc "$dir/few.pb.gz" | sed 's/samples/callees/' | gzip >"$dir/calls.pb.gz" # of the same length
expect 2 diff "$dir/old.folded" "$dir/calls.pb.gz"
one_line 'has samples in count; .* has callees in count: they have no value in common'
has_not "$out" .
# of two events what was counted of each is no more alike than their units
awk '{ sub(/cpu-clock:/, "faults:"); print }' "$dir/time.perf" >"$dir/faults.perf"
expect 2 diff "$dir/time.perf" "$dir/faults.perf"
one_line '/time\.perf has cpu-clock in nanoseconds; .*/faults\.perf has faults in count: they have no value in common'
has_not "$out" .
expect 0 diff --value samples "$dir/time.perf" "$dir/faults.perf"

# the perf view's times are no times: each thread's stand behind the one before
for i in {1..30}; do
	echo "app$i;main [/bin/app];f$i [libf.so] 100"
done >"$dir/threads.folded"
expect 0 report -o "$dir/threads.perf" "$dir/threads.folded"
expect 0 diff "$dir/threads.perf" "$dir/threads.perf"
has "$out" 'from counts of samples'
has_not "$out" ' in [0-9.]+ s$'

# a page keeps the times, and a recording how long its slices are
awk 'BEGIN { for (i = 0; i < 200; i++) printf "app 7/7 %.6f: cycles:\n\t10 f%d+0x0 (/bin/app)\n\n", 1 + i / 50, i % 3 }' >"$dir/timed.perf"
expect 0 report -o "$dir/timed.html" "$dir/timed.perf"
expect 0 report -o "$dir/timed.pb.gz" "$dir/timed.html"
expect 0 diff "$dir/timed.html" "$dir/timed.pb.gz"
has "$out" 'from 30 and 30 time slices'
expect 0 report -o "$dir/again.html" "$dir/timed.pb.gz"
for page in timed again; do
	has "$dir/$page.html" '"n_slices":30,"slice_ns":134217728,'
done
expect 0 report -o "$dir/both.html" "$dir/timed.perf" "$dir/timed.pb.gz" # two times are not one
has_not "$dir/both.html" '"n_slices"'

# of many rows one shows so much by chance: that is marked
for i in {1..300}; do
	echo "app;main [/bin/app];g$i [lib.so] 50"
done >"$dir/many.folded"
sed 's/;g5 \(.*\) 50/;g5 \1 75/; s/;g7 \(.*\) 50/;g7 \1 150/' "$dir/many.folded" >"$dir/other.folded"
expect 0 diff --by function "$dir/many.folded" "$dir/other.folded"
has "$out" ' \+0\.[0-9]+ \?  .* g5 \[lib\.so\]$'
has "$out" ' \+0\.[0-9]+    .* g7 \[lib\.so\]$'
has "$out" '^\? = among 30[01] rows, some that did not change differ as much by chance$'

# two profiles of one program: their slices of time say what is noise
if is_root; then
	for seconds in 1 2; do # of no known length
		expect 124 profile -F 499 -o "$dir/s$seconds.pb.gz" -- timeout "$seconds" sh -c 'while :; do :; done'
	done
	expect 0 diff --json "$dir/s1.pb.gz" "$dir/s2.pb.gz"
	has "$out" '"intervals":"slices"'
	[ "$(grep -cE '"slices":(2[0-9]|[3-6][0-9])\}' "$out")" = 2 ] || fail "at least 20 slices of recordings of 1 s and 2 s"
	start plain callback 600
	for i in 1 2; do
		expect 0 profile -F 199 -p "$pid" -o "$dir/$i.pb.gz" 6
	done
	expect 0 diff --by function "$dir/1.pb.gz" "$dir/2.pb.gz"
	has "$out" '^shares of all CPU time; intervals \(95 %\) from [2-6][0-9] and [2-6][0-9] time slices; '
fi

expect 2 diff "$dir/old.folded"
one_line 'OLD and NEW; 1 is given'
expect 2 diff -o "$dir/x.pb.gz" "$dir/old.folded" "$dir/new.folded"
one_line 'not in the view pprof; give --format, or one of'
expect 1 diff "$dir/old.folded" "$dir/missing"
one_line 'missing: No such file'
finish
