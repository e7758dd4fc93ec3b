#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# Programs that print, fail and end as without us while their calls are counted (tests/full/calls_unharmed.sh runs more).
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
. "$(dirname "$0")/calls_programs.bash"
some='bash|python|python-ctypes|perl|sqlite|g\+\+|text|sort-random|openssl|exec-static|limits|seccomp|setuid|coreutils|gdb-run|strace'
count_into "$dir/libc.profile" site libc.so.6
compare_all "$some"
count_into "$dir/six.profile" object "${six[@]}"
compare_all "$some"
[ "$n_run" -ge 20 ] || fail "20 runs, not $n_run; left out: ${left_out[*]}"
[ "$("$calls_file" rows "$dir/libc.profile" | wc -l)" -gt 1000 ] || fail "rows of libc"
finish
