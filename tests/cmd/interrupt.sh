#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 200
# beside others
# Ctrl-C and SIGTERM end the sampling at once, and what was sampled is printed.
. "$(dirname "$0")/lib.bash"
need_profile
start plain recursion 600 20
wait_working "$pid"
at_ease "$pid"

# stop SIGNAL ARGUMENT...: soprof in the background, ended by the signal
stop() {
	local signal=$1 job began
	shift
	what="$* (ended by $signal)"
	# a background job of a script ignores SIGINT; a terminal's does not
	(trap - INT; exec env --default-signal=INT "$SOPROF" "$@") >"$out" 2>"$err" </dev/null &
	job=$!
	wait_sampling $job
	sleep 1
	began=$SECONDS
	kill -"$signal" "$job"
	wait "$job"
	status=$?
	[ $((SECONDS - began)) -lt $((60 * slow)) ] || fail "to end at the signal, not $((SECONDS - began)) s later"
	[ "$status" = 0 ] || fail "exit code 0"
}
stop INT profile -U -f -F 199 -p "$pid"
check_victim plain recursion --samples 5 --complete 99
stop TERM profile -U -f -F 199 -p "$pid" 600
check_victim plain recursion --samples 5 --complete 99
has "$err" 'recursion'
# one that is interrupted before it has begun leaves no mess either
(exec env --default-signal=INT timeout -s INT 0.05 "$SOPROF" profile -f 5) >"$out" 2>"$err" </dev/null
[ "$(grep -c 'assert\|Segmentation\|Sanitizer' "$err")" = 0 ] || fail "a clean end"
# Ctrl-C at the terminal reaches the command too: its end is awaited, its code passed on
what='profile -- CMD (Ctrl-C)'
(exec env --default-signal=INT setsid "$SOPROF" profile -U -f -F 199 -- "$victims/plain/recursion" 600 20) \
	>"$out" 2>"$err" </dev/null &
job=$!
wait_sampling $job
for ((i = 0; i < 300; i++)); do
	child=$(pgrep -P $job -x recursion) && break
	sleep 0.1
done
wait_working "$child"
sleep $seconds
kill -INT -- -$job # of a session of its own, as Ctrl-C at a terminal
wait $job
status=$?
[ "$status" = 130 ] || fail "the command's exit code, 130"
check_victim plain recursion --samples 5 --complete 99
finish
