#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 180
# What libbpf-tools, bcc's tools in C, tell of the same work at the same time: files, programs, ends, signals and connections line by
# line; system calls by their number; requests to a loop device, times on a CPU and waits for one bucket by bucket. They come
# from Debian's package, which is not installed.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/../unpack.bash"
need_root
unpack libbpf-tools || skip "cannot fetch libbpf-tools"
tools=$unpacked/libbpf-tools/usr/sbin
cd "$dir" || exit 1
both=() # processes: theirs, and ours
# theirs TOOL ARGUMENT...: to TOOL.txt, until it is attached: then it says something
theirs() {
	stdbuf -oL "$tools/$1" "${@:2}" >"$1.txt" 2>"$1.err" &
	both+=($!)
	wait_until 100 test -s "$1.txt" || fail "$1 to begin: $(tail -n 2 "$1.err")"
}
is_attached() { grep -qs '^CapPrm:[[:space:]]*0*$' "/proc/$1/status"; }
# ours FILE ARGUMENT...
ours() {
	what="trace ${*:2}"
	"$SOPROF" trace "${@:2}" -o "$1" 2>"$err" &
	both+=($!)
	wait_until 100 is_attached $! || fail "soprof to trace: $(cat "$err")"
}
end() {
	sleep 0.3 # what theirs hold back
	kill -INT "${both[@]}" 2>null
	wait "${both[@]}"
	both=()
}
# alike WHAT LEAST: the files `them` and `us` are the same, and have so many lines
alike() {
	[ "$(wc -l <them)" -ge "$2" ] && cmp -s them us || { diff them us | head -n 20; fail "$1 as libbpf-tools tell them"; }
}

# --- line by line; a program of a name that nobody else has ---
cat=cat$$
cp /bin/cat $cat
theirs opensnoop
ours lines opens --comm $cat
./$cat /etc/passwd ./nonexistent /etc/group >null 2>&1
end
awk -v c=$cat '$2 == c { print $5, $4 == 2 ? "-ENOENT" : $3 }' opensnoop.txt >them
sed -nE 's/.* opens file="([^"]*)" flags=[^ ]* ret=([^ ]*) dur=.*/\1 \2/p' lines >us
alike 'files' 4

theirs execsnoop
ours lines execs --json
bash -c 'echo $$ >parent; /bin/true one two; /bin/echo three; ./nonexistent; :' >null 2>&1
end
read -r parent <parent
awk -v p="$parent" '$3 == p && $4 == 0 { print $2, $6, $7 }' execsnoop.txt >them
sed -nE "s/.*\"pid\":([0-9]+),.*\"args\":\"[^ \"]* ([^\"]*)\",\"ppid\":$parent,.*/\\1 \\2/p" lines | awk '{ print $1, $2, $3 }' >us
alike 'programs' 2

theirs exitsnoop
ours lines exits --json
bash -c 'echo $$ >parent; (exit 3); sh -c "kill -TERM \$\$"; /bin/true; :' >null 2>&1
end
read -r parent <parent
awk -v p="$parent" '$3 == p { print $2, $6 == "code" ? $7 : $6 == "signal" ? "SIG" $7 : $6 }' exitsnoop.txt | sed 's/SIG15/SIGTERM/' >them
sed -nE "s/.*\"pid\":([0-9]+),.*\"ppid\":\"?$parent\"?,\"status\":\"?([^,\"]*)\"?,.*/\\1 \\2/p" lines >us
alike 'ends of processes' 3

theirs sigsnoop
ours lines signals --json
bash -c 'echo $$ >parent; trap : USR1 USR2; kill -USR1 $$; kill -USR2 $$; kill -USR1 $$'
end
read -r parent <parent
awk -v p="$parent" '$2 == p && $5 == p { print $4 }' sigsnoop.txt >them
sed -nE "s/.*\"pid\":$parent,.*\"sig\":\"SIGUSR([12])\",.*/\\1/p" lines | sed 's/1/10/; s/2/12/' >us
alike 'signals' 3

if [ -x /usr/bin/python3 ]; then
	theirs tcplife
	ours lines tcplife --json
	/usr/bin/python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
a = s.accept()[0]
a.sendall(b"x" * 50000)
n = 0
while n < 50000: n += len(c.recv(9000))
print(s.getsockname()[1])
c.close(); a.close()' >port
	end
	read -r port <port
	awk -v p="$port" '$4 == p || $6 == p { print $4, $6 }' tcplife.txt | sort >them
	sed -nE 's/.*"dport":([0-9]+),"port":([0-9]+),.*/\2 \1/p' lines | awk -v p="$port" '$1 == p || $2 == p' | sort >us
	alike 'connections that end' 2
fi

# --- by number, of one process ---
sh -c 'kill -STOP $$; exec dd if=/dev/zero of=/dev/null bs=10 count=700 status=none' &
pid=$!
is_stopped() { grep -q '^State:.*stopped' /proc/$pid/status; }
wait_until 100 is_stopped || fail "a shell to stop"
theirs syscount -p $pid
ours rows syscalls -p $pid --by sys --csv
kill -CONT $pid
wait $pid
end
awk '$2 ~ /^[0-9]+$/ && $1 ~ /^[a-z_0-9]+$/ { print $1, $2 }' syscount.txt | grep -E '^(read|write|openat|close|mmap) ' | sort >them
sed -nE 's/^[0-9:]{8},syscalls,([a-z_0-9]+),([0-9]+)$/\1 \2/p' rows | grep -E '^(read|write|openat|close|mmap) ' | sort >us
alike 'system calls' 4

# --- bucket by bucket ---
# their_buckets FILE: FROM COUNT; our_buckets FILE
their_buckets() { awk '$2 == "->" && $5 { print $1, $5 }' "$1" | sort -n; }
our_buckets() { awk -F, 'NR > 1 { print $(NF - 2), $NF }' "$1" | sort -n; }
# apart: per cent of events that are in other buckets, in the files `them` and `us`
apart() { awk '{ n[$1] += (FILENAME == "us" ? 1 : -1) * $2; all += $2 } END { for (k in n) d += n[k] < 0 ? -n[k] : n[k]; printf "%d\n", all ? 100 * d / all : 100 }' them us; }
truncate -s 8M image
if loop=$(losetup -f --show image 2>loop.err); then
	trap 'losetup -d "$loop"; leave' EXIT
	for tool in biolatency bitesize; do
		[ $tool = bitesize ] && hist='kb=rq->__data_len / 1024' event="bitesize[rq->q->disk->disk_name == \"${loop#/dev/}\"]" ||
			hist='us=dur / 1000' event="biolatency[rq->q->disk->disk_name == \"${loop#/dev/}\"]"
		theirs $tool -d "${loop#/dev/}"
		ours rows "$event" --hist "$hist" --csv
		dd if="$loop" of=null iflag=direct bs=4096 count=300 status=none
		dd if="$loop" of=null iflag=direct bs=65536 count=100 status=none
		end
		their_buckets $tool.txt >them
		our_buckets rows >us
		say "$tool: $(apart) % in other buckets; $(awk '{ n += $2 } END { print n }' us) requests"
		[ "$(awk '{ n += $2 } END { print n + 0 }' them)" = "$(awk '{ n += $2 } END { print n + 0 }' us)" ] || fail "as many requests: $(cat "$tool.txt")"
		[ $tool != bitesize ] || alike 'sizes' 2
		[ "$(apart)" -le 10 ] || { cat them us; fail "times in the buckets of biolatency"; }
	done
	losetup -d "$loop"
	trap leave EXIT
else
	say "no loop device here: $(cat loop.err)"
fi
# Of the whole machine; each begins and ends a moment apart from the other.
for tool in runqlat cpudist; do
	theirs $tool
	[ $tool = cpudist ] && event='cpudist[!prev_state]' || event=$tool # theirs leaves out what ends in a wait
	ours rows "$event" --hist 'us=dur / 1000' --csv
	for ((i = 0; i < 300; i++)); do sleep 0.01; done
	end
	their_buckets $tool.txt >them
	our_buckets rows >us
	say "$tool: $(apart) % in other buckets, or seen by one alone; $(awk '{ n += $2 } END { print n }' us) events"
	[ "$(awk '{ n += $2 } END { print n + 0 }' us)" -ge 300 ] && [ "$(apart)" -le 10 ] || { paste them us; fail "the buckets of $tool"; }
done
finish
