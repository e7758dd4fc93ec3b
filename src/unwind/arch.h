/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arch.h: what the user half knows of the processor's code: instructions, and the rows and callers read off them.
 *
 * Other layers include this header, never those of x86_64. A second processor is a folder with headers of the same
 * names, and an #if here. Not here: code.h, leaf.h, v8.h and hotspot.h, which are
 * compiled into both halves.
 */
#ifndef SP_UNWIND_ARCH_H
#define SP_UNWIND_ARCH_H

#include "unwind/x86_64/context.h"
#include "unwind/x86_64/derive.h"
#include "unwind/x86_64/framed.h"
#include "unwind/x86_64/go_switch.h"
#include "unwind/x86_64/insn.h"
#include "unwind/x86_64/jit.h"
#include "unwind/x86_64/kept.h"

#endif
