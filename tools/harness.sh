# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by ./test: runs tests, kills what they leave, and keeps count.
#   run_test NAME DEADLINE-SECONDS ISOLATION COMMAND...    puts it into the queue
#   run_suite NAME DEADLINE-SECONDS COMMAND...             the same of one that counts for itself
#   reap_all                                               runs what is queued, and waits for all of it
# Each prints one line: `ok NAME (1.2 s)`, `FAILED NAME (1.2 s)` with the log's tail, or `skipped NAME: why`. Exit code 77 of
# the command means skipped, the reason is its last line. In CI a skip is a failure unless NAME stands in
# tests/skip-allowed.
# ISOLATION: `own` = a process, mount and network namespace of its own where root allows; such tests compute, as many at once
# as there are CPUs, and give way to all others (nice), which need a CPU at the moment when what they wait for comes about.
# `beside` = the machine's processes and network (profiling needs them) and a mount namespace of its own: two more at once
# than there are CPUs, since they wait more than they compute. `host` = the same, when none of its kind and none of `beside`
# run: after these. Suites begin when nothing of these is left, as `own` ones, before those that still wait: beside guests,
# which leave CPUs idle, what computes goes on.
# What failed of `beside` and `host` runs once more when all else is over: the machine and its other users are part of what
# they look at. Both goes are printed (`again NAME`), and the last line but one names what passed at the second only: each
# such name is a defect to look for, of the test or of the program. Where many failed, or a sanitizer spoke, none does.
# Whatever a test starts carries SOPROF_TEST in its environment; what is alive after the test is killed, and fails it.
# What a test (not a suite) knows of its caller's environment is in `environment`: not his locale, his caches, what he
# preloads, or that a debuginfod server is to be asked; /etc/debuginfod counts only where DEBUGINFOD_URLS is not set.
n_passed=0 n_failed=0 n_skipped=0
logs=$build/test-logs
declare -A job_name=() job_log=() job_mark=() job_dir=() job_start=() job_deadline=() job_isolation=() # by the process that waits
declare -A job_words=()
declare -A is_second=() # names
declare -A is_prompt=() # names of `own` tests that give way to none: they look at what comes about within a second
max_second=4 second_queue=() passed_second=()
queue_own=() queue_beside=() queue_host=() queue_suite=()                                              # quoted words
declare -A n_running=([own]=0 [beside]=0 [host]=0 [suite]=0)
max_jobs=$(nproc)
polite=10 # a tenth of a CPU is left to each where all others compute: deadlines within these tests hold
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TZ=UTC TERM=dumb DEBUGINFOD_URLS=)
# keep_environment NAME...: these, too, if they are set
keep_environment() {
	local name
	for name; do
		[ -z "${!name+set}" ] || environment+=("$name=${!name}")
	done
}
keep_environment "${!SOPROF@}" SP_UPDATE_GOLDEN

# find_place DIRECTORY...: the first in which one may write files and run them
find_place() {
	local place probe
	for place; do
		probe=$(mktemp "$place/soprof-test.XXXXXX" 2>/dev/null) || continue
		cp /bin/true "$probe" && chmod 700 "$probe" && "$probe" 2>/dev/null || { rm -f "$probe"; continue; }
		rm -f "$probe"
		echo "$place"
		return
	done
}
place=$(find_place /tmp /var/tmp /var/cache "$build") # of which only the last may be out of other users' reach

# Whether namespaces may be made; decided once.
can_unshare=$([ "$(id -u)" = 0 ] && unshare --pid --fork --kill-child --mount-proc --net true 2>/dev/null && echo yes)

processes_of_mark() {
	[ -n "$1" ] || return 0
	grep -lzsx "SOPROF_TEST=$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3
}
# Kills the processes with this mark until none is left; prints their names. What was about to end has a second to do so.
kill_leftovers() {
	local pid pids
	pids=$(processes_of_mark "$1")
	[ -n "$pids" ] || return 0
	sleep 1
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
	for job in "${!job_name[@]}"; do
		kill -KILL "$job" 2>/dev/null
	done
	for job in "${!job_name[@]}"; do
		kill_leftovers "${job_mark[$job]}" >/dev/null
		rm -rf "${job_dir[$job]}"
	done
	say "stopped"
	exit 130
}
trap stop_all INT TERM HUP

passed() {
	n_passed=$((n_passed + 1))
	[ -z "${is_second[$1]:-}" ] || passed_second+=("$1")
	printf 'ok %s (%s s)\n' "$1" "$2"
}
failed() {
	n_failed=$((n_failed + 1))
	printf 'FAILED %s (%s s)%s\n' "$1" "$2" "${3:+: $3}"
	tail -n 40 "$4" | sed 's/^/    /'
}
again() { # the same as `failed`
	is_second[$1]=yes
	printf 'again %s (%s s)%s\n' "$1" "$2" "${3:+: $3}"
	tail -n 40 "$4" | sed 's/^/    /'
}
# Whether a job that failed has a second go.
has_second() { # ISOLATION NAME LOG
	[[ $1 = beside || $1 = host ]] && [ -z "${is_second[$2]:-}" ] && [ "${#is_second[@]}" -lt "$max_second" ] &&
		! grep -qaE 'Sanitizer|runtime error:' "$3"
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
# What each job took stands in $logs/times in the end: seconds of a CPU, seconds, its name. Of jobs that end at the same
# moment one may be told to have had the CPU time of both.
cpu_ms=0 times=()
account() { # NAME SECONDS
	local user system was=$cpu_ms
	times >"$logs/clock"
	{ read -r _; read -r user system; } <"$logs/clock" # this shell's own, its children's
	[[ "$user $system" =~ ^([0-9]+)m([0-9]+)\.([0-9]+)s\ ([0-9]+)m([0-9]+)\.([0-9]+)s$ ]] || return 0
	cpu_ms=$(((BASH_REMATCH[1] + BASH_REMATCH[4]) * 60000 + (10#${BASH_REMATCH[2]} + 10#${BASH_REMATCH[5]}) * 1000 +
		10#${BASH_REMATCH[3]} + 10#${BASH_REMATCH[6]}))
	times+=("$(((cpu_ms - was) / 1000)).$(((cpu_ms - was) % 1000 / 100)) $2 $1")
}
tenths() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b - a }'; }

# Ends the account of a job that is over, with the exit code $2.
finish_job() {
	local job=$1 r=$2 name=${job_name[$1]} log=${job_log[$1]} isolation=${job_isolation[$1]} took left judge
	took=$(tenths "${job_start[$job]}" "$EPOCHREALTIME")
	account "$name" "$took"
	left=$(kill_leftovers "${job_mark[$job]}")
	rm -rf "${job_dir[$job]}"
	if [ "$isolation" = suite ]; then
		left=
		sleep 0.2 # tee
	fi
	if [ "$isolation" = suite ] && [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		n_passed=$((n_passed + BASH_REMATCH[1])) n_failed=$((n_failed + BASH_REMATCH[2])) n_skipped=$((n_skipped + BASH_REMATCH[3]))
		[ "$r" = 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] || failed "$name" "$took" "exit code $r" "$log"
	else
		judge=failed
		! has_second "$isolation" "$name" "$log" || judge=again
		case $r in
		77) skipped "$name" "$(tail -n 1 "$log")" ;;
		124 | 137) "$judge" "$name" "$took" "stopped after ${job_deadline[$job]} s" "$log" ;;
		0) if [ -n "$left" ]; then "$judge" "$name" "$took" "left processes behind: $left" "$log"; else passed "$name" "$took"; fi ;;
		*) "$judge" "$name" "$took" "exit code $r" "$log" ;;
		esac
		[ "$judge" = failed ] || [ -z "${is_second[$name]:-}" ] || second_queue+=("${job_words[$job]}")
		[ "$r" != 0 ] || skipped_cases "$name" "$log"
	fi
	n_running[$isolation]=$((n_running[$isolation] - 1))
	unset "job_name[$job]" "job_log[$job]" "job_mark[$job]" "job_dir[$job]" "job_start[$job]" "job_deadline[$job]" \
		"job_isolation[$job]" "job_words[$job]"
}

run_test() {
	local -n queue=queue_$3
	queue+=("$(printf '%q ' "$@")")
}
# tests/vm/run, tests/bench/run: its output is shown as it comes, and its last line, if it is `N passed, N failed,
# N skipped`, added to ours; else it is one test.
run_suite() { run_test "$1" "$2" suite "${@:3}"; }

# Files that others may read, as they mostly are, and the limits of an ordinary login; no core files in the tree.
usual_limits() {
	umask 022
	ulimit -S -n 1024
	ulimit -S -s 8192
	ulimit -S -c 0
}
# A test's directory, $1, in memory: stores wait for the disk at each step, which was most of the time of some tests.
declare -A wants_memory=() # names of scripts; of unit tests all
in_memory='mount -t tmpfs -o mode=755 none "$1" && mkdir "$1/home"; shift; exec "$@"'
# In the background, so that a signal to ./test is dealt with at once.
start_job() {
	local name=$1 deadline=$2 isolation=$3 dir= mark log=$logs/${1//\//-}.log words
	words=$(printf '%q ' "$1" "$2" host "${@:4}")
	shift 3
	local -a before=(setpriv --pdeathsig TERM) # ./test may be killed too
	if [ "$isolation" != suite ]; then
		dir=$(mktemp -d "${place:-/tmp}/soprof-test.XXXXXX") || die "cannot make a directory for tests in ${place:-/tmp}"
		mkdir "$dir/home"
		chmod 755 "$dir" "$dir/home"
	fi
	if [ "$can_unshare" = yes ] && [ "$isolation" = own ]; then
		before=(setpriv --pdeathsig KILL unshare --pid --fork --kill-child --mount-proc --net)
		before+=(sh -c "ip link set lo up; $in_memory" sh "$dir") # a network of its own: itself
	elif [ "$can_unshare" = yes ] && [ "$isolation" != suite ]; then
		before+=(unshare --mount)
		[ -z "${wants_memory[$name]:-}" ] || before+=(sh -c "$in_memory" sh "$dir")
	fi
	[ "$isolation" != own ] || [ -n "${is_prompt[$name]:-}" ] || before=(nice -n "$polite" "${before[@]}")
	mark=$$.$RANDOM.${name//[^a-z0-9]/-}
	if [ "$isolation" = suite ]; then
		"${before[@]}" timeout -k 10 "$deadline" env SOPROF_TEST="$mark" "$@" </dev/null \
			> >(tee "$log" | grep -v '^[0-9]* passed, ') 2>&1 &
	else
		{
			usual_limits
			exec "${before[@]}" timeout -k 3 "$deadline" env -i --default-signal "${environment[@]}" HOME="$dir/home" \
				TMPDIR="$dir" SOPROF_TEST="$mark" "$@"
		} >"$log" 2>&1 </dev/null &
	fi
	job_name[$!]=$name job_log[$!]=$log job_mark[$!]=$mark job_dir[$!]=$dir job_deadline[$!]=$deadline
	job_start[$!]=$EPOCHREALTIME job_isolation[$!]=$isolation job_words[$!]=$words
	n_running[$isolation]=$((n_running[$isolation] + 1))
}
start_next() { # ISOLATION: the first of that queue
	local -n queue=queue_$1
	local words=${queue[0]}
	queue=("${queue[@]:1}")
	eval "start_job $words"
}
# Starts what there is room for.
start_some() {
	local waiting
	while [ "${#queue_beside[@]}" -gt 0 ] && [ "${n_running[host]}" = 0 ] && [ "${n_running[beside]}" -lt $((max_jobs + 2)) ]; do
		start_next beside
	done
	[ "${#queue_host[@]}" = 0 ] || [ $((n_running[host] + n_running[beside])) -gt 0 ] || start_next host
	waiting=$((${#queue_beside[@]} + ${#queue_host[@]} + n_running[beside] + n_running[host]))
	while [ "${#queue_suite[@]}" -gt 0 ] && [ "$waiting" = 0 ] && [ $((n_running[own] + n_running[suite])) -lt "$max_jobs" ]; do
		start_next suite
	done
	while [ "${#queue_own[@]}" -gt 0 ] && [ $((n_running[own] + n_running[suite])) -lt "$max_jobs" ]; do
		start_next own
	done
}
# wait_one PROCESS...: until one of these children has ended, to $ended, with the exit code $code. Bash tells of kills, and
# `wait -n` knows nothing of a child that a signal ended while something else was done.
wait_one() {
	local process
	ended=
	while [ -z "${ended:-}" ]; do
		for process; do
			kill -0 "$process" 2>/dev/null || { ended=$process; wait "$process"; code=$?; return; }
		done
		wait -n -p ended "$@"
		code=$?
	done 2>/dev/null
}
reap_all() {
	local ended code
	while start_some; [ "${#job_name[@]}" -gt 0 ]; do
		wait_one "${!job_name[@]}"
		finish_job "$ended" "$code"
	done
	[ "${#second_queue[@]}" -gt 0 ] || return 0
	queue_host=("${second_queue[@]}") second_queue=()
	reap_all
}

most_time() {
	printf 'CPU time: %d s; the most: %s\n' $((cpu_ms / 1000)) \
		"$(head -n 12 "$logs/times" | awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $3, $1 }')"
}
finish() {
	reap_all
	trap - INT TERM HUP EXIT
	[ "${#times[@]}" = 0 ] || { printf '%s\n' "${times[@]}" | sort -rn >"$logs/times"; most_time; }
	[ "${#passed_second[@]}" = 0 ] || printf 'passed at the second go only: %s\n' "${passed_second[*]}"
	printf '%d passed, %d failed, %d skipped\n' "$n_passed" "$n_failed" "$n_skipped"
	[ "$n_failed" = 0 ]
	exit
}
