#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# The agent's page in a browser, over a store whose rows are known: the token, picking ranges with the mouse, keys and
# a finger, zoom into what was not sent at first, search, filters, differences, events, live, dark, a phone's screen,
# hostile names. Debian's chromium without a window, driven by tests/web/page.mjs.
set -u
here=$(dirname "$(readlink -f "$0")")
skip() { echo "$*"; exit 77; }
command -v chromium >/dev/null || skip "needs chromium"
command -v node >/dev/null || skip "needs nodejs"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir HOME=$dir TZ=UTC
build=${SOPROF_BUILD:-$here/../../build}
for program in "$build/tests/unit/agent-api" "$build/tests/cmd/fill"; do
	[ -x "$program" ] || { echo "no $program; build it first"; exit 1; }
done

# Three hours before $end, of windows of 10 s; twenty minutes were not sampled, and after two hours libz was upgraded.
end=1763730000
awk -v end=$end 'BEGIN {
	begin = end - 10800
	for (t = begin; t < end; t += 10) {
		if (t >= begin + 3600 && t < begin + 4800) continue
		print t, 100, "nginx", 33, "/system.slice/nginx.service", "main@nginx;write@libssl.so.3;aes@libcrypto.so.3", 200 + (t / 10) % 7
		print t, 100, "nginx", 33, "/system.slice/nginx.service", "main@nginx;deflate@libz.so.1", t < begin + 7200 ? 100 : 180
		print t, 200, "python3", 1000, "/user.slice", "main@python3;eval@libpython3.so;memcpy@libc.so.6;page_fault@[kernel]", 50
		print t, 200, "python3", 1000, "/user.slice", "main@python3;eval@libpython3.so;memcpy@libc.so.6", 80
		for (i = 0; i < 9; i++)
			print t, 100, "nginx", 33, "/system.slice/nginx.service", "main@nginx;spread@libwide.so;leaf_" (t / 10 * 9 + i) % 400 "@libwide.so", 5
		print t, 300, "<b>bold</b>", 0, "/<i>", "\"><img/src=x/onerror=alert(1)>@</script><script>alert(2)</script>.so", 3
		print t, 300, "<b>bold</b>", 0, "/<i>", "abc\342\200\256txt.exe@evil\033[31m.so", 4
	}
	print "gap", begin + 3600, begin + 4800, "suspended"
	print "event", begin + 7200, "upgrade", "libz.so.1", "libz.so.1 was upgraded <img/src=x/onerror=alert(3)>"
}' >"$dir/rows"
"$build/tests/cmd/fill" "$dir/store" <"$dir/rows" || exit 1
# The page is one file, and small: it is sent compressed, which is what counts.
size=$("$build/tests/unit/agent-api" page | tail -n +3 | gzip -9 | wc -c)
[ "$size" -lt 40000 ] || { echo "FAILED the page is sent as $size bytes, not less than 40,000"; exit 1; }
node "$here/../web/page.mjs" "$(command -v chromium)" "$build/tests/unit/agent-api" "$dir" $end
