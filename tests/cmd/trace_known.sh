#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# The command lines that people know from bpftrace's one-liners, perf and ftrace, in soprof's words: each of them runs, and tells
# what was done. Where kprobes are, those of functions of the kernel, too.
. "$(dirname "$0")/lib.bash"
is_root || skip "needs root: fields are read from tracefs"
[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel shows no types"
cd "$dir" || exit 1
run trace opens -- true
[ "$status" != 3 ] || skip "no BPF here: $(tail -n 1 "$err")"
work='dd if=/dev/zero of=/dev/null bs=10 count=50 status=none; cat ./nonexistent 2>/dev/null; sleep 0.02'
printf 'twelve bytes' >file
# tell PATTERN WORD...: soprof WORD... runs, and its lines, table or histogram match the pattern
tell() {
	local pattern=$1 kind=$2
	shift
	: >told
	if [ "$kind" = trace ]; then
		shift
		expect 0 trace -o told "$@"
	elif [ "$kind" = list ]; then
		shift
		expect 0 trace --list "$@"
		cat "$out" >told
	else
		expect 0 "$@"
		cat "$out" "$err" >told
	fi
	grep -qE -- "$pattern" told || fail "soprof $kind $*: to tell $pattern"
}
hist='^ +[0-9]+ -> [0-9]+ +: [1-9][0-9]* +\|'

# --- bpftrace ---
tell '^dd +[0-9]+$' trace syscalls --by comm -- sh -c "$work"                          # sys_enter { @[comm] = count() }
tell ' cat .* file="\./nonexistent" .*ret=-ENOENT' trace opens -- sh -c "$work; :"      # openat { printf(comm, filename) }
tell "$hist" trace syscalls --hist dur -- sh -c "$work"                                # latency of system calls
tell '^ +8 -> 15 +: [1-9]' trace 'syscall:read[ret >= 0]' --hist ret -- dd if=file of=/dev/null status=none # sys_exit_read { hist(ret) }
tell ' file="/bin/true" args="/bin/true" ' trace execs -- sh -c '/bin/true; :'         # execve
tell ' sleep .* call=clock_nanosleep ' trace 'syscalls[dur > 10ms]' -- sh -c "$work"   # slow system calls
[ ! -b /dev/nvme0n1 ] || # of the second kernel; here trace_beside.sh has a loop device
	tell "$hist" trace biolatency -- dd if=/dev/nvme0n1 of=/dev/null iflag=direct bs=4096 count=20 status=none # block_rq_issue, _complete
connect='(: </dev/tcp/127.0.0.1/9) 2>/dev/null; :' # nobody listens
[ $(($(cat /sys/class/net/lo/flags) & 1)) = 0 ] || # the second kernel's is down
	tell ' tcpconnlat to=127\.0\.0\.1 dport=9 state=CLOSE dur=' trace tcpconnlat -- bash -c "$connect" # latency of tcp_v4_connect
sh -c 'while :; do sleep 0.02; done' &
tell ' sh .* call=wait4 ' trace 'syscalls[dur > 10ms]' -p $! 1                         # slow system calls of a process
! grep -q ' sleep ' told || fail "calls of that process only"
kill $!
expect 0 trace -o told contention --hist dur 1 # a quiet machine has none
has "$err" '^soprof: [0-9]+ events? in [0-9.]+ s'
tell '\[state:|sleep' profile -f -e offcpu -K -- sleep 0.05                            # off-CPU by kstack
tests=$SOPROF_BUILD/tests/cmd
cp "$tests/libcalled.so" libcalled.so
caller=(sh -c "exec '$tests/caller' '$dir/libcalled.so' 1000 10 >'$dir/truth'")
tell '^caller +[-0-9.]+ *[A-Za-z]* +[0-9]+$' trace "$dir/libcalled.so:called_mid" --by comm --sum arg0 -I 5 -- "${caller[@]}" # malloc { sum(arg0) }
read -r mid _ <truth
tell " $mid\$" trace "$dir/libcalled.so:called_mid" --by comm -- "${caller[@]}"
tell "$hist" trace "$dir/libcalled.so:called_mid.. $dir/libcalled.so:called_mid[retval || 1]" --hist dur -- "${caller[@]}"
cp "$tests/marked" app
tell '^ +1048576 -> ' trace 'usdt:./app:request_start..usdt:./app:request_end' --hist dur -- ./app 20 1100 # usdt start..end
[ "$(awk '/ -> / { n += $5 } END { print n }' told)" = 20 ] || fail "20 requests"
! grep -qE '^ +[0-9]{1,6} -> .* : [1-9]' told || fail "no request shorter than it is: $(grep ' -> ' told)"
"$tests/caller" "$dir/libcalled.so" 500000000 10 >"$dir/null" &
tell " $! +caller +called_mid +libcalled\.so" calls "$dir/libcalled.so:called_mid" --by process -I 1 1 # SHA256 { @[pid] = count() }
kill $!
tell 'called_mid .*retval=1[0-9][0-9]' trace "$dir/libcalled.so:called_mid[retval > 100]" -- "${caller[@]}"      # trace 'r::f (retval > 100)'
! grep -q 'arg[0-9]=' told || fail "no argument of a call that has returned"

# --- perf ---
tell 'sched:sched_switch|samples' profile -e sched:sched_switch -- sh -c "$work"       # record -e
[ ! -d /sys/kernel/tracing/events/kmem ] || tell 'kmem:kmalloc' stat -e kmem:kmalloc -I 1 1                                        # stat -e -I
tell ' dd .* call=write ' trace syscalls -- sh -c "$work"                              # trace CMD
grep -qE ' call=mmap .* ret=0x[0-9a-f]{9,} ' told && ! grep -qE ' call=(mmap|brk) .* ret=[1-9]' told || fail "results that are addresses"
tell ' syscall:openat .*ret=-ENOENT' trace 'syscall:{openat,read,write}' -- sh -c "$work" # trace -e open,read,write
! grep -qE ' syscall:(close|mmap) ' told || fail "those three calls only"
tell ' sleep .* call=clock_nanosleep ' trace syscalls --min 10ms -- sh -c "$work"      # trace --duration
tell 'called_mid ip=0x[0-9a-f]+ ax=' trace "$dir/libcalled.so:called_mid" --print ip,ax -- "${caller[@]}" # uprobe_events f %ip %ax
tell '^opens +yes' list                                                          # list
tell 'bytes_req' list 'kmem:kmalloc' -v                                          # list, with fields
# --- ftrace ---
tell ' kmem:kmalloc ' trace kmem:kmalloc sched:sched_process_exec -- sh -c "$work"     # record -e A -e B
grep -q ' sched:sched_process_exec ' told || fail "both events to be told"
tell '^comm=(dd|cat|sh|sleep)$' trace 'kmem:kmalloc[bytes_req > 100]' --by comm --hist bytes_req -- sh -c "$work; $work"
expect 0 trace -o told hardirqs --hist dur 1 # irq latency; a quiet machine has none
has "$err" '^soprof: [0-9]+ events? in [0-9.]+ s'

if [ -e /sys/bus/event_source/devices/kprobe ]; then
	tell "$hist" trace 'kprobe:vfs_read..kret:vfs_read' --hist dur -- sh -c "$work"
	tell "$hist" trace 'kprobe:tcp_v4_connect..kret:tcp_v4_connect' --hist dur -- bash -c "$connect"
	tell 'kprobe:vfs_read: .* count' list kprobe:vfs_read -v                               # perf probe -V vfs_read
	tell 'count=10$' trace 'kprobe:vfs_write[count == 10]' --print count -- sh -c "$work"  # perf probe --add 'vfs_write count'
fi
finish
