# SPDX-License-Identifier: GPL-2.0-or-later
# lib.bash: sourced by the scripts of tests/cmd, which run the real program ($SOPROF), here and in the second kernel.
#   run ARGUMENT...      runs soprof: $status, and its output in the files $out and $err
#   expect CODE ARG...   run, and the exit code has to be CODE
#   unguarded=1          events are counted whole from here on, however busy the machine is (--max-overhead 0)
#   one_line PATTERN     $err is one line, begins with `soprof: ` and matches the extended regular expression
#   check_victim VARIANT NAME [OPTION...]   $out, folded stacks, agrees with what is true of the victim
#   together, apart      victims that are profiled between them share one start of soprof in the second kernel
#   fail WORD...         says what was expected; the script goes on, and finish ends it with code 1
#   skip WHY             ends the script with code 77
# Bash, coreutils, grep, sed and awk only. Every process that a script starts in the background is ended by finish.
SOPROF=${SOPROF:-$PWD/build/soprof}
SOPROF_BUILD=${SOPROF_BUILD:-$(dirname "$SOPROF")}
victims=$SOPROF_BUILD/tests/victim
[ -x "$SOPROF" ] && [ -x "$victims/check" ] || { echo "no $SOPROF or no $victims; build them first"; exit 1; }
export SOPROF_FILTER=strict # a system call that a filter lacks ends the process, with a line
slow=${SOPROF_SLOW:-1} # how many times longer everything may take: inside the second kernel, which is emulated
# How long is sampled: $seconds of what runs already, and $moment of a victim that is started, $hz times a second.
# That a victim is stripped or not matters for names, and to no kernel.
if [ "$slow" -gt 1 ]; then
	seconds=1 moment=1.5 hz=199 variants=(plain)
else
	seconds=1 moment=0.5 hz=399 variants=(plain stripped)
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/soprof-cmd.XXXXXX") || exit 1
out=$dir/out err=$dir/err status=0 n_failed=0 what=
chmod 755 "$dir"

leave() {
	local job
	for job in $(jobs -p); do
		kill -KILL "$job" 2>/dev/null
	done
	wait 2>/dev/null
	[ -z "$mounted" ] || umount -l "$mounted"
	rm -rf "$dir"
}
trap leave EXIT

skip() { printf '%s\n' "$*"; exit 77; }
say() { printf '%s\n' "$*"; }
fail() {
	n_failed=$((n_failed + 1))
	printf 'expected: %s\n' "$*"
	printf '  command: soprof %s (exit code %s)\n' "$what" "$status"
	tail -n 12 "$err" 2>/dev/null | sed 's/^/  stderr: /'
}
finish() {
	[ "$n_failed" = 0 ] || say "$n_failed of the expectations did not hold"
	exit $((n_failed > 0))
}

unguarded=
run() {
	if [ -n "$unguarded" ] && [[ " $* " != *\ --list\ * && "$*" != *--max-overhead* ]] &&
		[[ " $* " == *\ -e\ * || $1 = offcputime || $1 = offwaketime || $1 = wakeuptime || $1 = page-faults ]]; then
		set -- "$1" --max-overhead 0 "${@:2}"
	fi
	what=$*
	"$SOPROF" "$@" >"$out" 2>"$err" </dev/null
	status=$?
}
expect() {
	local code=$1
	shift
	run "$@"
	[ "$status" = "$code" ] || fail "exit code $code"
}
one_line() {
	[ "$(grep -c '' "$err")" = 1 ] || fail "one line on stderr, not $(grep -c '' "$err")"
	grep -qE -- '^soprof: ' "$err" || fail "a line that begins with soprof:"
	grep -qE -- "$1" "$err" || fail "a line that matches: $1"
}
has() { grep -qE -- "$2" "$1" || fail "$(basename "$1") to match: $2"; }
# What stderr says, its lines joined: the summary is broken into lines of 80 columns.
says() { tr -s ' \n' ' ' <"$err" | grep -qE -- "$1" || fail "the summary to say: $1"; }
# whole PERCENT WHAT: so many of the stacks are complete, by the summary. One that is not is always allowed: it may be of a
# program's first moments.
whole() {
	local n all
	read -r -a n < <(tr -s ' \n' ' ' <"$err" |
		sed -nE 's/.*complete ([0-9]+) \([^)]*\), guessed ([0-9]+) \([^)]*\), cut ([0-9]+) .*/\1 \2 \3/p')
	all=$((n[0] + n[1] + n[2]))
	say "$2: complete, guessed, cut: ${n[*]}"
	[ "${n[0]:-0}" -gt 0 ] && [ $((100 * n[0])) -ge $(($1 * (all - 1))) ] ||
		fail "$2: $1 % of the stacks complete, not: ${n[*]:-none} (complete, guessed, cut)"
}
has_not() { ! grep -qE -- "$2" "$1" || fail "$(basename "$1") not to match: $2"; }

check_victim() {
	local variant=$1 name=$2
	shift 2
	"$victims/check" "$@" "$victims/$variant" "$name" <"$out" || fail "the stacks of $variant/$name as its truth says"
}
# start VARIANT NAME ARG...: a victim in the background; its process id in $pid.
start() {
	local program=$victims/$1/$2
	shift 2
	"$program" "$@" </dev/null >/dev/null 2>&1 &
	pid=$!
}
# wait_working PID...: until each has become its program, which has had some of a CPU: its start is over, its libraries
# are mapped, its threads have their names.
is_working() {
	local ticks
	case $(readlink "/proc/$1/exe") in
	'' | */bash | */sh | */dash | */chroot | */env | */setpriv | */unshare | */timeout | */python3*) return 1 ;;
	esac
	ticks=$(awk -v RS='\001' '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat" 2>/dev/null)
	[ "${ticks:-0}" -ge $((5 * slow)) ]
}
wait_working() {
	local one tries=$((600 * slow))
	for one; do
		until is_working "$one"; do
			[ $((tries -= 1)) -gt 0 ] && [ -e "/proc/$one" ] || { fail "process $one to work"; return 1; }
			sleep 0.05
		done
	done
}
# at_ease PROCESS...: where some samples of them are enough, however many: each works for three tenths of the time from now on, and
# leaves the CPUs to others. By signals, which no stack of a program shows; where it has ended, that is over.
at_ease() {
	local one
	for one; do
		(
			exec {never}<> <(:)
			while kill -STOP "$one"; do
				read -rt 0.07 -u "$never"
				kill -CONT "$one" || break
				read -rt 0.03 -u "$never"
			done
		) 2>/dev/null &
	done
}
# until the soprof with this process id samples: it holds a perf event or a tracepoint; at most 30 s (in the guest 120)
wait_sampling() {
	local tries=$((300 * slow))
	until ls -l "/proc/$1/fd" 2>/dev/null | grep -q perf_event || grep -qs '^tp_name:' "/proc/$1/fdinfo/"*; do
		[ $((tries -= 1)) -gt 0 ] && [ -e "/proc/$1" ] || { fail "soprof to begin to sample"; return 1; }
		sleep 0.1
	done
}
# wait_agent PROCESS LOG [PATTERN]: until the agent's log says so much, by itself that it can be asked; else that is all.
wait_agent() {
	until grep -qs "${3:-to ask: }" "$2"; do
		kill -0 "$1" 2>/dev/null || { cat "$2"; fail "the agent to start"; finish; }
		sleep 0.1
	done
}
# A port of the loopback interface at which nobody listens, and that no connection is given by itself.
free_port() {
	local port
	while port=$((20000 + RANDOM % 12000)) && (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
	echo "$port"
}
# signal_parsers SIGNAL PROCESS: those among its descendants; true if there are any. Without a fork: a parser that has
# nothing to do ends soon.
signal_parsers() {
	local -a children=()
	local child name found=1
	read -r -a children 2>/dev/null <"/proc/$2/task/$2/children"
	for child in "${children[@]}"; do
		name=
		read -r name 2>/dev/null <"/proc/$child/comm"
		[ "$name" = soprof-parser ] && kill -"$1" "$child" 2>/dev/null && found=0
		signal_parsers "$1" "$child" && found=0
	done
	return $found
}
# wait_until TENTHS COMMAND...
wait_until() {
	local tries=$1
	shift
	until "$@"; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.1
	done
}
# has_mapped PROCESS PATTERN: whether it has mapped such a file
has_mapped() { grep -qs "$2" "/proc/$1/maps"; }
# mount_tracefs [DIRECTORY]: tracefs is at $tracefs then. Systems mount it as they start; the second kernel's guest does not: there
# it is in this directory, as long as the script runs.
tracefs=/sys/kernel/tracing mounted=
mount_tracefs() {
	[ ! -e "$tracefs/events" ] || return 0
	tracefs=${1:-$tracefs}
	mkdir -p "$tracefs" && mount -t tracefs tracefs "$tracefs" && mounted=$tracefs
}
is_root() { [ "$(id -u)" = 0 ]; }
need_root() { is_root || skip "needs root"; }

# Samples in folded lines on stdin; those in $out.
count() { awk '{ n += $NF } END { print n + 0 }'; }
samples() { count <"$out"; }
# Where others had the CPUs most of the time, one may not see all that it does; then once more, for longer. A function
# that has to appear and takes a twentieth of the time is missing in one of 170 hundreds of samples.
enough_samples() { # VARIANT NAME [CHECK-OPTION...]
	[ "$(samples)" -ge 100 ] && ! "$victims/check" "${@:3}" "$victims/$1" "$2" <"$out" | grep -q 'never appeared'
}
# What a victim is told to work for: so much of a CPU, so that as many samples fall in it on a busy machine as on a quiet one; but
# seconds where children do the work, or another language's.
work_of() { case $1 in storm | rusty) echo "$2" ;; *) echo "$2cpu" ;; esac }
# words_of VARIANT NAME [CHECK-OPTION...] -- [ARGUMENT...]: to the caller's $variant, $name, $options and $arguments
words_of() {
	variant=$1 name=$2 options=() arguments=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	arguments=("${@:2}")
}
# profile_victim VARIANT NAME [CHECK-OPTION...] -- [ARGUMENT...]: profiles the victim for a moment and checks its stacks.
profile_victim() {
	local variant name options arguments time
	words_of "$@"
	if [ -n "$is_together" ]; then
		printf '%q ' "$victims/$variant/$name" "$(work_of "$name" $moment)" "${arguments[@]}" >>"$dir/together"
		echo >>"$dir/together"
		waiting+=("profile_victim $(printf '%q ' "$@")")
		return
	fi
	for time in $moment $((3 * seconds)) $((6 * seconds)); do
		expect 0 profile -U -f -F $hz -- "$victims/$variant/$name" "$(work_of "$name" $time)" "${arguments[@]}"
		! enough_samples "$variant" "$name" || break
	done
	check_victim "$variant" "$name" "${options[@]}"
}
# profile_running VARIANT NAME [CHECK-OPTION...] -- [ARGUMENT...]: the same, but the victim runs already: its tables are
# loaded before the first sample. Of a sample that meets a file for the first time only 2 MiB of stack are unwound.
running_hz=$((slow > 1 ? 199 : 3 * hz)) # an emulated CPU would do nothing but walk stacks of thousands of frames
profile_running() {
	local variant name options arguments time
	words_of "$@"
	start "$variant" "$name" 600 "${arguments[@]}"
	if [ -n "$is_together" ]; then
		running+=("$pid")
		waiting+=("profile_running $(printf '%q ' "$@")")
		return
	fi
	wait_working "$pid"
	[ "$slow" -gt 1 ] || at_ease "$pid"
	for time in $((slow > 1 ? 2 * seconds : seconds)) $((3 * seconds)) $((6 * seconds)); do
		expect 0 profile -U -f -F $running_hz -p "$pid" "$time"
		! enough_samples "$variant" "$name" || break
	done
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	check_victim "$variant" "$name" "${options[@]}"
}
# together ... apart: the victims that profile_victim, or profile_running, are told of in between. Each has a session of its own; in
# the second kernel, where a start of soprof takes seconds, all have one: the former work one after the other, the latter at
# the same time. Who had too few samples there is profiled alone.
is_together='' waiting=() running=()
together() {
	[ "$slow" = 1 ] || is_together=yes
	waiting=() running=()
	: >"$dir/together"
}
apart() {
	local one pids
	[ -n "$is_together" ] || return 0
	is_together=
	if [ "${#running[@]}" -gt 0 ]; then
		wait_working "${running[@]}"
		printf -v pids '%s,' "${running[@]}"
		expect 0 profile -U -f -F $running_hz -p "${pids%,}" $((${#running[@]} * seconds + 1))
		kill -KILL "${running[@]}"
		wait "${running[@]}" 2>/dev/null
	else
		expect 0 profile -U -f -F $hz -- sh "$dir/together"
	fi
	mv "$out" "$dir/all"
	for one in "${waiting[@]}"; do
		eval "judge_one $one"
	done
}
judge_one() { # profile_victim or profile_running, with its words
	local variant name options arguments
	words_of "${@:2}"
	[ "$name" != threads ] || name='(threads|named one)'
	grep -E "^$name;" "$dir/all" >"$out"
	name=$3
	if enough_samples "$variant" "$name"; then
		check_victim "$variant" "$name" "${options[@]}"
	else
		"$@"
	fi
}
# Whether profiling is possible here at all; scripts that need it skip otherwise, with soprof's own reason. That the
# verifier does not take our programs (EACCES) is no reason. SOPROF_CAN_PROFILE: who runs many scripts has seen that it is.
need_profile() {
	[ -z "${SOPROF_CAN_PROFILE:-}" ] || return 0
	run profile -K -F 99 -- true
	[ "$status" = 3 ] || return 0
	! grep -q 'load the BPF programs.*Permission denied' "$err" || { fail "programs that load"; finish; }
	skip "$(tail -n 1 "$err")"
}
