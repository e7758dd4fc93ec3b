#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 90
# Presets beside what the kernel and other programs count of the same: `perf trace -s` of system calls; /proc/stat of processes,
# /proc/softirqs and /proc/interrupts; schedstat of time on a CPU and of waits for one; a cgroup's memory.events of what is killed;
# /proc/diskstats and bpftrace's histograms of requests to a loop device; `ss -ti`, nstat and the client's clock of connections
# whose packets are lost on their way. Connections of IPv6.
. "$(dirname "$0")/lib.bash"
is_root || skip "needs root"
[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel shows no types"
cd "$dir" || exit 1
run trace opens -- true
[ "$status" != 3 ] || skip "no BPF here: $(tail -n 1 "$err")"
# same WHAT IS WANT
same() { [ "$2" = "$3" ] || fail "$1 to be $3, not $2"; }
# tracing NAME ARGUMENT...: in the background, its rows or lines in the file NAME; until it is attached. soprof: its processes
soprof=()
# A link of a raw tracepoint is seen in no file, but privileges are given up right behind the last one.
is_attached() { grep -qs '^CapPrm:[[:space:]]*0*$' "/proc/$1/status"; }
tracing() {
	local name=$1
	shift
	what="trace $*"
	"$SOPROF" trace "$@" -o "$name" 2>"$name.err" &
	soprof+=($!)
	wait_until $((100 * slow)) is_attached $! || fail "soprof to trace $*: $(cat "$name.err")"
}
traced() {
	kill -INT "${soprof[@]}"
	wait "${soprof[@]}"
	soprof=()
}

# --- system calls, beside perf ---
work='dd if=/dev/zero of=/dev/null bs=10 count=200 status=none; cat /nonexistent 2>/dev/null; :'
# Sorted: a call that ends on another CPU than it began on is not counted by perf else.
if perf trace -s --sort-events -o perf.txt -- sh -c "$work" 2>perf.err && grep -q '^ *read ' perf.txt; then
	expect 0 trace syscalls --by sys,'failed=ret < 0 && ret > -512' --csv -o rows -- sh -c "$work"
	for call in read write openat close dup2 mmap; do
		theirs=$(awk -v c=$call '$1 == c { n += $2; failed += $3 } END { print n + 0, failed + 0 }' perf.txt)
		ours=$(awk -F, -v c=$call '$3 == c { n += $5; failed += $4 * $5 } END { print n + 0, failed + 0 }' rows)
		same "$call, and those that failed, beside perf trace -s," "$ours" "$theirs"
	done
else
	say "perf trace cannot be run here: not compared"
fi

# --- files that are asked about, and mounts, beside strace ---
if strace -o traced -e trace=openat true 2>/dev/null; then
	strace -f -o traced -e trace=stat,lstat,newfstatat,statx stat ./nonexistent /etc/passwd / >/dev/null 2>&1
	sed -nE 's/.*(newfstatat|statx)\([^,]*, ("[^"]*"),.* = (0|-1 E[A-Z]*).*/\2 \3/p' traced | sed 's/-1 E/-E/' >wanted
	expect 1 trace statsnoop -o lines -- stat ./nonexistent /etc/passwd /
	sed -nE 's/.* stats file=("[^"]*") ret=([^ ]*) dur=.*/\1 \2/p' lines >told
	[ -s wanted ] && cmp -s wanted told || { diff wanted told; fail "the files that strace tells"; }
	mkdir on
	strace -f -o traced -e trace=mount,umount2 unshare -m sh -c 'mount -t tmpfs one on; umount on; umount on' 2>/dev/null
	sed -nE 's/.* (mount|umount2)\(("[^"]*"),.* = (0|-1 E[A-Z]*).*/\1 \2 \3/p' traced | sed 's/-1 E/-E/' >wanted
	run trace mountsnoop -o lines -- unshare -m sh -c 'mount -t tmpfs one on; umount on; umount on'
	sed -nE 's/.* mounts call=(mount|umount2) first=("[^"]*") at=.* ret=([^ ]*) dur=.*/\1 \2 \3/p' lines >told
	[ -s wanted ] && cmp -s wanted told || { diff wanted told; fail "the mounts that strace tells"; }
	has_not "$err" 'texts could not be read'
else
	say "strace cannot be run here: not compared"
fi

# --- what the kernel counts all the time: no fewer than while we looked, nor more than around that ---
counted() { # processes, soft interrupts, interrupts: KIND KEY NUMBER
	awk '$1 == "processes" { print "threads", "all", $2 }' /proc/stat
	awk 'NR > 1 { n = 0; for (i = 2; i <= NF; i++) n += $i; sub(":", "", $1); print "softirqs", tolower($1), n }' /proc/softirqs
	# of one handler, since each is told by itself; some few interrupts that the kernel counts reach none
	awk 'NR == 1 { cpus = NF; next } $1 ~ /^[0-9]+:$/ && !/,/ { n = 0; for (i = 2; i <= cpus + 1; i++) n += $i; print "hardirqs", $1 + 0, n }' /proc/interrupts
}
counted >outer0
tracing threads threads --count --csv
tracing softirqs softirqs -C --csv
tracing hardirqs hardirqs -C --csv
counted >inner0
for ((i = 0; i < 200; i++)); do /bin/true; done
counted >inner1
traced
counted >outer1
sed -nE 's/^[0-9:]{8},threads,([0-9]+)$/threads all \1/p' threads >ours
sed -nE 's/^[0-9:]{8},(softirqs|hardirqs),([^,]*),(.*,)?([0-9]+)$/\1 \2 \4/p' softirqs hardirqs >>ours
irq=$(sed -nE 's/^[0-9:]{8},hardirqs,([0-9]+),.*/\1/p' hardirqs | head -n 1)
[ -z "$irq" ] || grep -q "^ *$irq:.* $(sed -nE "s/^[0-9:]{8},hardirqs,$irq,(.*),[0-9]+\$/\1/p" hardirqs)" /proc/interrupts ||
	fail "the names of /proc/interrupts: $(tr '\n' ';' <hardirqs)"
awk '{ n[$1 " " $2, FILENAME] = $3; keys[$1 " " $2] } END { for (k in keys) {
	least = n[k, "inner1"] - n[k, "inner0"]; most = n[k, "outer1"] - n[k, "outer0"]
	if (k ~ /hardirqs/) least = least < 10 ? 0 : 0.8 * least
	if (((k, "outer0") in n) && (n[k, "ours"] + 0 < least || n[k, "ours"] + 0 > most)) print k ": " n[k, "ours"] + 0 ", not " least " to " most
	if (k == "threads all" && least < 200) print "200 processes were begun, not " least } }' outer0 inner0 inner1 outer1 ours >differ
[ ! -s differ ] || fail "as many as the kernel says: $(tr '\n' ';' <differ)"

# --- time on a CPU, and waiting for it: two programs on one CPU, which read what the scheduler says of them ---
cat >busy.sh <<'END'
i=0
while [ $i -lt 150000 ]; do i=$((i + 1)); done
echo $$ $(cat /proc/$$/schedstat)
END
tracing ran cpudist -P --sum dur --csv
tracing waits runqlat -P --sum dur --csv
taskset -c 0 sh busy.sh >busy1 &
busy=$!
taskset -c 0 sh busy.sh >busy2
wait $busy
traced
# near WHAT OURS THEIRS: within a tenth and 5 ms
near() {
	local apart=$((${2:-0} - $3))
	[ ${apart#-} -le $(($3 / 10 + 5000000)) ] || fail "$1 of $3 ns, not '$2'"
}
for of in busy1 busy2; do
	read -r pid used waited _ <$of
	near 'time on a CPU' "$(awk -F, -v p="$pid" '$3 == p { print $4 }' ran)" "$used"
	near 'waits for a CPU' "$(awk -F, -v p="$pid" '$3 == p { print $4 }' waits)" "$waited"
done

# --- a file that is read to its end: the read that gives nothing is no other call's beginning ---
expect 0 trace filetop --csv -o rows -- /usr/bin/python3 -c 'import mmap; open("busy.sh").read(); mmap.mmap(-1, 1 << 20)'
same 'bytes of a file' "$(sed -nE 's/.*,python3,[0-9]+,busy\.sh,([0-9]+),0,[0-9]+$/\1/p' rows)" "$(wc -c <busy.sh)"

# --- what is killed for memory, beside its cgroup ---
group=/sys/fs/cgroup/soprof-test-$$ limit=memory.max events=memory.events
[ ! -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/memory/soprof-test-$$ limit=memory.limit_in_bytes events=memory.oom_control
if mkdir "$group" 2>group.err && [ -e "$group/$limit" ]; then
	echo 16M >"$group/$limit"
	[ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
	run trace oomkill -o lines -- sh -c "echo \$\$ >$group/cgroup.procs; exec /usr/bin/python3 -c 'x = bytearray(100 << 20)'"
	same 'processes killed' "$(grep -cE ' python3 +([0-9]+) +[0-9]+ oomkill pid=[0-9]+' lines)" "$(awk '$1 == "oom_kill" { print $2 }' "$group/$events")"
	[ "$status" = 137 ] || fail "the program to be killed"
else
	say "no memory controller here: $(cat group.err)"
fi
rmdir "$group" 2>group.err

# --- a disk, beside /proc/diskstats: reads and writes that no cache keeps from it ---
truncate -s 8M image
if loop=$(losetup -f --show image 2>loop.err); then
	trap 'losetup -d "$loop"; leave' EXIT
	disk=${loop#/dev/}
	# "reads, sectors read, writes, sectors written, ms of both"
	asked() { awk -v d="$disk" '$3 == d { print $4, $6, $8, $10, $7 + $11 }' /proc/diskstats; }
	bpftrace=
	if command -v bpftrace >null; then
		device=$(($(stat -c '0x%t << 20 | 0x%T' "$loop")))
		bpftrace -e "tracepoint:block:block_rq_issue /args->dev == $device/ { @began[args->sector] = nsecs; @sizes = hist(args->bytes); }
			tracepoint:block:block_rq_complete /args->dev == $device && @began[args->sector]/ {
				@times = hist(nsecs - @began[args->sector]); delete(@began[args->sector]); }
			tracepoint:lock:contention_begin /comm == \"locking\"/ { @waits[tid, args->lock_addr] = nsecs; }
			tracepoint:lock:contention_end /comm == \"locking\" && @waits[tid, args->lock_addr]/ {
				@contention = count(); @waited = sum(nsecs - @waits[tid, args->lock_addr]); delete(@waits[tid, args->lock_addr]); }
			tracepoint:kmem:kmem_cache_alloc /comm == \"making\"/ { @slab = count(); }
			tracepoint:filemap:mm_filemap_add_to_page_cache /comm == \"making\"/ { @mm_filemap_add_to_page_cache = count(); }
			tracepoint:filemap:mm_filemap_get_pages /comm == \"making\"/ { @mm_filemap_get_pages = count(); }
			tracepoint:writeback:writeback_dirty_folio /comm == \"making\"/ { @writeback_dirty_folio = count(); }
			interval:ms:100 { printf(\"on\n\"); }" >theirs 2>theirs.err & # the last one is attached last
		bpftrace=$!
		wait_until $((100 * slow)) grep -qs '^on' theirs || fail "bpftrace to begin: $(cat theirs.err)"
	fi
	cp "$(command -v dd)" making
	cp making locking
	if [ -n "$bpftrace" ]; then
		tracing slabs slab --by comm --csv
		tracing cached cachestat --by comm --csv
		tracing locks contention --by comm --sum dur --csv
		./making if=/dev/zero of=made bs=64k count=64 status=none
		./making if=made of=null bs=64k status=none
		locking=()
		for _ in 1 2 3 4; do
			./locking if=/dev/zero of=shared bs=4k count=3000 conv=notrunc status=none &
			locking+=($!)
		done
		wait "${locking[@]}"
		traced
	fi
	read -r -a before < <(asked)
	tracing snoop biosnoop -d "$disk" --json
	tracing latency biolatency -d "$disk" --csv
	tracing sizes "bitesize[rq->q->disk->disk_name == \"$disk\"]" --csv
	dd if="$loop" of=/dev/null iflag=direct bs=4096 count=100 status=none
	dd if=/dev/zero of="$loop" oflag=direct bs=16384 count=40 status=none
	traced
	read -r -a after < <(asked)
	n=$((after[0] - before[0])) n_written=$((after[2] - before[2]))
	[ $n -ge 100 ] && [ $n_written -ge 40 ] || fail "dd to ask the disk for 100 blocks and give it 40, not $n and $n_written"
	same 'requests that read' "$(grep -c '"op":"read"' snoop)" $n
	same 'requests that write' "$(grep -c '"op":"write"' snoop)" $n_written
	# bytes OPERATION: the sum of what they asked for
	bytes() { sed -nE "s/.*\"op\":\"$1\",.*\"bytes\":([0-9]+),.*/\\1/p" snoop | awk '{ n += $1 } END { print n + 0 }'; }
	same 'bytes read' "$(bytes read)" $((512 * (after[1] - before[1])))
	same 'bytes written' "$(bytes write)" $((512 * (after[3] - before[3])))
	us=$(sed -nE 's/.*"dur":([0-9]+).*/\1/p' snoop | awk '{ n += $1 } END { printf "%.0f\n", n / 1000 }') ms=$((after[4] - before[4]))
	# theirs begins before the request is given to the disk, and is cut to ms
	[ "$us" -le $(((ms + 2) * 1000)) ] && [ "$us" -ge $(((ms - 2) * 500)) ] || fail "the time of requests to be $ms ms, as diskstats say, not $us us"
	same 'requests in the histogram of times' "$(awk -F, 'NR > 1 { n += $NF } END { print n + 0 }' latency)" $((n + n_written))
	same 'requests in the histogram of sizes' "$(awk -F, 'NR > 1 { n += $NF } END { print n + 0 }' sizes)" $((n + n_written))
	if [ -n "$bpftrace" ]; then
		kill -INT $bpftrace
		wait $bpftrace
		# Of the caches, the page cache and the locks of two programs; bpftrace leaves out what comes while it runs on that CPU.
		# counted NAME OURS: within a hundredth of theirs
		counted() {
			local they
			they=$(sed -nE "s/^@$1: ([0-9]+)$/\\1/p" theirs)
			[ "${they:-0}" -gt 0 ] && [ $((100 * ($2 > they ? $2 - they : they - $2))) -le $((they + 200)) ] || fail "$1 of $they, not $2"
		}
		counted slab "$(sed -nE 's/.*,slab,making,([0-9]+)$/\1/p' slabs)"
		for of in mm_filemap_add_to_page_cache mm_filemap_get_pages writeback_dirty_folio; do
			counted $of "$(sed -nE "s/.*,raw:$of,making,([0-9]+)$/\\1/p" cached)"
		done
		counted contention "$(sed -nE 's/.*,contention,locking,[0-9]+,([0-9]+)$/\1/p' locks)"
		near 'waits for locks' "$(sed -nE 's/.*,contention,locking,([0-9]+),[0-9]+$/\1/p' locks)" "$(sed -nE 's/^@waited: ([0-9]+)$/\1/p' theirs)"
		# theirs NAME, ours FILE: FROM COUNT of each bucket
		theirs() {
			awk -v name="@$1:" '/^@/ { on = $1 == name } on && /^\[/ { split($0, word, /[[, )\]]+/); sub(/^[^)\]]*[)\]] */, "")
				if ($1) print word[2] * (word[2] ~ /K/ ? 1024 : word[2] ~ /M/ ? 1048576 : word[2] ~ /G/ ? 1073741824 : 1), $1 }' theirs
		}
		ours() { awk -F, 'NR > 1 { print $(NF - 2), $NF }' "$1"; }
		same 'sizes, bucket by bucket, beside bpftrace,' "$(ours sizes | sort | tr '\n' ' ')" "$(theirs sizes | sort | tr '\n' ' ')"
		# Theirs begins a little earlier, so that times near a bucket's end are in the next: on the whole a quarter more at most.
		# factor: of both means, as powers of two
		factor=$( (ours latency; theirs times | sed 's/ / -/') | awk '{ n = $2 < 0 ? -$2 : $2; k = $2 < 0; sum[k] += n * log($1 ? $1 : 1); all[k] += n }
			END { print all[0] == all[1] && all[0] ? int(100 * exp(sum[1] / all[1] - sum[0] / all[0])) : 0 }')
		[ "$factor" -ge 80 ] && [ "$factor" -le 125 ] || { cat theirs latency; fail "times as bpftrace has them, not $factor per cent of these"; }
	fi
	has sizes ',dd,4096,8191,100$'
	has sizes ',dd,16384,32767,40$'
	# a flush is of no sector, and of no disk; biotop sums up all else
	read -r -a before < <(asked)
	tracing flush biosnoop -d "$disk" --json
	tracing top biotop --csv
	dd if=/dev/zero of="$loop" oflag=direct bs=16384 count=40 conv=fsync status=none
	traced
	read -r -a after < <(asked)
	# rows of the disk: bytes, ns
	read -r bytes_asked ns_asked < <(awk -F, -v d="$(stat -c %Hr:%Lr "$loop")" '$5 == d { b += $6; ns += $7 } END { print b + 0, ns + 0 }' top)
	same 'bytes by biotop' "$bytes_asked" $((512 * (after[1] - before[1] + after[3] - before[3])))
	ns=$(sed -nE 's/.*"op":"write".*"dur":([0-9]+).*/\1/p' flush | awk '{ n += $1 } END { print n + 0 }')
	near "biotop's time of requests" "$ns_asked" "$ns"
	same 'requests by biotop' "$(awk -F, -v d="$(stat -c %Hr:%Lr "$loop")" '$5 == d { n += $8 } END { print n }' top)" "$(grep -c '"op":"write"' flush)"
	has flush '"op":"flush","sector":-1,"bytes":0,'
	losetup -d "$loop"
	trap leave EXIT
else
	say "no loop device here: $(cat loop.err)"
fi

# --- the arguments of a program's marks, beside bpftrace, which knows no more than six ---
cp "$SOPROF_BUILD/tests/cmd/marked" app
if bpftrace -q -e 'usdt:./app:marked:values { printf("arg0=%d arg1=%d arg2=%lld text=\"%s\"\n", arg0, arg1, arg2, str(arg3)); }
	usdt:./app:marked:sizes { printf("arg0=%d arg1=%d arg2=%d arg3=%d arg4=%d arg5=%lld\n", arg0, arg1, arg2, arg3, arg4, arg5); }' \
	-c './app values' -o theirs >bpftrace.err 2>&1 && [ -s theirs ]; then
	expect 0 trace usdt:./app:marked:values --print 'arg0,arg1,arg2,text=ustr(arg3)' -o lines -- ./app values
	sed -nE 's/.* (arg0=.*)/\1/p' lines >ours
	expect 0 trace usdt:./app:marked:sizes --print 'arg0,arg1,arg2,arg3,arg4,arg5' -o lines -- ./app values
	sed -nE 's/.* (arg0=.*)/\1/p' lines >>ours
	cmp -s ours <(grep ^arg0= theirs) || { diff ours theirs; fail "the arguments that bpftrace prints"; }
else
	say "bpftrace is not here, or prints no arguments of marks: not compared"
fi

# --- connections of IPv6, which say so: who asks, who accepts, how long each end lived ---
cat >six.py <<'END'
import os, socket
host = "::1"
s = socket.create_server((host, 0), family=socket.AF_INET6)
port = s.getsockname()[1]
if os.fork():
    c = socket.create_connection((host, port))
    c.sendall(b"x" * 3000)
    n = 0
    while n < 5000: n += len(c.recv(9000))
    here = c.getsockname()[1]
    c.close()
    os.wait()
    print(port, here)
else:
    a, _ = s.accept()
    n = 0
    while n < 3000: n += len(a.recv(9000))
    a.sendall(b"y" * 5000)
    a.recv(1)
    a.close()
END
if grep -qs '^0*1 ' /proc/net/if_inet6; then
	expect 0 trace tcpconnect tcpaccept tcplife tcpstates tcpconnlat --json -o lines -- /usr/bin/python3 six.py
	read -r port here <"$out"
	has lines "\"event\":\"tcpconnect\",.*\"to\":\"::1\",\"dport\":$port\\}"
	has lines "\"event\":\"tcpaccept\",.*\"from\":\"::1\",\"sport\":$here,\"port\":$port,"
	has lines "\"event\":\"tcpconnlat\",.*\"to\":\"::1\",\"dport\":$port,\"state\":\"ESTABLISHED\","
	has lines "\"event\":\"tcpstates\",.*\"old\":\"CLOSE\",\"new\":\"SYN_SENT\",\"port\":[0-9]+,\"to\":\"::1\",\"dport\":$port\\}"
	has lines "\"event\":\"tcplife\",.*\"to\":\"::1\",\"dport\":$port,\"port\":$here,\"sent_bytes\":300[0-9],\"got_bytes\":500[0-9],"
	has lines "\"event\":\"tcplife\",.*\"to\":\"::1\",\"dport\":$here,\"port\":$port,\"sent_bytes\":500[0-9],\"got_bytes\":300[0-9],"
	expect 0 trace tcpconnect -6 -o lines -- /usr/bin/python3 six.py
	has lines ' tcpconnect to=::1 dport='
	expect 0 trace tcpconnect -4 -o lines -- /usr/bin/python3 six.py
	has_not lines ' tcpconnect '
	expect 0 trace tcpconnect -c --csv -o lines -- /usr/bin/python3 six.py
	has lines ',::1,[0-9]+,1$'
else
	say "no IPv6 here: not tried"
fi

# --- packets that are lost on their way: two networks, and the neighbour's address is wrong for a while ---
# The first SYN of a connection is lost, and the next comes a second later; then data are sent in vain, three times.
cat >lossy.py <<'END'
import re, socket, struct, subprocess, sys, threading, time
v6, wrong = sys.argv[1] == "6", "02:00:00:00:00:99"
there, right = ("fd00::2" if v6 else "192.0.2.2"), sys.argv[2]
def neighbour(mac):
    subprocess.run(["ip", "neigh", "replace", there, "lladdr", mac, "dev", "own", "nud", "permanent"], check=True)
def sent_again():
    return int(subprocess.run(["nstat", "-asz", "TcpRetransSegs"], capture_output=True, text=True, check=True).stdout.split()[-2])
before = sent_again()
neighbour(wrong)
threading.Timer(0.3, neighbour, [right]).start()
begun = time.monotonic()
s = socket.create_connection((there, 7000))
took = time.monotonic() - begun
after_connect = sent_again() - before
neighbour(wrong)
s.sendall(b"x" * 100)
while True:
    text = subprocess.run(["ss", "-Htin", "dst", "[%s]" % there if v6 else there], capture_output=True, text=True).stdout
    n = re.search(r"retrans:\d+/(\d+)", text)
    if n and int(n.group(1)) - after_connect >= 3: break
    time.sleep(0.02)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
s.close() # at once, without a word
print(int(n.group(1)), sent_again() - before, int(took * 1e9), there)
END
cat >lossy.sh <<'END'
rm -f ready
unshare -n sleep 60 & # the other network
other=$!
trap 'kill $other' EXIT
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add own type veth peer name other netns $other || exit 1
in_other() { nsenter -t $other -n "$@"; }
ip addr add 192.0.2.1/24 dev own && ip addr add fd00::1/64 dev own nodad && ip link set own up
in_other ip addr add 192.0.2.2/24 dev other && in_other ip addr add fd00::2/64 dev other nodad && in_other ip link set other up
# for ever, as what closes the connection is lost, too; not by in_other, whose shell would be what is ended
nsenter -t $other -n /usr/bin/python3 -c '
import socket, sys
s = socket.create_server(("", 7000), family=socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET)
print("ready", flush=True)
s.accept()[0].recv(1000)
' "$1" >ready &
until grep -qs ready ready; do sleep 0.01; done
mac=$(in_other ip -o link show other | sed -E 's,.*link/ether ([^ ]*).*,\1,')
/usr/bin/python3 lossy.py "$1" "$mac"
kill $! 2>/dev/null
END
lossy() { # 4 or 6
	tracing again tcpretrans --json
	expect 0 trace tcpconnlat tcplife --json -o lines -- unshare -n bash lossy.sh "$1"
	traced
	read -r by_ss by_kernel ns there <"$out"
	[ "${by_ss:-0}" -ge 4 ] || { fail "four segments sent again, as ss -ti says, not '$by_ss'"; return; }
	same 'segments sent again, by nstat' "$by_ss" "$by_kernel"
	same 'segments sent again' "$(grep -c "\"to\":\"$there\",\"dport\":7000," again)" "$by_ss"
	same 'SYNs sent again' "$(grep -c "\"to\":\"$there\",\"dport\":7000,\"state\":\"SYN_SENT\"" again)" 1
	ours=$(sed -nE "s/.*\"event\":\"tcpconnlat\".*\"to\":\"$there\",\"dport\":7000,\"state\":\"ESTABLISHED\",\"dur\":([0-9]+).*/\\1/p" lines)
	[ "${ours:-0}" -ge 1000000000 ] && [ "$ours" -le "$ns" ] && [ $((ns - ours)) -le $((slow * 200000000)) ] ||
		fail "a connection of $ns ns, as its client says, not '$ours'"
	has lines "\"event\":\"tcplife\",.*\"to\":\"$there\",\"dport\":7000,"
}
if unshare -n ip link add own type veth peer name other 2>veth.err; then
	lossy 4
	lossy 6
else
	say "no networks of our own here: $(cat veth.err)"
fi
finish
