/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h: what the processor that soprof is built for is called elsewhere: in ELF files, by the kernel, in paths.
 *
 * Names and numbers only. Code that knows registers or instructions is in folders named like the processor
 * (unwind/x86_64, audit/x86_64, ...), below the layer that needs it: grep -r 'include.*x86_64/' src. No state.
 */
#ifndef SP_BASE_MACHINE_H
#define SP_BASE_MACHINE_H

#include <elf.h>
#include <linux/audit.h>

#ifndef __x86_64__
#error "there is x86-64 only"
#endif
#define SP_MACHINE_NAME "x86_64"                /* as uname tells */
#define SP_MACHINE_LIBRARIES "x86_64-linux-gnu" /* Debian's directory below /lib and /usr/lib */
enum {
	SP_MACHINE_ELF = EM_X86_64,
	SP_MACHINE_RELATIVE = R_X86_64_RELATIVE, /* the relocation that adds the load address */
};
#define SP_MACHINE_AUDIT AUDIT_ARCH_X86_64 /* in seccomp filters */

#endif
