/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arch.h: what ELF files hold that depends on the processor: the code that signal handlers return to, padding.
 *
 * Other layers include this header, never those of x86_64. A second processor is a folder with headers of the same
 * names, and an #if here.
 */
#ifndef SP_ELF_ARCH_H
#define SP_ELF_ARCH_H

#include "elf/x86_64/padding.h"
#include "elf/x86_64/sigreturn.h"

#endif
