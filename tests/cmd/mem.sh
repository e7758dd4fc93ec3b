#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Allocations, of a program that allocates in every way and keeps a ledger, which libc's mallinfo2() confirms: exact with
# --thin 1, sampled near the truth, by whom; frees in other threads, children, other programs; what cannot be sampled is told.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/mem.bash"
need_profile
need_root
cp "$SOPROF_BUILD/tests/cmd/allocate" "$dir/allocate"
# mem OPTION... -- COMMAND...: its profile in $dir/p.pb.gz, and what it prints in $truth. Where others have the CPUs, tables may
# come late, and stacks are cut, which the summary says: then once more.
mem() {
	local turn
	for turn in 1 2 3 4 5; do
		expect 0 profile -e mem -o "$dir/p.pb.gz" "$@"
		read -r -a truth <"$out"
		! tr -s ' \n' ' ' <"$err" | grep -q 'cut 0 (' || return 0
		say "turn $turn: stacks were cut"
	done
}

# --- exact ---
mem --thin 1 -- env GLIBC_TUNABLES=glibc.malloc.tcache_count=0 "$dir/allocate"
same 'what libc says that it has given' "${truth[5]}" "${truth[4]}"
off=$((truth[4] - truth[6])) # malloc_info() counts a flag of each free chunk as a byte
[ "$off" -ge -32 ] && [ "$off" -le 32 ] || fail "malloc_info() to say ${truth[4]}, not ${truth[6]}"
same_as_ledger 'in a command' allocate
same 'what leak_all has' "$(value live_bytes --function leak_all)" 104950
same 'what grow has' "$(value live_bytes --function grow)" 3000
same 'what grow has had' "$(value allocations --function grow)" 14
same 'what leak_none has' "$(value live --function leak_none)" 0
same 'what leak_none has had' "$(value allocations --function leak_none)" 500
same 'mappings that live' "$(value live_bytes --function map)" 1048576
same 'what threads have' "$(value live_bytes --function thread_free)" 1980
same 'what child and parent have' "$(value live_bytes --function child)" $((12345 + 40 * 333))
"$SOPROF" report --format folded --value live_bytes "$dir/p.pb.gz" >"$out"
has "$out" ';main;every_way;leak_all [0-9]+$' # who allocates is the leaf
has_not "$out" 'memory\.so|sp_memory'

# --- a server that leaks under a load of requests, in four threads ---
mem --thin 1 -- "$SOPROF_BUILD/tests/cmd/leaky" 3000
same_as_leaky "$out"
"$SOPROF" report --format folded --value live_bytes "$dir/p.pb.gz" >"$dir/folded"
for kind in open_session store_value log_line; do
	has "$dir/folded" ";serve;answer;$kind [0-9]+\$"
	has "$dir/folded" ";serve;answer_proxied;answer;$kind [0-9]+\$"
done

# --- sampled, one in 512 KiB ---
run=(mem -- "$dir/allocate" 400000)
is_near 524288 "${run[@]}" || is_near 524288 "${run[@]}" || fail 'a sample within three standard deviations of the truth'

# --- several programs, and values beside others ---
mem --thin 1 -- sh -c "'$dir/allocate' 1000 && '$dir/allocate' 1000"
same 'blocks of two programs' "$(value allocations --process allocate)" $((2 * truth[0]))
expect 0 profile -e cpu,mem --thin 1 -o "$dir/p.pb.gz" -- "$dir/allocate" 1000
read -r -a truth <"$out"
same 'blocks beside samples of the CPU' "$(value allocations --process allocate)" "${truth[0]}"

# --- no room for its row: then it is not held, and its free takes nothing off ---
if [ "$slow" = 1 ]; then
	cp "$SOPROF_BUILD/tests/cmd/aged" "$dir/aged"
	expect 0 profile -e mem --thin 1 --hash-storage-size 1 -o "$dir/p.pb.gz" -- sh -c 'echo | "$0" - 1' "$dir/aged"
	same 'blocks that live, without room for them' "$(value live --function first_block)" 0
	says 'no room for its count \(--hash-storage-size\)'
fi

# --- other libraries' malloc: another libc's, of which one function may call another; one that the user preloads ---
if command -v musl-gcc >/dev/null; then
	musl-gcc -std=gnu17 -O1 -fno-builtin -w -o "$dir/musl" "$SOPROF_SOURCE/tests/cmd/allocate.c" -DHAS_MUSL || fail 'musl-gcc to work'
	mem --thin 1 -- "$dir/musl"
	same_as_ledger 'on musl' musl
fi
LD_PRELOAD=libm.so.6 mem --thin 1 -- sh -c 'echo "$LD_PRELOAD"'
[[ ${truth[0]} = */memory.so:libm.so.6 ]] || fail "our library before the user's, not ${truth[0]}"

# --- programs that cannot be sampled ---
if [ -x "$victims/static/calls" ]; then
	expect 0 profile -e mem -- "$victims/static/calls" 0
	says 'memory of 1 of 1 programs that ran was not sampled: 1 linked statically'
fi
if command -v findmnt >/dev/null && [[ ",$(findmnt -no OPTIONS -T "$dir")," != *,nosuid,* ]]; then
	chown nobody "$dir/allocate" && chmod u+s "$dir/allocate"
	expect 0 profile -e mem -- "$dir/allocate" 10
	says 'memory of 1 of 1 programs that ran was not sampled: 1 set-user-id or with capabilities'
fi

# --- bad input ---
expect 2 profile -e mem 1
one_line 'mem samples a command that soprof starts, or one process'
expect 2 profile -e cpu --thin 1 -- true
one_line '--thin is for -e mem'
expect 2 profile -e mem --thin 0 -- true
one_line 'thin'
finish
