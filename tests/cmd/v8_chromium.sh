#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 180
# Stacks of a stripped chromium with a page that computes: V8 is known by its builtins, and its code does not cut stacks or
# make guesses of them; nearly all others are complete by the code of chromium itself.
. "$(dirname "$0")/lib.bash"
need_profile
command -v chromium >/dev/null || skip "needs chromium"
command -v node >/dev/null || skip "needs node"
cp "$SOPROF_SOURCE/tests/cmd/v8_chromium.html" "$dir/page.html"

run profile -U -v -A -f -F 499 -- node "$SOPROF_SOURCE/tests/cmd/v8_chromium.mjs" "$(command -v chromium)" "$dir/page.html" 60
[ "$status" = 0 ] || fail "exit code 0"
whole 97 chromium
says 'by the frames of a runtime'
finish
