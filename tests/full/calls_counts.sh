#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1800
# Calls into zlib, lzma, sqlite3 and crypto from outside, as counted, and as valgrind's callgrind counts them
# (calls_entries.sh compares with uprobes).
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/../cmd/calls.bash"
command -v valgrind >/dev/null && [ -x /usr/bin/python3 ] || skip "valgrind or python3 is not installed"
export LC_ALL=C PYTHONHASHSEED=0
seq 20000 >"$dir/data"

# What other files call in the file NAME: function calls. callgrind compresses names: (id) name at first, (id) after.
from_outside() { # NAME
	awk -v wanted="$1" '
		function name(s, seen,   id) {
			id = s; sub(/\).*/, ")", id)
			if (s ~ /\) /) { sub(/^[^)]*\) /, "", s); seen[id] = s }
			return seen[id]
		}
		/^ob=/ { ob = name(substr($0, 4), objects) }
		/^fn=/ { fn = name(substr($0, 4), functions); cob = ob }
		/^cob=/ { cob = name(substr($0, 5), objects); next }
		/^cfn=/ { cfn = name(substr($0, 5), functions) }
		/^calls=/ {
			split(substr($0, 7), n, " ")
			if (cob != ob && cob ~ wanted) { f = cfn; sub(/\x27.*/, "", f); sum[f] += n[1] }
			cob = ob
		}
		END { for (f in sum) print f, sum[f] }' "$2" | sort
}

equal() { # LIBRARY COMMAND...: all functions that both name must agree, but for those that are called by address, too
	local library=$1 n
	shift
	what="$library: $*"
	rm -f "$dir/now.profile"
	count_into "$dir/now.profile" object "$library"
	counted "$@" >"$dir/counted.out" 2>"$err" </dev/null
	valgrind --tool=callgrind --callgrind-out-file="$dir/callgrind" "$@" >"$dir/valgrind.out" 2>"$err" </dev/null ||
		fail "a run under valgrind"
	cmp "$dir/counted.out" "$dir/valgrind.out" || fail "the same output"
	"$calls_file" rows "$file" | awk -F '\t' -v me="/$library\$" '$4 !~ me { n[$2] += $3 } END { for (f in n) print f, n[f] }' |
		sort >"$dir/ours"
	"$calls_file" marks "$file" | sort >"$dir/marks"
	from_outside "/${library%%.so*}[.-]" "$dir/callgrind" >"$dir/theirs"
	join "$dir/ours" "$dir/theirs" >"$dir/both"
	join -v 1 <(awk '$2 != $3 { print $1 }' "$dir/both") "$dir/marks" >"$dir/unequal"
	[ ! -s "$dir/unequal" ] || { join "$dir/unequal" "$dir/both"; fail "the same counts"; }
	join -v 2 "$dir/ours" "$dir/theirs" | join -v 1 - "$dir/marks" | grep -v -e '^0x' -e '^_init' -e '^_fini' -e '^(below' \
		-e '^frame_dummy' -e '^__do_global' >"$dir/missing"
	n=$(wc -l <"$dir/both")
	say "$library: $n functions, $(awk '{ n += $2 } END { print n }' "$dir/both") calls equal; not in ours: $(paste -sd ' ' <"$dir/missing")"
	[ "$n" -ge 3 ] || fail "3 functions at least"
}
equal libz.so.1 /usr/bin/python3 -S -c 'import zlib; d = open("'"$dir/data"'", "rb").read(); c = zlib.compressobj(6); x = b"".join(c.compress(d[i:i+100]) for i in range(0, len(d), 100)) + c.flush(); print(len(x), zlib.crc32(d), zlib.adler32(d), zlib.decompress(x) == d)'
equal liblzma.so.5 xz -T1 -1 -c "$dir/data"
equal liblzma.so.5 /usr/bin/python3 -S -c 'import lzma; c = lzma.LZMACompressor(preset=1); x = b"".join(c.compress(b"%d" % i) for i in range(3000)) + c.flush(); print(len(x), len(lzma.decompress(x)))'
equal libsqlite3.so.0 /usr/bin/python3 -S -c 'import sqlite3; c = sqlite3.connect(":memory:"); c.execute("create table t(a, b)"); c.executemany("insert into t values(?, ?)", ((i, str(i * i)) for i in range(2000))); print(c.execute("select count(*), sum(a), max(b) from t where a % 7 = 1").fetchall())'
equal libcrypto.so.3 /usr/bin/python3 -S -c 'import _hashlib; print([_hashlib.new(n, b"x" * k).hexdigest()[:8] for n in ("sha256", "sha1", "md5") for k in range(200)])'
finish
