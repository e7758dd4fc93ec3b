#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 180
# The html and svg views and the agent's page as axe-core judges them, the checker of accessibility: of npm, for this test
# alone. In Debian's chromium without a window, driven by tests/web/axe.mjs.
set -u
here=$(dirname "$(readlink -f "$0")")
skip() { echo "$*"; exit 77; }
for program in chromium node npm; do
	command -v $program >/dev/null || skip "needs $program"
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && timeout 60 npm pack --silent axe-core@4.14.1 >/dev/null && tar xzf axe-core-4.14.1.tgz package/axe.min.js) || skip "axe-core cannot be fetched"
export TMPDIR=$dir HOME=$dir TZ=UTC
build=${SOPROF_BUILD:-$here/../../build}
stacks=$here/../data/view/svg-demo.stacks end=1763730000
"$build/tests/unit/view-html" stacks "$stacks" "$dir/demo.html" || exit 1
awk 'BEGIN { for (i = 0; i < 200; i++) printf "app 7/7 %.6f: cycles:\n\t10 f%d+0x0 (/bin/app)\n\n", 1 + i / 50, i % 3 }' |
	"$build/soprof" report -o "$dir/timed.html" - || exit 1
awk -v end=$end 'BEGIN {
	for (t = end - 10800; t < end; t += 10) {
		if (t >= end - 7200 && t < end - 6600) continue
		print t, 100, "nginx", 33, "/system.slice/nginx.service", "main@nginx;write@libssl.so.3;aes@libcrypto.so.3", 200 + (t / 10) % 7
		print t, 100, "nginx", 33, "/system.slice/nginx.service", "main@nginx;deflate@libz.so.1", t < end - 3600 ? 100 : 180
		print t, 200, "python3", 1000, "/user.slice", "main@python3;eval@libpython3.so;memcpy@libc.so.6;page_fault@[kernel]", 50
	}
	print "gap", end - 7200, end - 6600, "suspended"
	print "event", end - 3600, "upgrade", "libz.so.1", "libz.so.1 was upgraded"
}' | "$build/tests/cmd/fill" "$dir/store" || exit 1
node "$here/../web/axe.mjs" "$(command -v chromium)" "$dir/package/axe.min.js" "$dir/demo.html" "$dir/timed.html" "$here/../data/view/svg-demo.svg" \
	"$build/tests/unit/agent-api" "$dir/store" $end
