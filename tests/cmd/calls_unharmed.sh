#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# Programs that print, fail and end as without us while their calls are counted (tests/full/calls_unharmed.sh runs more).
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
. "$(dirname "$0")/calls_programs.bash"
count_into "$dir/libc.profile" site libc.so.6
compare_all 'bash|python|python-ctypes|perl|sqlite|text|sort-random|openssl|exec-static|limits|seccomp|setuid|gdb-run|strace'
count_into "$dir/six.profile" object "${six[@]}"
compare_all 'python|perl|sqlite|g\+\+|openssl'
[ "$n_run" -ge 12 ] || fail "12 runs, not $n_run; left out: ${left_out[*]}"
[ "$("$calls_file" rows "$dir/libc.profile" | wc -l)" -gt 1000 ] || fail "rows of libc"
finish
