#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 300
# Static and static-PIE programs, stripped: every name is a range of the program.
. "$(dirname "$0")/lib.bash"
need_profile

profile_all() { # VARIANT NAME...
	local variant=$1 name
	for name in "${@:2}"; do
		case $name in
		frames | signals) profile_running $variant $name --complete 99 -- ;;
		*) profile_victim $variant $name --complete 99 -- ;;
		esac
	done
}
all=(recursion callback vdso threads kernel assembly frames signals)
if [ "$slow" -gt 1 ]; then
	profile_all static recursion vdso threads frames
	profile_all staticpie callback kernel assembly signals
else
	profile_all static "${all[@]}"
	profile_all staticpie "${all[@]}"
fi
finish
