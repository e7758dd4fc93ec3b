#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 300
# The checker of callers and callees (tests/pairs) confirms true stacks, and refutes false ones: a caller left out,
# doubled, made up; no call before a return address. It tells those that soprof marked as guesses apart.
. "$(dirname "$0")/lib.bash"
need_profile
/usr/bin/python3 -c 'import capstone' 2>/dev/null || skip 'python3-capstone is not there'

cat >"$dir/chain.c" <<'END'
#include <stdlib.h>
#include <time.h>
volatile unsigned long sum;
#define STAY __asm__ volatile("" ::: "memory") /* else calls at a function's end would become jumps */
#define FUNCTION(name, ...) __attribute__((noinline)) void name(void) { __VA_ARGS__; }
FUNCTION(leaf, for (unsigned int i = 0; i < 100000; i++) sum += i * i; STAY)
FUNCTION(jumps, sum++; leaf())
static int by_pointer(const void *a, const void *b) { jumps(); STAY; return *(const int *)a - *(const int *)b; }
FUNCTION(sorts, int n[2] = {2, 1}; qsort(n, 2, sizeof(n[0]), by_pointer); sum += n[0])
FUNCTION(outer, sorts(); STAY)
int main(void) { for (time_t end = time(NULL) + 2; time(NULL) < end;) outer(); return 0; }
END
gcc -O2 -o "$dir/chain" "$dir/chain.c" || fail 'chain.c to compile'

verdict=$dir/verdict
judge() { /usr/bin/python3 "$SOPROF_SOURCE/tests/pairs/pairs.py" --files "$1" --summary "$err" "$2" >"$verdict" 2>&1; }
check_pairs() { # CODE NAME: the exit code for $dir/NAME
	judge "$dir/chain" "$dir/$2"
	[ $? = "$1" ] || { fail "exit code $1 of the checker for $2"; cat "$verdict"; }
}
verdict_has() { grep -qE -- "$1" "$verdict" || { fail "the verdict on $what to match: $1"; cat "$verdict"; }; }
mutate() { # NAME AWK-PROGRAM: of the one stack in $dir/one
	what=$1
	awk "$2" "$dir/one" >"$dir/$1"
	! cmp -s "$dir/one" "$dir/$1" || fail "$1 to be another stack"
}

# true ones
expect 0 profile -U -v -A -F $hz -- "$dir/chain"
mv "$out" "$dir/true"
check_pairs 0 true
verdict_has 'refuted 0, unknown [0-9]+,'
has_not "$verdict" '^unknown: [0-9]+ pairs: ([^v]|v[^d])' # the kernel's vdso is no file
verdict_has '^whole stacks begin with: entry [0-9]+$'
awk 'BEGIN { RS = ""; ORS = "\n\n" } / leaf\+/ && / by_pointer\+/ && / outer\+/ && / main\+/ { print; exit }' \
	"$dir/true" >"$dir/one"
has "$dir/one" ' leaf\+'
check_pairs 0 one
verdict_has 'confirmed [4-9], possible [12],'

# false ones
mutate skipped '!/ sorts\+/'
check_pairs 1 skipped
verdict_has '^refuted: outer .* -> [0-9a-z_]+ \[libc\.so\.6\].*: call 0x'
mutate doubled '{ print } / outer\+/'
check_pairs 1 doubled
verdict_has '^refuted: outer \[chain\] .* -> outer \[chain\]'
mutate made_up '/ leaf\+/ { leaf = $0 } / sorts\+/ { $0 = leaf } { print }'
check_pairs 1 made_up
verdict_has '^refuted: leaf .*: no call ends there'
at=$(awk '/ main\+/ { print $1 }' "$dir/one")
mutate not_called "/ main\\+/ { sub(/0x[0-9a-f]*/, \"$(printf '0x%016x' $((at - 1)))\") } { print }"
check_pairs 1 not_called
verdict_has '^refuted: main .* -> outer .*: no call ends there'
# a marked guess is told, and nothing else
awk '{ print } / outer\+/ { print $0 " (guessed)" }' "$dir/one" >"$dir/guess"
check_pairs 0 guess
verdict_has 'refuted 0,.* by guesses: .*refuted 1'
verdict_has '^refuted \(guessed\): outer '

# another file of that name refutes nothing: without a build id, with another one, or where the summary does not tell
mkdir "$dir/other"
for id in none sha1; do
	gcc -O2 -falign-functions=128 -Wl,--build-id=$id -o "$dir/other/chain" "$dir/chain.c" || fail 'another chain to link'
	expect 0 profile -U -v -A -F $hz -- "$dir/other/chain"
	mv "$out" "$dir/another"
	check_pairs 0 another
	verdict_has '^unknown: [0-9]+ pairs: chain: not that build: .*/chain$'
	what="the true file, build id: $id"
	judge "$dir/other/chain" "$dir/another" || { fail "no pair to be refuted"; cat "$verdict"; }
	verdict_has '^[0-9]+ pairs: confirmed [1-9]'
done
sed -i '/ chain$/d' "$err"
check_pairs 0 another
verdict_has '^unknown: [0-9]+ pairs: chain: which file of that name, nothing says$'
: >"$err"
check_pairs 1 another

# stock programs, by other roots: a fiber, a handler
for one in 'coroutine 1:fiber [0-9]' 'threads 1:thread [0-9]' 'signals 1:signal [1-9]'; do
	what=${one%%:*}
	# shellcheck disable=SC2086
	expect 0 profile -U -v -A -F $hz -- "$victims"/stripped/${one%%:*}
	mv "$out" "$dir/victim"
	judge "$victims/stripped" "$dir/victim" ||
		{ fail "no pair of $one to be refuted"; cat "$verdict"; }
	verdict_has "${one#*:}"
done
for command in 'openssl speed -seconds 1 -bytes 16384 -evp aes-256-gcm' \
	"/usr/bin/python3 -c 'import json; [json.dumps(list(range(9999))) for i in range(500)]'"; do
	expect 0 profile -U -v -A -F $hz -- bash -c "exec $command"
	sed '/^type /d; /^version/d; /^built/d' "$out" >"$dir/stock"
	judge /usr/bin "$dir/stock" ||
		{ fail "no pair of $command to be refuted"; cat "$verdict"; }
	verdict_has 'confirmed [1-9][0-9]'
done
finish
