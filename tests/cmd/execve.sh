#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 60
# At the end of execve the program stands at its first instruction, not behind a call: its stack is whole. Every one is sampled
# there: a debugger's child stops there.
. "$(dirname "$0")/lib.bash"
need_profile
cat >"$dir/stops.c" <<'END'
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 100; i++) {
		int status;
		pid_t child = fork();
		if (!child) {
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(child, &status, 0);
		ptrace(PTRACE_CONT, child, 0, 0);
		waitpid(child, &status, 0);
	}
}
END
gcc -O2 -o "$dir/stops" "$dir/stops.c" || fail 'stops.c to compile'
expect 0 profile -e context-switches -c 1 -U -v -- "$dir/stops"
first=$(awk 'BEGIN { RS = "" } / true +\(/ && /^    [^\n]*\+0x0 \[ld-[^\n]*\n    -/ { n++ } END { print n + 0 }' "$out")
[ "$first" -ge 90 ] || fail "100 stacks at the loader's entry point, not $first"
has_not "$out" 'cut: unmapped'
finish
