#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# `soprof top`: its tables beside those of `soprof profile`; from its own samples, and from the agent's.
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
span=$((slow > 1 ? 6 : 2))
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
# The whole machine's are often of programs that have just begun: this one forks, and touches its pages anew.
bash -c 'for ((;;)); do read -rt 0.02 <> <(:); done' &
faulting=$!
expect 0 top --batch --over $span -e faults --limit 3 --process $faulting
kill $faulting
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
at_ease "$victim"
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
at_ease $!
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
finish
