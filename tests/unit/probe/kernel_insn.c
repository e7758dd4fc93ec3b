/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel does with an instruction. The answers are those of arch/x86/kernel/uprobes.c, by its tables; what it
 * takes is asked of the kernel itself by tests/cmd/probe_points.sh.
 */
#include "probe/x86_64/kernel_insn.h"
#include "probe/point.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { PREFIX = -1 - SP_PROBE_PREFIX, OPCODE = -1 - SP_PROBE_OPCODE };

static const struct {
	uint8_t bytes[15], n;
	int cost;
	const char *what;
} insns[] = {
    {{0x55}, 1, SP_PROBE_EMULATED, "push %rbp"},
    {{0x54}, 1, SP_PROBE_EMULATED, "push %rsp"},
    {{0x41, 0x57}, 2, SP_PROBE_EMULATED, "push %r15"},
    {{0x48, 0x55}, 2, SP_PROBE_STEPPED, "rex.W push %rbp"},
    {{0x66, 0x55}, 2, SP_PROBE_STEPPED, "push %bp"},
    {{0x6a, 0x01}, 2, SP_PROBE_STEPPED, "push $1"},
    {{0xff, 0x35, 0, 0, 0, 0}, 6, SP_PROBE_STEPPED, "push 0(%rip)"},
    {{0x90}, 1, SP_PROBE_EMULATED, "nop"},
    {{0x66, 0x90}, 2, SP_PROBE_EMULATED, "xchg %ax,%ax"},
    {{0xf3, 0x90}, 2, SP_PROBE_EMULATED, "pause"},
    {{0x49, 0x90}, 2, OPCODE, "xchg %rax,%r8"},
    {{0x41, 0x90}, 2, OPCODE, "xchg %eax,%r8d"},
    {{0x0f, 0x1f, 0x44, 0, 0}, 5, SP_PROBE_NOP5, "nopl 0(%rax,%rax)"},
    {{0x0f, 0x1f, 0x40, 0}, 4, SP_PROBE_STEPPED, "nopl 0(%rax)"},
    {{0x66, 0x0f, 0x1f, 0x44, 0, 0}, 6, SP_PROBE_STEPPED, "nopw 0(%rax,%rax)"},
    {{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, 10, PREFIX, "cs nopw"},
    {{0xe8, 0, 0, 0, 0}, 5, SP_PROBE_EMULATED, "call"},
    {{0xe9, 0, 0, 0, 0}, 5, SP_PROBE_EMULATED, "jmp"},
    {{0xf2, 0xe9, 0, 0, 0, 0}, 6, SP_PROBE_EMULATED, "bnd jmp"},
    {{0xeb, 0}, 2, SP_PROBE_EMULATED, "jmp, short"},
    {{0x74, 0}, 2, SP_PROBE_EMULATED, "je"},
    {{0x0f, 0x8f, 0, 0, 0, 0}, 6, SP_PROBE_EMULATED, "jg, long"},
    {{0x66, 0x48, 0xe8, 0, 0, 0, 0}, 7, OPCODE, "data16 rex.W call"},
    {{0x2e, 0x74, 0}, 3, PREFIX, "je,pn"},
    {{0xe3, 0}, 2, SP_PROBE_STEPPED, "jrcxz"},
    {{0xff, 0xe0}, 2, SP_PROBE_STEPPED, "jmp *%rax"},
    {{0x3e, 0xff, 0xe0}, 3, PREFIX, "notrack jmp *%rax"},
    {{0xff, 0x15, 0, 0, 0, 0}, 6, SP_PROBE_STEPPED, "call *0(%rip)"},
    {{0xc3}, 1, SP_PROBE_STEPPED, "ret"},
    {{0xf3, 0x0f, 0x1e, 0xfa}, 4, SP_PROBE_STEPPED, "endbr64"},
    {{0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}, 9, SP_PROBE_STEPPED, "mov %fs:0x28,%rax"},
    {{0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}, 9, SP_PROBE_STEPPED, "mov %gs:0,%rax"},
    {{0x26, 0x8b, 0x07}, 3, PREFIX, "mov %es:(%rdi),%eax"},
    {{0x36, 0x8b, 0x07}, 3, PREFIX, "mov %ss:(%rdi),%eax"},
    {{0xf0, 0xff, 0x07}, 3, PREFIX, "lock incl (%rdi)"},
    {{0x0f, 0x05}, 2, OPCODE, "syscall"},
    {{0xcd, 0x80}, 2, OPCODE, "int $0x80"},
    {{0xcc}, 1, OPCODE, "int3"},
    {{0xf4}, 1, OPCODE, "hlt"},
    {{0x0f, 0x0b}, 2, OPCODE, "ud2"},
    {{0xec}, 1, OPCODE, "in (%dx),%al"},
    {{0x6e}, 1, OPCODE, "outsb"},
    {{0x8e, 0xd0}, 2, OPCODE, "mov %eax,%ss"},
    {{0xc7, 0xf8, 0, 0, 0, 0}, 6, OPCODE, "xbegin"},
    {{0x0f, 0xa2}, 2, SP_PROBE_STEPPED, "cpuid"},
    {{0x66, 0x0f, 0x6f, 0xc1}, 4, SP_PROBE_STEPPED, "movdqa %xmm1,%xmm0"},
    {{0xc5, 0xf9, 0x6e, 0x07}, 4, OPCODE, "vmovd (%rdi),%xmm0"},
    {{0xc5, 0xf9, 0x7e, 0xc0}, 4, SP_PROBE_STEPPED, "vmovd %xmm0,%eax"},
    {{0xc5, 0xf9, 0xef, 0xc0}, 4, OPCODE, "vpxor %xmm0,%xmm0,%xmm0"},
    {{0xc4, 0xe2, 0x7d, 0x58, 0xc0}, 5, SP_PROBE_STEPPED, "vpbroadcastd %xmm0,%ymm0"},
    {{0x62, 0xf1, 0x7d, 0x48, 0x7f, 0x07}, 6, OPCODE, "vmovdqa32 %zmm0,(%rdi)"},
};

static void each_has_its_cost(void **state)
{
	ZydisDecoder d;
	struct sp_insn i;
	sp_insn_init(&d);
	for (size_t k = 0; k < sizeof(insns) / sizeof(*insns); k++) {
		assert_true(sp_insn_decode(&d, insns[k].bytes, insns[k].n, 0x1000, &i));
		assert_int_equal(i.length, insns[k].n);
		int cost = sp_kernel_insn_cost(&i, insns[k].bytes, 0x1000);
		if (cost != insns[k].cost)
			fail_msg("%s: %d, not %d", insns[k].what, cost, insns[k].cost);
	}
}

/* It becomes a call in one write, so it may not cross a page. */
static void nop_of_five_bytes_in_two_pages(void **state)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0, 0};
	ZydisDecoder d;
	struct sp_insn i;
	sp_insn_init(&d);
	assert_true(sp_insn_decode(&d, nop5, sizeof(nop5), 0, &i));
	assert_int_equal(sp_kernel_insn_cost(&i, nop5, 0x1ffb), SP_PROBE_NOP5);
	assert_int_equal(sp_kernel_insn_cost(&i, nop5, 0x1ffc), SP_PROBE_STEPPED);
	assert_int_equal(sp_kernel_insn_cost(&i, nop5, 0x1fff), SP_PROBE_STEPPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_has_its_cost),
	    cmocka_unit_test(nop_of_five_bytes_in_two_pages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
