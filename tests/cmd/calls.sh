#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# soprof calls: the command runs as it does without, its calls are counted exactly, shown in every form, kept from run to
# run, and what cannot be counted is told in one line.
. "$(dirname "$0")/lib.bash"
python=/usr/bin/python3
[ -x $python ] || skip "needs /usr/bin/python3"
$python -c 'import zlib' || skip "needs python3 with zlib"
export XDG_STATE_HOME=$dir/state
file=$dir/state/soprof/calls/libz.so.1.profile
script='import sys, zlib
for i in range(1000): zlib.crc32(b"x" * i)
for i in range(50): zlib.decompress(zlib.compress(b"hello" * 100))
print("out"); print("err", file=sys.stderr); sys.exit(7)'
# calls_of FUNCTION: as the CSV in $out says, over all callers
calls_of() { awk -F, -v f="$1" '$1 == f { n += $7 } END { print n + 0 }' "$out"; }
is() { [ "$1" = "$2" ] || fail "$3: $2, not $1"; }

# exact, with the command's own output and exit code
expect 7 calls --no-times --csv -o "$dir/calls.csv" libz.so.1 -- $python -c "$script"
[ "$(cat "$out")" = out ] || fail "the command's own output, and nothing else"
has "$err" '^err$'
cp "$dir/calls.csv" "$out"
has "$out" '^function,library,build_id,caller,caller_library,caller_build_id,calls,address_taken$'
is "$(calls_of crc32)" 1000 "calls of crc32"
is "$(calls_of compress2)" 0 "calls of what is not called"
is "$(calls_of deflateInit2_)" 50 "calls of deflateInit2_"
is "$(calls_of inflateEnd)" 50 "calls of inflateEnd"
says '^err soprof: (at least )?[0-9]+ calls by 1 program .*soprof report '
[ -f "$file" ] || fail "a file in the user's own state directory"
is "$(stat -c %a "$file")" 600 "the file's mode"

# the second run shows its own calls; the file has both
expect 7 calls --no-times --csv -o "$dir/calls.csv" libz.so.1 -- $python -c "$script"
cp "$dir/calls.csv" "$out"
is "$(calls_of crc32)" 1000 "calls of crc32 in the second run"
expect 0 report --csv --by function "$file"
is "$(calls_of crc32)" 2000 "calls of crc32 in both runs"

# tables
expect 0 report "$file"
has "$out" '^ +calls  function, and its callers$'
has "$out" '^ +2000  crc32 \[libz\.so\.1\]$'
has "$out" '^ +2000 +[^ ]+ \[python3[^]]*\]$'
says '^soprof: (at least )?[0-9]+ calls by 2 programs'
expect 0 report -n 1 "$file"
has "$out" '^ +[0-9]+  [0-9]+ more functions$'
expect 0 report --json --by function "$file"
$python - "$out" <<-'END' || fail "JSON that holds together"
	import json, sys
	t = json.load(open(sys.argv[1]))
	assert t["format"] == "soprof-calls" and t["calls"] == sum(f["calls"] for f in t["functions"])
	for f in t["functions"]:
	    assert f["calls"] == sum(c["calls"] for c in f["callers"]), f
	    assert f["outside_calls"] == sum(c["calls"] for c in f["callers"] if c["outside"])
	crc = [f for f in t["functions"] if f["function"] == "crc32"][0]
	assert crc["calls"] == 2000 and len(crc["build_id"]) == 40
END
expect 0 report --by matrix "$file"
has "$out" 'libz\.so\.1'
expect 0 report -o "$dir/calls.svg" "$file"
has "$dir/calls.svg" 'crc32'
for view in gprof pairs callgrind folded; do
	expect 0 report --format $view "$file"
	has "$out" crc32
done
expect 0 report --library 'libc.so*' "$file"

# by object the caller is a library
expect 7 calls --no-times --arcs object --format counts --output "$dir" libz.so.1 -- $python -c "$script"
has "$out" '^ +1000 +\[python3[^]]*\]$'
[ -f "$dir/libz.so.1.profile" ] || fail "a file in the directory of --output"

# several libraries, several programs; every view by suffix
expect 0 calls --no-times --format counts -n 0 libz.so.1,libc.so.6 -- sh -c "/usr/bin/env $python -c 'import zlib; zlib.crc32(b\"x\")'; true"
has "$out" ' crc32 \[libz\.so\.1\]$'
has "$out" '\[libc\.so\.6\]'
says 'by [2-9] programs'

# a shell's environment; the file is read while a program counts in it
eval_all=$("$SOPROF" calls --env --output "$dir" libz.so.1,libc.so.6 2>"$err") || fail "--env to print"
(eval "$eval_all"; exec $python -c 'import zlib, time
for i in range(123): zlib.crc32(b"x")
open("'"$dir"'/counted", "w").close()
time.sleep(60)') & pid=$!
for _ in $(seq 300); do [ -e "$dir/counted" ] && break; sleep 0.1; done
expect 0 report --csv --by function "$dir/libz.so.1,libc.so.6.profile"
is "$(calls_of crc32)" 123 "calls of crc32 by a program that runs"
kill -KILL $pid
wait $pid 2>/dev/null
expect 0 report --csv --by function "$dir/libz.so.1,libc.so.6.profile"
is "$(calls_of crc32)" 123 "calls of crc32 by a program that was killed"

# times, where they can be had
if is_root; then
	expect 0 calls --json -F 997 -o "$dir/times.json" libz.so.1 -- $python -c 'import zlib, os, time
data = os.urandom(1 << 20)
end = time.process_time() + 1
while time.process_time() < end: zlib.compress(data, 1)'
	$python - "$dir/times.json" <<-'END' || fail "times of deflate"
		import json, sys
		t = json.load(open(sys.argv[1]))
		d = [f for f in t["functions"] if f["function"] == "deflate"][0]
		busy = t["time_ns"]
		assert d["outside_ns"] > 0.5 * busy, (d, busy)
		assert d["ns_a_call_low"] <= d["ns_a_call"] <= d["ns_a_call_high"], d
		assert abs(d["ns_a_call"] * d["outside_calls"] / d["outside_ns"] - 1) < 1e-3, d
	END
fi

# what cannot be counted
why() {
	grep -qE -- "^soprof: calls: $1" "$err" || fail "a line that says: $1"
	[ "$(grep -c '^soprof' "$err")" = 1 ] || fail "one line of ours"
}
expect 0 calls --no-times libzz.so.1 -- $python -c 'import zlib'
why 'nothing that ran has loaded libzz\.so\.1; .* loads .*did you mean libz\.so\.1\?'
if [ -x "$victims/static/recursion" ]; then
	expect 0 calls --no-times libc.so.6 -- "$victims/static/recursion" 1
	why 'nothing was counted: .*static/recursion is linked statically'
fi
expect 1 calls --no-times libc.so.6 -- /nonexistent
why 'cannot run /nonexistent: No such file'
expect 5 calls --no-times libm.so.6 -- sh -c 'exit 5'
why 'nothing that ran has loaded libm\.so\.6'
expect 143 calls --no-times libc.so.6 -- sh -c 'kill $$'
expect 2 calls libz.so.1
one_line 'no COMMAND'
expect 2 calls -- true
one_line 'which library'
expect 2 calls --env libz.so.1 -- true

# what is known before the command runs is said before, and it does not run
refused() { # CODE WORDS ARGUMENT...
	expect "$1" "${@:3}" -- touch "$dir/has-run"
	one_line "^soprof: calls: $2"
	[ ! -e "$dir/has-run" ] || fail "that the command does not run"
}
refused 1 "make the directory $dir/no/such: No such file" calls --output "$dir/no/such" libz.so.1
refused 1 "open $dir/calls.csv/libz.so.1.profile: Not a directory" calls --output "$dir/calls.csv" libz.so.1
refused 1 "write $dir/no/file.csv: No such file" calls -o "$dir/no/file.csv" libz.so.1
refused 1 "write $dir: Is a directory" calls --csv -o "$dir" libz.so.1
refused 2 '".hidden" is not the name of a library' calls .hidden
(umask 002 && exec "$SOPROF" calls --no-times --output "$dir/new" libz.so.1 -- $python -c 'import zlib') >"$out" 2>"$err" ||
	fail "a directory that is made"
[ "$(stat -c %a "$dir/new")" = 755 ] && [ -s "$dir/new/libz.so.1.profile" ] || fail "a directory of mode 755, and counts in it"
mkdir -m 700 "$dir/home" && cp "$SOPROF" "$dir/home/soprof"
[ -e /usr/local/lib/x86_64-linux-gnu/soprof ] || [ -e /usr/lib/x86_64-linux-gnu/soprof ] ||
	SOPROF=$dir/home/soprof refused 1 'open the audit library .*/calls\.so: No such file' calls libz.so.1

head -c 1000 "$file" >"$dir/cut.profile"
expect 1 report "$dir/cut.profile"
one_line 'cut\.profile'
finish
