#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# The wall clock is set an hour back and two on while soprof samples: it samples as long as it was told, and says so;
# every slice of the time is there.
. "$SOPROF_SOURCE/tests/cmd/lib.bash"
start plain callback 600
what="profile -p $pid 8 (while the clock is set)"
began=$(awk '{ print $1 }' /proc/uptime)
"$SOPROF" profile -F 99 -p "$pid" -o "$dir/x.pb.gz" 8 >"$out" 2>"$err" </dev/null &
job=$!
wait_sampling $job
sleep 1
date -s '-1 hour' >/dev/null
sleep 2
date -s '+2 hours' >/dev/null
wait $job
status=$?
date -s '-1 hour' >/dev/null
took=$(awk -v began="$began" '{ print $1 - began }' /proc/uptime)
[ "$status" = 0 ] || fail "exit code 0"
says 'samples +[0-9]+ in ([89]|1[0-9])\.[0-9]* s'
awk -v took="$took" 'BEGIN { exit !(took >= 8 && took < 600) }' || fail "8 seconds of sampling, not $took"
expect 0 report --json "$dir/x.pb.gz"
n=$(sed -n 's/.*"samples": *\([0-9]*\).*/\1/p' "$out" | head -n 1)
# of 792, where the emulated CPU had the real one all the time; sampling that had ended at a change had 300 at most
[ "${n:-0}" -ge 350 ] || fail "samples of all the time: $n"
finish
