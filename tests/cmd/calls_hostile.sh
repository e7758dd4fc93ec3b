#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Files that are made to harm who reads them, with the name of a library that is counted: they are told, and cost nobody
# else's calls, whether they are there before or come later; and what the process that counts may still do.
. "$(dirname "$0")/lib.bash"
need_root
export XDG_STATE_HOME=$dir/state
# Where the kernel has no links: the events of tracefs.
mount_tracefs "$dir/tracing" || skip "needs tracefs"
tests=$SOPROF_BUILD/tests/cmd
name=libhostile.so # of no other test
mkdir "$dir/forged" "$dir/good" "$dir/bad" "$dir/cut" "$dir/odd" "$dir/next"

# number FILE OFFSET BYTES
number() { od -A n -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }
# section FILE TYPE: where the header of the first section of this type is
section() {
	local at i
	at=$(number "$1" 40 8)
	for ((i = 0; i < $(number "$1" 60 2); i++)); do
		[ "$(number "$1" $((at + 64 * i + 4)) 4)" != "$2" ] || { echo $((at + 64 * i)); return; }
	done
}
# write FILE OFFSET BYTES-AS-PRINTF-HAS-THEM
write() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
sed 's/libcalled/libforged/' "$tests/libcalled.so" >"$dir/forged/$name" # of the same build, as it says
cp "$tests/libcalled.so" "$dir/good/$name"
# ld.so knows no sections: it loads this one, whose symbols would have 2^62 bytes
cp "$tests/libcalled.so" "$dir/bad/$name"
symbols=$(section "$dir/bad/$name" 11)
[ -n "$symbols" ] || fail "a section of symbols"
write "$dir/bad/$name" $((symbols + 32)) '\0\0\0\0\0\0\0\100'
# no file, where the headers should be
head -c 200 "$tests/libcalled.so" >"$dir/cut/$name"
head -c 8192 /dev/zero >>"$dir/cut/$name"
write "$dir/cut/$name" 32 '\377\377\377\377\377\377\377\177'
# unwind information that makes no sense
cp "$tests/libcalled.so" "$dir/odd/$name"
at=$(number "$tests/libcalled.so" 32 8)
for ((i = 0; i < $(number "$tests/libcalled.so" 56 2); i++)); do
	[ "$(number "$tests/libcalled.so" $((at + 56 * i)) 4)" = 1685382480 ] || continue # PT_GNU_EH_FRAME
	unwind=$(number "$tests/libcalled.so" $((at + 56 * i + 8)) 8)
	head -c 64 /dev/zero | tr '\0' '\377' | dd of="$dir/odd/$name" bs=1 seek="$unwind" conv=notrunc 2>/dev/null
done
[ -n "${unwind:-}" ] || fail "unwind information"

callers=()
# caller_begin DIRECTORY TIMES GATE
caller_begin() {
	"$tests/caller" "$dir/$1/$name" "$2" 1 "$dir/$3" >"$dir/truth.$2" &
	callers+=($!)
	wait_until $((100 * slow)) has_mapped $! "$dir/$1/$name" || fail "a caller to map $1"
}
callers_begin() {
	rm -f "$dir/gate"
	caller_begin good 700 gate
	caller_begin bad 50 gate
	caller_begin odd 60 gate
}
callers_end() {
	touch "$dir/gate"
	wait "${callers[@]}"
	callers=()
}
begin() { # ARGUMENT...
	what="calls $*"
	: >"$err"
	"$SOPROF" calls "$@" >"$out" 2>"$err" </dev/null &
	counter=$!
	wait_until $((300 * slow)) grep -q 'counting calls' "$err" || fail "soprof to begin to count"
}
end() {
	kill -INT "$counter" 2>/dev/null
	wait "$counter"
	status=$?
	[ "$status" = 0 ] || fail "exit code 0"
}
calls_of() { awk -F, -v p=",$1," 'NR > 1 && $2 == "called_mid" && $0 ~ p { n += $8 } END { print n + 0 }' "$out"; }

# --- there before, and later; the counting process has no privileges when the later ones come ---
callers_begin
caller_begin forged 80 gate
good=${callers[0]} odd=${callers[2]} forged=${callers[3]}
begin --csv "$name:called_mid"
field() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$counter/status"; }
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	[ "$(field $set)" = 0000000000000000 ] || fail "$set of the counting process to be empty, not $(field $set)"
done
[ "$(field Seccomp)" = 2 ] || fail "a filter of the counting process's system calls"
[ "$(field NoNewPrivs)" = 1 ] || fail "no way back for the counting process"
broker=
for child in $(cat "/proc/$counter/task/$counter/children"); do
	[ "$(cat "/proc/$child/comm")" != soprof-broker ] || broker=$child
done
[ -n "$broker" ] || fail "a broker"
awk '$1 == "CapEff:" { exit $2 !~ /^000001c0000c00e4$|^000001c0002c00e4$/ }' "/proc/$broker/status" || fail "the broker to have what it needs: $(grep CapEff "/proc/$broker/status")"
has "$err" "^soprof: $dir/bad/$name: .*symbol table"
cp "$tests/libcalled.so" "$dir/next/$name"
caller_begin next 900 gate2
next=${callers[4]}
probes() { [ "$(grep -lsE '^link_type:[[:space:]]*uprobe_multi' "/proc/$counter/fdinfo/"* | grep -c .)" -gt "$1" ] ||
	[ "$(grep -cs "soprof/p${counter}_" "$tracefs/uprobe_events")" -gt "$1" ]; }
wait_until $((100 * slow)) probes 2 || fail "the later file to be probed"
sed 's/libcalled/libcallee/' "$dir/bad/$name" >"$dir/next/more" # another file
mkdir "$dir/worse" && mv "$dir/next/more" "$dir/worse/$name"
caller_begin worse 40 gate2
wait_until $((100 * slow)) grep -q "^soprof: $dir/worse/$name: .*symbol table" "$err" || fail "the later file to be told"
# who maps such files without end writes no more than some lines
n_crowd=12
[ "$slow" = 1 ] || n_crowd=0
holds() { find "/proc/$1/fd" -lname "$2" 2>/dev/null | grep -q .; }
for ((i = 0; i < n_crowd; i++)); do
	mkdir "$dir/crowd$i"
	cp "$dir/worse/$name" "$dir/crowd$i/$name"
	caller_begin "crowd$i" $((1000 + i)) gate2
	wait_until 100 holds "$counter" "$dir/crowd$i/$name" || fail "file $i of a crowd to be opened"
done
told() { [ "$(grep -c "^soprof: $dir/crowd.*symbol table" "$err")" = "$1" ]; }
[ "$n_crowd" = 0 ] || wait_until 100 told 7 || fail "7 of the crowd to be told, beside the one before them"
touch "$dir/gate2"
callers_end
end
[ "$n_crowd" = 0 ] || told 7 || fail "7 of the crowd to be told, and no more"
[ "$(calls_of "$good")" = 700 ] || fail "700 calls of the good file, not $(calls_of "$good"): $(cat "$out")"
library_of() { awk -F, -v p=",$1," 'NR > 1 && $2 == "called_mid" && $0 ~ p { print $3 }' "$out"; }
[ "$(calls_of "$forged")" = 80 ] && [ "$(library_of "$forged")" = libforged.so ] && [ "$(library_of "$good")" = libcalled.so ] ||
	fail "a forged build id to rename nobody's library: $(cat "$out")"
[ "$(calls_of "$next")" = 900 ] || fail "900 calls of the later file, not $(calls_of "$next"): $(cat "$out")"
[ "$(calls_of "$odd")" = 60 ] || fail "60 calls of the file with odd unwind information, not $(calls_of "$odd"): $(cat "$out")"
has "$err" '^soprof: 1 file that came later was probed'
if [ "$n_crowd" = 0 ]; then
	has "$err" '^soprof: 1 file that came later could not be probed'
else # the last of them may not be answered yet when soprof is told to end
	has "$err" '^soprof: (9|1[0-3]) files that came later could not be probed'
fi

# --- alone, it is a failure ---
expect 1 calls "$dir/bad/$name" 1
one_line "$dir/bad/$name: .*symbol table"
expect 1 calls "$dir/cut/$name" 1
one_line "$dir/cut/$name.* are cut off"

# --- as events ---
rm "$dir/gate2"
callers_begin
"$SOPROF" profile --max-overhead 0 -f -o "$dir/folded" -e "$name:called_mid" >"$out" 2>"$err" &
counter=$! what="profile -e $name:called_mid"
wait_until $((200 * slow)) probes 1 || fail "soprof to probe"
caller_begin worse 30 gate2
wait_until $((200 * slow)) holds "$counter" "$dir/worse/$name" || fail "the later file to be opened"
touch "$dir/gate2"
callers_end
kill -INT "$counter"
wait "$counter"
status=$?
[ "$status" = 0 ] || fail "exit code 0"
n=$(grep called_mid "$dir/folded" | awk '{ n += $NF } END { print n + 0 }')
[ "$n" = 760 ] || fail "760 calls of the files that can be read, not $n"
has "$err" "^soprof: $dir/bad/$name: .*symbol table.*: not probed, and 1 more file"
expect 1 profile -e "$dir/bad/$name:called_mid" -- true
one_line "$dir/bad/$name: .*symbol table"
finish
