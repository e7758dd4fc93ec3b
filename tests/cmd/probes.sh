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

# --- how often, by whom, with what ---
call "$own:called_mid"
same 'calls' "$(samples)" "$mid"
has "$out" '^caller;.*;main;work;called_work;called_mid [0-9]+$'
has "$out" ';main;work;called_work;called_mid 9[5-9][0-9]$|;called_mid 1000$' # the first ones have no tables yet
call "$own:called_*"
same 'calls of three functions' "$(samples)" $((mid + leaf + 1000))
has "$out" ';called_work;called_mid;called_leaf 1000$'
call "$own:called_mid{arg0}"
same 'the sum of an argument' "$(samples)" "$arguments"
call "$own:called_mid[arg0 % 4 == 1 && arg1 == 10]"
same 'calls with some arguments' "$(samples)" 250
call "$own:called_mid{retval}"
same 'the sum of what is returned' "$(samples)" "$returned"
has "$out" ';main;work;called_work [0-9]+$'
call "$own:called_leaf[retval < 100]"
same 'calls that return some value' "$(samples)" 50

# --- return probes, ours and others', do not break stacks ---
call "cpu,$own:called_mid{retval}" 3000 100000
has "$out" ';main;work;called_work;called_mid;called_leaf'
awk -F'[ ;]' '/;called_leaf/ { n += $NF } /;called_leaf/ && !/;main;work;called_work;called_mid;called_leaf/ { bad += $NF }
	END { exit !(bad <= n / 20) }' "$out" || fail 'stacks below a return probe to be whole'

# --- how a file is named ---
"$tests/caller" "$own" 400 1 "$dir/gate" >"$dir/one" &
first=$!
"$tests/caller" "$own" 70 1 "$dir/gate" >"$dir/two" &
wait_until $((100 * slow)) grep -q libcalled "/proc/$!/maps" && wait_until $((100 * slow)) grep -q libcalled "/proc/$first/maps"
id=$(readelf -n "$own" | sed -n 's/.*Build ID: //p')
{ sleep 1.5; touch "$dir/gate"; } &
expect 0 profile -f -e "$first:libcalled.so:called_mid" 3
same 'calls of one process' "$(samples)" 400
rm "$dir/gate"
wait
"$tests/caller" "$own" 123 1 "$dir/gate" >"$dir/one" &
first=$!
wait_until $((100 * slow)) grep -q libcalled "/proc/$first/maps"
{ sleep 1.5; touch "$dir/gate"; } &
expect 0 profile -f -p "$first" -e "${id:0:12}:called_leaf" 3
same 'calls by the build id' "$(samples)" 123
rm "$dir/gate"
wait

# --- replaced, deleted, and what comes later: all of one name ---
# until so many soprofs hold a probe's link, or an event of tracefs
probing() { grep -qsE '^link_type:[[:space:]]*uprobe_multi|soprof/p'"$1"'_' "/proc/$1/fdinfo/"* /sys/kernel/tracing/uprobe_events; }
"$tests/caller" "$own" 300 1 "$dir/gate" >"$dir/old" &
wait_until $((100 * slow)) grep -q libcalled "/proc/$!/maps"
old=$!
rm "$own" # deleted, and running
cp "$tests/libcalled.so" "$own"
"$SOPROF" profile --max-overhead 0 -f -e "$own:called_mid" -o "$dir/folded" >"$out" 2>"$err" &
soprof=$!
wait_until $((100 * slow)) probing "$soprof"
"$tests/caller" "$own" 40 1 >"$dir/now"
cp "$tests/libcalled.so" "$dir/next" && mv "$dir/next" "$own" # an upgrade
touch "$dir/wait"
"$tests/caller" "$own" 5000 1 "$dir/new-gate" >"$dir/new" &
new=$!
wait_until $((100 * slow)) grep -q libcalled "/proc/$new/maps"
sleep 0.5
touch "$dir/gate" "$dir/new-gate"
wait "$old" "$new"
kill -INT "$soprof"
wait "$soprof"
same 'calls of a deleted, a present and a later file' "$(count <"$dir/folded")" $((300 + 40 + 5000))
says '1 more file appeared'
rm -f "$dir/gate" "$dir/new-gate"

# --- one file through two overlays, and a copy of its own above one of them ---
mkdir "$dir/lower" "$dir/upper" "$dir/work" "$dir/upper2" "$dir/work2" "$dir/a" "$dir/b"
cp "$tests/libcalled.so" "$dir/lower/libunder.so"
in_overlay() { # MOUNT UPPER WORK TIMES [COMMAND]
	unshare -m sh -c "mount -t overlay overlay -o 'lowerdir=$dir/lower,upperdir=$2,workdir=$3' '$1' && $5 exec '$tests/caller' '$1/libunder.so' $4 1 '$dir/gate'"
}
in_overlay "$dir/a" "$dir/upper" "$dir/work" 10 'true &&' >"$dir/c1" 2>"$dir/why" &
one=$!
in_overlay "$dir/b" "$dir/upper2" "$dir/work2" 200 "touch '$dir/b/libunder.so' &&" >"$dir/c2" 2>>"$dir/why" &
two=$!
"$tests/caller" "$dir/lower/libunder.so" 3000 1 "$dir/gate" >"$dir/c3" &
three=$!
mapping_it() { [ "$(grep -ls libunder /proc/[0-9]*/maps | wc -l)" = 3 ]; }
if wait_until $((50 * slow)) mapping_it; then
	{ sleep 2; touch "$dir/gate"; } &
	expect 0 profile -f -e libunder.so:called_mid 4
	same 'calls through overlays' "$(samples)" 3210
else
	say "no overlays here: $(tail -n 1 "$dir/why")"
fi
touch "$dir/gate"
wait "$one" "$two" "$three"

# --- C++ exceptions ---
cxx=$(ldd "$victims/plain/exception" 2>/dev/null | awk '/libstdc\+\+/ { print $3 }')
if [ -n "$cxx" ] && readelf -n "$cxx" 2>/dev/null | grep -q stapsdt; then
	cp "$cxx" "$dir/libstdc++.so.6"
	expect 124 profile -f -e "usdt:$dir/libstdc++.so.6:throw" -- timeout 1 env "LD_LIBRARY_PATH=$dir" "$victims/plain/exception"
	has "$out" ';catcher(\(\))?;thrower(\(int\))?;.*;__cxa_throw [0-9]+$'
	expect 2 profile -e "usdt:$dir/libstdc++.so.6:thrown" -- true
	one_line 'no USDT probe .thrown.; did you mean throw\?'
fi

# --- nothing is left of what was killed ---
"$SOPROF" profile -e "$own:called_mid" >/dev/null 2>&1 &
soprof=$!
wait_until $((100 * slow)) probing "$soprof"
kill -KILL "$soprof"
wait "$soprof" 2>/dev/null
expect 0 doctor --clean
! grep -qs "soprof/p${soprof}_" /sys/kernel/tracing/uprobe_events || fail 'no event of a killed soprof'
call "$own:called_mid"
same 'calls after a kill' "$(samples)" 1000

# --- bad input ---
bad() { # EVENT WORDS
	expect 2 profile -e "$1" -- true
	one_line "$2"
}
bad "$own:called_mids" "did you mean '?called_mid'?\?"
bad "$own:called_counts" 'called_counts'
bad "$own:nothing*" 'nothing\*'
bad "$own:called_mid{retval + arg0}" 'arguments are gone when the call returns'
bad 'libno-such-library.so.1:f' 'no library or program'
bad "$dir/none:f" 'no library or program'
bad '999999999:libc.so.6:f' 'no process 999999999'
bad "$own:" 'no place in a library'
bad "$own+0x1" 'there is no code at 0x1'
expect 2 profile -e "$own:called_mid[arg7]" -- true
grep -q "has no field 'arg7'; did you mean arg0?" "$err" || fail 'to be told what has no field'
bad "usdt:$own:x" 'has no USDT probes'
expect 0 profile -e "$own:called_mid" -f 1
grep -q 'mapped by no process yet: waiting for the first' "$err" || fail 'to be told that it waits'
finish
