#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 180
# `soprof top`: its tables beside those of `soprof profile`, and its screen, driven by keys in a terminal (tmux).
. "$(dirname "$0")/lib.bash"

# --- mistakes
expect 2 top --by nonsense
one_line 'nonsense'
expect 2 top --interval 0
expect 1 top --batch --agent --socket "$dir/none.sock"
one_line "^soprof: top: no agent answers at $dir/none.sock; sudo soprof agent starts one\$"
expect 1 top --batch --socket "$dir/none.sock" # who names an agent's socket means it: nothing else is shown instead
one_line "^soprof: top: no agent answers at $dir/none.sock; sudo soprof agent starts one\$"
: >"$dir/file.sock"
expect 1 top --batch --socket "$dir/file.sock"
one_line "^soprof: top: no agent answers at $dir/file.sock; "
if is_root; then
	cp "$SOPROF" "$dir/soprof"
	chmod 755 "$dir/soprof"
fi
if is_root && [ ! -S /run/soprof/agent.sock ]; then # else an agent might answer
	what='top (as nobody)'
	setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/soprof" top >"$out" 2>"$err"
	status=$?
	[ "$status" = 3 ] || fail "exit code 3 for nobody"
	one_line "cannot sample: .*; and no agent answers at /run/soprof/[a-z.]+\$"
fi
need_profile

# --- tables: a victim that is known, beside another program's view of it
start plain plt 600
victim=$pid
span=$((slow > 1 ? 6 : 3))
# share COLUMN-PATTERN: the first column of the row that matches
share() { pattern=$1 awk '$0 ~ ENVIRON["pattern"] { print int($1); exit }' "$2"; } # gawk reads \[ in -v as [
near() {
	local a b
	a=$(share "$2" "$dir/top") b=$(share "$2" "$dir/profile")
	[ -n "$a" ] && [ -n "$b" ] && ((a - b < 15 && b - a < 15)) || fail "$1: top says ${a:-nothing} %, profile ${b:-nothing} %"
}
expect 0 top --batch --over $span -F $hz --process "$victim"
cp "$out" "$dir/top"
has "$dir/top" '^soprof top: libraries by self, samples of [0-9]+$'
has "$dir/top" "^last [0-9]+ s: [0-9.]+ CPUs busy, [0-9]+ samples, lost [0-9]+, own sampling at $hz Hz on [0-9]+ CPU"
has "$dir/top" '^soprof itself [0-9.]+ % of a CPU; stacks: [0-9.]+ % complete(, [0-9.]+ % (cut|guessed|without))*$'
has "$dir/top" '^self % +total % +ms/s +samples .*library$'
expect 0 profile -F $hz -p "$victim" --format table --by library $span
cp "$out" "$dir/profile"
near 'the library' 'libplt\.so$'
near 'the program' ' plt$'
# --- other costs
unguarded=1
expect 0 top --batch --over $span -e offcpu --process "$victim" --limit 3
has "$out" '^soprof top -e offcpu: libraries by total, samples of [0-9]+$'
has "$out" '^last [0-9]+ s: [0-9.]+ threads waiting, [0-9]+ samples, lost [0-9]+, own sampling$'
has "$out" '^self % +total % +ms/s +samples .*library$'
expect 0 top --batch --over $span -e faults --limit 3
has "$out" '^last [0-9]+ s: [0-9.]+ faults a second, [0-9]+ samples'
has "$out" '^self % +total % +per second +samples .*library$'
# from the first picture on stacks are whole: the tables are there before
has "$out" 'stacks: [0-9.]+ % complete'
cut=$(sed -nE 's/.*stacks: .* ([0-9]+)\.[0-9] % cut.*/\1/p' "$out")
[ "${cut:-0}" -lt 10 ] || fail "few stacks cut, not $cut %"
expect 2 top -e cpu,offcpu
one_line 'top shows one event, not cpu,offcpu'
expect 2 top -e offcpu --agent
one_line "--event is for top's own sampling"
expect 2 top -e offcup
one_line 'did you mean offcpu'
expect 0 top --batch --over $span -F $hz --process "$victim" --by functions --sort name
cp "$out" "$dir/top"
expect 0 profile -F $hz -p "$victim" --format table --by function $span
cp "$out" "$dir/profile"
for function in plt_leaf plt_first plt_third; do
	near "$function" " $function \\[libplt"
done
sed '1,/^self %/d' "$dir/top" | grep -oE 'plt_(first|leaf|second|third) ' >"$dir/names"
LC_ALL=C sort -c "$dir/names" || fail "functions in the order of their names"
# every table has all lines; the second is of both windows
expect 0 top --batch --interval 1 --over 60 --count 2 --limit 1 --by processes
[ "$(grep -c '^self %' "$out")" = 2 ] || fail "two tables"
has "$out" '^and [0-9]+ more$'
n=($(sed -n 's/.* busy, \([0-9]*\) samples.*/\1/p' "$out"))
[ "${#n[@]}" = 2 ] && ((n[1] > n[0])) || fail "a second table of more samples than the first: ${n[*]}"

# --- the agent's samples
is_root || finish
mkdir "$dir/a"
printf 'frequency: 49\ngroup: none\n' >"$dir/a/agent.yaml"
"$SOPROF" agent --config "$dir/a/agent.yaml" --store "$dir/a/store" --socket "$dir/a/sock" >"$dir/a/out" 2>"$dir/a/log" </dev/null &
agent=$!
cp "$victims/plain/frames" "$dir/" # nobody may not reach the build directory
chmod 755 "$dir/a" "$dir/frames"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
"${nobody[@]}" "$dir/frames" 600 </dev/null >/dev/null 2>&1 &
wait_agent "$agent" "$dir/a/log"
tries=60
until run top --batch --agent --socket "$dir/a/sock" --by processes && grep -q ' plt$' "$out" && grep -q ' frames$' "$out"; do
	[ $((tries -= 1)) -gt 0 ] || { fail "the agent to have seen both victims"; cat "$out"; break; }
	sleep 1
done
has "$out" ', by the agent at 49 Hz on [0-9]+ CPU'
has_not "$out" 'own processes'
what='top (as nobody, by the agent)'
tries=60
until # where a window has just begun, its few samples may be of the others
	"${nobody[@]}" "$dir/soprof" top --socket "$dir/a/sock" --batch --by processes >"$out" 2>"$err"
	status=$?
	[ "$status" != 0 ] || grep -q ' frames$' "$out" || [ $((tries -= 1)) = 0 ]
do
	sleep 1
done
[ "$status" = 0 ] || fail "an answer for nobody"
has "$out" '^own processes only \(uid 65534\), last '
has "$out" ' frames$'
has_not "$out" ' plt$'
kill -TERM "$agent"
wait "$agent"

# --- the screen
command -v tmux >/dev/null || { say "no tmux: tables only"; finish; }
export LC_ALL=C.UTF-8
n_open=0
tmux() { command tmux -f /dev/null -S "$dir/tmux$n_open" "$@" 2>"$dir/tmux.err"; }
trap 'tmux kill-server; leave' EXIT
screen() { tmux capture-pane -p -t top; }
shows() {
	local tries=$((200 * slow))
	until screen | grep -qE -- "$1"; do
		[ $((tries -= 1)) -gt 0 ] || { fail "the screen to show: $1"; screen | sed 's/^/  screen: /'; finish; }
		sleep 0.1
	done
}
keys() { tmux send-keys -t top "$@"; }
# open OPTION...: top in a terminal of its own; what ends it is told below it
open() {
	what="top $*"
	tmux kill-server
	n_open=$((n_open + 1)) # a server that ends is still there for a while
	tmux new-session -d -s top -x 100 -y 30 "stty -g >$dir/before; $SOPROF top $*; echo ended with \$?; stty -g >$dir/after; exec cat"
}
# given_back CODE: the terminal is as it was before
given_back() {
	shows "^ended with $1\$"
	for ((i = 0; i < 50; i++)); do [ -s "$dir/after" ] && break; sleep 0.1; done
	cmp -s "$dir/before" "$dir/after" || fail "the terminal's settings as they were"
	[ "$(tmux display-message -p -t top '#{alternate_on}#{cursor_flag}')" = 01 ] || fail "the terminal's first screen and its cursor"
	rm -f "$dir/after"
}
# of_top: the program's process id
of_top() { pgrep -P "$(tmux display-message -p -t top '#{pane_pid}')" -x soprof; }

open --interval 1 --process "$victim"
shows '^soprof top: libraries by self, samples of'
shows ' libplt\.so'
keys n
shows '^soprof top: libraries by name'
keys t
shows '^soprof top: libraries by total'
keys 2
shows '^soprof top: functions by total'
shows 'plt_leaf \[libplt'
keys / plt_se
shows '^filter: plt_se_'
keys Enter
shows '^filtered by plt_se, 1 row;'
screen | grep -q plt_leaf && fail "filtered rows only"
keys Enter
shows '^soprof top: who calls plt_second \[libplt'
shows '  < caller \[plt\]'
shows '  < plt_first \[libplt'
keys c
shows '^soprof top: what is called by plt_second'
shows '  > plt_third \[libplt'
keys Escape
shows '^soprof top: functions by total'
keys 1
shows ' libplt\.so'
keys / libplt Enter
shows '^filtered by libplt'
keys Enter
shows '^soprof top: who calls libplt'
shows ' main \[plt\]'
keys 3
shows '^soprof top: processes by total'
shows " $victim +plt\$"
keys Enter
shows '^soprof top: libraries of plt'
shows ' libplt\.so'
keys Escape
keys p
shows '^PAUSED'
keys p
keys '?'
shows '^q +quit'
keys x
shows '^soprof top: processes'
# 80 columns show what soprof takes, as narrow as terminals get, and back
tmux resize-window -t top -x 80 -y 24
shows '^soprof itself [0-9.]+ % of a CPU; stacks: '
keys 2
tmux resize-window -t top -x 40 -y 12
shows 'caller \[plt'
shows '^Enter open.*…$'
[ "$(screen | wc -L)" -le 40 ] || fail "lines of at most 40 columns"
tmux resize-window -t top -x 3 -y 2
sleep 0.3
tmux resize-window -t top -x 120 -y 40
shows 'plt_leaf \[libplt'
keys q
given_back 0

# of waits nothing is called CPU time; the head is of soprof itself
open --interval 1 -e offcpu
shows '^last [0-9]+ s: [0-9.]+ threads waiting, '
keys '?'
shows "^self % +of threads' time: in itself"
screen | grep -q CPU && fail "no CPU time over waits"
keys x q
given_back 0

for signal in TERM INT HUP; do
	open --interval 1
	shows '^last [0-9]+ s'
	kill -$signal "$(of_top)"
	given_back 0
done
open --interval 1
shows '^last [0-9]+ s'
kill -SEGV "$(of_top)"
given_back 139
open --count 2 --interval 1
given_back 0

# names that would do harm, and wide ones
hostile=$(printf 'e\033[31mv\302\233il\377')
cp "$victims/plain/plt" "$dir/$hostile"
cp "$victims/plain/plt" "$dir/図書館図書館"
cp "$victims/plain/libplt.so" "$dir/" 2>/dev/null
"$dir/$hostile" 600 </dev/null >/dev/null 2>&1 &
"$dir/図書館図書館" 600 </dev/null >/dev/null 2>&1 &
open --interval 1 --by processes
shows 'e\\x1b\[31mv\\xc2\\x9bil\\xff'
shows '図書館'
screen | grep -q '31mv' && tmux capture-pane -p -e -t top | grep -q $'\033\\[31mv' && fail "no escapes of names' own"
keys q
given_back 0
# where characters are bytes, others than ASCII do not get there
LC_ALL=C open --interval 1 --by processes
shows '\?\?\?\?\?'
screen | grep -q 図 && fail "ASCII only"
keys q
given_back 0
finish
