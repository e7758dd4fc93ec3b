#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 900
# The HTML report in a browser: what it shows is what the stacks say (flame graph, zoom, search, libraries, callers,
# matrix, folds, differences, a range of the recording's time), the keyboard, dark, without scripts, hostile names; the page's size and speed. Debian's
# chromium without a window, driven by tests/web/html.mjs.
set -u
here=$(dirname "$(readlink -f "$0")")
skip() { echo "$*"; exit 77; }
command -v chromium >/dev/null || skip "needs chromium"
command -v node >/dev/null || skip "needs nodejs"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir HOME=$dir
make=${SOPROF_BUILD:-$here/../../build}/tests/unit/view-html
[ -x "$make" ] || { echo "no $make; build it first"; exit 1; }
stacks=$here/../data/view/svg-demo.stacks

# Random stacks of few functions: what one file of real ones may not have.
awk 'function waker(w, k) {
	if (rand() < 0.8) return ""
	w = w "[waker]`--"
	for (k = rand() * 4; k > 0; k--) w = w ";lib" int(1 + rand() * 4) ".so`f" int(rand() * 4)
	return w ";[waker]`rouser" int(rand() * 2)
}
BEGIN {
	srand(7); print "#samples/count"; print "#calls/count"
	for (i = 0; i < 60; i++) {
		n = int(rand() * 9); stack = ""
		for (k = 0; k < n; k++) {
			l = int(rand() * 4)
			stack = stack (k ? ";" : "") (rand() < 0.1 ? "?" : "") (l ? "lib" l ".so" : "") "`f" int(rand() * 4)
		}
		kernel = rand() < 0.2 ? "[kernel]`k1;[ext4]`k2" : ""
		printf "%d,%d\tthread%d\t%s%s\t%s\n", rand() < 0.3 ? 0 : 1 + rand() * 50, rand() < 0.3 ? 0 : 1 + rand() * 900, rand() * 3, \
			n && rand() < 0.1 ? "~" : "", stack, kernel waker(kernel != "" ? ";" : "")
	}
}' >"$dir/random.stacks"
printf '7\tdeep\t%s\t\n' "$(seq -f 'libdeep.so`libdeep.so.1+0x%.0f' -s ';' 100001 100060)" >"$dir/places.stacks"
"$make" stacks "$dir/places.stacks" "$dir/places.html" || exit 1
"$make" stacks "$dir/random.stacks" "$dir/random.html" && "$make" stacks "$stacks" "$dir/demo.html" && "$make" stacks "$here/../web/diff.stacks" "$dir/diff.html" &&
	"$make" stacks /dev/null "$dir/empty.html" && "$make" hostile "$dir/hostile.html" &&
	"$make" big 100000 30 "$dir/big.html" || exit 1
# Two recordings that differ in bursts and in one library, with times (slices) and without (counts), as soprof compares
# them: what the page calls noise is what the table does.
recording() { # SEED KIND
	awk -v seed="$1" -v kind="$2" 'BEGIN {
		srand(seed)
		for (i = 0; i < 6000; i++) {
			if (i % 100 == 0) at = int(rand() * 12)
			l = rand() < 0.5 ? at : int(rand() * 12); f = int(rand() * 6); g = int(rand() * 3)
			if (seed == 2 && rand() < 0.1) l = 12
			if (kind == "counts") n["app;main [/bin/app];g" g " [/lib/lib" (l + 1) % 13 ".so];f" f " [/lib/lib" l ".so]"]++
			else printf "app 1 %.6f: cycles:\n\t%x f%d+0x0 (/lib/lib%d.so)\n\t%x g%d+0x0 (/lib/lib%d.so)\n\t10 main+0x0 (/bin/app)\n\n",
				i / 200 + 1, 4096 + f * 16, f, l, 8192 + g * 16, g, (l + 1) % 13
		}
		for (s in n) print s, n[s]
	}'
}
soprof=${SOPROF_BUILD:-$here/../../build}/soprof
for kind in counts slices; do
	recording 1 $kind >"$dir/old.$kind" && recording 2 $kind >"$dir/new.$kind" || exit 1
	"$soprof" diff -o "$dir/$kind.html" "$dir/old.$kind" "$dir/new.$kind" || exit 1
	for by in library function; do
		"$soprof" diff --by $by -o "$dir/$kind-$by.json" "$dir/old.$kind" "$dir/new.$kind" || exit 1
	done
done
"$soprof" report -o "$dir/timed.html" "$dir/old.slices" || exit 1
# Several events: samples that are of either, waits in the kernel, memory.
printf '%s\n' '#samples/count' '#cpu/nanoseconds' '#offcpu/nanoseconds' '#live_bytes/bytes' >"$dir/several.stacks"
printf '%s\t%s\t%s\t%s\n' 5,5000000,0,0 app 'libbusy.so`work' '' 9,0,9000000000,0 app 'app`main;libslow.so`wait' '[kernel]`schedule' \
	3,0,1000000000,0 app 'app`main;libaway.so`wait' '[kernel]`schedule' 2,0,0,4096 app 'libbusy.so`make' '' >>"$dir/several.stacks"
"$make" stacks "$dir/several.stacks" "$dir/several.html" || exit 1
sed 's/"paths":"..../"paths":"/' "$dir/demo.html" >"$dir/broken.html"

bad=0
check() { if [ "$2" = "$3" ]; then echo "ok $1"; else echo "FAILED $1: $2, wanted $3"; bad=1; fi; }

# The page without its data, in bytes.
size=$(sed '/id="data">/,/^<\/script>/d' "$dir/demo.html" | wc -c)
echo "   $size bytes without data"
check "the page is less than 100 KB" "$((size < 100000))" 1
# The policy's hashes are those of the script and the style, as openssl has them.
between() { awk -v from="$1" -v to="$2" 'BEGIN { RS = "\001" } { a = substr($0, index($0, from) + length(from)); printf "%s", substr(a, 1, index(a, to) - 1) }' "$dir/demo.html"; }
digest() { openssl dgst -sha256 -binary | base64; }
policy=$(grep -o 'script-src .sha256-[^;]*; style-src .sha256-[^;]*' "$dir/demo.html")
check "the policy is for this script and this style" "$policy" \
	"script-src 'sha256-$(between '<script>' '</script>' | digest)'; style-src 'sha256-$(between '<style>' '</style>' | digest)'"
check "and for nothing else" "$(grep -cE "unsafe-|https?://|\*" <<<"$(grep -m 1 'Content-Security-Policy' "$dir/demo.html")")" 0

node "$here/../web/html.mjs" "$(command -v chromium)" "$stacks" "$here/../web/diff.stacks" "$dir" || bad=1
exit $bad
