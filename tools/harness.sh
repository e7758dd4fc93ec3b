# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by ./test: runs tests, kills what they leave, and keeps count.
#   run_test NAME DEADLINE-SECONDS ISOLATION COMMAND...    starts it, as soon as there is room
#   reap_all                                               waits for those that still run
# Each prints one line: `ok NAME (1.2 s)`, `FAILED NAME (1.2 s)` with the log's tail, or `skipped NAME: why`. Exit code 77 of
# the command means skipped, the reason is its last line. In CI a skip is a failure unless NAME stands in
# tests/skip-allowed. ISOLATION: `own` = a process, mount and network namespace of its own where root allows: as many
# run at once as there are CPUs; `host` = the machine's processes and network (profiling needs them) and a mount
# namespace of its own: alone; `beside` = the same, beside others of its kind, one more than there are CPUs.
# Whatever a test starts carries SOPROF_TEST in its environment; what is alive after the test is killed, and fails it.
n_passed=0 n_failed=0 n_skipped=0
logs=$build/test-logs
suite_job=
suite_mark=
declare -A job_name=() job_log=() job_mark=() job_dir=() job_start=() job_deadline=() # by the process that waits
max_jobs=$(nproc)
last_isolation=

# Whether namespaces may be made; decided once.
can_unshare=$([ "$(id -u)" = 0 ] && unshare --pid --fork --kill-child --mount-proc --net true 2>/dev/null && echo yes)

processes_of_mark() {
	[ -n "$1" ] || return 0
	grep -lzsx "SOPROF_TEST=$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3
}
# Kills the processes with this mark until none is left; prints their names.
kill_leftovers() {
	local pid pids
	for _ in 1 2 3 4 5; do
		pids=$(processes_of_mark "$1")
		[ -n "$pids" ] || return 0
		for pid in $pids; do
			printf '%s %s ' "$pid" "$(cat "/proc/$pid/comm" 2>/dev/null)"
		done
		# shellcheck disable=SC2086
		kill -KILL $pids 2>/dev/null
		sleep 0.1
	done
}
stop_all() {
	local job
	trap - INT TERM HUP EXIT
	for job in $suite_job "${!job_name[@]}"; do
		kill -KILL "$job" 2>/dev/null
	done
	kill_leftovers "$suite_mark" >/dev/null
	for job in "${!job_name[@]}"; do
		kill_leftovers "${job_mark[$job]}" >/dev/null
		rm -rf "${job_dir[$job]}"
	done
	say "stopped"
	exit 130
}
trap stop_all INT TERM HUP

passed() { n_passed=$((n_passed + 1)); printf 'ok %s (%s s)\n' "$1" "$2"; }
failed() {
	n_failed=$((n_failed + 1))
	printf 'FAILED %s (%s s)%s\n' "$1" "$2" "${3:+: $3}"
	tail -n 40 "$4" | sed 's/^/    /'
}
skipped() {
	if [ "${CI:-}" = true ] && ! grep -qxF -- "$1" "$root/tests/skip-allowed" 2>/dev/null; then
		n_failed=$((n_failed + 1))
		printf 'FAILED %s: skipped, which CI allows only for the names in tests/skip-allowed: %s\n' "$1" "$2"
	else
		n_skipped=$((n_skipped + 1))
		printf 'skipped %s: %s\n' "$1" "$2"
	fi
}
# Cases that a unit test skipped by itself, with the `skip: why` that it printed before each.
skipped_cases() {
	local name=$1 line why=
	while IFS= read -r line; do
		case $line in
		'skip: '*) why=${line#skip: } ;;
		*'[  SKIPPED ] '*) [[ $line == *' test(s)'* ]] || skipped "$name:${line##*\] }" "${why:-no reason given}"; why= ;;
		esac
	done < <(grep -a -e '^skip: ' -e '^\[  SKIPPED \] [a-z_A-Z0-9]*$' "$2" | awk '!/SKIPPED/ || !seen[$0]++')
}
tenths() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b - a }'; }

# Ends the account of a job that is over, with the exit code $2.
finish_job() {
	local job=$1 r=$2 name=${job_name[$1]} log=${job_log[$1]} took left
	took=$(tenths "${job_start[$job]}" "$EPOCHREALTIME")
	left=$(kill_leftovers "${job_mark[$job]}")
	rm -rf "${job_dir[$job]}"
	case $r in
	77) skipped "$name" "$(tail -n 1 "$log")" ;;
	124 | 137) failed "$name" "$took" "stopped after ${job_deadline[$job]} s" "$log" ;;
	0) if [ -n "$left" ]; then failed "$name" "$took" "left processes behind: $left" "$log"; else passed "$name" "$took"; fi ;;
	*) failed "$name" "$took" "exit code $r" "$log" ;;
	esac
	[ "$r" != 0 ] || skipped_cases "$name" "$log"
	unset "job_name[$job]" "job_log[$job]" "job_mark[$job]" "job_dir[$job]" "job_start[$job]" "job_deadline[$job]"
}
# Waits until fewer than $1 jobs run.
reap_to() {
	local job r
	while [ "${#job_name[@]}" -ge "$1" ]; do
		{ wait -n -p job "${!job_name[@]}"; } 2>/dev/null # bash would tell of a kill
		r=$?
		finish_job "$job" "$r"
	done
}
reap_all() { reap_to 1; }

# In the background, so that a signal to ./test is dealt with at once.
run_test() {
	local name=$1 deadline=$2 isolation=$3 room=$max_jobs dir mark log
	shift 3
	local -a before=(setpriv --pdeathsig TERM) # ./test may be killed too
	if [ "$can_unshare" = yes ] && [ "$isolation" = own ]; then
		before=(setpriv --pdeathsig KILL unshare --pid --fork --kill-child --mount-proc --net)
		before+=(sh -c 'ip link set lo up; exec "$@"' sh) # a network of its own: itself
	elif [ "$can_unshare" = yes ]; then
		before+=(unshare --mount)
	fi
	[ "$isolation" != beside ] || room=$((max_jobs + 1))
	if [ "$isolation" = host ] || [ "$isolation" != "$last_isolation" ]; then room=1; fi
	reap_to "$room"
	last_isolation=$isolation
	dir=$(mktemp -d /tmp/soprof-test.XXXXXX) || die "cannot make a directory in /tmp"
	chmod 755 "$dir"
	log=$logs/${name//\//-}.log
	mark=$$.$RANDOM.${name//[^a-z0-9]/-}
	"${before[@]}" timeout -k 3 "$deadline" env SOPROF_TEST="$mark" TMPDIR="$dir" "$@" >"$log" 2>&1 </dev/null &
	job_name[$!]=$name job_log[$!]=$log job_mark[$!]=$mark job_dir[$!]=$dir job_deadline[$!]=$deadline
	job_start[$!]=$EPOCHREALTIME
	[ "$isolation" != host ] || reap_all
}

# A suite counts for itself (tests/vm/run, tests/bench/run): its output is shown as it comes, and its last line, if it is
# `N passed, N failed, N skipped`, added to ours; else it is one test.
run_suite() {
	local name=$1 deadline=$2 log r start n
	shift 2
	reap_all
	log=$logs/${name//\//-}.log
	start=$EPOCHREALTIME
	suite_mark=$$.$RANDOM.suite
	setpriv --pdeathsig TERM timeout -k 10 "$deadline" env SOPROF_TEST="$suite_mark" "$@" </dev/null \
		> >(tee "$log" | grep -v '^[0-9]* passed, ') 2>&1 &
	suite_job=$!
	{ wait "$suite_job"; } 2>/dev/null # bash would tell of the kill
	r=$?
	suite_job=
	sleep 0.2 # tee
	kill_leftovers "$suite_mark" >/dev/null
	suite_mark=
	if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		n=("${BASH_REMATCH[@]}")
		n_passed=$((n_passed + n[1])) n_failed=$((n_failed + n[2])) n_skipped=$((n_skipped + n[3]))
		[ "$r" = 0 ] || [ "${n[2]}" -gt 0 ] || failed "$name" "$(tenths "$start" "$EPOCHREALTIME")" "exit code $r" "$log"
	elif [ "$r" = 77 ]; then
		skipped "$name" "$(tail -n 1 "$log")"
	elif [ "$r" = 0 ]; then
		passed "$name" "$(tenths "$start" "$EPOCHREALTIME")"
	else
		failed "$name" "$(tenths "$start" "$EPOCHREALTIME")" "exit code $r" "$log"
	fi
}

finish() {
	reap_all
	trap - INT TERM HUP EXIT
	printf '%d passed, %d failed, %d skipped\n' "$n_passed" "$n_failed" "$n_skipped"
	[ "$n_failed" = 0 ]
	exit
}
