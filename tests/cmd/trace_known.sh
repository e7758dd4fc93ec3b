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
tell '^ +1048576 -> ' trace 'usdt:./app:request_start..usdt:./app:request_end on arg0' --hist dur -- ./app 20 1100 # usdt start..end
[ "$(awk '/ -> / { n += $5 } END { print n }' told)" = 20 ] || fail "20 requests"
! grep -qE '^ +[0-9]{1,6} -> .* : [1-9]' told || fail "no request shorter than it is: $(grep ' -> ' told)"
tell '^odd +100 +10$' trace usdt:./app:request_start --by 'kind=ustr(arg1)' --sum arg0 -- ./app 20 0 # usdt { @[str(arg1)] = sum(arg0) }
grep -qE '^even +90 +10$' told || fail "the sum of the even ones"
# Marks with arguments in all kinds of places; the program says itself what they are.
tell ' usdt:\./app:marked:sizes ' trace usdt:./app:marked:values usdt:./app:marked:sizes usdt:./app:half 'usdt:./app:values[arg1 >= 128 && arg2 < 0]' -- ./app values
sed -nE 's/^(arg0=.*) text=.*/\1/p; s/^-?[0-9]+ .*/& /p' "$out" >wanted
sed -nE 's/.* usdt:\.\/app:marked:values (arg0=.*) arg3=.*/\1/p; s/.* usdt:\.\/app:(marked:sizes|half) (.*)/number \2 /p' told | sed '/^number /s/number |arg[0-9]=//g' -E >seen
[ "$(wc -l <wanted)" = 7 ] && cmp -s wanted seen || { diff wanted seen; fail "the arguments that the program has"; }
[ "$(grep -c ' usdt:\./app:values .* arg2=-' told)" = 3 ] || fail "three of four that a filter wants"
tell ' text="first"$' trace 'usdt:./app:values[arg0 != -70000]' --print 'text=ustr(arg3)' -- ./app values
[ "$(grep -cE ' text="(first|second|third)"$' told)" = 3 ] || fail "texts that arguments lead to"
if [ "$slow" = 1 ]; then # no kernel is asked
	expect 0 trace --list 'usdt:./app:*' -v
	has "$out" '^    marked:values: int arg0, unsigned char arg1, long arg2, unsigned long arg3$'
	has "$out" '^    marked:fraction: unsigned int arg1$'
	has "$out" '^        arg0 cannot be read: it is a number with a fraction$'
	sed -nE '/no_sense|rm$/d; s/^        .*\/app\+0x[0-9a-f]+: //p' "$out" | sed 's/=[-0-9]*//g' | sort >seen
	readelf -n app | sed -n 's/^ *Arguments: //p' | grep -v 'rm$' | sort >wanted
	[ "$(wc -l <wanted)" -gt 14 ] && cmp -s wanted seen || { diff wanted seen; fail "the arguments that readelf shows"; }
	while read -r mark why; do
		expect 2 trace "usdt:./app:$mark" --print arg0 -- true
		has "$err" "^soprof: .*($why)"
	done <<-'END'
		no_register there is no such register
		no_scale the scale is none of 1, 2, 4 and 8
		no_size its size is none of 1, 2, 4 and 8 bytes
		no_end a bracket is not closed
		no_number it is no number
		no_sense its size is none of
		too_wide it is wider than its register
		too_many arg12.*there are more than twelve
		fraction it is a number with a fraction
		symbol a symbol tells where it is
		request_start[arg2] has no field .arg2.; did you mean arg[0-9]
		*[arg1] cannot be read|has no arg1|makes no sense|arguments of marked:
	END
	expect 0 trace usdt:./app:no_register -- true # who asks for no arguments needs none
fi
# A file of that name that appears while it runs, and has an argument elsewhere: its note was changed to a constant.
mkdir one two
cp app one/served
sed -E 's/-4@%e.. 8@/-4@$77  8@/g' app >two/served
chmod +x two/served
cmp -s app two/served && there=2 || there=77
one/served 1000000 10000 &
tell " arg0=$there\$" trace 'usdt:served:request_end[arg0 > 1]' --print arg0 -- two/served $((3 * slow)) 300000
kill $!
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
