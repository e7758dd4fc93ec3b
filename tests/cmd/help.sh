#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Help, version, and what is said of words that do not exist.
. "$(dirname "$0")/lib.bash"

expect 0 --help
has "$out" '^ *profile '
has "$out" '^Usage: soprof|^usage: soprof|soprof COMMAND'
expect 0 --version
has "$out" '^soprof [0-9]+\.[0-9]+'
expect 2
expect 0 profile --help
for option in --pid --tid --user-stacks-only --kernel-stacks-only --frequency --count --delimited --annotations --folded \
	--include-idle --cpu --stack-storage-size --hash-storage-size --address --verbose --library --comm --cgroup --by \
	--unwind --event --output --format; do
	has "$out" "(^|[ ,/])$option\b"
done
lines=$(grep -c '' "$out")
[ "$lines" -le 50 ] || fail "help of profile to fit a screen: it has $lines lines"
[ "$(grep -cE '^ *(sudo )?soprof profile ' "$out")" -ge 3 ] || fail "help of profile to end with three examples"

expect 2 profil
one_line "'?profil'?.*profile"
expect 2 nonsense
one_line 'nonsense'
expect 2 profile --folde=
one_line '--folde'
expect 2 profile --freqency 99
one_line '--frequency'
finish
