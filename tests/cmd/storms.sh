#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 100
# Children that live 5 ms: by fork, and by exec, of a command and seen from the whole machine.
. "$(dirname "$0")/lib.bash"
need_profile

profile_victim plain storm --samples 10 --complete 97 -- fork
profile_victim stripped storm --samples 10 --complete 97 -- fork
profile_victim plain storm --samples 10 --complete 90 -- exec
profile_victim static storm --samples 10 --complete 90 -- exec
for time in 2 $((3 * seconds)) $((6 * seconds)); do # a busy machine gives some functions no sample in 2 s
	start stripped storm 600 exec # anew: on a quiet machine its 2,000 children have gone after 5 s
	expect 0 profile -U -f -F 199 "$time"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	! enough_samples stripped storm --comm storm || break
done
check_victim stripped storm --comm storm --samples 10 --complete 90
finish
