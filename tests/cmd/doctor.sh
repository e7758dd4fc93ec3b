#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 120
# soprof doctor: what it says of this machine, against the machine itself; as root, as nobody, with some capabilities.
. "$(dirname "$0")/lib.bash"
cp "$SOPROF" "$dir/soprof" # nobody may not reach the build directory
chmod 755 "$dir/soprof"

# state KEY, value KEY, why KEY: of $out, which is JSON with a line for each check
state() { sed -n "s/^\"$1\":{\"state\":\"\([a-z]*\)\".*/\1/p" "$out"; }
value() { sed -n "s/^\"$1\":{.*\"value\":\(-\{0,1\}[0-9]*\).*/\1/p" "$out"; }
is() { [ "$1" = "$2" ] || fail "$3: '$2', not '$1'"; }
is_state() { is "$(state "$1")" "$2" "state of $1"; }
setting() { cat "/proc/sys/kernel/$1" 2>/dev/null; }
# as_nobody CAPABILITIES ARGUMENT...: with these in the effective set ("" = none)
as_nobody() {
	local caps=$1 bounding=-all
	local -a ambient=()
	shift
	[ -z "$caps" ] || { bounding=-all,$caps; ambient=(--ambient-caps "$caps"); }
	what="$* (as nobody, $caps)"
	(cd / && setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "-all${caps:+,$caps}" "${ambient[@]}" \
		--bounding-set "$bounding" "$dir/soprof" "$@") >"$out" 2>"$err" </dev/null
	status=$?
}

# What every user is told the same.
common() {
	[ ! -s "$err" ] || fail "nothing on stderr"
	if [ -x /usr/bin/python3 ]; then
		/usr/bin/python3 - "$out" <<-'END' || fail "JSON in which each check has its state and words"
			import json, sys
			all = json.load(open(sys.argv[1]))
			assert all["essential"] == (all["checks"]["essential"]["state"] == "yes")
			for key, check in all["checks"].items():
			    assert check["state"] in ("yes", "no", "partly") and check["what"] and check["why"], key
			    assert set(check) <= {"state", "value", "what", "why", "cure"}, key
		END
	fi
	is "$(grep -c '^"' "$out")" "$(sed -n 's/^"\([^"]*\)".*/\1/p' "$out" | sort -u | grep -c '')" "keys, each once"
	is "$(value perf_event_paranoid)" "$(setting perf_event_paranoid)" "perf_event_paranoid"
	is "$(value kernel_symbols)" "$(setting kptr_restrict)" "kptr_restrict"
	is "$(value perf_event_mlock_kb)" "$(setting perf_event_mlock_kb)" "perf_event_mlock_kb"
	is "$(value nofile)" "$(ulimit -Hn)" "the limit of open files"
	is "$(value cpus)" "$(grep -c ^processor /proc/cpuinfo)" "CPUs"
	has "$out" "\"kernel\":.*Linux $(uname -r) on $(uname -m)"
	is_state btf "$([ -r /sys/kernel/btf/vmlinux ] && echo yes || echo no)"
}
# Where the kernel is locked down, its memory cannot be read, and with it nothing sampled.
confidential=$(grep -c '\[confidentiality\]' /sys/kernel/security/lockdown 2>/dev/null)
lockdown() {
	if [ "${confidential:-0}" = 1 ]; then
		is_state lockdown no
	else
		is_state lockdown yes
	fi
}

# Servers are those that profile would ask: a variable that is set, even to nothing, stands before the files.
DEBUGINFOD_URLS='http://127.0.0.1:1/ http://localhost:1/' run doctor --json
has "$out" '"debuginfod":{"state":"yes".*"why":"http://127.0.0.1:1/ http://localhost:1/ \(DEBUGINFOD_URLS\)"'
json_status=$status
common
lockdown
is_state root "$(is_root && echo yes || echo no)"
if is_root; then
	for key in cap_bpf cap_perfmon cap_sys_admin bpf bpf_programs perf_all; do
		is_state $key yes
	done
	if [ "${confidential:-0}" = 1 ]; then
		is "$status" 0 "exit code: perf_event_open serves"
		is_state bpf_reads no
		is_state recipe_cpu no
		is_state recipe_cpu_own yes
		has "$out" '"essential":.*by perf_event_open'
		has "$out" '"recipe_cpu":.*locked down \(confidentiality\).*"cure":"boot with lockdown=integrity"'
	else
		is_state bpf_reads yes
	fi
fi

# The agent goes by BPF; nobody answers in a test's own place, and what the socket says is what --status says.
expect_agent=no
"$SOPROF" agent --status >/dev/null 2>&1 && expect_agent=yes
is_state agent_running "$expect_agent"
[ "$(state recipe_cpu)" = yes ] || is_state agent no
[ -n "$(state agent_store)" ] || fail "where the history is"

# What it says of each recipe is what profile does.
cp "$out" "$dir/said"
for recipe in offcpu locks faults; do
	cp "$dir/said" "$out"
	said=$(state recipe_$recipe)
	run profile -e $recipe -o "$dir/x.pb.gz" -- true
	case $said in
	yes | partly) [ "$status" = 0 ] || fail "$recipe to work, as doctor says" ;;
	no) [ "$status" = 3 ] || fail "$recipe not to work, as doctor says" ;;
	*) fail "doctor to speak of $recipe" ;;
	esac
done

# What it says of `profile` is what profile does.
run profile -K -F 99 -- true
can=$status
run profile -F 99 -- true
own=$status
is "$json_status" "$can" "exit code of --json"
DEBUGINFOD_URLS= run doctor
has "$out" '^  debuginfod .* no '
if [ "$can" = 0 ]; then
	[ "$status" = 0 ] || fail "exit code 0 where profile works"
	[ "${confidential:-0}" = 1 ] || has "$out" '^  profile \(recipe cpu\) +yes +tried: [0-9]+ of [0-9]+ stacks'
	has "$out" '^  whole stacks of all +yes '
else
	[ "$status" = 3 ] || fail "exit code 3 where profile does not work"
	has "$out" "^  whole stacks of all +$([ "$own" = 0 ] && echo partly || echo no) "
fi
# nothing is left in the kernel (which frees a program some time after its last descriptor), and no process
for _ in $(seq 300); do
	/usr/sbin/bpftool prog 2>/dev/null | grep -q sp_doctor || break
	sleep 0.1
done
[ ! -e /usr/sbin/bpftool ] || has_not <(/usr/sbin/bpftool prog 2>/dev/null) 'sp_doctor'

# bad usage
expect 2 doctor --jsn
one_line 'unknown option --jsn; did you mean --json'
expect 2 doctor now
one_line "unexpected argument 'now'"

is_root || finish
# lockdown=integrity takes nothing from those that have next to nothing: that is asked in the guest's other boots.
! grep -q '\[integrity\]' /sys/kernel/security/lockdown 2>/dev/null || [ "$slow" = 1 ] || finish
paranoid=$(setting perf_event_paranoid)
as_nobody "" doctor --json
is "$status" 3 "exit code"
common
lockdown
for key in root cap_bpf cap_sys_ptrace bpf bpf_programs perf_all recipe_cpu recipe_offcpu recipe_wall recipe_locks map_files uprobe uprobe_multi fentry; do
	is_state $key no
done
is_state perf_own_user "$([ "$paranoid" -lt 3 ] && echo yes || echo no)"
own=$([ "$paranoid" -lt 3 ] && echo yes || echo no)
is_state recipe_cpu_own "$own"
is_state essential "${own/yes/partly}"
is_state perf_own_kernel "$([ "$paranoid" -lt 2 ] && echo yes || echo no)"
[ "$paranoid" -lt 3 ] || has "$out" '"perf_own_user":.*"why":"Permission denied \(EACCES\); kernel.perf_event_paranoid is '
has "$out" '"bpf":.*EPERM.*"cure":"run as root'

as_nobody +bpf doctor --json
common
is_state cap_bpf yes
is_state cap_perfmon no
is_state bpf yes
is_state bpf_programs no

as_nobody +bpf,+perfmon doctor --json
common
is_state bpf_programs yes
# newer kernels let CAP_PERFMON read /proc/PID/maps
if setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all,+bpf,+perfmon --ambient-caps +bpf,+perfmon \
	--bounding-set -all,+bpf,+perfmon grep -q . "/proc/$$/maps" 2>/dev/null; then
	is_state map_files partly
else
	is_state map_files no
fi
if [ "$paranoid" -ge 3 ]; then
	is_state perf_all no # Debian's kernels
	has "$out" '"perf_all":.*"cure":"sysctl kernel.perf_event_paranoid=2'
	is_state recipe_cpu no
else
	is_state perf_all yes
fi
is "$status" 3 "exit code without the files of others"

# a machine without /sys, whose /proc hides what others do: of a mount of its own, since to remount the machine's would change it
# for all
if unshare -m true 2>/dev/null; then
	what='doctor, without /sys, where /proc is mounted with hidepid=2'
	unshare -m bash -c 'mount -t tmpfs tmpfs /sys && mount -t proc -o hidepid=2 proc /proc && exec "$0" doctor --json' "$SOPROF" \
		>"$out" 2>"$err" </dev/null
	[ ! -s "$err" ] || fail "nothing on stderr"
	is_state btf no
	has "$out" '"hidepid":\{"state":"partly".*hidepid=(2|invisible)'
	what='doctor, in namespaces of its own'
	unshare -Ur --pid --fork --mount-proc "$SOPROF" doctor --json >"$out" 2>"$err" </dev/null
	is $? 3 "exit code"
	is_state host no
	is_state perf_all no
	has "$out" '"bpf_programs":.*"cure":"capabilities of a user namespace do not count'
fi
finish
