#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Bad command lines: one line that names the fault, exit code 2 (1 where something is not there), nothing on stdout.
. "$(dirname "$0")/lib.bash"

# refuses CODE PATTERN ARGUMENT...
refuses() {
	local code=$1 pattern=$2
	shift 2
	expect "$code" profile "$@"
	one_line "$pattern"
	[ ! -s "$out" ] || fail "nothing on stdout"
}
bad() { refuses 2 "$@"; }

bad '-F.*nonsense' -F nonsense 1
bad '-F.*1 to' -F 0 1
bad '-F' -F -5 1
bad '-F' -F 1e3 1
bad '-F' -F 99999999999999999999 1
bad '-F' -F
bad '-c.*0' -c 0 1
bad '-c' -c 100 1
bad '-p.*x' -p x 1
bad '-p' -p 1, 1
bad '-p' -p '' 1
bad '-p' -p -1 1
bad '-p.*(4194305|to 4194304)' -p 4194305 1
bad '-C.*(there is no CPU|to)' -C 4000 1
bad '-C' -C 1-0 1
bad 'SECONDS' 0
bad 'SECONDS|ten' ten
bad '1.5' 1.5
bad '(20|too many|argument)' 10 20
bad '--by.*nonsense' --by nonsense 1
bad '--format.*nonsense' --format nonsense 1
bad '--unwind' --unwind maybe 1
bad '-e' -e nonsense 1
bad 'suffix' -o "$dir/x.nonsense" 1
bad '--stack-storage-size' --stack-storage-size 0 1
bad '--hash-storage-size' --hash-storage-size -1 1
bad 'nonsense' --nonsense 1
bad '-X' -X 1
bad '(-U|-K|stacks-only)' -U -K 1
bad '(-p|-L)' -p $$ -L $$ 1
bad '(-F|-c)' -F 99 -c 1000000 1
bad '(-f|--format)' -f --format text 1
bad '(-p|--)' -p $$ 1 -- true
bad '--by' -f --by library 1
bad '(command|--)' 1 --
# A process that was there a moment ago. Numbers are given anew only after all others were used.
sleep 0 &
gone=$!
wait $gone
refuses 1 "$gone" -p $gone 1
refuses 1 "$gone" -L $gone 1
finish
