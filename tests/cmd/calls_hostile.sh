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

# --- a crowd of them from the beginning ---
if [ "$n_crowd" != 0 ]; then
	for ((i = 0; i < n_crowd; i++)); do caller_begin "crowd$i" $((2000 + i)) gate3; done
	caller_begin good 600 gate3
	expect 0 calls --csv "$name:called_mid" 1
	told 8 || fail "8 of the crowd to be told"
	has "$err" '^soprof: 4 more files of the same name cannot be probed'
	touch "$dir/gate3"
	callers_end
fi

# --- files whose names of functions, of 30,000 letters and parts of each other, are more than there is room for ---
if [ "$slow" = 1 ] && [ -x /usr/bin/python3 ]; then
	what="calls of files with long names"
	{
		printf '.globl %s\n%s: ret\n' "$(printf '%032000d' 0 | tr 0 x)"{,}
		for ((i = 0; i < 1900; i++)); do
			printf '.globl f%d\n.type f%d,@function\nf%d: push %%rbp\nmov %%rsp,%%rbp\npop %%rbp\nret\n.size f%d,.-f%d\n' $i $i $i $i $i
		done
	} >"$dir/long.s"
	gcc -shared -nostdlib -s -o "$dir/long.so" "$dir/long.s" 2>"$dir/log" || fail "long.s to compile: $(head -n 3 "$dir/log")"
	cat >"$dir/long.py" <<'END'
import mmap, struct, sys, time
directory, name = sys.argv[1:]
image = bytearray(open(directory + '/long.so', 'rb').read())
at, = struct.unpack_from('<Q', image, 40)
n, = struct.unpack_from('<H', image, 60)
sections = [struct.unpack_from('<IIQQQQIIQQ', image, at + 64 * i) for i in range(n)]
for s in sections:
    if s[1] != 11:  # SHT_DYNSYM
        continue
    names = sections[s[6]]
    long = image.index(b'x' * 32000, names[4]) - names[4]
    for i in range(s[4], s[4] + s[5], 24):
        old, = struct.unpack_from('<I', image, i)
        if image[names[4] + old:names[4] + old + 1] == b'f':
            struct.pack_into('<I', image, i, long + (i - s[4]) // 24)
maps = []
for i in range(5):
    path = '%s/long%d/%s' % (directory, i, name)
    with open(path, 'wb') as f:
        f.write(image + bytes(i + 1))
    with open(path, 'rb') as f:
        maps.append(mmap.mmap(f.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
print('mapped', flush=True)
time.sleep(600)
END
	mkdir "$dir"/long{0,1,2,3,4}
	/usr/bin/python3 "$dir/long.py" "$dir" libsoprof-long.so >"$dir/mapped" &
	mapper=$!
	wait_until 100 grep -q mapped "$dir/mapped" || fail "files with long names to be mapped"
	expect 0 calls --csv libsoprof-long.so 1
	kill $mapper
	has "$err" "^soprof: $dir/long[0-4]/libsoprof-long.so: the names of its functions, with those before them, take more than 256 MiB"
	has "$err" '^soprof: 0 calls of [0-9]* functions in [1-5] files'
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

# --- more functions of one name than any program has ---
if [ "$slow" = 1 ] && [ -x /usr/bin/python3 ]; then
	awk 'BEGIN { for (i = 0; i < 270000; i++) { n = "f" i; printf ".type %s,@function\n%s: push %%rbp\nmov %%rsp,%%rbp\npop %%rbp\nret\n.size %s,.-%s\n", n, n, n, n } }' >"$dir/many.s"
	gcc -shared -nostdlib -o "$dir/many.so" "$dir/many.s" 2>"$dir/log" || fail "many.s to compile: $(head -n 3 "$dir/log")"
	/usr/bin/python3 - "$dir/many.so" <<'END'
import struct, sys
image = bytearray(open(sys.argv[1], 'rb').read())
at, = struct.unpack_from('<Q', image, 40)
n, = struct.unpack_from('<H', image, 60)
sections = [struct.unpack_from('<IIQQQQIIQQ', image, at + 64 * i) for i in range(n)]
symbols = next(s for s in sections if s[1] == 2)  # SHT_SYMTAB
names = sections[symbols[6]][4]
for i in range(symbols[4], symbols[4] + symbols[5], 24):
    if image[i + 4] & 15 == 2:  # STT_FUNC
        struct.pack_into('<I', image, i, image.index(b'\0f7\0', names) + 1 - names)
open(sys.argv[1], 'wb').write(image)
END
	expect 1 profile -e "$dir/many.so:f7" -- true
	one_line "$dir/many.so: more than 262144 places"
fi
finish
