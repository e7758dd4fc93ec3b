#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# beside others
# The screen of `soprof top`, driven by keys in a terminal (tmux).
. "$(dirname "$0")/lib.bash"
need_root
need_profile
command -v tmux >/dev/null || skip "there is no tmux"
start plain plt 600
victim=$pid
wait_working "$victim"
at_ease "$victim"

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
screen | grep -q 'CPU time' && fail "no CPU time over waits"
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
at_ease $!
"$dir/図書館図書館" 600 </dev/null >/dev/null 2>&1 &
at_ease $!
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
