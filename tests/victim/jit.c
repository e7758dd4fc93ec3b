/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit.c: `jit SECONDS A|B`: code made at run time at a fixed address, with frame pointers as JIT compilers keep them. A
 * and B put other functions at the same address, and name themselves jit-A and jit-B.
 */
#include "victim.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum { JIT_AT = 0x20000000, JIT_BYTES = 65536 };

/* push rbp; mov rsp,rbp; sub $SPACE,rsp; mov $TARGET,rax; call *rax; leave; ret */
VICTIM static void emit_call(uint8_t *at, uint32_t space, uint64_t target)
{
	static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec};
	static const uint8_t call[] = {0xff, 0xd0, 0xc9, 0xc3};
	uint8_t *p = at;

	memcpy(p, begin, sizeof(begin));
	p += sizeof(begin);
	memcpy(p, &space, 4);
	p += 4;
	*p++ = 0x48;
	*p++ = 0xb8;
	memcpy(p, &target, 8);
	p += 8;
	memcpy(p, call, sizeof(call));
}

/* push rbp; mov rsp,rbp; mov $N,ecx; 1: dec ecx; jnz 1b; leave; ret */
VICTIM static void emit_loop(uint8_t *at, uint32_t n)
{
	static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5, 0xb9};
	static const uint8_t end[] = {0xff, 0xc9, 0x75, 0xfc, 0xc9, 0xc3};

	memcpy(at, begin, sizeof(begin));
	memcpy(at + sizeof(begin), &n, 4);
	memcpy(at + sizeof(begin) + 4, end, sizeof(end));
}

VICTIM static void run_jit(void (*code)(void))
{
	code();
	KEEP_FRAME();
}

VICTIM static void work_a(void)
{
	burn(100000);
	KEEP_FRAME();
}

VICTIM static void work_b(void)
{
	burn(100000);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	bool b;
	uint8_t *code;

	victim_start(argc, argv);
	b = victim_argument && victim_argument[0] == 'B';
	prctl(PR_SET_NAME, b ? "jit-B" : "jit-A", 0, 0, 0);
	code = mmap((void *)(uintptr_t)JIT_AT, JIT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (code == MAP_FAILED)
		return 2;
	/* inner: calls back into the program (A), or loops in made code (B); outer calls inner; both 256 bytes apart */
	if (b)
		emit_loop(code, 100000);
	else
		emit_call(code, 32, (uintptr_t)work_a);
	emit_call(code + 256, b ? 512 : 64, (uintptr_t)code);
	while (going_on()) {
		run_jit((void (*)(void))(uintptr_t)(code + 256));
		if (b)
			work_b();
	}
	return 0;
}
