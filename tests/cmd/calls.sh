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
file=$dir/state/soprof/calls/libz.so.1.last.profile
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

# A second run takes the first one's place; with --keep the file has both, and each shows its own.
expect 7 calls --no-times libz.so.1 -- $python -c "$script"
expect 0 report --csv --by function "$file"
is "$(calls_of crc32)" 1000 "calls of crc32 in the last run"
[ "$(ls "$dir/state/soprof/calls")" = libz.so.1.last.profile ] || fail "one file"
for n in 1 2; do
	expect 7 calls --no-times --keep "$dir/kept" --csv -o "$dir/calls.csv" libz.so.1 -- $python -c "$script"
	cp "$dir/calls.csv" "$out"
	is "$(calls_of crc32)" 1000 "calls of crc32 in run $n"
done
file=$dir/kept/libz.so.1.profile
expect 0 report --csv --by function "$file"
is "$(calls_of crc32)" 2000 "calls of crc32 in both runs"

# Two at once count each its own; in a directory that they share they say that there was another.
at_once() { # OPTION...: one run inside of the other
	local inner=("$SOPROF" calls --no-times "$@" --csv -o "$dir/inner.csv" libz.so.1 -- $python -c "$script")
	cat >"$dir/outer.py" <<-'END'
		import subprocess, sys, zlib, os
		environment = {k: v for k, v in os.environ.items() if k not in ("LD_AUDIT", "SOPROF_CALLS", "SOPROF_UNCOUNTED")}
		for i in range(10): zlib.crc32(b"x")
		subprocess.run(sys.argv[1:], env=environment, stdout=subprocess.DEVNULL)
	END
	expect 0 calls --no-times "$@" --csv -o "$dir/calls.csv" libz.so.1 -- $python "$dir/outer.py" "${inner[@]}"
	cp "$dir/inner.csv" "$out"
	is "$(calls_of crc32)" 1000 "calls of crc32 in the inner run"
	cp "$dir/calls.csv" "$out"
}
at_once
is "$(calls_of crc32)" 10 "calls of crc32 in the outer run"
at_once --keep "$dir/kept"
is "$(calls_of crc32)" 1010 "calls of crc32 while the outer run ran"
[ "$(grep -c '^soprof: other runs have counted in the file at the same time' "$err")" = 2 ] || fail "both runs told of the other"
expect 0 report --csv --by function "$file"
is "$(calls_of crc32)" 3010 "calls of crc32 in all runs"

# tables
expect 0 report "$file"
has "$out" '^ +calls  function, its callers$'
has "$out" '^ +3010  crc32 \[libz\.so\.1\]$'
has "$out" '^ +3010 +[^ ]+ \[python3[^]]*\]$'
says '^soprof: (at least )?[0-9]+ calls by 4 programs'
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
	assert crc["calls"] == 3010 and len(crc["build_id"]) == 40
END
expect 0 report --by matrix "$file"
has "$out" 'libz\.so\.1'
expect 0 report -o "$dir/calls.svg" "$file"
has "$dir/calls.svg" 'crc32'
for view in gprof pairs callgrind folded; do
	expect 0 report --format $view "$file"
	has "$out" crc32
done
expect 1 report --library 'libc.so*' "$file"
one_line "no sample is of a library 'libc\.so\*'"
expect 0 report --library 'libz.so*' "$file"
has "$out" crc32

# by object the caller is a library
expect 7 calls --no-times --arcs object --format counts --keep "$dir" libz.so.1 -- $python -c "$script"
has "$err" '^ +1000 +\[python3[^]]*\]$'
[ -f "$dir/libz.so.1.profile" ] || fail "a file in the directory of --keep"

# several libraries, several programs; every view by suffix
expect 0 calls --no-times --format counts -n 0 libz.so.1,libc.so.6 -- sh -c "/usr/bin/env $python -c 'import zlib; zlib.crc32(b\"x\")'; true"
has "$err" ' crc32 \[libz\.so\.1\]$'
has "$err" '\[libc\.so\.6\]'
says 'by [2-9] programs'

# The command's output is its own where it is no terminal: the table goes to standard error, or to a file.
seq 1000 >"$dir/plain"
expect 0 calls --no-times libc.so.6 -- cat "$dir/plain"
cmp -s "$dir/plain" "$out" && has "$err" '\[libc\.so\.6\]$' || fail "the command's output and nothing else"
expect 2 calls --no-times --format pprof libc.so.6 -- true
one_line 'pprof is not for standard error; give -o FILE'
if command -v script >/dev/null; then
	script -qec "'$SOPROF' calls --no-times libc.so.6 -- true 2>'$dir/errors'" "$dir/typescript" >/dev/null
	has "$dir/typescript" '\[libc\.so\.6\]'
	! grep -q '\[libc' "$dir/errors" || fail "the table on the terminal alone"
fi

# a shell's environment; the file is read while a program counts in it
eval_all=$("$SOPROF" calls --env --keep "$dir" libz.so.1,libc.so.6 2>"$err") || fail "--env to print"
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

# ... and of what an IFUNC has chosen, whose samples lie in functions of other names
if is_root; then
	expect 0 calls --json -F 997 --keep "$dir" -o "$dir/ifunc.json" libc.so.6 -- $python -c 'import time
data = bytes(1 << 18)
end = time.process_time() + 0.7
while time.process_time() < end: bytearray(data)'
	$python - "$dir/ifunc.json" <<-'END' || fail "times of memcpy"
		import json, sys
		t = json.load(open(sys.argv[1]))
		copies = [f for f in t["functions"] if f["function"] in ("memcpy", "memmove")]
		copy = max(copies, key=lambda f: f["calls"])
		assert copy["self_ns"] > 0.3 * t["time_ns"] and copy["ns_a_call"] > 0, (copies, t["time_ns"])
	END
fi

# Signals that are sent to soprof alone are the command's; what was counted is shown.
for options in --no-times '-F 99'; do
	for signal in TERM INT HUP; do
		mkfifo "$dir/ready"
		# shellcheck disable=SC2086 # words
		"$SOPROF" calls $options --csv -o "$dir/calls.csv" libz.so.1 -- $python -c 'import signal, sys, time, zlib
zlib.crc32(b"x")
signal.signal(signal.SIG'$signal', lambda *a: sys.exit(9))
open("'"$dir/ready"'", "w").close()
time.sleep(60)' 2>"$err" & pid=$!
		read -r _ <"$dir/ready"
		kill -$signal $pid
		wait $pid
		status=$?
		what="SIG$signal to soprof calls $options"
		[ "$status" = 9 ] || fail "the command's exit code, 9"
		cp "$dir/calls.csv" "$out" && is "$(calls_of crc32)" 1 "calls of crc32"
		rm "$dir/ready" "$dir/calls.csv"
	done
done

# The limit of open files is the command's own, with times and without; where it is too low for soprof that is said.
limit='import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))'
for options in --no-times ''; do
	# shellcheck disable=SC2086 # words
	[ "$(ulimit -Sn 100; ulimit -Hn 200; "$SOPROF" calls $options libz.so.1 -- $python -c "$limit" 2>"$err")" = "100 200" ] ||
		fail "the command's own limits, calls $options"
done
if (ulimit -n 5 && ulimit -n 100) 2>/dev/null; then # root may raise it
	[ "$(ulimit -n 5; "$SOPROF" calls libz.so.1 -- $python -c "$limit" 2>"$err")" = "5 5" ] || fail "a limit that is raised for soprof alone"
else
	(ulimit -n 5; exec "$SOPROF" calls libz.so.1 -- true) >"$out" 2>"$err"
	has "$err" '^soprof: calls: the limit of open files is 5 \(ulimit -Hn\); soprof needs [0-9]+$'
fi

# Without a home, and with one that cannot be written to, it counts; what is not kept is told.
(unset HOME XDG_STATE_HOME; exec "$SOPROF" calls --no-times libz.so.1 -- $python -c "$script") >"$out" 2>"$err"
[ $? = 7 ] && has "$err" ' 1000  crc32 ' || fail "a run without a home"
says '^soprof: the counts will not be kept: .*\$HOME is not set'
! grep -q 'soprof report' "$err" || fail "no file to read again"

# A file is as good as a soname.
z=$(readlink -f "$(ldconfig -p | awk '$1 == "libz.so.1" && /x86-64/ { print $NF; exit }')")
expect 7 calls --no-times "$z" -- $python -c "$script"
has "$err" ' 1000  crc32 \[libz\.so\.1\]$'
expect 1 calls "$dir/nowhere/libz.so.1" -- true
one_line 'nowhere/libz\.so\.1: No such file'
expect 1 calls /etc/passwd -- true
one_line '/etc/passwd: '

# what cannot be counted
why() {
	grep -qE -- "^soprof: calls: $1" "$err" || fail "a line that says: $1"
	[ "$(grep -c '^soprof' "$err")" = "${2:-1}" ] || fail "${2:-1} lines of ours"
}
rm -r "$dir/state"
expect 1 calls --no-times libzz.so.1 -- $python -c 'import zlib'
why 'nothing that ran has loaded libzz\.so\.1; .* loads .*did you mean libz\.so\.1\?' 2
says '^soprof: libzz\.so\.1 is nowhere where ld\.so looks by itself, and .*python3 does not name it \(did you mean libz\.so\.1\?\)'
[ -z "$(ls "$dir/state/soprof/calls")" ] || fail "no file of a run that counted nothing"
expect 0 calls --no-times --keep "$dir" libzz.so.1 -- $python -c 'import zlib'
if [ -x "$victims/static/recursion" ]; then
	expect 1 calls --no-times libc.so.6 -- "$victims/static/recursion" 1
	why 'nothing was counted: .*static/recursion is linked statically'
fi
expect 127 calls --no-times libc.so.6 -- /nonexistent
why 'cannot run /nonexistent: No such file'
expect 126 calls libc.so.6 -- /etc/passwd
why 'cannot run /etc/passwd: Permission denied'
expect 5 calls --no-times libm.so.6 -- sh -c 'exit 5'
why 'nothing that ran has loaded libm\.so\.6'
expect 143 calls --no-times libc.so.6 -- sh -c 'kill $$'
expect 2 calls --keep "$dir" libz.so.1
one_line '^soprof: calls: --keep is for counting inside a command'
expect 2 calls -- true
one_line 'which library'
expect 2 calls --env libz.so.1 -- true

# what is known before the command runs is said before, and it does not run
refused() { # CODE WORDS ARGUMENT...
	expect "$1" "${@:3}" -- touch "$dir/has-run"
	one_line "^soprof: calls: $2"
	[ ! -e "$dir/has-run" ] || fail "that the command does not run"
}
touch "$dir/calls.csv"
refused 1 "make the directory $dir/no/such: No such file" calls --keep "$dir/no/such" libz.so.1
refused 1 "open $dir/calls.csv/libz.so.1.profile: Not a directory" calls --keep "$dir/calls.csv" libz.so.1
refused 1 "write $dir/no/file.csv: No such file" calls -o "$dir/no/file.csv" libz.so.1
refused 1 "write $dir: Is a directory" calls --csv -o "$dir" libz.so.1
refused 2 '".hidden" is not the name of a library' calls .hidden
(umask 002 && exec "$SOPROF" calls --no-times --keep "$dir/new" libz.so.1 -- $python -c 'import zlib') >"$out" 2>"$err" ||
	fail "a directory that is made"
[ "$(stat -c %a "$dir/new")" = 755 ] && [ -s "$dir/new/libz.so.1.profile" ] || fail "a directory of mode 755, and counts in it"
mkdir -m 700 "$dir/home" && cp "$SOPROF" "$dir/home/soprof"
[ -e /usr/local/lib/x86_64-linux-gnu/soprof ] || [ -e /usr/lib/x86_64-linux-gnu/soprof ] ||
	SOPROF=$dir/home/soprof refused 1 'open the audit library .*/calls\.so: No such file' calls libz.so.1

head -c 1000 "$dir/kept/libz.so.1.profile" >"$dir/cut.profile"
expect 1 report "$dir/cut.profile"
one_line 'cut\.profile'
finish
