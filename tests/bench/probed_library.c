/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that cost nothing, so that what a call costs is what its probe costs: by the instruction it begins with. */
__asm__(".text\n"
	".globl probed_push\n.type probed_push, @function\n"
	"probed_push: push %rbx\n mov %rdi, %rax\n pop %rbx\n ret\n"
	".size probed_push, . - probed_push\n"
	".globl probed_lea\n.type probed_lea, @function\n"
	"probed_lea: lea 1(%rdi), %rax\n ret\n"
	".size probed_lea, . - probed_lea\n"
	".section .note.GNU-stack, \"\", @progbits\n");
