#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# Go: stacks are whole, with the right callers, or a mark, also when the program is stripped or position-independent;
# names come from Go's own table and are those of the symbol table.
. "$(dirname "$0")/lib.bash"
need_profile
command -v go >/dev/null || skip "there is no go"
here=$(cd "$(dirname "$0")/.." && pwd -P)
export GOCACHE=$SOPROF_BUILD/go-cache GOFLAGS= GO111MODULE=off # with -trimpath Go would build the library that it brings
build() { (cd "$dir" && go build "${@:2}" -o "$1" "$here/victim/golang.go") || fail "golang.go to compile"; }

# check NAME: of the samples that were taken while its tables were there
check() {
	local lines whole wrong
	"$dir/$1" $((seconds + 30)) &
	pid=$!
	wait_working $pid
	at_ease $pid
	expect 0 profile -U -f -F 1999 -p $pid $seconds
	kill -KILL $pid
	# Who has asked for another stack is known, also up to Go 1.20; marked is where the goroutine's register is lost.
	guessed=$(tr -s ' \n' ' ' <"$err" | grep -oE 'guessed [0-9]+' | grep -oE '[0-9]+$')
	over=$(awk '/;runtime\.(systemstack|asmcgocall)[^;]*[; ]/ && !/\[(cut|Missed)/ { n += $NF } END { print n + 0 }' "$out")
	all_over=$((all_over + over))
	[ "${guessed:-none}" -le $((over / 10 + 2)) ] || fail "nearly no guessed stack of $over that go over to another, not ${guessed:-none}"
	skipped=$(awk '/runtime\.goexit(\.abi0)?;runtime\.systemstack/ { n += $NF } END { print n + 0 }' "$out")
	[ "$skipped" -le "${guessed:-0}" ] || fail "who calls systemstack to be skipped in guessed stacks ($guessed) alone, not in $skipped"
	whole=$(tr -s ' \n' ' ' <"$err" | grep -oE 'complete [0-9]+ \([0-9]+' | grep -oE '[0-9]+$')
	[ "${whole:-0}" -ge 98 ] || fail "at least 98 % of the stacks to be whole, not $whole"
	grep -E 'main\.leaf(;| )' "$out" >"$dir/leaf" || fail "samples in leaf"
	wrong=$(grep -cvE '^golang[^;]*;runtime\.goexit(\.abi0)?;main\.main\.func1;main\.\(\*worker\)\.run;(main\.recurse;){31}main\.leaf[; ]|\[Missed' "$dir/leaf")
	# the goroutine itself is interrupted: what comes above leaf is a signal's handler
	[ "$wrong" = 0 ] || fail "the callers of leaf, not $(grep -vE '(main\.recurse;){31}main\.leaf' "$dir/leaf" | head -n 2)"
	has_not "$out" "golang[^;]*\+0x"
	lines=$(grep -c 'runtime\.systemstack' "$out")
	say "$1: $(samples) samples, $whole % whole, $lines lines go over stacks"
}
all_over=0
build golang
check golang
build golang-s -ldflags '-s -w'
check golang-s
build golang-pie -buildmode=pie -ldflags '-s -w'
check golang-pie
[ "$all_over" -gt 0 ] || fail "stacks that go over to another"

# Calls are counted; their ends are not probed, since stacks move
if is_root; then
	"$dir/golang" 30 &
	pid=$!
	wait_working $pid
	expect 0 calls --csv "$dir/golang:main.leaf" 1
	awk -F, -v pid=$pid 'NR == 2 && $7 == pid && $8 > 0 { ok = 1 } END { exit !ok }' "$out" || fail "calls of main.leaf: $(cat "$out")"
	kill -KILL $pid
	expect 2 calls --latency "$dir/golang:main.leaf" 1
	one_line "golang: a Go program's stacks move.*leave out --latency"
	expect 2 profile -e "$dir/golang:main.leaf{retval}" -- true
	one_line "golang: a Go program's stacks move.*no retval"
fi

# Where a child is made, which shares the stack until it runs its program, the return address is in a register.
cat >"$dir/spawn.go" <<'END'
package main

import "os/exec"

func main() {
	for {
		exec.Command("/bin/true").Run()
	}
}
END
(cd "$dir" && go build -o spawn spawn.go) || fail "spawn.go to compile"
"$dir/spawn" &
pid=$!
wait_working $pid
for time in $seconds $((4 * seconds)) $((16 * seconds)); do
	expect 0 profile -U -f -F 1999 -p $pid "$time"
	grep 'syscall\.rawVforkSyscall' "$out" >"$dir/fork" && break
done
kill -KILL $pid
grep -q ';syscall\.forkExec;.*;syscall\.rawVforkSyscall[^;]*$' "$dir/fork" || fail "stacks in which children are made"
wrong=$(grep -v ';syscall\.forkExec;' "$dir/fork")
[ -z "$wrong" ] || fail "who makes children, not: $(head -n 2 <<<"$wrong")"
say "spawn: $(awk '{ n += $NF } END { print n }' "$dir/fork") samples while children are made"

# C's functions, which Go's own linker lists without a table, are walked by their code.
cat >"$dir/names.go" <<'END'
package main

import "os/user"

func main() {
	for {
		user.Lookup("nobody")
	}
}
END
(cd "$dir" && CGO_ENABLED=1 go build -ldflags '-s -w' -o names names.go) || fail "names.go to compile"
"$dir/names" &
pid=$!
wait_working $pid
expect 0 profile -U -f -F 499 -p $pid $seconds
kill -KILL $pid
read -r all whole < <(awk '/Cfunc_mygetpwnam/ { n += $NF; if (/;os\/user\.Lookup;.*Cfunc_mygetpwnam/) w += $NF }
	END { print n + 0, w + 0 }' "$out")
[ "$all" -ge 20 ] && [ "$whole" -ge $((all * 98 / 100)) ] || fail "98 % of $all stacks through C to be whole, not $whole"
say "names: $whole of $all stacks through C are whole"
finish
