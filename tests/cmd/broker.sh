#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 90
# beside others
# While it samples, soprof itself has no capability; its broker has what opening files and starting workers takes. What
# was given up is not missed: names of the kernel, files of others, an output in somebody's directory, the command's own
# privileges.
. "$(dirname "$0")/lib.bash"
need_profile

# field PID NAME: of /proc/PID/status
field() { awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/status"; }
child_called() { pgrep -P "$1" -x "$2" | head -n 1; }

mkdir "$dir/theirs"
chown 65534 "$dir/theirs"
chmod 755 "$dir/theirs"
start stripped callback 600
what="profile -F 199 -o theirs/x.folded"
"$SOPROF" profile -F 199 -o "$dir/theirs/x.folded" 600 >"$out" 2>"$err" </dev/null &
job=$!
wait_sampling $job
broker=$(child_called $job soprof-broker)
until [ "$(field $job NoNewPrivs)" = 1 ] || [ ! -e /proc/$job ]; do sleep 0.05; done
[ "$(field $job CapPrm)" = 0000000000000000 ] || fail "no capability to be left: $(field $job CapPrm)"
[ "$(field $job CapEff)" = 0000000000000000 ] || fail "no capability in use: $(field $job CapEff)"
[ -n "$broker" ] || fail "a broker"
[ "$(field "$broker" NoNewPrivs)" = 1 ] || fail "the broker to win none, either"
# CAP_DAC_OVERRIDE 1 (as long as there is an output to be put in place), DAC_READ_SEARCH 2, KILL 5, SETGID 6, SETUID 7,
# SYS_CHROOT 18, SYS_PTRACE 19, PERFMON 38, BPF 39, CHECKPOINT_RESTORE 40; SYS_ADMIN 21 where perf events take it
caps=000001c0000c00e6
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || caps="000001c0000c00e6|000001c0002c00e6"
[[ $(field "$broker" CapEff) =~ ^($caps)$ ]] || fail "the broker's capabilities: $(field "$broker" CapEff), not $caps"
[ "$(field "$broker" Seccomp)" = 2 ] || fail "the broker's system calls to be filtered"
[ ! -e "$dir/theirs/x.folded" ] || fail "no output before it is whole"
sleep $seconds
kill -TERM $job # it prints what it has
wait $job
status=$?
[ "$status" = 0 ] || fail "exit code 0"
[ -s "$dir/theirs/x.folded" ] || fail "an output in a directory of another user"
[ "$(ls -A "$dir/theirs")" = x.folded ] || fail "nothing beside it: $(ls -A "$dir/theirs")"
[ ! -e "/proc/$broker" ] || fail "no broker to be left"
has "$dir/theirs/x.folded" 'asm_|entry_|do_syscall|_raw_spin'
has_not "$dir/theirs/x.folded" '\[kernel\]\+0x'

# Killed: the broker takes away what is not whole.
"$SOPROF" profile -F 199 -o "$dir/theirs/y.folded" 60 >"$out" 2>"$err" </dev/null &
job=$!
wait_sampling $job
broker=$(child_called $job soprof-broker)
until [ "$(ls "$dir/theirs" | wc -l)" = 2 ]; do sleep 0.05; done
kill -KILL $job
wait $job 2>/dev/null
for _ in $(seq 600); do [ -e "/proc/$broker" ] || break; sleep 0.05; done
[ ! -e "/proc/$broker" ] || fail "no broker to be left behind by a killed soprof"
[ "$(ls -A "$dir/theirs")" = x.folded ] || fail "nothing to be left by a killed soprof: $(ls -A "$dir/theirs")"

# What cannot be written is said before anything is sampled.
expect 1 profile -o "$dir/nowhere/x.svg" 600
one_line 'nowhere'

# libs gives them up once it has seen what is mapped: files of others are identified, and an output put in place, without.
mkfifo "$dir/pipe"
what="libs -s 0 -o pipe.csv"
"$SOPROF" libs -s 0 --csv -o "$dir/pipe" libplugin callback libc.so.6 >"$out" 2>"$err" </dev/null &
job=$!
until [ "$(field $job NoNewPrivs)" = 1 ] || [ ! -e /proc/$job ]; do sleep 0.05; done
[ "$(field $job CapPrm)" = 0000000000000000 ] || fail "libs to have no capability left: $(field $job CapPrm)"
[ "$(field $job CapEff)" = 0000000000000000 ] || fail "libs to have no capability in use"
cat "$dir/pipe" >"$dir/libs.csv"
wait $job
status=$?
[ "$status" = 0 ] || fail "exit code 0"
has "$dir/libs.csv" 'libc\.so\.6'
expect 0 libs -s 1 -p "$pid" -o "$dir/theirs/libs.csv"
has "$dir/theirs/libs.csv" 'callback.*libc\.so\.6|libc\.so\.6.*callback'
[ "$(ls -A "$dir/theirs")" = "libs.csv"$'\n'"x.folded" ] || fail "nothing beside it: $(ls -A "$dir/theirs")"
rm "$dir/theirs/libs.csv"

# The command keeps what we had.
expect 0 profile -o "$dir/c.folded" -- grep CapEff /proc/self/status
[ "$(awk '{ print $2 }' "$out")" = "$(field $$ CapEff)" ] || fail "the command to have our privileges: $(cat "$out")"
finish
