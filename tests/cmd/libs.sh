#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 90
# soprof libs: what is mapped, by whom, at what cost, and who runs an old file, against what awk sees in /proc/PID/maps.
. "$(dirname "$0")/lib.bash"

# own NAME: the victim, with a copy of its library, in a directory of its own; stopped once it has mapped it. $pid.
plugin=$victims/plain/libplugin.so
maps() { # PID WORD: waits until the process has mapped what is called so
	local i
	for ((i = 0; i < 400; i++)); do
		grep -qF -- "$2" "/proc/$1/maps" 2>/dev/null && return
		sleep 0.05
	done
	fail "process $1 to map $2"
}
own() {
	mkdir -p "$dir/$1"
	cp "$plugin" "$dir/$1/libplugin.so"
	cp "$victims/plain/plugin" "$dir/$1/$1"
	"$dir/$1/$1" 600 "$dir/$1/libplugin.so" </dev/null >/dev/null 2>&1 &
	pid=$!
	maps "$pid" "$dir/$1/libplugin.so"
	kill -STOP "$pid"
}
# A build id as it stands in the file's note: name size 4, 20 bytes, type 3, "GNU".
build_id() { od -An -v -tx1 "$1" | tr -d ' \n' | sed -n 's/.*040000001400000003000000474e5500\([0-9a-f]\{40\}\).*/\1/p'; }
# field COLUMN PID LIBRARY: of $out, CSV of processes.
field() { awk -F, -v n="$1" -v pid="$2" -v lib="$3" '$5 == pid && $10 == lib { print $n }' "$out"; }
is() { [ "$1" = "$2" ] || fail "$3: '$2', not '$1'"; }
state=6 since=7 id=8 on_disk=9 user=12 comm=13 path=15

own kept; kept=$pid
own removed; removed=$pid
own changed; changed=$pid
own again; again=$pid
own linked; linked=$pid
all=$kept,$removed,$changed,$again,$linked
old=$(build_id "$plugin") new=$(build_id "$plugin.new")
[ ${#old} = 40 ] && [ ${#new} = 40 ] && [ "$old" != "$new" ] || fail "two build ids, not '$old' and '$new'"
began=$(date +%s)
rm "$dir/removed/libplugin.so" "$dir/removed/removed"
cp "$plugin.new" "$dir/changed/new" && mv "$dir/changed/new" "$dir/changed/libplugin.so"
cp "$plugin" "$dir/again/new" && mv "$dir/again/new" "$dir/again/libplugin.so"
ln "$dir/linked/libplugin.so" "$dir/linked/other" && rm "$dir/linked/libplugin.so"

# each process: build id, state, what is on the disk
expect 0 libs -s 0 --csv -p "$all" libplugin
has "$out" '^self,self_percent,total,total_percent,pid,state,since,build_id,on_disk,library,package,user,comm,where,path,package_version,disk_version$'
is "$(grep -c '' "$out")" 6 "a header and five processes"
for p in $kept $removed $changed $again $linked; do
	is "$(field $id "$p" libplugin.so)" "$old" "the build id of process $p"
	is "$(field $user "$p" libplugin.so)" "$(id -un)" "the user of process $p"
done
is "$(field $state "$kept" libplugin.so)" current "the state of what was left alone"
is "$(field $state "$removed" libplugin.so)" deleted "the state of what was removed"
is "$(field $state "$changed" libplugin.so)" replaced "the state of what was replaced"
is "$(field $state "$again" libplugin.so)" replaced "the state of what was replaced by a copy"
is "$(field $state "$linked" libplugin.so)" deleted "the state of what has only another name left"
is "$(field $on_disk "$changed" libplugin.so)" "$new" "the build id on the disk"
is "$(field $on_disk "$again" libplugin.so)" "$old" "the build id of the copy"
is "$(field $on_disk "$removed" libplugin.so)" "" "no build id where nothing is"
is "$(field $path "$removed" libplugin.so)" "$dir/removed/libplugin.so" "the path where it was"
is "$(field $comm "$changed" libplugin.so)" changed "the name of the process"
for p in $removed $changed $again $linked; do
	at=$(field $since "$p" libplugin.so)
	[ "${at:-0}" -ge $((began - 1)) ] && [ "${at:-0}" -le "$(date +%s)" ] || fail "since when: about $began, not '$at'"
done

# a library that was given another name: its soname leads to another one, to nothing, to a copy, or it is left alone
own renamed; renamed=$pid
own moved; moved=$pid
own version; version=$pid
mv "$dir/renamed/libplugin.so" "$dir/renamed/libplugin.so.bak" && cp "$plugin.new" "$dir/renamed/libplugin.so"
mv "$dir/moved/libplugin.so" "$dir/moved/libplugin.so.bak"
mv "$dir/version/libplugin.so" "$dir/version/libplugin.so.1.2"
versions=("" current "a version that nothing else leads to" "$plugin" current "a copy of a version" "$plugin.new" replaced "an old version")
for ((i = 0; i < ${#versions[@]}; i += 3)); do
	[ -z "${versions[i]}" ] || cp "${versions[i]}" "$dir/version/libplugin.so"
	expect 0 libs -s 0 --csv -p "$renamed,$moved,$version" libplugin
	is "$(field $state "$version" libplugin.so)" "${versions[i + 1]}" "the state of ${versions[i + 2]}"
done
is "$(field $state "$renamed" libplugin.so)" replaced "the state of what was renamed and replaced"
is "$(field $on_disk "$renamed" libplugin.so)" "$new" "the build id where it was"
is "$(field $path "$renamed" libplugin.so)" "$dir/renamed/libplugin.so" "the path where it was"
is "$(field $state "$moved" libplugin.so)" moved "the state of what was renamed"
is "$(field $path "$moved" libplugin.so)" "$dir/moved/libplugin.so.bak" "the path where it is"
at=$(field $since "$moved" libplugin.so)
[ "${at:-0}" -ge $((began - 1)) ] && [ "${at:-0}" -le "$(date +%s)" ] || fail "moved since: about $began, not '$at'"
for pid in "$renamed" "$moved" "$version"; do
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
done

if [ "$slow" = 1 ]; then # for what follows all kernels are the same
	expect 0 libs -s 0 -p "$all" -o "$dir/libs.json" libplugin
	grep -q '^{"format":"soprof-libs"' "$dir/libs.json" || fail "JSON in a file that is called so"
	expect 0 libs -s 0 -p "$all" -o "$dir/libs.csv" libplugin
	is "$(head -n 1 "$dir/libs.csv" | cut -d, -f1-5)" self,self_percent,total,total_percent,pid "CSV in a file that is called so"

	# words for a library: its name without the rest, the whole name, a glob, a path, a file's name, a build id's beginning
	for word in libplugin libplugin.so 'libplug*' "$dir/kept/libplugin.so" "${old:0:7}" "${old^^}"; do
		expect 0 libs -s 0 --csv -p "$all" "$word"
		is "$(grep -c "$old" "$out")" 5 "five processes for $word"
	done
	expect 1 libs -s 0 -p "$all" libplug
	one_line "no process maps a library that is called 'libplug'"
fi

# one build id is one row, whatever its files are called; the executables are rows too
expect 0 libs -s 0 --csv -p "$all"
is "$(grep -c "$old" "$out")" 1 "one row for five files"
is "$(awk -F, -v id="$old" '$7 == id { print $5, $6, $8 }' "$out")" "5 4 libplugin.so" "processes, stale, name"
is "$(grep '/kept/kept$' "$out" | cut -d, -f5,6)" "5,1" "processes of the executable, and from how many it was removed"
has "$out" ',libc.so.6,'

expect 1 libs -s 0 -p 4194304
one_line 'libs: -p: there is no process 4194304'

# --stale: those four; the one that was left alone is not there
expect 0 libs --stale -p "$all" --csv
for p in $removed $changed $again $linked; do
	is "$(field $id "$p" libplugin.so)" "$old" "$p among the stale"
done
is "$(field $state "$removed" removed)" deleted "the state of a removed executable"
has_not "$out" ",$kept,"
expect 0 libs --stale -p "$all"
has "$out" '^ *1  replaced .* '"${old:0:12}  ${new:0:12}"'  libplugin.so'
has "$out" '^ *1  replaced .* '"${old:0:12}"'  the same      libplugin.so'
has "$out" " *$removed  .*  (libplugin.so, removed|removed, libplugin.so)"
has "$err" '4 run a deleted or replaced one'
expect 0 libs --stale -p "$kept"
has "$out" '^no process runs a deleted or replaced library$'

# the whole machine: the processes whose maps say so, by awk alone. Others come and go: ten chances.
deleted_pids() {
	local p
	for p in /proc/[0-9]*; do
		awk '$2 ~ /x/ && $5 != 0 && $6 ~ /^\// && $6 !~ /^\/(memfd:|SYSV|dev\/zero|anon_hugepage)/ &&
			$NF == "(deleted)" { found = 1 } END { exit !found }' "$p/maps" 2>/dev/null && echo "${p#/proc/}"
	done | sort -n
}
for _ in {1..10}; do
	before=$(deleted_pids)
	expect 0 libs --stale --csv
	pids=$(awk -F, 'NR > 1 { print $5 }' "$out" | sort -nu)
	[ "$pids" = "$before" ] && break
done
is "$pids" "$before" "the processes with deleted files"
grep -qx "$removed" <<<"$pids" || fail "$removed among them"

# JSON, by a parser that we did not write
if [ -x /usr/bin/python3 ]; then
	expect 0 libs -s 0 --json -p "$all"
	/usr/bin/python3 - "$out" "$old" "$new" "$changed" <<-'PYTHON' || fail "JSON that says the same"
		import json, sys
		d = json.load(open(sys.argv[1]))
		old, new, changed = sys.argv[2], sys.argv[3], int(sys.argv[4])
		lib, = [x for x in d["libraries"] if x.get("build_id") == old]
		assert (lib["name"], lib["processes"], lib["stale"]) == ("libplugin.so", 5, 4), lib
		use, = [u for u in lib["used_by"] if u["pid"] == changed]
		assert use["state"] == "replaced" and use["on_disk"] == new, use
		assert sorted(f["state"] for f in lib["files"]) == ["current", "deleted", "deleted", "replaced", "replaced"]
		who = {p["pid"]: p["comm"] for p in d["processes"]}
		assert who[changed] == "changed" and len(who) == 5, who
		assert "samples" not in d and d["looked_at"]["processes"] == 5
	PYTHON
fi

# hostile names: nothing of them reaches a terminal, and lines stay lines
odd=$dir/$'odd\n\033[31m,"\'=name'
mkdir "$odd" && cp "$victims/plain/plugin" "$odd/x" && cp "$plugin" "$odd/"
"$odd/x" 600 "$odd/libplugin.so" & odd_pid=$!
maps $odd_pid /libplugin.so
kill -STOP $odd_pid
rm "$odd/libplugin.so"
expect 0 libs -s 0 -v -p "$odd_pid" libplugin
has_not "$out" $'\033'
has "$out" 'odd\\x0a\\x1b\[31m,"'
expect 0 libs --stale -p "$odd_pid" --json
[ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c 'import json, sys
assert json.load(open(sys.argv[1]))["libraries"][0]["files"][0]["path"] == sys.argv[2]' "$out" "$odd/libplugin.so" ||
	fail "the path as it is"

# a memfd that is executed is no library, and not deleted; nor is shared memory (jit maps memory of its own)
start plain jit 600
wait_working "$pid"
kill -STOP "$pid"
expect 0 libs --stale -p "$pid"
has "$out" '^no process runs a deleted'

# in a container: another mount namespace with an overlay, whose paths mean something else here
cat >"$dir/container" <<'SH'
mkdir "$1/m" && mount -t tmpfs t "$1/m" && mkdir "$1/m/low" "$1/m/up" "$1/m/work" "$1/m/all" || exit 1
cp "$2" "$1/m/low/libplugin.so" && cp "$3" "$1/m/low/plugin"
mount -t overlay o -o "lowerdir=$1/m/low,upperdir=$1/m/up,workdir=$1/m/work" "$1/m/all" && touch "$1/ready"
exec "$1/m/all/plugin" 600 "$1/m/all/libplugin.so!"
SH
if is_root; then
	unshare -m bash "$dir/container" "$dir" "$plugin" "$victims/plain/plugin" >"$dir/told" 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		[ -e "$dir/ready" ] || ! kill -0 "$pid" 2>/dev/null && break
		sleep 0.05
	done
	if [ -e "$dir/ready" ]; then
		maps "$pid" 'm/all/libplugin.so (deleted)'
		kill -STOP "$pid"
		expect 0 libs --stale -p "$pid" --csv
		is "$(field $state "$pid" libplugin.so)" deleted "the state of a file that is deleted in an overlay"
		at=$(field $since "$pid" libplugin.so)
		[ "${at:-0}" -ge $((began - 1)) ] && [ "${at:-0}" -le "$(date +%s)" ] || fail "deleted in an overlay since: $at"
		is "$(field $id "$pid" libplugin.so)" "$old" "the build id of a file in an overlay"
		is "$(field $state "$pid" plugin)" "" "the state of one that is still there: not listed"
	else
		say "no overlay here: $(tail -n 1 "$dir/told")"
	fi
fi

# a user sees his own, and is told what he does not see; samples that were not asked for are no reason to refuse
if is_root && su -s /bin/bash nobody -c true 2>/dev/null; then
	cp "$SOPROF" "$dir/soprof" # nobody may not reach the build directory
	chmod -R a+rX "$dir"
	what='libs, as nobody'
	su -s /bin/bash nobody -c "sleep 9 & '$dir/soprof' libs -n 9; kill \$!" >"$out" 2>"$err" </dev/null
	is $? 0 "exit code"
	has "$err" '^not sampled: .*CAP_BPF'
	has "$err" '^left out: [0-9]+ processes that we may not look into'
	has "$out" 'libc.so.6'
	su -s /bin/bash nobody -c "'$dir/soprof' libs -s 1" >"$out" 2>"$err" </dev/null
	is $? 3 "exit code when samples are asked for"
fi

# cost: the victims burn in their libraries, in equal parts
need_profile
at_ease "$kept" "$changed"
expect 0 libs -F 199 -s $((2 * seconds)) --csv -p "$kept,$changed" libplugin
n=$(field 1 "$kept" libplugin.so) m=$(field 3 "$changed" libplugin.so)
[ "${n:-0}" -ge 0 ] && [ "${m:-0}" -ge 5 ] || fail "samples of both: not '$n' and '$m'"
expect 0 libs -F 199 -s $((2 * seconds)) --csv -p "$kept,$changed"
awk -F, -v id="$old" '$7 == id { exit !($4 >= 97 && $4 <= 100) } ' "$out" || fail "nearly all of it below the library"
awk -F, '{ n += $2 } END { exit !(n > 60 && n < 100.01) }' "$out" || fail "self that adds up to most of it, the kernel having the rest"
has "$err" '^[0-9]+ samples in [0-9.]+ s: libraries'
# Ctrl-C ends the sampling, and what is mapped is shown with what was sampled
what='libs -s 600, interrupted'
(trap - INT; exec "$SOPROF" libs -s 600 --csv -p "$kept" >"$out" 2>"$err" </dev/null) &
job=$!
wait_sampling $job
sleep 1
kill -INT $job
wait $job
status=$?
is $status 0 "exit code"
has "$out" ",libplugin.so,"
has "$err" '^[0-9]+ samples in [0-9.]+ s: libraries'
finish
