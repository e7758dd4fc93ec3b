#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# soprof doctor --file: what it says of a file is what readelf says of it; files that are none get one line.
. "$(dirname "$0")/lib.bash"
libc=$(awk '/libc\.so\.6$|libc-.*\.so$/ { print $6; exit }' /proc/$$/maps)
field() { sed -n "s/^\"$1\":\"\{0,1\}\([^\",}]*\)\"\{0,1\}.*/\1/p" "$out"; }
is() { [ "$1" = "$2" ] || fail "$3: '$2', not '$1'"; }

# Text and JSON say the same.
expect 0 doctor --file "$libc"
has "$out" '^soname +libc\.so\.6$'
has "$out" '^unwinding +\.eh_frame covers [0-9]+ bytes, 9[0-9]\.[0-9] %, in [0-9]+ functions$'
rows=$(sed -n 's/^table  *\([0-9]*\) rows.*/\1/p' "$out")
expect 0 doctor -f "$libc" --json
is "$(field rows)" "$rows" "rows"
is "$(field soname)" libc.so.6 "soname"
is "$(field size)" "$(stat -L -c %s "$libc")" "size"
is "$(field path)" "$(readlink -f "$libc")" "path"
expect 0 doctor -f "$libc" --json -o "$dir/file"
[ ! -s "$out" ] || fail "nothing on stdout"
has "$dir/file" '"soname":"libc.so.6"'

# What readelf sees. Rows may hold for less than 16 bytes of padding behind an FDE; a program's entry point is told for
# 256 bytes if no FDE does.
if [ -x /usr/bin/python3 ] && command -v readelf >/dev/null; then
	for file in "$libc" "$SOPROF" "$(ldd "$SOPROF" | awk '/libz\.so/ { print $3 }')" "$(readlink -f /bin/bash)" \
		"$victims/plain/recursion" "$victims/plain/libplugin.so"; do
		expect 0 doctor --file "$file" --json
		/usr/bin/python3 - "$out" "$file" <<-'END' || fail "the numbers that readelf has for $file"
			import json, re, subprocess, sys
			said = json.load(open(sys.argv[1]))
			def readelf(*o):
			    return subprocess.run(("readelf", "-W") + o + (sys.argv[2],), capture_output=True, text=True).stdout
			sections = {}
			for m in re.finditer(r"^ *\[ *(\d+)\] (\S*) +(\S+) +([0-9a-f]{16}) (\w+) (\w+) \w+ +([A-Zlop]*) ", readelf("-S"), re.M):
			    sections[m[1]] = (m[2], m[3], int(m[4], 16), int(m[6], 16), m[7])
			code = {n: s for n, s in sections.items() if "A" in s[4] and "X" in s[4] and s[1] != "NOBITS"}
			wrong = []
			def same(key, value):
			    if said.get(key) != value:
			        wrong.append(f"{key}: {said.get(key)}, readelf says {value}")
			same("code_bytes", sum(s[3] for s in code.values()))
			same("build_id", re.search(r"Build ID: (\w+)", readelf("-n"))[1])
			soname = re.search(r"soname: \[(.*)\]", readelf("-d"))
			same("soname", soname[1] if soname else None)
			for key, option in (("symtab", "-s"), ("dynsym", "--dyn-syms")):
			    text = readelf(option)
			    if key == "symtab":
			        text = text[text.index(".symtab"):] if "'.symtab'" in text else ""
			    n = 0
			    for m in re.finditer(r"^ *\d+: ([0-9a-f]{16}) +\S+ (FUNC|IFUNC|NOTYPE) +\w+ +\w+ +(?:\[[^]]*\] )?(\d+) +(\S.*)$", text, re.M):
			        s = code.get(m[3])
			        n += bool(s and s[2] <= int(m[1], 16) < s[2] + s[3])
			    same(key, n)
			fdes = sorted((int(a, 16), int(b, 16)) for a, b in
			              re.findall(r"FDE cie=\w+ pc=([0-9a-f]+)\.\.([0-9a-f]+)", readelf("--debug-dump=frames")))
			fdes = [f for f in fdes if f[0] < f[1]]
			same("fdes", len(fdes))
			covered, padding, end = 0, 0, None
			for a, b in fdes:
			    if end is not None and 0 < a - end < 16:
			        padding += a - end
			    covered += max(b - max(a, end or 0), 0)
			    end = max(b, end or 0)
			if not covered <= said["eh_frame_bytes"] <= covered + padding + (256 if said.get("soname") is None else 0):
			    wrong.append(f"eh_frame_bytes: {said['eh_frame_bytes']}, readelf says {covered} to {covered + padding}")
			if not said["derived_bytes"] <= said["uncovered_bytes"] <= said["code_bytes"] - min(covered, said["eh_frame_bytes"]):
			    wrong.append("bytes that are derived, not covered, and of code")
			if abs(said["eh_frame_percent"] - 100 * said["eh_frame_bytes"] / said["code_bytes"]) > 0.01:
			    wrong.append("eh_frame_percent")
			for line in wrong:
			    print(line)
			sys.exit(bool(wrong))
		END
	done
fi

# No unwind information, and a debug file by its build id.
expect 0 doctor --file "$victims/plain/libnoeh.so" --json
[ "$(field eh_frame_bytes)" -lt "$(field code_bytes)" ] || fail "code that .eh_frame does not cover"
[ "$(field derived_functions)" -gt 0 ] && [ "$(field derived_rows)" -gt 0 ] || fail "derived rows and functions"
[ "$(field derived_bytes)" -gt 0 ] && [ "$(field derived_bytes)" -le "$(field uncovered_bytes)" ] || fail "derived bytes"
if command -v objcopy >/dev/null; then
	mkdir -p "$dir/debug/.build-id"
	cp "$victims/plain/libplugin.so" "$dir/whole.so"
	expect 0 doctor --file "$dir/whole.so" --json
	id=$(field build_id) n=$(field symtab)
	mkdir -p "$dir/debug/.build-id/${id:0:2}"
	objcopy --only-keep-debug "$dir/whole.so" "$dir/debug/.build-id/${id:0:2}/${id:2}.debug"
	objcopy --strip-all "$dir/whole.so" "$dir/bare.so"
	expect 0 doctor --file "$dir/bare.so" --json --debug-dir "$dir/debug"
	is "$(field symtab)" 0 "symbols of a stripped file"
	is "$(field debug_file)" "$dir/debug/.build-id/${id:0:2}/${id:2}.debug" "debug file"
	is "$(field debug_file_symtab)" "$n" "symbols of the debug file"
	echo broken >"$dir/debug/.build-id/${id:0:2}/${id:2}.debug"
	expect 0 doctor --file "$dir/bare.so" --json --debug-dir "$dir/debug"
	has "$out" '"debug_problem":.*not an ELF file'
	is "$(field debug_file)" "" "no debug file"
fi

# Frames that are counted from a register over calls: both callees of asm_kept leave it alone. One that does not.
expect 0 doctor --file "$victims/plain/assembly" --json
is "$(field register_calls) $(field unsure_register_calls)" '2 0' "calls and unsure calls"
expect 0 doctor --file "$victims/plain/assembly"
has "$out" '^registers +2 calls while'
has "$out" '^ +none of those that are called'
if command -v as >/dev/null && command -v ld >/dev/null; then
	cat >"$dir/unsure.s" <<-'END'
		.text
		f:	.cfi_startproc
			mov %rsp, %r11
			.cfi_def_cfa_register %r11
			sub $24, %rsp
			call g
			mov %r11, %rsp
			.cfi_def_cfa_register %rsp
			ret
			.cfi_endproc
		g:	.cfi_startproc
			xor %r11d, %r11d
			ret
			.cfi_endproc
	END
	as -o "$dir/unsure.o" "$dir/unsure.s" && ld -shared -o "$dir/unsure.so" "$dir/unsure.o"
	expect 0 doctor --file "$dir/unsure.so"
	has "$out" '^ +1 of them to code that may do so'
fi

# Without unwind information, and more than anybody would follow: that is said, and nothing else is claimed.
if command -v as >/dev/null && command -v ld >/dev/null; then
	echo '.text; .fill 33 << 20, 1, 0xc3' | as -o "$dir/large.o" && ld -shared -o "$dir/large.so" "$dir/large.o"
	expect 0 doctor --file "$dir/large.so" --json
	is "$(field left_out_bytes)" $((33 << 20)) "bytes that were not looked at"
	is "$(field uncovered_bytes)" $((33 << 20)) "bytes without unwind information"
	is "$(field derived_partial)" true "that there may be more"
	expect 0 doctor --file "$dir/large.so"
	has "$out" '^ +that is too much to follow \(at most 32 MiB'
	echo '.text; .fill 1 << 20, 1, 0xc3' | as -o "$dir/large.o" && ld -shared -o "$dir/large.so" "$dir/large.o"
	expect 0 doctor --file "$dir/large.so"
	has_not "$out" 'too much'
fi

# The cache: what a run has put there is found, and looking leaves no trace.
(
	export HOME=$dir/home XDG_CACHE_HOME=$dir/home/cache
	mkdir -p "$dir/home"
	"$SOPROF" doctor --file "$libc" --json | grep '^"cache":"'
	[ ! -e "$dir/home/cache" ] || echo "made $dir/home/cache"
) >"$dir/cache" 2>&1
has_not "$dir/cache" made
cp "$libc" "$dir/written"
chmod 666 "$dir/written"
expect 0 doctor --file "$dir/written" --json
is "$(field cache)" never "the cache of a file that others may write to"
is "$(field names_cache)" never "names of a file that others may write to"

# What is no such file: one line, and exit code 1.
bad() { # FILE PATTERN
	expect 1 doctor --file "$1"
	one_line "$2"
	[ ! -s "$out" ] || fail "nothing on stdout"
}
mkfifo "$dir/pipe"
: >"$dir/empty"
echo 'text that is long enough to be a header of sixty-four bytes, but is none' >"$dir/text"
head -c 5000 "$libc" >"$dir/short"
size=$(stat -L -c %s "$libc")
head -c $((size / 2)) "$libc" >"$dir/half"
head -c $((size - 1)) "$libc" >"$dir/nearly"
cp "$libc" "$dir/arm" && printf '\xb7' | dd of="$dir/arm" bs=1 seek=18 conv=notrunc status=none
cp "$libc" "$dir/bits" && printf '\x01' | dd of="$dir/bits" bs=1 seek=4 conv=notrunc status=none
head -c 70 "$libc" >"$dir/header"
bad "$dir/nothing" 'doctor: .*/nothing: No such file or directory'
bad "$dir" 'Is a directory'
bad "$dir/pipe" 'not a regular file'
bad /dev/null 'not a regular file'
bad "$dir/empty" 'not an ELF file'
bad "$dir/text" 'text: not an ELF file: stacks through code in it, if there is any, are guessed or cut$'
bad "$dir/header" 'program headers are cut off'
bad "$dir/short" 'truncated'
bad "$dir/half" 'truncated'
bad "$dir/nearly" 'truncated'
bad "$dir/arm" 'of another architecture'
bad "$dir/bits" 'not a 64-bit ELF file'
if is_root && command -v setpriv >/dev/null; then
	install -m 755 "$SOPROF" "$dir/soprof"
	cp "$libc" "$dir/secret"
	chmod 700 "$dir/secret"
	what='doctor --file, of a file that may not be read'
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all "$dir/soprof" doctor \
		--file "$dir/secret" >"$out" 2>"$err" </dev/null
	is $? 1 "exit code"
	one_line 'secret: Permission denied'
	# anybody may ask about what he can read
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all "$dir/soprof" doctor \
		--file "$libc" --json >"$out" 2>"$err" </dev/null
	is $? 0 "exit code"
	is "$(field rows)" "$rows" "rows, as nobody"
fi
# A list of files that dpkg's database has, with a line that is too long, costs what is in that line, and is told of once.
list=/var/lib/dpkg/info/base-files.list
if is_root && [ -r "$list" ] && unshare -m true 2>/dev/null; then
	{ cat "$list"; printf '/%020000d\n' 0; } >"$dir/list"
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$dir/list" "$list" \
		"$SOPROF" doctor --file "$libc" >"$out" 2>"$err" </dev/null
	is $? 0 "exit code"
	has "$out" '^package +libc6'
	one_line 'some packages are not known: 1 of dpkg.s file lists, or lines, cannot be read'
fi
expect 2 doctor --debug-dir /tmp
one_line 'debug-dir goes with --file'
expect 2 doctor --file
one_line 'needs a value: FILE'
finish
