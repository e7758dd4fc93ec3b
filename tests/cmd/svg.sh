#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# The flame graph is well-formed XML and works in a browser (clicks, search, address, dark, without scripts, hostile
# names): Debian's chromium without a window, driven by svg.mjs.
set -u
here=$(dirname "$(readlink -f "$0")")
data=$here/../data/view
skip() { echo "$*"; exit 77; }
command -v chromium >/dev/null || skip "needs chromium"
command -v node >/dev/null || skip "needs nodejs"
command -v xmllint >/dev/null || skip "needs libxml2-utils"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir HOME=$dir

# Stacks 300 deep and names as long as C++ has them.
frames=$(seq -f 'libdeep.so.1`recurse_into_level_%g' -s ';' 300)
long=$(printf 'std::vector<std::pair<int, long>, %.0s' $(seq 60))
printf '%s\tdeep\t%s\t\n%s\tcxx\tlibcxx.so`main;libcxx.so`%s\t\n1\tsh\tdash`main\t\n' 900 "$frames" 7000 "$long" >"$dir/deep.stacks"
# Three thousand stacks a hundred deep that share nothing but their thread and the first frame.
awk 'BEGIN { for (i = 0; i < 3162; i++) { s = "a.so`shared"; for (k = 0; k < 100; k++) s = s ";lib" k % 7 ".so`f" i "_" k; printf "%d\tmany\t%s\t\n", 1 + i % 50 + 900 * (i % 97 == 0), s } }' >"$dir/many.stacks"
# Frames of 0.01 px each, three thousand of them.
awk 'BEGIN { print "100000\tfew\ta.so`heavy\t"; for (i = 0; i < 3000; i++) printf "1\tfew\ta.so`heavy;lib%d.so`light_%d;libc.so`memcpy;libc.so`light\t\n", i % 9, i }' >"$dir/few.stacks"
builder=${SOPROF_BUILD:-$here/../../build}/tests/unit/view-svg
[ -x "$builder" ] || { echo "no $builder; build it first"; exit 1; }
for name in deep many few; do "$builder" "$dir/$name.stacks" "$dir/$name.svg" || exit 1; done

bad=0
for svg in "$data"/svg-*.svg "$dir"/*.svg; do
	xmllint --noout --nonet "$svg" || { echo "FAILED $svg is not well-formed"; bad=1; }
done
node "$here/svg.mjs" "$(command -v chromium)" "$data" "$dir/deep.svg" "$dir/many.svg" "$dir/few.svg" || bad=1
exit $bad
