#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1800
# Tables of names of 600 ELF files of this machine, as the files themselves say: at random offsets, and at all places
# that an answer begins or ends at.
set -euo pipefail
list=$(mktemp)
trap 'rm -f "$list"' EXIT
"$SOPROF_SOURCE/tests/tables/list-elf" >"$list"
shuf -n 600 --random-source=<(yes) "$list" | xargs -d '\n' "$SOPROF_BUILD/tests/unit/symbol/table-names" --compare |
	awk '/differ$/ { n += $1; bad += $(NF - 1) } /^at 0x|^  .* start 0x/ { print } END { print n " answers, " bad " differ" }'
exit "${PIPESTATUS[1]}"
