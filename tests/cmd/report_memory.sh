#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# A small compressed file of which all stacks are distinct and deep: `report` and `diff` stop at 256 MiB and 128 times what
# they have read of the file, with one line, and never take more than 700 MB of address space. The same text unpacked is read.
. "$(dirname "$0")/lib.bash"
stacks() { awk -v n="$1" 'BEGIN { for (; k < 1000; k++) deep = deep "a;"; for (i = 0; i < n; i++) print deep "f" i " 1" }'; }
stacks 110000 | gzip >"$dir/bomb.gz"
[ "$(stat -c %s "$dir/bomb.gz")" -lt 2000000 ] || fail "a small file"

bounded() { # WHAT...: in 700 MB; libraries and code are some 60 of them
	what=$*
	(ulimit -v 700000 && exec "$SOPROF" "$@") >"$out" 2>"$err"
	status=$?
	[ "$status" = 1 ] || fail "exit code 1"
	one_line "^soprof: $1: .*bomb.gz: what is distinct in it takes more than (2[5-9]|3[0-9]|4[0-9])[0-9] MiB of memory after [0-9]+ KiB"
	[ ! -s "$out" ] || fail "nothing on stdout"
}
bounded report "$dir/bomb.gz"
bounded report --keep-going --format folded "$dir/bomb.gz"
bounded diff "$dir/bomb.gz" "$dir/bomb.gz"

# what is as distinct, but within the bound; and what was unpacked, of which there is as much text as memory
stacks 20000 | gzip >"$dir/small.gz"
expect 0 report "$dir/small.gz" --csv
[ "$(wc -l <"$out")" -gt 1 ] || fail "a report"
what='report -'
gzip -dc "$dir/bomb.gz" | "$SOPROF" report - --by function --csv -n 0 >"$out" 2>"$err"
[ "${PIPESTATUS[1]}" = 0 ] && [ "$(grep -c 'f[0-9]' "$out")" = 110000 ] || fail "all stacks, once they are unpacked"
finish
