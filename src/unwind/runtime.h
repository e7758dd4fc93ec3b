/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime.h: whether a file is a runtime that makes code, and what it says of it.
 *
 * V8's builtins, which are in the file, have no unwind information; what is known of them, and of the code that V8
 * makes at run time, is in v8.h. V8 is known by what it exports for debuggers (v8dbg_*: libnode.so, node).
 * A pure function of the file's bytes, which may be hostile.
 */
#ifndef SP_UNWIND_RUNTIME_H
#define SP_UNWIND_RUNTIME_H

#include <stdint.h>

enum sp_runtime_kind { SP_RUNTIME_NONE, SP_RUNTIME_V8, SP_N_RUNTIMES };

struct sp_elf;
enum sp_runtime_kind sp_runtime_find(struct sp_elf *e);

#endif
