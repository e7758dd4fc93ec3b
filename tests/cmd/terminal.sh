#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# What a person sees on a terminal: the overview, and the recordings that are kept for `soprof report last`; in a pipe, and
# with an option of bcc's layout, the stacks as bcc prints them. Colours only where they are wanted.
. "$(dirname "$0")/lib.bash"
need_profile
start stripped kernel 600
wait_working "$pid"
at_ease "$pid"
home=$dir/home
mkdir "$home"
kept=$home/.local/state/soprof

# In a terminal of 100 columns, or $columns: $out is what it shows, with \r and without escape sequences in $dir/plain.
on_terminal() { # COMMAND
	HOME=$home TERM=${term:-xterm} script -qec "stty cols ${columns:-100} rows 50; $1" "$out" </dev/null >/dev/null
	code=$?
	sed -e '1d' -e 's/\x1b\[[0-9;]*[mK]//g; s/\r//g' "$out" >"$dir/plain"
}

on_terminal "'$SOPROF' profile -F 499 -p $pid 1"
[ $code = 0 ] || fail "exit code 0, not $code: $(tail -n 3 "$dir/plain")"
has "$dir/plain" "^Sampling at 499 Hertz of PID \\[$pid\\] by user"
has "$dir/plain" 'self %  total %  library +package'
has "$dir/plain" '^ *[0-9.]+  +[0-9.]+  \[kernel\]'
has "$dir/plain" 'libc\.so\.6 +libc6 2\.'
has "$dir/plain" 'self %  function \[library\] <- its main caller'
has "$dir/plain" '^ *[0-9.]+  [^ ]+ .*<- .* \([0-9]+ %\)'
has "$dir/plain" 'share %  the heaviest stack'
has "$dir/plain" '^ *[0-9.]+  kernel > .* > '
has "$dir/plain" '^stacks +complete '
has "$dir/plain" '^next +soprof report last -o x.html'
has "$dir/plain" '~/\.local/state/soprof/'
n=$(wc -l <"$dir/plain")
[ "$n" -le 60 ] || fail "at most 60 lines, not $n"
has "$out" $'\x1b\\[1m'

# the recording has what was shown
total=$(sed -nE 's/^.*cpu: .* in ([0-9]+) samples.*/\1/p' "$dir/plain")
[ "$total" -gt 20 ] || fail "samples, not '$total'"
HOME=$home expect 0 report last --by library
has "$out" "in $total samples"
has "$out" 'libc\.so\.6'
(cd "$dir" && HOME=$home "$SOPROF" report last -o x.html) || fail "report last -o x.html"
has "$dir/x.html" '<html'
HOME=$home expect 0 report last --by package
has "$out" 'libc6'

# the other tables fit a screen, too, and say what may be done next; with -n, and in a pipe, they are as before
awk 'BEGIN { for (i = 0; i < 300; i++) { n = i == 7 ? 90000 : 10000; print "a;main [/bin/a];f" i " [l" i ".so] " n } }' >"$dir/old.folded"
awk 'BEGIN { for (i = 0; i < 300; i++) { n = i % 2 ? 90000 : 10000; print "a;main [/bin/a];f" i " [l" i ".so] " n } }' >"$dir/new.folded"
narrow() { # what was shown is no wider than the terminal
	local longest
	longest=$(grep -vE '^(Script done|soprof: )' "$dir/plain" | LC_ALL=C.UTF-8 wc -L)
	[ "$longest" -le "$columns" ] || fail "$1 in $columns columns, not $longest: $(grep -E ".{$((columns + 1))}" "$dir/plain" | head -n 2)"
}
fits() { # LINES of what was shown are at most those of the screen, and the last ones say what to do
	n=$(wc -l <"$dir/plain")
	[ "$n" -le 52 ] || fail "$1 to fit 50 lines, not $n"
	tr -s ' \n' ' ' <"$dir/plain" >"$dir/words"
	has "$dir/words" " next $2"
}
# a matrix: names are cut in the middle where that helps, and a column that has no room is named
printf '%s\n' 'a;main [/usr/bin/a-program-of-a-long-name];libsomething.so.1+0x123450 [libsomething.so.1];leaf [libother_library.so.2.0.0] 9' >"$dir/m.folded"
for columns in 200 80 60; do
	on_terminal "'$SOPROF' report --by matrix '$dir/m.folded'"
	narrow matrix
	case $columns in
	200) has "$dir/plain" ' 9  libother_library\.so\.2\.0\.0  libsomething\.so\.1 +leaf' ;;
	80) has "$dir/plain" '  libother_library\.so\.2\.0\.0 |  libother_[a-z]*….*\.0\.0 ' ;;
	60) has "$dir/plain" 'lib…\+0x123450$' && has "$dir/plain" '^without room: samples' ;;
	esac
done
columns=80
mkdir "$dir/apart"
on_terminal "'$SOPROF' diff --noise '$dir/old.folded' '$dir/new.folded'"
narrow diff
has "$dir/plain" '^~ = within noise$'
for option in --no-times --latency; do
	home=$dir/apart on_terminal "'$SOPROF' calls $option libc.so.6 -- bash -c :"
	narrow "calls $option"
	has "$dir/plain" '^ *[0-9]+ .* [a-z_]+ \*?'
done
unset columns
on_terminal "'$SOPROF' diff --noise '$dir/old.folded' '$dir/new.folded'"
fits diff 'soprof diff -o x.svg .*'
on_terminal "'$SOPROF' diff --noise -n 100 '$dir/old.folded' '$dir/new.folded'"
[ "$(grep -cE 'l[0-9]+\.so$' "$dir/plain")" = 100 ] || fail "100 rows, as asked for"
expect 0 diff --noise "$dir/old.folded" "$dir/new.folded"
[ "$(grep -cE 'l[0-9]+\.so$' "$out")" = 40 ] || fail "40 rows in a pipe"
has_not "$err" '^next'
on_terminal "'$SOPROF' libs -s 0"
fits libs 'soprof libs .* \(its processes\), soprof profile -l '
home=$dir/apart on_terminal "'$SOPROF' calls --no-times libc.so.6 -- bash -c :"
fits calls 'soprof report ~/.local/state/soprof/calls/libc\.so\.6\.last\.profile \(again; -n 0: all of it\)'
has "$dir/plain" 'more functions$'
has_not "$dir/plain" 'again: soprof'
home=$dir/apart on_terminal "'$SOPROF' calls --no-times -n 0 libc.so.6 -- bash -c :"
[ "$(wc -l <"$dir/plain")" -gt 60 ] || fail "all rows with -n 0"

# bcc's layout in a pipe, and with its options; nothing is kept of these
HOME=$home expect 0 profile -p "$pid" 1
has "$out" '^    -                kernel \('
has_not "$err" '^next'
for option in -d -a -f -v -A; do
	on_terminal "'$SOPROF' profile $option -p $pid 1"
	has_not "$dir/plain" 'its main caller'
done
on_terminal "'$SOPROF' profile --format text -p $pid 1"
has "$dir/plain" '^    -                kernel \('
on_terminal "'$SOPROF' profile --by process -p $pid 1"
has "$dir/plain" 'self %.* process$'
[ "$(find "$kept" -type f | wc -l)" = 1 ] || fail "one recording, not: $(ls "$kept")"

# the last few are kept, the latest first
for i in 1 2 3 4 5 6 7; do
	touch -d "2001-01-0$i" "$kept/2001010$i-000000.1.pb.gz"
done
touch "$kept/not-ours.pb.gz"
on_terminal "'$SOPROF' profile -F 99 -p $pid 1"
[ "$(find "$kept" -name '20*' | wc -l)" = 5 ] || fail "five recordings, not: $(ls "$kept")"
[ -e "$kept/not-ours.pb.gz" ] || fail "other files to stay"
[ -e "$kept/20010107-000000.1.pb.gz" ] && [ ! -e "$kept/20010104-000000.1.pb.gz" ] || fail "the oldest to go: $(ls "$kept")"
HOME=$home expect 0 report last-1
has "$out" "in $total samples"
HOME=$home expect 1 report last-9
has "$err" 'has 5 recordings: soprof profile keeps what it shows on a terminal'
HOME=$dir/nobody expect 1 report last
has "$err" 'has 0 recordings'
cp "$(find "$kept" -name '20*' | sort | tail -n 1)" "$dir/last"
(cd "$dir" && HOME=$dir/nobody "$SOPROF" report last >/dev/null) || fail "a file of the name 'last' to be read"

# a home that is not the user's own: told, and no more
mkdir "$dir/others"
chown 12345:12345 "$dir/others"
home=$dir/others on_terminal "'$SOPROF' profile -p $pid 1"
[ $code = 0 ] || fail "exit code 0, not $code"
tr -s ' \n' ' ' <"$dir/plain" >"$dir/words"
has "$dir/words" "the recording is not kept: .*others is not this user's alone"
[ -z "$(ls -A "$dir/others")" ] || fail "nothing in another user's home"

# no escape sequences where they are not wanted
on_terminal "NO_COLOR=1 '$SOPROF' profile -p $pid 1"
has_not "$out" $'\x1b\\[[0-9]*m'
term=dumb on_terminal "'$SOPROF' profile -p $pid 1"
has_not "$out" $'\x1b'
term=dumb on_terminal "'$SOPROF' report last"
has_not "$out" $'\x1b'
# --- top: meters of CPUs, bars and the last minute, in characters that the terminal has; a table where it cannot be drawn on
on_screen() { # LOCALE COLUMNS: $out, and without escape sequences $dir/plain
	HOME=$home LC_ALL=$1 TERM=screen script -qec "stty cols $2 rows 30; '$SOPROF' top --interval 1 -n 3 -F 199" "$out" </dev/null >/dev/null ||
		fail "top on a terminal: $(tail -n 3 "$out")"
	sed -E $'s/\x1b[[(][0-9;?]*[a-zA-Z]|\x0f//g' "$out" >"$dir/plain"
	has "$dir/plain" '0\[[|: ]*[0-9]+%\]'
	has "$dir/plain" 'last minute'
}
on_screen C 120
has_not "$dir/plain" '[^ -~[:cntrl:]]|\?\?'
has "$dir/plain" '[0-9]\.[0-9][0-9] *[#=-]+[^-#=]'
has "$out" $'\x1b\\[3[123]m'
on_screen C.UTF-8 120
has "$dir/plain" '▁|▂|▃|▄|▅|▆|▇|█'
NO_COLOR=1 on_screen C 80
has_not "$out" $'\x1b\\[3[0-9]m'
term=dumb on_terminal "'$SOPROF' top --over 1 -F 199"
has "$dir/plain" '^self % +total % +ms/s '
has_not "$out" $'\x1b'
finish
