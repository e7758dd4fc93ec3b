#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 300
# Unwind information that lies, as stale rows do, costs one frame, which is marked, and the stack is cut: never a loop, nor
# a stack that is called whole.
. "$(dirname "$0")/lib.bash"
need_profile
cat >"$dir/lies.c" <<'END'
#include <stdlib.h>
volatile unsigned long sum;
__attribute__((noinline)) void work(void) { for (unsigned int i = 0; i < 200000; i++) sum += i * i; __asm__ volatile(""); }
void other(void) { work(); __asm__ volatile(""); }
/* The rows of these say that nothing was pushed: what was pushed last passes for the return address. */
#define LIES(name, how)                                                                                               \
	void name(void);                                                                                               \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" how                                    \
		"\ncall work\nadd $24, %rsp\nret\n.cfi_endproc\n.size " #name ", .-" #name "\n")
LIES(zero, "push $0\npush $0\npush $0");
LIES(data, "push $0\npush $0\npush %rsp");
LIES(code, "push $0\npush $0\nlea other(%rip), %rax\npush %rax");
LIES(itself, "push $0\npush $0\nlea 1f(%rip), %rax\npush %rax\n1:");
LIES(low, ".cfi_def_cfa_offset -64\npush $0\npush $0\npush $0");
LIES(high, ".cfi_def_cfa_offset 4096\npush $0\npush $0\npush $0");
LIES(next, "push $0\npush $0\nlea 1f(%rip), %rax\npush %rax\njmp 1f\ncall 1f\n1:"); /* whom nobody returns to */
int main(int argc, char **argv)
{
	void (*all[])(void) = {zero, data, code, itself, low, high, next};
	for (;;) {
		all[argc > 1 ? atoi(argv[1]) : 0]();
		__asm__ volatile("");
	}
}
END
gcc -O2 -fno-pie -no-pie -o "$dir/lies" "$dir/lies.c" 2>"$dir/log" || { fail "lies.c to compile: $(head -n 3 "$dir/log")"; finish; }

judge() { # FRAMES: samples in work; of these, such that have more, or a third one that is no guess, or are not cut
	awk -v most="$1" 'BEGIN { RS = "" } / work\+/ {
		n = split($0, line, "\n"); frames = bad = 0
		for (i = 1; i <= n; i++) if (line[i] ~ /^    0x/) { frames++; if (frames == 3 && line[i] !~ /\(guessed\)/) bad = 1 }
		all += line[n]
		if (bad || frames < 2 || frames > most || $0 !~ /\[cut: /) wrong += line[n]
	} END { print all + 0, wrong + 0 }' "$out"
}
number=0
for lie in zero:2 data:2 code:3 itself:3 low:2 high:2 next:3; do
	"$dir/lies" "$number" &
	pid=$! number=$((number + 1))
	wait_working "$pid"
	for time in $seconds $((3 * seconds)) $((6 * seconds)); do
		expect 0 profile -U -v -A -F 199 -p "$pid" "$time"
		read -r all wrong < <(judge "${lie#*:}")
		[ "$all" -lt 20 ] || break
	done
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	say "${lie%:*}: $all samples, $wrong wrong"
	[ "$all" -ge 20 ] && [ "$wrong" = 0 ] || { fail "stacks of ${lie%:*} that are cut behind it"; tail -n 12 "$out"; }
done
finish
