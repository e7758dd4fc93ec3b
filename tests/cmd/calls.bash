# SPDX-License-Identifier: GPL-2.0-or-later
# calls.bash: sourced by the scripts about counted calls, after lib.bash.
#   count_into FILE DEPTH LIBRARY...   makes the file
#   counted COMMAND...                 runs it, counting into the file of the last count_into
#   sums [FILE]                        calls of each function, sorted
audit=$SOPROF_BUILD/src/audit/calls.so
calls_file=$SOPROF_BUILD/tests/cmd/calls-file
file=
[ -r "$audit" ] && [ -x "$calls_file" ] || { echo "no $audit or no $calls_file; build them first"; exit 1; }

count_into() {
	file=$1
	"$calls_file" prepare "$@" || fail "a file of calls"
}
counted() { LD_AUDIT=$audit SOPROF_CALLS=$file "$@"; }
sums() { "$calls_file" sums "${1:-$file}" | sort; }
counter() { "$calls_file" counters "$file" | sed -n "s/^$1 //p"; }
