#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 100
# Static and static-PIE programs, stripped: every name is a range of the program.
. "$(dirname "$0")/lib.bash"
need_profile

for variant in static staticpie; do
	for name in recursion callback vdso threads kernel assembly; do
		profile_victim $variant $name --complete 99 --
	done
	for name in frames signals; do
		profile_running $variant $name --complete 99 --
	done
done
finish
