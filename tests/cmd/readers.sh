#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# `soprof report` reads what soprof itself writes, Go's text, and other profilers' JSON: V8's (node, and a trace of Chrome that
# was cut as it is when Chrome is killed), the Firefox profiler's, speedscope's; callgrind's; and xz and bzip2.
. "$(dirname "$0")/lib.bash"
data=$(cd "$(dirname "$0")/../data/read" && pwd) || exit 1
command -v node >"$dir/null" || skip "node is not installed"

self_of() { awk -F, -v f="$1" '$2 == f { n += $8 } END { printf "%.0f\n", n }' "$out"; }

# --- what soprof writes: functions, their libraries and all values come back
cat >"$dir/in.folded" <<'X'
git;main [/usr/bin/git];inflate [libz.so.1];libz.so.1+0x4970 30
git;main [/usr/bin/git];read [libc.so.6];-;vfs_read 20
p "q" \x1b;[Missed User Stack];-;do_exit 5
png;main [/usr/bin/png];x<y> & "z" [libpng16.so.16] 40
X
for view in html speedscope.json; do
	expect 0 report -o "$dir/own.$view" "$dir/in.folded"
	expect 0 report --format folded -o - -n 0 "$dir/own.$view"
	sort "$out" >"$dir/got"
	expect 0 report --format folded "$dir/in.folded"
	sort "$out" | cmp -s - "$dir/got" || fail "stacks of $view to come back: $(diff <(sort "$out") "$dir/got" | head -n 4)"
	expect 0 report -o "$dir/go.$view" "$data/go-cpu.pb.gz"
	for value in samples cpu; do
		expect 0 report --by function --sort name --csv --value $value "$data/go-cpu.pb.gz"
		cut -d, -f2,8,10 "$out" >"$dir/before"
		expect 0 report --by function --sort name --csv --value $value "$dir/go.$view"
		cut -d, -f2,8,10 "$out" | cmp -s "$dir/before" - || fail "$value of $view to come back"
	done
done
expect 0 report --by library "$dir/own.html"
has "$out" '^ +42\.11 +40 +42\.11 +40 +libpng16\.so\.16$'
expect 0 report --tree "$dir/own.html" # a place tells its library by itself
has "$out" ' inflate \[libz\.so\.1\]$'
has "$out" ' libz\.so\.1\+0x4970$'

# callgrind has no stacks: own costs come back to the unit, what was called as far as callees cost their callers alike
expect 0 report --format callgrind -o "$dir/own.callgrind" "$dir/in.folded"
expect 0 report --by function --sort name --csv "$dir/in.folded"
cut -d, -f2,8,10 "$out" >"$dir/before"
expect 0 report --by function --sort name --csv "$dir/own.callgrind"
cut -d, -f2,8,10 "$out" | diff "$dir/before" - >"$dir/difference" || fail "callgrind to come back: $(cat "$dir/difference")"
expect 0 report --by library "$dir/own.callgrind"
has "$out" '^ +42\.11 +40 +42\.11 +40 +libpng16\.so\.16$'
expect 0 report --format callgrind -o "$dir/go.callgrind" "$data/go-cpu.pb.gz"
for value in samples cpu; do
	expect 0 report --by function --sort name --csv --value $value "$data/go-cpu.pb.gz"
	cut -d, -f2,8,10 "$out" >"$dir/before"
	expect 0 report --by function --sort name --csv --value $value "$dir/go.callgrind"
	cut -d, -f2,8,10 "$out" >"$dir/after"
	paste -d, "$dir/before" "$dir/after" | awk -F, '$2 != $5 || $1 != $4 { print } { d = $3 - $6; if (d < 0) d = -d; if (NR > 1 && $3) { off += d; all += $3 } }
		END { if (off > all / 50) print "totals are off by " off " of " all }' >"$dir/difference"
	[ ! -s "$dir/difference" ] || fail "$value of callgrind to come back: $(head -n 5 "$dir/difference")"
done
expect 0 report "$dir/go.callgrind"
has "$out" '^cpu: .* other values: samples'

# text: kernel frames are known by -d's delimiter or -v's library; a recording's own, with all that -v and -A add
for options in '' -v; do
	# shellcheck disable=SC2086
	expect 0 report --format text $options -o "$dir/own.txt" "$dir/in.folded"
	expect 0 report --format folded "$dir/own.txt"
	sort "$out" >"$dir/got"
	sed -E 's/;-;(vfs_read)/;\1/' "$dir/in.folded" | sed -E 's/ \[[^]]*\]//g' | sort | diff - "$dir/got" >"$dir/difference" ||
		fail "stacks of text $options to come back: $(cat "$dir/difference")"
done
expect 0 report --by library "$dir/own.txt"
has "$out" ' 40 +42\.11 +40 +libpng16\.so\.16$'
expect 0 report --format text -o "$dir/go.txt" "$data/go-cpu.pb.gz"
expect 0 report --by function --sort name --csv --value samples "$data/go-cpu.pb.gz"
cut -d, -f2,8,10 "$out" >"$dir/before"
expect 0 report --by function --sort name --csv "$dir/go.txt"
cut -d, -f2,8,10 "$out" | cmp -s "$dir/before" - || fail "samples of text to come back"
printf '    f\n    -                a (1)\n        x\n' >"$dir/bad.txt"
expect 1 report --input-format text "$dir/bad.txt"
one_line 'line 3: expected how often the stack above was seen'

# --- Go's text (debug=1) says what its pprof says, which scales heaps and cycles
cat >"$dir/heap.txt" <<'X'
heap profile: 19: 19922944 [20: 20971520] @ heap/1048576
19: 19922944 [20: 20971520] @ 0x4b3f4a 0x437232
#	0x4b3f49	main.work+0x89		/srv/g.go:3
#	0x437231	runtime.main+0x211	/usr/lib/go-1.19/src/runtime/proc.go:250

1: 16 [1: 16] @ 0x4b0000 0x437232
#	0x4affff	main.small+0x1		/srv/g.go:9


# runtime.MemStats
# Alloc = 29393696
X
expect 0 report --by function --csv "$dir/heap.txt" # go tool pprof: 1 of 16 bytes at 512 KiB stands for 32768.5
[ "$(self_of main.work)/$(self_of main.small)" = 23041236/524296 ] || fail "a heap scaled as by Go, not $(self_of main.work)/$(self_of main.small)"
if command -v go >"$dir/null"; then
	cp "$dir/heap.txt" "$dir/heap"
	go tool pprof -symbolize=none -sample_index=inuse_space -raw "$dir/heap" >"$dir/raw" 2>"$dir/raw.err"
	grep -qE '[: ]23041236[: ]' "$dir/raw" && grep -qE '[: ]524296[: ]' "$dir/raw" || fail "go tool pprof to say the same: $(grep -A4 Samples "$dir/raw")"
fi
cat >"$dir/mutex.txt" <<'X'
--- mutex:
cycles/second=2000000000
sampling period=5
3000000000 786 @ 0x4b4350 0x4611c1
#	0x4b434f	sync.(*Mutex).Unlock+0x8f	/usr/lib/go-1.19/src/sync/mutex.go:223
X
expect 0 report --by function --csv "$dir/mutex.txt"
[ "$(self_of 'sync.(*Mutex).Unlock')" = 7500000000 ] || fail "1.5 s times 5"
printf 'goroutine profile: total 3\n3 @ 0x1 0x2\n#\t0x1\ttime.Sleep+0x134\t/a.go:1\n# labels: {"a":"b"}\n' >"$dir/g.txt"
expect 0 report --by function --csv "$dir/g.txt"
[ "$(self_of time.Sleep)" = 3 ] || fail "three goroutines"

printf 'goroutine 31 [running]:\nmain.main()\n\t/a.go:1 +0x70\n' >"$dir/dump.txt"
expect 1 report "$dir/dump.txt"
one_line 'dump\.txt: goroutines one by one, of debug=2; what can be read is debug=1, or no debug$'

# --- xz and bzip2, several in one file, and what is cut off
folded=$(cat "$dir/in.folded")
for packer in xz bzip2; do
	command -v $packer >"$dir/null" || fail "$packer to be installed"
	{ head -n 2 "$dir/in.folded" | $packer -c && tail -n +3 "$dir/in.folded" | $packer -c; } >"$dir/packed"
	expect 0 report --format folded "$dir/packed"
	[ "$(grep -c '' "$out")" = 4 ] || fail "four stacks from $packer"
	head -c 90 "$dir/packed" >"$dir/cut"
	expect 1 report "$dir/cut"
	one_line "byte [0-9]+ of the file: truncated $packer data|not a profile"
done

# --- valgrind: each function's own instructions as callgrind_annotate has them (it leaves out the smallest), and what they caused
if command -v valgrind >"$dir/null"; then
	seq 3000 >"$dir/numbers"
	valgrind -q --tool=callgrind --branch-sim=yes --dump-instr=yes --collect-jumps=yes --callgrind-out-file="$dir/cg.out" sort -n "$dir/numbers" \
		>"$dir/null" 2>&1 || fail "valgrind to count"
	annotated() { # [--inclusive=yes]: INSTRUCTIONS FUNCTION, of all functions
		callgrind_annotate --threshold=100 --show=Ir --tree=none "$@" "$dir/cg.out" 2>"$dir/null" |
			sed -nE "s/^ *([0-9,]+) \(.*%\) +[^ ]*:(.*[^]]) \[.*\]\$/\1 \2/p; s/^ *([0-9,]+) \(.*%\) +[^ ]*:([^[]*[^[ ])\$/\1 \2/p" | tr -d ,
	}
	expect 0 report --by function --csv --value Ir "$dir/cg.out"
	annotated | awk -v from="$out" -F, 'BEGIN { while ((getline <from) > 0) if ($1 == "function") own[$2] += $8 }
		{ n = $0; sub(/ .*/, "", n); f = $0; sub(/^[0-9]+ /, "", f); sub(/\047[0-9]+$/, "", f); want[f] += n; all += n }
		END { for (f in want) if (f !~ /["@]|\?\?\?|^0x/) { d = own[f] - want[f]; off += d < 0 ? -d : d; if (d < 0 || d > all / 10000) print f, want[f], own[f] }; if (off > all / 1000) print "all off by", off; if (all < 1000000) print "only", all }' >"$dir/difference"
	[ ! -s "$dir/difference" ] || fail "own instructions: $(head -n 5 "$dir/difference")"
	read -r all _ < <(sed -n 's/^totals: //p' "$dir/cg.out")
	[ "$(awk -F, 'NR > 1 { n += $8 } END { printf "%.0f\n", n }' "$out")" = "$all" ] || fail "$all instructions in all"
	# what it caused, too: of all functions that are not recursive, and cost a hundredth or more
	annotated --inclusive=yes | awk -v from="$out" -F, 'BEGIN { while ((getline <from) > 0) if ($1 == "function" && $2 !~ /\047/) { rows[$2]++; total[$2] += $10 } }
		{ n = $0; sub(/ .*/, "", n); f = $0; sub(/^[0-9]+ /, "", f); seen[f]++; want[f] = n + 0; if (sub(/\047[0-9]+$/, "", f)) seen[f] += 2; else if (n + 0 > all) all = n + 0 }
		END { for (f in want) { if (seen[f] > 1 || rows[f] != 1 || want[f] < all / 100) continue; n++; d = total[f] - want[f]; if (d < -all / 500 || d > all / 500) print f, want[f], total[f] } if (n < 10) print "only", n }' >"$dir/difference"
	[ ! -s "$dir/difference" ] || fail "what functions caused: $(head -n 5 "$dir/difference")"
	expect 0 report --by library --value Bc "$dir/cg.out"
	has "$out" 'libc\.so\.6|libc-2'
	expect 0 report --value calls --format pairs "$dir/cg.out"
	# all events of a simulation, and more than a profile has values for
	valgrind -q --tool=callgrind --cache-sim=yes --branch-sim=yes --callgrind-out-file="$dir/many.out" true >"$dir/null" 2>&1
	read -r -a events < <(sed -n 's/^events: //p' "$dir/many.out")
	read -r -a totals < <(sed -n 's/^totals: //p' "$dir/many.out")
	[ ${#events[@]} = 13 ] || fail "13 events of callgrind: ${events[*]}"
	for i in "${!events[@]}"; do
		expect 0 report --by library --csv --value "${events[i]}" "$dir/many.out"
		[ "$(awk -F, 'NR > 1 { n += $8 } END { printf "%.0f\n", n }' "$out")" = "${totals[i]:-0}" ] || fail "${totals[i]} of ${events[i]}"
	done
	sed 's/^events: .*/& A B C/' "$dir/many.out" >"$dir/more.out"
	expect 1 report "$dir/more.out"
	one_line 'more\.out: line [0-9]+: 16 events, more than 15; --keep-going reads the first ones$'
	expect 0 report --keep-going "$dir/more.out"
	has "$out" '^Ir: '
else
	say "valgrind is not here"
fi
printf 'events: Ir\nfn=f\n1 5\n+2 7\ncfn=g\ncalls=2 9\n* 30\nfn=g\n9 30\nfn=h\n9 x\n' >"$dir/bad.callgrind"
expect 1 report "$dir/bad.callgrind"
one_line 'bad\.callgrind: line 11: expected a number for each event, not 9 x$'
expect 0 report --by function --keep-going "$dir/bad.callgrind"
has "$out" '^ *71\.43 +30 +71\.43 +30 +g$'
has "$out" '^ *28\.57 +12 +100\.00 +42 +f$'

# --- node: self times and samples as its own file has them, summed by node
cat >"$dir/work.js" <<'X'
function burn(n) { return n < 2 ? n : burn(n - 1) + burn(n - 2) }
for (const end = Date.now() + 300; Date.now() < end;) burn(20)
X
sums='const p = JSON.parse(require("fs").readFileSync(process.argv[1])), name = {}, us = {}, n = {}
for (const x of p.nodes) name[x.id] = x.callFrame.functionName || "(anonymous)"
let at = p.startTime
p.samples.forEach((id, i) => {
	at += p.timeDeltas[i]
	const d = i + 1 < p.samples.length ? p.timeDeltas[i + 1] : p.endTime - at
	us[name[id]] = (us[name[id]] || 0) + Math.max(d, 0)
	n[name[id]] = (n[name[id]] || 0) + 1
})
console.log(p.samples.length, us.burn * 1000, n.burn)'
(cd "$dir" && node --cpu-prof --cpu-prof-name=n.cpuprofile --trace-event-categories v8,disabled-by-default-v8.cpu_profiler \
	--trace-event-file-pattern node-trace.json work.js) || fail "node to write a profile"
read -r all ns burns < <(node -e "$sums" "$dir/n.cpuprofile")
expect 0 report --by function --csv "$dir/n.cpuprofile"
[ "$(self_of burn)" = "$ns" ] || fail "$ns ns of burn, not $(self_of burn)"
expect 0 report --by function --csv --value samples "$dir/n.cpuprofile"
[ "$(self_of burn)" = "$burns" ] || fail "$burns samples of burn, not $(self_of burn)"
[ "$(awk -F, 'NR > 1 { n += $8 } END { print n }' "$out")" = "$all" ] || fail "$all samples, not $(awk -F, 'NR > 1 { n += $8 } END { print n }' "$out")"
expect 0 report --callers burn "$dir/n.cpuprofile"
has "$out" '\[work\.js\]'
expect 0 report --by library "$dir/node-trace.json"
has "$out" 'work\.js$'
head -c 3000 "$dir/n.cpuprofile" >"$dir/cut.cpuprofile"
expect 1 report "$dir/cut.cpuprofile"
one_line 'cut\.cpuprofile: byte 3000: the JSON text ends within a value$'
expect 0 report --keep-going "$dir/cut.cpuprofile"
has "$err" '^lost [0-9]+ piece.*the JSON text ends within a value'

# --- Chrome: 1735 samples of burn were 1.48 s, as a sum over the file's own numbers has it; the last ] is missing
expect 0 report --by function --csv "$data/chrome-trace.json.xz"
[ "$(self_of burn)" = 1480507000 ] || fail "the time of burn, not $(self_of burn)"
expect 0 report --by comm "$data/chrome-trace.json.xz"
has "$out" ' CrRendererMain$'
echo '{"traceEvents":[{"name":"x","ph":"X","pid":1,"tid":1,"ts":1,"dur":2}]}' >"$dir/plain.json"
expect 1 report "$dir/plain.json"
one_line 'a trace without a CPU profile: it is recorded with the category disabled-by-default-v8\.cpu_profiler$'

# --- perf.data, by perf; a command for where it is, if it is not here
printf 'PERFILE2%0100d' 0 >"$dir/broken.data"
PATH=$dir/nothing expect 1 report "$dir/broken.data"
one_line "perf's own format, and there is no perf here to read it: where it was recorded, perf script -i .*/broken\.data > FILE"
if command -v perf >"$dir/null" && (cd "$dir" && perf record -q -e cpu-clock -c 1000000 -g -o p.data -- node work.js) >"$dir/null" 2>&1; then
	expect 0 report --by library --csv "$dir/p.data"
	cp "$out" "$dir/before"
	perf script -i "$dir/p.data" 2>"$dir/null" >"$dir/p.txt"
	expect 0 report --by library --csv "$dir/p.txt"
	cmp -s "$out" "$dir/before" || fail "perf.data to be what perf script says of it"
	expect 1 report "$dir/broken.data"
	one_line 'broken\.data: perf script -i .* failed; it says why if you run it$'
	# whichever of these fields are chosen, the number of samples stays
	expect 0 report --value samples --by function --csv "$dir/p.txt"
	all=$(awk -F, 'NR > 1 { n += $8 } END { print n + 0 }' "$out")
	for fields in comm,ip,sym ip,sym ip,sym,dso comm,pid,tid,time,event,ip,sym,dso,period comm,time,event,ip,sym comm,tid,period,ip,sym,dso \
		pid,tid,ip,sym,period tid,ip,sym,period; do
		timeout 20 perf script -F "$fields" -i "$dir/p.data" 2>"$dir/null" >"$dir/fields.txt"
		expect 0 report --value samples --by function --csv "$dir/fields.txt"
		n=$(awk -F, 'NR > 1 { n += $8 } END { print n + 0 }' "$out")
		[ "$n" = "$all" ] || fail "$all samples of -F $fields, not $n"
	done
	# without ip there is one line for each sample, and no stack
	for fields in comm,pid comm,period comm,time event,period; do
		timeout 20 perf script -F "$fields" -i "$dir/p.data" 2>"$dir/null" >"$dir/fields.txt"
		expect 0 report --value samples --by comm --csv "$dir/fields.txt"
		n=$(awk -F, 'NR > 1 { n += $8 } END { print n + 0 }' "$out")
		[ "$n" = "$(wc -l <"$dir/fields.txt")" ] || fail "a sample for each line of -F $fields, not $n"
		has "$err" '^no sample has a stack; '
	done
else
	say "perf is not here, or may not record"
fi

# --- the Firefox profiler: tables in each thread, tables that threads share, and Gecko's rows
cat >"$dir/processed.json" <<'X'
{"meta":{"interval":2,"preprocessedProfileVersion":41},"libs":[{"name":"libfoo.so","path":"/usr/lib/libfoo.so"}],
"threads":[{"name":"GeckoMain","processName":"web","pid":"77","stringArray":["(root)","work","leaf","script.js","http://a/s.js"],
"stackTable":{"length":3,"prefix":[null,0,1],"frame":[0,1,2]},"frameTable":{"length":3,"func":[0,1,2],"line":[null,null,7]},
"funcTable":{"length":3,"name":[0,1,2],"resource":[-1,0,-1],"fileName":[null,null,4]},"resourceTable":{"lib":[0],"name":[1]},
"samples":{"length":4,"stack":[1,2,2,null],"time":[0,2,4,6],"weight":[1,1,5,1],"weightType":"samples"}}]}
X
expect 0 report --by function --csv --value samples "$dir/processed.json"
[ "$(self_of work)/$(self_of leaf)" = 1/6 ] || fail "samples of the Firefox profiler"
expect 0 report --by function --csv "$dir/processed.json"
[ "$(self_of leaf)" = 12000000 ] || fail "6 samples of 2 ms"
expect 0 report --format folded --value samples "$dir/processed.json"
has "$out" '^GeckoMain;work;leaf 6$'
expect 0 report --by library "$dir/processed.json"
has "$out" ' libfoo\.so$'
node -e 'const p = JSON.parse(require("fs").readFileSync(process.argv[1])), t = p.threads[0]
p.shared = {}
for (const k of ["stringArray", "stackTable", "frameTable", "funcTable", "resourceTable"]) { p.shared[k] = t[k]; delete t[k] }
p.threads.push({...t, name: "Other"})
console.log(JSON.stringify(p))' "$dir/processed.json" >"$dir/shared.json"
expect 0 report --format folded --value samples "$dir/shared.json"
has "$out" '^GeckoMain;work;leaf 6$'
has "$out" '^Other;work;leaf 6$'
cat >"$dir/gecko.json" <<'X'
{"meta":{"interval":1},"libs":[],"threads":[],"pausedRanges":[],"processes":[{"meta":{"interval":1},"threads":[{"name":"comm","pid":5,"tid":6,
"stringTable":["main (in a.out)","f\u00e9 (in libc.so.6)"],"frameTable":{"schema":{"location":0,"line":1},"data":[[0],[1,null]]},
"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1]]},
"samples":{"schema":{"stack":0,"time":1},"data":[[1,0],[1,1.5],[0,2]]}}]}]}
X
expect 0 report --format folded --value samples "$dir/gecko.json"
has "$out" '^comm;main;fé 2$'
has "$out" '^comm;main 1$'
expect 0 report --by library "$dir/gecko.json"
has "$out" ' libc\.so\.6$'
# what Firefox 153 itself wrote (the process of one page, without its markers): 357 samples of burn by a sum over its own numbers
expect 0 report --by function --csv --value samples "$data/firefox.json.xz"
has "$out" '^function,burn,.*",,,,357,'
expect 0 report --by library --csv --value samples "$data/firefox.json.xz"
has "$out" '^library,libxul\.so,'
expect 0 report --by comm --csv --value samples "$data/firefox.json.xz"
has "$out" '^comm,GeckoMain,.*,1187,'
# its addresses lie in the libraries of their process; one that lies in none is a name of its own
cat >"$dir/gecko2.json" <<'X'
{"libs":[{"start":4096,"end":8192,"offset":0,"name":"liba.so","path":"/usr/lib/liba.so","breakpadId":"0"}],"meta":{"interval":1},
"threads":[{"name":"t","pid":5,"stringTable":["0x1234","0x9000","go (https://a/s.js:7:9)[8]","operator() (int)"],
"frameTable":{"schema":{"location":0},"data":[[0],[1],[2],[3]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1],[1,2],[2,3]]},
"samples":{"schema":{"stack":0,"time":1},"data":[[3,0]]}}]}
X
expect 0 report --format folded --value samples "$dir/gecko2.json"
has "$out" '^t;liba\.so\+0x234;0x9000;go;operator\(\) \(int\) 1$'
expect 0 report --by library "$dir/gecko2.json"
has "$out" ' liba\.so$' && has "$out" ' s\.js$'
sed 's/\[null,0,1\]/[null,2,1]/' "$dir/processed.json" >"$dir/circle.json"
expect 1 report "$dir/circle.json"
one_line 'stack [0-9]+ is not above an earlier one'

# --- speedscope's of others: weights in seconds by thread, and events
cat >"$dir/s.json" <<'X'
{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"py-spy","shared":{"frames":[
{"name":"main","file":"a.py","line":3},{"name":"work","file":"b.py","line":9}]},"profiles":[
{"type":"sampled","name":"MainThread","unit":"seconds","samples":[[0],[0,1]],"weights":[0.25,1.5]},
{"type":"evented","name":"T2","unit":"milliseconds","startValue":0,"endValue":9,"events":[
{"type":"O","frame":0,"at":1},{"type":"O","frame":1,"at":2},{"type":"C","frame":1,"at":6},{"type":"C","frame":0,"at":9}]}]}
X
expect 0 report --by function --csv "$dir/s.json"
[ "$(self_of work)/$(self_of main)" = 1504000000/254000000 ] || fail "times of speedscope's file: $(self_of work)/$(self_of main)"
expect 0 report --by comm "$dir/s.json"
has "$out" ' T2$'
finish
