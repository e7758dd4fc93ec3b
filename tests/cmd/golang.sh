#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# Go: stacks are complete, not guessed, with the right callers, also when the program is stripped or position-independent;
# names come from Go's own table and are those of the symbol table.
. "$(dirname "$0")/lib.bash"
need_profile
command -v go >/dev/null || skip "there is no go"
here=$(cd "$(dirname "$0")/.." && pwd -P)
export GOCACHE=$SOPROF_BUILD/go-cache GOFLAGS=-trimpath GO111MODULE=off
build() { (cd "$dir" && go build "${@:2}" -o "$1" "$here/victim/golang.go") || fail "golang.go to compile"; }

# check NAME: of the samples that were taken while its tables were there
check() {
	local lines whole wrong
	"$dir/$1" $((seconds + 30)) &
	pid=$!
	wait_working $pid
	expect 0 profile -U -f -F 499 -p $pid $seconds
	kill -KILL $pid
	says 'guessed 0 \('
	whole=$(tr -s ' \n' ' ' <"$err" | grep -oE 'complete [0-9]+ \([0-9]+' | grep -oE '[0-9]+$')
	[ "${whole:-0}" -ge 98 ] || fail "at least 98 % of the stacks to be complete, not ${whole:-none}"
	grep -E 'main\.leaf(;| )' "$out" >"$dir/leaf" || fail "samples in leaf"
	wrong=$(grep -cvE '^golang[^;]*;runtime\.goexit(\.abi0)?;main\.main\.func1;main\.\(\*worker\)\.run;(main\.recurse;){31}main\.leaf[; ]|\[Missed' "$dir/leaf")
	# the goroutine itself is interrupted: what comes above leaf is a signal's handler
	[ "$wrong" = 0 ] || fail "the callers of leaf, not $(grep -vE '(main\.recurse;){31}main\.leaf' "$dir/leaf" | head -n 2)"
	has_not "$out" "golang[^;]*\+0x"
	lines=$(grep -c 'runtime\.systemstack' "$out")
	say "$1: $(samples) samples, $whole % complete, $lines lines go over stacks"
}
build golang
check golang
build golang-s -ldflags '-s -w'
check golang-s
build golang-pie -buildmode=pie -ldflags '-s -w'
check golang-pie

finish
