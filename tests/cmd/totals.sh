#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Every view says the same total, and its parts add up to it: of samples without frames, of no weight, of the kernel
# alone, of no known library. Each view is read back by a reader of its format, where one is installed.
. "$(dirname "$0")/lib.bash"
cd "$dir" || exit 1
cat >odd.perf <<'X'
one 100/100 1.000000: 7 cycles: 
	         1139 main+0x9 (/usr/bin/one)
	         1020 _start+0x20 (/usr/bin/one)

one 100/100 1.100000: 5 cycles: 

two 200/200 1.200000: 11 cycles: 
	ffffffff81000010 do_idle+0x10 ([kernel.kallsyms])
	ffffffff81000000 start+0x0 ([kernel.kallsyms])

one 100/100 1.300000: 0 cycles: 
	         2020 never+0x20 (/usr/bin/one)

two 200/201 1.400000: 13 cycles: 
	ffffffff81000011 read+0x11 ([kernel.kallsyms])
	         1139 main+0x9 (/usr/bin/two)

three 300/300 1.500000: 3 cycles: 
	    7f0000000000 [unknown] ([unknown])

X
view() { # VIEW OPTION...: into $out
	expect 0 report "--format=$1" "${@:2}" odd.perf
}
sum() { # of the column of awk's expression, in $out, must be $total
	local n
	n=$(awk -F"${3:- }" "$2 { n += $1 } END { print n + 0 }" "$out")
	[ "$n" = "$total" ] || fail "the sum to be $total, not $n"
}

for value in cycles:39 samples:6; do
	total=${value#*:} value=${value%:*}
	for by in library function process caller package comm cgroup user container; do
		view csv --value "$value" --by "$by"
		sum '$8' 'NR > 1' ,
		view json --value "$value" --by "$by"
		has "$out" "^\"total\":$total,"
		view table --value "$value" --by "$by"
		has "$out" "^$value: $total( in |;)"
		sum '$2' 'NR > 2'
	done
	view csv --value "$value" --by matrix
	sum '$7' 'NR > 1' ,
	view folded --value "$value"
	sum '$NF' 1
	view text --value "$value"
	sum '$1' '/^        [0-9]+$/'
	view svg --value "$value"
	has "$out" "<text id=\"sum\"[^>]*>$total $value"
	view html --value "$value"
	sum '$4' '/^<tr><td>/' '</?td>'
	view callgrind
	[ "$value" = samples ] && column=2 || column=3 # positions and events: LINE SAMPLES CYCLES
	sum "\$$column" '/^calls=/ { getline; next } /^[0-9]/'
	has "$out" '^summary: 6 39$'
	for tree in --tree --inverted; do
		expect 0 report "$tree" --min-percent 0 --value "$value" odd.perf
		awk 'NR > 2 { n += $2 } END { exit n < 99.9 || n > 100.1 }' "$out" || fail "the self column of $tree to be 100 %"
		expect 0 report "$tree" --min-percent 50 --value "$value" odd.perf
		awk 'NR > 2 { n += $2 } END { exit n < 99.9 || n > 100.1 }' "$out" || fail "the self column of $tree to be 100 %, also cut"
	done
done

# --- a function's self in a tree is that of the table, whichever way up it stands
expect 0 report --by function --csv odd.perf
awk -F, 'NR > 1 && $2 != "" && $8 { printf "%.2f %s\n", $9, $2 }' "$out" | LC_ALL=C sort >table.self
expect 0 report --inverted --min-percent 0 odd.perf
awk 'NR > 2 && $2 > 0 && $3 != "all" { print $2, $3 }' "$out" | LC_ALL=C sort >tree.self
cmp -s table.self tree.self || fail "self of the inverted tree to be the table's: $(paste table.self tree.self)"
cat >again.folded <<'X'
a;main;f;g;f;h 5
a;main;f;g;f 3
a;main;f 2
a;main 1
X
expect 0 report --around f --min-percent 0 again.folded
has "$out" '^  90\.91    45\.45    f$' # both halves: of 11, 5 were in f itself
has_not "$out" '^  90\.91    90\.91    main$'
has "$out" '^  45\.45    45\.45        h$'

# --- readers of the formats
total=39
expect 0 report -o odd.perf2 --format perf odd.perf
expect 0 report --json odd.perf2
has "$out" '^"total":39,'
expect 0 report -o odd.pb.gz odd.perf
expect 0 report --json odd.pb.gz
has "$out" '^"total":39,'
if command -v go >"$dir/null"; then
	export HOME=$dir PPROF_TMPDIR=$dir
	for value in cycles:39 samples:6; do
		go tool pprof -symbolize=none -top -sample_index="${value%:*}" -nodefraction=0 odd.pb.gz >"$out" 2>"$err" ||
			fail "go tool pprof to read it"
		has "$out" "^Showing nodes accounting for ${value#*:}, 100% of ${value#*:} total"
	done
fi
expect 0 report -o odd.callgrind odd.perf
if command -v callgrind_annotate >"$dir/null"; then
	callgrind_annotate --auto=no --show=cycles --sort=cycles --threshold=100 odd.callgrind >"$out" 2>"$err" ||
		fail "callgrind_annotate to read it"
	has "$out" '^39 \(100\.0%\) +PROGRAM TOTALS'
	has "$out" '^ 5 \(12\.82%\) .*\[no function\]'
fi
expect 0 report -o odd.speedscope.json odd.perf
if command -v node >"$dir/null"; then
	node -e 'for (const p of JSON.parse(require("fs").readFileSync(process.argv[1])).profiles)
		console.log(p.name, p.endValue, p.weights.reduce((a, b) => a + b), p.samples.length === p.weights.length)' \
		odd.speedscope.json >"$out" 2>"$err" || fail "node to read it"
	has "$out" '^cycles 39 39 true$'
	has "$out" '^samples 6 6 true$'
fi
finish
