#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1200
# A fresh checkout in a directory of mode 0700, as root's home is, that ./run has built and nothing else: every command line of
# README.md and of each --help runs there (tests/cmd/examples.sh).
. "$(dirname "$0")/../cmd/lib.bash"
source=$(readlink -f "$(dirname "$0")/../..")
clone=$dir/home/soprof
mkdir -p -m 700 "$dir/home" "$clone"
tar -C "$source" --exclude='./build*' --exclude=./.git -cf - . | tar -C "$clone" --no-same-owner -xf -
begun=$EPOCHREALTIME
env -u SOPROF_BUILD "$clone/run" --version | grep -q '^soprof [0-9]' || fail "./run to build and run"
awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s  ./run --version, which builds\n", b - a }'
[ ! -e "$clone/build/tests/cmd/fill" ] || fail "nothing built but what ./run needs"
SOPROF_CLONE=$clone SOPROF=$clone/build/soprof SOPROF_BUILD=$SOPROF_BUILD bash "$(dirname "$0")/../cmd/examples.sh" || fail "all lines to run"
finish
