#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Calls of functions as events, on copies of a library that counts for itself: how often, by which stacks, with which
# arguments and results; in files that are named in every way, that are replaced, deleted, or seen through overlays while
# it runs; C++ exceptions by their USDT probe; nothing is left of a soprof that was killed; bad input.
. "$(dirname "$0")/lib.bash"
need_profile
need_root
unguarded=1
tests=$SOPROF_BUILD/tests/cmd
own=$dir/libcalled.so
cp "$tests/libcalled.so" "$own"
# counts FILE: what the library has counted, as $mid $leaf $arguments $returned
counts() { read -r mid leaf arguments returned <"$1"; }
# same WHAT IS WANT
same() { [ "$2" = "$3" ] || fail "$1 to be $3, not $2"; }
# call EVENT [TIMES [TURNS]]: the profile, folded, of a command that calls the copy
call() {
	expect 0 profile -f -e "$1" -- sh -c "exec '$tests/caller' '$own' ${2:-1000} ${3:-10} >'$dir/truth'"
	counts "$dir/truth"
}

has_sessions() { # from Linux 6.13 on
	local version
	IFS=.- read -r -a version < <(uname -r)
	[ $((1000 * version[0] + version[1])) -ge 6013 ]
}

# --- how often, by whom, with what ---
call "$own:called_mid"
same 'calls' "$(samples)" "$mid"
has "$out" '^caller;.*;main;work;called_work;called_mid [0-9]+$'
call "$own:called_*"
same 'calls of three functions' "$(samples)" $((mid + leaf + 1000))
has "$out" ';called_work;called_mid;called_leaf [0-9]+$' # the first ones come before there are unwind tables
call "$own:called_mid{arg0}"
same 'the sum of an argument' "$(samples)" "$arguments"
call "$own:called_mid[arg0 % 4 == 1 && arg1 == 10]"
same 'calls with some arguments' "$(samples)" 250
call "$own:called_mid{retval}"
same 'the sum of what is returned' "$(samples)" "$returned"
has "$out" ';main;work;called_work [0-9]+$'
call "$own:called_leaf[retval < 100]"
same 'calls that return some value' "$(samples)" 50
if has_sessions; then # an argument is kept until its call returns
	call "$own:called_mid[retval == 2 * arg0 + 1]"
	same 'calls that return what their argument says' "$(samples)" "$mid"
	call "$own:called_mid[retval >= 101]{arg0}"
	same 'the sum of arguments of some calls' "$(samples)" $((arguments - 49 * 50 / 2))
fi

# --- return probes, ours and others', do not break stacks ---
call "cpu,$own:called_mid{retval}" 3000 100000
has "$out" ';main;work;called_work;called_mid;called_leaf'
awk -F'[ ;]' '/;called_leaf/ { n += $NF } /;called_leaf/ && !/;main;work;called_work;called_mid;called_leaf/ { bad += $NF }
	END { exit !(n && bad <= n / 20 + 5) }' "$out" || fail 'stacks below a return probe to be whole'

# --- how a file is named; callers that wait at a gate until soprof is there ---
# caller_begin LIBRARY TIMES COUNTS: one more of them, which has mapped the library
callers=()
caller_begin() {
	"$tests/caller" "$1" "$2" 1 "$dir/gate" >"$3" &
	callers+=($!)
	wait_until $((100 * slow)) has_mapped $! "$1" || fail "a caller to map $1"
}
# Where the kernel's list of events is; soprof finds it also where it is not mounted, as in the second kernel's guest.
mount_tracefs "$dir/tracing" || fail "tracefs to be mounted"
# A link, or an event of tracefs, and its descriptor.
is_probing() {
	grep -qsE '^link_type:[[:space:]]*uprobe_multi' "/proc/$1/fdinfo/"* ||
		{ grep -qs "soprof/p$1_" "$tracefs/uprobe_events" && ls -l "/proc/$1/fd" 2>/dev/null | grep -q 'anon_inode:\[perf_event\]'; }
}
watch_begin() { # OPTION...
	"$SOPROF" profile --max-overhead 0 -f -o "$dir/folded" "$@" >"$out" 2>"$err" &
	soprof=$! what="profile $*"
	wait_until $((200 * slow)) is_probing "$soprof" || fail "soprof to probe"
	sleep "0.$((slow + 1))" # the last of the places
}
watch_end() {
	touch "$dir/gate"
	wait "${callers[@]}"
	kill -INT "$soprof"
	wait "$soprof"
	status=$? callers=()
	rm "$dir/gate"
	[ "$status" = 0 ] || fail "exit code 0"
}
caller_begin "$own" 400 "$dir/one"
caller_begin "$own" 70 "$dir/two"
watch_begin -e "${callers[0]}:libcalled.so:called_mid"
watch_end
same 'calls of one process' "$(count <"$dir/folded")" 400
caller_begin "$own" 123 "$dir/one"
id=$("$SOPROF" doctor --file "$own" --json | sed -n 's/^"build_id":"\(.*\)",/\1/p')
watch_begin -p "${callers[0]}" -e "${id:0:12}:called_leaf"
watch_end
same 'calls by the build id' "$(count <"$dir/folded")" 123
says 'complete 123 \(100\.00 %\)'

# --- replaced, deleted, and what comes later: all of one name ---
caller_begin "$own" 300 "$dir/old"
rm "$own" # deleted, and running
cp "$tests/libcalled.so" "$own"
watch_begin -e "$own:called_mid"
"$tests/caller" "$own" 40 1 >"$dir/now"
cp "$tests/libcalled.so" "$dir/next" && mv "$dir/next" "$own" # an upgrade
caller_begin "$own" 5000 "$dir/new"
# Files that are probed: a link each, or an event of tracefs.
are_probed() { # NUMBER
	[ "$(grep -lsE '^link_type:[[:space:]]*uprobe_multi' "/proc/$soprof/fdinfo/"* | grep -c .)" = "$1" ] ||
		[ "$(grep -os "soprof/p${soprof}_[^ ]*" "$tracefs/uprobe_events" | sort -u | grep -c .)" = "$1" ]
}
wait_until $((200 * slow)) are_probed 3 || fail "the later file to be probed"
watch_end
same 'calls of a deleted, a present and a later file' "$(count <"$dir/folded")" $((300 + 40 + 5000))
says '1 more file appeared'

# --- a file that is mapped between the look for files and the first probe ---
"$SOPROF" profile --max-overhead 0 -f -o "$dir/folded" -e "$own:called_mid" >"$out" 2>"$err" &
soprof=$! what="profile -e $own:called_mid, stopped"
until ls -l "/proc/$soprof/fd" 2>"$dir/null" | grep -q bpf-map; do kill -0 "$soprof" || break; done
kill -STOP "$soprof"
is_probing "$soprof" && say "soprof was not stopped in time"
cp "$tests/libcalled.so" "$dir/next" && mv "$dir/next" "$own"
caller_begin "$own" 900 "$dir/meanwhile"
kill -CONT "$soprof"
wait_until $((200 * slow)) are_probed 2 || fail "the file that was mapped meanwhile to be probed"
watch_end
same 'calls of a file that was mapped meanwhile' "$(count <"$dir/folded")" 900

# --- later files whose first process has ended by the time they are looked at: who else has one is asked, now or later ---
ended=libended$$.so
mkdir "$dir/1" "$dir/2" "$dir/3" "$dir/4"
for d in 1 2 3 4; do cp "$tests/libcalled.so" "$dir/$d/$ended"; done
caller_begin "$dir/1/$ended" 1 "$dir/c1"
watch_begin -e "$ended:called_mid"
kill -STOP "$soprof"
for d in 2 3; do "$tests/caller" "$dir/$d/$ended" 0 1 >/dev/null; done
caller_begin "$dir/2/$ended" 20 "$dir/c2" # while it is stopped
kill -CONT "$soprof"
wait_until $((200 * slow)) are_probed 2 || fail "a file to be probed whose first process has ended"
caller_begin "$dir/4/$ended" 4000 "$dir/c4" # what was mapped before it has been looked at when it is probed
wait_until $((200 * slow)) are_probed 3 || fail "a file to be probed"
caller_begin "$dir/3/$ended" 300 "$dir/c3"
wait_until $((200 * slow)) are_probed 4 || fail "a file to be probed at its second mapping"
watch_end
same 'calls of files whose first process has ended' "$(count <"$dir/folded")" 4321
says '3 more files appeared'
says '1 file was gone before it could be probed'

# --- one file through two overlays, and a copy of its own above one of them ---
mkdir "$dir/lower" "$dir/upper" "$dir/work" "$dir/upper2" "$dir/work2" "$dir/a" "$dir/b"
cp "$tests/libcalled.so" "$dir/lower/libunder.so"
in_overlay() { # MOUNT UPPER WORK TIMES COMMAND
	unshare -m sh -c "mount -t overlay overlay -o 'lowerdir=$dir/lower,upperdir=$2,workdir=$3' '$1' && $5 exec '$tests/caller' '$1/libunder.so' $4 1 '$dir/gate'"
}
in_overlay "$dir/a" "$dir/upper" "$dir/work" 10 'true &&' >"$dir/c1" 2>"$dir/why" &
callers+=($!)
in_overlay "$dir/b" "$dir/upper2" "$dir/work2" 200 "touch '$dir/b/libunder.so' &&" >"$dir/c2" 2>>"$dir/why" &
callers+=($!)
caller_begin "$dir/lower/libunder.so" 3000 "$dir/c3"
are_mapping() { [ "$(grep -ls libunder /proc/[0-9]*/maps | wc -l)" = 3 ]; }
if wait_until $((50 * slow)) are_mapping; then
	watch_begin -e libunder.so:called_mid
	watch_end
	same 'calls through overlays' "$(count <"$dir/folded")" 3210
else
	say "no overlays here: $(tail -n 1 "$dir/why")"
	touch "$dir/gate"
	wait "${callers[@]}"
	rm "$dir/gate"
fi

# --- C++ exceptions ---
cxx=$(ldd "$victims/plain/exception" 2>/dev/null | awk '/libstdc\+\+/ { print $3 }')
if [ -n "$cxx" ] && readelf -n "$cxx" 2>/dev/null | grep -q stapsdt; then
	cp "$cxx" "$dir/libstdc++.so.6"
	expect 124 profile -f -e "usdt:$dir/libstdc++.so.6:throw" -- timeout 1 env "LD_LIBRARY_PATH=$dir" "$victims/plain/exception"
	has "$out" ';catcher(\(\))?;thrower(\(int\))?;.*;__cxa_throw [0-9]+$'
	expect 124 trace "usdt:$dir/libstdc++.so.6:throw" "$dir/libstdc++.so.6:__cxa_throw" --print arg0,arg1 -o "$dir/told" -- \
		timeout 0.1 env "LD_LIBRARY_PATH=$dir" "$victims/plain/exception"
	sed -nE 's/.*:__cxa_throw (arg0=.*)/\1/p' "$dir/told" | head -n 50 >"$dir/wanted"
	sed -nE 's/.*:throw (arg0=.*)/\1/p' "$dir/told" | head -n 50 >"$dir/seen"
	[ -s "$dir/seen" ] && cmp -s "$dir/wanted" "$dir/seen" || fail "a mark's arguments to be those of the function that it is in"
	expect 2 profile -e "usdt:$dir/libstdc++.so.6:thrown" -- true
	one_line 'no USDT probe .thrown.; did you mean throw\?'
fi

# --- what Python and PostgreSQL say of themselves, by probes that they come by only while somebody watches (semaphores) ---
python=$(readlink -f /usr/bin/python3)
if [ -x "$python" ] && readelf -n "$python" 2>/dev/null | grep -q 'Provider: python'; then
	cp "$python" "$dir/python"
	# python_hits MARK TIMES: hits of a program that collects garbage so often, and calls ten functions each time
	python_hits() {
		expect 0 profile -f -e "usdt:$dir/python:python:$1" -- env PYTHONHOME=/usr "$dir/python" -S -c 'import gc, sys
gc.disable()
def work(): pass
for i in range(int(sys.argv[1])):
    gc.collect()
    for k in range(10): work()' "$2"
		hits=$(samples)
	}
	# python_rows EVENT KEY CODE: rows of a Python program
	python_rows() {
		expect 0 trace "usdt:$dir/python:python:$1" --by "$2" -o "$dir/rows" -- env PYTHONHOME=/usr "$dir/python" -S -c "$3"
	}
	python_rows 'function__return[arg2 == 2]' 'f=ustr(arg1)' 'def outer(n):
  return n and outer(n - 1)
for i in range(7): outer(4)'
	has "$dir/rows" '^outer +35$'
	python_rows gc__start arg0 'import gc
for i in range(5): gc.collect(1)' # of which generation; on the stack
	has "$dir/rows" '^ *1 +5$'
	for mark in 'gc__start 1' 'function__return 10'; do # at its start and end there are more; function__entry is never reached in 3.11
		read -r name each <<<"$mark"
		python_hits "$name" 20
		few=$hits
		python_hits "$name" 70
		same "hits of $name for 50 rounds more" $((hits - few)) $((50 * each))
		has "$out" '^python;_start;.*;_PyEval_EvalFrameDefault'
	done
else
	say "$python has no USDT probes: not tested with it"
fi
postgres=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -n 1)
if [ -x "$postgres" ] && readelf -n "$postgres" 2>/dev/null | grep -q 'Provider: postgresql'; then
	mkdir -m 777 "$dir/pg"
	printf 'select %d;\n' {1..30} >"$dir/queries"
	cp "$postgres" "$dir/postgres"
	as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	"${as_nobody[@]}" "${postgres%/*}/initdb" -D "$dir/pg/data" -A trust --no-sync -U me >"$out" 2>&1 || fail "a database: $(tail -n 1 "$out")"
	# shellcheck disable=SC2016
	expect 0 profile -f -e "usdt:$dir/postgres:query__start" -- unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' \
		"$dir/postgres" "$postgres" "${as_nobody[@]}" sh -c "exec '$postgres' --single -D '$dir/pg/data' postgres <'$dir/queries' >/dev/null"
	same 'queries' "$(samples)" 30
	has "$out" '^postgres;_start;.*;PostgresSingleUserMain;PostgresMain'
	# shellcheck disable=SC2016
	expect 0 trace "usdt:$dir/postgres:query__start" --print 'q=ustr(arg0)' -o "$dir/told" -- unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' \
		"$dir/postgres" "$postgres" "${as_nobody[@]}" sh -c "exec '$postgres' --single -D '$dir/pg/data' postgres <'$dir/queries' >/dev/null"
	sed -nE 's/.* q="(.*;).*"$/\1/p' "$dir/told" | cmp -s - "$dir/queries" || fail "each query's text: $(tail -n 1 "$dir/told")"
else
	say "${postgres:-postgres} is not here, or has no USDT probes: not tested with it"
fi

# --- nothing is left of what was killed ---
"$SOPROF" profile -e "$own:called_mid" >/dev/null 2>&1 &
soprof=$!
wait_until $((100 * slow)) is_probing "$soprof"
kill -KILL "$soprof"
wait "$soprof" 2>/dev/null
expect 0 doctor --clean
! grep -qs "soprof/p${soprof}_" "$tracefs/uprobe_events" || fail 'no event of a killed soprof'
call "$own:called_mid"
same 'calls after a kill' "$(samples)" 1000

# --- bad input ---
bad() { # EVENT WORDS
	expect 2 profile -e "$1" -- true
	one_line "$2"
}
if [ "$slow" = 1 ]; then # no kernel is asked
	bad "$own:called_mids" "did you mean '?called_mid'?\?"
	bad "$own:called_counts" 'called_counts'
	bad "$own:nothing*" 'nothing\*'
	bad "$own" "which function\? '$own:FUNCTION'"
	if has_sessions; then
		bad "$own:called_mid[arg0]{retval + arg1}" 'one is kept until the call returns'
	else
		bad "$own:called_mid{retval + arg0}" 'arguments are gone when the call returns'
	fi
	expect 2 trace "$own:called_mid[retval == arg0]" -- true
	one_line 'arguments are gone when the call returns; a pair has both'
	bad 'libno-such-library.so.1:f' 'no library or program'
	bad "$dir/none:f" 'no library or program'
	bad '999999999:libc.so.6:f' 'no process 999999999'
	bad "$own:" 'no function after the colon'
	bad "$own+0x1" 'there is no code at 0x1'
	expect 2 profile -e "$own:called_mid[arg7]" -- true
	grep -q "has no field 'arg7'; did you mean arg0?" "$err" || fail 'to be told what has no field'
	bad "usdt:$own:x" 'there are no USDT probes'
fi
expect 0 profile -e "$own:called_mid" -f 1
grep -q 'mapped by no process yet: waiting for the first' "$err" || fail 'to be told that it waits'
finish
