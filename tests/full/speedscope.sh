#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What speedscope itself makes of our speedscope, pprof, folded and perf outputs: its page, from npm, in Debian's
# chromium without a window. Every stack must come out with its weight, and speedscope's JSON schema must hold.
# Pictures of what it shows are left in $SOPROF_PICTURES, if that is set.
# deadline: 300
set -u
here=$(dirname "$(readlink -f "$0")")
version=1.25.0
skip() { echo "$*"; exit 77; }
command -v chromium >/dev/null || skip "needs chromium"
command -v node >/dev/null || skip "needs nodejs"
command -v npm >/dev/null || skip "needs npm"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
npm pack --silent "speedscope@$version" >npm.log 2>&1 || { tail -n 3 npm.log; skip "npm has no speedscope for us"; }
tar -xzf "speedscope-$version.tgz" || exit 1

"$SOPROF_BUILD/tests/unit/view-speedscope" "$dir" || exit 1
mkdir names && "$SOPROF_BUILD/tests/unit/view-hostile" names 5000 || exit 1
mv names/speedscope names/names.speedscope.json
export TMPDIR=$dir HOME=$dir
node "$here/speedscope.mjs" "$(command -v chromium)" package/dist/release "$dir" names/names.speedscope.json
