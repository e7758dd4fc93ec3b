#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1800
# tests/unit/agent/ranges.c with 60 stores, from a seed that the day chooses and the test prints.
SOPROF_TEST_SEED=${SOPROF_TEST_SEED:-$(($(date +%s) / 86400 * 1000))} SOPROF_TEST_ROUNDS=60 \
	exec "$SOPROF_BUILD/tests/unit/agent-ranges"
