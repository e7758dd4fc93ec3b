#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where functions are probed, beside what we did not write: objdump's instructions, readelf's notes, the kernel's own answer,
# the counts of a victim, of the functions' entries, and of callgrind. And that a probe elsewhere does what we say it does.
# deadline: 240
# beside others
. "$(dirname "$0")/lib.bash"
there=$SOPROF_BUILD/tests/unit/probe
points=$there/points count=$there/count victim=$there/victim
libraries=/usr/lib/x86_64-linux-gnu
export PYTHONDONTWRITEBYTECODE=1
what=points

# --- beside objdump and readelf ---

for library in libz.so.1 libcrypto.so.3 libc.so.6 libstdc++.so.6; do
	[ -e "$libraries/$library" ] || continue
	python3 "$SOPROF_SOURCE/tests/probe/boundaries.py" "$points" "$libraries/$library" inner >"$out" 2>"$err" ||
		fail "places in $library to be those of objdump: $(head -n 3 "$out")"
	tail -n 1 "$out"
done
for library in "$libraries/libstdc++.so.6" /usr/bin/python3; do
	LC_ALL=C readelf -nW "$library" 2>/dev/null |
		awk '/Provider:/ { provider = $NF } /Name:/ { name = $NF } /Location:/ { print provider, name }' | sort >"$dir/told"
	"$points" usdt "$library" 2>"$err" | awk '$1 != "marks" { print $3, $4 }' | sort >"$dir/found"
	[ -s "$dir/told" ] && cmp -s "$dir/told" "$dir/found" || fail "the marks of $library to be those of readelf"
done

# --- beside the kernel ---

"$count" check "$there/made.so" >"$out" 2>"$err"
status=$?
[ "$status" != 77 ] || { [ "$n_failed" = 0 ] && skip "this kernel has no uprobe_multi, or keeps it from us: $(cat "$err")"; finish; }
grep -qx 'taken 28; of those left out it refuses 2, takes 0' "$out" || fail "the kernel to agree about made.so: $(cat "$out")"
for library in libz.so.1 libcrypto.so.3 libc.so.6 libstdc++.so.6; do
	cp "$(readlink -f "$libraries/$library")" "$dir/$library" # nobody else maps the copy
	"$count" check "$dir/$library" >"$out" 2>"$err" || fail "the kernel to take all points of $library"
	grep -q ', takes 0$' "$out" || fail "the kernel to refuse what is left out of $library: $(cat "$out")"
done

# --- what a victim counts ---

cp "$there/made.so" "$dir"
"$victim" "$dir/made.so" >"$dir/ledger" || fail "the victim to be well without probes"
"$count" "$dir/made.so" "$victim" "$dir/made.so" >"$out" 2>"$err" || fail "the victim to be well with all its points probed"
# Names of one place add up; `falls` falls into `fallen_into`, `chosen_elsewhere` may be what `frames` calls.
awk -v loops_to_entry=8 '
	NF == 2 && !/broken/ { calls[$1] = $2 }
	NF > 5 || (NF == 5 && $1 ~ /^[0-9]+$/) {
		n = 0
		for (i = 6; i <= NF; i++) { n += calls[$i]; seen[$i] = 1 }
		if ($6 == "fallen_into") n += calls["falls"]
		if ($6 == "chosen_elsewhere") n += calls["frames"]
		if ($6 == "enters_short" || $6 == "enters_long") n = calls[$6]
		if ($4 == "loops") n *= loops_to_entry
		if ($6 != "" && $2 != n) { print $6, "counted", $2, "not", n; bad = 1 }
	}
	END {
		for (name in calls) if (!(name in seen) && name != "chosen") { print name, "is not counted"; bad = 1 }
		exit bad
	}' "$dir/ledger" "$out" >"$dir/wrong" || fail "the victim's counts: $(cat "$dir/wrong")"

# A probe where none is put: what happens then. at FUNCTION BYTES PATTERN: the victim's last lines match.
at() {
	local function offset
	function=$("$points" "$dir/made.so" 2>/dev/null | awk -v name="$1" '{ for (i = 6; i <= NF; i++) if ($i == name) print $2 }')
	[ -n "$function" ] || function=$(LC_ALL=C readelf --dyn-syms -W "$dir/made.so" | awk -v name="$1" '{ sub(/@.*/, "", $8) } $8 == name { print $2 }')
	offset=$(printf '%x' $((0x$function + $2)))
	"$count" at "$offset" "$dir/made.so" "$victim" "$dir/made.so" >"$out" 2>"$err"
	status=$?
	grep -qE "$3" "$out" || fail "a probe $2 bytes behind $1 to lead to '$3', not $(tail -n 2 "$out")"
}
at data_typed 0 '^data is broken'
at text_in_code 8 '^data is broken'
at zeros_in_code 0 '^data is broken'
at inside 0 '^met 0$'
[ "$status" != 0 ] || fail "a victim with a probe inside an instruction to die"
at jumps_by_table 17 '^met 2000$' # the branch: twice a call
at entered_short 5 '^met 350$'    # with the calls of enters_short
at entered_long 5 '^met 390$'

# --- entries and points, and callgrind ---

cat >"$dir/z.py" <<'END'
import zlib
d = bytes((i * i * 7919 >> 5) % 11 for i in range(6000))
for level in range(10):
    assert zlib.decompress(zlib.compress(d, level)) == d
for s in (zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FILTERED, zlib.Z_FIXED):
    c = zlib.compressobj(6, zlib.DEFLATED, -15, 8, s)
    o = c.compress(d) + c.flush(zlib.Z_SYNC_FLUSH) + c.copy().flush()
    u = zlib.decompressobj(-15)
    u.decompress(o[:1000], 100)
    u.copy()
zlib.adler32(d), zlib.crc32(d)
END
python=(python3 -I -S "$dir/z.py")
export PYTHONHASHSEED=0 LD_LIBRARY_PATH=$dir
"$count" "$dir/libz.so.1" moved "${python[@]}" >"$out" 2>"$err" || fail "python to work with two breakpoints in each function"
awk '$1 != $2 { exit 1 } END { exit NR < 10 }' "$out" || fail "moved points of libz to be passed as often as functions are entered"
sha() { openssl dgst -sha256 "$dir/libz.so.1" && openssl genpkey -algorithm ed25519; }
export -f sha
export dir
"$count" "$dir/libcrypto.so.3" moved bash -c sha >"$out" 2>"$err" || fail "openssl to work with two breakpoints in each function"
# An entry that the kernel refuses (a lock prefix) is never met, but its point is.
grep -E '^[0-9]+ [0-9]+ ' "$out" | awk '$1 != $2 && $1 != 0 { exit 1 } $1 == $2 { n++ } END { exit n < 300 }' ||
	fail "moved points of libcrypto to be passed as often as functions are entered: $(grep -E '^[0-9]+ [0-9]+ ' "$out" |
		awk '$1 != $2 && $1 != 0' | head -n 3)"
grep -cE '^[0-9]+ [0-9]+ ' "$out" | sed 's/$/ functions of libcrypto: as many points passed as entries/'

if command -v valgrind >/dev/null; then
	valgrind --tool=callgrind --callgrind-out-file="$dir/callgrind" "${python[@]}" >/dev/null 2>&1 || fail "callgrind to run"
	"$count" "$dir/libz.so.1" "${python[@]}" >"$out" 2>"$err" || fail "python to work with probes in libz"
	python3 - "$dir/callgrind" "$out" <<'END' || fail "counts of libz to be callgrind's"
import re, sys
names, calls, called = {}, {}, None
for line in open(sys.argv[1]):
    found = re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line)
    if found and found[2]:
        names[found[1]] = found[2]
    if found and line[0] == "c":
        called = found[1]
    elif line.startswith("calls=") and called:
        calls[called] = calls.get(called, 0) + int(line[6:].split()[0])
total = {}
for number, n in calls.items():
    name = names[number].split("'")[0]
    total[name] = total.get(name, 0) + n
counted = {}
for line in open(sys.argv[2]):
    word = line.split()
    if len(word) > 5 and word[0].isdigit():
        counted[word[5]] = int(word[1])
wrong = [f"{n}: counted {c}, callgrind {total.get(n)}" for n, c in counted.items() if total.get(n) != c]
print(f"{len(counted)} functions of libz, {sum(counted.values())} calls: {len(wrong)} differ from callgrind", *wrong)
sys.exit(len(wrong) > 0 or len(counted) < 15)
END
fi
finish
