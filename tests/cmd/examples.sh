#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 400
# Every command line of README.md and of each --help runs, ends well, and leaves what it promises; those of the tutorial are
# all among the sections that tests/full/service.sh runs. The lines are taken from the texts (tests/commands.bash): a new
# one is run, too, or must be excused below. They run with what ./run builds and nothing else: with copies of it, or in the
# clone $SOPROF_CLONE that ./run has built (tests/full/clone.sh).
#
# How a line is run:
#   - as root, without `sudo`: what others may depends on the machine (tests/cmd/noroot.sh);
#   - ./run is that of the tree, build/soprof the one under test; the seconds of `profile`, `calls`, `stat` and `trace`, the last word, are 1 (5, 10, 30 and 60 in the texts);
#   - a process calls libz and libcrypto; a live table of calls ends by Ctrl-C;
#   - 4711 is a process that works; `make`, `git`, ./program and pack.py have something to do; perf and xdg-open are scripts of
#     ours, which print what perf has printed once, and the address;
#   - `top` has a terminal, and is left by q when it has drawn; the agent runs on, over a store that has yesterday, too, until
#     the next one is started or all is over, and ends by Ctrl-C.
# It has /etc, /run and /var of its own, and a network of its own.
. "$(dirname "$0")/lib.bash"
tests=$(readlink -f "$(dirname "$0")/..")
tree=${SOPROF_CLONE:-${tests%/*}}
. "$tests/commands.bash"
need_root
if [ -z "${SOPROF_EXAMPLES:-}" ]; then
	unshare --mount --net true 2>/dev/null || skip "namespaces cannot be made here"
	rm -rf "$dir"
	trap - EXIT
	SOPROF_EXAMPLES=1 exec unshare --mount --net bash "$0"
fi
for program in git make script curl /usr/bin/python3; do
	command -v $program >/dev/null || skip "needs $program"
done
need_profile

# LINE | WHY it is not run
excused='
./test|this is a part of it
./run --deb|builds all once more: tests/full/deb.sh installs what tools/make-deb makes, which is all that this does
sudo apt install ./build-deb/soprof_*.deb && sudo systemctl enable --now soprof|tests/full/service.sh does so, in a container with systemd
sudo sysctl kernel.perf_event_paranoid=2|changes the machine, for other tests, too
perf record -g|the name of a way to sample, which is compared with ours
soprof fleet init http://clickhouse:8123|wants a server: tests/cmd/fleet.sh asks one
soprof fleet status http://clickhouse:8123|the same
soprof query --fleet http://clickhouse:8123 --from -1h|the same
soprof query --fleet http://clickhouse:8123 --label canary=yes --from -1h -o fleet.html|the same
soprof diff --fleet http://clickhouse:8123 --label canary=yes --against canary=no -2h|the same
soprof libs --fleet http://clickhouse:8123 '"'libssl*'"'|the same
soprof serve --fleet http://clickhouse:8123|the same
soprof serve --fleet https://clickhouse:8443 --listen :9878 --web-config web.yaml|the same
xdg-open "$(soprof open --socket /run/soprof/fleet.sock)"|the same'
# Lines of blocks that speak of soprof and are not typed.
spoken='
soprof      155.6 ms user + 112.2 ms system + 10.8 ms BPF = 3.37 % of a CPU;
next        soprof report last -o x.html (a flame graph), soprof report last
scrape_configs: [{job_name: soprof, static_configs: [{targets: ['"'localhost:9877'"']}]}]
topk(5, rate(soprof_library_self_cpu_seconds_total[5m]))'

# --- the machine of it
ip link set lo up
mount -t tmpfs tmpfs /mnt && mkdir /mnt/{etc,run,lib,cache}{,.work} || skip "nothing can be mounted"
for of in etc:/etc run:/run lib:/var/lib cache:/var/cache; do
	name=${of%%:*}
	mount -t overlay overlay -o "lowerdir=${of#*:},upperdir=/mnt/$name,workdir=/mnt/$name.work" "${of#*:}" || skip "there is no overlayfs"
done
rm -rf /etc/soprof /run/soprof /var/lib/soprof /var/cache/soprof
install -D -m 644 "$tree/share/agent.yaml" /etc/soprof/agent.yaml
work=$dir/work HOME=$dir/home
export HOME no_proxy='*' DEBUGINFOD_URLS=
unset XDG_STATE_HOME XDG_CACHE_HOME LD_AUDIT
export TZ=TST$((10#$(date -u +%H) - 15)) # it is afternoon, so that yesterday and today have some hours
mkdir "$work" "$HOME" "$dir/bin"
fill=$SOPROF_BUILD/tests/cmd/fill
if [ -z "${SOPROF_CLONE:-}" ]; then # what the target `run` names, and the links of the set-up
	mkdir "$dir/build"
	(cd "$SOPROF_BUILD" && cp -a --parents $(ninja -t query run | sed -nE '/^  outputs:/q; s/^    (\| )?//p') $(find src/audit -type l) "$dir/build") ||
		fail "a copy of what ./run builds"
	SOPROF=$dir/build/soprof
else
	unset SOPROF_BUILD # for ./run, which builds in the clone
fi
export PATH=$dir/bin:${SOPROF%/*}:$PATH

# --- what the lines speak of
cat >"$work/pack.py" <<'PY'
import hashlib, json, time, zlib
end = time.monotonic() + 0.25
while time.monotonic() < end:
    text = json.dumps(list(range(20000))).encode()
    hashlib.sha256(zlib.compress(text)).digest()
PY
printf '#!/bin/sh\nexec /usr/bin/python3 pack.py\n' >"$work/program"
printf '.PHONY: all one two\nall: one two\none two:\n\t@/usr/bin/python3 pack.py\n' >"$work/Makefile"
printf '#!/bin/sh\ncat "%s"\n' "$tree/tests/data/perf/column.txt" >"$dir/bin/perf"
printf '#!/bin/sh\ncase $1 in http://*) echo "$1" ;; *) exit 1 ;; esac\n' >"$dir/bin/xdg-open"
chmod 755 "$work/program" "$dir"/bin/*
cp -L /lib/x86_64-linux-gnu/libz.so.1 "$work/libfoo.so"
cd "$work" || exit 1
git init -q . && git add pack.py && git -c user.name=a -c user.email=a@b commit -qm one || fail "a repository"
for name in before after a b cpu; do
	[ $name != a ] || cp before.pb.gz a.pb.gz
	[ $name != b ] || cp after.pb.gz b.pb.gz
	[ -e $name.pb.gz ] || expect 0 profile -F 199 -o $name.pb.gz -- ./program
done
start plain callback 600
worker=$pid
wait_working "$worker" && at_ease "$worker"
cp "$victims/plain/callback" nginx
./nginx 600 >/dev/null &
at_ease $!
/usr/bin/python3 -c 'import hashlib, time, zlib
while True:
	zlib.decompress(zlib.compress(bytes(2000)))
	hashlib.sha256(bytes(2000)).digest()
	time.sleep(0.02)' &
row() { printf '%s 100 nginx 0 /system.slice main@nginx;memcpy@libc.so.6 %s\n' "$(($(date -d "$1" +%s) / 10 * 10))" "$2"; }
{ row 'yesterday 14:30' 30; row 'yesterday 14:30:10' 40; row 'today 10:00' 50; row '-200 seconds' 60; row '-100 seconds' 70; } |
	"$fill" /var/lib/soprof || fail "a store"
cp "$(ls /var/lib/soprof/*.1m.db | head -n 1)" 2026-11-21.1m.db

# --- running one
adapted() {
	printf '%s\n' "$1" | sed -E "s/(^|&& |\| |\\$\()sudo /\1/g; s,(^| )\./run,\1$tree/run,; s,^build/soprof ,soprof ,; s/\b4711\b/$worker/g
		s,^man ([^ ]+)$,ls $tree/man/\1.[0-9].scd,; /(profile|offcputime|offwaketime|wakeuptime|page-faults|memleak|calls|stat|trace) /s/ (5|10|30|60)( 1)?( >|$)/ 1\2\3/; /^eval /s/$/; printenv LD_AUDIT SOPROF_CALLS/"
}
file_of() { printf '%s\n' "$1" | sed -nE 's/.* (-o|--output|>) ([^ 0-9][^ ]*).*/\2/p'; }
agent=
end_agent() {
	[ -n "$agent" ] || return 0
	kill -INT "$agent"
	wait "$agent"
	status=$?
	[ "$status" = 0 ] || fail "the agent to end well"
	agent=
}
begin_agent() {
	end_agent
	env --default-signal=INT bash -c "exec $1" >"$out" 2>"$dir/log" </dev/null &
	agent=$!
	for _ in $(seq $((600 * slow))); do
		grep -q 'to ask: ' "$dir/log" && return
		[ -e "/proc/$agent" ] || break
		sleep 0.1
	done
	cp "$dir/log" "$err"
	fail "an agent that answers"
}
in_shell() {
	timeout 60 bash -c "$1" >"$out" 2>"$err" </dev/null
	status=$?
}
until_interrupted() {
	timeout --foreground --preserve-status -s INT -k 20 3 env --default-signal=INT bash -c "exec $1" >"$out" 2>"$err" </dev/null
	status=$?
}
in_terminal() {
	mkfifo "$dir/keys"
	TERM=xterm timeout 60 script -qefc "$1" "$out" <"$dir/keys" >/dev/null 2>"$err" & # on a dumb one top prints one table
	local terminal=$!
	exec 7>"$dir/keys"
	for _ in $(seq $((300 * slow))); do grep -q 'lib' "$out" && break; sleep 0.1; done
	(printf q >&7) 2>/dev/null || { cp "$out" "$err"; fail "a screen that is left by q, not before"; }
	wait $terminal
	status=$?
	exec 7>&-
	rm "$dir/keys"
}
run_line() {
	local line file
	line=$(adapted "$1") file=$(file_of "$1")
	what="... this line: $1"
	rm -f "$out" "$err" ${file:+"$file"}
	: >"$out" >"$err"
	case $line in
	*/run\ agent | soprof\ agent) begin_agent "$line"; return ;;
	*\ --batch*) in_shell "$line" ;;
	*\ calls\ *-I\ *) until_interrupted "$line" ;;
	soprof\ top*) in_terminal "$line" ;;
	soprof\ profile\ 1) in_shell "script -qec '$line' /dev/null" ;;
	*) in_shell "$line" ;;
	esac
	[ "$status" = 0 ] || fail "that it ends well"
	# what calls, stat and trace tell of a command stands beside the command's output
	[ -s "${file:-$out}" ] || { [[ $line == *\ --\ * ]] && grep -qE ' calls by | time elapsed|^soprof: [0-9]+ events in ' "$err"; } ||
		fail "something in ${file:-its output}"
	! grep -qE 'uncounted|ERROR: ld|not found' "$err" || fail "no such words on stderr"
}

# --- all of them
n_run=0 lines=$dir/lines
{ commands_of_readme "$tree/README.md"; commands_of_help; } | awk '!seen[$0]++' >"$lines"
while IFS= read -r line <&8; do
	! printf '%s\n' "$excused" | cut -d'|' -f1 | grep -qxF -- "$line" || continue
	n_run=$((n_run + 1))
	begun=$EPOCHREALTIME
	run_line "$line"
	awk -v a="$begun" -v b="$EPOCHREALTIME" -v l="$line" 'BEGIN { printf "%.1f s  %s\n", b - a, l }'
done 8<"$lines"
end_agent

what="the texts"
[ "$n_run" -ge 50 ] || fail "at least 50 lines, not $n_run"
while IFS='|' read -r line why; do
	[ -z "$line" ] || { grep -qxF -- "$line" "$lines" && [ -n "$why" ]; } || fail "that the excused line is there still, and has a reason: $line"
done <<<"$excused"
diff <(printf '%s\n' "$spoken" | sed 1d | sort) <(not_commands_of_readme "$tree/README.md" | sort) ||
	fail "each line of README.md that speaks of soprof to be a command, or to stand above as none"
# The tutorial's sections that have commands, and those that are run.
sections=$(sed -n 's/^# //p' "$tree/man/soprof-tutorial.7.scd")
while IFS= read -r section; do
	next=$(printf '%s\n' "$sections" | grep -xF -A 1 -- "$section" | tail -n 1)
	[ -z "$(commands_of_tutorial "$tree/man/soprof-tutorial.7.scd" "$section" "$next")" ] ||
		grep -qE "^\s*(tutorial|commands) '?$section'? " "$tests/full/service.sh" || fail "tests/full/service.sh to run the section $section"
done <<<"$sections"
finish
