#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 400
# Programs with known call chains, stripped and not: no wrong caller, no bare address, whole stacks.
. "$(dirname "$0")/lib.bash"
need_profile

for variant in "${variants[@]}"; do
	together
	profile_victim $variant recursion --complete 99 --deepest even,odd=100 -- 100
	for name in callback vdso threads assembly kernel plt lazy fibers raised; do
		profile_victim $variant $name --complete 99 --
	done
	apart
	together
	profile_running $variant recursion --complete 99 --deepest even,odd=300 -- 300
	# frames of 64 KiB; handlers on a stack of their own
	profile_running $variant frames --complete 99 --
	profile_running $variant signals --complete 99 --
	apart
	# the same, met for the first time while sampling: never a wrong caller
	together
	profile_victim $variant recursion --samples 10 -- 300
	profile_victim $variant frames --samples 10 --
	profile_victim $variant signals --samples 10 --
	profile_victim $variant noeh --samples 10 --
	apart
	# a context returns to code of libc's that has a name only where there are symbols of it
	profile_victim $variant coroutine --samples 10 --
	whole 99 coroutine
	says 'begin with a fiber'
	# a return address of 0 in a function that could return is no root
	profile_victim $variant fibers --samples 10 -- plain
	says 'cut .*unmapped address'
done
profile_victim now plt --complete 99 --
finish
