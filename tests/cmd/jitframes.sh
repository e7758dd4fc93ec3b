#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 480
# Stacks through code that was made at run time without frame pointers are whole: LuaJIT's traces, PCRE's matchers (in
# PHP), PHP's own, Guile's, CPython's trampolines; also where it lies in shared memory or a memfd. Who calls such code is who does so in the program's own source: never a
# word that looks like it.
. "$(dirname "$0")/lib.bash"
need_profile
n_programs=0

# sample PROGRAM ARGUMENT...: 100 stacks of a program that works for as many seconds as its last argument says
sample() {
	local time
	"$@" 600 </dev/null >/dev/null 2>&1 &
	pid=$!
	wait_working "$pid"
	at_ease "$pid"
	for time in $((2 * seconds)) $((6 * seconds)) $((12 * seconds)); do
		expect 0 profile -U -f -F $running_hz -p "$pid" $time
		[ "$(grep -E ';(\[anon\]|py::)' "$out" | count)" -lt 100 ] || break
	done
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	n_programs=$((n_programs + 1))
}
# callers PATTERN WHAT: made code is the leaf, and called from there, or its stack is cut right behind it
callers() {
	local wrong
	wrong=$(grep -F ';[anon]+' "$out" | grep -vE "(^[^;]*|;($1))(;\[anon\]\+0x[0-9a-f]+) [0-9]+\$" | head -n 3)
	[ -z "$wrong" ] || fail "$2: made code only as the leaf, behind $1, not: $wrong"
}

if command -v luajit >/dev/null; then
	cat >"$dir/busy.lua" <<-'END'
	local function inner(n) local s = 0 for i = 1, n do s = (s * 31 + i) % 1000003 end return s end
	local function outer(n) return inner(n) + 1 end
	local stop, r = os.clock() + tonumber(arg[1]), 0
	while os.clock() < stop do r = r + outer(100000) end
	END
	sample luajit "$dir/busy.lua"
	whole 95 luajit
	callers 'lua_pcall|lua_call|lua_cpcall' luajit
fi
if command -v php >/dev/null && php -r 'exit(ini_get("pcre.jit") === "1" ? 0 : 1);'; then
	cat >"$dir/busy.php" <<-'END'
	<?php
	$s = str_repeat("lorem ipsum dolor sit amet ", 2000) . "xyzzy@example.org";
	$stop = microtime(true) + (float)$argv[1];
	while (microtime(true) < $stop)
		preg_match_all('/(\w+)@(\w+)\.org|([a-z]+u[a-z]+)\b(?=.*z)/', $s, $m);
	END
	sample php "$dir/busy.php"
	whole 95 php
	callers 'pcre2_jit_match_8|libpcre2-8.so.0\+0x[0-9a-f]+' php
fi
# In shared memory that is a mapping of /dev/zero. Functions run in the frame of PHP's interpreter, which jumps to them.
if command -v php >/dev/null && php -d opcache.enable_cli=1 -r 'exit(function_exists("opcache_get_status") ? 0 : 1);'; then
	cat >"$dir/made.php" <<-'END'
	<?php
	function inner($n) { for ($s = $i = 0; $i < $n; $i++) $s = ($s * 31 + ord(chr($i & 127))) % 1000003; return $s; }
	function outer($n) { for ($a = [], $i = 0; $i < $n; $i++) $a[$i % 97] = md5((string)$i) . inner(9); return count($a); }
	for ($stop = microtime(true) + (float)$argv[1]; microtime(true) < $stop;) outer(2000);
	END
	for jit in function tracing; do
		sample php -d opcache.enable_cli=1 -d opcache.file_update_protection=0 -d opcache.jit_buffer_size=16M \
			-d opcache.jit=$jit "$dir/made.php"
		whole 80 "php, $jit" # what is sampled before it is known that /dev/zero is no ELF file, is cut
		has "$out" ';(zend_execute|[^;]*\+0x[0-9a-f]+);\[anon\]'
	done
fi
if command -v guile >/dev/null; then
	cat >"$dir/busy.scm" <<-'END'
	(define (inner n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (modulo (+ (* s 31) i) 1000003)))))
	(define (outer n) (+ 1 (inner n)))
	(define stop (+ (get-internal-real-time)
	                (* (string->number (cadr (command-line))) internal-time-units-per-second)))
	(let loop ((r 0)) (if (< (get-internal-real-time) stop) (loop (+ r (outer 100000))) r))
	END
	sample guile --no-auto-compile "$dir/busy.scm"
	whole 88 guile # a leaf here and there has no way to a return
	entries=$(grep -oE '[^;]+;\[anon\]' "$out" | grep -vE '^(guile;|\[|\+)' | sort -u) # those are cut, or of its own
	[ "$(wc -l <<<"$entries")" = 1 ] || fail "guile: one function of its library enters its code, not: $entries"
fi

# CPython from 3.12 on, with -X perf: between two functions of Python's stands a copy of a trampoline, which the perf map
# names; without a frame pointer (3.12), or with one (3.13).
cat >"$dir/python.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
typedef long evaluator(void *state, void *frame, int throws);
typedef long trampoline(void *state, void *frame, int throws, evaluator *f);
enum { N = 3, SIZE = 32 };
static unsigned char *code;
static volatile unsigned long sum;
__attribute__((noinline)) static long evaluate(void *state, void *frame, int depth)
{
	volatile char space[100];
	space[depth] = (char)depth;
	if (depth == N) {
		for (unsigned int i = 0; i < 100000; i++) sum += i * i;
		return space[depth];
	}
	return ((trampoline *)(code + depth * SIZE))(state, frame, depth + 1, evaluate) + space[depth];
}
int main(int argc, char **argv)
{
	static const unsigned char bare[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3};
	static const unsigned char framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3};
	static const char *const names[N] = {"<module>", "outer", "inner"};
	char path[64];
	int fd = *argv[1] == 'm' ? memfd_create("code", 0) : -1;
	code = mmap(NULL, 65536, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (fd >= 0 && ftruncate(fd, 65536)) return 1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(path, "w");
	for (int i = 0; i < N; i++) {
		if (*argv[1] != 'f') memcpy(code + i * SIZE, bare, sizeof(bare));
		else memcpy(code + i * SIZE, framed, sizeof(framed));
		fprintf(map, "%lx %x py::%s:/a b/x.py\n", (unsigned long)(code + i * SIZE), SIZE, names[i]);
	}
	fclose(map);
	mprotect(code, 65536, PROT_READ | PROT_EXEC);
	for (time_t end = time(NULL) + atoi(argv[2]); time(NULL) < end;) evaluate(NULL, NULL, 0);
	unlink(path);
	return argc == 9;
}
END
gcc -D_GNU_SOURCE -O2 -fomit-frame-pointer -o "$dir/python" "$dir/python.c" || fail 'python.c to compile'
for name in bare framed memfd; do
	sample "$dir/python" $name
	rm -f "/tmp/perf-$pid.map"
	case $name in
	bare) whole 98 "$name trampolines" ;;
	memfd) whole 80 "$name trampolines" ;; # as PHP's
	esac # framed: found by the frame pointer, and marked
	[ $name = memfd ] || says ', cut 0 '
	has "$out" ';main(;evaluate;py::(<module>|outer|inner):/a b/x.py){3};evaluate [0-9]+$'
	has_not "$out" '\[anon\]'
done
finish
