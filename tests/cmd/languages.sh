#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# C++ and Rust: exceptions in flight, virtual functions, closures; names are demangled.
. "$(dirname "$0")/lib.bash"
need_profile

for variant in "${variants[@]}"; do
	# the unwinder of libgcc ends with a jump into the handler's frame, which its own tables cannot tell exactly
	profile_victim $variant exception --complete 97 --
	profile_victim $variant cxx --complete 99 --
	if [ $variant = plain ]; then
		has "$out" ';shapes::sort_names\(std::vector<'
		has_not "$out" ';_Z[A-Z0-9]'
	fi
	[ -e "$victims/$variant/rusty" ] || continue
	profile_victim $variant rusty --complete 99 --
	if [ $variant = plain ]; then
		has "$out" ';rusty::nested::middle(;|$| )'
		has_not "$out" '::h[0-9a-f]{16}[; ]'
	fi
done
[ "$n_failed" -gt 0 ] || [ -e "$victims/plain/rusty" ] ||
	skip "everything else went well, but the Rust victim was not built: there is no rustc"
finish
