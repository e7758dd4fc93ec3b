#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# profile --list: what it says of each event is what profile does, as root and as nobody; its tracepoints are the kernel's.
. "$(dirname "$0")/lib.bash"
here() { awk -v e="$1" '$1 == e && $4 ~ /^(yes|own|no)$/ { print $4 }' "$2"; }
cp "$SOPROF" "$dir/soprof" # nobody may not reach the build directory
mkdir "$dir/src" && cp -r "$SOPROF_BUILD/src/audit" "$dir/src"
as_nobody() {
	local from=$1
	shift
	(cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all --bounding-set -all "$from/soprof" "$@")
}

# Each row has a name, a unit, a cost or none, an answer and words; each answer but "yes" has its reason below.
rows() {
	awk 'NR == 1 { next } /^(yes|own|no|SYSTEM:EVENT): |^offcpu, / { exit } { print }' "$1"
}
check_rows() {
	local name unit cost answer rest
	while read -r name unit cost answer rest; do
		[[ $unit =~ ^(ns|count|bytes)$ && $cost =~ ^([0-9]+\.[0-9]|-)$ && $answer =~ ^(yes|own|no)$ && -n $rest ]] ||
			fail "a row, not: $name $unit $cost $answer $rest"
		[ "$answer" = yes ] || grep -qE "^$answer: (.*, )?$name(, .*)?: ." "$1" || fail "the reason why $name is '$answer'"
	done < <(rows "$1")
}
expect 0 profile --list
cp "$out" "$dir/list"
check_rows "$dir/list"
for event in cpu offcpu locks faults mem cpu-clock task-clock cycles page-faults context-switches SYSTEM:EVENT LIBRARY:FUNCTION; do
	[ -n "$(here $event "$dir/list")" ] || fail "a row of $event"
done
# What long waits alone cost is said where waits can be had; the words fit a terminal of 80 columns.
min='^offcpu, wall, locks: what is shorter than --min costs ([0-9.]+ us|as much \(this kernel lacks the tracepoint sched_exit_tp, of Linux 6\.15\))$'
if [ "$(here offcpu "$dir/list")" = yes ]; then has "$dir/list" "$min"; else has_not "$dir/list" "$min"; fi
if command -v script >/dev/null; then # a terminal, which the second kernel's guest has not
	script -qec "stty cols 80; '$SOPROF' profile --list" /dev/null </dev/null | sed 's/\x1b\[[0-9;]*m//g; s/\r//' >"$dir/narrow"
	has "$dir/narrow" '^SYSTEM:EVENT '
	has "$dir/narrow" '^LIBRARY:FUNCTION: [0-9.]+ us where '
	has_not "$dir/narrow" '…|.{81}'
fi
# All that may be given to -e, and nothing else, as the error of -e tells them.
expect 2 profile -e nonsense 1
diff <(sed 's/.*there are //; s/,* and .*//; s/, /\n/g' "$err") <(rows "$dir/list" | awk '!/^(SYSTEM|LIBRARY):/ { print $1 }') ||
	fail "the events of -e to be those of the list"

# The answers, against runs of each; in the second kernel, where a start takes seconds, what works is run together first.
answers() { # LIST COMMAND...
	local name answer list=$1 events work=,
	shift
	while [ "$slow" != 1 ] && read -r events; do
		"$@" profile -o "$dir/x.pb.gz" -e "$events" -- true >"$out" 2>"$err" </dev/null && work+=$events,
	done < <(rows "$list" | awk '!/^(SYSTEM|LIBRARY|wall|mem)/ && $4 != "no" { print $1 }' | xargs -n 7 | tr ' ' ,)
	while read -r name answer; do
		[[ $work != *,$name,* ]] || continue
		"$@" profile -o "$dir/x.pb.gz" -e "$name" -- true >"$out" 2>"$err" </dev/null
		status=$? what="profile -e $name"
		if [ "$answer" = no ]; then
			[ "$status" = 3 ] || fail "$name not to work, as --list says"
		else
			[ "$status" = 0 ] || fail "$name to work, as --list says"
		fi
	done < <(rows "$list" | awk '{ sub(/^LIBRARY:FUNCTION/, "libc.so.6:malloc") } !/^SYSTEM/ { print $1, $4 }')
}
answers "$dir/list" "$SOPROF"

if is_root; then
	chmod 755 "$dir" "$dir/soprof"
	mkdir "$dir/home" && chown nobody "$dir/home"
	export HOME=$dir/home
	as_nobody "$dir" profile --list >"$dir/nobody" 2>"$err" || fail "a list for nobody"
	[ ! -s "$err" ] || fail "nothing on stderr"
	check_rows "$dir/nobody"
	[ "$(here offcpu "$dir/nobody")" = no ] || fail "offcpu not to work as nobody"
	has "$dir/nobody" '^no: '
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
		has "$dir/nobody" '^no: .*CAP_BPF and CAP_PERFMON; .*as root, with sudo$'
		[ "$(here faults "$dir/nobody")" != no ] || fail "faults to work as nobody"
		mkdir "$dir/nobodys" && chown nobody "$dir/nobodys"
		real=$dir dir=$dir/nobodys
		answers "$real/nobody" as_nobody "$real"
		dir=$real
	fi
fi

# The tracepoints: each is one of the kernel's, all of sched are there, and what is listed can be attached.
events=/sys/kernel/tracing/events
if is_root && [ -d $events/sched ]; then
	expect 0 profile --list 'sched:*'
	diff <(cd $events && ls -d sched/*/enable | sed 's,/enable,,; s,/,:,' | sort) <(awk 'NR > 1 { print $1 }' "$out" | sort) ||
		fail "the tracepoints of sched"
	check_rows "$out"
	expect 0 profile --list '*:*'
	n=$(rows "$out" | wc -l)
	has "$dir/list" "^SYSTEM:EVENT: this kernel has $n tracepoints; "
	has_not "$out" '^ftrace:'
	rows "$out" | awk '{ print $1 }' >"$dir/names"
	while IFS=: read -r group event; do
		[ -e "$events/$group/$event/format" ] || fail "$group:$event to be one of the kernel's"
	done <"$dir/names"
	some=$(grep -vE '^(syscalls|ftrace):' "$dir/names" | awk 'NR % 150 == 7' | head -n 6 | paste -sd,)
	expect 0 profile -o "$dir/x.pb.gz" -e "$some,$(grep -m 1 '^syscalls:sys_enter_' "$dir/names")" -- true
	expect 0 profile --list '*fault*'
	[ "$(here faults "$out")" = "$(here faults "$dir/list")" ] && [ -n "$(here page-faults "$out")" ] || fail "events of ours, too"
fi

if [ -d $events ]; then
	expect 2 profile --list nonsense
	one_line "no event matches 'nonsense'"
else # no tracefs is mounted
	expect 3 profile --list nonsense
	one_line "no event of ours matches 'nonsense'; tracepoints are not known"
fi
if is_root && [ -d $events/sched ]; then
	expect 2 profile -e cycle:u 1
	one_line 'cycle:u; did you mean cycles\?'
	expect 2 profile -e sched_switch 1
	one_line "there is no event 'sched_switch'; did you mean sched:sched_switch\\?"
fi
for words in '--list -e cpu' '--list --waker' '--waker --list -v' '--list=sched:* --waker' '--list sched:* 5'; do
	# shellcheck disable=SC2086
	expect 2 profile $words
	one_line '--list takes a glob and -v, and no other option'
done
finish
