#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Events told one by one, and counted by keys, sums and histograms: what a command does is known exactly, strace says the same
# of the files that it opens, and a library that counts for itself of its calls. What is lost is counted, so that the sum holds.
# Names with control characters break neither a line nor a terminal. Who called is what a library says of itself; a file that
# appears later is probed, too. Bad input.
. "$(dirname "$0")/lib.bash"
is_root || skip "needs root: fields are read from tracefs"
cd "$dir" || exit 1
run trace sched:sched_process_exec -- true
[ "$status" != 3 ] || skip "no BPF here: $(tail -n 1 "$err")"
two='dd if=/dev/zero of=/dev/null bs=10 count=200 status=none; dd if=/dev/zero of=/dev/null bs=4096 count=30 status=none'
# same WHAT IS WANT
same() { [ "$2" = "$3" ] || fail "$1 to be $3, not $2"; }
# n_events: as the summary says
n_events() { sed -nE 's/^soprof: ([0-9]+) events? in .*/\1/p' "$err"; }
# n_lost WORDS: as the summary says
n_lost() { local n; n=$(sed -nE "s/^soprof: ([0-9]+) $1.*/\1/p" "$err"); echo "${n:-0}"; }

# --- lines ---
expect 0 trace -o lines sched:sched_process_exec -- sh -c '/bin/true; /bin/sleep 0; exit 0'
same 'programs' "$(grep -o 'filename="[^"]*"' lines | sed 's,"[^"]*/sh","SH",' | tr '\n' ' ')" 'filename="SH" filename="/bin/true" filename="/bin/sleep" '
has lines '^TIME +COMM +PID +TID EVENT$'
has lines '^[0-9:]{8}\.[0-9]{6} true +[0-9]+ +[0-9]+ sched:sched_process_exec filename="/bin/true" pid=[0-9]+ old_pid=[0-9]+$'
same 'events' "$(n_events)" 3
expect 7 trace -o lines sched:sched_process_exec -- sh -c 'exit 7'
expect 127 trace -o lines sched:sched_process_exec -- ./nonexistent
expect 0 trace --json -o lines 'sched:sched_process_exec[comm == "true"]' --print 'pid - tid, filename,comm' -- sh -c '/bin/true; :'
has lines '^\{"time_ns":[0-9]+,"event":"sched:sched_process_exec","comm":"true","pid":[0-9]+,"tid":[0-9]+,"cpu":[0-9]+,"fields":\{"pid - tid":0,"filename":"/bin/true","comm":"true"\}\}$'

# --- system calls: texts of the process's memory, flags and errors by name; and what strace says ---
odd=$'odd \e[31m\n"name"\x7f\\'
: >"$odd"
expect 1 trace -o lines syscalls:sys_enter_openat syscalls:sys_exit_openat -- cat /etc/passwd ./nonexistent "$odd"
has lines 'filename="/etc/passwd" flags=O_RDONLY'
has lines 'syscalls:sys_exit_openat ret=-ENOENT$'
same 'lines with control characters' "$(tr -d '\n' <lines | tr -d '\040-\176\200-\377' | wc -c)" 0
same 'lines of the odd name' "$(grep -c 'filename="odd \\x1b\[31m\\x0a\\"name\\"\\x7f\\\\" flags=' lines)" 1
if strace -o traced -e trace=openat true 2>/dev/null; then
	strace -f -o traced -e trace=openat cat /etc/passwd ./nonexistent >/dev/null 2>&1
	sed -nE 's/.*openat\(AT_FDCWD, ("[^"]*"), ([^,)]*).*/\1 \2/p' traced >wanted
	# where the call ends: where it begins the page of a name may not be there yet
	expect 1 trace -o lines syscalls:sys_exit_openat --print 'file=ustr(sysarg1), flags=sysarg2, ret' -- cat /etc/passwd ./nonexistent
	sed -nE 's/.*file=("[^"]*") flags=([^ ]*) ret=.*/\1 \2/p' lines >told
	[ -s wanted ] && cmp -s wanted told || { diff wanted told; fail "the files that strace tells"; }
	strace -f -c -o traced sh -c "$two"
	expect 0 trace raw_syscalls:sys_enter --by sys --csv -o rows -- sh -c "$two"
	for call in read write openat close dup2 mmap; do
		same "calls of $call" "$(sed -nE "s/^.*,$call,([0-9]+)$/\1/p" rows)" "$(awk -v c=$call '$NF == c { print $4 }' traced)"
	done
else
	say "strace cannot be run here: not compared"
fi

# --- on a terminal of 80 columns a line fits: names of fields are above where they were chosen, long texts are cut; a line of
# --- all fields, which would not fit cut either, goes on below, whole
long=$dir/$(printf 'n%.0s' {1..150})
: >"$long"
if command -v script >/dev/null; then
	in_80_columns() { # WORDS: lines has what a terminal shows
		script -qec "stty cols 80 rows 50; $*" screen </dev/null >/dev/null
		tr -d '\r' <screen >lines
	}
	in_80_columns "'$SOPROF' trace opens -- cat '$long' ./nonexistent"
	has lines '^TIME +COMM +PID/TID file flags ret dur$'
	has lines '^[0-9:]{8}\.[0-9]{3} cat +[0-9]+ "/[^"]*…" RDONLY 3 [0-9.]+ [^ ]*s$'
	has lines '^[0-9:]{8}\.[0-9]{3} cat +[0-9]+ "./nonexistent" RDONLY -ENOENT [0-9.]+ [^ ]*s$'
	same 'lines that are too long' "$(grep -v '^Script' lines | LC_ALL=C.UTF-8 grep -cE '^.{81,}')" 0
	in_80_columns "'$SOPROF' trace syscalls:sys_enter_openat -- cat '$long'"
	has lines '^TIME +COMM +PID/TID EVENT$'
	same 'a name that goes on below' "$(tr -d '\n ' <lines | grep -c "syscalls:sys_enter_openat.*filename=\"$long\"flags=O_RDONLY")" 1
	same 'lines that are too long' "$(grep -v '^Script' lines | LC_ALL=C.UTF-8 grep -cE '^.{81,}')" 0
fi
expect 0 trace opens --print 'file=ustr(sysarg1), ret' -- cat "$long"
has "$err" "^[0-9:]{8}\.[0-9]{6} cat +[0-9]+ +[0-9]+ opens file=\"$long\" ret=3\$"

# --- rows ---
expect 0 trace 'syscalls:sys_enter_write[comm == "dd"]' --by 'comm,fd' --sum 'count,fd * 2' -o rows -- sh -c "$two"
has rows '^comm +fd +sum\(count\) +sum\(fd \* 2\) +count$'
has rows '^dd +1 +124880 +460 +230$'
expect 0 trace 'syscalls:sys_enter_write[fd == 1]' --comm 'd*' --by count --csv -o rows -- sh -c "$two"
has rows '^[0-9:]{8},syscalls:sys_enter_write\[fd == 1\],10,200$'
has rows '^[0-9:]{8},syscalls:sys_enter_write\[fd == 1\],4096,30$'
expect 0 trace 'syscalls:sys_enter_write[fd == 1]' --hist count -o rows -- sh -c "$two"
has rows '^ +8 -> 15 +: 200 +\|\*{40}\|$'
has rows '^ +4096 -> 8191 +: 30 +\|\*{6} {34}\|$'
same 'buckets of a histogram' "$(grep -c ' -> ' rows)" 13
expect 0 trace 'syscalls:sys_exit_openat' --hist ret --comm cat --json -o rows -- sh -c 'cat ./nonexistent 2>/dev/null; :'
has rows '"histogram":\[\{"to":-1,"count":[1-9]'
expect 0 trace 'syscalls:sys_enter_openat[comm == "cat"]' --by filename --json -o rows -- cat "$odd"
has rows '"key":\{"filename":"odd \\u001b\[31m\\n\\"name\\"(\\u007f|.)\\\\"\},"count":1,"sum":\{\}'
expect 0 trace syscalls:sys_enter_write syscalls:sys_enter_read --by comm --count --comm dd -o rows -- sh -c "$two"
has rows '^syscalls:sys_enter_write +dd +230$'
has rows '^syscalls:sys_enter_read +dd +[0-9]+$'
expect 0 trace 'raw:sched_process_exec[p->comm == "true"]' --by 'bprm->filename,p->tgid - tid' -o rows -- sh -c '/bin/true; /bin/true'
has rows '^/bin/true +0 +2$'

# --- in whom, how long, each second ---
sh -c 'while :; do /bin/true; done' &
pid=$!
expect 0 trace -p $pid --count -I 1 --csv -o rows raw_syscalls:sys_enter 3
same 'intervals' "$(grep -c 'sys_enter,[0-9]*$' rows)" 3
same 'the sum of the intervals' "$(awk -F, '/sys_enter,/ { n += $NF } END { print n }' rows)" "$(n_events)"
expect 0 trace --by pid,comm -p $pid raw_syscalls:sys_enter 1
has "$out" "^ *$pid +sh "
same 'rows of one process' "$(wc -l <"$out")" 2
kill $pid

# --- functions ---
tests=$SOPROF_BUILD/tests/cmd
cp "$tests/libcalled.so" libcalled.so
expect 0 trace "$dir/libcalled.so:called_mid" --by comm --count --csv -o rows -- sh -c "exec '$tests/caller' '$dir/libcalled.so' 1000 10 >'$dir/truth'"
read -r mid _ <truth
same 'calls' "$(sed -nE 's/.*,caller,([0-9]+)$/\1/p' rows)" "$mid"

# --- registers: where the function is, of which a page's part is known; what it returns is in ax
if command -v nm >null; then
	at=$((0x$(nm -D libcalled.so | sed -nE 's/^([0-9a-f]+) T called_mid$/\1/p') & 0xfff))
	expect 0 trace "$dir/libcalled.so:called_mid" --print ip,ax,arg0 -o lines -- "$tests/caller" "$dir/libcalled.so" 3 1
	for ip in $(sed -nE 's/.* ip=(0x[0-9a-f]+) ax=-?[0-9]+ arg0=[0-9]+$/\1/p' lines); do
		[ $(((ip & 0xfff) - at)) = 0 ] || [ $(((ip & 0xfff) - at)) = 4 ] || fail "called_mid at $at, or behind its endbr64, not $ip" # 4 bytes
	done
	same 'calls with registers' "$(grep -c ' ip=0x.* arg0=[0-9]*$' lines)" 3
	expect 0 trace "$dir/libcalled.so:called_mid" --print retval,ax -o lines -- "$tests/caller" "$dir/libcalled.so" 3 1
	same 'values that are in ax' "$(grep -cE ' retval=(-?[0-9]+) ax=\1$' lines)" 3
fi

# --- who called, of each event, in the order of the events; names of programs and libraries that would break a terminal ---
expect 0 trace --caller --stack "$dir/libcalled.so:called_mid" --print arg0 -o lines -- "$tests/caller" "$dir/libcalled.so" 300 10
# an interrupt may take the memory in which a stack is walked: that is told, and its line is there
unseen=$(sed -nE 's/^soprof: ([0-9]+) stacks? not seen: .*/\1/p' "$err")
unseen=${unseen:-0} seen=$((300 - ${unseen:-0}))
[ "$unseen" -le 3 ] || fail "nearly all stacks to be seen, not $seen of 300"
same 'calls' "$(sed -nE 's/.* arg0=([0-9]+) caller=(libcalled\.so:called_work|\[unknown\])$/\1/p' lines | tr '\n' ' ')" "$(seq 0 299 | tr '\n' ' ')"
same 'calls with their caller' "$(grep -c ' caller=libcalled\.so:called_work$' lines)" "$seen"
same 'stacks' "$(grep -A3 ' arg0=.*caller=lib' lines | grep -v -e -- | sed -E 's/.* arg0=.*/-/; s/^ +//' | sort | uniq -c | sed -E 's/^ +//' | tr '\n' ' ')" \
	"$seen - $seen caller:work $seen libcalled.so:called_mid $seen libcalled.so:called_work "
same 'stacks up to main()' "$(grep -c '^    caller:main$' lines)" "$seen"
bad=$'e\e]0;x\a\n"|'
cp "$tests/caller" "$bad"
cp libcalled.so "lib$bad.so"
expect 0 trace --caller --stack 'syscalls:sys_enter_write[fd == 1]' --print comm -o lines -- "./$bad" "$dir/lib$bad.so" 1 1
same 'lines with control characters' "$(tr -d '\n' <lines | tr -d '\040-\176\200-\377' | wc -c)" 0
same 'lines of a hostile program' "$(grep -c ' comm="e\\x1b\]0;x\\x07\\x0a\\"|" caller=e\\x1b\]0;x\\x07\\x0a"|:_start$' lines)" 1
expect 0 trace --json --caller --stack "$dir/lib$bad.so:called_mid" -o lines -- "./$bad" "$dir/lib$bad.so" 2 1
same 'objects of hostile names' "$(grep -c '"event":"[^"]*/libe\\u001b\]0;x\\u0007\\n\\"|.so:called_mid".*"caller":"libcalled.so:called_work","stack":\["libcalled.so:called_mid",.*"e\\u001b\]0;x\\u0007\\n\\"|:main"' lines)" 2
expect 0 trace "$dir/lib$bad.so:called_mid" --by comm --count --csv -o rows -- "./$bad" "$dir/lib$bad.so" 2 1
same 'control characters in a table' "$(tr -d '\n' <rows | tr -d '\040-\176\200-\377' | wc -c)" 0

# --- a library that is upgraded while it runs ---
mount_tracefs "$dir/tracing" || fail "tracefs to be mounted"
called=$dir/libcalled.so:called_mid
"$SOPROF" trace "$called.. $called[retval == retval]" --by comm --count --csv -o rows 2>"$err" & # two probes a file
soprof=$!
are_probed() { # NUMBER: of probes
	[ "$(grep -lsE '^link_type:[[:space:]]*u(ret)?probe_multi' "/proc/$soprof/fdinfo/"* | grep -c .)" = "$1" ] ||
		[ "$(grep -os "soprof/p${soprof}_[^ ]*" "$tracefs/uprobe_events" | sort -u | grep -c .)" = "$1" ]
}
wait_until $((200 * slow)) are_probed 2 || fail "a library to be probed"
"$tests/caller" "$dir/libcalled.so" 40 1 >/dev/null
cp "$tests/libcalled.so" next.so && mv next.so libcalled.so
"$tests/caller" "$dir/libcalled.so" 500 1 "$dir/gate" >/dev/null &
later=$!
wait_until $((200 * slow)) are_probed 4 || fail "the later library to be probed"
touch gate
wait $later
kill -INT $soprof
wait $soprof
same 'calls of two builds' "$(sed -nE 's/.*,caller,([0-9]+)$/\1/p' rows)" 540
same 'files that are told of, once for both ends' "$(grep -c '1 more file appeared' "$err")" 1

# --- losses: told and lost are all ---
n=$((100000 / slow))
expect 0 trace -o lines 'syscalls:sys_enter_write[fd == 1]' --comm dd -- dd if=/dev/zero of=/dev/null bs=1 count=$n status=none
lost=$(n_lost 'events lost')
say "$n events: $(n_events) told, $lost lost"
same 'told and lost events' $(($(n_events) + lost)) "$n"
same 'lines' "$(grep -c 'sys_enter_write fd=1' lines)" "$(n_events)"
same 'losses told in their places' "$(sed -nE 's/^\.\.\. ([0-9]+) events lost here.*/\1/p' lines | awk '{ n += $1 } END { print n + 0 }')" "$lost"
LC_ALL=C sort -c -k1,1 <(grep ' dd ' lines) 2>/dev/null || fail "lines in the order of time"
expect 0 trace --rows 4 'syscalls:sys_enter_write[comm == "dd"]' --by count --csv -o rows -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero of=/dev/null bs=$i count=10 status=none; done'
lost=$(n_lost 'events not counted')
same 'counted events, and those without a row' $(($(n_events) + lost)) 90
[ "$lost" -gt 0 ] || fail "some events to find no room"

# --- bad input ---
expect 2 trace
one_line 'which event'
if [ -d /sys/kernel/tracing/events/sched ]; then
	expect 2 trace sched:sched_proces_exec 1
	one_line 'did you mean sched:sched_process_exec'
fi
expect 2 trace sched:sched_process_exec --by comm,foo 1
has "$err" "has no field 'foo'; it has filename, pid, old_pid$"
has "$err" '^       \^$'
expect 2 trace 'sched:sched_switch[prev_pd == 1]' 1
has "$err" 'did you mean prev_pid'
has "$err" '^                     \^$'
expect 2 trace cpu 1
one_line "'cpu' is no event that can be traced"
expect 2 trace sched:sched_switch --by a,,b 1
has "$err" 'an expression is missing'
expect 2 trace sched:sched_switch --hist comm 1
has "$err" 'comm is text'
expect 2 trace sched:sched_switch --by prev_comm,next_comm 1
has "$err" 'at most 1 of the keys may be texts'
expect 2 trace sched:sched_switch --csv 1
one_line -- '--csv is for events that are counted'
expect 2 trace sched:sched_switch --by cpu --caller 1
one_line -- '--caller is for events printed one by one; --by caller counts'
expect 2 trace runqlat --print dur --stack 1
one_line -- '--stack is not for runqlat'
expect 2 trace sched:sched_switch --by cpu --print cpu 1
one_line -- '--print is for events printed one by one'
expect 2 trace 'sched:sched_switch{prev_pid}' 1
has "$err" 'is said by --sum'
expect 2 trace sched:sched_switch --by cpu --comm 'aaaaaaaaaaaaaaaaaaaaaaaaa' 1
has "$err" 'no more than 15 characters'
expect 1 trace sched:sched_switch --by cpu -p 4194304 1
one_line 'there is no process 4194304'
expect 1 trace sched:sched_switch --by cpu -o /nonexistent/x 1
one_line 'write /nonexistent/x: No such file'
finish
