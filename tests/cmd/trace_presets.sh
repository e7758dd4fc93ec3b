#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Pairs of points and presets: strace says the same of the same command: files, flags, results, numbers of calls, and how long a
# call takes that sleeps. What a thread does in between is known exactly. Bad input.
. "$(dirname "$0")/lib.bash"
is_root || skip "needs root: fields are read from tracefs"
[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel shows no types"
cd "$dir" || exit 1
run trace opens -- true
[ "$status" != 3 ] || skip "no BPF here: $(tail -n 1 "$err")"
same() { [ "$2" = "$3" ] || fail "$1 to be $3, not $2"; }

# --- opens, by bcc's name, too; what strace says of the same files ---
if strace -o traced -e trace=openat true 2>/dev/null; then
	strace -f -o traced -e trace=openat cat /etc/passwd ./nonexistent >/dev/null 2>&1
	sed -nE 's/.*openat\(AT_FDCWD, ("[^"]*"), ([^,)]*).* = (-1 E[A-Z]*|[0-9]+).*/\1 \2 \3/p' traced | sed 's/-1 E/-E/' >wanted
	expect 1 trace -o lines opensnoop -- cat /etc/passwd ./nonexistent
	sed -nE 's/.* opens file=("[^"]*") flags=([^ ]*) ret=([^ ]*) dur=.*/\1 \2 \3/p' lines >told
	[ -s wanted ] && cmp -s wanted told || { diff wanted told; fail "the files that strace tells"; }
	programs='/bin/true one "two  words"; /bin/echo three; ./nonexistent; exec /bin/true'
	strace -f -o traced -e trace=execve sh -c "$programs" >/dev/null 2>&1
	sed -nE 's/.*execve\(("[^"]*"), \["(.*)"\], .* = 0$/\1 "\2"/p' traced | sed 's/", "/ /g; s,^"/usr/,"/,' | grep -v '^"/bin/sh' >wanted
	expect 0 trace -o lines execs -- sh -c "$programs"
	sed -nE 's/.* execs file=("[^"]*") args=("[^"]*") ppid=.*/\1 \2/p' lines | sed 's,^"/usr/,"/,' | grep -v '^"/bin/sh' >told
	[ "$(wc -l <wanted)" = 3 ] && cmp -s wanted told || { diff wanted told; fail "the programs that strace tells"; }
	work='dd if=/dev/zero of=/dev/null bs=10 count=200 status=none; dd if=/dev/zero of=/dev/null bs=4096 count=30 status=none'
	strace -f -c -o traced sh -c "$work"
	expect 0 trace syscalls --by sys --csv -o rows -- sh -c "$work"
	for call in read write openat close dup2 mmap; do
		same "calls of $call" "$(sed -nE "s/^.*,$call,([0-9]+)$/\1/p" rows)" "$(awk -v c=$call '$NF == c { print $4 }' traced)"
	done
else
	say "strace cannot be run here: not compared"
fi

# --- how long: a sleep of 50 ms is in no bucket below, and nothing shorter passes --min ---
expect 0 trace --json -o lines syscall:clock_nanosleep -- sleep 0.05
ns=$(sed -nE 's/.*"dur":([0-9]+).*/\1/p' lines)
[ "${ns:-0}" -ge 50000000 ] && [ "$ns" -lt 5000000000 ] || fail "a sleep of 50 ms, not $ns ns"
expect 0 trace --min 40ms --csv --count -o rows syscalls -- sh -c 'sleep 0.05; sleep 0.001'
n=$(sed -nE 's/.*,([0-9]+)$/\1/p' rows)
[ "${n:-0}" -ge 1 ] || fail "calls of 40 ms to be told"
expect 0 trace --min 400ms --csv --count -o rows syscall:clock_nanosleep -- sh -c 'sleep 0.5; sleep 0.001'
same 'sleeps of 400 ms' "$(sed -nE 's/.*,([0-9]+)$/\1/p' rows)" 1
expect 0 trace --hist dur --csv -o rows syscall:clock_nanosleep -- sleep 0.05
from=$(sed -nE 's/.*,([0-9]+),[0-9]+,1$/\1/p' rows)
[ "${from:-0}" -ge 33554432 ] || fail "a sleep of 50 ms in its bucket, not that from $from"
expect 0 trace 'syscalls:sys_enter_clock_nanosleep..syscalls:sys_exit_clock_nanosleep on tid' --hist dur --csv -o rows -- sh -c 'sleep 0.05; sleep 0.05'
same 'two sleeps of 50 ms, in buckets from 32 ms on' "$(awk -F, 'NR > 1 { n += $(NF - 2) >= 33554432 ? $NF : -9 } END { print n }' rows)" 2

# --- a filter of a call is about its end; a pair that a user types is the same ---
expect 1 trace 'syscall:openat[ret < 0]' --print 'filename,ret' -o lines -- cat ./nonexistent
has lines ' syscall:openat filename="./nonexistent" ret=-ENOENT$'
! grep -q 'ret=[0-9]' lines || fail "calls that failed only"
n=300
expect 0 trace 'syscalls:sys_enter_write[fd == 1]{asked=count}..syscalls:sys_exit_write[ret > 0] on tid' --by asked,ret --csv -o rows -- \
	dd if=/dev/zero of=/dev/null bs=16 count=$n status=none
same 'writes' "$(sed -nE 's/.*,16,16,([0-9]+)$/\1/p' rows)" $n

# --- processes ---
expect 0 trace execs -o lines -- sh -c '/bin/true; :'
has lines ' execs file="/bin/true" args="/bin/true" ppid=[0-9]+ uid=0$'
expect 0 trace execsnoop -o lines -- sh -c '/bin/true one "two  words" "$(printf "a\nb")" "" last >/dev/null; :'
has lines ' execs file="/bin/true" args="/bin/true one two  words a\\x0ab  last" '
expect 0 trace execs --json -o lines -- sh -c "/bin/true $(printf 'x%.0s' {1..300}) >/dev/null; :"
same 'bytes of arguments' "$(sed -nE 's/.*"args":"([^"]*)".*/\1/p' lines | tail -n 1 | wc -c)" 256
expect 3 trace exits -o lines -- sh -c 'sh -c "kill -TERM \$\$"; exit 3'
has lines ' exits ppid=[0-9]+ status=SIGTERM age='
has lines ' exits ppid=[0-9]+ status=3 age='
expect 0 trace killsnoop -o lines -- sh -c 'sleep 9 & kill -USR1 $!; :'
has lines ' signals sig=SIGUSR1 to=[0-9]+ name="s(h|leep)"'

# --- which library called: what is said to be a library's is what it was told to do ---
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import ctypes; ctypes.CDLL("libz.so.1")' 2>/dev/null; then
	cat >gz.py <<-'PY'
		import ctypes, os
		z = ctypes.CDLL("libz.so.1")
		z.gzopen.restype = ctypes.c_void_p
		for i in range(50):
		    f = ctypes.c_void_p(z.gzopen(b"x.gz", b"wb"))
		    z.gzwrite(f, b"x" * 10, 10)
		    z.gzclose(f)
		for i in range(7):
		    os.write(1, b"x")
	PY
	expect 0 trace syscall:write --by caller,comm --csv -o rows -- /usr/bin/python3 gz.py
	same 'writes of libz' "$(sed -nE 's/.*,libz\.so\.1,python3,([0-9]+)$/\1/p' rows)" 50
	same 'writes of Python' "$(sed -nE 's/.*,(lib)?python3[^,]*,python3,([0-9]+)$/\2/p' rows)" 7
	expect 0 trace syscall:write --caller --print ret -o lines -- /usr/bin/python3 gz.py
	same 'lines of writes of libz' "$(grep -c ' ret=[0-9]* caller=libz\.so\.1' lines)" 50
	same 'lines of writes of Python' "$(grep -cE ' ret=1 caller=(lib)?python3' lines)" 7
fi
calls=$SOPROF_BUILD/tests/cmd
cp "$calls/libcalled.so" libcalled.so
expect 0 trace "$dir/libcalled.so:called_mid" --by caller --csv -o rows -- sh -c "exec '$calls/caller' '$dir/libcalled.so' 1000 10 >'$dir/truth'"
read -r mid _ <truth
same 'calls' "$(awk -F, 'NR > 1 { n += $NF } END { print n }' rows)" "$mid"
expect 0 trace syscalls:sys_enter_write --by caller --sum count --json -o rows -- dd if=/dev/zero of=/dev/null bs=10 count=200 status=none
has rows '"key":\{"caller":"dd"\},"count":200,"sum":\{"sum\(count\)":2000\}'
expect 2 trace syscall:read --by caller,foo 1
has "$err" 'beside caller there may be comm and pid'
expect 2 trace syscall:read --by caller -I 1 1
one_line 'is not for it'

# --- connections: one that is taken, one that is refused ---
if [ -x /usr/bin/python3 ]; then
	cat >connect.py <<-'PY'
		import socket
		s = socket.create_server(("127.0.0.1", 0))
		port = s.getsockname()[1]
		socket.create_connection(("127.0.0.1", port)).close()
		s.close()
		try:
		    socket.create_connection(("127.0.0.1", port))
		except ConnectionRefusedError:
		    print(port)
	PY
	expect 0 trace tcpconnlat -o lines -- /usr/bin/python3 connect.py
	port=$(<"$out")
	has lines " python3 .* tcpconnlat to=127\\.0\\.0\\.1 dport=$port state=ESTABLISHED dur="
	has lines " python3 .* tcpconnlat to=127\\.0\\.0\\.1 dport=$port state=CLOSE dur="
	same 'connections' "$(grep -c tcpconnlat lines)" 2
	# who accepts is another process, and later: it, its wait, what both ends sent, and how long each end lived
	cat >accept.py <<-'PY'
		import os, select, socket, time
		s = socket.create_server(("127.0.0.1", 0))
		port = s.getsockname()[1]
		if os.fork():
		    c = socket.create_connection(("127.0.0.1", port))
		    c.sendall(b"x" * 3000)
		    n = 0
		    while n < 5000: n += len(c.recv(9000))
		    time.sleep(0.05)
		    here = c.getsockname()[1]
		    c.close()
		    os.wait()
		    print(port, here, os.getpid())
		else:
		    select.select([s], [], [])
		    time.sleep(0.1)
		    a, _ = s.accept()
		    n = 0
		    while n < 3000: n += len(a.recv(9000))
		    a.sendall(b"y" * 5000)
		    a.recv(1)
		    a.close()
	PY
	expect 0 trace tcpaccept tcplife --json -o lines -- /usr/bin/python3 accept.py
	read -r port here pid <"$out"
	accepted="\"from\":\"127.0.0.1\",\"sport\":$here,\"port\":$port,"
	has lines "\"event\":\"tcpaccept\",\"comm\":\"python3\",.*$accepted"
	ns=$(sed -nE 's/.*"event":"tcpaccept".*"dur":([0-9]+).*/\1/p' lines)
	[ "${ns:-0}" -ge 50000000 ] && [ "$ns" -lt 10000000000 ] || fail "a wait of 100 ms in the queue, not $ns ns"
	! grep -q "\"event\":\"tcpaccept\".*\"pid\":$pid," lines || fail "the process that accepts, not the one that connects"
	has lines "\"event\":\"tcplife\".*\"pid\":$pid,.*\"dport\":$port,\"port\":$here,\"sent_bytes\":300[0-9],\"got_bytes\":500[0-9],"
	has lines "\"event\":\"tcplife\".*\"dport\":$here,\"port\":$port,\"sent_bytes\":500[0-9],\"got_bytes\":300[0-9],"
	same 'connections that end' "$(grep -c '"event":"tcplife","comm":"python3"' lines)" 2
	expect 0 trace tcpaccept -P $((port + 1 > 65535 ? 1 : port + 1)) -o lines -- /usr/bin/python3 accept.py
	! grep -q ' tcpaccept ' lines || [ "$(cut -d' ' -f1 "$out")" = $((port + 1)) ] || fail "connections to that port only"
fi

# --- what was written, byte by byte: texts of so many bytes ---
expect 0 trace 'syscalls:sys_exit_write[sysarg0 == 1]' --print 'text=ustr(sysarg1, ret), ret' -o lines -- sh -c 'printf "one\0two" | cat'
same 'what was written' "$(grep -c 'text="one two" ret=7$' lines)" 2
expect 0 trace 'syscalls:sys_exit_write[sysarg0 == 1]' --by 'text=ustr(sysarg1, ret)' --csv -o rows -- sh -c 'printf hello; printf hello; printf "hel"'
has rows ',hello,2$'
has rows ',hel,1$'

# --- files by name, of an open file's number: what dd says that it read and wrote ---
dd if=/dev/zero of=thefile bs=1000 count=300 status=none
expect 0 trace filetop --csv -o rows -- dd if=thefile of=another bs=700 status=none
has rows ',dd,[0-9]+,thefile,300000,0,'
has rows ',dd,[0-9]+,another,0,300000,'
expect 0 trace 'filetop[sysarg0 == 1]' --by 'name=kstr(dentry->d_name.name)' --csv -o rows -- dd if=thefile of=another bs=700 status=none
has rows ',another,429$'
expect 0 trace slowfiles --min 1ns -o lines -- dd if=thefile of=another bs=300000 count=1 status=none
has lines ' slowfiles call=read file="thefile" bytes=300000 ret=300000 dur='
has lines ' slowfiles call=write file="another" bytes=300000 ret=300000 dur='
! grep -q 'call=read file="(zero|pipe)' lines || fail "regular files only"

# --- command lines of bcc's tools ---
expect 1 trace opensnoop -x -o lines -- cat ./nonexistent
! grep -q 'ret=[0-9]' lines || fail "opens that failed only"
has lines ' opens file="./nonexistent" flags=O_RDONLY ret=-ENOENT'
expect 1 trace opensnoop -UTx -o lines -- cat ./nonexistent
has lines ' ret=-ENOENT dur=.* uid=0$'
expect 0 trace syscount -x --csv -o rows -- true
has rows '^time,event,sys,count$'
expect 0 trace fileslower 0 -o lines -- dd if=thefile of=/dev/null count=1 status=none
expect 0 trace killsnoop -s 10 -o lines -- sh -c 'sleep 9 & kill -USR1 $!; sleep 9 & kill -USR2 $!; :'
same 'signals of one kind' "$(grep -c ' signals ' lines)/$(grep -c USR1 lines)" 1/1
expect 0 trace cpudist -m 1 2 --csv -o rows
has rows '^time,event,from,to,count$'
expect 2 trace opensnoop -F
one_line '-F of opensnoop is not here: a name is shown as the program gave it'
expect 2 trace execsnoop --max-args 3
one_line 'of execsnoop is not here'
expect 2 trace killsnoop -s
one_line '-s needs a value'

# --- the kernel's: what every machine has. Whose a time on or off the CPU is ---
expect 0 trace cpudist -o rows 1
has rows 'dur : count +distribution'
for row in cpudist runqlat; do
	expect 0 trace $row --by comm --count --csv -o rows -- sh -c 'sleep 0.01; sleep 0.01; sleep 0.01'
	same "threads of $row" "$(sed -nE "s/^[0-9:]{8},$row,([^,]*),[0-9]+$/\1/p" rows | sort -u | tr '\n' ' ')" 'sh sleep '
	n=$(sed -nE 's/.*,sleep,([0-9]+)$/\1/p' rows)
	[ "${n:-0}" -ge 3 ] || fail "$row of three sleeps, not $n"
	expect 0 trace $row --by pid --count --csv --comm sleep -o rows -- sh -c 'sleep 0.01; sleep 0.01'
	same "processes of $row" "$(grep -c ",$row," rows)" 2
done
expect 0 trace --list contention
has "$out" '^contention +yes'
expect 0 trace --list biotop -v
has "$out" '^    --sum bytes, dur$'
expect 0 trace runqlat -o rows 1
has rows 'dur : count +distribution'
expect 0 trace softirqs -o rows 1
has rows '^softirq=[a-z_]+$'

# --- the list ---
expect 0 trace --list
has "$out" '^opens +yes '
expect 0 trace --list 'ope*' -v
has "$out" '^    --print file=ustr'
has "$out" '^    raw:sys_exit: struct pt_regs \*regs, long int ret$'
expect 0 trace --list sched:sched_process_exec -v
has "$out" '^    sched:sched_process_exec: .*pid_t pid'
if [ -d /sys/kernel/tracing/events/sched ]; then
	expect 0 trace --list 'sched:sched_process_ex*'
	has "$out" '^sched:sched_process_exit$'
fi
expect 2 trace --list 'no such'

# --- a preset's own columns, by their names ---
expect 1 trace opens --by 'file, ret' --csv -o rows -- sh -c 'cat ./nonexistent ./nonexistent /etc/passwd >/dev/null 2>&1'
has rows '^[0-9:]{8},opens,\./nonexistent,.-ENOENT,2$'
expect 1 trace opens --print 'file,cpu' -o lines -- cat ./nonexistent
has lines ' opens file="\./nonexistent" cpu=[0-9]+$'

# --- completion: rows and bcc's names, fields behind a bracket ---
# completes WORD... WHAT
completes() {
	[ "$slow" = 1 ] || return 0 # the same with every kernel
	# shellcheck disable=SC2034,SC2317
	(
		. <("$SOPROF" --completion bash)
		COMP_WORDS=("$SOPROF" trace "${@:1:$#-1}") COMP_CWORD=$# COMPREPLY=()
		_soprof
		echo "${COMPREPLY[*]}"
	) >completed
	has completed "^${!#}\$"
}
completes filet filetop
completes threadsn threadsnoop
completes opensnoop --pri '--print --print-uid'
completes opens --pri --print
completes 'sched:sched_process_exec[filen' 'sched:sched_process_exec\[filename'
completes sched:sched_process_exec --print filen filename
completes --by comm syscall:openat --print x,du x,dur
completes sched:sched_process_exec --print file = filen filename
completes sched:sched_process_exec --print = x,file = filen filename
completes sched:sched_process_exec --by = filen filename
completes sched:sched_process_exec --print file = 'filename .*cgroup'
completes 'raw:sched_switch[preempt]..raw:sched_switch' --sum prev_ prev_state
completes "'sched:sched_process_exec[comm == \"x\" && old_p" 'sched:sched_process_exec\[comm == "x" && old_pid'

if [ "$slow" = 1 ]; then # no kernel is asked
	cp "$SOPROF_BUILD/tests/cmd/marked" app
	completes usdt:./app:marked:fra usdt:./app:marked:fraction
	completes 'usdt:./app:marked:sizes[arg7 > 1 && ar' '.*arg7.*'
fi

# --- what the man page names: presets, events, expressions, command lines of bcc's tools. They are read, and not run ---
page=$SOPROF_SOURCE/man/soprof-trace.1.scd
is_taken() {
	run trace "$@" -o /nonexistent/x
	[ "$status" = 1 ] && grep -q 'write /nonexistent/x: No such file' "$err" || fail "the man page's 'soprof trace $*' to be taken: $(tail -n 3 "$err")"
}
section() { sed -n "/^# $1\$/,/^# /p" "$page"; }
if [ -r "$page" ]; then
	section EVENTS | sed -n '/^_PRESET_$/,/^$/p' | grep -oE '_[a-z]+_' | tr -d _ | sort >named
	"$SOPROF" trace --list | grep -oE '^[a-z]+' | sort -u >listed
	same 'presets that the man page lacks' "$(comm -13 named listed | tr '\n' ' ')" ''
	section EVENTS | tr '\n' ' ' | grep -oE '[[:blank:](]_[a-z0-9.]+:([^_]|_[^],.;:) ])*_[],.;:) ]' | sed -E 's/^._//; s/_.$//; s/\\_/_/g' |
		grep -vE 'NAME|FUNCTION|EVENT|^usdt' | sort -u >named
	[ "$(wc -l <named)" -ge 8 ] || fail "some events in the man page: $(cat named)"
	while IFS= read -r event; do
		case $event in kprobe:* | kretprobe:* | kret:*) [ -e /sys/bus/event_source/devices/kprobe ] || continue ;; esac
		is_taken "$event"
	done <named
	section "BCC'S TOOLS" | tr '\n' ' ' | grep -oE '_[a-z]+ [^_]+_[,.]' | sed 's/^_//; s/_.$//' | sort -u >named
	[ "$(wc -l <named)" -ge 10 ] || fail "some command lines of bcc's tools in the man page: $(cat named)"
	while read -r -a words; do is_taken "${words[@]}"; done <named
	is_taken 'raw:sched_switch[prev->se.avg.load_avg > 0]'
	is_taken syscalls:sys_exit_read --print 'f=task->files->fdt->fd[sysarg0], ustr(sysarg1, ret), ret'
	is_taken raw:tcp_retransmit_skb --print '((struct tcp_sock *)sk)->snd_una'
	is_taken syscalls:sys_exit_openat --print 'file=ustr(sysarg1), ret'
	is_taken libc.so.6:pthread_create --print arg2
	is_taken opens --comm fifteen_letters # as many steps of computing as there may be
fi

# --- bad input ---
if [ "$slow" = 1 ]; then # of the text alone: the same with every kernel
	expect 2 trace opnes 1
	has "$err" 'did you mean opens'
	expect 2 trace sched:sched_switch --min 1ms 1
	has "$err" '--min is for what lasts'
	expect 2 trace opens --min 1x 1
	has "$err" 'is no time'
	expect 2 trace opens --min 5 1
	one_line "'5' is no time with a unit"
	expect 2 trace 'syscalls[nothing > 1]' 1
	has "$err" "syscalls has no field 'nothing'; it has ret, dur, .*, regs\$"
	expect 2 trace opens..execs 1
	one_line "'execs' is a preset, and no point of a pair"
	expect 2 trace --list $'a\e[31m\n'
	one_line 'no preset matches .a.x1b.31m.x0a'
	expect 2 trace --list syscall:nosuch -v
	one_line 'no tracepoint syscalls:sys_enter_nosuch'
	expect 2 trace $'sched:sched_switch[comm == "\e" && next_pdi]' 1
	has "$err" '^  sched:sched_switch.comm == ".x1b" && next_pdi.$'
	has "$err" '^ {39}\^$'
	expect 2 trace opens 1 2
	one_line 'INTERVAL COUNT is for events that are counted'
	expect 2 trace 'raw:sys_enter{id + 1}..raw:sys_exit' 1
	has "$err" 'what is kept needs a name'
	expect 2 trace '..raw:sys_exit' 1
	has "$err" 'an event is missing'
	expect 2 trace 'raw:sys_enter of x..raw:sys_exit' 1
	has "$err" 'behind the second point'
	expect 2 trace tcpretrans -- true
	one_line 'tcpretrans is for the whole machine, not for COMMAND'
	expect 2 trace runqlat --cgroup / 1
	one_line -- '--cgroup is not for runqlat'
	expect 2 trace '&raw:sys_enter..raw:sys_exit' 1
	has "$err" 'there is one that begins the pair'
	expect 2 trace 'kprobe:no such' 1
	one_line 'is no function of the kernel'
fi
if [ -e /sys/bus/event_source/devices/kprobe ]; then
	# --- functions of the kernel: calls of a size that nobody else uses ---
	work='dd if=/dev/zero of=thefile bs=17 count=300 status=none'
	expect 0 trace 'kprobe:vfs_read[count == 17]' --by comm --csv -o rows -- sh -c "$work"
	has rows ',dd,300$'
	expect 0 trace 'kretprobe:vfs_read[retval == 17]' --by comm --csv -o rows -- sh -c "$work"
	has rows ',dd,300$'
	expect 0 trace 'kprobe:vfs_write[count == 17]..kret:vfs_write' --by 'comm' --csv -o rows -- sh -c "$work"
	has rows ',dd,300$'
	expect 0 trace 'kprobe:vfs_write[count == 17]' --print 'name=kstr(file->f_path.dentry->d_name.name), count' -o lines -- sh -c "$work"
	same 'writes' "$(grep -c ' name="thefile" count=17$' lines)" 300
	expect 0 trace 'kprobe:vfs_write[count == 17]' --caller --stack --print count -o lines -- sh -c "$work"
	same 'writes with their caller' "$(grep -cE ' count=17 caller=[^[ ]+$' lines)" 300
	has lines '^    \[kernel\]:vfs_write$'
	expect 0 trace 'kret:vfs_write[retval == 17]' --caller --print retval -o lines -- sh -c "$work"
	same 'ends of writes with their caller' "$(grep -cE ' caller=[^[ ]+$' lines)" 300
	expect 0 trace filelife -o lines -- sh -c ': >short; rm short'
	has lines ' rm +[0-9]+ +[0-9]+ filelife file="short" dur='
	expect 0 trace tcpsynbl -6 1
	expect 2 trace tcpsynbl -- true
	one_line 'tcpsynbl is for the whole machine, not for COMMAND'
	expect 0 trace vfsstat --csv -o rows -- sh -c "$work"
	[ "$(sed -nE 's/.*,kprobe:vfs_write,([0-9]+)$/\1/p' rows)" -ge 300 ] || fail "300 writes at least"
	expect 2 trace kprobe:vfs_raed 1
	one_line 'this kernel has no function vfs_raed'
	expect 2 trace 'kprobe:vfs_read[coutn == 3]' 1
	has "$err" 'did you mean count'
	expect 2 trace 'kretprobe:vfs_read[count == 3]' 1
	has "$err" "has no field 'count'"
else
	expect 3 trace kprobe:vfs_read 1
	one_line 'this kernel has no probes of its own functions'
	if [ "$(stat -f -c %T .)" = ext2/ext3 ]; then
		expect 0 trace filelife -o lines -- sh -c ': >short; rm short'
		has lines ' rm +[0-9]+ +[0-9]+ filelife inode=[0-9]+ dev=[0-9]+:[0-9]+ dur='
	fi
fi
for row in cachestat vfsstat; do
	expect 0 trace $row --csv -o rows -- cat thefile
	has rows '^[0-9:]{8},.*,[0-9]+$'
done
expect 2 trace 'raw:sys_enter on a,b,c..raw:sys_exit' 1
has "$err" 'takes at most 2'
finish
