#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# A file of calls whose words others turn while programs count into it: a child that gave up root keeps its mapping and
# writes random words (tests/victim/calls/scribble.c). Its parent, and others that count into that file meanwhile, run as
# if nothing was counted; `report` of what is left says what is wrong with it, or shows it.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
command -v gcc >/dev/null || skip "needs gcc"
is_root || skip "only root can give up its rights"
from=$SOPROF_SOURCE/tests/victim/calls
flags=(-O1 -w -D_GNU_SOURCE)
gcc "${flags[@]}" -shared -fPIC -Wl,-soname,libcounted.so -o "$dir/libcounted.so" "$from/libcounted.c"
gcc "${flags[@]}" -shared -fPIC -Wl,-z,now -fno-plt -o "$dir/plugin.so" "$from/libcallsplugin.c" "$dir/libcounted.so" -Wl,-rpath,"$dir"
gcc "${flags[@]}" -Wl,-z,now -o "$dir/scribble" "$from/scribble.c" "$dir/libcounted.so" -Wl,-rpath,"$dir"

for depth in site object-process site-process; do
	what="scribble, $depth"
	rm -f "$dir/a.profile"
	count_into "$dir/a.profile" "$depth" libcounted.so
	counted timeout 40 "$dir/scribble" "$file" "$dir/plugin.so" "${SCRIBBLE_MS:-4000}" >"$out" 2>"$err" &
	victim=$!
	n=0
	while kill -0 "$victim" 2>/dev/null; do # all others that have the same file, each of which begins anew
		counted timeout 20 "$dir/scribble" "" "$dir/plugin.so" 1 >/dev/null 2>"$dir/err2"
		[ $? = 0 ] && [ ! -s "$dir/err2" ] || fail "another that ends as always: $(cat "$dir/err2")"
		n=$((n + 1))
	done
	wait "$victim"
	status=$?
	[ "$status" = 0 ] && [ ! -s "$err" ] && grep -qE '^[1-9][0-9]* rounds$' "$out" || fail "a parent that ends as always"
	say "$depth: $(cat "$out"), $n others"
	run report "$file"
	[ "$status" = 0 ] || { [ "$status" = 1 ] && one_line "(damaged|not a file|version)"; } || fail "a report, or what is damaged"
done
finish
