#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 3600
# Unwind tables of every executable and library of this machine against readelf: not one row may differ.
set -euo pipefail
tool=$SOPROF_BUILD/tests/unit/unwind/table-blob
"$SOPROF_SOURCE/tests/tables/list-elf" | "$SOPROF_SOURCE/tests/tables/compare" -j 2 "$tool" -
