#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# The agent as a person and a service manager run it: start, questions, reload, second agent, end.
. "$(dirname "$0")/lib.bash"

# --- what needs no privileges
expect 0 agent --check-config
printf 'frequency: 19\nmax-disk: 2G\nfrequncy: 3\n' >"$dir/bad.yaml"
expect 2 agent --check-config --config "$dir/bad.yaml"
one_line "^soprof: agent: $dir/bad.yaml:3:1: unknown option 'frequncy'; did you mean frequency\\?\$"
expect 2 agent --config "$dir/bad.yaml"
[ ! -s "$out" ] || fail "nothing on stdout, nothing started"
expect 2 agent --check-config --status
expect 2 agent --json
one_line '.--json goes with --status only$'
expect 0 agent --check-config --config "${SOPROF_SOURCE:-$(dirname "$0")/../..}/share/agent.yaml"
one_line_out=$(cat "$out")
[[ $one_line_out == *'agent.yaml: nothing wrong' ]] || fail "to say so"
printf 'fleet: {url: "http://localhost:1", password-file: %s}\n' "$dir/no.password" >"$dir/fleet.yaml"
expect 2 agent --check-config --config "$dir/fleet.yaml"
one_line "^soprof: agent: open $dir/no.password: No such file or directory\$"
echo secret >"$dir/no.password"
expect 0 agent --check-config --config "$dir/fleet.yaml"
expect 1 agent --status --socket "$dir/none.sock"
one_line 'no agent answers at .*none.sock; sudo soprof agent starts one$'
# every option that the file may have stands in the example
for key in $("$SOPROF" --dump-options agent | sed -n 's/^\(\*-.\*, \)\?\*--\([a-z-]*\)\*.*/\2/p' | grep -vxE 'config|check-config|status|json'); do
	grep -q "^#$key: " "${SOPROF_SOURCE:-$(dirname "$0")/../..}/share/agent.yaml" || fail "share/agent.yaml to have $key"
done
need_profile

# --- begin DIRECTORY ARGUMENT...: an agent of its own; $job, its log is DIRECTORY/log
begin() {
	local to=$1
	shift
	what="agent $*"
	rm -f "$to/log"
	"$SOPROF" agent --config "$to/agent.yaml" --store "$to/store" --socket "$to/agent.sock" "$@" >"$to/out" 2>"$to/log" </dev/null &
	job=$!
	wait_agent "$job" "$to/log"
}
ended() {
	kill -TERM "$job"
	wait "$job"
	status=$?
	[ "$status" = 0 ] || fail "exit code 0 after SIGTERM"
}
log_says() {
	local i
	for ((i = 0; i < 100 * slow; i++)); do
		grep -qE -- "$2" "$1/log" && return
		sleep 0.1
	done
	cat "$1/log"
	fail "the log to say: $2"
}
mkdir "$dir/a"
# it has been here before: an hour of yesterday
day=$(date -ud yesterday +%F) # by its date: midnight may pass
then=$(date -ud "$day 10:00" +%s)
for ((t = then; t < then + 3610; t += 10)); do
	echo "$t 100 git 1000 /user.slice main@git;inflate@libz.so.1 20"
	echo "$t 200 nginx 33 /system.slice main@nginx;aes@libcrypto.so.3 30"
done | "$SOPROF_BUILD/tests/cmd/fill" "$dir/a/store" || fail "a store to be filled"
# A second of an emulated CPU does less, so it may have more of them: what parsing may take is a part of max-cpu.
printf 'frequency: 49\ngroup: none\nmax-cpu: %s%%\n' "$slow" >"$dir/a/agent.yaml"
begin "$dir/a"
first=$job
has "$dir/a/log" 'samples cpu 49 times a second'
has "$dir/a/log" "keeps history in $dir/a/store: every 10 s for 2d, every minute for 14d, every hour for 400d"
has "$dir/a/log" "answers at $dir/a/agent.sock: for root about all processes, for others about their own"
[ "$(stat -c %a "$dir/a/agent.sock")" = 666 ] || fail "a socket for everybody"
expect 0 agent --status --socket "$dir/a/agent.sock"
has "$out" "process $job, running for"
has "$out" 'samples   cpu, 49 times a second'
(cd "$dir/a" && exec "$SOPROF" agent --status --json --socket agent.sock) >"$dir/json" || fail "the status as JSON, by a path from here"
if command -v python3 >/dev/null; then
python3 - "$dir/json" "$job" <<'END' || fail "one object: $(cat "$dir/json")"
import json, sys
s = json.load(open(sys.argv[1]))
source, = s["sources"]
assert s["pid"] == int(sys.argv[2]) and s["store_error"] == "" and s["max_cpu_ppm"] == 10000, s
assert source["source"] == "cpu" and source["rate_mhz"] == 49000 and source["dropped"] == 0, source
assert "samples" in source and "samples" not in s and "clients" in s, s
END
fi
has "$out" "store     $dir/a/store: "

# the main process has no capabilities any more, nor can it get any
grep -E '^(Cap(Prm|Eff|Amb)|NoNewPrivs)' "/proc/$job/status" | tr -d '\t\n' >"$dir/privileges"
has "$dir/privileges" '^CapPrm:0{16}CapEff:0{16}CapAmb:0{16}NoNewPrivs:1$'

# a stopped agent is told at once
kill -STOP "$job"
until grep -q '^State:.*T (stopped)' "/proc/$job/status"; do sleep 0.05; done
expect 1 query --socket "$dir/a/agent.sock"
one_line "the agent at $dir/a/agent.sock \\(process $job\\) is stopped"
kill -CONT "$job"

# a second agent on the same store, on the same socket: refused, and the first is named
mkdir "$dir/b"
expect 1 agent --config "$dir/a/agent.yaml" --store "$dir/a/store" --socket none
one_line "$job"
expect 1 agent --config "$dir/a/agent.yaml" --store "$dir/b/store" --socket "$dir/a/agent.sock"
one_line "another agent answers at $dir/a/agent.sock"

# a reload: a broken file is told and changes nothing, a good one changes what it says
echo 'frequency: 0' >"$dir/a/agent.yaml"
kill -HUP "$job"
log_says "$dir/a" 'agent.yaml:1:12: frequency must be 1 to 10000, not 0; the agent goes on as it was'
expect 0 agent --status --socket "$dir/a/agent.sock"
has "$out" 'samples   cpu, 49 times a second'
printf 'frequency: 7\nstore: /elsewhere\nmax-cpu: %s%%\n' "$slow" >"$dir/a/agent.yaml"
kill -HUP "$job"
log_says "$dir/a" 'options read again, with .*/a/agent.yaml'
expect 0 agent --status --socket "$dir/a/agent.sock"
has "$out" 'samples   cpu, 7 times a second'

# questions about the window at hand: root is told about all, an ordinary user about his own
cp "$SOPROF" "$dir/soprof"
all=all$$ own=own$$ # names that nobody else's processes have
cp "$victims/plain/recursion" "$dir/$all"
cp "$victims/plain/recursion" "$dir/$own"
chmod 755 "$dir" "$dir/soprof" "$dir/$own" "$dir/a"
as_nobody() { (cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"); }
"$dir/$all" 600 20 >/dev/null 2>&1 &
pid=$!
at_ease "$pid"
# no function: its shell would stand between, and be killed in its place
(cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/$own" 600 20) >/dev/null 2>&1 &
other=$!
at_ease "$other"
# CONDITION: asks until it holds of the answer, some seconds. Answers cost CPU time, of which little is left for new files
# (these copies are some) where who asks does not wait.
folded() {
	local i
	for ((i = 0; i < 100; i++)); do
		run query --socket "$dir/a/agent.sock" --from -1m --format folded
		[ "$status" = 0 ] && grep -qE "$1" "$out" && return
		sleep $((slow / 2)).5
	done
	fail "an answer with $1"
}
folded "^$all;_start;.*;main;"
folded "^$own;_start;.*;main;"
has "$err" 'sampled \('
# the kernel's functions have names, where it shows where they are
grep -q '^0* ' /proc/kallsyms || has "$out" ';(do_syscall_64|asm_[a-z_]*);'
# sums of a long range are the same through the socket and from the files; not for those who may not see all
for way in --socket="$dir/a/agent.sock" --store="$dir/a/store"; do
	TZ=UTC expect 0 query "$way" --from "$day" --to "$day 18:00" --value samples --csv
	has "$out" '^library,libz\.so\.1,.*,7220,40\.0+,7220,'
	has "$out" '^library,libcrypto\.so\.3,.*,10830,60\.0+,10830,'
	has "$err" '10:00 to 11:00:10: .*, in 2 windows of up to 1 h'
	TZ=UTC expect 0 query "$way" --from "@$((then - 200000))" --to "$day 23:59" --by function --value cpu --csv
	has "$out" '^function,aes,libcrypto\.so\.3,.*,108300000000,60\.0+,'
	has "$out" '^function,main,nginx,.*,0,0\.0+,108300000000,'
done
what='query (as nobody)'
as_nobody "$dir/soprof" query --socket "$dir/a/agent.sock" --from -1m --format folded >"$out" 2>"$err"
status=$?
[ "$status" = 0 ] || fail "an answer for nobody"
has "$out" "^$own;"
has_not "$out" "^$all;"
has "$err" '^your own processes only'
what='query --process 1 (as nobody, for root)'
as_nobody "$dir/soprof" query --socket "$dir/a/agent.sock" --from -1m --process "$all" --format folded >"$out" 2>"$err"
[ ! -s "$out" ] || fail "nothing of others"
one_line "no sample is of a process '$all'.*; these are your own processes only: root and the agent.s group see all$"
kill "$other" "$pid"
# CONDITION: his share of the CPU time for answers comes back
wait_until 600 as_nobody "$dir/soprof" agent --status --socket "$dir/a/agent.sock" >"$out" 2>"$err" || fail "the status for nobody"
as_nobody "$dir/soprof" query --store "$dir/a/store" >"$out" 2>"$err" && fail "files that are not for nobody"

# the end: the socket goes, the store stays
job=$first
ended
log_says "$dir/a" "ended: all windows are in $dir/a/store"
[ ! -e "$dir/a/agent.sock" ] || fail "the socket to be removed"
expect 0 query --store "$dir/a/store" --from -5m --format folded
has "$out" "^$all;_start;.*;main;"
has "$out" "^$own;_start;.*;main;"
expect 1 query --socket "$dir/a/agent.sock"
one_line 'no agent answers at .*agent.sock$'

# without its broker it could name nothing that is new: it ends, for a service manager to start it again
begin "$dir/a"
kill -KILL "$(pgrep -P "$job" -x soprof-broker)"
wait "$job"
status=$?
[ "$status" = 1 ] || fail "exit code 1 when the broker was killed"
has "$dir/a/log" 'the broker was killed, without which no files can be opened$'

# after it ended, no time was sampled and not stored; after it was killed, some may have been
begin "$dir/a"
has "$dir/a/log" 'gap: stopped: the agent did not run for [0-9.]+ s$'
has_not "$dir/a/log" 'gap: killed'
expect 0 agent --status --socket "$dir/a/agent.sock"
has "$out" ", from $(date -d "@$then" '+%F %T') to " # the oldest window, not the last one's day
has_not "$out" 'was killed'
kill -KILL "$job"
wait "$job" 2>/dev/null
begin "$dir/a"
has "$dir/a/log" 'gap: killed: the agent was killed, or the machine went down: up to [0-9]+ s that were sampled are not stored$'
expect 0 agent --status --socket "$dir/a/agent.sock"
has "$out" '^ +the agent before was killed: up to [0-9]+s that it had sampled are not stored$'
ended
expect 0 query --store "$dir/a/store" --from -5m --format folded
has "$err" '^gap .*: the agent was killed, or the machine went down: up to [0-9]+ s that were sampled are not stored$'

# a disk that is full at the end: what is lost is said
mkdir -p "$dir/f/store"
: >"$dir/f/agent.yaml"
if mount -t tmpfs -o size=512k,mode=700 tmpfs "$dir/f/store" 2>/dev/null; then
	begin "$dir/f"
	head -c 600K /dev/zero >"$dir/f/store/filler" 2>/dev/null
	ended
	log_says "$dir/f" 'ended: the last [1-9][0-9]* windows are lost: .*No space left'
	umount "$dir/f/store"
fi

# the service manager hears what it wants to hear, from the agent alone
command -v python3 >/dev/null || { say "no python3: no service manager"; finish; }
mkdir "$dir/n"
: >"$dir/n/agent.yaml"
python3 - "$dir/n/notify" >"$dir/n/heard" <<'END' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    text = s.recv(4096).decode()
    print(text, flush=True)
    if text == "STOPPING=1":
        break
END
manager=$!
until [ -S "$dir/n/notify" ]; do sleep 0.05; done
export NOTIFY_SOCKET=$dir/n/notify WATCHDOG_USEC=3000000
begin "$dir/n"
unset NOTIFY_SOCKET WATCHDOG_USEC
heard() { # PATTERN, how often at least
	local i
	for ((i = 0; i < 200 * slow; i++)); do
		[ "$(grep -cE -- "$1" "$dir/n/heard")" -ge "$2" ] && return
		sleep 0.1
	done
	cat "$dir/n/heard"
	fail "the service manager to hear $1 $2 times"
}
heard '^READY=1$' 1
heard '^STATUS=.*windows stored' 1
heard '^WATCHDOG=1$' 4
kill -HUP "$job"
heard '^RELOADING=1$' 1
heard '^MONOTONIC_USEC=[0-9]+$' 1
heard '^READY=1$' 2
# a main loop that does not come round gives no sign of life
kill -STOP "$job"
before=$(grep -c WATCHDOG "$dir/n/heard")
sleep 3
[ "$(grep -c WATCHDOG "$dir/n/heard")" -le $((before + 1)) ] || fail "silence while it is stopped"
kill -CONT "$job"
heard '^WATCHDOG=1$' $((before + 2))
ended
heard '^STOPPING=1$' 1
wait "$manager"
finish
