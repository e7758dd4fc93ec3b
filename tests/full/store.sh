#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 900
# tests/cmd/store.sh with 500 kills, and a failure of every single write.
KILLS=500 EVERY=1 exec bash "$(dirname "$0")/../cmd/store.sh"
