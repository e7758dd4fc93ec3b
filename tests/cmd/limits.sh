#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 100
# Small tables, little memory, high rates: what is lost is counted and said, and what is shown is right.
. "$(dirname "$0")/lib.bash"
need_profile
start plain callback 600
callback=$pid
start stripped recursion 600 60
wait_working "$callback" "$pid"
at_ease "$callback" "$pid"

expect 0 profile -U -f -F 999 --hash-storage-size 2 --stack-storage-size 2 -p "$callback" $seconds
has "$err" '(hash-storage-size|stack-storage-size|lost)'
"$victims/check" --comm callback "$victims/plain" callback <"$out" >"$dir/check" || grep -q 'never appeared' "$dir/check" || fail "what is left to be right"
grep -qE '[1-9][0-9]* with a wrong caller|[1-9][0-9]* bare' "$dir/check" && fail "no wrong caller: $(cat "$dir/check")"
expect 0 profile -U -f -F 199 --max-memory 1M $((3 * seconds))
check_victim plain callback --comm callback --samples 20
expect 0 profile -U -f -F 4999 -p "$callback,$pid" $seconds
check_victim plain callback --comm callback --samples 40 --complete 99
check_victim stripped recursion --comm recursion --samples 40 --complete 99
expect 0 profile -U -f -c 1000000 -p "$callback" $seconds
check_victim plain callback --samples 10 --complete 99
run profile -e cycles -F 99 -p "$callback" $seconds
case $status in
0) ;;
*) one_line 'cycles' ;;
esac
finish
