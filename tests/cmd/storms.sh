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
start stripped storm 600 exec
expect 0 profile -U -f -F 199 2
check_victim stripped storm --comm storm --samples 10 --complete 90
finish
