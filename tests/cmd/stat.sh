#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 90
# soprof stat: counts of commands, processes and the machine, beside perf stat and getrusage; --use; bad input.
. "$(dirname "$0")/lib.bash"

# field EVENT: of perf's -x, in $err
field() { awk -F, -v e="$1" '$3 == e { print $1 }' "$err"; }
near() { # NAME OURS THEIRS SLACK
	[ -n "$2" ] && [ -n "$3" ] && [ $(($2 - $3)) -le "$4" ] && [ $(($3 - $2)) -le "$4" ] || fail "$1: as many as '$3', not '$2'"
}

# A command: its exit code, its output apart from the counts, and what it has done. 4,096 pages are touched for the first time.
expect 7 stat -x, -e task-clock,page-faults,minor-faults,context-switches -- sh -c 'echo own; sleep 0.05; sleep 0.05; exit 7'
[ "$(cat "$out")" = own ] || fail "the command's output, and nothing else, on stdout"
[ "$(field context-switches)" -ge 2 ] || fail "a switch for each sleep"
expect 0 stat -x, -e page-faults -- /usr/bin/python3 -S -c ''
few=$(field page-faults)
expect 0 stat -x, -e page-faults -- /usr/bin/python3 -S -c '
import mmap, resource
m = mmap.mmap(-1, 4096 * 4096)
for i in range(4096): m[i * 4096] = 1'
near "pages touched" $(($(field page-faults) - few)) 4096 120

# Rate, errors and duration of a command's calls, which are known; and of a function whose result says whether it failed.
if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ]; then
	expect 0 stat --red --csv -o "$dir/red" -- sh -c 'for i in 1 2 3 4 5; do cat /nonexistent; done 2>/dev/null; exec dd if=/dev/zero of=/dev/null bs=16 count=500 status=none'
	read -r writes errors < <(awk -F, '$1 == "write" { print $2, $4 }' "$dir/red")
	[ "${writes:-0}" -ge 500 ] && [ "$writes" -le 520 ] && [ "$errors" = 0 ] || fail "500 writes of dd, none of which failed, not $writes and $errors"
	[ "$(awk -F, '$1 == "openat" { print ($4 >= 5) }' "$dir/red")" = 1 ] || fail "5 files that cannot be opened"
	expect 0 stat --red -e syscall:clock_nanosleep --json -- sleep 0.05
	ns=$(sed -nE 's/.*"ns":([0-9]+).*/\1/p' "$err")
	[ "${ns:-0}" -ge 50000000 ] || fail "a sleep of 50 ms, not $ns ns"
	# A function of a server's library, beside what the server itself says of each call: how many, which failed, how long.
	libz=$(ls /lib/x86_64-linux-gnu/libz.so.1 /usr/lib/x86_64-linux-gnu/libz.so.1 2>"$dir/null" | head -n 1)
	cp "$libz" "$dir/libz.so.1"
	cat >"$dir/service.py" <<-'END'
		import ctypes, http.client, http.server, sys, threading, time
		z = ctypes.CDLL(sys.argv[1])
		text, room = open(sys.executable, "rb").read(200000), ctypes.create_string_buffer(300000)
		n = failed = ns = most = 0
		class Handler(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        global n, failed, ns, most
		        size = ctypes.c_ulong(10 if self.path == "/fails" else len(room))
		        begun = time.perf_counter_ns()
		        r = z.compress2(room, ctypes.byref(size), text, ctypes.c_ulong(len(text)), 1)
		        took = time.perf_counter_ns() - begun
		        n, failed, ns, most = n + 1, failed + (r != 0), ns + took, max(most, took)
		        self.send_response(200)
		        self.end_headers()
		    def log_message(self, *words): pass
		server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
		threading.Thread(target=server.serve_forever, daemon=True).start()
		for i in range(60):
		    c = http.client.HTTPConnection(*server.server_address)
		    c.request("GET", "/fails" if i % 3 == 0 else "/")
		    c.getresponse().read()
		    c.close()
		print(n, failed, ns, most)
	END
	expect 0 stat --red -e "$dir/libz.so.1:compress2[retval & 0x80000000]" --csv -o "$dir/red" -- /usr/bin/python3 "$dir/service.py" "$dir/libz.so.1"
	read -r n failed ns most <"$out"
	IFS=, read -r _ count _ errors ours half most_of < <(tail -n 1 "$dir/red")
	[ "$n/$failed" = 60/20 ] && [ "$count/$errors" = "$n/$failed" ] || fail "$n calls, $failed of them failed, not '$count' and '$errors'"
	[ "${ours:-0}" -le "${ns:-0}" ] && [ $((ns - ours)) -le $((ns / 4 + 10000000)) ] || fail "$ns ns of calls, as the server says, not '$ours'"
	[ "${half:-0}" -le "${most_of:-0}" ] && [ "$most_of" -le $((2 * most)) ] && [ "$most_of" -ge $((ours / count)) ] ||
		fail "99 % below at most twice the longest call, $most ns, not '$most_of'"
	# a file of the library that appears meanwhile
	are_probed() { # NUMBER: of ends of calls, in all files
		[ "$(grep -lsE '^link_type:[[:space:]]*u(ret)?probe_multi' "/proc/$soprof/fdinfo/"* | grep -c .)" = "$1" ] ||
			[ "$(grep -os "soprof/p${soprof}_[^ ]*" /sys/kernel/tracing/uprobe_events | sort -u | grep -c .)" = "$1" ]
	}
	cp "$SOPROF_BUILD/tests/cmd/libcalled.so" "$dir/libcalled.so"
	"$SOPROF" stat --red -e "$dir/libcalled.so:called_mid" --csv -o "$dir/red" 60 2>"$err" &
	soprof=$!
	wait_until $((200 * slow)) are_probed 2 || fail "a function to be probed at both ends"
	"$SOPROF_BUILD/tests/cmd/caller" "$dir/libcalled.so" 40 1 >"$dir/null"
	cp "$dir/libcalled.so" "$dir/next.so" && mv "$dir/next.so" "$dir/libcalled.so"
	"$SOPROF_BUILD/tests/cmd/caller" "$dir/libcalled.so" 60 1 "$dir/gate" >"$dir/null" &
	later=$!
	wait_until $((200 * slow)) are_probed 4 || fail "the later file to be probed"
	touch "$dir/gate"
	wait $later
	kill -INT $soprof
	wait $soprof
	[ "$(sed -nE 's/.*called_mid,([0-9]+),.*/\1/p' "$dir/red")" = 100 ] || fail "the calls in both files, not $(tail -n 1 "$dir/red")"
	has "$err" '1 more file appeared'
	expect 2 stat --red --use 1
	one_line 'do not go together'
	expect 2 stat --red -e cycles 1
	one_line "'cycles' is no event that can be traced"
fi

# Of a command that knows its own counts: all but those of the time before its exec. Threads and children are its, too.
cat >"$dir/own.py" <<'END'
import os, resource, threading, time
def wait():
    for i in range(50): time.sleep(0.002)
t = threading.Thread(target=wait); t.start(); t.join()
if os.fork() == 0:
    wait(); os._exit(0)
os.wait()
a, b = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
print(a.ru_nvcsw + a.ru_nivcsw + b.ru_nvcsw + b.ru_nivcsw)
END
cat >"$dir/outside.py" <<'END'
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
u = os.wait4(pid, 0)[2]
print(u.ru_minflt + u.ru_majflt)
END
expect 0 stat -x, -e cs,page-faults -- /usr/bin/python3 -S "$dir/own.py"
switches=$(cat "$out") faults=$(/usr/bin/python3 -S "$dir/outside.py" /usr/bin/python3 -S "$dir/own.py")
[ "$switches" -ge 100 ] || fail "the victim's hundred waits"
near "switches beside getrusage" "$(field cs)" "$switches" $((switches / 20 + 3))
near "faults beside getrusage" "$(field page-faults)" "$faults" $((faults / 20 + 20))

# perf stat, on the same work
if command -v perf >"$dir/null" && perf stat -x, -o "$dir/perf" -e page-faults,task-clock /usr/bin/python3 -S -c '' 2>"$dir/null"; then
	theirs=$(awk -F, '$3 == "page-faults" { print $1 }' "$dir/perf")
	near "faults beside perf stat" "$few" "$theirs" 25
fi

# Layouts
expect 0 stat -r 3 -- true
has "$err" "^ Performance counter stats for 'true' \(3 runs\):$"
has "$err" '^ .* msec task-clock  *# .* CPUs utilized  \( \+- .*% \)$'
has "$err" ' seconds time elapsed  \( \+- '
expect 0 stat -e task-clock,page-faults -- true
has "$err" "^ Performance counter stats for 'true':$"
has "$err" '^ *[0-9]* *page-faults  *# .*/sec$'
has "$err" '^ *[0-9.]* seconds user$'
expect 0 stat --json -e task-clock,page-faults,cs -- sleep 0.01
python3 - "$err" <<'END' || fail "JSON with the three events"
import json, sys
o = json.loads([l for l in open(sys.argv[1]) if l.startswith("{")][-1])
e = {x["event"]: x for x in o["events"]}
assert o["elapsed_s"] >= 0.01 and e["page-faults"]["value"] > 10 and 0 < e["task-clock"]["value"] < 1e9
END
expect 0 stat -I 1 -e cpu-clock -o "$dir/each" 3
[ "$(grep -c 'msec cpu-clock' "$dir/each")" = 3 ] || fail "three intervals"

# The whole machine: its clocks run all the time. A process: what it does from now on.
cpus=$(nproc --all)
awk -v cpus="$cpus" '/cpu-clock/ { ms = 1000 * ($1 - last); last = $1; if ($2 > 1.2 * ms * cpus || $2 < 0.7 * ms) exit 1 }' "$dir/each" ||
	fail "the time of each CPU: $(cat "$dir/each")"
/usr/bin/python3 -S -c '
import time
for i in range(100000): time.sleep(0.01)' &
victim=$!
all_switches() { awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$victim/status"; }
before=$(all_switches)
expect 0 stat -x, -e cs -p "$victim" 2
switches=$(awk -F, '$3 == "cs" { print $1 }' "$out")
most=$(($(all_switches) - before))
[ "$switches" -gt 0 ] && [ $((switches * 20)) -ge "$most" ] && [ "$switches" -le "$most" ] || fail "of $most switches those of two seconds, not $switches"
kill "$victim"

# Signals reach the command, and end the counting of what is no command.
"$SOPROF" stat -e cs >"$out" 2>"$err" &
own=$!
for ((i = 0; i < 200; i++)); do
	ls -l "/proc/$own/fd" 2>"$dir/null" | grep -q perf_event && break
	sleep 0.02
done
kill -INT "$own"
wait "$own" || fail "exit code 0 after SIGINT"
has "$out" 'cs'

# A tracepoint by tracefs
if [ -r /sys/kernel/tracing/events/sched/sched_process_exec/id ] || [ -r /sys/kernel/debug/tracing/events/sched/sched_process_exec/id ]; then
	expect 0 stat -x, -e sched:sched_process_exec -- sh -c '/bin/true; /bin/true; exec /bin/true'
	[ "$(field sched:sched_process_exec)" -ge 3 ] || fail "three execs"
	expect 2 stat -e sched:sched_process_exek -- true
	has "$err" 'did you mean sched:sched_process_exec'
fi

# By library: what is taken of each event is what was counted, bursts of faults included.
run profile -K -F 99 -- true
if [ "$status" = 0 ]; then
	expect 0 stat -e task-clock,page-faults --by library --csv -o "$dir/by" -- /usr/bin/python3 -S -c ''
	sampled=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "page-faults_self") f = i; next } { n += $f } END { print n }' "$dir/by")
	near "faults by library" "$sampled" "$few" 30
fi

# --use needs nobody's leave, and is parsed as it says.
expect 0 stat --use --json 1
python3 - "$out" <<'END' || fail "JSON of --use"
import json, sys
r = json.load(open(sys.argv[1]))["resources"]
n = [x["resource"] for x in r]
assert n[0].startswith("CPUs (") and "memory" in n, n
assert all(x["state"] in ("fine", "busy", "saturated", "errors") for x in r)
assert 0 < r[1]["used_percent"] < 100
END
expect 0 stat --use 1
has "$out" '^resource  *used %  *saturation'
expect 0 stat --use --csv -I 1 2
[ "$(grep -c '^memory,' "$out")" = 2 ] && [ "$(grep -c '^resource,' "$out")" = 1 ] || fail "two intervals, one head"

# Bad input
expect 2 stat -e page-fault -- true
has "$err" 'did you mean page-faults'
expect 127 stat -- "$dir/nosuch"
has "$err" 'cannot run .*nosuch'
expect 1 stat -p 4194304 1
has "$err" 'there is no process 4194304'
expect 2 stat -p 1 -- true
expect 2 stat -r 2 1
expect 2 stat --use -- true
expect 2 stat --by nosuch 1
one_line 'nosuch'
expect 2 stat -C 4000 1
one_line 'there is no CPU 4000'
if [ ! -e /sys/bus/event_source/devices/cpu ]; then
	expect 3 stat --by library -e L1-dcache-loads 1
	one_line '^soprof: stat: this machine has no event L1-dcache-loads'
fi
expect 1 stat --by library -o "$dir/no/such.csv" 1
one_line '^soprof: stat: write .*no/such.csv'
expect 1 stat -o "$dir/no/such" 1
has "$err" 'no/such'
finish
