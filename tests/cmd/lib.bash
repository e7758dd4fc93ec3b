# SPDX-License-Identifier: GPL-2.0-or-later
# lib.bash: sourced by the scripts of tests/cmd, which run the real program ($SOPROF), here and in the second kernel.
#   run ARGUMENT...      runs soprof: $status, and its output in the files $out and $err
#   expect CODE ARG...   run, and the exit code has to be CODE
#   one_line PATTERN     $err is one line, begins with `soprof: ` and matches the extended regular expression
#   check_victim VARIANT NAME [OPTION...]   $out, folded stacks, agrees with what is true of the victim
#   fail WORD...         says what was expected; the script goes on, and finish ends it with code 1
#   skip WHY             ends the script with code 77
# Bash, coreutils, grep, sed and awk only. Every process that a script starts in the background is ended by finish.
SOPROF=${SOPROF:-$PWD/build/soprof}
SOPROF_BUILD=${SOPROF_BUILD:-$(dirname "$SOPROF")}
victims=$SOPROF_BUILD/tests/victim
slow=${SOPROF_SLOW:-1}
dir=$(mktemp -d "${TMPDIR:-/tmp}/soprof-cmd.XXXXXX") || exit 1
out=$dir/out err=$dir/err status=0 n_failed=0 what=
chmod 755 "$dir"

leave() {
	local job
	for job in $(jobs -p); do
		kill -KILL "$job" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$dir"
}
trap leave EXIT

skip() { printf '%s\n' "$*"; exit 77; }
say() { printf '%s\n' "$*"; }
fail() {
	n_failed=$((n_failed + 1))
	printf 'expected: %s\n' "$*"
	printf '  command: soprof %s (exit code %s)\n' "$what" "$status"
	sed 's/^/  stderr: /' "$err" 2>/dev/null | head -n 8
}
finish() {
	[ "$n_failed" = 0 ] || say "$n_failed of the expectations did not hold"
	exit $((n_failed > 0))
}

run() {
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
is_root() { [ "$(id -u)" = 0 ]; }
need_root() { is_root || skip "needs root"; }
